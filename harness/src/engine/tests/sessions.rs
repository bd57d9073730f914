//! What sessions do besides executing: they close their catalogs, bring back what DESCRIBE showed, and show what their
//! catalogs had to do with the store.

use models::contract::{Output, Statement, TablePath};
use scenarios::plan::{Action, Phase, Plan, PlannedClose, PlannedStatement, Step};
use serde_json::{Value, json};

use super::super::run::RunOptions;
use super::super::sim::run;
use crate::history::Event;

/// A step of a drained session, where nothing else moves: a statement, or `null` for a close whose Paimon side fails.
fn step(id: usize, session: &str, statement: Value) -> Step {
    let (session, phase) = (session.to_owned(), Phase::Drained);
    let action = match statement {
        Value::Null => Action::Close(PlannedClose { session, phase, at_ms: 0, fails: true }),
        statement => Action::Run(PlannedStatement {
            session,
            phase,
            at_ms: 0,
            deadline_ms: 10_000,
            statement: serde_json::from_value(statement).unwrap(),
        }),
    };
    Step { id: format!("s{id}"), action }
}

/// The events of a run in which one session does this, from its first step on.
fn events_of(statements: &dyn Fn(&TablePath) -> Vec<Value>) -> Vec<Event> {
    let mut plan: Plan = scenarios::find("append").unwrap().plan(0);
    let table = plan.tables.iter().find(|planned| planned.side == models::contract::Side::Store).unwrap();
    let statements = statements(&table.table);
    plan.steps = statements.into_iter().enumerate().map(|(id, statement)| step(id, "w1", statement)).collect();
    let result = run(&plan, &RunOptions::default());
    assert_eq!(result.trouble, None);
    result.history.events.into_iter().map(|entry| entry.event).collect()
}

/// Opened, closed, and whether the catalog is: of every event of a catalog.
fn catalogs(events: &[Event]) -> Vec<(u64, u64, bool)> {
    let catalog = |event: &Event| match event {
        Event::Catalog { store_opened, store_closed, closed, .. } => Some((*store_opened, *store_closed, *closed)),
        _ => None,
    };
    events.iter().filter_map(catalog).collect()
}

#[test]
fn a_catalog_is_shown_when_it_opens_its_store_and_when_it_is_closed_and_the_next_counts_anew() {
    let events = events_of(&|table| {
        let base_read = json!({"select": {"table": table}});
        let write = json!({"insert": {"table": table, "rows": []}});
        vec![base_read, write.clone(), write.clone(), Value::Null, write, Value::Null]
    });
    assert_eq!(catalogs(&events), [(1, 0, false), (1, 1, true), (1, 0, false), (1, 1, true)]);
    let shown = events.iter().position(|event| matches!(event, Event::Catalog { .. })).unwrap();
    assert!(
        matches!(&events[shown], Event::Catalog { store_option_keys, .. } if store_option_keys == &["bootstrap.servers"])
    );
    assert!(matches!(&events[shown + 1], Event::Ok { op, .. } if op == "s1"), "before the answer");
}

#[test]
fn a_session_that_never_needed_the_store_closes_nothing() {
    let events = events_of(&|table| vec![Value::Null, json!({"select": {"table": table}}), Value::Null]);
    assert_eq!(catalogs(&events), [(0, 0, true), (0, 0, true)]);
}

#[test]
fn a_described_layout_comes_back_with_the_next_insert_and_there_is_none_before() {
    let events = events_of(&|table| {
        let insert = json!({"insert": {"table": table, "rows": [], "layout": "described"}});
        vec![insert.clone(), json!({"describe": {"table": table}}), insert]
    });
    let sent = |op: &str| {
        events.iter().find_map(|event| match event {
            Event::Invoke { op: sent, statement: Statement::Insert { layout, .. }, .. } if sent == op => Some(layout),
            _ => None,
        })
    };
    let described = events.iter().find_map(|event| match event {
        Event::Ok { output: Output::Described(described), .. } => Some(&described.layout),
        _ => None,
    });
    assert_eq!(sent("s0"), Some(&None));
    assert!(sent("s2").is_some_and(Option::is_some) && sent("s2") == described);
}
