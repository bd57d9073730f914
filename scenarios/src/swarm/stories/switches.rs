//! The mode switched off and on again at once, with rows that no round has taken yet: while the table waits for a
//! worker, while one has it, while one has lost it. However often it is handed out, no row comes twice (L3).

use models::contract::{Side, Statement};

use super::Tale;
use super::statements::{STORE_SWITCH, insert, reset, select, select_rt, set};
use crate::draw::Place;

/// Within how long after a write the mode goes, in milliseconds: the table waits, or a round may have it in hand.
const IN_A_ROUND_MS: u64 = 250;
/// Within how long after the mode went it comes back, in milliseconds: before anybody notices, or after.
const BACK_MS: u64 = 120;

pub(super) fn tale(place: Place) -> Tale {
    let mut tale = Tale::default();
    for number in 0..place.between_inclusive("switches", 0, 3, 5) {
        for _ in 0..place.between_inclusive("writes", number, 1, 2) {
            tale.then(|table, turn| insert(&table.path, table, turn));
        }
        if place.chance("reset", number, 400) {
            tale.soon(IN_A_ROUND_MS, |table, _| reset(&table.path, STORE_SWITCH, Side::Store));
        } else {
            tale.soon(IN_A_ROUND_MS, |table, _| set(&table.path, STORE_SWITCH, "false", Side::Store));
        }
        if place.chance("enable", number, 400) {
            tale.soon(BACK_MS, |table, _| Statement::Enable { table: table.path.clone() });
        } else {
            tale.soon(BACK_MS, |table, _| set(&table.path, STORE_SWITCH, "true", Side::Store));
        }
        tale.at_once(|table, _| select_rt(&table.path));
        if place.chance("look", number, 500) {
            tale.then(|table, _| select(&table.path));
        }
    }
    // However it went, it ends in the mode.
    tale.at_last(|table, _| set(&table.path, STORE_SWITCH, "true", Side::Store));
    tale.at_last(|table, turn| insert(&table.path, table, turn));
    tale.at_last(|table, _| select_rt(&table.path));
    tale.at_last(|table, _| select(&table.path));
    tale
}
