//! A table that no round can tier, because a column that the store writes has gone from the lake's definition, beside
//! healthy ones: those must stay as fresh as promised (F7). At the end it is mended.

use models::contract::{ColumnChange, Side, Statement, TablePath};

use super::Tale;
use super::statements::{create, describe, drop, insert, select, select_rt};
use crate::draw::Place;

/// The column that goes: every table of a story has it, and no key needs it.
const COLUMN: &str = "n";
/// Its name while it is another.
const OTHER_NAME: &str = "n_before";

pub(super) fn tale(place: Place) -> Tale {
    let mut tale = Tale { neighbours: true, patient: true, ..Tale::default() };
    for _ in 0..place.between_inclusive("before", 0, 1, 2) {
        tale.then(|table, turn| insert(&table.path, table, turn));
    }
    let renamed = place.chance("renamed", 0, 600);
    if renamed {
        tale.then(|table, _| rename(&table.path, COLUMN, OTHER_NAME));
    } else {
        tale.then(|table, _| change(&table.path, ColumnChange::Drop(COLUMN.to_owned())));
    }
    tale.then(|table, _| describe(&table.path, Side::Lake));
    for _ in 0..place.between_inclusive("after", 0, 2, 4) {
        tale.then(|table, turn| insert(&table.path, table, turn));
        tale.then(|table, _| select(&table.path));
    }
    if renamed {
        tale.at_last(|table, _| rename(&table.path, OTHER_NAME, COLUMN));
    } else {
        // A column of this name would be another one.
        tale.at_last(|table, _| drop(&table.path, Side::Store));
        tale.at_last(|table, _| drop(&table.path, Side::Lake));
        tale.at_last(|table, _| create(&table.path, table.schema.clone(), Side::Store));
    }
    tale.at_last(|table, turn| insert(&table.path, table, turn));
    tale.at_last(|table, _| select_rt(&table.path));
    tale.at_last(|table, _| select(&table.path));
    tale
}

fn rename(table: &TablePath, from: &str, to: &str) -> Statement {
    change(table, ColumnChange::Rename { from: from.to_owned(), to: to.to_owned() })
}

fn change(table: &TablePath, change: ColumnChange) -> Statement {
    Statement::AlterColumns { table: table.clone(), changes: vec![change], side: Side::Lake }
}
