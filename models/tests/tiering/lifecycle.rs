//! The store's DDL and the lake's option, the legacy layout, and columns that are added on the store's side (C19, C20).

use std::collections::BTreeMap;

use models::contract::{
    Column, ColumnChange, Coordinator, DataType, FailureCode, LAKESTREAM_ENABLED, RoundEnd, Row, SYSTEM_COLUMNS, Store,
    TableSchema, Value,
};
use models::defects::Defect;
use models::paimon::{Catalog, FilesystemCatalog};

use crate::fixture::{World, append_schema, key_schema, no_options, only, path, row, rows};
use crate::hand_out::Setup;

/// The store's own name for the mode.
const DATALAKE_ENABLED: &str = "table.datalake.enabled";

fn set(option: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(option.to_owned(), value.to_owned())])
}

fn with_option(schema: TableSchema, option: &str, value: &str) -> TableSchema {
    let mut schema = schema;
    schema.options.insert(option.to_owned(), value.to_owned());
    schema
}

fn column(name: &str, data_type: DataType) -> Column {
    Column { name: name.to_owned(), data_type, nullable: true }
}

fn with_columns(schema: TableSchema, columns: &[(&str, DataType)]) -> TableSchema {
    let mut schema = schema;
    schema.columns.extend(columns.iter().map(|(name, data_type)| column(name, data_type.clone())));
    schema
}

async fn mark(world: &World) -> Option<String> {
    world.lake_table().await.schema().options.get(LAKESTREAM_ENABLED).cloned()
}

async fn make_lake_table(world: &World, schema: &TableSchema) {
    FilesystemCatalog::new(world.lake.clone()).create_table(&path(), schema, false).await.unwrap();
}

fn add(column: Column, position: Option<&str>) -> ColumnChange {
    ColumnChange::Add { column, position: position.map(str::to_owned) }
}

#[tokio::test(start_paused = true)]
async fn a_table_that_is_created_disabled_has_no_key_on_either_side_until_it_is_enabled() {
    let world = World::new();
    let table = world.create(&with_option(append_schema(), DATALAKE_ENABLED, "false")).await;
    assert_eq!((mark(&world).await, table.schema.options.get(LAKESTREAM_ENABLED)), (None, None));
    world.coordinator.alter_options(&path(), &set(DATALAKE_ENABLED, "true"), &[]).await.unwrap();
    assert_eq!(mark(&world).await.as_deref(), Some("true"));
    for reset in [DATALAKE_ENABLED, LAKESTREAM_ENABLED] {
        world.coordinator.alter_options(&path(), &no_options(), &[reset.to_owned()]).await.unwrap();
        assert_eq!(mark(&world).await, None);
        world.coordinator.alter_options(&path(), &set(LAKESTREAM_ENABLED, "true"), &[]).await.unwrap();
        assert_eq!(mark(&world).await.as_deref(), Some("true"), "also after a reset");
    }
}

#[tokio::test(start_paused = true)]
async fn a_create_disabled_that_was_cut_short_is_completed_by_its_repetition() {
    let world = World::new();
    make_lake_table(&world, &append_schema()).await;
    world.create(&with_option(append_schema(), DATALAKE_ENABLED, "false")).await;
    assert_eq!(mark(&world).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_round_whose_registration_was_lost_does_not_keep_its_table_out_of_the_mode() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &rows(0..3)).await;
    let deaf = crate::faults::FaultyStore {
        refuses_registration: true,
        ..crate::faults::FaultyStore::of(world.store.clone(), &world.environment)
    };
    Setup::plain(&world).with_store(std::rc::Rc::new(deaf)).round(&world, &table, 1).await;
    world.coordinator.alter_options(&path(), &no_options(), &[LAKESTREAM_ENABLED.to_owned()]).await.unwrap();
    world.coordinator.alter_options(&path(), &set(LAKESTREAM_ENABLED, "true"), &[]).await.unwrap();
    assert_eq!(world.registered(&table).await.unwrap().0, 1);
}

/// Found by P2: what is on already needs no agreement of the two sides (rule 64).
#[tokio::test(start_paused = true)]
async fn enabling_an_enabled_table_changes_nothing_whatever_the_lake_has_become() {
    let world = World::new();
    world.create(&append_schema()).await;
    let other = ColumnChange::Rename { from: "v".to_owned(), to: "u".to_owned() };
    FilesystemCatalog::new(world.lake.clone()).alter_columns(&path(), &[other]).await.unwrap();
    let before = world.lake_table().await.schema().clone();
    world.coordinator.alter_options(&path(), &set(LAKESTREAM_ENABLED, "true"), &[]).await.unwrap();
    assert_eq!(world.lake_table().await.schema(), &before);
    assert!(world.store.table(&path()).await.unwrap().schema.lakestream_enabled());
}

