//! Planted bugs of tiering misbehave as described, in the situation where the reference is right.

use std::rc::Rc;

use futures::future::join;
use models::contract::{
    Column, ColumnChange, Coordinator, DataType, Filter, Host, LakeSnapshot, OFFSETS_PROPERTY, RoundEnd, Row, Store,
    StoreTable, TableSchema, TieredOffsets, Value,
};
use models::defects::{Defect, Defects};
use models::paimon::{Catalog, FilesystemCatalog, LakeAccess, PaimonTable};

use crate::faults::{CutOffAfterCommit, FaultyStore};
use crate::fixture::{
    MAX_ROUND_MS, World, append_schema, bucket, delete, key_schema, lake_of, no_options, only, path, put, row, rows,
    run_for,
};
use crate::hand_out::{HandOut, Setup};

#[tokio::test(start_paused = true)]
async fn ack_lost_retier_tiers_an_unregistered_range_twice() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..4)).await;
    let deaf = FaultyStore { refuses_registration: true, ..FaultyStore::of(world.store.clone(), &world.environment) };
    Setup::plain(&world).with_store(Rc::new(deaf)).round(&world, &table, 1).await;
    let defective = Setup::plain(&world).with_defects(only(Defect::AckLostRetier));
    assert_eq!(defective.round(&world, &table, 2).await, RoundEnd::Finished);
    assert_eq!(world.lake_rows().await.len(), 8);
}

#[tokio::test(start_paused = true)]
async fn two_holders_both_commit() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..4)).await;
    let slow = FaultyStore { fetch_ms: 400, ..FaultyStore::of(world.store.clone(), &world.environment) };
    let defective = || Setup::plain(&world).with_defects(only(Defect::TwoHolders));
    let slow = defective().with_store(Rc::new(slow));
    join(slow.round(&world, &table, 1), defective().round(&world, &table, 2)).await;
    assert_eq!(world.lake_rows().await.len(), 8);
}

#[tokio::test(start_paused = true)]
async fn abort_after_success_deletes_live_files() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..4)).await;
    let cut = Rc::new(CutOffAfterCommit { inner: world.lake.objects.clone(), cut_off: false.into() });
    let lake = lake_of(cut, &world.environment);
    let defective = Setup::plain(&world).with_lake(lake).with_defects(only(Defect::AbortAfterSuccess));
    defective.round(&world, &table, 1).await;
    let newest = world.newest().await;
    assert!(world.lake_table().await.scan(&newest, &Filter::new()).await.is_err(), "a snapshot without its files");
}

#[tokio::test(start_paused = true)]
async fn empty_batch_stuck_never_reaches_the_end_of_the_log() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    world.append_to(&table, bucket(), vec![put(1, 1)]).await;
    Setup::plain(&world).round(&world, &table, 1).await;
    world.append_to(&table, bucket(), vec![delete(7)]).await;
    world.append_to(&table, bucket(), vec![delete(7)]).await;
    for epoch in 2..5 {
        Setup::plain(&world).with_defects(only(Defect::EmptyBatchStuck)).round(&world, &table, epoch).await;
    }
    assert!(world.lake_offsets().await[&bucket()] < world.log_ends(&table).await[&bucket()]);
    assert_eq!(world.snapshots().await, 1);
}

#[tokio::test(start_paused = true)]
async fn zero_row_offset_dropped_forgets_a_bucket_that_was_idle() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    let lake_table = world.lake_table().await;
    let (idle, busy): (Vec<_>, Vec<_>) = rows(0..8).into_iter().partition(|row| lake_table.bucket_of(row).bucket == 0);
    assert!(!idle.is_empty() && busy.len() > 1);
    let defective = || Setup::plain(&world).with_defects(only(Defect::ZeroRowOffsetDropped));
    world.put(&table, &idle).await;
    world.put(&table, &busy[1..]).await;
    defective().round(&world, &table, 1).await;
    world.put(&table, &busy[..1]).await;
    defective().round(&world, &table, 2).await;
    assert_eq!(world.lake_offsets().await.len(), 1, "only the busy bucket is left");
    defective().round(&world, &table, 3).await;
    assert_eq!(world.lake_rows().await.len(), 8 + idle.len(), "and the idle one is tiered again");
}

/// Runs a round of this bug, with `meanwhile` between its last fetch and what it does next.
async fn round_with<T>(world: &World, table: &StoreTable, defect: Defect, meanwhile: impl Future<Output = T>) {
    let near = FaultyStore::of(world.store.clone(), &world.environment);
    let store = Rc::new(FaultyStore { distance_ms: 20, ..near });
    let after_the_fetch = async {
        while store.fetches.get() == 0 {
            world.environment.sleep_ms(1).await;
        }
        meanwhile.await
    };
    let defective = Setup::plain(world).with_lake(defective_lake(world, defect)).with_defects(only(defect));
    join(defective.with_store(store.clone()).round(world, table, 1), after_the_fetch).await;
}

