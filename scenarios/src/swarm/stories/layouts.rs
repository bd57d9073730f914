//! Writes that were planned against a layout which the table no longer has (C13): between describe and insert a column
//! is added on one side or on both, or the table is dropped and made again with other buckets. And such that still fit.

use models::contract::{BUCKET, DataType, Side};

use super::Tale;
use super::statements::{
    add_column, column, create, describe, drop, insert, insert_described, select, select_rt, set, with_option,
};
use crate::draw::Place;

/// How often the layout changes in one story, at most.
const MOST_CHANGES: u64 = 3;

pub(super) fn tale(place: Place) -> Tale {
    let mut tale = Tale::default();
    tale.then(|table, turn| insert(&table.path, table, turn));
    for number in 0..place.between_inclusive("changes", 0, 2, MOST_CHANGES) {
        tale.then(|table, _| describe(&table.path, Side::Lake));
        if place.chance("fits", number, 400) {
            tale.then(|table, turn| insert_described(&table.path, table, turn));
        }
        change(&mut tale, place, number);
        // Once, or twice as an engine does that tries again.
        tale.then(|table, turn| insert_described(&table.path, table, turn));
        if place.chance("twice", number, 300) {
            tale.then(|table, turn| insert_described(&table.path, table, turn));
        }
        // Planned anew it fits.
        tale.then(|table, _| describe(&table.path, Side::Lake));
        tale.then(|table, turn| insert_described(&table.path, table, turn));
        tale.then(|table, _| select_rt(&table.path));
    }
    tale.at_last(|table, _| describe(&table.path, Side::Lake));
    tale.at_last(|table, turn| insert_described(&table.path, table, turn));
    tale.at_last(|table, _| select_rt(&table.path));
    tale.at_last(|table, _| select(&table.path));
    tale
}

fn change(tale: &mut Tale, place: Place, number: u64) {
    let name = format!("c{number}");
    match place.pick_weighted("change", number, &[(3, "store"), (1, "lake"), (3, "again"), (1, "option")]) {
        Some(&"store") => {
            tale.then(move |table, _| add_column(&table.path, column(&name, DataType::Int, true), None, Side::Store));
        }
        Some(&"lake") => {
            tale.then(move |table, _| {
                add_column(&table.path, column(&name, DataType::Int, true), Some("last"), Side::Lake)
            });
        }
        Some(&"again") => {
            tale.then(|table, _| drop(&table.path, Side::Store));
            tale.then(|table, _| drop(&table.path, Side::Lake));
            tale.then(move |table, _| {
                // Certainly another number than before.
                let buckets = table.schema.bucket_count().unwrap_or(1) + 1 + number as u32;
                create(&table.path, with_option(table, BUCKET, &buckets.to_string()), Side::Store)
            });
        }
        // No part of the layout.
        _ => {
            tale.then(|table, _| set(&table.path, "comment", "a change that no write minds", Side::Lake));
        }
    }
}
