//! C1 to C5, C9 and C22.

use serde_json::{Value, json};

use super::story::Story;

const ADVICE: &str = "set lakestream.enabled to false first";

fn rename() -> Value {
    json!({"rename_table": {"table": "db.t", "to": "db.u"}})
}

fn replace() -> Value {
    json!({"replace_table": {"table": "db.t", "columns": [{"name": "w", "type": "BIGINT"}],
        "via": "create-or-replace"}})
}

fn truncate() -> Value {
    json!({"truncate_table": {"table": "db.t"}})
}

fn switch(value: &str) -> Value {
    json!({"alter_options": {"table": "db.t", "set": {"lakestream.enabled": value}}})
}

fn done(mut story: Story, statement: Value) -> Story {
    let op = story.begin("d", statement);
    story.ok(&op, json!("done"));
    story
}

fn failed(mut story: Story, statement: Value, code: &str, definite: bool, message: &str) -> Story {
    let op = story.begin("d", statement);
    story.fail(&op, code, definite, message);
    story
}

#[test]
fn c1_c2_c9_what_the_mode_forbids_is_rejected() {
    for (property, statement) in [("C1", rename()), ("C2", replace()), ("C9", truncate())] {
        let argument = done(Story::append(), statement.clone()).violates(property);
        assert!(argument.contains("it succeeded"), "{argument}");
        failed(Story::append(), statement.clone(), "rejected", true, ADVICE).holds(property);
        // The table is there, and no store is needed to refuse.
        failed(Story::append(), statement.clone(), "not-found", true, "no such table").violates(property);
        // A part that is down proves nothing.
        failed(Story::append(), statement.clone(), "unavailable", true, "down").says_nothing(property);
        failed(Story::append(), statement.clone(), "timeout", false, "no answer").says_nothing(property);
        done(Story::plain(), statement).says_nothing(property);
    }
}

#[test]
fn c1_says_nothing_while_the_mode_is_uncertain() {
    let mut story = Story::append();
    let off = story.begin("e", switch("false"));
    let mut story = done(story, rename());
    story.ok(&off, json!("done"));
    story.says_nothing("C1");
    let story = failed(Story::append(), switch("false"), "timeout", false, "no answer");
    done(story, rename()).says_nothing("C1");
    // A name that is taken is a second reason to refuse.
    let create = json!({"create_table": {"table": "db.u", "columns": [{"name": "w", "type": "BIGINT"}]}});
    failed(done(Story::append(), create), rename(), "already-exists", true, "db.u exists").says_nothing("C1");
}

#[test]
fn c3_a_rejection_says_how_to_leave_the_mode() {
    let message = |text: &str| failed(Story::append(), rename(), "rejected", true, text);
    message("not allowed").violates("C3");
    message("disable it first").violates("C3");
    message("lakestream.enabled tables keep their offset").violates("C3");
    message("turn lakestream.enabled off first").holds("C3");
    message("Failed to rename: caused by: RESET 'lakestream.enabled'").holds("C3");
    Story::append().says_nothing("C3");
}

#[test]
fn c4_the_guards_hold_in_a_catalog_that_overrides_the_operation() {
    let overriding = || Story::append().with_catalog("jdbc", json!({"lakestream.store": "reference"}));
    let inheriting = || Story::append().with_catalog("filesystem", json!({"lakestream.store": "reference"}));
    done(overriding(), rename()).violates("C4");
    failed(overriding(), rename(), "rejected", true, ADVICE).holds("C4");
    failed(overriding(), rename(), "timeout", false, "no answer").says_nothing("C4");
    // The one that inherits them is C1's alone.
    failed(inheriting(), rename(), "rejected", true, ADVICE).says_nothing("C4");
}

#[test]
fn c5_out_of_the_mode_rename_and_replace_succeed() {
    let reset = json!({"alter_options": {"table": "db.t", "reset": ["lakestream.enabled"]}});
    for off in [switch("false"), reset] {
        for statement in [rename(), replace()] {
            let story = || done(Story::append(), off.clone());
            failed(story(), statement.clone(), "rejected", true, ADVICE).violates("C5");
            done(story(), statement.clone()).holds("C5");
            failed(story(), statement, "unavailable", true, "down").says_nothing("C5");
        }
    }
    // It was never on.
    done(Story::plain(), rename()).says_nothing("C5");
}

/// A rejected rename with both sides seen around it, 5 files before; the drained phase has begun.
fn observed(table_id: &str, options: Value, files: u64, drained: bool) -> Story {
    let state = |op: &str, moment: &str, table_id: &str, options: Value, files: u64| {
        json!({"event": "state", "op": op, "table": "db.t", "moment": moment, "store": null,
            "lake": {"table_id": table_id, "files": files,
                "schema": {"columns": [{"name": "w", "type": "BIGINT"}], "options": options}}})
    };
    let mut story = Story::append();
    if drained {
        story.phase("drained");
    }
    let op = "o1";
    story.event(state(op, "before", "7", json!({"lakestream.enabled": "true"}), 5));
    assert_eq!(story.begin("d", rename()), op);
    story.fail(op, "rejected", true, ADVICE);
    story.event(state(op, "after", table_id, options, files));
    story
}

#[test]
fn c22_what_failed_for_certain_changed_nothing() {
    let on = || json!({"lakestream.enabled": "true"});
    observed("8", on(), 5, false).violates("C22");
    observed("7", json!({}), 5, false).violates("C22");
    observed("7", on(), 6, true).violates("C22");
    observed("7", on(), 5, true).holds("C22");
    // Beside others the number of files may change.
    observed("7", on(), 6, false).holds("C22");
    failed(Story::append(), rename(), "rejected", true, ADVICE).says_nothing("C22");
}

#[test]
fn rejected_statements_leave_the_table_under_judgement() {
    let story = failed(Story::append(), truncate(), "rejected", true, ADVICE);
    let mut lost = failed(story, rename(), "timeout", false, "no answer");
    lost.write(&[(1, 10)]).read(&[]).violates("L1");
}

#[test]
fn a_renamed_table_raises_no_other_alarm() {
    let mut story = Story::append();
    story.write(&[(1, 10)]).read(&[(1, 10)]);
    let mut story = done(done(story, switch("false")), rename());
    let op = story.begin("r", json!({"select": {"table": "db.u"}}));
    story.ok(&op, json!({"rows": {"rows": [{"id": 1, "v": "v", "w": 10}], "snapshot_id": 4}}));
    story.base(None, &[]).holds("C5");
}
