//! Tables dropped on both sides and made again under the same name and with the same layout, while tiering goes on: no
//! row of the old table may come back in the new one (L12). Dropped in the store only, and made again over the lake
//! table that stays; made again with the mode off, written past the store, and enabled later. Now and then the other
//! tables are watched: a round that lost its table must not delay them (F7).

use models::contract::{Side, Statement};

use super::Tale;
use super::statements::{STORE_SWITCH, create, describe, drop, insert, select, select_rt, set, with_option};
use crate::draw::Place;

/// How often the table is made again in one story, at most.
const MOST_TIMES: u64 = 3;

/// Within how long after a write its table goes, in milliseconds: a round may have planned, written, or committed it.
const IN_A_ROUND_MS: u64 = 350;
/// Within how long after that the new table is read, in milliseconds: a late round has had its time.
const AFTER_A_ROUND_MS: u64 = 500;

pub(super) fn tale(place: Place) -> Tale {
    let mut tale = Tale { neighbours: place.chance("neighbours", 0, 250), ..Tale::default() };
    for number in 0..place.between_inclusive("times", 0, 2, MOST_TIMES) {
        for _ in 0..place.between_inclusive("writes", number, 1, 3) {
            tale.then(|table, turn| insert(&table.path, table, turn));
        }
        if place.chance("look", number, 500) {
            tale.then(|table, _| select_rt(&table.path));
        }
        drop_all(&mut tale, place, number);
        make_again(&mut tale, place, number);
        // What the new table shows before anything is written, and after.
        tale.at_once(|table, _| select_rt(&table.path));
        tale.soon(AFTER_A_ROUND_MS, |table, _| select(&table.path));
        tale.then(|table, _| select(&table.path));
    }
    tale.then(|table, turn| insert(&table.path, table, turn));
    tale.then(|table, _| select_rt(&table.path));
    // However it went, it ends as a table that is there, in the mode.
    tale.at_last(|table, _| drop(&table.path, Side::Store));
    tale.at_last(|table, _| drop(&table.path, Side::Lake));
    tale.at_last(|table, _| create(&table.path, table.schema.clone(), Side::Store));
    tale.at_last(|table, _| select_rt(&table.path));
    tale.at_last(|table, turn| insert(&table.path, table, turn));
    tale.at_last(|table, _| select_rt(&table.path));
    tale.at_last(|table, _| select(&table.path));
    tale
}

/// A last write that tiering may hold in its hands, and the drops.
fn drop_all(tale: &mut Tale, place: Place, number: u64) {
    if place.chance("write-before-drop", number, 800) {
        tale.then(|table, turn| insert(&table.path, table, turn));
        tale.soon(IN_A_ROUND_MS, |table, _| drop(&table.path, Side::Store));
    } else {
        tale.then(|table, _| drop(&table.path, Side::Store));
    }
    // Now and then the lake table stays: making the table again must then be refused, or must not take it over.
    if place.chance("lake-too", number, 750) {
        tale.at_once(|table, _| drop(&table.path, Side::Lake));
    }
}

fn make_again(tale: &mut Tale, place: Place, number: u64) {
    match place.pick_weighted("again", number, &[(4, "enabled"), (2, "disabled")]) {
        Some(&"disabled") => {
            tale.at_once(|table, _| create(&table.path, with_option(table, STORE_SWITCH, "false"), Side::Store));
            tale.then(|table, _| describe(&table.path, Side::Store));
            if place.chance("write-disabled", number, 300) {
                tale.then(|table, turn| insert(&table.path, table, turn));
            }
            if place.chance("enable", number, 500) {
                tale.then(|table, _| Statement::Enable { table: table.path.clone() });
            } else {
                tale.then(|table, _| set(&table.path, STORE_SWITCH, "true", Side::Store));
            }
        }
        _ => tale.at_once(|table, _| create(&table.path, table.schema.clone(), Side::Store)),
    }
}
