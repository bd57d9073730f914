//! Each planted bug of promotion misbehaves as described, in the situation where the reference is right.

use models::contract::Store;
use models::defects::Defect;
use serde_json::json;

use super::fixture::{World, crash, message, path};

async fn key_table(defect: Defect) -> World {
    let world = World::with(&[defect]);
    world.lake_table(json!(["id"])).await;
    world.insert(&[(1, 10), (2, 20), (3, 30), (4, 40)]).await;
    world
}

#[tokio::test(start_paused = true)]
async fn enable_without_id_check_and_enable_one_sided_enable_a_table_that_was_never_loaded() {
    for defect in [Defect::EnableWithoutIdCheck, Defect::EnableOneSided] {
        let world = key_table(defect).await;
        world.run(json!({"create_on_lake": {"table": "db.t"}})).await;
        world.run(json!({"enable": {"table": "db.t"}})).await;
        world.run(json!({"delete": {"table": "db.t", "keys": [{"id": 1}]}})).await;
        assert!(world.select("db.t$rt").await.contains(&(1, 10)), "{defect}: the delete of a historic key is lost");
    }
}

/// The answer of a promotion into which a native commit came, behind its `at`-th call.
async fn overtaken(world: &World, at: u64) {
    let other = world.clone();
    let commit = move || -> futures::future::LocalBoxFuture<'static, ()> {
        let other = other.clone();
        Box::pin(async move { other.native_insert(1, 11).await })
    };
    message(world.promote_interrupted(at, std::rc::Rc::new(commit)).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn native_commit_during_load_missed_looks_up_what_was_replaced() {
    let world = key_table(Defect::NativeCommitDuringLoadMissed).await;
    overtaken(&world, 6).await;
    assert_eq!(world.lookup(1).await, Some(10), "the scan says 11");
    assert!(world.select("db.t$rt").await.contains(&(1, 11)));
}

#[tokio::test(start_paused = true)]
async fn load_newest_not_fixed_promotes_over_a_native_commit() {
    let world = key_table(Defect::LoadNewestNotFixed).await;
    overtaken(&world, 4).await;
    assert_eq!(world.store.observe(&path()).lake_snapshot_id, Some(2));
}

#[tokio::test(start_paused = true)]
async fn bucket_published_early_shows_rows_of_a_load_that_never_ended() {
    let world = key_table(Defect::BucketPublishedEarly).await;
    assert_eq!(world.promote_interrupted(5, crash()).await, None);
    let table_id = world.store_table().await.unwrap().table_id;
    let mut shown = 0;
    for (bucket, id) in [(0, 1), (0, 2), (0, 3), (0, 4), (1, 1), (1, 2), (1, 3), (1, 4)] {
        let key = models::contract::Row::new(vec![models::contract::Value::Int(id)]);
        let bucket = models::contract::BucketId::unpartitioned(bucket);
        shown += usize::from(world.store.lookup(table_id, &bucket, &key).await.unwrap().is_some());
    }
    assert!(shown > 0);
}

#[tokio::test(start_paused = true)]
async fn half_loaded_enabled_after_crash_forgets_historic_keys() {
    let world = key_table(Defect::HalfLoadedEnabledAfterCrash).await;
    assert_eq!(world.promote_interrupted(4, crash()).await, None, "the load is begun");
    message(world.promote().await);
    for id in 1..5 {
        world.run(json!({"delete": {"table": "db.t", "keys": [{"id": id}]}})).await;
    }
    assert_ne!(world.select("db.t$rt").await, [], "the store knew no such key");
}

#[tokio::test(start_paused = true)]
async fn second_call_loads_again_brings_old_rows_back() {
    let world = key_table(Defect::SecondCallLoadsAgain).await;
    message(world.promote().await);
    world.insert(&[(1, 11)]).await;
    world.tier().await;
    world.insert(&[(1, 12)]).await;
    let _ = world.promote().await;
    assert_eq!(world.lookup(1).await, Some(11));
}

#[tokio::test(start_paused = true)]
async fn append_table_with_offsets_registers_rows_that_never_were_in_the_log() {
    let world = World::with(&[Defect::AppendTableWithOffsets]);
    world.lake_table(json!([])).await;
    world.insert(&[(1, 10)]).await;
    message(world.promote().await);
    let tiered = world.store.observe(&path()).tiered.unwrap();
    assert_eq!(tiered.iter().map(|bucket| bucket.offset).sum::<u64>(), 1);
}

#[tokio::test(start_paused = true)]
async fn history_shadowed_by_store_reads_the_log_alone() {
    let world = key_table(Defect::HistoryShadowedByStore).await;
    message(world.promote().await);
    assert_eq!(world.select("db.t$rt").await, []);
}

#[tokio::test(start_paused = true)]
async fn unmappable_accepted_and_managed_option_accepted_accept() {
    let world = World::with(&[Defect::UnmappableAccepted]);
    let columns = json!([{"name": "id", "type": "BIGINT", "nullable": false}]);
    let options = json!({"bucket": "1", "ignore-delete": "true"});
    let table = json!({"table": "db.t", "columns": columns, "primary_key": ["id"], "options": options});
    world.run(json!({"create_table": table})).await;
    world.run(json!({"create_on_lake": {"table": "db.t"}})).await;
    assert!(world.store_table().await.is_some());

    let world = key_table(Defect::ManagedOptionAccepted).await;
    let properties = json!({"table.datalake.enabled": "true"});
    world.run(json!({"create_on_lake": {"table": "db.t", "properties": properties}})).await;
    assert_eq!(world.enabled().await, (false, true));
}

#[tokio::test(start_paused = true)]
async fn partition_selection_ignored_takes_any_selection() {
    let world = key_table(Defect::PartitionSelectionIgnored).await;
    message(world.execute(json!({"promote": {"table": "db.t", "partitions": [{"no": "such"}]}})).await);
}
