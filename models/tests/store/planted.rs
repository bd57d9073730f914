//! What each planted bug of the store does that the reference does not.

use models::contract::{Host, RowKind, Store};
use models::defects::Defect;

use crate::fixture::{
    LOG_TTL_MS, RETENTION_INTERVAL_MS, SYNC_MS, ack, batch, bucket, cut_after, delete, ends, key, key_table, log, put,
    row, store_with,
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
