//! P1 to P8.

use serde_json::{Value, json};

use super::story::{Story, acked, side, side_of, table_rows};

fn done() -> Value {
    json!("done")
}

fn none() -> Value {
    json!({})
}

fn on() -> Value {
    json!({"lakestream.enabled": "true"})
}

fn create_on_lake(properties: Value) -> Value {
    json!({"create_on_lake": {"table": "db.t", "properties": properties}})
}

fn enable() -> Value {
    json!({"enable": {"table": "db.t"}})
}

pub fn promote() -> Value {
    json!({"promote": {"table": "db.t", "properties": {"table.dml-sync": "true"}}})
}

pub fn promoted() -> Value {
    json!({"promoted": {"message": "db.t is a lake-stream table"}})
}

/// A lake table with two rows of history.
fn history(mut story: Story) -> Story {
    let op = story.begin("n", json!({"native_insert": {"table": "db.t", "rows": table_rows(&[(1, 10), (2, 20)])}}));
    story.ok(&op, json!({"acked": {"acked": 2, "snapshot_id": 1}}));
    story
}

/// The plain key table of these tests.
pub fn keyed(options: Value) -> Story {
    Story::plain().with_table(json!({"columns": [{"name": "id", "type": "BIGINT", "nullable": false},
        {"name": "v", "type": "STRING"}, {"name": "w", "type": "BIGINT"}], "primary_key": ["id"], "options": options}))
}

#[test]
fn p1_creating_on_the_lake_makes_disabled_metadata_only() {
    let made = |lake_after: Value, store_after: Value| {
        let sides = [side("1", none(), Some(3)), Value::Null, lake_after, store_after];
        Story::plain().seen(create_on_lake(none()), done(), sides)
    };
    let lake = || side("1", none(), Some(3));
    made(lake(), side("7", none(), None)).holds("P1");
    made(lake(), side("7", on(), None)).violates("P1");
    made(lake(), Value::Null).violates("P1");
    made(lake(), side_of("7", json!([{"name": "id", "type": "BIGINT"}]), none(), None)).violates("P1");
    made(side("1", on(), Some(3)), side("7", none(), None)).violates("P1");
    Story::plain().done(create_on_lake(none()), done()).says_nothing("P1");
}

#[test]
fn p1_managed_options_and_existing_tables_are_refused() {
    let managed = || create_on_lake(json!({"table.datalake.enabled": "true"}));
    Story::plain().done(managed(), done()).violates("P1");
    Story::plain().refused(managed(), "rejected", "managed").holds("P1");
    let there = || [side("1", none(), None), side("7", none(), None), side("1", none(), None), side("7", none(), None)];
    Story::plain().seen(create_on_lake(none()), done(), there()).violates("P1");
    Story::plain().seen_refused(create_on_lake(none()), "already-exists", "there is one", there()).holds("P1");
}

/// An enabling with these snapshots: the lake's newest, and the one that the store has registered.
fn enabled(lake: Option<u64>, registered: Option<u64>, refused: bool) -> Story {
    let mut story = Story::plain().done(create_on_lake(none()), done());
    if let Some(id) = registered {
        story.registered(id, 0, 0);
    }
    let (before, store) = (|| side("1", none(), lake), side("7", none(), None));
    if refused {
        return story.seen_refused(enable(), "rejected", "they differ", [before(), store.clone(), before(), store]);
    }
    story.seen(enable(), done(), [before(), store, side("1", on(), lake), side("7", on(), None)])
}

#[test]
fn p2_enabling_needs_equal_snapshots_or_none() {
    enabled(Some(3), Some(3), false).holds("P2");
    enabled(None, None, false).holds("P2");
    enabled(Some(3), Some(2), false).violates("P2");
    enabled(Some(3), None, false).violates("P2");
    enabled(Some(3), Some(2), true).holds("P2");
    enabled(Some(3), Some(3), true).violates("P2");
    // Nobody looked.
    Story::plain().done(enable(), done()).says_nothing("P2");
}

