//! L1 to L5.

use serde_json::json;

use super::story::{Story, acked, insert, overwrite};

#[test]
fn l1_an_acked_row_is_never_lost() {
    let argument = Story::append().write(&[(1, 10)]).read(&[]).read(&[]).violates("L1");
    assert!(argument.contains("It was acked"), "{argument}");
    Story::append().write(&[(1, 10)]).read(&[(1, 10)]).holds("L1");
    // One stale read is F1's affair; the row came back.
    let judgements = Story::append().write(&[(1, 10)]).read(&[]).read(&[(1, 10)]).findings().judgements;
    assert_eq!((judgements["L1"].violations.len(), judgements["F1"].violations.len()), (0, 1));
}

#[test]
fn l1_what_a_read_returned_is_never_lost_either() {
    let shown = || {
        let mut story = Story::append();
        let op = story.begin("w", insert(&[(1, 10)]));
        story.read(&[(1, 10)]);
        story.fail(&op, "timeout", false, "no answer");
        story
    };
    let argument = shown().read(&[]).violates("L1");
    assert!(argument.contains("returned to a reader"), "{argument}");
    shown().read(&[(1, 10)]).holds("L1");
    // Never shown, never acked: it may as well not exist.
    let mut story = Story::append();
    let op = story.begin("w", insert(&[(1, 10)]));
    story.fail(&op, "timeout", false, "no answer").read(&[]);
    story.says_nothing("L1");
}

#[test]
fn l1_superseded_writes_may_go() {
    Story::append().write(&[(1, 10)]).overwrite(2, &[]).read(&[]).says_nothing("L1");
    Story::append().overwrite(2, &[]).write(&[(1, 10)]).read(&[]).violates("L1");
    Story::keyed().write(&[(1, 10)]).delete(1).read(&[]).says_nothing("L1");
    // An indefinite overwrite counts for ever.
    let mut story = Story::append();
    let op = story.begin("o", overwrite(&[]));
    story.fail(&op, "timeout", false, "no answer").write(&[(1, 10)]).read(&[]);
    story.says_nothing("L1");
}

#[test]
fn l1_rows_of_an_overwrite_bind_union_reads_once_a_snapshot_with_them_is_readable() {
    Story::append().overwrite(2, &[(1, 10)]).read(&[]).says_nothing("L1");
    Story::append().overwrite(2, &[(1, 10)]).registered(3, 0, 0).read(&[]).violates("L1");
    Story::append().overwrite(2, &[(1, 10)]).registered(3, 0, 0).read(&[(1, 10)]).holds("L1");
}

#[test]
fn l1_is_noted_after_an_event_on_which_the_texts_are_silent() {
    let mut story = Story::append();
    story.write(&[(1, 10)]);
    let off = story.begin("d", json!({"alter_options": {"table": "db.t", "set": {"lakestream.enabled": "false"}}}));
    story.ok(&off, json!("done")).read(&[]);
    story.says_nothing("L1");
    let notes = &story.findings().judgements["L1"].notes;
    assert!(notes.len() == 1 && notes[0].starts_with("alter_options succeeded on a lake-stream table"), "{notes:?}");
    assert!(!notes[0].contains("db.t") && !notes[0].contains("event"), "the same in every run: {notes:?}");
}

#[test]
fn l1_has_no_note_about_a_table_that_never_was_in_the_mode() {
    let mut story = Story::plain();
    let truncate = story.begin("d", json!({"truncate_table": {"table": "db.t"}}));
    story.ok(&truncate, json!("done"));
    assert!(story.findings().judgements["L1"].notes.is_empty());
}

#[test]
fn l2_the_drained_base_table_holds_what_was_acked() {
    Story::append().write(&[(1, 10)]).phase("drained").base(Some(1), &[]).violates("L2");
    Story::append().write(&[(1, 10)]).phase("drained").base(Some(1), &[(1, 10)]).holds("L2");
    Story::keyed().write(&[(1, 10)]).write(&[(1, 11)]).phase("drained").base(Some(1), &[(1, 10)]).violates("L2");
    Story::keyed().write(&[(1, 10)]).write(&[(1, 11)]).phase("drained").base(Some(1), &[(1, 11)]).holds("L2");
    // Written after the drain, or never drained.
    Story::append().phase("drained").write(&[(1, 10)]).base(None, &[]).says_nothing("L2");
    Story::append().write(&[(1, 10)]).base(None, &[]).says_nothing("L2");
}

