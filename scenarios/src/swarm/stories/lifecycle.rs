//! A table's life on the store's side (C19, C20): made with the mode or without, enabled, disabled, reset, enabled
//! again; made over a lake table of the legacy layout; columns that the store must refuse.

use models::contract::{DataType, LAKESTREAM_ENABLED, Side, Statement, TablePath, TableSchema};

use super::super::tables::Table;
use super::Tale;
use super::statements::{
    STORE_SWITCH, add_column, column, create, describe, insert, insert_natively, reset, select, select_rt, set,
    with_option,
};
use crate::draw::Place;

/// The columns that the legacy layout ends in.
const LEGACY: [&str; 3] = ["__bucket", "__offset", "__timestamp"];

/// The story's table: made by its first statement, unlike the one that gives it its columns.
pub(super) fn path(table: &Table) -> TablePath {
    table.derived("live")
}

pub(super) fn tale(place: Place) -> Tale {
    let mut tale = Tale::default();
    let begins = place.pick_weighted("begins", 0, &[(3, "enabled"), (2, "disabled"), (2, "user-false"), (2, "legacy")]);
    match begins.copied().unwrap_or("enabled") {
        "enabled" => {
            tale.then(|table, _| create(&path(table), table.schema.clone(), Side::Store));
        }
        "disabled" => {
            tale.then(|table, _| create(&path(table), with_option(table, STORE_SWITCH, "false"), Side::Store));
            tale.then(|table, _| describe(&path(table), Side::Lake));
            tale.then(|table, turn| insert(&path(table), table, turn));
            tale.then(|table, _| switch_on(&path(table)));
        }
        "user-false" => {
            tale.then(|table, _| create(&path(table), with_option(table, LAKESTREAM_ENABLED, "false"), Side::Store));
        }
        _ => {
            tale.then(|table, _| create(&path(table), legacy(table), Side::Lake));
            tale.then(|table, _| describe(&path(table), Side::Lake));
            tale.then(|table, _| create(&path(table), table.schema.clone(), Side::Store));
        }
    }
    look_and_write(&mut tale);
    for number in 0..place.between_inclusive("switches", 0, 1, 3) {
        switch(&mut tale, place, number);
    }
    columns(&mut tale, place);
    if place.chance("refused-create", 0, 400) {
        let name = *place.pick("reserved", 1, &LEGACY).unwrap_or(&LEGACY[0]);
        tale.then(move |table, _| create(&table.derived("reserved"), with_column(table, name), Side::Store));
        tale.then(|table, _| describe(&table.derived("reserved"), Side::Store));
    }
    // However it went, it ends in the mode.
    tale.at_last(|table, _| switch_on(&path(table)));
    tale.at_last(|table, _| describe(&path(table), Side::Lake));
    tale.at_last(|table, turn| insert(&path(table), table, turn));
    tale.at_last(|table, _| select_rt(&path(table)));
    tale.at_last(|table, _| select(&path(table)));
    tale
}

fn look_and_write(tale: &mut Tale) {
    tale.then(|table, _| describe(&path(table), Side::Lake));
    tale.then(|table, turn| insert(&path(table), table, turn));
    tale.then(|table, _| select_rt(&path(table)));
}

fn switch_on(path: &TablePath) -> Statement {
    set(path, STORE_SWITCH, "true", Side::Store)
}

/// Off by one of its two spellings, perhaps a lake writer meanwhile, and on again by one of its two.
fn switch(tale: &mut Tale, place: Place, number: u64) {
    if place.chance("reset", number, 500) {
        tale.then(|table, _| reset(&path(table), STORE_SWITCH, Side::Store));
    } else {
        tale.then(|table, _| set(&path(table), STORE_SWITCH, "false", Side::Store));
    }
    tale.then(|table, _| describe(&path(table), Side::Lake));
    tale.then(|table, _| select(&path(table)));
    if place.chance("native", number, 250) {
        // What was committed while disabled keeps the table disabled (P2).
        tale.then(|table, turn| insert_natively(&path(table), table, turn));
    }
    if place.chance("enable", number, 400) {
        tale.then(|table, _| Statement::Enable { table: path(table) });
    } else {
        tale.then(|table, _| switch_on(&path(table)));
    }
    look_and_write(tale);
}

/// A column that the store takes, and some that it must refuse.
fn columns(tale: &mut Tale, place: Place) {
    let tried = [
        ("added", true, None),
        ("first", true, Some("first")),
        ("middle", true, Some("1")),
        ("filled", false, None),
        (*place.pick("reserved", 0, &LEGACY).unwrap_or(&LEGACY[0]), true, None),
    ];
    for number in 0..place.between_inclusive("columns", 0, 1, 3) {
        let Some((name, nullable, position)) = place.pick("column", number, &tried).copied() else { continue };
        tale.then(move |table, _| {
            add_column(&path(table), column(name, DataType::Int, nullable), position, Side::Store)
        });
    }
    tale.then(|table, _| describe(&path(table), Side::Lake));
    tale.then(|table, _| describe(&path(table), Side::Store));
}

fn with_column(table: &Table, name: &str) -> TableSchema {
    let mut schema = table.schema.clone();
    schema.columns.push(column(name, DataType::Int, true));
    schema
}

/// The definition of a lake table that an old store made: its columns, then the system's.
fn legacy(table: &Table) -> TableSchema {
    let mut schema = table.schema.clone();
    let types = [DataType::Int, DataType::BigInt, DataType::TimestampLtz(6)];
    schema.columns.extend(LEGACY.iter().zip(types).map(|(name, data_type)| column(name, data_type, true)));
    schema
}
