//! L6 to L11.

use serde_json::json;

use super::story::{Story, overwrite};

/// Two rows at the offsets 0 and 1 of the log, as `changes` showed them.
fn logged() -> Story {
    let mut story = Story::append();
    story.write(&[(1, 10)]).write(&[(2, 20)]);
    story.changes("earliest", "p", &[("+I", (1, 10), Some(0)), ("+I", (2, 20), Some(1))]);
    story
}

#[test]
fn l6_the_end_of_the_lake_is_the_start_of_the_log() {
    let both = &[("+I", (1, 10)), ("+I", (2, 20))];
    let gap = logged().tiered(1, 2, 50, &[(1, 10)], &[("+I", (1, 10))]).violates("L6");
    assert!(gap.contains("a gap"), "{gap}");
    let overlap = logged().tiered(1, 1, 50, &[(1, 10), (2, 20)], both).violates("L6");
    assert!(overlap.contains("an overlap"), "{overlap}");
    logged().tiered(1, 2, 50, &[(1, 10), (2, 20)], both).holds("L6");
    logged().says_nothing("L6");
    // An overwrite may have removed what was tiered.
    let mut story = logged();
    story.overwrite(2, &[]);
    story.tiered(1, 2, 8, &[(1, 10), (2, 20)], both).native(2, 9, &[], &[]).tiered(3, 2, 50, &[], &[]);
    story.holds("L6");
}

#[test]
fn l6_of_a_key_the_lake_holds_the_last_entry_below_the_offset() {
    let keyed = |rows: &[(i64, i64)], added: &[(&str, (i64, i64))]| {
        let mut story = Story::keyed();
        story.write(&[(1, 10)]).write(&[(1, 11)]);
        let updated = &[("+I", (1, 10), Some(0)), ("-U", (1, 10), Some(1)), ("+U", (1, 11), Some(2))];
        story.changes("earliest", "p", updated);
        story.tiered(1, 3, 50, rows, added);
        story
    };
    keyed(&[(1, 10)], &[("+I", (1, 10))]).violates("L6");
    keyed(&[(1, 11)], &[("+U", (1, 11))]).holds("L6");
}

#[test]
fn l6_a_bucket_is_never_left_out_of_the_offsets() {
    let two = |second: u64| {
        let mut story = Story::append();
        story.write(&[(1, 10)]);
        story.tiered(1, 1, 50, &[(1, 10)], &[("+I", (1, 10))]).tiered(2, second, 60, &[(1, 10)], &[]);
        story
    };
    two(0).violates("L6");
    two(0).violates("L8");
    two(1).holds("L6");
}

#[test]
fn l6_the_registered_offsets_are_those_of_the_snapshot() {
    let one = |offset: u64| {
        let mut story = Story::append();
        story.write(&[(1, 10)]).registered(1, offset, 0).tiered(1, 1, 3, &[(1, 10)], &[("+I", (1, 10))]);
        story
    };
    one(2).violates("L6");
    one(0).violates("L6");
    one(1).holds("L6");
}

#[test]
fn l7_a_delta_is_exactly_its_range() {
    let second = |added: &[(&str, (i64, i64))], rows: &[(i64, i64)]| {
        let mut story = logged();
        story.tiered(1, 1, 50, &[(1, 10)], &[("+I", (1, 10))]).tiered(2, 2, 60, rows, added);
        story
    };
    let missing = second(&[], &[(1, 10)]).violates("L7");
    assert!(missing.contains("does not add it"), "{missing}");
    second(&[("+I", (1, 10)), ("+I", (2, 20))], &[(1, 10), (1, 10), (2, 20)]).violates("L7");
    second(&[("+I", (2, 20))], &[(1, 10), (2, 20)]).holds("L7");
    // One record beyond its stop.
    let both = &[("+I", (1, 10)), ("+I", (2, 20))];
    logged().tiered(1, 1, 50, &[(1, 10), (2, 20)], both).violates("L7");
}

