//! What survives a crash, and what a retry finds.

use std::time::Duration;

use models::contract::{FailureCode, Host, RegisteredSnapshots, RowKind, Store};

use crate::fixture::{
    SYNC_MS, ack, append_table, batch, bucket, cut_after, delete, ends, key, key_table, log, path, put, row, snapshot,
    store,
};

#[tokio::test(start_paused = true)]
async fn a_crash_loses_exactly_what_was_not_acked() {
    let store = store();
    let table = key_table(&store).await;
    store.append(batch(table, 0, &[put(1, 10)])).await.unwrap();
    let cut = cut_after(SYNC_MS - 1, store.append(batch(table, 1, &[delete(1), put(2, 20)]))).await;
    assert_eq!(cut, None);
    store.crash();
    assert_eq!(ends(&store, table).await, Some((0, 1)));
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(Some(row(1, 10))));
    assert_eq!(store.lookup(table, &bucket(), &key(2)).await, Ok(None));

    assert_eq!(store.append(batch(table, 2, &[put(1, 11), put(2, 21)])).await, ack(4), "at the offsets that are free");
    let kinds: Vec<RowKind> = log(&store, table).await.into_iter().map(|(_, kind, _)| kind).collect();
    let expected = [RowKind::Insert, RowKind::UpdateBefore, RowKind::UpdateAfter, RowKind::Insert];
    assert_eq!(kinds, expected, "new writes meet nothing of what was lost");
}

#[tokio::test(start_paused = true)]
async fn nobody_sees_what_a_crash_could_lose() {
    let store = store();
    let table = key_table(&store).await;
    let path = path();
    let look = async {
        tokio::time::sleep(Duration::from_millis(SYNC_MS - 1)).await;
        assert_eq!(store.bucket_offsets(table).await, Ok(vec![]));
        assert_eq!(log(&store, table).await, []);
        assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(None));
        assert_eq!(store.observe(&path).log_end, Some(vec![]));
    };
    let (appended, ()) = futures::join!(store.append(batch(table, 0, &[put(1, 10)])), look);
    assert_eq!(appended, ack(1));
    assert_eq!(ends(&store, table).await, Some((0, 1)));
}

#[tokio::test(start_paused = true)]
async fn definitions_and_registrations_are_durable_at_once() {
    let store = store();
    let table = key_table(&store).await;
    store.register_lake_snapshot(table, snapshot(1, &[(0, 0)]).into()).await.unwrap();
    store.crash();
    assert_eq!(store.table(&path()).await.unwrap().table_id, table);
    let registered = Some(snapshot(1, &[(0, 0)]));
    let expected = RegisteredSnapshots { tiered: registered.clone(), readable: registered };
    assert_eq!(store.registered_snapshots(table).await, Ok(expected));
}

#[tokio::test(start_paused = true)]
async fn a_retry_of_a_durable_batch_gets_the_first_answer_also_after_a_crash() {
    let store = store();
    let table = append_table(&store).await;
    store.append(batch(table, 0, &[put(1, 10)])).await.unwrap();
    store.append(batch(table, 1, &[put(2, 20)])).await.unwrap();
    assert_eq!(store.append(batch(table, 0, &[put(1, 10)])).await, ack(1));
    store.crash();
    assert_eq!(store.append(batch(table, 1, &[put(2, 20)])).await, ack(2));
    assert_eq!(log(&store, table).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_copy_of_a_batch_in_flight_waits_and_gets_the_same_answer() {
    let store = store();
    let table = append_table(&store).await;
    let request = batch(table, 0, &[put(1, 10)]);
    let copy = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let answer = store.append(request.clone()).await;
        assert_eq!(ends(&store, table).await, Some((0, 1)), "the answer comes when the batch is durable");
        answer
    };
    assert_eq!(futures::join!(store.append(request.clone()), copy), (ack(1), ack(1)));
    assert_eq!(log(&store, table).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_copy_finishes_what_a_caller_that_is_gone_began() {
    let store = store();
    let table = append_table(&store).await;
    let request = batch(table, 0, &[put(1, 10)]);
    cut_after(1, store.append(request.clone())).await;
    assert_eq!(store.append(request).await, ack(1));
    assert_eq!(log(&store, table).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_a_crash_lost_is_applied_once_when_it_comes_again() {
    let store = store();
    let table = append_table(&store).await;
    let request = batch(table, 0, &[put(1, 10)]);
    cut_after(1, store.append(request.clone())).await;
    store.crash();
    assert_eq!(store.append(request.clone()).await, ack(1));
    assert_eq!(store.append(request).await, ack(1));
    assert_eq!(log(&store, table).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_a_later_one_overtook_is_never_applied_not_even_after_a_crash() {
    let store = store();
    let table = append_table(&store).await;
    let late = batch(table, 0, &[put(1, 10)]);
    let overtaken = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        store.append(late.clone()).await
    };
    let (later, refused) = futures::join!(store.append(batch(table, 1, &[put(2, 20)])), overtaken);
    assert_eq!(later, ack(1));
    let refused = refused.unwrap_err();
    assert_eq!((refused.code, refused.definite), (FailureCode::Rejected, true));
    store.crash();
    assert_eq!(store.append(late).await, Err(refused));
    assert_eq!(log(&store, table).await.len(), 1);
}
