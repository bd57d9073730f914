//! L12: a table dropped and created again.

use serde_json::{Value, json};

use super::story::{Rows, Story};

const COLUMNS: &str =
    r#"[{"name": "id", "type": "BIGINT"}, {"name": "v", "type": "STRING"}, {"name": "w", "type": "BIGINT"}]"#;

fn drop(story: &mut Story, side: &str) {
    let op = story.begin("d", json!({"drop_table": {"table": "db.t", "side": side}}));
    story.ok(&op, json!("done"));
}

fn create(story: &mut Story, options: Value) {
    let columns: Value = serde_json::from_str(COLUMNS).unwrap();
    let create = json!({"create_table": {"table": "db.t", "columns": columns, "options": options, "side": "store"}});
    let op = story.begin("d", create);
    story.ok(&op, json!("done"));
}

fn in_mode() -> Value {
    json!({"lakestream.enabled": "true"})
}

/// A row, then both sides dropped and created again.
fn recreated() -> Story {
    let mut story = Story::append();
    story.write(&[(1, 10)]).registered(1, 1, 1);
    drop(&mut story, "store");
    drop(&mut story, "lake");
    create(&mut story, in_mode());
    story
}

#[test]
fn l12_the_new_table_shows_no_row_of_the_old_one() {
    let read = |rows: Rows| {
        let mut story = recreated();
        story.write(&[(2, 20)]).read(rows);
        story
    };
    let argument = read(&[(1, 10), (2, 20)]).violates("L12");
    assert!(argument.contains("w=10"), "{argument}");
    read(&[(2, 20)]).holds("L12");
    let mut base = recreated();
    base.base(Some(1), &[(1, 10)]).violates("L12");
}

#[test]
fn l12_what_was_written_beside_the_drop_may_be_of_either_table() {
    let mut story = Story::append();
    let put = story.begin("w", super::story::insert(&[(1, 10)]));
    drop(&mut story, "store");
    drop(&mut story, "lake");
    create(&mut story, in_mode());
    story.ok(&put, super::story::acked()).read(&[(1, 10)]);
    story.holds("L12");
}

#[test]
fn l12_is_judged_once_the_create_is_acked_and_the_old_table_was_dropped_on_both_sides() {
    let mut story = Story::append();
    story.write(&[(1, 10)]);
    drop(&mut story, "lake");
    create(&mut story, in_mode());
    story.read(&[(1, 10)]).says_nothing("L12");
}

#[test]
fn l12_of_a_table_dropped_in_the_store_alone_the_union_read_is_judged_once_it_is_in_the_mode() {
    let story = |switched_on: bool| {
        let mut story = Story::append();
        story.write(&[(1, 10)]);
        drop(&mut story, "store");
        create(&mut story, json!({"lakestream.enabled": "true", "table.datalake.enabled": "false"}));
        if switched_on {
            let on =
                json!({"alter_options": {"table": "db.t", "set": {"table.datalake.enabled": "true"}, "side": "store"}});
            let op = story.begin("d", on);
            story.ok(&op, json!("done"));
        }
        story
    };
    story(true).read(&[(1, 10)]).violates("L12");
    story(true).read(&[]).holds("L12");
    story(false).read(&[(1, 10)]).says_nothing("L12");
    // The lake's table was not dropped.
    story(true).base(Some(1), &[(1, 10)]).says_nothing("L12");
}

#[test]
fn l12_no_late_commit_touches_the_new_lake_table() {
    let argument = recreated().tiered(1, 1, 50, &[], &[]).violates("L12");
    assert!(argument.contains("tiered from the store's table 7"), "{argument}");
    let own = json!({"snapshot_id": 1, "user": "tiering", "identifier": 1, "kind": "APPEND", "committed_at_ms": 50,
        "table_id": "8", "offsets": [{"bucket": 0, "offset": 1}]});
    recreated().snapshot(own, &[], &[]).holds("L12");
}

#[test]
fn l12_no_late_registration_touches_the_new_table() {
    let registered = |table_id: &str, snapshot_id: u64, offset: u64| {
        let mut story = recreated();
        let offsets = json!([{"bucket": 0, "offset": offset}]);
        story.event(json!({"event": "registered", "table": "db.t", "table_id": table_id, "snapshot_id": snapshot_id,
            "offsets": offsets, "readable": offsets}));
        story.log(0, 2);
        let own = json!({"snapshot_id": 1, "user": "tiering", "identifier": 1, "kind": "APPEND", "committed_at_ms": 50,
            "table_id": "8", "offsets": [{"bucket": 0, "offset": 2}]});
        story.snapshot(own, &[], &[]);
        story.event(json!({"event": "files", "table": "db.t", "findings": [], "orphans": []}));
        story
    };
    registered("8", 1, 2).holds("L12");
    assert!(registered("7", 1, 2).violates("L12").contains("that table is the dropped one"));
    assert!(registered("8", 5, 2).violates("L12").contains("no snapshot after 1"));
    assert!(registered("8", 1, 9).violates("L12").contains("beyond the end 2"));
}

#[test]
fn l12_what_a_dropped_successor_was_tells_whether_a_registration_was_its_own() {
    let columns: Value = serde_json::from_str(COLUMNS).unwrap();
    let side = |table_id: &str| {
        json!({"table_id": table_id, "schema": {"columns": columns, "options": in_mode()}, "snapshot_id": 1,
            "offsets": [{"bucket": 0, "offset": 2}]})
    };
    let dropped_again = |mut story: Story, snapshot_id: u64, offset: u64| {
        let offsets = json!([{"bucket": 0, "offset": offset}]);
        story.event(json!({"event": "registered", "table": "db.t", "table_id": "8", "snapshot_id": snapshot_id,
            "offsets": offsets, "readable": offsets}));
        let sides = [side("lake"), side("8"), side("lake"), Value::Null];
        story.seen(json!({"drop_table": {"table": "db.t", "side": "store"}}), json!("done"), sides)
    };
    dropped_again(recreated(), 1, 2).holds("L12");
    assert!(dropped_again(recreated(), 2, 2).violates("L12").contains("had no snapshot after 1"));
    assert!(dropped_again(recreated(), 1, 3).violates("L12").contains("beyond the end 2"));
    // The lake's table stayed: its snapshots are the old one's, and the new log is new all the same.
    let in_the_store_alone = || {
        let mut story = Story::append();
        story.write(&[(1, 10)]);
        drop(&mut story, "store");
        create(&mut story, in_mode());
        story
    };
    dropped_again(in_the_store_alone(), 2, 2).holds("L12");
    dropped_again(in_the_store_alone(), 1, 3).violates("L12");
    // A DROP that may come at any time leaves open which table it was.
    let mut doubtful = recreated();
    let op = doubtful.begin("d", json!({"drop_table": {"table": "db.t", "side": "store"}}));
    doubtful.fail(&op, "timeout", false, "no answer");
    dropped_again(doubtful, 2, 2).says_nothing("L12");
}