#[test]
fn l7_a_range_tiered_twice_shows_without_any_log() {
    let mut story = Story::keyed();
    story.write(&[(1, 10)]);
    let added = &[("+I", (1, 10))];
    story.tiered(1, 1, 50, &[(1, 10)], added).tiered(2, 1, 60, &[(1, 10)], added);
    story.violates("L7");
}

#[test]
fn l7_a_range_of_a_key_table_is_judged_by_what_it_merges_to() {
    let keyed = |rows: &[(i64, i64)], added: &[(&str, (i64, i64))]| {
        let mut story = Story::keyed();
        story.write(&[(1, 10)]).delete(1);
        story.changes("earliest", "p", &[("+I", (1, 10), Some(0)), ("-D", (1, 10), Some(1))]);
        story.tiered(1, 2, 50, rows, added);
        story
    };
    keyed(&[(1, 10)], &[("+I", (1, 10))]).violates("L7");
    keyed(&[], &[("+I", (1, 10)), ("-D", (1, 10))]).holds("L7");
    keyed(&[], &[]).holds("L7");
}

#[test]
fn l7_an_offset_that_an_empty_batch_took_is_no_gap() {
    let mut story = Story::append();
    story.write(&[(1, 10)]).write(&[(2, 20)]);
    story.changes("earliest", "p", &[("+I", (1, 10), Some(0)), ("+I", (2, 20), Some(3))]);
    story.tiered(1, 5, 50, &[(1, 10), (2, 20)], &[("+I", (1, 10)), ("+I", (2, 20))]);
    story.holds("L7");
}

#[test]
fn l8_nothing_that_is_registered_goes_back() {
    Story::append().registered(2, 5, 5).registered(1, 5, 5).violates("L8");
    Story::append().registered(2, 5, 5).registered(3, 4, 4).violates("L8");
    Story::append().registered(2, 5, 6).violates("L8");
    Story::append().registered(2, 5, 5).registered(3, 6, 5).holds("L8");
    Story::append().says_nothing("L8");
}

/// Two commits, a rollback of the second, and a third that has its number again.
fn rolled_back(registered_last: &[(u64, u64)]) -> Story {
    let mut story = Story::append();
    story.registered(1, 3, 3).registered(2, 5, 5).rollback("start").rollback("end");
    registered_last.iter().for_each(|(id, offset)| _ = story.registered(*id, *offset, *offset));
    story.event(json!({"event": "phase", "phase": "healed"}));
    story.tiered(1, 3, 1, &[], &[]).tiered(2, 4, 50, &[], &[]);
    story
}

#[test]
fn l8_what_is_registered_goes_back_with_a_rollback_and_once() {
    rolled_back(&[(1, 3), (2, 4)]).holds("L8");
    rolled_back(&[(2, 4)]).holds("L8");
    rolled_back(&[(1, 3), (2, 4), (1, 3), (2, 4)]).violates("L8");
    rolled_back(&[(1, 3), (2, 4)]).holds("L6");
    rolled_back(&[(1, 3), (2, 4)]).holds("L11");
}

#[test]
fn l8_what_was_rolled_back_does_not_stay_registered() {
    let argument = rolled_back(&[]).violates("L8");
    assert!(argument.contains("the snapshot that has that id now carries other offsets"), "{argument}");
    let argument = rolled_back(&[(3, 5)]).violates("L8");
    assert!(argument.contains("the chain has no snapshot of that id any more"), "{argument}");
    rolled_back(&[(3, 5)]).violates("L11");
    rolled_back(&[(1, 3), (2, 5)]).violates("L6");
}

#[test]
fn l9_the_log_is_kept_up_to_the_readable_offset() {
    Story::append().log(1, 5).violates("L9");
    Story::append().registered(1, 4, 2).log(3, 5).violates("L9");
    Story::append().registered(1, 4, 4).log(4, 5).holds("L9");
    Story::append().log(0, 5).says_nothing("L9");
}

