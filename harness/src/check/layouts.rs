//! C13: a write that was planned against an older physical layout is rejected, a fresh one is not, and no message tells a
//! secret option value.
//!
//! Layouts are opaque. A plan is *stale* if columns were changed between the DESCRIBE that it comes from and the write, or
//! if a later DESCRIBE of the same side showed another layout. It is *fresh* if no statement that may define anything came
//! in between, and the two sides' columns never parted ways before. What lies between is not judged.

use std::collections::{BTreeMap, BTreeSet};

use models::contract::{FailureCode, Output, Side, Statement, TablePath};

use scenarios::contract::SENTINEL;

use super::index::{End, Fate, Index, NEVER, Operation};
use super::table::Table;
use super::timeline::{self, Known};
use super::weather::Weather;
use super::{Docket, prose};

/// Judges C13.
pub fn judge(index: &Index, docket: &mut Docket) {
    let mut described: BTreeMap<(&TablePath, &str), Vec<&Operation>> = BTreeMap::new();
    for operation in &index.operations {
        match (operation.statement, operation.output()) {
            (Statement::Describe { table, .. }, Some(Output::Described(description))) => {
                if let Some(layout) = &description.layout {
                    described.entry((table, layout)).or_default().push(operation);
                }
            }
            (Statement::Insert { table, layout: Some(layout), branch: None, .. }, _) if !table.real_time => {
                let Some(table) = index.table(&table.path) else { continue };
                let answered_n = operation.answered().map_or(NEVER, |at| at.n);
                let plans = described.get(&(table.path, layout.as_str()));
                // The newest answer with this layout is what the plan is as good as.
                let plan = plans.and_then(|plans| plans.iter().rfind(|plan| plan.acked_n() < operation.invoked.n));
                if let (Some(plan), Known::Yes) = (plan, table.timeline.mode.during(operation.invoked.n, answered_n)) {
                    planned_write(index, table, plan, operation, docket);
                }
            }
            _ => {}
        }
    }
    no_secret_told(index, docket);
}

/// Whether a plan is of the layout that its write meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    Fresh,
    Stale,
    Unknown,
}

/// The side and the layout that a DESCRIBE showed.
fn layout_of<'h>(operation: &Operation<'h>) -> Option<(Side, &'h Option<String>)> {
    match (operation.statement, operation.output()) {
        (Statement::Describe { side, .. }, Some(Output::Described(description))) => Some((*side, &description.layout)),
        _ => None,
    }
}

fn age(index: &Index, table: &Table, plan: &Operation, write: &Operation) -> Age {
    let answered_n = write.answered().map_or(NEVER, |at| at.n);
    let between = |operation: &&Operation| operation.id != plan.id && operation.id != write.id;
    // Where a side has changed before, a plan against the one may not fit the other.
    let parted = table.disturbance.columns_from_n < answered_n;
    let mut age = if parted { Age::Unknown } else { Age::Fresh };
    for other in table.operations.iter().map(|position| &index.operations[*position]).filter(between) {
        let follows = other.invoked.n > plan.acked_n() && other.acked_n() < write.invoked.n;
        if follows && changes_columns(other.statement) {
            return Age::Stale;
        }
        let differs = layout_of(other).is_some_and(|shown| {
            layout_of(plan).is_some_and(|planned| shown.0 == planned.0 && shown.1.is_some() && shown.1 != planned.1)
        });
        if follows && differs {
            return Age::Stale;
        }
        let may_change = timeline::defines(other.statement)
            && other.fate() != Fate::Failed
            && other.acked_n() > plan.invoked.n
            && other.invoked.n < answered_n;
        if may_change {
            age = Age::Unknown;
        }
    }
    age
}

fn changes_columns(statement: &Statement) -> bool {
    matches!(statement, Statement::AlterColumns { changes, .. } if !changes.is_empty())
}

fn planned_write(index: &Index, table: &Table, plan: &Operation, write: &Operation, docket: &mut Docket) {
    let age = age(index, table, plan, write);
    let events = || [plan.events(), write.events()].concat();
    match (age, write.end) {
        (Age::Stale, End::Ok(..)) => {
            docket.judged("C13", 1);
            docket.violated("C13", events(), || {
                format!(
                    "The layout that the {} was planned against was shown in event {}, and was changed since. The write \
                     succeeded all the same. C13 demands that a write planned against an older layout is rejected.",
                    prose::statement(write),
                    plan.acked_n()
                )
            });
        }
        (Age::Stale, End::Failed { code: FailureCode::Rejected, definite: true, .. }) => docket.judged("C13", 1),
        (Age::Fresh, End::Ok(..)) => docket.judged("C13", 1),
        (Age::Fresh, End::Failed { code: FailureCode::Rejected, message, .. })
            if index.forecast.during(write) == Weather::Calm =>
        {
            docket.judged("C13", 1);
            docket.violated("C13", events(), || {
                format!(
                    "The layout that the {} was planned against was shown in event {}, and nothing was defined since. The \
                     write was rejected: {message}. C13 rejects writes that were planned against an older layout.",
                    prose::statement(write),
                    plan.acked_n()
                )
            });
        }
        (Age::Stale, End::Failed { code, .. }) if code.is_always_definite() => docket.undecided("C13"),
        _ => {}
    }
}

/// C13: no message tells the value of an option that its name calls a secret.
fn no_secret_told(index: &Index, docket: &mut Docket) {
    let secrets = secrets(index);
    if secrets.is_empty() {
        return;
    }
    for operation in &index.operations {
        let End::Failed { message, .. } = operation.end else { continue };
        docket.judged("C13", 1);
        let Some((key, _)) = secrets.iter().find(|(_, value)| message.contains(value)) else { continue };
        docket.violated("C13", operation.events(), || {
            format!(
                "The message of the {} tells the value of the option `{key}`, which is a secret by its name. C13 demands \
                 that no message does.",
                prose::statement(operation)
            )
        });
    }
}

/// All option values that are secrets by their names, with the name.
fn secrets<'h>(index: &Index<'h>) -> BTreeSet<(&'h str, &'h str)> {
    let header = &index.history.header;
    let of_tables = header.tables.values().map(|schema| &schema.options);
    let of_catalog = header.catalog.iter().map(|config| &config.options);
    let of_statements = index.operations.iter().filter_map(|operation| match operation.statement {
        Statement::CreateTable { schema, .. } | Statement::ReplaceTable { schema, .. } => Some(&schema.options),
        Statement::AlterOptions { set, .. } => Some(set),
        Statement::CreateOnLake { properties, .. } | Statement::Promote { properties, .. } => Some(properties),
        _ => None,
    });
    let all = of_tables.chain(of_catalog).chain(of_statements).flatten();
    let named = all.filter(|(key, value)| {
        let key = key.to_lowercase();
        // What the plan marks as a secret, and what bears the name of one. A value so short may stand in any sentence.
        value.contains(SENTINEL)
            || value.len() >= 6 && ["password", "secret", "token", "credential"].iter().any(|word| key.contains(word))
    });
    named.map(|(key, value)| (key.as_str(), value.as_str())).collect()
}
