//! What a tiering round does, and what it never does.

use std::cell::Cell;
use std::rc::Rc;

use futures::future::join;
use models::contract::{
    BucketId, Coordinator, Environment, FailureCode, Host, RoundEnd, Row, Store, TIERING_COMMIT_USER, TieredOffsets,
    Value,
};

use crate::faults::{CutOffAfterCommit, FaultyStore};
use crate::fixture::{
    HEARTBEAT_INTERVAL_MS, World, append_schema, bucket, delete, key_schema, lake_of, partitioned_schema, path, put,
    row, rows, run_for,
};
use crate::hand_out::{HandOut, Setup};

#[tokio::test(start_paused = true)]
async fn a_round_moves_the_log_into_the_lake_and_registers_it() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..7)).await;
    assert_eq!(Setup::plain(&world).round(&world, &table, 1).await, RoundEnd::Finished);
    assert_eq!(world.lake_rows().await, rows(0..7));
    let newest = world.newest().await;
    assert_eq!((newest.commit_user.as_str(), newest.commit_identifier), (TIERING_COMMIT_USER, 1));
    assert_eq!(world.lake_offsets().await, world.log_ends(&table).await);
    assert_eq!(world.registered(&table).await, Some((newest.id, world.log_ends(&table).await)));

    world.put(&table, &rows(7..9)).await;
    assert_eq!(Setup::plain(&world).round(&world, &table, 2).await, RoundEnd::Finished);
    assert_eq!(world.lake_rows().await, rows(0..9), "the second round goes on where the first one ended");
    assert_eq!(world.registered(&table).await, Some((newest.id + 1, world.log_ends(&table).await)));
}

#[tokio::test(start_paused = true)]
async fn a_round_without_anything_new_commits_nothing() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    assert_eq!(Setup::plain(&world).round(&world, &table, 1).await, RoundEnd::Finished);
    assert_eq!(world.snapshots().await, 0);
    world.put(&table, &rows(0..1)).await;
    Setup::plain(&world).round(&world, &table, 2).await;
    assert_eq!(Setup::plain(&world).round(&world, &table, 3).await, RoundEnd::Finished);
    assert_eq!(world.snapshots().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_table_shows_the_last_state_of_each_key() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    world.append_to(&table, bucket(), vec![put(1, 10), put(2, 20), put(3, 30)]).await;
    Setup::plain(&world).round(&world, &table, 1).await;
    world.append_to(&table, bucket(), vec![put(1, 11), delete(2), put(4, 40)]).await;
    Setup::plain(&world).round(&world, &table, 2).await;
    assert_eq!(world.lake_rows().await, [row(1, 11), row(3, 30), row(4, 40)]);
}

#[tokio::test(start_paused = true)]
async fn partitions_keep_their_own_offsets() {
    let world = World::new();
    let table = world.create(&partitioned_schema()).await;
    let day = |id: i64, day: i32| Row::new(vec![Value::Int(id), Value::Date(day)]);
    world.put(&table, &[day(1, 100), day(2, 100), day(3, 101)]).await;
    Setup::plain(&world).round(&world, &table, 1).await;
    world.put(&table, &[day(4, 101)]).await;
    assert_eq!(Setup::plain(&world).round(&world, &table, 2).await, RoundEnd::Finished);
    assert_eq!(world.lake_rows().await, [day(1, 100), day(2, 100), day(3, 101), day(4, 101)]);
    let of_day = |day| BucketId { partition: Row::new(vec![Value::Date(day)]), bucket: 0 };
    assert_eq!(world.lake_offsets().await, TieredOffsets::from([(of_day(100), 2), (of_day(101), 2)]));
}

#[tokio::test(start_paused = true)]
async fn batches_without_records_advance_the_lake_with_an_empty_snapshot() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    world.append_to(&table, bucket(), vec![delete(1)]).await;
    let end = world.log_ends(&table).await;
    assert_ne!(end[&bucket()], 0, "a delete of nothing takes an offset");
    assert_eq!(Setup::plain(&world).round(&world, &table, 1).await, RoundEnd::Finished);
    assert_eq!(world.newest().await.delta_record_count, 0);
    assert_eq!(world.lake_offsets().await, end);
    assert_eq!(world.registered(&table).await, Some((1, end)));
}

