//! C13.

use serde_json::{Value, json};

use super::story::{Story, acked, table_rows};

fn described(layout: &str) -> Value {
    json!({"described": {"columns": [{"name": "id", "type": "BIGINT"}], "table_id": "7", "layout": layout}})
}

fn describe() -> Value {
    json!({"describe": {"table": "db.t"}})
}

fn add_column(side: &str) -> Value {
    json!({"alter_columns": {"table": "db.t", "side": side, "changes": [{"add": {"name": "c", "type": "INT"}}]}})
}

fn planned() -> Value {
    json!({"insert": {"table": "db.t", "rows": table_rows(&[(1, 10)]), "layout": "a"}})
}

/// Described as layout `a`.
fn plan() -> Story {
    Story::append().configured().done(describe(), described("a"))
}

#[test]
fn c13_a_write_planned_against_an_older_layout_is_rejected() {
    for side in ["lake", "store"] {
        let changed = || plan().done(add_column(side), json!("done"));
        changed().done(planned(), acked()).violates("C13");
        changed().refused(planned(), "rejected", "another layout").holds("C13");
        changed().refused(planned(), "unavailable", "down").says_nothing("C13");
    }
    // Another answer shows that the layout is another now.
    plan().done(describe(), described("b")).done(planned(), acked()).violates("C13");
}

#[test]
fn c13_a_fresh_plan_is_accepted() {
    plan().done(planned(), acked()).holds("C13");
    plan().refused(planned(), "rejected", "another layout").violates("C13");
    // The change may or may not have taken effect.
    let mut doubtful = plan();
    doubtful.begin("e", add_column("store"));
    doubtful.done(planned(), acked()).says_nothing("C13");
    // Nobody ever saw such a layout.
    Story::append().configured().done(planned(), acked()).says_nothing("C13");
}

#[test]
fn c13_no_message_tells_a_secret() {
    let secret = || Story::append().with_catalog("filesystem", json!({"reference.client.password": "open sesame"}));
    secret().refused(describe(), "internal", "cannot connect with open sesame").violates("C13");
    secret().refused(describe(), "internal", "cannot connect").holds("C13");
    Story::append().configured().refused(describe(), "internal", "cannot connect").says_nothing("C13");
}
