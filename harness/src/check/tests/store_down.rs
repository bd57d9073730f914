//! F6: base reads while the store is away.

use serde_json::{Value, json};

use super::story::Story;

fn select() -> Value {
    json!({"select": {"table": "db.t"}})
}

/// A statement that takes so long until this answer.
fn takes(story: &mut Story, ms: u64, statement: Value, answer: impl FnOnce(&mut Story, &str)) {
    let op = story.begin("r", statement);
    story.wait(ms - 1);
    answer(story, &op);
}

fn rows(story: &mut Story, op: &str) {
    story.ok(op, json!({"rows": {"rows": []}}));
}

/// Three reads with nothing wrong, of 10 ms at most; then the store is in this trouble for as long as `during` lasts.
fn in_trouble(kind: &str, target: &str, during: impl FnOnce(&mut Story)) -> Story {
    let mut story = Story::append();
    [8, 10, 9].into_iter().for_each(|ms| takes(&mut story, ms, select(), rows));
    let fault = |phase: &str| json!({"event": "fault", "kind": kind, "target": target, "phase": phase});
    story.event(fault("start"));
    during(&mut story);
    story.event(fault("end"));
    story
}

/// One more read of 10 ms, with nothing wrong.
fn then_healthy(mut story: Story) -> Story {
    takes(&mut story, 10, select(), rows);
    story
}

#[test]
fn f6_a_base_read_waits_for_no_store() {
    let before_the_last = |ms: u64| in_trouble("outage", "store", |story| takes(story, ms, select(), rows));
    let lasting = |ms: u64| then_healthy(before_the_last(ms));
    let argument = lasting(31).violates("F6");
    assert!(argument.contains("It took 31 ms") && argument.contains("more than 10 ms"), "{argument}");
    lasting(30).holds("F6");
    // The table may have grown since it was measured.
    before_the_last(31).holds("F6");
    // What is slow with the store there is slow.
    let mut story = Story::append();
    [8, 10, 40].into_iter().for_each(|ms| takes(&mut story, ms, select(), rows));
    story.says_nothing("F6");
}

#[test]
fn f6_a_base_read_and_its_metadata_work_without_the_store() {
    let fails = |statement: Value, code: &str| {
        in_trouble("crash", "store", |story| {
            takes(story, 9, statement, |story, op| {
                story.fail(op, code, true, "the store is down");
            });
        })
    };
    fails(select(), "unavailable").violates("F6");
    fails(json!({"select": {"table": "db.t", "filter": {"id": 1}}}), "timeout").violates("F6");
    fails(json!({"describe": {"table": "db.t", "side": "lake"}}), "unavailable").violates("F6");
    // Those are the store's.
    fails(json!({"describe": {"table": "db.t", "side": "store"}}), "unavailable").says_nothing("F6");
    fails(json!({"select": {"table": "db.t$rt"}}), "unavailable").says_nothing("F6");
    // What the system cannot do at all it need not do now.
    fails(select(), "unsupported").says_nothing("F6");
}

#[test]
fn f6_a_store_that_is_paused_or_comes_back_meanwhile_counts_too() {
    then_healthy(in_trouble("pause", "store", |story| takes(story, 50, select(), rows))).violates("F6");
    // The answer came only after the store had come back.
    let mut op = String::new();
    let mut story = in_trouble("crash", "store", |story| op = story.begin("r", select()));
    story.wait(50).ok(&op, json!({"rows": {"rows": []}}));
    then_healthy(story).violates("F6");
}

#[test]
fn f6_says_nothing_where_something_else_was_wrong_too() {
    in_trouble("outage", "lake", |story| takes(story, 50, select(), rows)).says_nothing("F6");
    in_trouble("outage", "store", |story| {
        story.event(json!({"event": "fault", "kind": "pause", "target": "r", "phase": "start"}));
        takes(story, 50, select(), rows);
    })
    .says_nothing("F6");
}
