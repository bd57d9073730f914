//! F7: a table beside one that cannot be tiered.

use serde_json::json;

use super::story::{Rows, Story};

/// Another table is dropped, a row is written, and so long after it the base is read.
fn beside(dropped: bool, wait_ms: u64, shown: Rows) -> Story {
    let mut story = Story::append();
    let drop = story.begin("d", json!({"drop_table": {"table": "db.other", "side": "store"}}));
    if dropped {
        story.ok(&drop, json!("done"));
    } else {
        story.fail(&drop, "unavailable", true, "the store is down");
    }
    story.write(&[(1, 10)]).wait(wait_ms).base(Some(1), shown);
    story
}

#[test]
fn f7_a_table_that_cannot_be_tiered_delays_no_other() {
    let argument = beside(true, 400, &[]).violates("F7");
    assert!(argument.contains("drop_table of db.other"), "{argument}");
    beside(true, 400, &[(1, 10)]).holds("F7");
    // One longest round more than F2 allows has not passed.
    beside(true, 250, &[]).says_nothing_of("F7");
    beside(false, 400, &[]).says_nothing_of("F7");
}
