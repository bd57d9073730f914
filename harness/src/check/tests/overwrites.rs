//! L15: overwrites beside appends, and rewriting.

use serde_json::{Value, json};

use super::story::{Rows, Story};

fn commit(id: u64, kind: &str, base: Option<u64>) -> Value {
    json!({"snapshot_id": id, "user": "o", "identifier": id, "kind": kind, "committed_at_ms": 50 + id,
        "overwrite_base": base})
}

/// Two appended rows, then an overwrite with row 30 that began on this snapshot.
fn overwritten(base: Option<u64>, left: Rows) -> Story {
    let mut story = Story::append();
    story.write(&[(1, 10)]).write(&[(2, 20)]).overwrite(3, &[(3, 30)]);
    story.tiered(1, 1, 51, &[(1, 10)], &[("+I", (1, 10))]);
    story.tiered(2, 2, 52, &[(1, 10), (2, 20)], &[("+I", (2, 20))]);
    story.snapshot(commit(3, "OVERWRITE", base), left, &[("+I", (3, 30))]);
    story
}

#[test]
fn l15_what_came_after_an_overwrites_base_stays() {
    let argument = overwritten(Some(1), &[(3, 30)]).violates("L15");
    assert!(argument.contains("It began on snapshot 1") && argument.contains("w=20"), "{argument}");
    overwritten(Some(1), &[(2, 20), (3, 30)]).holds("L15");
    // It began after both, or does not say on what.
    overwritten(Some(2), &[(3, 30)]).says_no_violation("L15");
    overwritten(None, &[(3, 30)]).says_no_violation("L15");
    // A row that nobody wrote (L4) may be the one that seems to miss.
    overwritten(Some(1), &[(3, 30), (9, 99)]).says_no_violation("L15");
}

#[test]
fn l15_compaction_and_append_remove_no_rows() {
    let rewritten = |kind: &str, left: Rows| {
        let mut story = Story::append();
        story.write(&[(1, 10)]);
        story.tiered(1, 1, 51, &[(1, 10)], &[("+I", (1, 10))]);
        story.snapshot(commit(2, kind, None), left, &[]);
        story
    };
    rewritten("COMPACT", &[]).violates("L15");
    rewritten("APPEND", &[]).violates("L15");
    rewritten("COMPACT", &[(1, 10)]).holds("L15");
    rewritten("COMPACT", &[(9, 99)]).says_nothing_of("L15");
}