#[test]
fn p2_enabling_needs_one_schema_and_twice_is_once() {
    let enabled_as = |columns: Value| {
        let store = || side_of("7", columns.clone(), none(), None);
        [side("1", none(), None), store(), side("1", on(), None), store()]
    };
    let other = enabled_as(json!([{"name": "id", "type": "STRING"}]));
    Story::plain().seen(enable(), done(), other).violates("P2");
    // The lake can hold the rows of a store with fewer columns.
    let fewer = enabled_as(json!([{"name": "id", "type": "BIGINT"}]));
    Story::plain().seen(enable(), done(), fewer).holds("P2");
    let twice = || [side("1", on(), Some(3)), side("7", on(), None), side("1", on(), Some(3)), side("7", on(), None)];
    Story::plain().seen(enable(), done(), twice()).holds("P2");
    Story::plain().seen_refused(enable(), "rejected", "enabled already", twice()).violates("P2");
}

#[test]
fn p3_an_append_table_registers_empty_offsets() {
    let registers = |offset: u64, source: u64| {
        let sides = [side("1", none(), Some(source)), Value::Null, side("1", on(), Some(3)), side("7", on(), None)];
        let mut story = Story::plain().seen(promote(), promoted(), sides);
        story.registered(3, offset, offset);
        story
    };
    registers(0, 3).holds("P3");
    registers(5, 3).violates("P3");
    // What is registered is a later snapshot: tiering may have made it.
    registers(5, 2).says_nothing("P3");
}

#[test]
fn p4_no_older_snapshot_is_registered_than_the_lake_had() {
    let promotes = |registered: u64| {
        let sides =
            [side("1", none(), Some(4)), side("7", none(), None), side("1", on(), Some(4)), side("7", on(), None)];
        let mut story = keyed(json!({"bucket": "1"})).seen(promote(), promoted(), sides);
        story.registered(registered, 2, 2);
        story
    };
    promotes(4).holds("P4");
    promotes(5).holds("P4");
    promotes(3).violates("P4");
    keyed(json!({"bucket": "1"})).done(promote(), promoted()).says_nothing("P4");
}

#[test]
fn p4_what_an_earlier_call_in_doubt_registered_may_come_late() {
    let promotes = |earlier: Option<(&str, bool)>| {
        let mut story = keyed(json!({"bucket": "1"}));
        if let Some((code, definite)) = earlier {
            let op = story.begin("s", promote());
            story.fail(&op, code, definite, "no answer");
        }
        let sides =
            [side("1", none(), Some(5)), side("7", none(), None), side("1", on(), Some(5)), side("7", on(), None)];
        let mut story = story.seen(promote(), promoted(), sides);
        story.registered(4, 2, 2);
        story
    };
    promotes(None).violates("P4");
    promotes(Some(("rejected", true))).violates("P4");
    promotes(Some(("timeout", false))).says_nothing("P4");
}

#[test]
fn p4_all_buckets_are_published_at_once() {
    let during = |shown: &[(i64, i64)]| {
        let mut story = history(keyed(json!({"bucket": "2"})));
        let op = story.begin("s", promote());
        story.read(shown).ok(&op, promoted());
        story
    };
    during(&[(1, 10)]).violates("P4");
    during(&[(1, 10), (2, 20)]).holds("P4");
    during(&[]).holds("P4");
}

#[test]
fn p5_no_row_of_the_history_is_lost_repeated_or_shadowed() {
    for story in [|| history(keyed(json!({"bucket": "1"}))), || history(Story::plain())] {
        let after = |shown: &[(i64, i64)]| {
            let mut story = story().done(promote(), promoted());
            story.read(shown);
            story
        };
        after(&[(1, 10), (2, 20)]).holds("P5");
        after(&[(1, 10)]).violates("P5");
        after(&[(1, 10), (1, 10), (2, 20)]).violates("P5");
        story().done(promote(), promoted()).says_nothing("P5");
    }
    // A system may declare that `t$rt` lags behind; the read comes 5 ms after the commit.
    let lagging = |staleness_ms: u64| {
        let mut story = history(Story::plain().with_rt_staleness(staleness_ms)).done(promote(), promoted());
        story.wait(2).read(&[]);
        story
    };
    lagging(5).violates("P5");
    lagging(6).says_nothing("P5");
    // An update of a historic key, and a delete of another.
    let shadowed = |rows: &[(i64, i64)]| {
        let mut story = history(keyed(json!({"bucket": "1"}))).done(promote(), promoted());
        story.write(&[(1, 11)]).delete(2).read(rows);
        story
    };
    shadowed(&[(1, 11)]).holds("P5");
    shadowed(&[(1, 10)]).violates("P5");
    shadowed(&[(1, 11), (2, 20)]).violates("P5");
}

