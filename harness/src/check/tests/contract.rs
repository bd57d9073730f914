//! The cells of the contract's table: C6, C8, C10, C11, C12, C14, C18, C21, C23 and C24.

use serde_json::{Value, json};

use super::story::{Story, acked, insert, table_rows};

const STORE_NAMED: &str = "lakestream.store names no store that can be made";

fn select(table: &str) -> Value {
    json!({"select": {"table": table}})
}

fn rows(rows: &[(i64, i64)]) -> Value {
    json!({"rows": {"rows": table_rows(rows)}})
}

fn switch(value: &str) -> Value {
    json!({"alter_options": {"table": "db.t", "set": {"lakestream.enabled": value}}})
}

/// A table in the mode and a catalog that names no store.
fn unset() -> Story {
    Story::append().with_catalog("filesystem", json!({"warehouse": "memory"}))
}

/// The same story while nothing but the store is down.
fn store_down(mut story: Story) -> Story {
    story.fault("start");
    story
}

/// A catalog that finds its store, which has the table.
fn working(story: Story) -> Story {
    let mut story = story.configured();
    story.log(0, 0);
    story
}

#[test]
fn c6_the_mode_is_switched_without_a_store() {
    for story in [unset, || store_down(Story::append().configured())] {
        for value in ["false", "true"] {
            story().done(switch(value), json!("done")).holds("C6");
            story().refused(switch(value), "misconfigured", STORE_NAMED).violates("C6");
        }
    }
    store_down(Story::append().configured()).refused(switch("false"), "unavailable", "down").violates("C6");
    // A lake that is down proves nothing.
    let mut lake_down = Story::append().configured();
    lake_down.event(json!({"event": "fault", "kind": "outage", "target": "lake", "phase": "start"}));
    lake_down.refused(switch("false"), "unavailable", "down").says_nothing("C6");
    // On over a plain table that has rows: declared or refused, no text says which.
    let mut with_rows = Story::plain().configured();
    with_rows.write(&[(1, 10)]);
    with_rows.refused(switch("true"), "rejected", "it has rows").says_nothing("C6");
}

#[test]
fn c8_tables_without_the_option_behave_as_before() {
    Story::plain().configured().done(insert(&[(1, 10)]), acked()).holds("C8");
    Story::plain().configured().refused(insert(&[(1, 10)]), "rejected", "no").violates("C8");
    Story::plain()
        .with_catalog("filesystem", json!({}))
        .refused(select("db.t"), "misconfigured", STORE_NAMED)
        .violates("C8");
    store_down(Story::plain().configured()).refused(insert(&[(1, 10)]), "unavailable", "down").violates("C8");
    // Whether the mode was on is not certain.
    let mut uncertain = Story::plain().configured();
    uncertain.begin("e", switch("true"));
    uncertain.refused(insert(&[(1, 10)]), "rejected", "no").says_nothing("C8");
}

#[test]
fn c8_the_store_of_a_plain_table_is_never_opened() {
    let write = |opened: bool| {
        let mut story = Story::plain().configured();
        let op = story.begin("s", insert(&[(1, 10)]));
        if opened {
            story.catalog_seen(1, 0, &["bootstrap.servers"], false);
        }
        story.ok(&op, acked());
        story
    };
    write(true).violates("C8");
    write(false).holds("C8");
}

#[test]
fn c8_what_is_acked_in_a_plain_table_is_in_the_lake() {
    let mut story = Story::plain();
    story.write(&[(1, 10)]).base(None, &[]).violates("C8");
    let mut story = Story::plain();
    story.write(&[(1, 10)]).base(Some(1), &[(1, 10)]).holds("C8");
    let mut story = Story::plain();
    story.write(&[(1, 10)]).tiered(1, 1, 2, &[(1, 10)], &[("+I", (1, 10))]).violates("C8");
    // A list from the past is the storage's doing.
    let mut story = Story::plain();
    story.event(json!({"event": "fault", "kind": "stale-list", "target": "lake", "phase": "start"}));
    story.write(&[(1, 10)]).base(None, &[]).says_nothing("C8");
}

