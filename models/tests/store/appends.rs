//! What one write does to log and state.

use models::contract::{AppendRequest, BucketId, FailureCode, RowKind, Store, TableId};

use crate::fixture::{ack, append_table, batch, bucket, delete, ends, key, key_table, log, path, put, row, store};

#[tokio::test(start_paused = true)]
async fn an_append_table_logs_every_row_as_an_insert() {
    let store = store();
    let table = append_table(&store).await;
    assert_eq!(store.append(batch(table, 0, &[put(1, 10), put(1, 10)])).await, ack(2));
    let expected = [(0, RowKind::Insert, row(1, 10)), (1, RowKind::Insert, row(1, 10))];
    assert_eq!(log(&store, table).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_key_table_logs_a_full_changelog_and_serves_its_fold() {
    let store = store();
    let table = key_table(&store).await;
    assert_eq!(store.append(batch(table, 0, &[put(1, 10), put(2, 20)])).await, ack(2));
    assert_eq!(store.append(batch(table, 1, &[put(1, 11)])).await, ack(4));
    assert_eq!(store.append(batch(table, 2, &[delete(2)])).await, ack(5));
    let expected = [
        (0, RowKind::Insert, row(1, 10)),
        (1, RowKind::Insert, row(2, 20)),
        (2, RowKind::UpdateBefore, row(1, 10)),
        (3, RowKind::UpdateAfter, row(1, 11)),
        (4, RowKind::Delete, row(2, 20)),
    ];
    assert_eq!(log(&store, table).await, expected);
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(Some(row(1, 11))));
    assert_eq!(store.lookup(table, &bucket(), &key(2)).await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_changes_nothing_takes_one_offset_and_has_no_record() {
    let store = store();
    let table = key_table(&store).await;
    store.append(batch(table, 0, &[put(1, 10)])).await.unwrap();
    assert_eq!(store.append(batch(table, 1, &[put(1, 10), delete(2)])).await, ack(2));
    assert_eq!(store.append(batch(table, 2, &[])).await, ack(3));
    assert_eq!(log(&store, table).await.len(), 1);
    assert_eq!(ends(&store, table).await, Some((0, 3)));
    let fetched = store.fetch_log(table, &bucket(), 1, 3).await.unwrap();
    assert_eq!((fetched.records.len(), fetched.next_offset_inclusive), (0, 3), "a reader moves past it");
}

#[tokio::test(start_paused = true)]
async fn concurrent_batches_share_the_time_of_a_sync_and_follow_each_other() {
    let store = store();
    let table = key_table(&store).await;
    let began = tokio::time::Instant::now();
    let other = AppendRequest { writer_id: 2, ..batch(table, 0, &[put(1, 11)]) };
    let acks = futures::join!(store.append(batch(table, 0, &[put(1, 10)])), store.append(other));
    assert_eq!(acks, (ack(1), ack(3)));
    assert_eq!(began.elapsed().as_millis() as u64, crate::fixture::SYNC_MS);
    let kinds: Vec<RowKind> = log(&store, table).await.into_iter().map(|(_, kind, _)| kind).collect();
    let seen = "the second batch meets the first, durable or not";
    assert_eq!(kinds, [RowKind::Insert, RowKind::UpdateBefore, RowKind::UpdateAfter], "{seen}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_fit_is_refused_for_certain_and_leaves_nothing() {
    let store = store();
    let table = key_table(&store).await;
    let fits = batch(table, 0, &[put(1, 10)]);
    for (request, code) in [
        (AppendRequest { bucket: BucketId::unpartitioned(2), ..fits.clone() }, FailureCode::Invalid),
        (batch(table, 0, &[put(1, 10), models::contract::Mutation::Put(key(1))]), FailureCode::Invalid),
        (AppendRequest { table_id: TableId(9), ..fits.clone() }, FailureCode::NotFound),
    ] {
        let failure = store.append(request).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (code, true), "{failure}");
    }
    assert_eq!(ends(&store, table).await, None);
    assert_eq!(store.append(fits).await, ack(1), "the sequence was not used up");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_a_drop_cuts_short_has_an_unknown_effect() {
    let store = store();
    let table = key_table(&store).await;
    let path = path();
    let (appended, dropped) = futures::join!(store.append(batch(table, 0, &[put(1, 10)])), store.drop_table(&path));
    assert_eq!(dropped, Ok(()));
    assert!(!appended.unwrap_err().definite);
}
