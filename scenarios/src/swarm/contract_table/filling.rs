//! What is filled into the forms' templates for one table and one turn.

use models::contract::{Filter, LAKESTREAM_ENABLED, Row, RowSet, Value};
use serde_json::{Value as Json, json};

use super::super::session::Turn;
use super::super::tables::Table;
use crate::plan::WRITE_ID;
use crate::scenario::TableKind;

/// What the statements on one table are filled in with, in one turn.
pub(super) struct Filling<'a> {
    pub table: &'a Table,
    /// Rows of the table that were written before.
    pub known: Option<&'a RowSet>,
    pub turn: &'a Turn,
    /// How many rows an insert has.
    pub rows: u64,
    /// Whether a new definition keeps the mode.
    pub keeps_mode: bool,
}

impl Filling<'_> {
    /// What stands for the placeholder of this name.
    pub(super) fn fill(&self, name: &str) -> Option<Json> {
        let Self { table, turn, .. } = self;
        let place = turn.place;
        Some(match name {
            "table" => text(&table.path),
            "bare" => json!(format!("{}.", table.path.database())),
            "renamed" | "absent" | "missing" => text(&table.derived(name)),
            "view" => json!(format!("{}$rt", table.derived("view"))),
            "rows" => written(&table.rows(turn, self.rows, false, None)),
            "rows_in_partition" => written(&self.rows_in_partition()),
            "rows_without_partition" => written(&without_partition(&self.rows_in_partition(), table)),
            "partition" => json!({"dt": written(self.partition()?)}),
            "filter" => written(&table.filter(place)),
            "one" => written(&self.one()),
            "set" => json!({"w": turn.first_write_id, "v": format!("u{}", place.below_exclusive("set", 0, 10))}),
            "key" if table.kind == TableKind::Key => written(&table.key(place)),
            "keys" if table.kind == TableKind::Key => written(&table.keys(place, 1, false)),
            "columns" => written(&table.schema.columns),
            "primary_key" => written(&table.schema.primary_key),
            "partition_keys" => written(&table.schema.partition_keys),
            "options" => {
                let mut options = table.schema.options.clone();
                if !self.keeps_mode {
                    options.remove(LAKESTREAM_ENABLED);
                }
                written(&options)
            }
            _ => return None,
        })
    }

    fn partition(&self) -> Option<&Value> {
        self.table.partition(self.turn.place, 100)
    }

    fn rows_in_partition(&self) -> RowSet {
        self.table.rows(self.turn, self.rows, false, self.partition())
    }

    /// A filter that at most one row matches: the key of a known row, or its write id.
    fn one(&self) -> Filter {
        let names: Vec<&str> = match self.table.kind {
            TableKind::Key => self.table.schema.primary_key.iter().map(String::as_str).collect(),
            TableKind::Append => vec![WRITE_ID],
        };
        let row = self.known.and_then(|known| Some((known, self.turn.place.pick("one", 0, &known.rows)?)));
        let cell = |name: &str| row.and_then(|(known, row)| known.position(name).map(|position| row[position].clone()));
        names.into_iter().map(|name| (name.to_owned(), cell(name).unwrap_or(Value::Int(0)))).collect()
    }
}

fn text(name: &impl ToString) -> Json {
    Json::String(name.to_string())
}

fn written(value: &impl serde::Serialize) -> Json {
    serde_json::to_value(value).expect("what statements carry is JSON")
}

fn without_partition(rows: &RowSet, table: &Table) -> RowSet {
    let kept = |name: &str| !table.schema.partition_keys.iter().any(|key| key == name);
    let places: Vec<usize> = (0..rows.columns.len()).filter(|position| kept(&rows.columns[*position])).collect();
    RowSet {
        columns: places.iter().map(|position| rows.columns[*position].clone()).collect(),
        rows: rows
            .rows
            .iter()
            .map(|row| Row::new(places.iter().map(|position| row[*position].clone()).collect()))
            .collect(),
    }
}
