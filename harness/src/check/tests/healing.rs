//! F5 and F8.

use serde_json::json;

use super::story::{Story, insert};

#[test]
fn f5_the_lake_reaches_the_ends_of_the_moment_of_healing_in_time() {
    let healed = || {
        let mut story = Story::append();
        story.write(&[(1, 10)]).log(0, 1).phase("healed").wait(500).phase("drained").phase("end");
        story
    };
    healed().tiered(1, 1, 60, &[(1, 10)], &[("+I", (1, 10))]).holds("F5");
    let late = healed().tiered(1, 1, 300, &[(1, 10)], &[("+I", (1, 10))]).violates("F5");
    assert!(late.contains("300 ms"), "{late}");
    let never = healed().tiered(1, 0, 20, &[], &[]).violates("F5");
    assert!(never.contains("reached 0 of 1"), "{never}");
    // Without any sight of the lake there is no evidence.
    healed().says_nothing("F5");
    let nothing = json!({"event": "files", "table": "db.t", "findings": [], "orphans": []});
    let empty = healed().event(nothing).violates("F5");
    assert!(empty.contains("reached 0 of 1"), "a lake that was read, and has no snapshot: {empty}");
    // It was there already.
    healed().tiered(1, 1, 2, &[(1, 10)], &[("+I", (1, 10))]).says_nothing("F5");
}

#[test]
fn f5_a_snapshot_that_expired_may_have_been_in_time() {
    let mut story = Story::append();
    story.write(&[(1, 10)]).log(0, 1).phase("healed").wait(500).phase("end");
    story.tiered(5, 1, 300, &[(1, 10)], &[("+I", (1, 10))]);
    story.says_nothing("F5");
    assert_eq!(story.findings().judgements["F5"].undecided, 1);
}

#[test]
fn f8_allowed_statements_succeed_once_faults_have_ended() {
    let refused = |code: &str, definite: bool| {
        let mut story = Story::append();
        story.write(&[(1, 10)]).phase("healed");
        let op = story.begin("w", insert(&[(2, 11)]));
        story.fail(&op, code, definite, "the store is down");
        story
    };
    let argument = refused("unavailable", true).violates("F8");
    assert!(argument.contains("the store is down"), "{argument}");
    refused("timeout", false).violates("F8");
    refused("unsupported", true).says_nothing("F8");
    Story::append().write(&[(1, 10)]).phase("healed").read(&[(1, 10)]).holds("F8");
}

#[test]
fn f8_says_nothing_of_chaos_or_of_what_is_not_allowed() {
    let mut story = Story::append();
    story.write(&[(1, 10)]);
    let op = story.begin("w", insert(&[(2, 11)]));
    story.fail(&op, "timeout", false, "no answer").phase("healed");
    let rename = story.begin("d", json!({"rename_table": {"table": "db.t", "to": "db.u"}}));
    story.fail(&rename, "rejected", true, "turn off lakestream.enabled first");
    story.says_nothing("F8");
    // A statement without an answer failed only if the run ended.
    let mut story = Story::append();
    story.write(&[(1, 10)]).phase("healed");
    story.begin("w", insert(&[(2, 11)]));
    story.says_nothing("F8");
    story.phase("end").violates("F8");
}
