//! L11 by what the snapshots add, and the offsets that L7 needs.

use serde_json::{Value, json};

use super::story::{Rows, Story, acked, table_rows};

fn commit(id: u64, user: &str, identifier: i64, kind: &str) -> Value {
    json!({"snapshot_id": id, "user": user, "identifier": identifier, "kind": kind, "committed_at_ms": 50})
}

/// The row 10, written past the store.
fn natively_written() -> Story {
    let native = json!({"native_insert": {"table": "db.t", "rows": table_rows(&[(1, 10)])}});
    Story::append().done(native, acked())
}

#[test]
fn l11_the_snapshot_of_an_ack_adds_its_rows() {
    let story = |added: &[(&str, (i64, i64))], rows: Rows| {
        let mut story = Story::append();
        story.write(&[(2, 20)]).overwrite(1, &[(1, 10)]);
        story.snapshot(commit(1, "o", 1, "OVERWRITE"), rows, added);
        story
    };
    let argument = story(&[("+I", (2, 20))], &[(2, 20)]).violates("L11");
    assert!(argument.contains("it is another commit"), "{argument}");
    story(&[("+I", (1, 10))], &[(1, 10)]).holds("L11");
}

#[test]
fn l11_a_commit_is_not_done_again_under_another_kind() {
    let story = |user: &str, kind: &str| {
        let mut story = natively_written();
        story.snapshot(commit(1, "o", 3, "APPEND"), &[(1, 10)], &[("+I", (1, 10))]);
        story.snapshot(commit(2, user, 3, kind), &[(1, 10)], &[("+I", (1, 10))]);
        story
    };
    let argument = story("o", "OVERWRITE").violates("L11");
    assert!(argument.contains("(APPEND) and 2 (OVERWRITE)"), "{argument}");
    // A compaction rewrites rows, and another user's rows are another property's affair.
    story("o", "COMPACT").holds("L11");
    story("p", "OVERWRITE").holds("L11");
}

#[test]
fn l7_what_tiering_adds_has_offsets() {
    let story = |user: &str, added: &[(&str, (i64, i64))]| {
        let mut story = natively_written();
        let rows: Vec<(i64, i64)> = added.iter().map(|(_, row)| *row).collect();
        story.snapshot(commit(1, user, 1, "APPEND"), &rows, added);
        story
    };
    let argument = story("__lakestream_tiering", &[("+I", (1, 10))]).violates("L7");
    assert!(argument.contains("does not say which offsets"), "{argument}");
    story("somebody", &[("+I", (1, 10))]).says_nothing("L7");
    // The empty snapshot that fences off an earlier table's rounds.
    story("__lakestream_tiering", &[]).says_nothing("L7");
}
