//! L17: lookup, filtered scan and full scan of one view.

use serde_json::{Value, json};

use super::story::{Rows, Story, insert, table_rows};

/// A lookup of key `id` by session `r`.
fn lookup(story: &mut Story, view: &str, id: i64, rows: Rows) {
    let op = story.begin("r", json!({"lookup": {"table": view, "key": {"id": id}}}));
    story.ok(&op, found(rows));
}

fn found(rows: Rows) -> Value {
    json!({"found": {"row": table_rows(rows)}})
}

/// A select with `id = …` by session `r`.
fn filtered(story: &mut Story, view: &str, id: i64, snapshot_id: Option<u64>, rows: Rows) {
    let op = story.begin("r", json!({"select": {"table": view, "filter": {"id": id}}}));
    story.ok(&op, json!({"rows": {"rows": table_rows(rows), "snapshot_id": snapshot_id}}));
}

#[test]
fn l17_a_lookup_agrees_with_the_scan() {
    let story = |looked_up: Rows| {
        let mut story = Story::keyed();
        story.write(&[(1, 10)]).write(&[(1, 11)]).read(&[(1, 11)]);
        lookup(&mut story, "db.t$rt", 1, looked_up);
        story
    };
    let argument = story(&[(1, 10)]).violates("L17");
    assert!(argument.contains("w=Int(10)") && argument.contains("w=Int(11)"), "{argument}");
    story(&[]).violates("L17");
    story(&[(1, 11)]).holds("L17");
}

#[test]
fn l17_the_scan_may_come_after_the_lookup() {
    let story = |looked_up: Rows| {
        let mut story = Story::keyed();
        story.write(&[(1, 10)]);
        lookup(&mut story, "db.t$rt", 1, looked_up);
        story.read(&[(1, 10)]);
        story
    };
    story(&[]).violates("L17");
    story(&[(1, 10)]).holds("L17");
}

#[test]
fn l17_a_filtered_scan_agrees_with_the_full_scan() {
    let story = |matching: Rows| {
        let mut story = Story::append();
        story.write(&[(1, 10), (2, 20)]).write(&[(1, 11)]).read(&[(1, 10), (2, 20), (1, 11)]);
        filtered(&mut story, "db.t$rt", 1, None, matching);
        story
    };
    story(&[(1, 10)]).violates("L17");
    story(&[(1, 10), (1, 11), (1, 11)]).violates("L17");
    story(&[(1, 11), (1, 10)]).holds("L17");
}

#[test]
fn l17_what_is_in_flight_or_in_doubt_is_left_out() {
    // The lookup may see the write that the scan was too early for.
    let mut beside = Story::keyed();
    beside.read(&[]);
    let put = beside.begin("w", insert(&[(1, 10)]));
    lookup(&mut beside, "db.t$rt", 1, &[(1, 10)]);
    beside.ok(&put, super::story::acked());
    beside.holds("L17");
    // One in doubt may take effect at any time, but on its own key only.
    let doubtful = |asked: i64| {
        let mut story = Story::keyed();
        let put = story.begin("w", insert(&[(1, 10)]));
        story.fail(&put, "timeout", false, "no answer").write(&[(2, 20)]).read(&[(2, 20)]);
        lookup(&mut story, "db.t$rt", asked, if asked == 1 { &[(1, 10)] } else { &[] });
        story
    };
    doubtful(1).holds("L17");
    doubtful(2).violates("L17");
    // An overwrite may change everything.
    let mut overwritten = Story::append();
    overwritten.write(&[(1, 10)]).read(&[(1, 10)]).overwrite(2, &[]);
    filtered(&mut overwritten, "db.t$rt", 1, None, &[]);
    overwritten.says_nothing("L17");
}

#[test]
fn l17_reads_of_one_snapshot_agree() {
    let story = |snapshot_id: u64, matching: Rows| {
        let mut story = Story::append();
        story.write(&[(1, 10)]).base(Some(1), &[(1, 10)]);
        filtered(&mut story, "db.t", 1, Some(snapshot_id), matching);
        story
    };
    story(1, &[]).violates("L17");
    story(1, &[(1, 10)]).holds("L17");
    story(2, &[]).says_nothing("L17");
}

#[test]
fn l17_a_base_lookup_is_of_the_snapshot_that_was_the_newest_all_along() {
    let story = |next_at_ms: Option<u64>, looked_up: Rows| {
        let mut story = Story::keyed();
        story.write(&[(1, 10)]).wait(10).base(Some(1), &[(1, 10)]);
        lookup(&mut story, "db.t", 1, looked_up);
        story.phase("end");
        story.tiered(1, 1, 5, &[(1, 10)], &[("+I", (1, 10))]);
        if let Some(at_ms) = next_at_ms {
            story.tiered(2, 1, at_ms, &[(1, 10)], &[]);
        }
        story.event(json!({"event": "files", "table": "db.t", "findings": [], "orphans": []}));
        story
    };
    story(None, &[]).violates("L17");
    story(Some(1000), &[]).violates("L17");
    story(None, &[(1, 10)]).holds("L17");
    // The lookup may have read the next snapshot.
    story(Some(14), &[]).says_nothing("L17");
}

#[test]
fn l17_nothing_is_said_while_the_definition_may_change() {
    let mut story = Story::keyed();
    story.write(&[(1, 10)]).read(&[(1, 10)]);
    let alter = story.begin("d", json!({"alter_options": {"table": "db.t", "set": {"x": "y"}}}));
    lookup(&mut story, "db.t$rt", 1, &[]);
    story.fail(&alter, "timeout", false, "no answer");
    story.says_nothing_of("L17");
}
