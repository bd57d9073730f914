//! Tables that other implementations of Paimon wrote, saved by `ci/interop.sh --save`: each read finds the rows that
//! the kind of table demands.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use models::contract::TablePath;
use models::paimon::verify;
use serde::Deserialize;
use serde_json::Value as Json;

#[path = "../examples/table_kinds/reading.rs"]
mod reading;
#[path = "../examples/table_kinds/surroundings.rs"]
mod surroundings;

use reading::Read;

/// One read and the rows that it must find, in any order.
#[derive(Deserialize)]
struct Expectation {
    #[serde(flatten)]
    read: Read,
    rows: Vec<Json>,
}

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/interop")
}

/// The reads of every table, by writer and kind.
fn saved() -> Vec<(String, BTreeMap<String, Vec<Expectation>>)> {
    let mut writers: Vec<String> =
        fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    writers.sort();
    let reads = |writer: &String| {
        let text = fs::read_to_string(fixtures().join(writer).join("reads.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    writers.into_iter().map(|writer| (writer.clone(), reads(&writer))).collect()
}

/// Rows as texts that are equal for equal rows, whatever their order; of numbers the value counts and not the
/// spelling.
fn sorted(rows: &[Json]) -> Vec<String> {
    let mut texts: Vec<String> = rows.iter().map(|row| canonical(row).to_string()).collect();
    texts.sort();
    texts
}

fn canonical(cell: &Json) -> Json {
    match cell {
        Json::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => Json::from(float as i64),
            _ => cell.clone(),
        },
        Json::Array(elements) => elements.iter().map(canonical).collect(),
        Json::Object(fields) => fields.iter().map(|(name, cell)| (name.clone(), canonical(cell))).collect(),
        _ => cell.clone(),
    }
}

#[tokio::test]
async fn tables_of_other_writers_hold_the_rows_that_their_kind_demands() {
    let mut rows_compared = 0;
    for (writer, tables) in saved() {
        let lake = surroundings::lake(fixtures().join(&writer).to_str().unwrap());
        for (kind, reads) in tables {
            let path = TablePath::new("interop", &kind.replace('-', "_"));
            for Expectation { read, rows } in reads {
                let found = reading::rows(&lake, &path, &read).await;
                let found = found.unwrap_or_else(|failure| panic!("{writer}, {kind}, at {}: {failure}", read.at));
                assert_eq!(sorted(&found), sorted(&rows), "{writer}, {kind}, at {}", read.at);
                rows_compared += found.len();
            }
        }
    }
    assert!(rows_compared > 250, "found only {rows_compared} rows");
}

#[tokio::test]
async fn tables_of_other_writers_are_sound() {
    for (writer, tables) in saved() {
        let lake = surroundings::lake(fixtures().join(&writer).to_str().unwrap());
        for kind in tables.keys() {
            let path = TablePath::new("interop", &kind.replace('-', "_"));
            let verification = verify(&*lake.objects, &path).await;
            assert_eq!((verification.findings, verification.notes), (vec![], vec![]), "{writer}, {kind}");
        }
    }
}
