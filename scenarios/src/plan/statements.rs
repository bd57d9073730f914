//! Whether a planned statement fits the tables of its plan.
//!
//! A plan may try what a system must refuse: a write through `$rt`, a rename in lake-stream mode. What is refused here
//! is only what nobody can mean: unknown tables and columns, cells of another type, keys that are no keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use models::contract::{
    Column, ColumnChange, DataType, Filter, Row, RowSet, Statement, TablePath, TableSchema, Value, coerce,
};

use super::{ADDED_COLUMN, WRITE_ID};

type Tables<'a> = BTreeMap<&'a TablePath, &'a TableSchema>;

/// The definition of a planned table, or of one whose name is a planned one and a suffix that begins with `_`: a table
/// that comes into being on the way. Its name says where it comes from, so that a statement on it stays valid when the
/// step that makes it is removed.
pub(super) fn schema_of<'a>(table: &TablePath, tables: &Tables<'a>) -> Result<&'a TableSchema, String> {
    if let Some(schema) = tables.get(table) {
        return Ok(schema);
    }
    // What is named through a table: `t$branch_b`, `t$snapshots`, `t$rt$rt`. Nothing before the `$` names no table, and
    // that is what a statement on it tries (C18).
    if let Some((base, _)) = table.table().split_once('$') {
        let any = tables.values().next().copied().filter(|_| base.is_empty());
        let base = TablePath::new(table.database(), base);
        return any.map_or_else(|| schema_of(&base, tables), Ok);
    }
    let origin = |planned: &TablePath| {
        planned.database() == table.database()
            && table.table().strip_prefix(planned.table()).is_some_and(|suffix| suffix.starts_with('_'))
    };
    // The longest name, so that `a_b_renamed` comes from `a_b` and not from `a`.
    let derived = tables.iter().filter(|(planned, _)| origin(planned)).max_by_key(|(planned, _)| planned.table().len());
    derived.map(|(_, schema)| *schema).ok_or_else(|| {
        let known: Vec<String> = tables.keys().map(ToString::to_string).collect();
        format!(
            "expected a table of the plan ({}) or one named after it with a `_` suffix, found {table}",
            known.join(", ")
        )
    })
}

/// Whether the statement fits.
pub(super) fn check_statement(statement: &Statement, tables: &Tables<'_>) -> Result<(), String> {
    let schema = schema_of(statement.table(), tables)?;
    match statement {
        Statement::Insert { rows, partition: None, .. }
        | Statement::NativeInsert { rows, .. }
        | Statement::InsertOverwrite { rows, partition: None, .. } => check_rows(rows, schema),
        Statement::InsertOverwrite { rows, partition: Some(partition), .. } => {
            check_partition(partition, schema)?;
            check_rows(rows, schema)
        }
        Statement::Insert { rows, partition: Some(partition), .. } => {
            check_partition(partition, schema)?;
            match rows.columns.iter().find(|name| partition.contains_key(&***name)) {
                Some(name) => Err(format!("expected rows without the columns of their partition, found `{name}`")),
                None => check_rows(&with_cells(rows, partition), schema),
            }
        }
        Statement::Update { set, filter, .. } => {
            check_cells(set, schema)?;
            check_cells(filter, schema)
        }
        Statement::Delete { filter: Some(filter), keys, .. } => {
            if !keys.is_without_columns() {
                return Err("expected keys or a filter to delete by, found both".to_owned());
            }
            check_cells(filter, schema)
        }
        Statement::Delete { keys, filter: None, .. } => {
            let columns: Vec<&str> = keys.columns.iter().map(|name| &**name).collect();
            check_key(&columns, schema)?;
            for row in &keys.rows {
                for (name, cell) in keys.columns.iter().zip(row.cells()) {
                    check_cell(name, cell, schema)?;
                }
            }
            Ok(())
        }
        Statement::Lookup { key, .. } => {
            let columns: Vec<&str> = key.keys().map(String::as_str).collect();
            check_key(&columns, schema)?;
            check_cells(key, schema)
        }
        Statement::Select { filter, at_timestamp_ms, at_snapshot, .. } => {
            if at_timestamp_ms.is_some() && at_snapshot.is_some() {
                return Err("expected a time or a snapshot to travel to, found both".to_owned());
            }
            check_cells(filter, schema)
        }
        Statement::Changes { from, max, .. } => {
            if from.is_empty() {
                return Err("expected `from` to be earliest, next or a position, found an empty one".to_owned());
            }
            if *max == 0 {
                return Err("expected `max` to be at least 1, found 0".to_owned());
            }
            Ok(())
        }
        Statement::RenameTable { to, .. } => schema_of(to, tables).map(|_| ()),
        Statement::AlterColumns { changes, .. } => {
            if changes.is_empty() {
                return Err("expected at least one column change, found none".to_owned());
            }
            let dropped = changes.iter().find_map(|change| match change {
                ColumnChange::Drop(name) if schema.primary_key.contains(name) => Some(name),
                _ => None,
            });
            dropped.map_or(Ok(()), |name| Err(format!("expected the primary key to stay, found a drop of `{name}`")))
        }
        Statement::CreateTable { .. }
        | Statement::ReplaceTable { .. }
        | Statement::AlterOptions { .. }
        | Statement::DropTable { .. }
        | Statement::TruncateTable { .. }
        | Statement::CreateBranch { .. }
        | Statement::Describe { .. }
        | Statement::CreateOnLake { .. }
        | Statement::Enable { .. } => Ok(()),
        Statement::CreateView { query_table, .. } => schema_of(query_table, tables).map(|_| ()),
        // A promotion of partitions that there are none of is one of those that a system must refuse (P6).
        Statement::Promote { .. } => Ok(()),
    }
}

