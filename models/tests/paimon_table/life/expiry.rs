//! Expiry of snapshots.

use models::contract::{FailureCode, ObjectStore};
use models::paimon::{Retained, Retention};

use super::crashing::*;
use super::history::*;
use crate::surroundings::*;

#[tokio::test]
async fn what_only_expired_snapshots_need_goes_with_them() {
    let (warehouse, table) = eventful_table().await;
    assert_eq!(table.expire_snapshots(&keep(2)).await, Ok(2));
    assert_eq!(table.snapshot_ids().await.unwrap(), [3, 4]);
    assert_eq!(rows(&table).await, [row(3, "c", "d"), row(4, "d", "d")]);
    assert_eq!(table.snapshot(2).await.unwrap_err().code, FailureCode::NotFound);
    assert_eq!(warehouse.lake.objects.get("db.db/t/snapshot/EARLIEST").await.unwrap(), "3");
    assert_whole(&warehouse.storage.memory).await;
    assert_eq!(orphans(&warehouse.storage.memory).await, Vec::<String>::new());
    let data_files = warehouse.storage.memory.snapshot_all().into_keys().filter(|file| file.contains("/data-"));
    assert_eq!(data_files.count(), 2, "one of the overwrite, one of the append after it");
    assert_eq!(table.expire_snapshots(&keep(2)).await, Ok(0), "once is enough");
}

#[tokio::test]
async fn commits_go_on_after_an_expiry() {
    let (warehouse, table) = eventful_table().await;
    table.expire_snapshots(&keep(1)).await.unwrap();
    insert(&table, "e", 5).await;
    overwrite(&table, "f", 6).await;
    assert_eq!(latest(&table).await.id, 6);
    assert_eq!(rows(&table).await, [row(6, "f", "d")]);
    assert_whole(&warehouse.storage.memory).await;
}

#[tokio::test]
async fn an_expiry_that_crashes_anywhere_is_completed_by_the_next() {
    let (warehouse, _) = eventful_table().await;
    let effects = crash_everywhere(&warehouse, &["snapshot-3", "snapshot-4"], |table| {
        Box::pin(async move { table.expire_snapshots(&keep(2)).await.map(|_| ()) })
    });
    let effects = effects.await;
    assert!(effects > 8, "two snapshots with their lists, manifests and data, and a hint: {effects}");
}

#[tokio::test]
async fn the_newest_snapshots_stay_however_old_they_are() {
    let (warehouse, table) = eventful_table().await;
    warehouse.lake.environment.sleep_ms(1_000_000).await;
    let old = Retained { at_least: 3, at_most: 100, time_ms: 10 };
    assert_eq!(table.expire_snapshots(&Retention { snapshots: old, ..keep(3) }).await, Ok(1));
    assert_eq!(table.snapshot_ids().await.unwrap(), [2, 3, 4]);
}

#[tokio::test]
async fn a_snapshot_stays_while_the_one_after_it_is_young() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    for subject in ["a", "b", "c", "d"] {
        append(&table, subject, &inserts(&[row(1, subject, "d")])).await;
        warehouse.lake.environment.sleep_ms(100).await;
    }
    // Snapshots were made at 0, 100, 200 and 300 ms; it is 400 ms now.
    let older_than = |time_ms| Retention { snapshots: Retained { at_least: 1, at_most: 100, time_ms }, ..keep(1) };
    assert_eq!(table.expire_snapshots(&older_than(300)).await, Ok(0), "1 was the newest until 300 ms ago");
    assert_eq!(table.expire_snapshots(&older_than(299)).await, Ok(1), "2 came 300 ms ago");
    assert_eq!(table.expire_snapshots(&older_than(0)).await, Ok(2));
    assert_eq!(table.snapshot_ids().await.unwrap(), [4], "the newest always stays");
}

#[tokio::test]
async fn no_more_than_the_limit_expire_at_once() {
    let (_, table) = eventful_table().await;
    let slowly = Retention { limit: 1, ..keep(1) };
    assert_eq!(table.expire_snapshots(&slowly).await, Ok(1));
    assert_eq!(table.snapshot_ids().await.unwrap(), [2, 3, 4]);
}

#[tokio::test]
async fn what_a_consumer_has_yet_to_read_stays() {
    let (_, table) = eventful_table().await;
    table.record_consumer("reader", 3).await.unwrap();
    table.record_consumer("other", 4).await.unwrap();
    assert_eq!(table.expire_snapshots(&keep(1)).await, Ok(2));
    assert_eq!(table.snapshot_ids().await.unwrap(), [3, 4]);
    table.delete_consumer("reader").await.unwrap();
    assert_eq!(table.expire_snapshots(&keep(1)).await, Ok(1));
}

#[tokio::test]
async fn nothing_is_deleted_while_what_stays_cannot_be_read() {
    let (warehouse, table) = eventful_table().await;
    let list = latest(&table).await.delta_manifest_list;
    warehouse.storage.memory.delete(&format!("db.db/t/manifest/{list}")).await.unwrap();
    let before = warehouse.storage.memory.snapshot_all();
    let failure = table.expire_snapshots(&keep(2)).await.unwrap_err();
    assert!(failure.definite && failure.message.contains(&list), "{failure}");
    assert_eq!(warehouse.storage.memory.snapshot_all(), before);
}

#[tokio::test]
async fn bounds_that_contradict_each_other_are_refused() {
    let (_, table) = eventful_table().await;
    for (at_least, at_most) in [(0, 1), (3, 2)] {
        let snapshots = Retained { at_least, at_most, time_ms: 0 };
        let failure = table.expire_snapshots(&Retention { snapshots, ..keep(1) }).await.unwrap_err();
        assert_eq!(failure.code, FailureCode::Invalid);
    }
    assert_eq!(table.snapshot_ids().await.unwrap().len(), 4);
}
