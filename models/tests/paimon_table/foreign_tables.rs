//! Tables that other Paimon implementations wrote: sound, read as their own writers read them, and writable.

use std::fs;
use std::path::Path;

use models::contract::{ObjectStore, Row, RowSet, TablePath, Value};
use models::paimon::object_stores::DirectoryObjectStore;
use models::paimon::verify;

use crate::surroundings::*;

const TABLES: [(&str, &str); 15] = [
    ("pypaimon-2.1.0", "app"),
    ("pypaimon-2.1.0", "app_unaware"),
    ("pypaimon-2.1.0", "pk"),
    ("pypaimon-2.1.0", "pk_avro"),
    ("paimon-rs-0.4.0", "app"),
    ("paimon-rs-0.4.0", "pk"),
    ("java-1.4.2", "append_mod"),
    ("java-1.4.2", "partition_types"),
    ("java-1.4.2", "schema_evolution_key"),
    ("java-1.4.2", "type_changes"),
    ("java-1.4.2", "types"),
    ("java-1.4.2", "types_avro"),
    ("java-1.4.2", "nested"),
    ("java-1.4.2", "nested_avro"),
    ("java-1.4.2", "nested_key"),
];

/// A copy in memory of what a writer left behind.
async fn copy_of(writer: &str) -> Warehouse {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let original = DirectoryObjectStore::new(fixtures.join(format!("warehouse-{writer}")));
    let copy = warehouse();
    for file in original.list("").await.unwrap() {
        copy.storage.memory.put(&file, original.get(&file).await.unwrap()).await.unwrap();
    }
    copy
}

/// The rows that the writer itself reads.
fn expected(writer: &str, table: &str) -> RowSet {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let text = fs::read_to_string(fixtures.join(format!("expected-{writer}/db.{table}.json"))).unwrap();
    let mut read: serde_json::Value = serde_json::from_str(&text).unwrap();
    serde_json::from_value(read["rows"].take()).unwrap()
}

#[tokio::test]
async fn tables_of_other_writers_are_sound_and_read_as_they_read_them() {
    for (writer, name) in TABLES {
        let warehouse = copy_of(writer).await;
        let path = TablePath::new("db", name);
        assert_eq!(verify(&*warehouse.lake.objects, &path).await.findings, [], "{writer} {name}");
        let table = warehouse.catalog.table(&path).await.unwrap();
        let mut expected = expected(writer, name).conform(table.schema()).unwrap();
        expected.sort();
        assert_eq!(rows(&table).await, expected, "{writer} {name}");
    }
}

#[tokio::test]
async fn a_table_of_another_writer_can_be_written_on() {
    for (writer, name) in TABLES {
        let warehouse = copy_of(writer).await;
        let path = TablePath::new("db", name);
        let table = warehouse.catalog.table(&path).await.unwrap();
        let mut expected = rows(&table).await;
        let cell = |column: &models::contract::Column| match column.name.as_str() {
            "id" => Value::Int(1_000),
            "dt" => Value::string("d9"),
            _ => Value::Null,
        };
        let new_row = Row::new(table.schema().columns.iter().map(cell).collect());
        append(&table, "ours", &inserts(std::slice::from_ref(&new_row))).await;
        expected.push(new_row);
        expected.sort();
        assert_eq!(rows(&table).await, expected, "{writer} {name}");
        assert_eq!(verify(&*warehouse.lake.objects, &path).await.findings, [], "{writer} {name}");
    }
}