#[test]
fn l10_each_finding_in_the_files_is_a_violation() {
    let files = |findings: serde_json::Value| {
        let mut story = Story::append();
        story.event(json!({"event": "files", "table": "db.t", "findings": findings, "orphans": ["x"]}));
        story
    };
    let missing = json!([{"file": "manifest-1", "rule": "every manifest of a live snapshot exists",
        "consequence": "snapshot 3 cannot be read"}]);
    let argument = files(missing).violates("L10");
    assert!(argument.contains("manifest-1") && argument.contains("snapshot 3"), "{argument}");
    files(json!([])).holds("L10");
    // What was in flight to a table that is gone may have reached the next one of the name.
    let mut again = Story::append().done(json!({"drop_table": {"table": "db.t"}}), json!("done"));
    again
        .event(json!({"event": "files", "table": "db.t", "findings": [{"file": "m", "rule": "r", "consequence": "c"}],
        "orphans": []}));
    again.says_nothing("L10");
    // Nor is it a judgement if there is nothing: it could not have failed.
    let mut again = Story::append().done(json!({"drop_table": {"table": "db.t"}}), json!("done"));
    again.event(json!({"event": "files", "table": "db.t", "findings": [], "orphans": []}));
    again.says_nothing("L10");
    Story::append().says_nothing("L10");
}

#[test]
fn l11_a_commit_is_in_the_chain_once() {
    let commit = |id: u64, identifier: u64| json!({"snapshot_id": id, "user": "u", "identifier": identifier, "kind": "APPEND", "committed_at_ms": 50});
    Story::append().snapshot(commit(1, 4), &[], &[]).snapshot(commit(2, 4), &[], &[]).violates("L11");
    Story::append().snapshot(commit(1, 4), &[], &[]).snapshot(commit(2, 5), &[], &[]).holds("L11");
    // Batch commits all bear Paimon's one identifier.
    let batch = i64::MAX as u64;
    Story::append().snapshot(commit(1, batch), &[], &[]).snapshot(commit(2, batch), &[], &[]).says_nothing("L11");
}

#[test]
fn l11_an_acked_commit_is_in_the_chain() {
    let chain = |story: &mut Story| {
        story.native(3, 50, &[], &[]);
    };
    let mut story = Story::append();
    chain(story.overwrite(4, &[]));
    story.violates("L11");
    let mut story = Story::append();
    chain(story.overwrite(3, &[]));
    story.holds("L11");
    // Expired since.
    let mut story = Story::append();
    chain(story.overwrite(2, &[]));
    story.holds("L11");
    // The loser of a race takes the winner's snapshot for its own.
    let mut story = Story::append();
    let other = story.begin("p", overwrite(&[]));
    story.ok(&other, json!({"acked": {"acked": 0, "snapshot_id": 3}}));
    chain(story.overwrite(3, &[]));
    story.violates("L11");
    let mut story = Story::append();
    chain(story.registered(4, 0, 0));
    story.violates("L11");
}

#[test]
fn l16_retention_removes_only_what_was_tiered() {
    let story = |start: u64| {
        let mut story = Story::append();
        story.write(&[(1, 10)]).write(&[(2, 20)]).registered(1, 1, 1).log(start, 2);
        story
    };
    let argument = story(2).violates("L16");
    assert!(argument.contains("up to 1 only"), "{argument}");
    story(1).holds("L16");
    story(0).says_nothing("L16");
    // What is removed may be empty batches, if all of it is known.
    let mut empty = Story::append();
    empty.write(&[(1, 10)]).write(&[(3, 30)]).registered(1, 1, 1);
    empty.changes("earliest", "p", &[("+I", (1, 10), Some(0)), ("+I", (3, 30), Some(3))]).log(3, 4);
    empty.says_no_violation("L16");
    // A delete is no empty batch.
    let mut deleted = Story::keyed();
    deleted.write(&[(1, 10)]).registered(1, 1, 1).delete(1).write(&[(3, 30)]);
    let entries = [("+I", (1, 10), Some(0)), ("-D", (1, 10), Some(1)), ("+I", (3, 30), Some(2))];
    deleted.changes("earliest", "p", &entries).log(2, 3);
    deleted.violates("L16");
}
