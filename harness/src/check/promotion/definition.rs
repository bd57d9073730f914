//! P1: creating on the lake makes disabled metadata only, derived from the lake's table; options that are managed are
//! refused, and an existing table is told as such.

use std::collections::BTreeMap;

use models::contract::{BUCKET, Column, FailureCode, Statement, TableSchema};

use crate::check::index::{End, Index, Operation};
use crate::check::sides::{self, Sides};
use crate::check::timeline::DATALAKE_ENABLED;
use crate::check::{Docket, prose};

/// Options that nobody may set on the way (rule 63).
const MANAGED: [&str; 2] = [DATALAKE_ENABLED, "table.datalake.historical-partition.enabled"];

/// Judges P1.
pub fn judge(index: &Index, operation: &Operation, docket: &mut Docket) {
    match operation.statement {
        Statement::CreateOnLake { properties, .. } => {
            refuses_managed(operation, properties, docket);
            tells_of_existing(index, operation, docket);
            makes_metadata_only(index, operation, docket);
        }
        Statement::Promote { properties, .. } => refuses_managed(operation, properties, docket),
        _ => {}
    }
}

fn refuses_managed(operation: &Operation, properties: &BTreeMap<String, String>, docket: &mut Docket) {
    let Some(option) = MANAGED.iter().find(|option| properties.contains_key(**option)) else { return };
    match operation.end {
        End::Ok(..) => {
            docket.judged("P1", 1);
            docket.violated("P1", operation.events(), || {
                format!(
                    "The {} was given the option `{option}` and accepted it. P1 demands that managed options are refused.",
                    prose::statement(operation)
                )
            });
        }
        End::Failed { code, .. } if code.is_always_definite() => docket.judged("P1", 1),
        End::Failed { .. } | End::Open => {}
    }
}

/// Whether an option is among these that nobody may set.
pub fn sets_managed(properties: &BTreeMap<String, String>) -> bool {
    MANAGED.iter().any(|option| properties.contains_key(*option))
}

/// A table that the store has already is no reason to make another, nor to fail as anything else.
fn tells_of_existing(index: &Index, operation: &Operation, docket: &mut Docket) {
    let Some((before, after)) = sides::undisturbed(index, operation) else { return };
    if before.store.is_none() || before.lake.is_none() {
        return;
    }
    match operation.end {
        End::Failed { code: FailureCode::AlreadyExists, .. } => docket.judged("P1", 1),
        End::Ok(..) => {
            docket.judged("P1", 1);
            docket.violated("P1", [operation.events(), vec![before.n, after.n]].concat(), || {
                format!(
                    "The store had the table already (event {}), and the {} succeeded. P1 demands that an existing table is \
                     reported as such.",
                    before.n,
                    prose::statement(operation)
                )
            });
        }
        // There may be more than one reason to refuse.
        End::Failed { code, .. } if code.is_always_definite() => docket.undecided("P1"),
        End::Failed { .. } | End::Open => {}
    }
}

fn makes_metadata_only(index: &Index, operation: &Operation, docket: &mut Docket) {
    if !matches!(operation.end, End::Ok(..)) {
        return;
    }
    let Some((before, after)) = sides::undisturbed(index, operation) else { return };
    docket.judged("P1", 1);
    if let Some(fault) = fault(before, after) {
        docket.violated("P1", [operation.events(), vec![before.n, after.n]].concat(), || {
            format!(
                "After the {}, {fault} (events {} and {}). P1 demands disabled metadata only, with schema, keys, partitions \
                 and buckets derived from the lake's table.",
                prose::statement(operation),
                before.n,
                after.n
            )
        });
    }
}

fn fault(before: Sides, after: Sides) -> Option<String> {
    let (Some(lake_before), Some(lake)) = (before.lake, after.lake) else {
        return Some("there is no lake table that it could be made of".to_owned());
    };
    if lake_before.table_id != lake.table_id || lake_before.schema != lake.schema {
        return Some("the lake's table is defined in another way than before".to_owned());
    }
    let Some(store) = after.store else { return Some("the store has no table".to_owned()) };
    if is_enabled(&store.schema) || lake.schema.lakestream_enabled() {
        return Some("the table is enabled".to_owned());
    }
    difference(&lake.schema, &store.schema).map(|what| format!("the store's table has other {what} than the lake's"))
}

/// Whether the store's definition says that the mode is on.
pub fn is_enabled(schema: &TableSchema) -> bool {
    let switch = schema.options.get(DATALAKE_ENABLED).map(|value| value.trim().eq_ignore_ascii_case("true"));
    switch.unwrap_or_else(|| schema.lakestream_enabled())
}

/// What the store's definition has in another way than the lake's.
pub fn difference(lake: &TableSchema, store: &TableSchema) -> Option<&'static str> {
    if lake.has_columns_like(store) { differing_layout(lake, store) } else { Some("columns") }
}

/// What keeps the store's rows out of the lake's table. A lake that has more columns, all of which may be NULL, can hold
/// them; whether the text's "compatible" means more than that, it does not say.
pub fn incompatibility(lake: &TableSchema, store: &TableSchema) -> Option<&'static str> {
    let held = |column: &Column| {
        let same = lake.columns.iter().find(|other| other.name == column.name);
        same.is_some_and(|other| other.data_type.is_like(&column.data_type))
    };
    let left_out = |column: &&Column| store.position(&column.name).is_none();
    let columns = store.columns.iter().all(held) && lake.columns.iter().filter(left_out).all(|column| column.nullable);
    if columns { differing_layout(lake, store) } else { Some("columns") }
}

fn differing_layout(lake: &TableSchema, store: &TableSchema) -> Option<&'static str> {
    if lake.primary_key != store.primary_key {
        Some("keys")
    } else if lake.partition_keys != store.partition_keys {
        Some("partitions")
    } else if lake.options.contains_key(BUCKET) && lake.bucket_count() != store.bucket_count() {
        Some("buckets")
    } else {
        None
    }
}
