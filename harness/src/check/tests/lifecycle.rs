//! C7, C19 and C20: what was seen on both sides around a definition.

use serde_json::{Value, json};

use super::story::{Story, side, side_of};

fn on() -> Value {
    json!({"lakestream.enabled": "true"})
}

fn none() -> Value {
    json!({})
}

fn done() -> Value {
    json!("done")
}

fn columns(names: &[(&str, bool)]) -> Value {
    names.iter().map(|(name, nullable)| json!({"name": name, "type": "BIGINT", "nullable": nullable})).collect()
}

fn add(side: &str, name: &str) -> Value {
    json!({"alter_columns": {"table": "db.t", "side": side, "changes": [{"add": {"name": name, "type": "BIGINT"}}]}})
}

#[test]
fn c7_a_column_change_on_the_lake_touches_the_lake_only() {
    let old = || columns(&[("id", false)]);
    let new = || columns(&[("id", false), ("c", true)]);
    let changed = |store_after: Value| {
        let sides = [
            side_of("1", old(), on(), None),
            side_of("7", old(), on(), None),
            side_of("1", new(), on(), None),
            side_of("7", store_after, on(), None),
        ];
        Story::append().seen(add("lake", "c"), done(), sides)
    };
    changed(old()).holds("C7");
    changed(new()).violates("C7");
    Story::append().refused(add("lake", "c"), "rejected", "the mode is on").violates("C7");
    Story::append().refused(add("lake", "c"), "invalid", "there is a c").says_nothing("C7");
    Story::plain().done(add("lake", "c"), done()).says_nothing("C7");
}

/// A switch on the store's side that leaves the lake's table with these options.
fn switched(set: Value, reset: Value, before: Value, after: Value) -> Story {
    let statement = json!({"alter_options": {"table": "db.t", "side": "store", "set": set, "reset": reset}});
    let sides = [side("1", before, None), side("7", on(), None), side("1", after, None), side("7", on(), None)];
    Story::append().seen(statement, done(), sides)
}

#[test]
fn c19_the_store_writes_true_and_removes_the_key() {
    let off = || json!({"lakestream.enabled": "false"});
    switched(on(), json!([]), none(), on()).holds("C19");
    switched(on(), json!([]), none(), none()).violates("C19");
    for (set, reset) in [
        (off(), json!([])),
        (none(), json!(["lakestream.enabled"])),
        (json!({"table.datalake.enabled": "false"}), json!([])),
    ] {
        switched(set.clone(), reset.clone(), on(), none()).holds("C19");
        switched(set.clone(), reset.clone(), on(), off()).violates("C19");
        switched(set, reset, on(), on()).violates("C19");
    }
    // Another option is no switch.
    switched(json!({"a": "b"}), json!([]), on(), on()).says_nothing("C19");
}

#[test]
fn c19_says_nothing_while_another_definition_may_interfere() {
    let mut story = Story::append();
    story.begin("e", json!({"alter_options": {"table": "db.t", "set": {"lakestream.enabled": "false"}}}));
    let sides = [side("1", on(), None), side("7", on(), None), side("1", none(), None), side("7", on(), None)];
    let enable = json!({"alter_options": {"table": "db.t", "side": "store", "set": {"lakestream.enabled": "true"}}});
    story.seen(enable, done(), sides).says_nothing("C19");
}

#[test]
fn c19_legacy_tables_are_never_touched() {
    let legacy = || columns(&[("id", false), ("__bucket", true), ("__offset", true), ("__timestamp", true)]);
    let enabled = |after: Value| {
        let sides =
            [side_of("1", legacy(), none(), None), Value::Null, side_of("1", legacy(), after, None), Value::Null];
        let statement =
            json!({"alter_options": {"table": "db.t", "side": "store", "set": {"lakestream.enabled": "true"}}});
        Story::append().seen(statement, done(), sides)
    };
    enabled(none()).holds("C19");
    enabled(on()).violates("C19");
}

#[test]
fn c20_system_columns_are_refused() {
    Story::append().done(add("store", "__offset"), done()).violates("C20");
    Story::append().refused(add("store", "__offset"), "invalid", "a system column").holds("C20");
    Story::append().refused(add("store", "__offset"), "unavailable", "down").says_nothing("C20");
    Story::append().done(add("store", "c"), done()).says_nothing("C20");
}

#[test]
fn c20_added_columns_go_last_and_are_nullable() {
    let added = |after: &[(&str, bool)]| {
        let old = || side_of("1", columns(&[("id", false), ("v", true)]), on(), None);
        let new = || side_of("1", columns(after), on(), None);
        Story::append().seen(add("store", "c"), done(), [old(), old(), new(), new()])
    };
    added(&[("id", false), ("v", true), ("c", true)]).holds("C20");
    added(&[("id", false), ("c", true), ("v", true)]).violates("C20");
    added(&[("id", false), ("v", true), ("c", false)]).violates("C20");
    // Before the system columns of a legacy table is last.
    added(&[("id", false), ("v", true), ("c", true), ("__bucket", true), ("__offset", true), ("__timestamp", true)])
        .holds("C20");
}
