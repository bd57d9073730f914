//! Tables whose readers skip what is new: which snapshot becomes readable, and how far it is said to be.

use std::rc::Rc;

use models::compactor::Compactor;
use models::config::CompactorConfig;
use models::contract::{
    BucketId, COMPACTION_COMMIT_USER, Host, RegisteredSnapshots, RoundEnd, Row, Store, StoreTable, TableSchema,
    TieredOffsets,
};
use models::defects::Defect;
use models::paimon::{
    CommitKind, CommitMode, CommitRequest, Committable, CompactionKind, PaimonTable, Precondition, Snapshot,
};

use crate::faults::FaultyStore;
use crate::fixture::{World, bucket, delete, key_schema, only, path, put, row, rows, run_for};
use crate::hand_out::Setup;

const COMPACTION_INTERVAL_MS: u64 = 100;

/// A key table of (id, v) with deletion vectors and so many buckets.
fn hiding(buckets: u32) -> TableSchema {
    let mut schema = key_schema();
    schema.options.insert("deletion-vectors.enabled".to_owned(), "true".to_owned());
    schema.options.insert("bucket".to_owned(), buckets.to_string());
    schema
}

async fn round(world: &World, table: &StoreTable, epoch: u64) {
    assert_eq!(Setup::plain(world).round(world, table, epoch).await, RoundEnd::Finished);
}

/// What a compaction of this snapshot has written and not committed.
async fn compaction(table: &PaimonTable, base: &Snapshot) -> Committable {
    table.compact("c", base, CompactionKind::Automatic).await.unwrap().expect("there is something to compact")
}

async fn commit(table: &PaimonTable, base: &Snapshot, committable: Committable) {
    let request = CommitRequest {
        subject: format!("c-{}", base.id),
        user: COMPACTION_COMMIT_USER.to_owned(),
        identifier: base.id,
        mode: CommitMode::Compact,
        properties: Default::default(),
        committable,
        precondition: Precondition::None,
    };
    table.commit(request).await.unwrap();
}

/// Compacts the newest snapshot.
async fn compact(world: &World) {
    let (table, base) = (world.lake_table().await, world.newest().await);
    let committable = compaction(&table, &base).await;
    commit(&table, &base, committable).await;
}

/// A compaction of the newest snapshot that comes late: this row is tiered, by round 2, before it is committed.
async fn late_compaction(world: &World, table: &StoreTable, row: Row) {
    let (lake, base) = (world.lake_table().await, world.newest().await);
    let late = compaction(&lake, &base).await;
    world.put(table, &[row]).await;
    round(world, table, 2).await;
    commit(&lake, &base, late).await;
}

async fn registered(world: &World, table: &StoreTable) -> RegisteredSnapshots {
    world.store.registered_snapshots(table.table_id).await.unwrap()
}

/// The readable snapshot's id and offsets.
async fn readable(world: &World, table: &StoreTable) -> Option<(u64, TieredOffsets)> {
    registered(world, table).await.readable.map(|readable| (readable.snapshot_id, readable.offsets))
}

fn up_to(offset: u64) -> TieredOffsets {
    TieredOffsets::from([(bucket(), offset)])
}

#[tokio::test(start_paused = true)]
async fn what_is_tiered_can_be_read_once_it_is_compacted() {
    let world = World::new();
    let table = world.create(&hiding(1)).await;
    world.append_to(&table, bucket(), vec![put(1, 10)]).await;
    round(&world, &table, 1).await;
    assert_eq!(world.registered(&table).await, Some((1, up_to(1))));
    assert_eq!((readable(&world, &table).await, world.lake_rows().await), (None, vec![]));

    compact(&world).await;
    world.append_to(&table, bucket(), vec![put(1, 11), put(2, 20)]).await;
    round(&world, &table, 2).await;
    assert_eq!(world.registered(&table).await, Some((3, up_to(4))), "an insert, an update in two, an insert");
    assert_eq!(readable(&world, &table).await, Some((2, up_to(1))), "the compaction before the second commit");
    assert_eq!(world.lake_rows().await, [row(1, 10)]);
}

