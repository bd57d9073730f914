//! P4 and P8, as the store's key-value state and lookups show them.

use serde_json::{Value, json};

use super::promotion::{keyed, promote, promoted};
use super::story::{Story, side, table_row, table_rows};

/// A lake table with a key and two snapshots: first the rows 1 and 2, then 2 again and 3.
fn history() -> Story {
    written(keyed(json!({"bucket": "2"})))
}

fn written(mut story: Story) -> Story {
    for (snapshot_id, rows) in [(1, [(1, 10), (2, 20)]), (2, [(2, 21), (3, 30)])] {
        let op = story.begin("n", json!({"native_insert": {"table": "db.t", "rows": table_rows(&rows)}}));
        story.ok(&op, json!({"acked": {"acked": 2, "snapshot_id": snapshot_id}}));
    }
    story
}

/// The files of it, read at the end: of the first snapshot one row lies in bucket 1, of the second another one too.
fn files(story: &mut Story) {
    let buckets = |first: &[(i64, i64)], second: &[(i64, i64)]| {
        let seen = [first, second].into_iter().zip(0..).map(|(rows, bucket)| {
            let rows = table_rows(rows);
            json!({"bucket": bucket, "rows": rows, "added": []})
        });
        seen.collect::<Vec<Value>>()
    };
    for (id, buckets) in [(1, buckets(&[(1, 10)], &[(2, 20)])), (2, buckets(&[(1, 10)], &[(2, 21), (3, 30)]))] {
        story.event(json!({"event": "snapshot", "table": "db.t", "digest": "0", "snapshot_id": id, "user": "n",
            "identifier": id, "kind": "APPEND", "committed_at_ms": id, "buckets": buckets}));
    }
}

/// The store's side with so many rows in buckets 0 and 1.
fn store(enabled: bool, rows: [u64; 2]) -> Value {
    let options = if enabled { json!({"lakestream.enabled": "true"}) } else { json!({}) };
    let mut side = side("7", options, None);
    let rows = (0..2).zip(rows).filter(|(_, rows)| *rows > 0);
    side["key_rows"] = rows.map(|(bucket, rows)| json!({"bucket": bucket, "rows": rows})).collect();
    side
}

#[test]
fn p4_a_disabled_table_serves_nothing_or_all_of_a_snapshot() {
    let cut = |rows: [u64; 2]| {
        let mut story = history();
        let op = story.begin("s", promote());
        story.fail(&op, "timeout", false, "no answer");
        story.state(&op, "after", side("1", json!({}), Some(2)), store(false, rows));
        files(&mut story);
        story
    };
    cut([0, 0]).holds("P4");
    cut([1, 1]).holds("P4");
    cut([1, 2]).holds("P4");
    cut([1, 0]).violates("P4");
    cut([0, 2]).violates("P4");
}

/// Promoted with this snapshot registered, and these rows in the state.
fn enabled(registered: u64, rows: [u64; 2]) -> Story {
    let mut story = history();
    let op = story.begin("s", promote());
    story.ok(&op, promoted()).registered(registered, 0, 0);
    let on = json!({"lakestream.enabled": "true"});
    story.state(&op, "after", side("1", on, Some(2)), store(true, rows));
    files(&mut story);
    story
}

#[test]
fn p4_the_state_is_that_of_the_registered_snapshot() {
    enabled(2, [1, 2]).holds("P4");
    enabled(2, [1, 1]).violates("P4");
}

#[test]
fn p8_no_bucket_is_left_out_of_the_state() {
    enabled(2, [1, 2]).holds("P8");
    enabled(2, [0, 2]).violates("P8");
    enabled(2, [0, 0]).violates("P8");
}

#[test]
fn p4_a_lookup_finds_what_the_registered_snapshot_has() {
    let finds = |registered: u64, id: i64, found: Option<i64>| {
        let mut story = history();
        let op = story.begin("s", promote());
        story.ok(&op, promoted()).registered(registered, 0, 0);
        let op = story.begin("r", json!({"lookup": {"table": "db.t$rt", "key": {"id": id}}}));
        let rows: Vec<Value> = found.map(|w| table_row((id, w))).into_iter().collect();
        story.ok(&op, json!({"found": {"row": rows}}));
        files(&mut story);
        story
    };
    finds(2, 2, Some(21)).holds("P4");
    finds(2, 3, Some(30)).holds("P4");
    finds(2, 2, Some(20)).violates("P4");
    finds(2, 3, None).violates("P4");
    // Whether the second snapshot's row shows, nobody promised: it came after the one that is registered.
    finds(1, 3, Some(30)).says_nothing("P4");
}

#[test]
fn p4_which_row_a_lookup_finds_is_the_merge_engines_choice() {
    let finds = |options: Value| {
        let mut story = written(keyed(options));
        let op = story.begin("s", promote());
        story.ok(&op, promoted()).registered(2, 0, 0);
        let op = story.begin("r", json!({"lookup": {"table": "db.t$rt", "key": {"id": 2}}}));
        story.ok(&op, json!({"found": {"row": [table_row((2, 20))]}}));
        files(&mut story);
        story
    };
    finds(json!({"bucket": "2"})).violates("P4");
    finds(json!({"bucket": "2", "merge-engine": "deduplicate"})).violates("P4");
    finds(json!({"bucket": "2", "merge-engine": "first-row"})).says_no_violation("P4");
    finds(json!({"bucket": "2", "sequence.field": "w"})).says_no_violation("P4");
}
