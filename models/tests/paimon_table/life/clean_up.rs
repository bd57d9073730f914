//! Clean-up of orphans, and consumers that do not come back.

use bytes::Bytes;
use models::paimon::{CommitMode, RollbackTarget};

use super::crashing::*;
use super::history::*;
use crate::surroundings::*;

#[tokio::test]
async fn after_a_clean_up_the_files_are_exactly_the_reachable_ones() {
    let (warehouse, table) = eventful_table().await;
    table.create_tag("two", Some(2), None, false).await.unwrap();
    table.create_branch("side", Some("two")).await.unwrap();
    insert(&table.on_branch("side").await.unwrap(), "side", 7).await;
    table.rollback_to(&RollbackTarget::Snapshot(3)).await.unwrap();
    table.expire_snapshots(&keep(1)).await.unwrap();
    table.delete_branch("side").await.unwrap();
    for left in ["bucket-0/.data-x.parquet.tmp", "manifest/manifest-x", "snapshot/.snapshot-9.tmp", "index/index-x"] {
        warehouse.lake.objects.put(&format!("db.db/t/{left}"), Bytes::from_static(b"half")).await.unwrap();
    }
    let before = rows_by_head(&warehouse.lake).await;
    let found = orphans(&warehouse.storage.memory).await;
    let seen = table.find_orphans().await.unwrap();
    assert_eq!(seen.files.iter().cloned().collect::<Vec<_>>(), found);
    assert!(found.len() > 8, "of the rollback, of the branch, and half-written ones: {found:?}");
    assert_eq!(table.remove_orphans(&seen, 0).await.unwrap(), found);
    assert_eq!(orphans(&warehouse.storage.memory).await, Vec::<String>::new());
    assert_eq!(rows_by_head(&warehouse.lake).await, before);
    assert_whole(&warehouse.storage.memory).await;
}

#[tokio::test]
async fn files_that_are_about_to_be_committed_stay() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    let early = request(&table, "early", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
    let seen = table.find_orphans().await.unwrap();
    assert_eq!(seen.files.len(), 1);
    warehouse.lake.environment.sleep_ms(99).await;
    let late = request(&table, "late", CommitMode::Append, &inserts(&[row(2, "y", "d")])).await;
    assert_eq!(table.remove_orphans(&seen, 100).await.unwrap(), Vec::<String>::new(), "not old enough");
    table.commit(early).await.unwrap();
    warehouse.lake.environment.sleep_ms(1).await;
    assert_eq!(table.remove_orphans(&seen, 100).await.unwrap(), Vec::<String>::new(), "one is committed, one is new");
    table.commit(late).await.unwrap();
    assert_eq!(rows(&table).await, [row(1, "x", "d"), row(2, "y", "d")]);
    assert_whole(&warehouse.storage.memory).await;
}

#[tokio::test]
async fn other_peoples_files_stay() {
    let (warehouse, table) = eventful_table().await;
    for theirs in ["_SUCCESS", "notes.txt", "service/service-x", "tag/tag-success-file/x"] {
        warehouse.lake.objects.put(&format!("db.db/t/{theirs}"), Bytes::new()).await.unwrap();
    }
    assert_eq!(table.find_orphans().await.unwrap().files.len(), 0);
}

#[tokio::test]
async fn nothing_is_an_orphan_while_what_is_needed_cannot_be_read() {
    let (warehouse, table) = eventful_table().await;
    let seen = table.find_orphans().await.unwrap();
    let list = latest(&table).await.base_manifest_list;
    assert!(warehouse.storage.memory.corrupt(&format!("db.db/t/manifest/{list}"), 100));
    let before = warehouse.storage.memory.snapshot_all();
    let failure = table.remove_orphans(&seen, 0).await.unwrap_err();
    assert!(failure.definite && failure.message.contains(&list), "{failure}");
    assert_eq!(warehouse.storage.memory.snapshot_all(), before);
}

#[tokio::test]
async fn consumers_are_noted_moved_and_forgotten() {
    let (warehouse, table) = eventful_table().await;
    assert_eq!(table.consumer("a").await, Ok(None));
    table.record_consumer("a", 2).await.unwrap();
    table.record_consumer("a", 3).await.unwrap();
    table.record_consumer("b", 5).await.unwrap();
    assert_eq!(table.consumer("a").await, Ok(Some(3)));
    assert_eq!(table.min_next_snapshot().await, Ok(Some(3)));
    let file = warehouse.lake.objects.get("db.db/t/consumer/consumer-a").await.unwrap();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&file).unwrap(), serde_json::json!({"nextSnapshot": 3}));
    warehouse.lake.objects.put("db.db/t/consumer/consumer-a", Bytes::from_static(b"{}")).await.unwrap();
    assert!(table.min_next_snapshot().await.unwrap_err().message.contains("consumer-a"));
    table.delete_consumer("a").await.unwrap();
    assert_eq!(table.min_next_snapshot().await, Ok(Some(5)));
}

#[tokio::test]
async fn a_consumer_that_reads_nothing_for_long_is_forgotten() {
    let (warehouse, table) = eventful_table().await;
    for (consumer, next) in [("moves", 2), ("stands", 2), ("is-done", 5)] {
        table.record_consumer(consumer, next).await.unwrap();
    }
    let seen = table.consumers().await.unwrap();
    warehouse.lake.environment.sleep_ms(100).await;
    table.record_consumer("moves", 3).await.unwrap();
    assert_eq!(table.expire_consumers(&seen, 101).await.unwrap(), Vec::<String>::new(), "not long enough");
    assert_eq!(table.expire_consumers(&seen, 100).await.unwrap(), ["stands"]);
    assert_eq!(table.consumers().await.unwrap().next_snapshots.len(), 2);
}
