//! The statements that stories are made of.

use std::collections::BTreeMap;

use models::contract::{Column, ColumnChange, DataType, Filter, Side, Statement, TablePath, TableSchema, TableView};

use super::super::session::Turn;
use super::super::tables::Table;
use crate::plan::DESCRIBED_LAYOUT;

/// The store's own switch.
pub(super) const STORE_SWITCH: &str = "table.datalake.enabled";

/// At most three new rows for a table that has this one's columns.
pub(super) fn insert(path: &TablePath, table: &Table, turn: &Turn) -> Statement {
    let count = turn.place.between_inclusive("rows", 0, 1, 3);
    Statement::insert(TableView::base(path), table.rows(turn, count, false, None))
}

/// The same, planned against what the session's last describe showed.
pub(super) fn insert_described(path: &TablePath, table: &Table, turn: &Turn) -> Statement {
    let mut statement = insert(path, table, turn);
    if let Statement::Insert { layout, .. } = &mut statement {
        *layout = Some(DESCRIBED_LAYOUT.to_owned());
    }
    statement
}

/// At most four new rows, past the store.
pub(super) fn insert_natively(path: &TablePath, table: &Table, turn: &Turn) -> Statement {
    let count = turn.place.between_inclusive("rows", 0, 1, 4);
    Statement::NativeInsert { table: path.clone(), rows: table.rows(turn, count, false, None) }
}

pub(super) fn describe(path: &TablePath, side: Side) -> Statement {
    Statement::Describe { table: path.clone(), side }
}

pub(super) fn select(path: &TablePath) -> Statement {
    Statement::select(TableView::base(path), Filter::new())
}

pub(super) fn select_rt(path: &TablePath) -> Statement {
    Statement::select(TableView::real_time(path), Filter::new())
}

pub(super) fn set(path: &TablePath, key: &str, value: &str, side: Side) -> Statement {
    let set = BTreeMap::from([(key.to_owned(), value.to_owned())]);
    Statement::AlterOptions { table: path.clone(), set, reset: Vec::new(), side }
}

pub(super) fn reset(path: &TablePath, key: &str, side: Side) -> Statement {
    Statement::AlterOptions { table: path.clone(), set: BTreeMap::new(), reset: vec![key.to_owned()], side }
}

pub(super) fn add_column(path: &TablePath, column: Column, position: Option<&str>, side: Side) -> Statement {
    let position = position.map(str::to_owned);
    Statement::AlterColumns { table: path.clone(), changes: vec![ColumnChange::Add { column, position }], side }
}

pub(super) fn column(name: &str, data_type: DataType, nullable: bool) -> Column {
    Column { name: name.to_owned(), data_type, nullable }
}

pub(super) fn create(path: &TablePath, schema: TableSchema, side: Side) -> Statement {
    Statement::CreateTable { table: path.clone(), schema, if_not_exists: false, side }
}

pub(super) fn drop(path: &TablePath, side: Side) -> Statement {
    Statement::DropTable { table: path.clone(), if_exists: true, side }
}

/// The table's definition with one more option.
pub(super) fn with_option(table: &Table, key: &str, value: &str) -> TableSchema {
    let mut schema = table.schema.clone();
    schema.options.insert(key.to_owned(), value.to_owned());
    schema
}
