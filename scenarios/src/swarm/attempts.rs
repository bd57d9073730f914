//! What the catalog session tries on lake-stream tables while others write, read and tier: what the mode forbids, what
//! it leaves alone, and now and then the mode itself.

use std::collections::BTreeMap;

use models::contract::{
    Column, ColumnChange, DataType, Filter, LAKESTREAM_ENABLED, Side, Statement, TablePath, TableView, Value,
};

use super::chaos::{Attempt, REPLACE_VIAS};
use super::session::Turn;
use super::tables::Table;
use crate::draw::Place;
use crate::scenario::TableKind;

/// The statements of one attempt, one after the other.
pub(super) fn attempt(kind: Attempt, table: &Table, turn: &Turn) -> Vec<Statement> {
    let place = turn.place;
    let path = table.path.clone();
    match kind {
        Attempt::Rename => vec![Statement::RenameTable { table: path, to: table.derived("renamed"), if_exists: false }],
        Attempt::Replace => {
            let via = place.pick("via", 0, &REPLACE_VIAS).copied().unwrap_or_default();
            vec![Statement::ReplaceTable { table: path, schema: table.schema.clone(), via }]
        }
        Attempt::Truncate => vec![Statement::TruncateTable { table: path }],
        Attempt::WriteRealTime if table.kind == TableKind::Key && place.chance("delete", 0, 400) => {
            vec![Statement::delete(table.real_time(), table.keys(place, 1, false))]
        }
        Attempt::WriteRealTime => vec![Statement::insert(table.real_time(), table.rows(turn, 1, false, None))],
        Attempt::AlterOptions => {
            let value = format!("c{}", place.below_exclusive("comment", 0, 10));
            vec![set(&path, "comment", &value, Side::Lake)]
        }
        Attempt::CreateExisting => vec![Statement::CreateTable {
            table: path,
            schema: table.schema.clone(),
            if_not_exists: true,
            side: Side::Lake,
        }],
        Attempt::Describe => vec![Statement::Describe { table: path, side: either_side(place) }],
        Attempt::AddColumn => vec![add_column(path, place)],
        Attempt::Branch => branch(table, turn),
        Attempt::View => {
            let view = TablePath::new(path.database(), &format!("{}$rt", table.derived("view").table()));
            let select = Statement::select(TableView::real_time(&table.derived("view")), Filter::new());
            vec![Statement::CreateView { view, query_table: path }, select]
        }
        Attempt::TimeTravel => {
            let table = if place.chance("real-time", 0, 500) { table.real_time() } else { table.base() };
            let by_snapshot = place.chance("by-snapshot", 0, 500);
            vec![Statement::Select {
                table,
                filter: Filter::new(),
                at_timestamp_ms: (!by_snapshot).then(|| place.between_inclusive("timestamp", 0, 1, 10_000)),
                at_snapshot: by_snapshot.then(|| place.between_inclusive("snapshot", 0, 1, 5)),
            }]
        }
        Attempt::Update => vec![update(table, turn)],
        Attempt::Switch => switch(&path, place),
    }
}

fn either_side(place: Place) -> Side {
    if place.chance("store-side", 0, 500) { Side::Store } else { Side::Lake }
}

fn set(path: &TablePath, key: &str, value: &str, side: Side) -> Statement {
    let set = BTreeMap::from([(key.to_owned(), value.to_owned())]);
    Statement::AlterOptions { table: path.clone(), set, reset: Vec::new(), side }
}

/// A nullable column at the end, on either side: both may have it in the end, or one.
fn add_column(table: TablePath, place: Place) -> Statement {
    let name = format!("c{}", place.below_exclusive("column", 0, 3));
    let column = Column { name, data_type: DataType::Int, nullable: true };
    Statement::AlterColumns {
        table,
        changes: vec![ColumnChange::Add { column, position: None }],
        side: either_side(place),
    }
}

/// A branch, and a write to it by either spelling.
fn branch(table: &Table, turn: &Turn) -> Vec<Statement> {
    let name = format!("b{}", turn.place.below_exclusive("branch", 0, 3));
    let rows = table.rows(turn, 1, false, None);
    let written = if turn.place.chance("by-name", 0, 500) {
        let path = TablePath::new(table.path.database(), &format!("{}$branch_{name}", table.path.table()));
        Statement::insert(TableView::base(&path), rows)
    } else {
        let branch = Some(name.clone());
        Statement::Insert { table: table.base(), branch, partition: None, rows, layout: None }
    };
    vec![Statement::CreateBranch { table: table.path.clone(), branch: name }, written]
}

/// An update of one key, or a delete by it: of a key table by its key, of any other by an id that nothing has.
fn update(table: &Table, turn: &Turn) -> Statement {
    let filter = match table.kind {
        TableKind::Key => table.key(turn.place),
        TableKind::Append => Filter::from([("w".to_owned(), Value::Int(0))]),
    };
    if turn.place.chance("delete", 0, 400) {
        return Statement::Delete { table: table.base(), keys: Default::default(), filter: Some(filter) };
    }
    let set = [("w".to_owned(), Value::Int(turn.first_write_id)), ("v".to_owned(), Value::string("updated"))];
    Statement::Update { table: table.base(), set: set.into(), filter }
}

/// The mode off and on again, by the lake's option or by the store's own statements.
fn switch(path: &TablePath, place: Place) -> Vec<Statement> {
    let side = either_side(place);
    let off = if place.chance("reset", 0, 500) {
        let reset = vec![LAKESTREAM_ENABLED.to_owned()];
        Statement::AlterOptions { table: path.clone(), set: BTreeMap::new(), reset, side }
    } else {
        set(path, LAKESTREAM_ENABLED, "false", side)
    };
    let on = match side {
        Side::Store if place.chance("enable", 0, 500) => Statement::Enable { table: path.clone() },
        side => set(path, LAKESTREAM_ENABLED, "true", side),
    };
    vec![off, on]
}

/// What brings every table back into the mode, whatever became of its switches.
pub(super) fn back_into_the_mode(path: &TablePath) -> Vec<Statement> {
    vec![Statement::Enable { table: path.clone() }, set(path, LAKESTREAM_ENABLED, "true", Side::Lake)]
}