#[tokio::test(start_paused = true)]
async fn a_round_that_runs_out_of_time_commits_what_it_read_and_is_due_again() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..12)).await;
    let slow = FaultyStore { fetch_ms: 1_000, ..FaultyStore::of(world.store.clone(), &world.environment) };
    let slow: Rc<dyn Store> = Rc::new(slow);
    let mut epoch = 0;
    let mut ends = Vec::new();
    while ends.last() != Some(&RoundEnd::Finished) {
        epoch += 1;
        ends.push(Setup::plain(&world).with_store(slow.clone()).round(&world, &table, epoch).await);
        assert!(epoch < 20, "expected the rounds to come to an end, found {ends:?}");
    }
    assert!(ends.len() > 2, "one piece of two records a round");
    assert_eq!(world.lake_rows().await, rows(0..12));
    assert_eq!(world.registered(&table).await.unwrap().1, world.log_ends(&table).await);
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_was_never_registered_is_registered_and_not_repeated() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..4)).await;
    let deaf = FaultyStore { refuses_registration: true, ..FaultyStore::of(world.store.clone(), &world.environment) };
    assert_eq!(Setup::plain(&world).with_store(Rc::new(deaf)).round(&world, &table, 1).await, RoundEnd::Failed);
    assert_eq!(world.registered(&table).await, None);
    let end = world.log_ends(&table).await;

    assert_eq!(Setup::plain(&world).round(&world, &table, 2).await, RoundEnd::Finished);
    assert_eq!(world.registered(&table).await, Some((1, end)), "recovered although there was nothing new to tier");
    world.put(&table, &rows(4..6)).await;
    Setup::plain(&world).round(&world, &table, 3).await;
    assert_eq!(world.lake_rows().await, rows(0..6));
}

#[tokio::test(start_paused = true)]
async fn of_two_rounds_with_one_plan_exactly_one_commits() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..4)).await;
    // The slow one plans first and comes to commit long after the other one has committed *and registered*.
    let slow = FaultyStore { fetch_ms: 400, ..FaultyStore::of(world.store.clone(), &world.environment) };
    let slow = Setup::plain(&world).with_store(Rc::new(slow));
    let (first, second) = join(slow.round(&world, &table, 1), Setup::plain(&world).round(&world, &table, 2)).await;
    assert_eq!((first, second), (RoundEnd::Failed, RoundEnd::Finished));
    assert_eq!(world.lake_rows().await, rows(0..4));
    assert_eq!(world.snapshots().await, 1);
    assert_eq!(world.data_files(), 2, "the loser's files are gone: one a bucket is left");
}