/// An empty lake table as older versions made it, and the store's table over it.
async fn legacy(world: &World) -> models::contract::StoreTable {
    make_lake_table(world, &with_option(with_columns(append_schema(), &SYSTEM_COLUMNS), "owner", "somebody")).await;
    world.create(&append_schema()).await
}

#[tokio::test(start_paused = true)]
async fn a_legacy_lake_table_is_adopted_and_its_options_are_never_touched() {
    let world = World::new();
    let table = legacy(&world).await;
    assert!(table.schema.lakestream_enabled());
    let untouched = world.lake_table().await.schema().options.clone();
    assert_eq!(untouched.get(LAKESTREAM_ENABLED), None);
    for (set, reset) in [
        (set(LAKESTREAM_ENABLED, "false"), vec![]),
        (set(LAKESTREAM_ENABLED, "true"), vec![]),
        (no_options(), vec![LAKESTREAM_ENABLED.to_owned()]),
        (set(DATALAKE_ENABLED, "true"), vec![]),
    ] {
        world.coordinator.alter_options(&path(), &set, &reset).await.unwrap();
        assert_eq!(world.lake_table().await.schema().options, untouched, "{set:?} {reset:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rows_that_reach_a_legacy_table_by_its_log_are_tiered_with_the_system_columns() {
    let world = World::new();
    let table = legacy(&world).await;
    world.put(&table, &rows(0..2)).await;
    assert_eq!(Setup::plain(&world).round(&world, &table, 5).await, RoundEnd::Finished);
    let tiered = world.lake_rows().await;
    let lake_table = world.lake_table().await;
    let bucket_of = |row: &Row| Value::Int(i64::from(lake_table.bucket_of(row).bucket));
    let buckets: Vec<Value> = rows(0..2).iter().map(bucket_of).collect();
    for (row, bucket) in tiered.iter().zip(buckets) {
        assert_eq!((row.cells().len(), &row[2]), (5, &bucket));
        assert!(matches!((&row[3], &row[4]), (Value::Int(0..2), Value::Timestamp { .. })), "{row:?}");
    }
    assert_eq!(tiered.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn system_columns_that_are_not_all_there_in_order_are_invalid() {
    let [bucket, offset, timestamp] = SYSTEM_COLUMNS;
    for (columns, why) in [
        (vec![bucket.clone(), offset.clone()], "partial"),
        (vec![offset.clone(), bucket.clone(), timestamp.clone()], "out of order"),
        (vec![bucket, ("__offset", DataType::Int), timestamp], "a wrong type"),
    ] {
        let world = World::new();
        make_lake_table(&world, &with_columns(append_schema(), &columns)).await;
        let failure = world.coordinator.create_table(&path(), &append_schema()).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true), "{why}: {failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn user_columns_named_like_system_columns_are_refused() {
    let world = World::new();
    for (name, data_type) in SYSTEM_COLUMNS {
        let schema = with_columns(append_schema(), &[(name, data_type.clone())]);
        let failure = world.coordinator.create_table(&path(), &schema).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true), "{failure}");
    }
    world.create(&append_schema()).await;
    for (name, data_type) in SYSTEM_COLUMNS {
        let change = add(column(name, data_type), None);
        let failure = world.coordinator.alter_columns(&path(), &[change]).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true), "{failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_column_is_added_last_on_both_sides_and_older_rows_have_null_there() {
    let world = World::new();
    let table = world.create(&append_schema()).await;
    world.put(&table, &[row(1, 1)]).await;
    let change = add(column("w", DataType::Int), Some("last"));
    world.coordinator.alter_columns(&path(), std::slice::from_ref(&change)).await.unwrap();
    let newer = world.store.table(&path()).await.unwrap();
    assert!(newer.schema.has_columns_like(world.lake_table().await.schema()));
    assert_eq!(newer.schema.columns.last().unwrap().name, "w");
    let wide = Row::new(vec![Value::Int(2), Value::Int(2), Value::Int(7)]);
    world.put(&newer, std::slice::from_ref(&wide)).await;
    assert_eq!(
        Setup::plain(&world).round(&world, &table, 5).await,
        RoundEnd::Failed,
        "a round that was handed out before the column came must not drop its values"
    );
    assert_eq!(Setup::plain(&world).round(&world, &newer, 6).await, RoundEnd::Finished);
    assert_eq!(world.lake_rows().await, [Row::new(vec![Value::Int(1), Value::Int(1), Value::Null]), wide]);
    assert_eq!(world.coordinator.alter_columns(&path(), &[change]).await.unwrap_err().code, FailureCode::Invalid);
}

#[tokio::test(start_paused = true)]
async fn in_a_legacy_table_a_column_is_added_before_the_system_columns() {
    let world = World::new();
    let table = legacy(&world).await;
    let changes = [add(column("w", DataType::Int), None), add(column("x", DataType::Int), None)];
    world.coordinator.alter_columns(&path(), &changes).await.unwrap();
    let names: Vec<String> = world.lake_table().await.schema().columns.iter().map(|it| it.name.clone()).collect();
    assert_eq!(names, ["id", "v", "w", "x", "__bucket", "__offset", "__timestamp"]);
    assert_eq!(world.store.table(&path()).await.unwrap().table_id, table.table_id);
}

#[tokio::test(start_paused = true)]
async fn an_addition_that_was_cut_short_is_completed_by_its_repetition() {
    let world = World::new();
    world.create(&key_schema()).await;
    let change = add(column("w", DataType::Int), None);
    let catalog = FilesystemCatalog::new(world.lake.clone());
    catalog.alter_columns(&path(), std::slice::from_ref(&change)).await.unwrap();
    world.coordinator.alter_columns(&path(), &[change]).await.unwrap();
    let store = world.store.table(&path()).await.unwrap();
    assert!(store.schema.has_columns_like(world.lake_table().await.schema()));
}

#[tokio::test(start_paused = true)]
async fn other_column_changes_are_refused_without_effect() {
    let world = World::new();
    world.create(&append_schema()).await;
    let not_null = Column { nullable: false, ..column("w", DataType::Int) };
    let rename = ColumnChange::Rename { from: "v".to_owned(), to: "w".to_owned() };
    for (change, code) in [
        (add(column("w", DataType::Int), Some("first")), FailureCode::Rejected),
        (add(column("w", DataType::Int), Some("1")), FailureCode::Rejected),
        (add(not_null, None), FailureCode::Rejected),
        (ColumnChange::Drop("v".to_owned()), FailureCode::Unsupported),
        (rename, FailureCode::Unsupported),
    ] {
        // Behind a change that would be allowed, because a statement is all or nothing.
        let changes = [add(column("ok", DataType::Int), None), change];
        let failure = world.coordinator.alter_columns(&path(), &changes).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (code, true), "{failure}");
        assert_eq!(world.lake_table().await.schema().columns.len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn false_stored_and_reset_then_enable_forgotten() {
    let reset = [LAKESTREAM_ENABLED.to_owned()];
    let world = World::with(only(Defect::FalseStored));
    world.create(&append_schema()).await;
    world.coordinator.alter_options(&path(), &no_options(), &reset).await.unwrap();
    assert_eq!(mark(&world).await.as_deref(), Some("false"));

    let world = World::with(only(Defect::ResetThenEnableForgotten));
    world.create(&append_schema()).await;
    world.coordinator.alter_options(&path(), &no_options(), &reset).await.unwrap();
    world.coordinator.alter_options(&path(), &set(LAKESTREAM_ENABLED, "true"), &[]).await.unwrap();
    assert_eq!(mark(&world).await, None);
}

#[tokio::test(start_paused = true)]
async fn legacy_marked_marks() {
    let world = World::with(only(Defect::LegacyMarked));
    legacy(&world).await;
    assert_eq!(mark(&world).await.as_deref(), Some("true"));
}

#[tokio::test(start_paused = true)]
async fn system_column_accepted_and_column_in_the_middle() {
    let world = World::with(only(Defect::SystemColumnAccepted));
    world.create(&with_columns(append_schema(), &[("__offset", DataType::Int)])).await;

    let world = World::with(only(Defect::ColumnInTheMiddle));
    world.create(&append_schema()).await;
    world.coordinator.alter_columns(&path(), &[add(column("w", DataType::Int), Some("1"))]).await.unwrap();
    assert_eq!(world.lake_table().await.schema().columns[1].name, "w");
}
