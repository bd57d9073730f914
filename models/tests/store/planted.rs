//! What planted bugs of the store do that the reference does not.

use models::contract::{Host, RowKind, Store, TableId};
use models::defects::Defect;

use crate::fixture::{
    LOG_TTL_MS, RETENTION_INTERVAL_MS, SYNC_MS, ack, batch, bucket, cut_after, delete, ends, key, key_table, log, path,
    put, row, snapshot, store_with,
};

#[tokio::test(start_paused = true)]
async fn ack_before_durable_shows_a_row_and_loses_it_in_a_crash() {
    let store = store_with(&[Defect::AckBeforeDurable]);
    let table = key_table(&store).await;
    store.append(batch(table, 0, &[put(1, 10)])).await.unwrap();
    cut_after(100 * SYNC_MS, store.run()).await;
    let began = tokio::time::Instant::now();
    assert_eq!(store.append(batch(table, 1, &[put(1, 11)])).await, ack(3));
    assert!(began.elapsed().is_zero());
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(Some(row(1, 11))));
    store.crash();
    let last_background_sync = "what the background sync wrote is there";
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(Some(row(1, 10))), "{last_background_sync}");
    assert_eq!(ends(&store, table).await, Some((0, 1)));
}

#[tokio::test(start_paused = true)]
async fn delete_ignored_deletes_from_the_state_and_not_from_the_log() {
    let store = store_with(&[Defect::DeleteIgnored]);
    let table = key_table(&store).await;
    store.append(batch(table, 0, &[put(1, 10)])).await.unwrap();
    assert_eq!(store.append(batch(table, 1, &[delete(1)])).await, ack(2));
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(None));
    assert_eq!(log(&store, table).await, [(0, RowKind::Insert, row(1, 10))]);
}

#[tokio::test(start_paused = true)]
async fn ttl_before_tier_removes_log_that_the_lake_does_not_have() {
    let store = store_with(&[Defect::TtlBeforeTier]);
    let table = key_table(&store).await;
    store.append(batch(table, 0, &[put(1, 10)])).await.unwrap();
    cut_after(LOG_TTL_MS + 2 * RETENTION_INTERVAL_MS, store.run()).await;
    assert_eq!(ends(&store, table).await, Some((1, 1)));
}

/// The log after a row was written and changed.
async fn log_of_an_update(defect: Defect) -> Vec<(u64, RowKind, models::contract::Row)> {
    let store = store_with(&[defect]);
    let table = key_table(&store).await;
    store.append(batch(table, 0, &[put(1, 10)])).await.unwrap();
    store.append(batch(table, 1, &[put(1, 11)])).await.unwrap();
    log(&store, table).await
}

#[tokio::test(start_paused = true)]
async fn changelog_no_before_logs_half_of_an_update() {
    let expected = [(0, RowKind::Insert, row(1, 10)), (1, RowKind::UpdateAfter, row(1, 11))];
    assert_eq!(log_of_an_update(Defect::ChangelogNoBefore).await, expected);
}

#[tokio::test(start_paused = true)]
async fn insert_on_existing_inserts_a_key_twice() {
    let expected = [(0, RowKind::Insert, row(1, 10)), (1, RowKind::Insert, row(1, 11))];
    assert_eq!(log_of_an_update(Defect::InsertOnExisting).await, expected);
}

#[tokio::test(start_paused = true)]
async fn lookup_behind_scan_finds_what_the_last_batch_replaced() {
    let store = store_with(&[Defect::LookupBehindScan]);
    let table = key_table(&store).await;
    store.append(batch(table, 0, &[put(1, 10)])).await.unwrap();
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(None));
    store.append(batch(table, 1, &[put(1, 11)])).await.unwrap();
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(Some(row(1, 10))));
    store.append(batch(table, 2, &[delete(1)])).await.unwrap();
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(Some(row(1, 11))));
}

#[tokio::test(start_paused = true)]
async fn late_registration_revives_what_a_dropped_table_knew_of_the_lake() {
    let store = store_with(&[Defect::LateRegistration]);
    let dropped = key_table(&store).await;
    store.drop_table(&path()).await.unwrap();
    let successor: TableId = key_table(&store).await;
    store.register_lake_snapshot(dropped, snapshot(3, &[(0, 5)]).into()).await.unwrap();
    let registered = store.registered_snapshots(successor).await.unwrap().tiered;
    assert_eq!(registered, Some(snapshot(3, &[(0, 5)])));
}

#[tokio::test(start_paused = true)]
async fn dirty_read_lost_shows_a_row_before_its_sync_and_a_crash_forgets_it() {
    let store = store_with(&[Defect::DirtyReadLost]);
    let table = key_table(&store).await;
    assert_eq!(cut_after(SYNC_MS / 2, store.append(batch(table, 0, &[put(1, 10)]))).await, None);
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(Some(row(1, 10))));
    store.crash();
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(None));
}
