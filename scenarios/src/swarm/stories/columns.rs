//! Columns added while rounds go on that were planned without them, and rows written with them at once: none may lose
//! what it has there (L13). Now and then the lake has the column first, or alone.

use models::contract::{Side, Statement, TablePath, TableView};

use super::super::columns::{add, with};
use super::super::session::Turn;
use super::super::tables::Table;
use super::Tale;
use super::statements::{insert, select, select_rt};
use crate::draw::Place;
use crate::plan::ADDED_COLUMN;

/// Within how long after a column the rows with it come, in milliseconds: before the round that knows of it.
const IN_A_ROUND_MS: u64 = 120;

pub(super) fn tale(place: Place) -> Tale {
    let mut tale = Tale::default();
    tale.then(|table, turn| insert(&table.path, table, turn));
    let mut in_store: Vec<String> = Vec::new();
    for number in 1..=place.between_inclusive("columns", 0, 2, 4) {
        for _ in 0..place.between_inclusive("before", number, 0, 2) {
            let names = in_store.clone();
            tale.then(move |table, turn| insert_with(&table.path, table, turn, &names));
        }
        let name = format!("{ADDED_COLUMN}{number}");
        let sides = [(5, "store"), (1, "lake"), (1, "lake-then-store")];
        let sides = place.pick_weighted("sides", number, &sides).copied().unwrap_or("store");
        if sides != "store" {
            let name = name.clone();
            tale.then(move |table, _| add(&table.path, &name, Some("last"), Side::Lake));
        }
        if sides != "lake" {
            in_store.push(name.clone());
            tale.then(move |table, _| add(&table.path, &name, None, Side::Store));
        }
        // By who planned after the change, and by who planned before.
        let names = in_store.clone();
        tale.at_once(move |table, turn| insert_with(&table.path, table, turn, &names));
        tale.beside(|table, turn| insert(&table.path, table, turn));
        let names = in_store.clone();
        tale.soon(IN_A_ROUND_MS, move |table, turn| insert_with(&table.path, table, turn, &names));
        tale.then(|table, _| select_rt(&table.path));
        tale.then(|table, _| select(&table.path));
    }
    tale.at_last(move |table, turn| insert_with(&table.path, table, turn, &in_store));
    tale.at_last(|table, _| select_rt(&table.path));
    tale.at_last(|table, _| select(&table.path));
    tale
}

/// As `insert`, with a value in each of these columns as well.
fn insert_with(path: &TablePath, table: &Table, turn: &Turn, names: &[String]) -> Statement {
    let count = turn.place.between_inclusive("rows", 0, 1, 3);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Statement::insert(TableView::base(path), with(table.rows(turn, count, false, None), &names, turn.place))
}