/// Whether the values are those of partition columns.
fn check_partition(partition: &Filter, schema: &TableSchema) -> Result<(), String> {
    check_cells(partition, schema)?;
    match partition.keys().find(|name| !schema.partition_keys.contains(name)) {
        Some(name) => Err(format!(
            "expected values of the partition columns [{}], found `{name}`",
            schema.partition_keys.join(", ")
        )),
        None => Ok(()),
    }
}

/// The rows with these cells added to each.
fn with_cells(rows: &RowSet, cells: &Filter) -> RowSet {
    let names = rows.columns.iter().cloned().chain(cells.keys().map(|name| Arc::from(name.as_str())));
    let row = |row: &Row| Row::new(row.cells().iter().cloned().chain(cells.values().cloned()).collect());
    RowSet { columns: names.collect(), rows: rows.rows.iter().map(row).collect() }
}

/// The definition with those of the row set's columns that come into being on the way.
fn widened(schema: &TableSchema, rows: &RowSet) -> TableSchema {
    let mut schema = schema.clone();
    for name in rows.columns.iter().filter(|name| name.starts_with(ADDED_COLUMN)) {
        if schema.position(name).is_none() {
            schema.columns.push(Column { name: name.to_string(), data_type: DataType::Int, nullable: true });
        }
    }
    schema
}

fn check_rows(rows: &RowSet, schema: &TableSchema) -> Result<(), String> {
    let conformed = rows.conform(&widened(schema, rows)).map_err(|failure| failure.message)?;
    match schema.position(WRITE_ID) {
        Some(position) if conformed.iter().any(|row| row[position].is_null()) => {
            Err(format!("expected every row to have a write id in `{WRITE_ID}`, found one without"))
        }
        _ => Ok(()),
    }
}

fn check_key(columns: &[&str], schema: &TableSchema) -> Result<(), String> {
    let is_key = columns.len() == schema.primary_key.len()
        && columns.iter().all(|name| schema.primary_key.iter().any(|key| key == name));
    if schema.has_primary_key() && is_key {
        return Ok(());
    }
    Err(format!(
        "expected a key of the primary-key columns [{}], found [{}]",
        schema.primary_key.join(", "),
        columns.join(", ")
    ))
}

fn check_cells(cells: &Filter, schema: &TableSchema) -> Result<(), String> {
    cells.iter().try_for_each(|(name, cell)| check_cell(name, cell, schema))
}

fn check_cell(name: &str, cell: &Value, schema: &TableSchema) -> Result<(), String> {
    let Some(position) = schema.position(name) else {
        let known: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
        return Err(format!("expected columns among [{}], found `{name}`", known.join(", ")));
    };
    coerce(cell.clone(), &schema.columns[position].data_type)
        .map(|_| ())
        .map_err(|found| format!("column `{name}`: {found}"))
}
