//! F1 to F4, and the samples.

use serde_json::json;

use super::story::{Story, acked, insert};

#[test]
fn f1_an_acked_row_is_in_every_later_rt_read() {
    let argument = Story::append().write(&[(1, 10)]).read(&[]).read(&[(1, 10)]).violates("F1");
    assert!(argument.contains("w=10") && argument.contains("event 1"), "{argument}");
    Story::append().write(&[(1, 10)]).read(&[(1, 10)]).holds("F1");
}

#[test]
fn f1_a_key_shows_its_last_write_or_one_that_supersedes_it() {
    Story::keyed().write(&[(1, 10)]).write(&[(1, 11)]).read(&[(1, 10)]).read(&[(1, 11)]).violates("F1");
    Story::keyed().write(&[(1, 10)]).write(&[(1, 11)]).read(&[(1, 11)]).holds("F1");
    // An update that is in flight may be shown already, or not yet.
    for shown in [10, 11] {
        let mut story = Story::keyed();
        story.write(&[(1, 10)]);
        let update = story.begin("x", insert(&[(1, 11)]));
        story.read(&[(1, shown)]);
        story.ok(&update, acked());
        story.holds("F1");
    }
    // Of two concurrent writes either may be last.
    for shown in [10, 11] {
        let mut story = Story::keyed();
        let first = story.begin("x", insert(&[(1, 10)]));
        let second = story.begin("y", insert(&[(1, 11)]));
        story.ok(&second, acked()).ok(&first, acked());
        story.read(&[(1, shown)]);
        story.holds("F1");
    }
}

#[test]
fn f1_a_delete_binds_too() {
    Story::keyed().write(&[(1, 10)]).delete(1).read(&[(1, 10)]).read(&[]).violates("F1");
    Story::keyed().write(&[(1, 10)]).delete(1).read(&[]).holds("F1");
}

#[test]
fn f1_an_indefinite_write_may_take_effect_at_any_later_time() {
    for shown in [&[(1, 10)][..], &[(1, 11)], &[]] {
        let mut story = Story::keyed();
        let update = story.begin("x", insert(&[(1, 11)]));
        let delete = story.begin("y", json!({"delete": {"table": "db.t", "keys": [{"id": 1}]}}));
        story.fail(&update, "timeout", false, "no answer").fail(&delete, "timeout", false, "no answer");
        story.write(&[(1, 10)]).read(shown);
        story.holds("F1");
    }
}

#[test]
fn f1_a_filter_that_the_row_does_not_match_excuses_it() {
    let filtered = |id: i64| {
        let mut story = Story::append();
        story.write(&[(1, 10)]);
        let op = story.begin("r", json!({"select": {"table": "db.t$rt", "filter": {"id": id}}}));
        story.ok(&op, json!({"rows": {"rows": []}}));
        story
    };
    filtered(1).violates("F1");
    filtered(2).says_nothing("F1");
}

#[test]
fn f1_says_nothing_of_reads_before_the_ack_or_while_an_overwrite_may_strike() {
    let mut story = Story::append();
    let op = story.begin("w", insert(&[(1, 10)]));
    story.read(&[]);
    story.ok(&op, acked());
    story.says_nothing("F1");
    Story::append().write(&[(1, 10)]).overwrite(2, &[]).read(&[]).says_nothing("F1");
}

#[test]
fn f2_a_base_read_after_a_healthy_window_shows_the_write() {
    // The ack comes 100 ms of lake freshness before the read, at least.
    Story::append().write(&[(1, 10)]).wait(100).base(Some(1), &[]).violates("F2");
    Story::append().write(&[(1, 10)]).wait(100).base(Some(1), &[(1, 10)]).holds("F2");
    // Too early.
    Story::append().write(&[(1, 10)]).wait(98).base(None, &[]).says_nothing("F2");
    // A window that was over before the fault binds for ever.
    Story::append().write(&[(1, 10)]).wait(100).fault("start").base(None, &[]).violates("F2");
}