#[test]
fn c10_rt_is_read_only() {
    let write = json!({"insert": {"table": "db.t$rt", "rows": table_rows(&[(1, 10)])}});
    let definition = json!({"alter_options": {"table": "db.t$rt", "set": {"a": "b"}}});
    for statement in [(write, acked()), (definition, json!("done"))] {
        working(Story::append()).done(statement.0.clone(), statement.1).violates("C10");
        working(Story::append()).refused(statement.0.clone(), "not-found", "no db.t$rt").violates("C10");
        working(Story::append()).refused(statement.0.clone(), "rejected", "read-only").holds("C10");
        // Whether the store has the table is not known: refused, but for which reason?
        Story::append().configured().refused(statement.0.clone(), "not-found", "no db.t$rt").holds("C10");
        // Nothing is known of the catalog, nor then of the store.
        Story::append().refused(statement.0, "rejected", "read-only").says_nothing("C10");
    }
}

#[test]
fn c11_rt_does_not_travel_in_time() {
    let at = json!({"select": {"table": "db.t$rt", "at_timestamp_ms": 5}});
    working(Story::append()).done(at.clone(), rows(&[])).violates("C11");
    working(Story::append()).refused(at.clone(), "rejected", "no time travel").holds("C11");
    working(Story::append()).refused(at, "unavailable", "down").says_nothing("C11");
    // A snapshot instead: told, not judged.
    let findings =
        working(Story::append()).done(json!({"select": {"table": "db.t$rt", "at_snapshot": 1}}), rows(&[])).findings();
    assert_eq!(findings.judgements["C11"].judged, 0);
    assert!(findings.judgements["C11"].notes[0].contains("no text says"), "{findings:#?}");
}

#[test]
fn c12_a_branch_write_is_rejected_before_the_store_is_opened() {
    let write = || json!({"insert": {"table": "db.t", "branch": "b", "rows": table_rows(&[(1, 10)])}});
    Story::append().configured().done(write(), acked()).violates("C12");
    Story::append().configured().refused(write(), "rejected", "branch").holds("C12");
    unset().refused(write(), "misconfigured", STORE_NAMED).violates("C12");
    store_down(Story::append().configured()).refused(write(), "unavailable", "down").violates("C12");
    let mut opened = Story::append().configured();
    let op = opened.begin("s", write());
    opened.catalog_seen(1, 0, &["bootstrap.servers"], false).fail(&op, "rejected", true, "branch");
    opened.violates("C12");
    Story::append().configured().refused(write(), "timeout", "no answer").says_nothing("C12");
}

#[test]
fn c14_misconfiguration_is_told_by_the_stores_name() {
    for statement in [insert(&[(1, 10)]), select("db.t$rt")] {
        unset().refused(statement.clone(), "misconfigured", STORE_NAMED).holds("C14");
        unset().refused(statement.clone(), "misconfigured", "something is missing").violates("C14");
        unset().refused(statement.clone(), "not-found", "no db.t$rt").violates("C14");
        unset().refused(statement, "timeout", "no answer").says_nothing("C14");
    }
    unset().done(select("db.t$rt"), rows(&[])).violates("C14");
    unset().done(insert(&[(1, 10)]), acked()).violates("C14");
    let unknown = Story::append().with_catalog("filesystem", json!({"lakestream.store": "other"}));
    unknown.refused(select("db.t$rt"), "misconfigured", "there is no store `other`").holds("C14");
    // The base name needs none.
    unset().refused(select("db.t"), "misconfigured", STORE_NAMED).violates("C16");
}

#[test]
fn c14_a_store_that_is_down_is_no_lookup_failure() {
    let story = || store_down(Story::append().configured());
    story().refused(select("db.t$rt"), "unavailable", "down").holds("C14");
    story().refused(select("db.t$rt"), "not-found", "no db.t$rt").violates("C14");
    story().done(select("db.t$rt"), rows(&[])).violates("C14");
    // It went down while the read was on its way.
    let mut during = Story::append().configured();
    let op = during.begin("s", select("db.t$rt"));
    during.fault("start").ok(&op, rows(&[]));
    during.says_nothing("C14");
}

