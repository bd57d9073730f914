//! Columns that are added in the middle of ordinary work, on the store's side or the lake's (C7, C20), and rows that
//! are written with them while rounds go on that were planned before (L13).
//!
//! Who writes never knows whether the column is there: it was asked for by then. A row with one that is not is refused.

use models::contract::{Column, ColumnChange, DataType, Row, RowSet, Side, Statement, TablePath, Value};

use super::Run;
use super::session::Cast;
use crate::draw::Place;
use crate::plan::{ADDED_COLUMN, Phase, Step};

/// In so many of a thousand inserts a writer names the columns that were asked for by then.
const NAMED_PERMILLE: u64 = 700;

/// One column that is asked for.
pub(super) struct AddedColumn {
    table: TablePath,
    name: String,
    side: Side,
    /// In the lake only: `None` or a place.
    position: Option<&'static str>,
    at_ms: u64,
}

/// The columns of a run: none in most.
pub(super) fn drawn(run: &Run<'_>) -> Vec<AddedColumn> {
    let place = run.draws.at("plan", "columns");
    if !place.chance("on", 0, run.workload.columns_permille.0) {
        return Vec::new();
    }
    let mut columns = Vec::new();
    for table in &run.tables {
        let place = run.draws.at("columns", table.path.table());
        for number in 1..=place.between_inclusive("count", 0, 1, 2) {
            let add = |side, position, at_ms| AddedColumn {
                table: table.path.clone(),
                name: format!("{ADDED_COLUMN}{number}"),
                side,
                position,
                at_ms,
            };
            // Later than most tables were tiered first, and early enough for rounds to follow.
            let at_ms = place.between_inclusive("at", number, run.chaos_ms / 6, run.chaos_ms * 3 / 4);
            let sides = [(4, "store"), (1, "lake"), (1, "lake-then-store")];
            let sides = place.pick_weighted("sides", number, &sides).copied().unwrap_or("store");
            if sides != "store" {
                let position = place.pick("position", number, &[None, Some("last"), Some("first")]).copied().flatten();
                columns.push(add(Side::Lake, position, at_ms));
            }
            if sides != "lake" {
                let later_ms = if sides == "store" { 0 } else { place.between_inclusive("later", number, 1, 400) };
                columns.push(add(Side::Store, None, at_ms + later_ms));
            }
        }
    }
    columns.sort_by_key(|column| column.at_ms);
    columns
}

/// The statements that ask for them.
pub(super) fn chaos(run: &Run<'_>, cast: &mut Cast) -> Vec<Step> {
    let ask = |column: &AddedColumn| {
        let statement = add(&column.table, &column.name, column.position, column.side);
        cast.columns.turn(Phase::Chaos).step(column.at_ms, run.deadline_ms, statement)
    };
    run.columns.iter().map(ask).collect()
}

/// The statement that adds a column of one of those names.
pub(super) fn add(table: &TablePath, name: &str, position: Option<&str>, side: Side) -> Statement {
    let column = Column { name: name.to_owned(), data_type: DataType::Int, nullable: true };
    let change = ColumnChange::Add { column, position: position.map(str::to_owned) };
    Statement::AlterColumns { table: table.clone(), changes: vec![change], side }
}

/// Rows that a writer inserts at this time, with a value in each column that the store was asked for by then, or as
/// they are.
pub(super) fn written(run: &Run<'_>, table: &TablePath, rows: RowSet, place: Place, at_ms: u64) -> RowSet {
    let asked = |column: &&AddedColumn| column.table == *table && column.side == Side::Store && column.at_ms <= at_ms;
    let names: Vec<&str> = run.columns.iter().filter(asked).map(|column| column.name.as_str()).collect();
    if names.is_empty() || !place.chance("with-added", 0, NAMED_PERMILLE) { rows } else { with(rows, &names, place) }
}

/// The rows with a value in each of these columns as well.
pub(super) fn with(rows: RowSet, names: &[&str], place: Place) -> RowSet {
    let columns = rows.columns.iter().cloned().chain(names.iter().map(|name| (*name).into())).collect();
    let wider = |(number, row): (usize, Row)| {
        let value = |name: &&str| Value::Int(place.below_exclusive(name, number as u64, 1000) as i64);
        Row::new(row.cells().iter().cloned().chain(names.iter().map(value)).collect())
    };
    RowSet { columns, rows: rows.rows.into_iter().enumerate().map(wider).collect() }
}
