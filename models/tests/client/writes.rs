//! How writes through the store fail: when it is certain that nothing happened, and when it is not (L1, L3, L4).

use super::fixture::AppendFault::{AckLost, Refused, RequestLost, Works};
use super::fixture::{AppendFault, RETRIES, World, acked};

/// Rows that are certainly in both buckets of the table.
const SPREAD: [(i64, i64); 8] = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (8, 8)];

async fn world_with(faults: &[AppendFault]) -> World {
    let world = World::new();
    world.append_table().await;
    world.store.append_faults.borrow_mut().extend(faults);
    world
}

/// One fault for every attempt of one batch.
fn all_attempts(fault: AppendFault) -> Vec<AppendFault> {
    vec![fault; 1 + RETRIES as usize]
}

#[tokio::test(start_paused = true)]
async fn a_batch_per_bucket_in_bucket_order_each_with_its_own_sequence() {
    let world = world_with(&[]).await;
    assert_eq!(world.insert(&SPREAD).await, acked(8));
    assert_eq!(world.insert(&SPREAD).await, acked(8));
    assert_eq!(*world.store.appends.borrow(), [(0, 0), (1, 0), (0, 1), (1, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_ack_is_retried_with_the_same_sequence_and_applied_once() {
    let world = world_with(&[AckLost, RequestLost]).await;
    assert_eq!(world.insert(&[(1, 1)]).await, acked(1));
    let sequences: Vec<u64> = world.store.appends.borrow().iter().map(|(_, sequence)| *sequence).collect();
    assert_eq!(sequences, [0, 0, 0]);
    assert_eq!(world.select("db.t$rt").await, [(1, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_all_the_time_took_nothing_for_certain() {
    let world = world_with(&all_attempts(Refused)).await;
    let failure = world.insert(&SPREAD).await.unwrap_err();
    assert!(failure.definite);
    assert!(failure.message.contains("lakestream.store"), "{failure}");
    assert_eq!(world.select("db.t$rt").await, []);
    world.insert(&[(1, 1)]).await.unwrap();
    let (_, sequence) = *world.store.appends.borrow().last().unwrap();
    assert_eq!(sequence, 0, "the store has seen no batch yet");
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_was_applied_in_part_is_indefinite() {
    let mut faults = vec![Works];
    faults.extend(all_attempts(Refused));
    let world = world_with(&faults).await;
    let failure = world.insert(&SPREAD).await.unwrap_err();
    assert!(!failure.definite, "bucket 0 took its rows: {failure}");
    assert_eq!(world.select("db.t$rt").await.len() as u64, world.log_length().await);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_a_silence_proves_nothing() {
    let world = world_with(&[AckLost, Refused, Refused]).await;
    let failure = world.insert(&[(1, 1)]).await.unwrap_err();
    assert!(!failure.definite);
    assert_eq!(world.select("db.t$rt").await, [(1, 1)], "the first attempt had arrived");
}

#[tokio::test(start_paused = true)]
async fn after_an_unknown_outcome_the_next_batch_takes_the_next_sequence() {
    let world = world_with(&all_attempts(AckLost)).await;
    assert!(!world.insert(&[(1, 1)]).await.unwrap_err().definite);
    assert_eq!(world.insert(&[(1, 2)]).await, acked(1));
    assert_eq!(world.select("db.t$rt").await, [(1, 1), (1, 2)], "a repeated sequence would have hidden (1, 2)");
}

#[tokio::test(start_paused = true)]
async fn a_statement_that_is_dropped_in_mid_flight_does_not_leave_its_sequence_to_the_next() {
    let world = world_with(&[]).await;
    {
        let insert = world.insert(&[(1, 1)]);
        // Polled once: the batch is in the store, and its sync is under way.
        assert!(futures::poll!(std::pin::pin!(insert)).is_pending());
    }
    assert_eq!(world.insert(&[(1, 2)]).await, acked(1));
    assert!(world.select("db.t$rt").await.contains(&(1, 2)));
}

#[tokio::test(start_paused = true)]
async fn rows_that_do_not_fit_reach_nobody() {
    let world = world_with(&[]).await;
    let unknown = serde_json::json!({"insert": {"table": "db.t", "rows": [{"id": 1, "colour": 3}]}});
    let failure = world.execute(unknown).await.unwrap_err();
    assert!(failure.definite && failure.message.contains("`colour`"), "{failure}");
    assert!(world.store.appends.borrow().is_empty());
    assert_eq!(world.insert(&[]).await, acked(0));
}
