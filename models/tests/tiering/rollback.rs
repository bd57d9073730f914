//! The lake is rolled back behind what the store has registered: tiering takes the registration back, and tiers again.

use models::contract::{RoundEnd, StoreTable};
use models::defects::Defect;
use models::maintenance::{Job, Maintenance, Progress};

use crate::fixture::{World, append_schema, only, path, rows};
use crate::hand_out::Setup;

/// A table of which three rounds tiered a row each, and then the last two are undone.
async fn rolled_back() -> (World, StoreTable) {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    for round in 0..3 {
        world.put(&table, &rows(round..round + 1)).await;
        let epoch = round as u64 + 1;
        assert_eq!(Setup::plain(&world).round(&world, &table, epoch).await, RoundEnd::Finished);
    }
    let operator = Maintenance::new(world.lake.clone(), world.store.clone());
    assert_eq!(operator.perform(&Job::RollBack { commits: 2 }, &path(), 1).await, Ok(Progress::Done));
    assert_eq!(world.snapshots().await, 1);
    assert_eq!(world.lake_rows().await, rows(0..1));
    (world, table)
}

#[tokio::test(start_paused = true)]
async fn the_log_fills_the_lake_again_and_the_registration_follows_it() {
    let (world, table) = rolled_back().await;
    assert_eq!(world.registered(&table).await.unwrap().0, 3, "nobody tells the store of a rollback");
    assert_eq!(Setup::plain(&world).round(&world, &table, 4).await, RoundEnd::Finished);
    assert_eq!(world.lake_rows().await, rows(0..3));
    assert_eq!(world.registered(&table).await, Some((2, world.lake_offsets().await)), "number 2 is used again");
}

#[tokio::test(start_paused = true)]
async fn a_rollback_of_more_than_there_is_undoes_nothing() {
    let (world, _) = rolled_back().await;
    let operator = Maintenance::new(world.lake.clone(), world.store.clone());
    assert_eq!(operator.perform(&Job::RollBack { commits: 1 }, &path(), 2).await, Ok(Progress::Done));
    assert_eq!(world.lake_rows().await, rows(0..1));
}

#[tokio::test(start_paused = true)]
async fn rollback_id_reuse_leaves_registered_what_the_lake_lost() {
    let (world, table) = rolled_back().await;
    let before = world.registered(&table).await;
    for epoch in 4..7 {
        let defective = Setup::plain(&world).with_defects(only(Defect::RollbackIdReuse));
        defective.round(&world, &table, epoch).await;
    }
    assert_eq!(world.lake_rows().await, rows(0..3));
    assert_eq!(world.snapshots().await, 2);
    assert_eq!(world.registered(&table).await, before, "the commit with number 2 passes for one that is known");
}
