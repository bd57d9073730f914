//! L13: rows after a column change.

use serde_json::{Value, json};

use super::story::Story;

/// A column `n` is added on the store's side.
fn add_column(story: &mut Story) {
    let changes = json!([{"add": {"name": "n", "type": "INT"}}]);
    let op = story.begin("d", json!({"alter_columns": {"table": "db.t", "changes": changes, "side": "store"}}));
    story.ok(&op, json!("done"));
}

fn insert(story: &mut Story, row: Value) {
    let op = story.begin("w", json!({"insert": {"table": "db.t", "rows": [row]}}));
    story.ok(&op, json!({"acked": {"acked": 1}}));
}

fn read(story: &mut Story, row: Value) {
    let op = story.begin("r", json!({"select": {"table": "db.t$rt"}}));
    story.ok(&op, json!({"rows": {"rows": [row]}}));
}

#[test]
fn l13_a_column_change_loses_no_column_of_a_row() {
    let story = |shown: Value| {
        let mut story = Story::append();
        add_column(&mut story);
        insert(&mut story, json!({"id": 1, "v": "v", "w": 10, "n": 5}));
        read(&mut story, shown);
        story
    };
    let argument = story(json!({"id": 1, "v": "v", "w": 10})).violates("L13");
    assert!(argument.contains("with n = Int(5)"), "{argument}");
    story(json!({"id": 1, "v": "v", "w": 10, "n": null})).violates("L13");
    story(json!({"id": 1, "v": "v", "w": 10, "n": 5})).holds("L13");
}

#[test]
fn l13_rows_of_the_older_schema_lose_nothing_either() {
    let story = |shown: Value| {
        let mut story = Story::append();
        insert(&mut story, json!({"id": 1, "v": "v", "w": 10}));
        add_column(&mut story);
        read(&mut story, shown);
        story
    };
    story(json!({"id": 1, "v": null, "w": 10, "n": null})).violates("L13");
    story(json!({"id": 1, "v": "v", "w": 10, "n": null})).holds("L13");
}

#[test]
fn l13_is_about_column_changes() {
    let mut story = Story::append();
    insert(&mut story, json!({"id": 1, "v": "v", "w": 10}));
    read(&mut story, json!({"id": 1, "v": "v", "w": 10}));
    story.says_nothing("L13");
    // A dropped column may go.
    let mut dropped = Story::append();
    insert(&mut dropped, json!({"id": 1, "v": "v", "w": 10}));
    let op = dropped.begin("d", json!({"alter_columns": {"table": "db.t", "changes": [{"drop": "v"}]}}));
    dropped.ok(&op, json!("done"));
    read(&mut dropped, json!({"id": 1, "w": 10}));
    dropped.holds("L13");
}