fn defective_lake(world: &World, defect: Defect) -> LakeAccess {
    LakeAccess { defects: only(defect), ..world.lake.clone() }
}

#[tokio::test(start_paused = true)]
async fn commit_into_recreated_shows_rows_of_the_dropped_table_in_its_successor() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    world.append_to(&table, bucket(), vec![put(1, 1)]).await;
    let created_again = async {
        world.coordinator.drop_table(&path()).await.unwrap();
        FilesystemCatalog::new(world.lake.clone()).drop_table(&path(), false).await.unwrap();
        world.create(&key_schema()).await;
    };
    round_with(&world, &table, Defect::CommitIntoRecreated, created_again).await;
    assert_eq!(world.lake_rows().await, [row(1, 1)]);
}

#[tokio::test(start_paused = true)]
async fn abort_leaves_files_that_no_clean_up_removes() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    world.append_to(&table, bucket(), vec![put(1, 1)]).await;
    round_with(&world, &table, Defect::AbortLeavesFiles, world.coordinator.drop_table(&path())).await;
    assert_eq!(world.data_files(), 1);
    let lake_table = PaimonTable::open(&defective_lake(&world, Defect::AbortLeavesFiles), &path()).await.unwrap();
    let seen = lake_table.find_orphans().await.unwrap();
    lake_table.remove_orphans(&seen, 0).await.unwrap();
    assert_eq!(world.data_files(), 1);
}

/// The ends of rounds that a worker with these bugs reports, of `db.t` and of a table behind it.
async fn ends_of_two(world: &World, table: &StoreTable, other: &StoreTable, defects: Defects) -> Vec<(u64, RoundEnd)> {
    let coordinator = HandOut::of(table, &[1]);
    coordinator.add(other, 2);
    let worker = Setup::plain(world).with_defects(defects).worker(world, coordinator.clone());
    run_for(30_000, worker.run()).await;
    coordinator.ends.take()
}

async fn other_table(world: &World) -> StoreTable {
    world.coordinator.create_table(&models::contract::TablePath::new("db", "other"), &key_schema()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn drop_loops_never_ends_the_round_of_a_dropped_table() {
    let world = World::new();
    let (table, other) = (world.create(&key_schema()).await, other_table(&world).await);
    world.coordinator.drop_table(&path()).await.unwrap();
    assert_eq!(ends_of_two(&world, &table, &other, only(Defect::DropLoops)).await, []);
    let without = ends_of_two(&world, &table, &other, Defects::none()).await;
    assert_eq!(without, [(1, RoundEnd::Failed), (2, RoundEnd::Finished)]);
}

#[tokio::test(start_paused = true)]
async fn bad_table_stalls_all_never_ends_the_round_of_a_table_that_cannot_be_tiered() {
    let world = World::new();
    let (table, other) = (world.create(&key_schema()).await, other_table(&world).await);
    let unknown = LakeSnapshot { snapshot_id: 9, offsets: TieredOffsets::new() };
    world.store.register_lake_snapshot(table.table_id, unknown.into()).await.unwrap();
    assert_eq!(ends_of_two(&world, &table, &other, only(Defect::BadTableStallsAll)).await, []);
    let without = ends_of_two(&world, &table, &other, Defects::none()).await;
    assert_eq!(without, [(1, RoundEnd::Failed), (2, RoundEnd::Finished)]);
}

#[tokio::test(start_paused = true)]
async fn old_schema_truncates_drops_the_cells_of_a_new_column() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    let column = Column { name: "w".to_owned(), data_type: DataType::Int, nullable: true };
    let added = ColumnChange::Add { column, position: Some("last".to_owned()) };
    world.coordinator.alter_columns(&path(), &[added]).await.unwrap();
    world.put(&table, &[Row::new(vec![Value::Int(1), Value::Int(2), Value::Int(3)])]).await;
    let defective = Setup::plain(&world).with_defects(only(Defect::OldSchemaTruncates));
    assert_eq!(defective.round(&world, &table, 1).await, RoundEnd::Finished);
    assert_eq!(world.lake_rows().await, [Row::new(vec![Value::Int(1), Value::Int(2), Value::Null])]);
}

#[tokio::test(start_paused = true)]
async fn adopts_old_table_takes_the_predecessors_offsets_for_its_own() {
    let world = World::with(only(Defect::AdoptsOldTable));
    let old = world.create(&append_schema()).await;
    world.put(&old, &rows(0..4)).await;
    Setup::plain(&world).round(&world, &old, 1).await;
    let registered = world.registered(&old).await;
    world.coordinator.drop_table(&path()).await.unwrap();
    let disabled = |value: &str| [("table.datalake.enabled".to_owned(), value.to_owned())];
    let mut schema: TableSchema = append_schema();
    schema.options.extend(disabled("false"));
    let new = world.create(&schema).await;
    world.coordinator.alter_options(&path(), &disabled("true").into(), &[]).await.unwrap();
    assert!(registered.is_some() && new.table_id != old.table_id);
    assert_eq!(world.registered(&new).await, registered);
}

#[tokio::test(start_paused = true)]
async fn bucket_unaware_spread_writes_to_buckets_that_the_table_does_not_have() {
    let world = World::new();
    let mut schema = append_schema();
    schema.options = no_options();
    let table = world.create(&schema).await;
    world.put(&table, &rows(0..4)).await;
    let lake = defective_lake(&world, Defect::BucketUnawareSpread);
    let defective = Setup::plain(&world).with_lake(lake).with_defects(only(Defect::BucketUnawareSpread));
    assert_eq!(defective.round(&world, &table, 1).await, RoundEnd::Finished);
    assert!(world.objects.snapshot_all().keys().any(|path| path.contains("/bucket-2/")));
}

#[tokio::test(start_paused = true)]
async fn offsets_property_missing_leaves_a_snapshot_without_offsets() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..4)).await;
    let defective = || Setup::plain(&world).with_defects(only(Defect::OffsetsPropertyMissing));
    assert_eq!(defective().round(&world, &table, 3).await, RoundEnd::Finished);
    let properties = world.newest().await.properties.unwrap_or_default();
    assert!(!properties.contains_key(OFFSETS_PROPERTY));
    assert_eq!(defective().round(&world, &table, 4).await, RoundEnd::Failed);
}