#[test]
fn p6_partitions_that_cannot_be_selected_are_refused() {
    let table = |key: &[&str], partition_keys: &[&str]| {
        let mut story =
            Story::plain().with_table(json!({"columns": [{"name": "id", "type": "BIGINT", "nullable": false},
            {"name": "p", "type": "STRING", "nullable": false}, {"name": "w", "type": "BIGINT"}],
            "primary_key": key, "partition_keys": partition_keys, "options": {"bucket": "1"}}));
        let rows = json!([{"id": 1, "p": "a", "w": 10}]);
        let op = story.begin("n", json!({"native_insert": {"table": "db.t", "rows": rows}}));
        story.ok(&op, acked());
        story
    };
    let select = |partitions: Value| json!({"promote": {"table": "db.t", "partitions": partitions}});
    let keyed = || table(&["id", "p"], &["p"]);
    keyed().done(select(json!([{"p": "a"}])), promoted()).holds("P6");
    for partitions in [json!([{"p": "b"}]), json!([{"p": "a"}, {"p": "a"}]), json!([{"q": "a"}]), json!([{}])] {
        keyed().done(select(partitions.clone()), promoted()).violates("P6");
        keyed().refused(select(partitions), "rejected", "no such partitions").holds("P6");
    }
    table(&["id"], &[]).done(select(json!([{"p": "a"}])), promoted()).violates("P6");
    table(&[], &["p"]).done(select(json!([{"p": "a"}])), promoted()).violates("P6");
    keyed().done(promote(), promoted()).says_nothing("P6");
}

#[test]
fn p7_what_cannot_be_mapped_is_refused_by_name() {
    let unmappable = || json!({"deletion-vectors.enabled": "true", "bucket": "1"});
    let lake = || side("1", unmappable(), Some(1));
    let accepted = [lake(), Value::Null, lake(), side("7", unmappable(), None)];
    Story::plain().seen(create_on_lake(none()), done(), accepted).violates("P7");
    let refused = |message: &str| {
        let sides = [lake(), Value::Null, lake(), Value::Null];
        Story::plain().seen_refused(create_on_lake(none()), "rejected", message, sides)
    };
    refused("`deletion-vectors.enabled` cannot be mapped").holds("P7");
    refused("cannot be mapped").violates("P7");
    let plain = || side("1", json!({"bucket": "1"}), Some(1));
    Story::plain()
        .seen(create_on_lake(none()), done(), [plain(), Value::Null, plain(), side("7", json!({"bucket": "1"}), None)])
        .says_nothing("P7");
}

#[test]
fn p8_a_half_loaded_table_is_never_enabled() {
    let cut = |shown: &[(i64, i64)]| {
        let mut story = history(keyed(json!({"bucket": "2"})));
        let op = story.begin("s", promote());
        story.fail(&op, "timeout", false, "no answer");
        let op = story.begin("s", promote());
        story.ok(&op, promoted());
        story.read(shown);
        story
    };
    cut(&[(1, 10), (2, 20)]).holds("P8");
    cut(&[(1, 10)]).violates("P8");
    cut(&[(1, 10), (1, 10), (2, 20)]).violates("P8");
    // It never answers: the promotion was undone, or is not over.
    let mut story = history(keyed(json!({"bucket": "2"})));
    let op = story.begin("s", promote());
    story.fail(&op, "timeout", false, "no answer");
    story.says_nothing("P8");
}
