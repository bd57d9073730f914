//! L5 and L6 of a table whose readers see nothing of a commit until it is compacted.

use serde_json::json;

use super::story::{Rows, Story};

/// A key table with deletion vectors, whose log has, at offset 0 and after it, two states of one key.
fn two_states() -> Story {
    let mut story = Story::keyed().with_table(json!({
        "columns": [
            {"name": "id", "type": "BIGINT", "nullable": false},
            {"name": "v", "type": "STRING"},
            {"name": "w", "type": "BIGINT"},
        ],
        "primary_key": ["id"],
        "options": {"lakestream.enabled": "true", "deletion-vectors.enabled": "true", "bucket": "1"},
    }));
    story.write(&[(1, 10)]).write(&[(1, 11)]);
    let updated = &[("+I", (1, 10), Some(0)), ("-U", (1, 10), Some(1)), ("+U", (1, 11), Some(2))];
    story.changes("earliest", "p", updated);
    story
}

fn compacted(story: &mut Story, id: u64, at_ms: u64, rows: Rows) {
    let fields = json!({"snapshot_id": id, "user": "c", "identifier": id, "kind": "COMPACT", "committed_at_ms": at_ms});
    story.snapshot(fields, rows, &[]);
}

/// The first state is tiered and compacted, the second one tiered; then the compaction is registered as readable.
fn readable_up_to(offset: u64) -> Story {
    let mut story = two_states();
    story.registered(3, 3, offset);
    story.event(json!({"event": "readable", "table": "db.t", "table_id": "7", "snapshot_id": 2,
        "offsets": [{"bucket": 0, "offset": offset}]}));
    story.tiered(1, 1, 50, &[], &[("+I", (1, 10))]);
    compacted(&mut story, 2, 60, &[(1, 10)]);
    story.tiered(3, 3, 70, &[(1, 10)], &[("+U", (1, 11))]);
    story
}

#[test]
fn l6_what_readers_see_ends_where_the_log_begins() {
    readable_up_to(1).holds("L6");
    // Between the halves of the update: what readers see is what the log goes on from.
    readable_up_to(2).holds("L6");
    let gap = readable_up_to(3).violates("L6");
    assert!(gap.contains("a gap") && gap.contains("at offset 2"), "{gap}");
    let overlap = readable_up_to(0).violates("L6");
    assert!(overlap.contains("an overlap") && overlap.contains("at offset 0"), "{overlap}");
}

#[test]
fn l6_a_row_that_no_reader_sees_is_a_gap_where_all_of_the_log_is_known() {
    let with = |rows: Rows| {
        let mut story = two_states();
        story.registered(2, 3, 3);
        story.event(json!({"event": "readable", "table": "db.t", "table_id": "7", "snapshot_id": 3,
            "offsets": [{"bucket": 0, "offset": 3}]}));
        story.tiered(1, 1, 50, &[], &[("+I", (1, 10))]).tiered(2, 3, 60, &[], &[("+U", (1, 11))]);
        compacted(&mut story, 3, 70, rows);
        story
    };
    with(&[(1, 11)]).holds("L6");
    with(&[]).violates("L6");
}

/// Both states tiered, with a compaction after each; what the second commit and the second compaction show.
fn shown(by_commit: Rows, by_compaction: Rows) -> Story {
    let mut story = two_states();
    story.tiered(1, 1, 50, &[], &[("+I", (1, 10))]);
    compacted(&mut story, 2, 60, &[(1, 10)]);
    story.tiered(3, 3, 70, by_commit, &[("+U", (1, 11))]);
    compacted(&mut story, 4, 80, by_compaction);
    story
}

#[test]
fn l5_a_compaction_shows_a_state_that_the_key_has_had_since_the_last_one() {
    shown(&[(1, 10)], &[(1, 11)]).holds("L5");
    // It began before the last commit.
    shown(&[(1, 10)], &[(1, 10)]).holds("L5");
    shown(&[(1, 10)], &[]).violates("L5");
    // A commit alone changes nothing of what readers see.
    shown(&[(1, 11)], &[(1, 11)]).violates("L5");
    let mut back = shown(&[(1, 10)], &[(1, 11)]);
    compacted(&mut back, 5, 90, &[(1, 10)]);
    back.violates("L5");
}
