//! The coordinator as a service: DDL on both sides, recovery, and who gets a table.

use std::collections::BTreeMap;
use std::rc::Rc;

use models::contract::{
    Coordinator, FailureCode, Host, LAKESTREAM_ENABLED, RoundEnd, Store, TablePath, TableSchema, TieringAssignment,
};
use models::paimon::{Catalog, FilesystemCatalog};

use crate::faults::FaultyStore;
use crate::fixture::{
    CHECK_INTERVAL_MS, FRESHNESS_MS, HEARTBEAT_TIMEOUT_MS, World, append_schema, coordinator_of, key_schema,
    no_options, path, rows, run_for,
};
use crate::hand_out::Setup;

/// A little more than two looks at the timers.
const A_MOMENT_MS: u64 = 2 * CHECK_INTERVAL_MS + 5;

fn in_the_mode(schema: TableSchema) -> TableSchema {
    let mut schema = schema;
    schema.options.insert(LAKESTREAM_ENABLED.to_owned(), "true".to_owned());
    schema
}

async fn request(coordinator: &dyn Coordinator) -> Option<TieringAssignment> {
    coordinator.request_table("tiering-1").await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn create_makes_the_lake_table_and_the_stores_table_and_tiers_it_at_once() {
    let world = World::new();
    let mut schema = append_schema();
    schema.options.insert(LAKESTREAM_ENABLED.to_owned(), "false".to_owned());
    let table = world.create(&schema).await;
    assert!(world.lake_table().await.schema().lakestream_enabled(), "whatever the statement's options say");
    assert!(table.schema.lakestream_enabled());
    run_for(A_MOMENT_MS, world.coordinator.run()).await;
    let assignment = request(&*world.coordinator).await.unwrap();
    assert_eq!((assignment.table, assignment.epoch), (table, 1));
}

#[tokio::test(start_paused = true)]
async fn creating_a_table_twice_is_a_definite_error_without_effect() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    let failure = world.coordinator.create_table(&path(), &key_schema()).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::AlreadyExists, true));
    assert_eq!(world.store.table(&path()).await.unwrap(), table);
    assert_eq!(world.snapshots().await, 0);
}

#[tokio::test(start_paused = true)]
async fn repeating_a_create_that_was_cut_short_completes_it() {
    let world = World::new();
    let catalog = FilesystemCatalog::new(world.lake.clone());
    catalog.create_table(&path(), &in_the_mode(append_schema()), false).await.unwrap();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..2)).await;
    assert_eq!(Setup::plain(&world).round(&world, &table, 5).await, RoundEnd::Finished);
    assert_eq!(world.lake_rows().await, rows(0..2));
}

