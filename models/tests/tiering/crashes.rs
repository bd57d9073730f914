//! A crash between any two steps, before and after each step's effect, costs no row and doubles none.

use std::rc::Rc;

use models::contract::{Coordinator, Failure, Host, RoundEnd, Row, Store, StoreTable};
use models::paimon::{LakeAccess, verify};

use crate::faults::{DistantObjects, FaultyStore};
use crate::fixture::{
    CHECK_INTERVAL_MS, World, append_schema, bucket, coordinator_of, delete, key_schema, lake_of, path, put, row, rows,
    run_for,
};
use crate::hand_out::{HandOut, Setup};

/// The way of every call, and of its answer.
const DISTANCE_MS: u64 = 1;

fn distant_store(world: &World) -> Rc<dyn Store> {
    Rc::new(FaultyStore { distance_ms: DISTANCE_MS, ..FaultyStore::of(world.store.clone(), &world.environment) })
}

fn distant_lake(world: &World) -> LakeAccess {
    let (inner, environment) = (world.lake.objects.clone(), world.environment.clone());
    lake_of(Rc::new(DistantObjects { inner, environment, distance_ms: DISTANCE_MS }), &world.environment)
}

/// A round under epoch 1 whose worker dies after `lifetime_ms`; whether the round had ended.
async fn round_cut_short(world: &World, table: &StoreTable, lifetime_ms: u64) -> bool {
    let coordinator = HandOut::of(table, &[1]);
    let setup = Setup::plain(world).with_store(distant_store(world)).with_lake(distant_lake(world));
    let worker = setup.worker(world, coordinator.clone());
    run_for(lifetime_ms, worker.run()).await;
    !coordinator.ends.borrow().is_empty()
}

/// After the crash the next round, wherever the first one died, leaves all as if nothing had happened.
async fn expect_recovery(world: &World, table: &StoreTable, expected: &[Row], lifetime_ms: u64) {
    assert_eq!(Setup::plain(world).round(world, table, 2).await, RoundEnd::Finished, "died after {lifetime_ms} ms");
    assert_eq!(world.lake_rows().await, expected, "died after {lifetime_ms} ms");
    let registered = world.registered(table).await.unwrap();
    assert_eq!(registered, (world.newest().await.id, world.log_ends(table).await), "died after {lifetime_ms} ms");
    assert_eq!(verify(&world.objects, &path()).await.findings, [], "died after {lifetime_ms} ms");
}

#[tokio::test(start_paused = true)]
async fn a_worker_may_die_at_any_point_of_a_round_over_an_append_table() {
    for lifetime_ms in 1.. {
        let world = World::new();
        let table = world.create(&append_schema()).await;
        world.put(&table, &rows(0..4)).await;
        let ended = round_cut_short(&world, &table, lifetime_ms).await;
        world.put(&table, &rows(4..6)).await;
        expect_recovery(&world, &table, &rows(0..6), lifetime_ms).await;
        if ended {
            assert!(lifetime_ms > 20, "expected a round of many steps, found one of {lifetime_ms} ms");
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_may_die_at_any_point_of_a_round_over_a_key_table() {
    for lifetime_ms in 1.. {
        let world = World::new();
        let table = world.create(&key_schema()).await;
        world.append_to(&table, bucket(), vec![put(1, 10), put(2, 20), put(3, 30)]).await;
        let ended = round_cut_short(&world, &table, lifetime_ms).await;
        world.append_to(&table, bucket(), vec![put(1, 11), delete(2)]).await;
        expect_recovery(&world, &table, &[row(1, 11), row(3, 30)], lifetime_ms).await;
        if ended {
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_create_may_be_cut_short_at_any_point() {
    for lifetime_ms in 1.. {
        let world = World::new();
        let coordinator = coordinator_of(distant_store(&world), distant_lake(&world), &world.environment);
        let schema = append_schema();
        let created = run_for(lifetime_ms, coordinator.create_table(&path(), &schema)).await;
        coordinator.crash();
        // Whoever finds out that the create went through has a table, too.
        if let Err(Failure { definite, message, .. }) = coordinator.create_table(&path(), &schema).await {
            assert!(definite && world.store.table(&path()).await.is_ok(), "cut after {lifetime_ms} ms: {message}");
        }
        let table = world.store.table(&path()).await.unwrap();
        run_for(10 * CHECK_INTERVAL_MS, coordinator.run()).await;
        let assignment = coordinator.request_table("tiering-1").await.unwrap();
        assert_eq!(assignment.map(|assignment| assignment.table), Some(table.clone()), "cut after {lifetime_ms} ms");
        world.put(&table, &rows(0..2)).await;
        assert_eq!(Setup::plain(&world).round(&world, &table, 50).await, RoundEnd::Finished);
        assert_eq!(world.lake_rows().await, rows(0..2));
        if created.is_some() {
            assert!(lifetime_ms > 5, "expected a create of several steps, found one of {lifetime_ms} ms");
            return;
        }
    }
}
