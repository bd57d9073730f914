//! Registered snapshots, retention, and what the store shows of itself.

use models::contract::{
    FailureCode, Host, LakeRegistration, Observation, ObservedOffset, ReadableSnapshot, RegisteredSnapshots, Store,
    TableId,
};
use models::defects::Defect;
use models::store::InMemoryStore;

use crate::fixture::{
    LOG_TTL_MS, RETENTION_INTERVAL_MS, ack, append_table, batch, bucket, cut_after, ends, key, key_table, path, put,
    row, snapshot, store, store_with,
};

/// Lets the background work run until everything that is in the log now is old.
async fn let_log_grow_old(store: &InMemoryStore) {
    cut_after(LOG_TTL_MS + 2 * RETENTION_INTERVAL_MS, store.run()).await;
}

/// A key table whose bucket 0 has three batches: [0, 2), [2, 3), [3, 5).
async fn three_batches(store: &InMemoryStore) -> TableId {
    let table = key_table(store).await;
    store.append(batch(table, 0, &[put(1, 10), put(2, 20)])).await.unwrap();
    store.append(batch(table, 1, &[put(3, 30)])).await.unwrap();
    store.append(batch(table, 2, &[put(1, 11)])).await.unwrap();
    table
}

#[tokio::test(start_paused = true)]
async fn log_that_is_not_in_the_lake_stays_however_old_it_is() {
    let store = store();
    let table = three_batches(&store).await;
    let_log_grow_old(&store).await;
    assert_eq!(ends(&store, table).await, Some((0, 5)));
    store.register_lake_snapshot(table, snapshot(1, &[(1, 9)]).into()).await.unwrap();
    let_log_grow_old(&store).await;
    assert_eq!(ends(&store, table).await, Some((0, 5)), "the registered snapshot has nothing of this bucket");
}

#[tokio::test(start_paused = true)]
async fn retention_takes_whole_batches_below_the_readable_offset_once_they_are_old() {
    let store = store();
    let table = three_batches(&store).await;
    store.register_lake_snapshot(table, snapshot(1, &[(0, 4)]).into()).await.unwrap();
    cut_after(LOG_TTL_MS / 2, store.run()).await;
    assert_eq!(ends(&store, table).await, Some((0, 5)), "still young");
    let_log_grow_old(&store).await;
    assert_eq!(ends(&store, table).await, Some((3, 5)), "the last batch is only partly in the lake");
    let failure = store.fetch_log(table, &bucket(), 2, 5).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::Invalid);
    let from_the_lake_on = store.fetch_log(table, &bucket(), 4, 5).await.unwrap();
    assert_eq!(from_the_lake_on.records.len(), 1, "a union read finds its start");
}

/// The log's extent once it is old, where all of it is tiered and less of it can be read.
async fn old_log_behind_a_readable_snapshot(store: &InMemoryStore) -> Option<(u64, u64)> {
    let table = three_batches(store).await;
    let readable = ReadableSnapshot::Other(snapshot(2, &[(0, 3)]));
    let registration = LakeRegistration { tiered: snapshot(3, &[(0, 5)]), readable, instead_of: None };
    store.register_lake_snapshot(table, registration).await.unwrap();
    let_log_grow_old(store).await;
    ends(store, table).await
}

#[tokio::test(start_paused = true)]
async fn retention_keeps_what_is_tiered_and_cannot_be_read_yet() {
    assert_eq!(old_log_behind_a_readable_snapshot(&store()).await, Some((3, 5)));
    let defective = store_with(&[Defect::RetentionByTiered]);
    assert_eq!(old_log_behind_a_readable_snapshot(&defective).await, Some((5, 5)), "planted bug retention-by-tiered");
}

#[tokio::test(start_paused = true)]
async fn retention_takes_neither_keys_nor_the_memory_of_writers() {
    let store = store();
    let table = three_batches(&store).await;
    store.register_lake_snapshot(table, snapshot(1, &[(0, 5)]).into()).await.unwrap();
    let_log_grow_old(&store).await;
    store.crash();
    assert_eq!(ends(&store, table).await, Some((5, 5)));
    assert_eq!(store.lookup(table, &bucket(), &key(2)).await, Ok(Some(row(2, 20))));
    assert_eq!(store.append(batch(table, 0, &[put(1, 10), put(2, 20)])).await, ack(2), "a late retry");
    assert_eq!(ends(&store, table).await, Some((5, 5)));
}

#[tokio::test(start_paused = true)]
async fn a_late_registration_does_not_touch_the_successor_of_a_dropped_table() {
    let store = store();
    let dropped = append_table(&store).await;
    store.append(batch(dropped, 0, &[put(1, 10)])).await.unwrap();
    store.drop_table(&path()).await.unwrap();
    let successor = append_table(&store).await;
    let failure = store.register_lake_snapshot(dropped, snapshot(1, &[(0, 1)]).into()).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::NotFound, true));
    assert_eq!(store.registered_snapshots(successor).await, Ok(RegisteredSnapshots::default()));
    assert_eq!(ends(&store, successor).await, None);
}

#[tokio::test(start_paused = true)]
async fn an_older_registration_is_refused_and_changes_nothing() {
    let store = store();
    let table = append_table(&store).await;
    store.register_lake_snapshot(table, snapshot(2, &[(0, 5)]).into()).await.unwrap();
    assert_eq!(store.register_lake_snapshot(table, snapshot(2, &[(0, 5)]).into()).await, Ok(()));
    let failure = store.register_lake_snapshot(table, snapshot(1, &[(0, 3)]).into()).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::Rejected);
    assert_eq!(store.registered_snapshots(table).await.unwrap().tiered, Some(snapshot(2, &[(0, 5)])));
}

#[tokio::test(start_paused = true)]
async fn an_observation_says_what_there_is_and_that_there_is_nothing() {
    let store = store();
    assert_eq!(store.observe(&path()), Observation::default(), "no such table");
    let table = append_table(&store).await;
    let nothing = Observation {
        tiered: Some(vec![]),
        readable: Some(vec![]),
        log_end: Some(vec![]),
        log_start: Some(vec![]),
        key_rows: Some(vec![]),
        lake_snapshot_id: None,
        readable_snapshot_id: None,
        table_id: Some(table.to_string()),
    };
    assert_eq!(store.observe(&path()), nothing);
    store.append(batch(table, 0, &[put(1, 10), put(2, 20)])).await.unwrap();
    store.register_lake_snapshot(table, snapshot(4, &[(0, 1)]).into()).await.unwrap();
    let at = |offset| Some(vec![ObservedOffset { partition: None, bucket: 0, offset }]);
    let expected = Observation {
        tiered: at(1),
        readable: at(1),
        log_end: at(2),
        log_start: at(0),
        lake_snapshot_id: Some(4),
        readable_snapshot_id: Some(4),
        ..nothing
    };
    assert_eq!(store.observe(&path()), expected);
}
