//! TRUNCATE, DROP PARTITION and INSERT OVERWRITE as the table offers them.

use std::collections::BTreeMap;

use models::contract::{FailureCode, Value};
use models::paimon::{CommitKind, CommitMode, OverwriteScope, PaimonTable, verify};

use crate::surroundings::*;

fn day(day: &str) -> BTreeMap<String, Value> {
    BTreeMap::from([("dt".to_owned(), Value::string(day))])
}

/// A table partitioned by `dt` with a row on each of three days.
async fn three_days(warehouse: &Warehouse) -> PaimonTable {
    let table = warehouse.create(&partitioned_schema()).await;
    append(&table, "a", &inserts(&[row(1, "a", "mon"), row(2, "a", "tue"), row(3, "a", "wed")])).await;
    table
}

#[tokio::test]
async fn a_truncated_table_is_empty_and_keeps_its_history() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    assert_eq!(table.truncate("nothing").await, Ok(None), "there is nothing to delete");
    append(&table, "a", &inserts(&[row(1, "x", "d")])).await;
    table.truncate("truncate").await.unwrap();
    let snapshot = latest(&table).await;
    assert_eq!((snapshot.commit_kind, snapshot.total_record_count), (CommitKind::Overwrite, 0));
    assert_eq!(snapshot.commit_identifier, i64::MAX);
    assert_eq!(rows(&table).await, []);
    assert_eq!(table.snapshot(1).await.unwrap().total_record_count, 1);
}

#[tokio::test]
async fn dropped_partitions_go_in_one_snapshot_and_the_rest_stays() {
    let warehouse = warehouse();
    let table = three_days(&warehouse).await;
    let outcome = table.drop_partitions("drop", &[day("mon"), day("wed"), day("never")]).await.unwrap();
    assert_eq!(outcome.map(|outcome| outcome.snapshot_id), Some(2));
    assert_eq!(rows(&table).await, [row(2, "a", "tue")]);
    assert_eq!(latest(&table).await.commit_kind, CommitKind::Overwrite);
    assert_eq!(verify(&*warehouse.lake.objects, &path()).await.findings, []);
}

#[tokio::test]
async fn what_names_no_partition_is_refused() {
    let table = three_days(&warehouse()).await;
    let unknown = BTreeMap::from([("v".to_owned(), Value::string("a"))]);
    let mistyped = BTreeMap::from([("dt".to_owned(), Value::Int(1))]);
    for partitions in [vec![], vec![BTreeMap::new()], vec![day("mon"), BTreeMap::new()], vec![unknown], vec![mistyped]]
    {
        let failure = table.drop_partitions("drop", &partitions).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true), "{partitions:?}");
    }
    assert_eq!(rows(&table).await.len(), 3);
}

#[tokio::test]
async fn rows_that_come_while_a_partition_is_dropped_survive() {
    let warehouse = warehouse();
    let table = three_days(&warehouse).await;
    let other = table.clone();
    let late = request(&table, "late", CommitMode::Append, &inserts(&[row(4, "late", "mon")])).await;
    warehouse.storage.line_up([CreateFault::After(Box::pin(async move {
        other.commit(late).await.unwrap();
    }))]);
    table.drop_partitions("drop", &[day("mon")]).await.unwrap();
    assert_eq!(rows(&table).await, [row(2, "a", "tue"), row(3, "a", "wed"), row(4, "late", "mon")]);
}

#[tokio::test]
async fn an_overwrite_replaces_its_scope() {
    let table = three_days(&warehouse()).await;
    let monday = by_bucket(&table, &inserts(&[row(5, "new", "mon")]));
    table.overwrite("dynamic", OverwriteScope::Dynamic, &monday).await.unwrap();
    assert_eq!(rows(&table).await, [row(2, "a", "tue"), row(3, "a", "wed"), row(5, "new", "mon")]);
    table.overwrite("static", OverwriteScope::Static(day("tue")), &BTreeMap::new()).await.unwrap();
    assert_eq!(rows(&table).await, [row(3, "a", "wed"), row(5, "new", "mon")]);
    assert_eq!(table.overwrite("nothing", OverwriteScope::Dynamic, &BTreeMap::new()).await, Ok(None));
    table.overwrite("whole", OverwriteScope::WholeTable, &monday).await.unwrap();
    assert_eq!(rows(&table).await, [row(5, "new", "mon")]);
}

#[tokio::test]
async fn an_overwrite_that_is_refused_leaves_no_files() {
    let warehouse = warehouse();
    let table = three_days(&warehouse).await;
    let before = warehouse.storage.memory.snapshot_all();
    let outside = by_bucket(&table, &inserts(&[row(5, "new", "tue")]));
    let failure = table.overwrite("outside", OverwriteScope::Static(day("mon")), &outside).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true));
    assert_eq!(warehouse.storage.memory.snapshot_all(), before);
}
