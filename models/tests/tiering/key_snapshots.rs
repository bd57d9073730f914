//! The first round of a key table begins with its state, where that is shorter than its log.

use std::rc::Rc;

use models::contract::{Host, RoundEnd};

use crate::faults::FaultyStore;
use crate::fixture::{HEARTBEAT_INTERVAL_MS, World, bucket, delete, key_schema, put, row, run_for};
use crate::hand_out::{HandOut, Setup};

#[tokio::test(start_paused = true)]
async fn a_long_log_is_read_as_the_state_that_it_has_come_to() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    world.append_to(&table, bucket(), vec![put(1, 10), put(2, 20), put(3, 30)]).await;
    world.append_to(&table, bucket(), vec![put(1, 11), delete(2), put(4, 40)]).await;
    let counting = Rc::new(FaultyStore::of(world.store.clone(), &world.environment));
    assert_eq!(Setup::plain(&world).with_store(counting.clone()).round(&world, &table, 1).await, RoundEnd::Finished);
    assert_eq!(world.lake_rows().await, [row(1, 11), row(3, 30), row(4, 40)]);
    assert_eq!(world.lake_offsets().await, world.log_ends(&table).await, "all of the log is in the lake");
    assert_eq!(counting.fetches.get(), 0, "and none of it was read");
    assert_eq!(counting.leased.get(), 0, "the state is no longer leased");

    world.append_to(&table, bucket(), vec![delete(1), put(3, 31), put(5, 50)]).await;
    assert_eq!(Setup::plain(&world).with_store(counting.clone()).round(&world, &table, 2).await, RoundEnd::Finished);
    assert_eq!(world.lake_rows().await, [row(3, 31), row(4, 40), row(5, 50)]);
    assert!(counting.fetches.get() > 0, "from there on it is the log that is read");
}

#[tokio::test(start_paused = true)]
async fn a_state_without_rows_is_progress_too() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    world.append_to(&table, bucket(), vec![put(1, 10), delete(1), put(1, 11), delete(1)]).await;
    assert_eq!(Setup::plain(&world).round(&world, &table, 1).await, RoundEnd::Finished);
    assert_eq!((world.lake_rows().await, world.lake_offsets().await), (vec![], world.log_ends(&table).await));
}

#[tokio::test(start_paused = true)]
async fn a_log_of_one_fetch_is_read_as_it_is() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    world.append_to(&table, bucket(), vec![put(1, 10), delete(1)]).await;
    let counting = Rc::new(FaultyStore::of(world.store.clone(), &world.environment));
    Setup::plain(&world).with_store(counting.clone()).round(&world, &table, 1).await;
    assert_eq!(counting.fetches.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_round_that_is_given_up_gives_up_its_leases() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    world.append_to(&table, bucket(), vec![put(1, 10), put(2, 20), put(3, 30), put(4, 40)]).await;
    let slow =
        FaultyStore { fetch_ms: 4 * HEARTBEAT_INTERVAL_MS, ..FaultyStore::of(world.store.clone(), &world.environment) };
    let slow = Rc::new(slow);
    let coordinator = HandOut::of(&table, &[1]);
    coordinator.rejects_heartbeats.set(true);
    let worker = Setup::plain(&world).with_store(slow.clone()).worker(&world, coordinator.clone());
    run_for(2 * HEARTBEAT_INTERVAL_MS, worker.run()).await;
    assert_eq!(*coordinator.ends.borrow(), [(1, RoundEnd::Failed)], "while its state was still being read");
    assert_eq!(slow.leased.get(), 0);
}
