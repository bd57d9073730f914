//! C16 and C17.

use serde_json::{Value, json};

use super::story::{Story, acked, insert};

fn select() -> Value {
    json!({"select": {"table": "db.t"}})
}

/// A statement during which the catalog of session `s` is seen as told.
fn during(statement: Value, output: Value, opened: u64, keys: &[&str]) -> Story {
    let mut story = Story::append().configured();
    let op = story.begin("s", statement);
    if opened > 0 {
        story.catalog_seen(opened, 0, keys, false);
    }
    story.ok(&op, output);
    story
}

fn no_rows() -> Value {
    json!({"rows": {"rows": []}})
}

const KEYS: &[&str] = &["bootstrap.servers"];

#[test]
fn c16_base_reads_never_open_the_store() {
    let argument = during(select(), no_rows(), 1, KEYS).violates("C16");
    assert!(argument.contains("opened the store"), "{argument}");
    let mut story = during(select(), no_rows(), 0, KEYS);
    // Another session's catalog shows that catalogs are observed.
    story.event(json!({"event": "catalog", "session": "other", "store_opened": 0, "store_closed": 0,
        "store_option_keys": [], "closed": true}));
    story.holds("C16");
    // No catalog was seen at all.
    during(select(), no_rows(), 0, KEYS).says_nothing("C16");
    // It was open already: opening it would not show.
    let mut story = during(insert(&[(1, 10)]), acked(), 1, KEYS);
    story = story.done(select(), no_rows());
    story.says_nothing("C16");
}

#[test]
fn c17_the_store_gets_its_options_without_their_prefix_and_no_others() {
    during(insert(&[(1, 10)]), acked(), 1, KEYS).holds("C17");
    during(insert(&[(1, 10)]), acked(), 1, &["reference.bootstrap.servers"]).violates("C17");
    during(insert(&[(1, 10)]), acked(), 1, &["bootstrap.servers", "warehouse"]).violates("C17");
    during(insert(&[(1, 10)]), acked(), 1, &[]).violates("C17");
    Story::append().configured().says_nothing("C17");
}

#[test]
fn c17_the_store_is_created_on_first_use_and_once() {
    during(insert(&[(1, 10)]), acked(), 2, KEYS).violates("C17");
    // With the catalog, before any statement.
    let mut eager = Story::append().configured();
    eager.catalog_seen(1, 0, KEYS, false).violates("C17");
    let branch = json!({"create_branch": {"table": "db.t", "branch": "b"}});
    during(branch, json!("done"), 1, KEYS).violates("C17");
    // A new catalog opens it anew.
    let mut again = during(insert(&[(1, 10)]), acked(), 1, KEYS);
    again.catalog_seen(1, 1, &[], true);
    let op = again.begin("s", insert(&[(2, 20)]));
    again.catalog_seen(1, 0, KEYS, false).ok(&op, acked());
    again.holds("C17");
}

#[test]
fn c17_the_store_is_closed_with_the_catalog() {
    let closed = |store_closed: u64| {
        let mut story = during(insert(&[(1, 10)]), acked(), 1, KEYS);
        story.catalog_seen(1, store_closed, &[], true);
        story
    };
    closed(0).violates("C17");
    closed(1).holds("C17");
}
