//! Planted bugs of the client misbehave as described, where the reference is right.

use models::defects::Defect;
use serde_json::json;

use super::fixture::AppendFault::{Refused, Works};
use super::fixture::{RETRIES, World};

/// What the correct reference and the one with the bug come to.
async fn of_both<Seen>(defect: Defect, story: impl AsyncFn(World) -> Seen) -> (Seen, Seen) {
    (story(World::new()).await, story(World::with(&[defect])).await)
}

/// All of the log.
const EVERYTHING: u64 = u64::MAX / 2;

#[tokio::test(start_paused = true)]
async fn rt_cached_misses_acked_writes_between_refreshes() {
    let missed = async |world: World| {
        world.key_table().await;
        let mut missed = 0;
        for id in 0..10 {
            world.insert(&[(id, 0)]).await.unwrap();
            missed += usize::from(!world.select("db.t$rt").await.contains(&(id, 0)));
        }
        missed
    };
    assert_eq!(of_both(Defect::RtCached, missed).await, (0, 8), "one read in five is fresh");
}

#[tokio::test(start_paused = true)]
async fn lake_only_lookup_empty_does_not_find_what_a_scan_finds() {
    let found = async |world: World| {
        world.key_table().await;
        let native = json!({"native_insert": {"table": "db.t", "rows": [{"id": 5, "v": 50}]}});
        world.execute(native).await.unwrap();
        (world.select("db.t$rt").await.len(), world.lookup("db.t$rt", 5).await.len())
    };
    assert_eq!(of_both(Defect::LakeOnlyLookupEmpty, found).await, ((1, 1), (1, 0)));
}

#[tokio::test(start_paused = true)]
async fn lake_only_partition_missing_hides_what_only_the_lake_has() {
    let found = async |world: World| {
        world.partitioned_table("store").await;
        let native = json!({"native_insert": {"table": "db.t", "rows": [{"id": 5, "v": 50, "d": "x"}]}});
        world.execute(native).await.unwrap();
        (world.select("db.t").await.len(), world.select("db.t$rt").await.len())
    };
    assert_eq!(of_both(Defect::LakeOnlyPartitionMissing, found).await, ((1, 1), (1, 0)));
}

#[tokio::test(start_paused = true)]
async fn base_read_waits_for_store_calls_it() {
    let calls = async |world: World| {
        world.key_table().await;
        let before = world.store.calls.get();
        world.select("db.t").await;
        world.lookup("db.t", 1).await;
        world.store.calls.get() - before
    };
    assert_eq!(of_both(Defect::BaseReadWaitsForStore, calls).await, (0, 2));
}

#[tokio::test(start_paused = true)]
async fn filter_moves_start_repeats_the_rows_of_other_buckets() {
    let found = async |world: World| {
        world.append_table().await;
        world.insert(&[(1, 7), (2, 8), (3, 7), (4, 8), (5, 7), (6, 8)]).await.unwrap();
        world.tier(EVERYTHING, true).await;
        world.filter("db.t$rt", "id", 1).await
    };
    assert_eq!(of_both(Defect::FilterMovesStart, found).await, (vec![(1, 7)], vec![(1, 7), (1, 7)]));
}

#[tokio::test(start_paused = true)]
async fn merge_drops_tail_loses_new_keys_beyond_the_lakes_last() {
    let left = async |world: World| {
        world.key_table().await;
        let rows = |ids: std::ops::Range<i64>| ids.map(|id| (id, 0)).collect::<Vec<_>>();
        world.insert(&rows(0..20)).await.unwrap();
        world.tier(EVERYTHING, true).await;
        world.insert(&rows(10..40)).await.unwrap();
        world.select("db.t$rt").await.len()
    };
    assert_eq!(of_both(Defect::MergeDropsTail, left).await, (40, 20));
}

#[tokio::test(start_paused = true)]
async fn batch_half_applied_is_told_as_having_no_effect() {
    let told = async |world: World| {
        world.append_table().await;
        world.store.append_faults.borrow_mut().push_back(Works);
        world.store.append_faults.borrow_mut().extend([Refused].repeat(1 + RETRIES as usize));
        let failure = world.insert(&[(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6)]).await.unwrap_err();
        (failure.definite, world.log_length().await > 0)
    };
    assert_eq!(of_both(Defect::BatchHalfApplied, told).await, ((false, true), (true, true)));
}

#[tokio::test(start_paused = true)]
async fn refuses_after_heal_writes_nothing_after_an_outage() {
    let heals = async |world: World| {
        world.append_table().await;
        world.store.append_faults.borrow_mut().extend([Refused].repeat(1 + RETRIES as usize));
        world.insert(&[(1, 1)]).await.unwrap_err();
        world.insert(&[(1, 1)]).await.is_ok()
    };
    assert_eq!(of_both(Defect::RefusesAfterHeal, heals).await, (true, false));
}