#[test]
fn c18_a_view_keeps_its_name() {
    let view = json!({"create_view": {"view": "db.x$rt", "query_table": "db.t"}});
    let story = || {
        let mut story = Story::append().configured();
        story.write(&[(1, 10)]);
        story.done(view.clone(), json!("done"))
    };
    story().done(select("db.x$rt"), rows(&[(1, 10)])).holds("C18");
    story().done(select("db.x$rt"), rows(&[(7, 77)])).violates("C18");
    story().refused(select("db.x$rt"), "not-found", "no db.x").violates("C18");
    // It may not have been made yet.
    let mut uncertain = Story::append().configured();
    uncertain.begin("e", view.clone());
    uncertain.refused(select("db.x$rt"), "not-found", "no db.x").says_nothing("C18");
}

#[test]
fn c18_what_only_looks_like_rt_is_none() {
    Story::append().configured().done(select("db.t$rt$rt"), rows(&[])).violates("C18");
    Story::append().configured().refused(select("db.t$rt$rt"), "not-found", "no such table").holds("C18");
    Story::append().configured().refused(select("db.t$rt$rt"), "timeout", "no answer").says_nothing("C18");
    let noted = Story::append().configured().refused(select("db.t$branch_b$rt"), "not-found", "no").findings();
    assert!(noted.judgements["C18"].notes[0].contains("failed as NotFound"), "{noted:#?}");
}

#[test]
fn c21_if_exists_is_no_guards_business() {
    let rename = |if_exists: bool| json!({"rename_table": {"table": "db.m", "to": "db.n", "if_exists": if_exists}});
    let create = json!({"create_table": {"table": "db.t", "columns": [{"name": "w", "type": "BIGINT"}],
        "if_not_exists": true}});
    for statement in [rename(true), create] {
        Story::append().configured().done(statement.clone(), json!("done")).holds("C21");
        Story::append().configured().refused(statement.clone(), "rejected", "the mode is on").violates("C21");
        Story::append().configured().refused(statement, "unavailable", "down").says_nothing("C21");
    }
}

#[test]
fn c23_row_level_statements_reach_the_store_or_fail_by_its_name() {
    let update = || json!({"update": {"table": "db.t", "set": {"v": "x"}, "filter": {"id": 1}}});
    let story = || working(Story::keyed());
    story().done(update(), acked()).holds("C23");
    story().refused(update(), "unsupported", "the store reference cannot update").holds("C23");
    story().refused(update(), "unsupported", "cannot update").violates("C23");
    story().done(update(), json!({"acked": {"acked": 1, "snapshot_id": 3}})).violates("C23");
    story().refused(update(), "unavailable", "down").says_nothing("C23");
    // Its rows came into the lake by a commit that carries no offsets.
    let mut on_lake = story();
    on_lake.write(&[(1, 10)]);
    let mut on_lake = on_lake.done(update(), acked());
    let committed_ms = on_lake.now_ms();
    on_lake.native(1, committed_ms, &[(1, 10)], &[("-U", (1, 10)), ("+U", (1, 10))]);
    on_lake.violates("C23");
}

#[test]
fn c24_only_a_plain_table_is_routed() {
    let read = |opened: bool| {
        let mut story = Story::append().configured();
        let op = story.begin("s", select("db.t$snapshots"));
        if opened {
            story.catalog_seen(1, 0, &["bootstrap.servers"], false);
        }
        story.ok(&op, json!({"rows": {"rows": []}}));
        story
    };
    read(true).violates("C24");
    read(false).holds("C24");
    unset().refused(select("db.t$snapshots"), "misconfigured", STORE_NAMED).violates("C24");
    Story::append().configured().refused(select("db.t$snapshots"), "unsupported", "no").says_nothing("C24");
}

#[test]
fn c24_another_type_of_table_is_not_routed() {
    let format_table = || {
        let columns = json!([{"name": "id", "type": "BIGINT"}, {"name": "w", "type": "BIGINT"}]);
        let options = json!({"type": "format-table", "lakestream.enabled": "true"});
        Story::append()
            .with_catalog("filesystem", json!({}))
            .with_table(json!({"columns": columns, "options": options}))
    };
    format_table().done(insert(&[(1, 10)]), acked()).holds("C24");
    format_table().refused(insert(&[(1, 10)]), "misconfigured", STORE_NAMED).violates("C24");
    format_table().refused(insert(&[(1, 10)]), "unsupported", "no such writer").says_nothing("C24");
}
