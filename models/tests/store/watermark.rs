//! What is shown ends at the high watermark, which stops inside a batch that updates keys, between −U and +U.

use models::contract::{Host, RowKind, Store, TableId};
use models::store::InMemoryStore;

use crate::fixture::{SYNC_MS, ack, batch, bucket, cut_after, ends, key, key_table, log, put, row, store};

/// Long enough for the watermark to be inside a batch, and too short for a sync.
const IN_A_SYNC_MS: u64 = SYNC_MS - 1;

/// A key table with key 1 = 10, and an update of it to 11 of which only −U is shown.
async fn half_updated(store: &InMemoryStore) -> TableId {
    let table = key_table(store).await;
    store.append(batch(table, 0, &[put(1, 10)])).await.unwrap();
    assert_eq!(cut_after(IN_A_SYNC_MS, store.append(batch(table, 1, &[put(1, 11)]))).await, None);
    table
}

#[tokio::test(start_paused = true)]
async fn between_the_halves_of_an_update_readers_see_the_row_before() {
    let store = store();
    let table = half_updated(&store).await;
    assert_eq!(ends(&store, table).await, Some((0, 2)));
    assert_eq!(log(&store, table).await, [(0, RowKind::Insert, row(1, 10)), (1, RowKind::UpdateBefore, row(1, 10))]);
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(Some(row(1, 10))));
}

#[tokio::test(start_paused = true)]
async fn the_ack_waits_for_the_whole_batch_and_a_retry_does_too() {
    let store = store();
    let table = half_updated(&store).await;
    assert_eq!(cut_after(1, store.append(batch(table, 1, &[put(1, 11)]))).await, None);
    assert_eq!(store.append(batch(table, 1, &[put(1, 11)])).await, ack(3));
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(Some(row(1, 11))));
    assert_eq!(ends(&store, table).await, Some((0, 3)));
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_was_shown_in_part_survives_a_crash_as_a_whole() {
    let store = store();
    let table = half_updated(&store).await;
    store.crash();
    assert_eq!(ends(&store, table).await, Some((0, 3)));
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(Some(row(1, 11))));
    assert_eq!(store.append(batch(table, 1, &[put(1, 11)])).await, ack(3), "a retry is not applied again");
    assert_eq!(ends(&store, table).await, Some((0, 3)));
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_inserts_is_shown_as_a_whole() {
    let store = store();
    let table = key_table(&store).await;
    assert_eq!(cut_after(IN_A_SYNC_MS, store.append(batch(table, 0, &[put(1, 10), put(2, 20)]))).await, None);
    assert_eq!(ends(&store, table).await, None);
}