#[tokio::test(start_paused = true)]
async fn a_lake_table_that_belongs_to_somebody_else_is_not_taken_over() {
    let world = World::new();
    let catalog = FilesystemCatalog::new(world.lake.clone());
    catalog.create_table(&path(), &in_the_mode(append_schema()), false).await.unwrap();
    let other_layout = world.coordinator.create_table(&path(), &key_schema()).await.unwrap_err();

    let plain = TablePath::new("db", "plain");
    catalog.create_table(&plain, &append_schema(), false).await.unwrap();
    let not_in_the_mode = world.coordinator.create_table(&plain, &append_schema()).await.unwrap_err();

    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..2)).await;
    Setup::plain(&world).round(&world, &table, 5).await;
    world.coordinator.drop_table(&path()).await.unwrap();
    let with_data = world.coordinator.create_table(&path(), &append_schema()).await.unwrap_err();

    for failure in [other_layout, not_in_the_mode, with_data] {
        assert_eq!((failure.code, failure.definite), (FailureCode::AlreadyExists, true), "{failure}");
    }
    assert_eq!(world.store.table(&path()).await.unwrap_err().code, FailureCode::NotFound);
    assert_eq!(world.lake_rows().await, rows(0..2), "the lake table of a dropped table stays as it is");
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_tables_wait_for_the_stores_list_and_get_new_epochs() {
    let world = World::new();
    world.create(&append_schema()).await;
    run_for(A_MOMENT_MS, world.coordinator.run()).await;
    let before = request(&*world.coordinator).await.unwrap();
    world.coordinator.crash();
    assert_eq!(request(&*world.coordinator).await, None, "nothing is known yet");
    let late = world.coordinator.heartbeat(before.table.table_id, before.epoch).await.unwrap_err();
    assert_eq!(late.code, FailureCode::Rejected);
    run_for(A_MOMENT_MS, world.coordinator.run()).await;
    let after = request(&*world.coordinator).await.expect("due at once, not one freshness later");
    assert!(after.epoch > before.epoch);
    let late = world.coordinator.end_round(before.table.table_id, before.epoch, RoundEnd::Finished).await;
    assert_eq!(late.unwrap_err().code, FailureCode::Rejected);
    assert_eq!(world.coordinator.heartbeat(after.table.table_id, after.epoch).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_silent_holder_is_replaced() {
    let world = World::new();
    world.create(&append_schema()).await;
    run_for(A_MOMENT_MS, world.coordinator.run()).await;
    let first = request(&*world.coordinator).await.unwrap();
    run_for(HEARTBEAT_TIMEOUT_MS - A_MOMENT_MS, world.coordinator.run()).await;
    assert_eq!(request(&*world.coordinator).await, None);
    run_for(2 * A_MOMENT_MS, world.coordinator.run()).await;
    assert!(request(&*world.coordinator).await.unwrap().epoch > first.epoch);
}

#[tokio::test(start_paused = true)]
async fn a_create_without_an_answer_is_found_in_the_stores_list() {
    let world = World::new();
    let store = FaultyStore { loses_create_acks: 1.into(), ..FaultyStore::of(world.store.clone(), &world.environment) };
    let coordinator = coordinator_of(Rc::new(store), world.lake.clone(), &world.environment);
    run_for(A_MOMENT_MS, coordinator.run()).await;
    let failure = coordinator.create_table(&path(), &append_schema()).await.unwrap_err();
    assert!(!failure.definite, "the lake table is there, the store's may be");
    run_for(A_MOMENT_MS, coordinator.run()).await;
    assert_eq!(request(&coordinator).await.unwrap().table.path, path());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_table_is_not_handed_out_and_its_holder_is_told() {
    let world = World::new();
    world.create(&append_schema()).await;
    run_for(A_MOMENT_MS, world.coordinator.run()).await;
    let held = request(&*world.coordinator).await.unwrap();
    world.coordinator.drop_table(&path()).await.unwrap();
    let told = world.coordinator.heartbeat(held.table.table_id, held.epoch).await.unwrap_err();
    assert_eq!(told.code, FailureCode::Rejected);
    run_for(2 * FRESHNESS_MS, world.coordinator.run()).await;
    assert_eq!(request(&*world.coordinator).await, None);
    assert!(world.lake_table().await.schema().lakestream_enabled(), "the lake table stays");
    assert_eq!(world.coordinator.drop_table(&path()).await.unwrap_err().code, FailureCode::NotFound);
}

#[tokio::test(start_paused = true)]
async fn leaving_the_mode_removes_the_key_in_the_lake_and_entering_it_writes_true() {
    let world = World::new();
    world.create(&append_schema()).await;
    let disable = BTreeMap::from([(LAKESTREAM_ENABLED.to_owned(), "false".to_owned())]);
    let enable = BTreeMap::from([(LAKESTREAM_ENABLED.to_owned(), "TRUE".to_owned())]);
    for (set, reset) in [(disable, Vec::new()), (no_options(), vec![LAKESTREAM_ENABLED.to_owned()])] {
        world.coordinator.alter_options(&path(), &set, &reset).await.unwrap();
        assert_eq!(world.lake_table().await.schema().options.get(LAKESTREAM_ENABLED), None, "never stored as false");
        run_for(2 * FRESHNESS_MS, world.coordinator.run()).await;
        assert_eq!(request(&*world.coordinator).await, None, "not tiered outside of the mode");

        world.coordinator.alter_options(&path(), &enable, &[]).await.unwrap();
        let options = world.lake_table().await.schema().options.clone();
        assert_eq!(options.get(LAKESTREAM_ENABLED).map(String::as_str), Some("true"));
        run_for(A_MOMENT_MS, world.coordinator.run()).await;
        assert!(request(&*world.coordinator).await.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn the_buckets_of_a_table_cannot_be_changed() {
    let world = World::new();
    world.create(&append_schema()).await;
    let set = BTreeMap::from([("bucket".to_owned(), "3".to_owned())]);
    let failure = world.coordinator.alter_options(&path(), &set, &[]).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));
}