#[test]
fn l2_a_drain_that_was_given_up_had_the_time_that_the_system_declares() {
    let argument = Story::append().write(&[(1, 10)]).phase("gave-up").base(Some(1), &[]).violates("L2");
    assert!(argument.contains("the drain was given up"), "{argument}");
    Story::append().write(&[(1, 10)]).phase("gave-up").base(Some(1), &[(1, 10)]).holds("L2");
}

#[test]
fn l18_clean_up_leaves_what_is_reachable() {
    let files = |cleaned: bool, orphans: &[&str]| {
        let mut story = Story::append();
        story.event(json!({"event": "files", "table": "db.t", "findings": [], "orphans": orphans, "cleaned": cleaned}));
        story
    };
    let argument = files(true, &["db.db/t/bucket-0/data-1.parquet"]).violates("L18");
    assert!(argument.contains("data-1.parquet first"), "{argument}");
    files(true, &[]).holds("L18");
    // Without a clean-up orphans are listed, and no more.
    files(false, &["db.db/t/bucket-0/data-1.parquet"]).says_nothing("L18");
}

#[test]
fn l2_overwrites_remove_what_was_there_and_nothing_that_came_after() {
    let story = || {
        let mut story = Story::append();
        story.write(&[(1, 10)]).overwrite(2, &[(2, 20)]).write(&[(3, 30)]).phase("drained");
        story
    };
    story().base(Some(3), &[(2, 20), (3, 30)]).holds("L2");
    story().base(Some(3), &[(1, 10), (2, 20), (3, 30)]).holds("L2");
    story().base(Some(3), &[(2, 20)]).violates("L2");
    story().base(Some(3), &[(3, 30)]).violates("L2");
}

#[test]
fn l3_no_row_appears_twice() {
    Story::append().write(&[(1, 10)]).read(&[(1, 10), (1, 10)]).violates("L3");
    Story::append().write(&[(1, 10)]).read(&[(1, 10)]).holds("L3");
    Story::keyed().write(&[(1, 10)]).write(&[(1, 11)]).read(&[(1, 10), (1, 11)]).violates("L3");
    let twice = &[("+I", (1, 10)), ("+I", (1, 10))];
    Story::append().write(&[(1, 10)]).tiered(1, 1, 9, &[(1, 10), (1, 10)], twice).violates("L3");
    Story::append().says_nothing("L3");
}

#[test]
fn l3_a_tail_never_repeats_a_row_across_the_hand_off() {
    let tail = |second: &[(&str, (i64, i64), Option<u64>)]| {
        let mut story = Story::append();
        story.write(&[(1, 10)]).write(&[(2, 20)]).changes("earliest", "p", &[("+I", (1, 10), None)]);
        story.changes("p", "q", second);
        story
    };
    tail(&[("+I", (1, 10), Some(0)), ("+I", (2, 20), Some(1))]).violates("L3");
    tail(&[("+I", (2, 20), Some(1))]).holds("L3");
    // A new tail begins anew.
    Story::append()
        .write(&[(1, 10)])
        .changes("earliest", "p", &[("+I", (1, 10), Some(0))])
        .changes("earliest", "p", &[("+I", (1, 10), Some(0))])
        .holds("L3");
}

#[test]
fn l4_no_row_appears_that_nobody_wrote() {
    let argument = Story::append().write(&[(1, 10)]).read(&[(1, 10), (9, 99)]).violates("L4");
    assert!(argument.contains("write id 99"), "{argument}");
    Story::append().write(&[(1, 10)]).read(&[(1, 10)]).holds("L4");
    // The write id is known, the content is another.
    let argument = Story::append().write(&[(1, 10)]).read(&[(2, 10)]).violates("L4");
    assert!(argument.contains("id = Int(2)"), "{argument}");
    Story::append().read(&[]).says_nothing("L4");
}

