//! Tables that Java Paimon 1.4.2 compacted: with deletion vectors of both kinds, levels, dynamic buckets.

use std::path::Path;

use models::contract::{ObjectStore, Row, TablePath, Value};
use models::paimon::object_stores::DirectoryObjectStore;
use models::paimon::{CompactionKind, PaimonTable};

use crate::surroundings::*;

/// A copy in memory of what Java left behind.
async fn copy_of(name: &str) -> (Warehouse, PaimonTable) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/warehouse-java-1.4.2");
    let original = DirectoryObjectStore::new(fixtures);
    let copy = warehouse();
    for file in original.list(&format!("db.db/{name}")).await.unwrap() {
        copy.storage.memory.put(&file, original.get(&file).await.unwrap()).await.unwrap();
    }
    let table = PaimonTable::open(&copy.lake, &TablePath::new("db", name)).await.unwrap();
    (copy, table)
}

fn expected(cells: &[(i64, &str)]) -> Vec<Row> {
    cells.iter().map(|(id, value)| Row::new(vec![Value::Int(*id), Value::string(value)])).collect()
}

#[tokio::test]
async fn rows_are_those_that_java_reads() {
    let cases: [(&str, &[(i64, &str)]); 5] = [
        ("deletion_vectors", &[(2, "B"), (4, "d"), (5, "e")]),
        ("deletion_vectors_64", &[(2, "B"), (4, "d"), (5, "e")]),
        ("compaction", &[(2, "B"), (4, "D")]),
        ("append_unaware_compacted", &[(1, "a"), (2, "b"), (3, "c"), (4, "d")]),
        ("dynamic_bucket", &[(1, "a"), (2, "B"), (4, "d"), (5, "e")]),
    ];
    for (name, cells) in cases {
        let (_, table) = copy_of(name).await;
        assert_eq!(rows(&table).await, expected(cells), "{name}");
    }
}

/// The table as it was when this snapshot was the newest.
async fn copy_at(name: &str, newest: u64) -> (Warehouse, PaimonTable) {
    let (warehouse, table) = copy_of(name).await;
    for id in newest + 1..=latest(&table).await.id {
        warehouse.storage.memory.delete(&format!("db.db/{name}/snapshot/snapshot-{id}")).await.unwrap();
    }
    warehouse.storage.memory.delete(&format!("db.db/{name}/snapshot/LATEST")).await.unwrap();
    (warehouse, table)
}

#[tokio::test]
async fn a_vector_of_java_hides_rows_and_level_0_is_not_looked_at() {
    for name in ["deletion_vectors", "deletion_vectors_64"] {
        let cases: [(u64, &[(i64, &str)]); 3] = [
            (3, &[(1, "a"), (2, "b"), (3, "c"), (4, "d")]),
            (4, &[(1, "a"), (2, "B"), (4, "d")]),
            (5, &[(1, "a"), (2, "B"), (4, "d")]),
        ];
        for (snapshot_id, cells) in cases {
            let (_warehouse, table) = copy_at(name, snapshot_id).await;
            assert_eq!(rows(&table).await, expected(cells), "{name} at {snapshot_id}");
        }
    }
}

#[tokio::test]
async fn a_table_that_java_compacted_is_compacted_further() {
    for (name, snapshot_id) in [("deletion_vectors", 4), ("deletion_vectors_64", 4), ("compaction", 4)] {
        let (_warehouse, table) = copy_at(name, snapshot_id).await;
        let before = rows(&table).await;
        assert!(compact(&table, "everything", CompactionKind::Full).await, "{name}");
        assert_eq!(rows(&table).await, before, "{name}");
        assert_eq!(latest(&table).await.total_record_count, before.len() as i64, "{name}");
    }
}

#[tokio::test]
async fn what_java_left_at_level_0_is_compacted_onto_its_vectors() {
    for name in ["deletion_vectors", "deletion_vectors_64"] {
        let (_warehouse, table) = copy_at(name, 5).await;
        assert!(compact(&table, "of level 0", CompactionKind::Automatic).await, "{name}");
        assert_eq!(rows(&table).await, expected(&[(2, "B"), (4, "d"), (5, "e")]), "{name}");
    }
}