#[tokio::test(start_paused = true)]
async fn a_commit_without_an_answer_is_never_cleaned_up() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..4)).await;
    let cut = Rc::new(CutOffAfterCommit { inner: world.lake.objects.clone(), cut_off: false.into() });
    let lake = lake_of(cut, &world.environment);
    assert_eq!(Setup::plain(&world).with_lake(lake).round(&world, &table, 1).await, RoundEnd::Failed);
    assert_eq!(world.lake_rows().await, rows(0..4), "the commit took effect, and its files are all there");
    assert_eq!(world.registered(&table).await, None);

    assert_eq!(Setup::plain(&world).round(&world, &table, 2).await, RoundEnd::Finished);
    assert_eq!(world.lake_rows().await, rows(0..4));
    assert_eq!(world.registered(&table).await, Some((1, world.log_ends(&table).await)));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_heartbeat_stops_the_round_before_its_commit() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..4)).await;
    let slow: Rc<dyn Store> =
        Rc::new(FaultyStore { fetch_ms: 400, ..FaultyStore::of(world.store.clone(), &world.environment) });
    let coordinator = HandOut::of(&table, &[1]);
    coordinator.rejects_heartbeats.set(true);
    let worker = Setup::plain(&world).with_store(slow.clone()).worker(&world, coordinator.clone());
    run_for(10_000, worker.run()).await;
    assert_eq!((coordinator.heartbeats.get(), world.snapshots().await), (1, 0));

    let coordinator = HandOut::of(&table, &[2]);
    let worker = Setup::plain(&world).with_store(slow).worker(&world, coordinator.clone());
    run_for(10_000, worker.run()).await;
    assert!(u64::from(coordinator.heartbeats.get()) >= 400 / HEARTBEAT_INTERVAL_MS - 1, "beats while it reads");
    assert_eq!(world.snapshots().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_round_of_a_dropped_table_ends_without_a_trace() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..2)).await;
    let slow = FaultyStore { fetch_ms: 400, ..FaultyStore::of(world.store.clone(), &world.environment) };
    let round = Setup::plain(&world).with_store(Rc::new(slow));
    let (end, ()) = join(round.round(&world, &table, 1), async {
        world.environment.sleep_ms(100).await;
        world.store.drop_table(&path()).await.unwrap();
    })
    .await;
    assert_eq!((end, world.snapshots().await, world.data_files()), (RoundEnd::Failed, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn no_late_commit_reaches_a_table_that_was_created_again() {
    let world = World::new();
    let first = world.create(&append_schema()).await;
    world.put(&first, &rows(0..2)).await;
    // A round of the first table that is asleep just before its compare-and-swap: everything before it was checked.
    let lake_table = world.lake_table().await;
    let changes = [(BucketId::unpartitioned(0), Vec::new())].into();
    let committable = lake_table.write("late", None, &changes).await.unwrap();
    let late = models::paimon::CommitRequest {
        subject: "late".to_owned(),
        user: TIERING_COMMIT_USER.to_owned(),
        identifier: 77,
        mode: models::paimon::CommitMode::Append,
        properties: Default::default(),
        committable,
        precondition: models::paimon::Precondition::NewestOfUser {
            user: TIERING_COMMIT_USER.to_owned(),
            newest_known: None,
        },
    };
    world.coordinator.drop_table(&path()).await.unwrap();
    let second = world.create(&append_schema()).await;
    assert_ne!(first.table_id, second.table_id);
    let failure = lake_table.commit(late).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));

    world.put(&second, &rows(5..6)).await;
    assert_eq!(Setup::plain(&world).round(&world, &second, 9).await, RoundEnd::Finished);
    assert_eq!(world.lake_rows().await, rows(5..6));
    assert_eq!(world.registered(&second).await.unwrap().1, world.log_ends(&second).await);
}

#[tokio::test(start_paused = true)]
async fn coordinator_and_workers_together_keep_the_lake_fresh() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    let worker = |_| Setup::plain(&world).worker(&world, world.coordinator.clone());
    let workers: Vec<_> = (0..2).map(worker).collect();
    let everyone = async {
        let running = workers.iter().map(|worker| worker.run());
        join(world.coordinator.run(), futures::future::join_all(running)).await;
    };
    let writes = async {
        for id in 0..20 {
            world.put(&table, &rows(id..id + 1)).await;
            world.environment.sleep_ms(100).await;
        }
        world.environment.sleep_ms(1_000).await;
    };
    futures::future::select(std::pin::pin!(everyone), std::pin::pin!(writes)).await;
    assert_eq!(world.lake_rows().await, rows(0..20));
    assert!(world.snapshots().await > 2, "several rounds, not one at the end");
}

/// A clock that goes back whenever somebody looks.
struct GoesBack {
    inner: Rc<dyn Environment>,
    shows_ms: Cell<u64>,
}

#[async_trait::async_trait(?Send)]
impl Environment for GoesBack {
    fn now_ms(&self) -> u64 {
        self.shows_ms.set(self.shows_ms.get() - 1);
        self.shows_ms.get()
    }

    async fn sleep_ms(&self, duration_ms: u64) {
        self.inner.sleep_ms(duration_ms).await;
    }

    fn draw(&self, site: &str, subject: &str, occurrence: u64) -> u64 {
        self.inner.draw(site, subject, occurrence)
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_goes_back_in_the_middle_of_a_round_does_not_end_it() {
    let mut world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..4)).await;
    world.environment = Rc::new(GoesBack { inner: world.environment.clone(), shows_ms: Cell::new(1_000_000) });
    assert_eq!(Setup::plain(&world).round(&world, &table, 1).await, RoundEnd::Finished);
    assert_eq!(world.lake_rows().await, rows(0..4));
}