#[test]
fn f2_allows_for_the_recovery_from_a_fault() {
    let after_fault = |wait_before_ms: u64, wait_after_ms: u64| {
        let mut story = Story::append();
        story.fault("instant").wait(wait_before_ms).write(&[(1, 10)]).wait(wait_after_ms).base(None, &[]);
        story
    };
    after_fault(0, 200).violates("F2");
    after_fault(0, 195).says_nothing("F2");
    // One that has recovered by the ack is as fresh as ever.
    after_fault(100, 100).violates("F2");
    after_fault(100, 95).says_nothing("F2");
    // A fault costs the window.
    Story::append().write(&[(1, 10)]).wait(90).fault("instant").wait(150).base(None, &[]).says_nothing("F2");
    Story::append().write(&[(1, 10)]).fault("start").wait(900).base(None, &[]).says_nothing("F2");
}

#[test]
fn f3_a_session_never_goes_back() {
    Story::append().write(&[(1, 10)]).read(&[(1, 10)]).read(&[]).violates("F3");
    Story::keyed().write(&[(1, 10)]).write(&[(1, 11)]).read(&[(1, 11)]).read(&[(1, 10)]).violates("F3");
    Story::keyed().write(&[(1, 10)]).write(&[(1, 11)]).read(&[(1, 11)]).read(&[(1, 11)]).holds("F3");
    Story::keyed().write(&[(1, 10)]).read(&[(1, 10)]).delete(1).read(&[]).holds("F3");
    // Whose writes overlap has no order, but a state does not return.
    let mut story = Story::keyed();
    let first = story.begin("x", insert(&[(1, 10)]));
    let second = story.begin("y", insert(&[(1, 11)]));
    story.read(&[(1, 11)]).read(&[(1, 10)]);
    story.ok(&first, acked()).ok(&second, acked());
    story.holds("F3");
    story.read(&[(1, 11)]).violates("F3");
}

#[test]
fn f3_offsets_order_what_real_time_does_not() {
    let mut story = Story::keyed();
    let first = story.begin("x", insert(&[(1, 10)]));
    let second = story.begin("y", insert(&[(1, 11)]));
    story.ok(&first, acked()).ok(&second, acked());
    story.read(&[(1, 11)]).read(&[(1, 10)]);
    story.changes("earliest", "p", &[("+I", (1, 10), Some(0)), ("-U", (1, 10), Some(1)), ("+U", (1, 11), Some(2))]);
    story.violates("F3");
}

#[test]
fn f4_base_reads_never_go_back_in_real_time() {
    Story::append().base(Some(2), &[]).base(Some(1), &[]).violates("F4");
    Story::append().base(Some(2), &[]).base(None, &[]).violates("F4");
    Story::append().base(None, &[]).base(Some(1), &[]).base(Some(1), &[]).holds("F4");
    // Reads that overlap may see either.
    let mut story = Story::append();
    let slow = story.begin("x", json!({"select": {"table": "db.t"}}));
    story.base(Some(2), &[]);
    story.ok(&slow, json!({"rows": {"rows": [], "snapshot_id": 1}}));
    story.says_nothing("F4");
}

#[test]
fn f4_base_reads_begin_anew_after_a_rollback_and_only_then() {
    let reads = |before: &[u64], after: &[u64]| {
        let mut story = Story::append();
        before.iter().for_each(|id| _ = story.base(Some(*id), &[]));
        story.rollback("start").rollback("end");
        after.iter().for_each(|id| _ = story.base(Some(*id), &[]));
        story
    };
    reads(&[3], &[1, 2]).holds("F4");
    reads(&[3, 1], &[]).violates("F4");
    reads(&[3], &[2, 1]).violates("F4");
}

#[test]
fn samples_tell_how_long_a_write_was_missed_and_when_it_reached_the_lake() {
    let mut story = Story::append();
    story.write(&[(1, 10)]);
    let acked_at_ms = story.now_ms();
    story.wait(40).read(&[]).read(&[(1, 10)]);
    story.tiered(1, 1, acked_at_ms + 70, &[(1, 10)], &[("+I", (1, 10))]);
    let freshness = story.findings().freshness;
    assert_eq!((freshness.real_time_ms, freshness.lake_ms), (vec![41], vec![70]));
    assert!(Story::append().write(&[(1, 10)]).findings().freshness.real_time_ms.is_empty());
}