#[test]
fn l4_no_failed_write_ever_appears_nor_a_row_before_its_write() {
    let failed = |definite: bool| {
        let mut story = Story::append();
        let op = story.begin("w", insert(&[(1, 10), (2, 11)]));
        story.fail(&op, "unavailable", definite, "the store is down").read(&[(1, 10)]);
        story
    };
    failed(true).violates("L4");
    failed(false).holds("L4");
    Story::append().read(&[(1, 10)]).write(&[(1, 10)]).violates("L4");
}

#[test]
fn l5_the_lake_merges_in_order() {
    let merged = |rows: &[(i64, i64)]| {
        let mut story = Story::keyed();
        story.write(&[(1, 10)]).write(&[(1, 11)]);
        story.tiered(1, 1, 50, &[(1, 10)], &[("+I", (1, 10))]);
        story.tiered(2, 3, 60, rows, &[("-U", (1, 10)), ("+U", (1, 11))]);
        story
    };
    merged(&[(1, 10)]).violates("L5");
    merged(&[(1, 11)]).holds("L5");
    Story::keyed().write(&[(1, 10)]).says_nothing("L5");
}

#[test]
fn l5_compaction_brings_no_deleted_row_back() {
    let compacted = |rows: &[(i64, i64)]| {
        let mut story = Story::keyed();
        story.write(&[(1, 10)]).delete(1);
        story.tiered(1, 1, 50, &[(1, 10)], &[("+I", (1, 10))]);
        story.tiered(2, 2, 60, &[], &[("-D", (1, 10))]);
        let compaction = json!({"snapshot_id": 3, "user": "compactor", "identifier": 1, "kind": "COMPACT",
            "committed_at_ms": 70});
        let rewritten: Vec<_> = rows.iter().map(|row| ("+I", *row)).collect();
        story.snapshot(compaction, rows, &rewritten);
        story
    };
    compacted(&[(1, 10)]).violates("L5");
    compacted(&[]).holds("L5");
}

#[test]
fn l5_an_acked_delete_is_not_ignored() {
    let argument = Story::keyed().write(&[(1, 10)]).delete(1).read(&[(1, 10)]).violates("L5");
    assert!(argument.contains("never undone"), "{argument}");
    Story::keyed().write(&[(1, 10)]).delete(1).read(&[]).holds("L5");
    Story::keyed().write(&[(1, 10)]).delete(1).write(&[(1, 11)]).read(&[(1, 11)]).says_nothing("L5");
    // A write beside the delete may come after it.
    let mut story = Story::keyed();
    let put = story.begin("x", insert(&[(1, 10)]));
    story.delete(1);
    story.ok(&put, acked()).read(&[(1, 10)]);
    story.holds("L5");
}

#[test]
fn l5_reads_follow_the_log_that_was_shown_before() {
    let concurrent = |shown: i64| {
        let mut story = Story::keyed();
        let first = story.begin("x", insert(&[(1, 10)]));
        let second = story.begin("y", insert(&[(1, 11)]));
        story.ok(&first, acked()).ok(&second, acked());
        story.changes("earliest", "p", &[("+I", (1, 10), Some(0)), ("-U", (1, 10), Some(1)), ("+U", (1, 11), Some(2))]);
        story.read(&[(1, shown)]);
        story
    };
    concurrent(10).violates("L5");
    concurrent(11).holds("L5");
}

#[test]
fn l5_what_the_log_holds_at_an_offset_never_changes() {
    let mut story = Story::append();
    story.write(&[(1, 10)]).write(&[(2, 20)]);
    story.changes("earliest", "p", &[("+I", (1, 10), Some(0))]);
    story.changes("earliest", "p", &[("+I", (2, 20), Some(0))]);
    story.violates("L5");
}

#[test]
fn at_most_five_violations_are_argued_and_the_rest_is_counted() {
    let mut story = Story::append();
    for w in 0..8 {
        story.write(&[(w, w)]);
    }
    story.read(&[]);
    let findings = story.findings();
    let violations = &findings.judgements["F1"].violations;
    assert_eq!(violations.len(), 5);
    assert!(violations[4].argument.ends_with("(3 more violations of F1 are not shown.)"));
}
