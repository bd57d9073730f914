//! A lake table with a history becomes a lake-stream table (P1–P8): at once, in steps, for some of its partitions only,
//! while others still commit past the store, called again and again; and those that must be refused.

use std::collections::BTreeMap;

use models::contract::{
    BUCKET, BUCKET_KEY, DataType, Filter, Side, Statement, TablePath, TableSchema, TableView, Value,
};

use super::super::tables::Table;
use super::Tale;
use super::statements::{
    STORE_SWITCH, add_column, column, create, describe, insert, insert_natively, select, select_rt,
};
use crate::draw::Place;

/// The option that the store manages by itself, besides its switch.
const HISTORICAL: &str = "table.datalake.historical-partition.enabled";
/// Waits for the end of the load.
const WAIT: (&str, &str) = ("table.dml-sync", "true");

pub(super) fn tale(table: &Table, place: Place) -> Tale {
    let mut tale = Tale::default();
    let partitioned = !table.schema.partition_keys.is_empty();
    for _ in 0..place.between_inclusive("history", 0, 0, 4) {
        tale.then(|table, turn| insert_natively(&table.path, table, turn));
    }
    let keyed = table.schema.has_primary_key();
    let by_partition = match (partitioned, keyed) {
        (false, _) => 0,
        (true, false) => 3,
        // What is left out of a key table is the one history that no key-value state has.
        (true, true) => 8,
    };
    let variants = [
        (3, "at-once"),
        (3, "in-steps"),
        (6, "beside-native"),
        (by_partition, "partitions"),
        (2, "refused"),
        (2, "changed"),
    ];
    match place.pick_weighted("variant", 0, &variants).copied().unwrap_or("at-once") {
        "in-steps" => in_steps(&mut tale, place),
        "beside-native" => {
            for attempt in 0..place.between_inclusive("attempts", 0, 1, 3) {
                tale.then(|table, _| promote(&table.path, None));
                for _ in 0..place.between_inclusive("native", attempt, 2, 4) {
                    tale.beside(|table, turn| insert_natively(&table.path, table, turn));
                }
            }
            // Which of the two commits of a key the promotion took shows here (P4).
            if keyed {
                look_up(&mut tale);
            }
        }
        "partitions" => partitions(&mut tale, keyed, place),
        "refused" => refused(&mut tale, place),
        "changed" => {
            // The lake's definition moves on under the disabled one (P2).
            tale.then(|table, _| create_on_lake(&table.path, &[]));
            tale.then(|table, _| {
                add_column(&table.path, column("later", DataType::Int, true), Some("first"), Side::Lake)
            });
            tale.then(|table, _| Statement::Enable { table: table.path.clone() });
        }
        _ => {}
    }
    // A call that failed is made again, and one that succeeded too.
    for _ in 0..place.between_inclusive("calls", 0, 1, 3) {
        tale.then(|table, _| promote(&table.path, None));
        tale.then(|table, _| describe(&table.path, Side::Lake));
    }
    after(&mut tale, keyed, place);
    tale.at_last(|table, _| promote(&table.path, None));
    tale.at_last(|table, turn| insert(&table.path, table, turn));
    tale.at_last(|table, _| select_rt(&table.path));
    tale.at_last(|table, _| select(&table.path));
    tale.at_last(|table, _| describe(&table.path, Side::Lake));
    tale
}

/// Disabled first, then enabled, with what lies between them.
fn in_steps(tale: &mut Tale, place: Place) {
    tale.then(|table, _| create_on_lake(&table.path, &[]));
    tale.then(|table, _| describe(&table.path, Side::Store));
    if place.chance("again", 0, 400) {
        tale.then(|table, _| create_on_lake(&table.path, &[]));
    }
    if place.chance("native-between", 0, 300) {
        tale.then(|table, turn| insert_natively(&table.path, table, turn));
    }
    tale.then(|table, _| Statement::Enable { table: table.path.clone() });
    tale.then(|table, _| describe(&table.path, Side::Store));
    tale.then(|table, _| Statement::Enable { table: table.path.clone() });
}

/// Some partitions, or what no promotion may select (P6).
fn partitions(tale: &mut Tale, keyed: bool, place: Place) {
    match place.pick("selection", 0, &["some", "some", "some", "none-such", "twice"]) {
        Some(&"none-such") => {
            tale.then(|table, _| promote(&table.path, Some(vec![day(table.no_partition())])));
        }
        Some(&"twice") => {
            tale.then(|table, turn| {
                let chosen = table.partition(turn.place, 0).cloned().unwrap_or(Value::Null);
                promote(&table.path, Some(vec![day(chosen.clone()), day(chosen)]))
            });
        }
        _ => {
            for _ in 0..2 {
                tale.then(|table, turn| insert_natively(&table.path, table, turn));
            }
            tale.then(|table, turn| {
                let chosen = table.partition(turn.place, 0).cloned().unwrap_or(Value::Null);
                promote(&table.path, Some(vec![day(chosen)]))
            });
            // What was not selected lives in the lake alone. Scans and lookups agree on it (L17).
            tale.then(|table, _| select_rt(&table.path));
            if keyed {
                look_up(tale);
                tale.then(|table, _| select_rt(&table.path));
            }
        }
    }
    tale.then(|table, _| describe(&table.path, Side::Store));
}

