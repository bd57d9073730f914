//! Each planted bug of tiering misbehaves as described, in the situation where the reference is right.

use std::rc::Rc;

use futures::future::join;
use models::contract::{Filter, RoundEnd};
use models::defects::Defect;

use crate::faults::{CutOffAfterCommit, FaultyStore};
use crate::fixture::{World, append_schema, bucket, delete, key_schema, lake_of, only, put, rows};
use crate::hand_out::Setup;

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
    world.append_to(&table, bucket(), vec![delete(7)]).await;
    world.append_to(&table, bucket(), vec![delete(7)]).await;
    for epoch in 1..4 {
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
