//! The integrity check finds every kind of damage.

use bytes::Bytes;
use models::contract::{ObjectStore, RowKind, TablePath};
use models::paimon::integrity::Rule;
use models::paimon::{CommitMode, OverwriteScope, Verification, verify};

use crate::surroundings::*;

/// A table with every kind of file: two schemas, appends, deletes, an overwrite.
async fn eventful_table() -> Warehouse {
    let warehouse = warehouse();
    let table = warehouse.create(&key_schema()).await;
    append(&table, "a", &inserts(&[row(1, "x", "d"), row(2, "y", "d"), row(3, "z", "d")])).await;
    append(&table, "b", &[(RowKind::Delete, row(1, "x", "d")), (RowKind::UpdateAfter, row(2, "new", "d"))]).await;
    warehouse.catalog.alter_options(&path(), &[("owner".to_owned(), "me".to_owned())].into(), &[]).await.unwrap();
    let table = warehouse.open().await;
    let whole = CommitMode::Overwrite { partitions: OverwriteScope::WholeTable };
    table.commit(request(&table, "c", whole, &inserts(&[row(4, "w", "d")])).await).await.unwrap();
    warehouse
}

async fn check(warehouse: &Warehouse) -> Verification {
    verify(&warehouse.storage.memory, &path()).await
}

#[tokio::test]
async fn a_sound_table_has_no_findings_and_no_orphans() {
    assert_eq!(check(&eventful_table().await).await, Verification::default());
    assert_eq!(verify(&warehouse().storage.memory, &TablePath::new("db", "none")).await, Verification::default());
}

#[tokio::test]
async fn every_flipped_byte_is_found() {
    let warehouse = eventful_table().await;
    let memory = &warehouse.storage.memory;
    for (file, bytes) in memory.snapshot_all() {
        // All bytes of short files, and a spread over the long ones.
        let step = (bytes.len() / 40).max(1);
        for position in (0..bytes.len()).step_by(step).chain([bytes.len() - 1]) {
            assert!(memory.corrupt(&file, position));
            let findings = check(&warehouse).await.findings;
            assert!(!findings.is_empty(), "byte {position} of {file}");
            assert!(memory.corrupt(&file, position));
        }
    }
    assert_eq!(check(&warehouse).await, Verification::default(), "all bytes are back");
}

#[tokio::test]
async fn every_truncated_or_missing_file_is_found() {
    let warehouse = eventful_table().await;
    let memory = &warehouse.storage.memory;
    for (file, bytes) in memory.snapshot_all() {
        // Readers do without a hint.
        let is_hint = file.ends_with("LATEST");
        for damaged in [Some(bytes.slice(..bytes.len() - 1)), Some(Bytes::new()), None] {
            match damaged {
                Some(shorter) => memory.put(&file, shorter).await.unwrap(),
                None if is_hint => continue,
                None => memory.delete(&file).await.unwrap(),
            }
            assert!(!check(&warehouse).await.findings.is_empty(), "{file}");
        }
        memory.put(&file, bytes).await.unwrap();
    }
}

#[tokio::test]
async fn a_finding_names_the_file_and_the_rule() {
    let warehouse = eventful_table().await;
    let memory = &warehouse.storage.memory;
    let data_file = memory.snapshot_all().into_keys().find(|file| file.contains("bucket-0/data-")).unwrap();
    memory.delete(&data_file).await.unwrap();
    let findings = check(&warehouse).await.findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((findings[0].file.as_str(), findings[0].rule), (data_file.as_str(), Rule::FileExists));
}

#[tokio::test]
async fn a_file_that_nobody_refers_to_is_an_orphan_and_no_finding() {
    let warehouse = eventful_table().await;
    let orphan = "db.db/t/bucket-0/data-left-over-0.parquet";
    warehouse.storage.memory.put(orphan, Bytes::from_static(b"any")).await.unwrap();
    let verification = check(&warehouse).await;
    assert_eq!((verification.findings, verification.orphans), (vec![], vec![orphan.to_owned()]));
}

#[tokio::test]
async fn a_scan_of_a_vanished_file_fails_and_names_it() {
    let warehouse = eventful_table().await;
    let table = warehouse.open().await;
    let snapshot = latest(&table).await;
    for (file, _) in warehouse.storage.memory.snapshot_all() {
        if file.contains("/data-") {
            warehouse.storage.memory.delete(&file).await.unwrap();
        }
    }
    let failure = table.scan(&snapshot, &Default::default()).await.unwrap_err();
    assert!(failure.message.contains("bucket-") && failure.message.contains("data-"), "{failure}");
}
