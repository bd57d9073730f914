//! P6: which partitions may be selected. Each must be one of the lake's, named by all partition columns and once; tables
//! without partitions or without a key have nothing to select.

use std::collections::{BTreeMap, BTreeSet};

use models::contract::{Row, Statement, TableSchema, Value};

use crate::check::index::{End, Fate, Index, Operation};
use crate::check::table::Table;
use crate::check::weather::Weather;
use crate::check::writes::typed;
use crate::check::{Docket, prose};

/// Judges P6.
pub fn judge(index: &Index, operation: &Operation, docket: &mut Docket) {
    let Statement::Promote { table, partitions: Some(partitions), .. } = operation.statement else { return };
    let Some(table) = index.table(table) else { return };
    let Some(schema) = table.schema else { return };
    // Other statements may have changed what it is that is promoted.
    if table.disturbance.beside_promotion_from_n < operation.acked_n() {
        return;
    }
    let reason = reason_to_refuse(table, schema, partitions, operation);
    match (reason, operation.end) {
        (Some(reason), End::Ok(..)) => {
            docket.judged("P6", 1);
            docket.violated("P6", operation.events(), || {
                format!(
                    "The {} selected partitions although {reason}, and succeeded. P6 demands that it is refused.",
                    prose::statement(operation)
                )
            });
        }
        (Some(_), End::Failed { code, .. }) if code.is_always_definite() => docket.judged("P6", 1),
        (None, End::Ok(..)) => docket.judged("P6", 1),
        (None, End::Failed { code, definite: true, .. })
            if code.is_always_definite() && index.forecast.during(operation) == Weather::Calm =>
        {
            // There are other reasons to refuse a promotion.
            docket.undecided("P6");
        }
        _ => {}
    }
}

fn reason_to_refuse(
    table: &Table,
    schema: &TableSchema,
    partitions: &[BTreeMap<String, Value>],
    operation: &Operation,
) -> Option<String> {
    if schema.partition_keys.is_empty() {
        return Some("the table has no partitions".to_owned());
    }
    if !schema.has_primary_key() {
        return Some("the table has no primary key".to_owned());
    }
    let expected: BTreeSet<&str> = schema.partition_keys.iter().map(String::as_str).collect();
    let positions = schema.partition_positions();
    // Partitions that may have a row. Deletes leave a partition where it is.
    let known: BTreeSet<Row> = table
        .writes
        .all
        .iter()
        .filter(|write| write.fate != Fate::Failed && write.invoked_n < operation.acked_n())
        .filter_map(|write| write.row.as_ref().map(|row| row.project(&positions)))
        .collect();
    let mut selected = BTreeSet::new();
    for partition in partitions {
        if partition.keys().map(String::as_str).collect::<BTreeSet<_>>() != expected {
            return Some(format!("{partition:?} does not name the partition columns {expected:?}"));
        }
        let cells = positions.iter().map(|position| {
            typed(partition.get(&schema.columns[*position].name).cloned().unwrap_or(Value::Null), schema, *position)
        });
        let row = Row::new(cells.collect());
        if table.writes.id_position.is_some() && !known.contains(&row) {
            return Some(format!("the lake has no partition {partition:?}"));
        }
        if !selected.insert(row) {
            return Some(format!("{partition:?} is named twice"));
        }
    }
    None
}