#[tokio::test(start_paused = true)]
async fn epoch_zero_hands_a_table_out_twice() {
    let world = World::with(only(Defect::EpochZero));
    world.create(&append_schema()).await;
    run_for(100, world.coordinator.run()).await;
    for value in ["false", "true"] {
        let switch = [("table.datalake.enabled".to_owned(), value.to_owned())];
        world.coordinator.alter_options(&path(), &switch.into(), &[]).await.unwrap();
    }
    run_for(100, world.coordinator.run()).await;
    let mut epochs = Vec::new();
    for worker in ["a", "b"] {
        epochs.push(world.coordinator.request_table(worker).await.unwrap().map(|assignment| assignment.epoch));
    }
    assert_eq!(epochs, [Some(1), Some(0)]);
}

#[tokio::test(start_paused = true)]
async fn backoff_unbounded_waits_twice_as_long_after_each_failure() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.coordinator.drop_table(&path()).await.unwrap();
    let mut rounds = Vec::new();
    for defects in [only(Defect::BackoffUnbounded), Defects::none()] {
        let coordinator = HandOut::of(&table, &[1, 2, 3, 4, 5, 6, 7, 8]);
        let worker = Setup::plain(&world).with_defects(defects).worker(&world, coordinator.clone());
        run_for(2_000, worker.run()).await;
        rounds.push(coordinator.ends.borrow().len());
    }
    assert!(rounds[0] < 8, "{rounds:?}");
    assert_eq!(rounds[1], 8, "without the bug");
}

/// What the lake holds after a round that was cut short between the halves of an update, and the one after it.
async fn after_half_an_update(defects: Defects) -> Vec<Row> {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    world.append_to(&table, bucket(), vec![put(1, 10)]).await;
    Setup::plain(&world).round(&world, &table, 1).await;
    world.append_to(&table, bucket(), vec![put(2, 20), put(1, 11)]).await;
    for (epoch, end) in [(2, RoundEnd::Failed), (3, RoundEnd::Finished)] {
        let slow = FaultyStore { fetch_ms: MAX_ROUND_MS, ..FaultyStore::of(world.store.clone(), &world.environment) };
        let setup = Setup::plain(&world).with_store(Rc::new(slow)).with_defects(defects.clone());
        assert_eq!(setup.round(&world, &table, epoch).await, end);
    }
    world.lake_rows().await
}

#[tokio::test(start_paused = true)]
async fn update_pair_split_loses_the_key_whose_update_a_range_ends_within() {
    assert_eq!(after_half_an_update(only(Defect::UpdatePairSplit)).await, [row(2, 20)]);
    assert_eq!(after_half_an_update(Defects::none()).await, [row(1, 11), row(2, 20)]);
}