#[tokio::test(start_paused = true)]
async fn a_round_without_anything_new_tells_what_became_readable() {
    let world = World::new();
    let table = world.create(&hiding(1)).await;
    world.append_to(&table, bucket(), vec![put(1, 10), put(2, 20)]).await;
    round(&world, &table, 1).await;
    compact(&world).await;
    round(&world, &table, 2).await;
    assert_eq!(readable(&world, &table).await, Some((2, up_to(2))));
    assert_eq!(world.snapshots().await, 2, "nothing was committed for it");
    world.append_to(&table, bucket(), vec![delete(1)]).await;
    round(&world, &table, 3).await;
    compact(&world).await;
    round(&world, &table, 4).await;
    assert_eq!(readable(&world, &table).await, Some((4, up_to(3))));
    assert_eq!(world.lake_rows().await, [row(2, 20)]);
}

#[tokio::test(start_paused = true)]
async fn a_compaction_is_as_far_as_the_snapshot_that_it_began_on() {
    let world = World::new();
    let table = world.create(&hiding(1)).await;
    world.append_to(&table, bucket(), vec![put(1, 10)]).await;
    round(&world, &table, 1).await;
    late_compaction(&world, &table, row(1, 11)).await;
    round(&world, &table, 3).await;
    assert_eq!(world.newest().await.commit_kind, CommitKind::Compact);
    assert_eq!(readable(&world, &table).await, Some((3, up_to(1))), "the second commit is at level 0 still");
    assert_eq!(world.lake_rows().await, [row(1, 10)]);
}

#[tokio::test(start_paused = true)]
async fn each_bucket_is_as_far_as_its_own_files_are() {
    let world = World::new();
    let table = world.create(&hiding(2)).await;
    let lake = world.lake_table().await;
    let id_of = |number: u32| (0..).find(|id| lake.bucket_of(&row(*id, 0)).bucket == number).unwrap();
    let (first, second) = (id_of(0), id_of(1));
    world.put(&table, &[row(first, 1)]).await;
    round(&world, &table, 1).await;
    late_compaction(&world, &table, row(second, 1)).await;
    round(&world, &table, 3).await;
    let expected = TieredOffsets::from([(BucketId::unpartitioned(0), 1)]);
    assert_eq!(readable(&world, &table).await, Some((3, expected)), "of the second bucket nothing was compacted");
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_was_not_registered_makes_nothing_readable_that_is_not() {
    let world = World::new();
    let table = world.create(&hiding(1)).await;
    world.append_to(&table, bucket(), vec![put(1, 10)]).await;
    round(&world, &table, 1).await;
    compact(&world).await;
    world.append_to(&table, bucket(), vec![put(1, 11)]).await;
    let deaf = FaultyStore { refuses_registration: true, ..FaultyStore::of(world.store.clone(), &world.environment) };
    Setup::plain(&world).with_store(Rc::new(deaf)).round(&world, &table, 2).await;
    round(&world, &table, 3).await;
    assert_eq!(world.registered(&table).await, Some((3, up_to(3))));
    assert_eq!(readable(&world, &table).await, Some((2, up_to(1))));
}

#[tokio::test(start_paused = true)]
async fn offsets_of_another_snapshot_claims_what_its_readers_do_not_see() {
    let world = World::new();
    let table = world.create(&hiding(1)).await;
    world.append_to(&table, bucket(), vec![put(1, 10)]).await;
    round(&world, &table, 1).await;
    late_compaction(&world, &table, row(1, 11)).await;
    let defective = Setup::plain(&world).with_defects(only(Defect::OffsetsOfAnotherSnapshot));
    defective.round(&world, &table, 3).await;
    assert_eq!(readable(&world, &table).await, Some((3, up_to(3))));
}

#[tokio::test(start_paused = true)]
async fn the_compactor_rewrites_what_is_new_and_then_rests() {
    let world = World::new();
    let table = world.create(&hiding(1)).await;
    let config = CompactorConfig { interval_ms: COMPACTION_INTERVAL_MS };
    let nobody = "db.nobody".parse().unwrap();
    let compactor = Compactor::new(vec![nobody, path()], world.lake.clone(), config);
    world.put(&table, &rows(0..3)).await;
    round(&world, &table, 1).await;
    run_for(10 * COMPACTION_INTERVAL_MS, compactor.run()).await;
    assert_eq!(world.lake_rows().await, rows(0..3));
    assert_eq!(world.newest().await.commit_user, COMPACTION_COMMIT_USER);
    let snapshots = world.snapshots().await;
    run_for(10 * COMPACTION_INTERVAL_MS, compactor.run()).await;
    assert_eq!(world.snapshots().await, snapshots, "there was nothing left to do");
}