/// A few lookups of keys that the history may have.
fn look_up(tale: &mut Tale) {
    for _ in 0..6 {
        tale.then(|table, turn| Statement::Lookup { table: table.real_time(), key: table.key(turn.place) });
    }
}

fn day(value: Value) -> Filter {
    Filter::from([("dt".to_owned(), value)])
}

/// Options that the store manages, and definitions that it cannot map (P1, P7): each a table of its own.
fn refused(tale: &mut Tale, place: Place) {
    let managed = place.pick("managed", 0, &[(STORE_SWITCH, "true"), (STORE_SWITCH, "false"), (HISTORICAL, "true")]);
    if let Some((key, value)) = managed.copied() {
        tale.then(move |table, _| create_on_lake(&table.path, &[(key, value)]));
        tale.then(|table, _| describe(&table.path, Side::Store));
    }
    for number in 0..2 {
        let odd = place.draw("odd", number);
        tale.then(move |table, _| create(&table.derived("odd"), unmappable(table, odd), Side::Lake));
        if place.chance("create-odd", number, 400) {
            tale.then(|table, _| create_on_lake(&table.derived("odd"), &[]));
        }
        tale.then(|table, _| promote(&table.derived("odd"), None));
        tale.then(|table, _| describe(&table.derived("odd"), Side::Store));
        tale.then(|table, _| super::statements::drop(&table.derived("odd"), Side::Lake));
    }
    if place.chance("no-partitions", 0, 300) {
        // The selection of a partition where there are none, or of an append table's.
        tale.then(|table, _| promote(&table.path, Some(vec![day(table.no_partition())])));
    }
}

/// A definition that the lake holds and the store cannot map (rule 70).
fn unmappable(table: &Table, draw: u64) -> TableSchema {
    let mut schema = table.schema.clone();
    let keyed = schema.has_primary_key();
    let options: &[(&str, &str)] = match (keyed, draw % 4) {
        (true, 0) => &[("deletion-vectors.enabled", "true")],
        (true, 1) => &[("sequence.field", "w")],
        (true, 2) => &[("rowkind.field", "v")],
        (true, _) => &[("bucket-function.type", "mod")],
        (false, 0) => &[("bucket-function.type", "mod")],
        (false, 1) => &[("deletion-vectors.enabled", "true"), (BUCKET, "-1")],
        (false, _) => {
            schema.columns.push(column("p", DataType::Decimal(10, 2), true));
            schema.partition_keys = vec!["p".to_owned()];
            &[]
        }
    };
    for (key, value) in options {
        if (*key, *value) == (BUCKET, "-1") {
            schema.options.remove(BUCKET_KEY);
        }
        schema.options.insert((*key).to_owned(), (*value).to_owned());
    }
    schema
}

/// Writes and reads of keys that the history has (P5).
fn after(tale: &mut Tale, keyed: bool, place: Place) {
    for number in 0..place.between_inclusive("after", 0, 2, 4) {
        match place.pick_weighted(
            "write",
            number,
            &[(2, "insert"), (2 * u64::from(keyed), "delete"), (u64::from(keyed), "update")],
        ) {
            Some(&"delete") => {
                tale.then(|table, turn| Statement::delete(table.base(), table.keys(turn.place, 2, false)));
            }
            Some(&"update") => {
                tale.then(|table, turn| Statement::Update {
                    table: TableView::base(&table.path),
                    set: BTreeMap::from([
                        ("w".to_owned(), Value::Int(turn.first_write_id)),
                        ("v".to_owned(), Value::string("updated")),
                    ]),
                    filter: table.key(turn.place),
                });
            }
            _ => {
                tale.then(|table, turn| insert(&table.path, table, turn));
            }
        }
        tale.then(|table, _| select_rt(&table.path));
        if keyed {
            tale.then(|table, turn| Statement::Lookup { table: table.real_time(), key: table.key(turn.place) });
        }
    }
}

fn create_on_lake(table: &TablePath, properties: &[(&str, &str)]) -> Statement {
    Statement::CreateOnLake { table: table.clone(), properties: owned(properties) }
}

fn promote(table: &TablePath, partitions: Option<Vec<Filter>>) -> Statement {
    Statement::Promote { table: table.clone(), properties: owned(&[WAIT]), partitions }
}

fn owned(options: &[(&str, &str)]) -> BTreeMap<String, String> {
    options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
