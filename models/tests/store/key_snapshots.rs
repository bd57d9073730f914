//! Snapshots of key-value state, kept by leases.

use std::time::Duration;

use models::contract::{BucketId, FailureCode, Host, KeyRows, KeySnapshot, Store};
use models::defects::Defect;

use crate::fixture::{append_table, batch, bucket, delete, key_table, put, row, store, store_with};

/// Longer than any lease lasts.
const SILENCE: Duration = Duration::from_secs(20);

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_the_state_at_its_offset_whatever_is_written_later() {
    let store = store();
    let table = key_table(&store).await;
    store.append(batch(table, 0, &[put(1, 10), put(2, 20), put(3, 30)])).await.unwrap();
    store.append(batch(table, 1, &[put(2, 21), delete(3)])).await.unwrap();
    let taken = store.take_key_snapshot(table, &bucket()).await.unwrap();
    assert_eq!(taken, KeySnapshot { snapshot_id: 1, end_offset_exclusive: 6 });
    store.append(batch(table, 2, &[put(1, 11), put(4, 40)])).await.unwrap();
    store.crash();
    let first = store.read_key_snapshot(table, 1, 0, 1).await;
    assert_eq!(first, Ok(KeyRows { rows: vec![row(1, 10)], is_end: false }));
    let rest = store.read_key_snapshot(table, 1, 1, 9).await;
    assert_eq!(rest, Ok(KeyRows { rows: vec![row(2, 21)], is_end: true }));
}

#[tokio::test(start_paused = true)]
async fn what_is_read_is_kept_and_what_nobody_reads_is_collected() {
    let store = store();
    let table = key_table(&store).await;
    store.append(batch(table, 0, &[put(1, 10)])).await.unwrap();
    let read = store.take_key_snapshot(table, &bucket()).await.unwrap().snapshot_id;
    let forgotten = store.take_key_snapshot(table, &bucket()).await.unwrap().snapshot_id;
    for _ in 0..10 {
        tokio::time::sleep(SILENCE / 10).await;
        store.read_key_snapshot(table, read, 0, 1).await.unwrap();
    }
    store.take_key_snapshot(table, &bucket()).await.unwrap();
    assert!(store.read_key_snapshot(table, read, 0, 1).await.is_ok(), "each read renews the lease");
    let failure = store.read_key_snapshot(table, forgotten, 0, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));
    store.release_key_snapshot(table, read).await.unwrap();
    assert_eq!(store.release_key_snapshot(table, read).await, Ok(()), "once more");
    assert!(store.read_key_snapshot(table, read, 0, 1).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn only_a_bucket_with_state_has_a_snapshot() {
    let store = store();
    let table = key_table(&store).await;
    let failure = store.take_key_snapshot(table, &bucket()).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::Rejected, "it was never written");
    let failure = store.take_key_snapshot(table, &BucketId::unpartitioned(7)).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::Invalid, "there is no such bucket");
    let other = crate::fixture::store();
    let append = append_table(&other).await;
    let failure = other.take_key_snapshot(append, &bucket()).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::Invalid, "it has no keys");
}

#[tokio::test(start_paused = true)]
async fn pinned_snapshot_collected_takes_one_from_under_its_reader() {
    let store = store_with(&[Defect::PinnedSnapshotCollected]);
    let table = key_table(&store).await;
    store.append(batch(table, 0, &[put(1, 10)])).await.unwrap();
    let first = store.take_key_snapshot(table, &bucket()).await.unwrap().snapshot_id;
    assert!(store.read_key_snapshot(table, first, 0, 1).await.is_ok());
    store.take_key_snapshot(table, &bucket()).await.unwrap();
    assert_eq!(store.read_key_snapshot(table, first, 0, 1).await.unwrap_err().code, FailureCode::Rejected);
}
