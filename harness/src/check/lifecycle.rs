//! C19 and C20: what the store's own DDL makes of the lake's declaration and of its columns.
//!
//! Both sides are judged as they were seen around a statement; where somebody else may have changed the table in between,
//! nothing is judged.

use models::contract::{ColumnChange, LAKESTREAM_ENABLED, Side, Statement, TableSchema};

use super::index::{End, Fate, Index, Operation};
use super::sides::{self, Sides};
use super::timeline::{DATALAKE_ENABLED, STORE_SWITCHES, goes_on};
use super::{Docket, prose};

/// The system columns of the legacy layout, in their order at the end of a table.
pub const SYSTEM_COLUMNS: [&str; 3] = ["__bucket", "__offset", "__timestamp"];

/// Judges C19 and C20.
pub fn judge(index: &Index, docket: &mut Docket) {
    for operation in &index.operations {
        refuses_system_columns(operation, docket);
        if operation.fate() != Fate::Acked {
            continue;
        }
        let Some((before, after)) = sides::undisturbed(index, operation) else { continue };
        declaration_follows(operation, before, after, docket);
        columns_go_last(operation, before, after, docket);
    }
}

/// Whether a definition has the legacy layout.
fn is_legacy(schema: &TableSchema) -> bool {
    let names: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
    names.ends_with(&SYSTEM_COLUMNS)
}

/// What a statement on the store's side makes of the lake's declaration: `Some(true)` writes it, `Some(false)` removes it.
fn declares(operation: &Operation) -> Option<bool> {
    match operation.statement {
        Statement::CreateTable { schema, side: Side::Store, if_not_exists: false, .. } => {
            Some(schema.options.get(DATALAKE_ENABLED).is_none_or(|value| is_true(value)))
        }
        Statement::AlterOptions { side: Side::Store, set, reset, .. } => {
            let mut values = STORE_SWITCHES.iter().filter_map(|key| set.get(*key));
            match (values.next(), values.next()) {
                (Some(value), None) => Some(is_true(value)),
                (None, _) => reset.iter().any(|key| STORE_SWITCHES.contains(&key.as_str())).then_some(false),
                // Two switches at once may disagree.
                (Some(_), Some(_)) => None,
            }
        }
        Statement::Enable { .. } => Some(true),
        Statement::Promote { .. } => (!goes_on(operation)).then_some(true),
        _ => None,
    }
}

fn is_true(value: &str) -> bool {
    value.trim().eq_ignore_ascii_case("true")
}

/// C19: on means `true` and off means that the key is gone; a legacy-layout table is left alone.
fn declaration_follows(operation: &Operation, before: Sides, after: Sides, docket: &mut Docket) {
    let Some(on) = declares(operation) else { return };
    let Some(lake) = after.lake else { return };
    let found = lake.schema.options.get(LAKESTREAM_ENABLED).map(String::as_str);
    let (expected, rule) = if before.lake.is_some_and(|lake| is_legacy(&lake.schema)) {
        let was = before.lake.and_then(|lake| lake.schema.options.get(LAKESTREAM_ENABLED)).map(String::as_str);
        (was, "a table of the legacy layout is never touched")
    } else if on {
        (Some("true"), "turning the mode on writes `true`")
    } else {
        (None, "turning the mode off removes the key and never stores a value")
    };
    docket.judged("C19", 1);
    if found != expected {
        docket.violated("C19", [operation.events(), vec![after.n]].concat(), || {
            format!(
                "After the {} on the store's side the lake's table has {} (event {}). C19 demands that {rule}.",
                prose::statement(operation),
                told(found),
                after.n
            )
        });
    }
}

fn told(value: Option<&str>) -> String {
    match value {
        Some(value) => format!("`{LAKESTREAM_ENABLED}` = `{value}`"),
        None => format!("no `{LAKESTREAM_ENABLED}`"),
    }
}

/// The names of the columns that a statement on the store's side would make.
fn made_columns(statement: &Statement) -> Vec<&str> {
    match statement {
        Statement::CreateTable { schema, side: Side::Store, .. } => {
            schema.columns.iter().map(|column| column.name.as_str()).collect()
        }
        Statement::AlterColumns { changes, side: Side::Store, .. } => {
            let made = changes.iter().filter_map(|change| match change {
                ColumnChange::Add { column, .. } => Some(column.name.as_str()),
                ColumnChange::Rename { to, .. } => Some(to.as_str()),
                ColumnChange::Drop(_) => None,
            });
            made.collect()
        }
        _ => Vec::new(),
    }
}

/// C20: no user column is named like a system column.
fn refuses_system_columns(operation: &Operation, docket: &mut Docket) {
    let made = made_columns(operation.statement);
    let Some(name) = made.iter().find(|name| SYSTEM_COLUMNS.contains(name)) else { return };
    match operation.end {
        End::Failed { definite: true, code, .. } if code.is_always_definite() => docket.judged("C20", 1),
        // A part that was down, or no answer: proves nothing.
        End::Failed { .. } | End::Open => {}
        End::Ok(..) => {
            docket.judged("C20", 1);
            docket.violated("C20", operation.events(), || {
                format!(
                    "The {} on the store's side made a column `{name}`. C20 demands that user columns named like the \
                     system columns of the legacy layout are refused.",
                    prose::statement(operation)
                )
            });
        }
    }
}

/// C20: an added column comes after the user's other columns, before the system columns of a legacy table, and is
/// nullable; on each side that had the table.
fn columns_go_last(operation: &Operation, before: Sides, after: Sides, docket: &mut Docket) {
    let Statement::AlterColumns { changes, side: Side::Store, .. } = operation.statement else { return };
    let added: Vec<&str> = changes
        .iter()
        .filter_map(|change| match change {
            ColumnChange::Add { column, .. } => Some(column.name.as_str()),
            _ => None,
        })
        .collect();
    if added.is_empty() {
        return;
    }
    let each = [("lake", before.lake, after.lake), ("store", before.store, after.store)];
    for (side, before_side, after_side) in each {
        let (Some(earlier), Some(now)) = (before_side, after_side) else { continue };
        // The lake may have had such a column already: then it stays where it is.
        let added: Vec<&str> = added.iter().copied().filter(|name| earlier.schema.position(name).is_none()).collect();
        if added.is_empty() {
            continue;
        }
        docket.judged("C20", 1);
        let system = if is_legacy(&now.schema) { SYSTEM_COLUMNS.len() } else { 0 };
        let users = &now.schema.columns[..now.schema.columns.len() - system];
        let first_added = users.iter().position(|column| added.contains(&column.name.as_str()));
        let misplaced =
            first_added.is_some_and(|first| users[first..].iter().any(|column| !added.contains(&column.name.as_str())));
        let required = users.iter().find(|column| added.contains(&column.name.as_str()) && !column.nullable);
        let fault = match (misplaced, required) {
            (true, _) => "an added column stands before one that was there".to_owned(),
            (false, Some(column)) => format!("the added column `{}` does not allow NULL", column.name),
            (false, None) => continue,
        };
        docket.violated("C20", [operation.events(), vec![after.n]].concat(), || {
            format!(
                "After the {} on the store's side, {fault} on the side of the {side} (event {}). C20 demands that added \
                 columns go last and are nullable.",
                prose::statement(operation),
                after.n
            )
        });
    }
}
