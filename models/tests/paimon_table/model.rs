//! Any sequence of commits to a partitioned table leaves what a map, or a list, would hold.

use std::collections::BTreeMap;

use models::contract::{Filter, Row, RowKind, Value};
use models::paimon::{CommitMode, CompactionKind, OverwriteScope, Verification, verify};
use proptest::prelude::*;

use crate::surroundings::*;

/// What happens to a table of keys in partitions; days and keys are numbers.
#[derive(Clone, Debug)]
enum PartitionedStep {
    /// Upserts (`true`) and deletes.
    Change(Vec<(i64, i64, bool)>),
    /// Replaces the partitions of the new rows.
    OverwriteDynamic(Vec<(i64, i64)>),
    /// Replaces one partition by rows of these keys.
    OverwriteStatic(i64, Vec<i64>),
    /// Drops partitions.
    Drop(Vec<i64>),
    /// Deletes everything.
    Truncate,
    /// Rewrites files, not rows.
    Compact(CompactionKind),
}

fn compaction_kind() -> impl Strategy<Value = CompactionKind> {
    prop_oneof![Just(CompactionKind::Full), Just(CompactionKind::Automatic)]
}

fn partitioned_steps() -> impl Strategy<Value = Vec<PartitionedStep>> {
    let (day, key) = (|| 0..3_i64, || 0..4_i64);
    let step = prop_oneof![
        4 => prop::collection::vec((day(), key(), any::<bool>()), 0..5).prop_map(PartitionedStep::Change),
        1 => prop::collection::vec((day(), key()), 0..4).prop_map(PartitionedStep::OverwriteDynamic),
        1 => (day(), prop::collection::vec(key(), 0..3))
            .prop_map(|(day, keys)| PartitionedStep::OverwriteStatic(day, keys)),
        1 => prop::collection::vec(day(), 1..3).prop_map(PartitionedStep::Drop),
        1 => Just(PartitionedStep::Truncate),
        2 => compaction_kind().prop_map(PartitionedStep::Compact),
    ];
    prop::collection::vec(step, 1..10)
}

fn partition(day: i64) -> BTreeMap<String, Value> {
    BTreeMap::from([("dt".to_owned(), Value::string(&format!("day {day}")))])
}

/// Every snapshot holds what the map held then, whole and by partition, also after all later steps.
async fn partitioned_key_table_equals_map(steps: Vec<PartitionedStep>, options: &[(&str, &str)]) {
    let warehouse = warehouse();
    let mut schema = with_option(partitioned_schema(), "bucket", "2");
    schema.primary_key = vec!["id".to_owned(), "dt".to_owned()];
    for column in schema.columns.iter_mut().filter(|column| column.name != "v") {
        column.nullable = false;
    }
    for (option, value) in options {
        schema = with_option(schema, option, value);
    }
    let table = warehouse.create(&schema).await;
    let mut model: BTreeMap<(i64, i64), Row> = BTreeMap::new();
    let mut of_snapshots: BTreeMap<u64, BTreeMap<(i64, i64), Row>> = BTreeMap::new();
    for (number, step) in steps.into_iter().enumerate() {
        let subject = format!("step-{number}");
        let new = |day: i64, key: i64, index: usize| row(key, &format!("{number}.{index}"), &format!("day {day}"));
        match step {
            PartitionedStep::Change(keys) => {
                let mut changes = Vec::new();
                for (index, (day, key, present)) in keys.into_iter().enumerate() {
                    let row = new(day, key, index);
                    changes.push((if present { RowKind::Insert } else { RowKind::Delete }, row.clone()));
                    if present {
                        model.insert((day, key), row)
                    } else {
                        model.remove(&(day, key))
                    };
                }
                append(&table, &subject, &changes).await;
            }
            PartitionedStep::OverwriteDynamic(keys) => {
                model.retain(|(day, _), _| keys.iter().all(|(overwritten, _)| overwritten != day));
                let rows: Vec<Row> = keys.iter().enumerate().map(|(i, (day, key))| new(*day, *key, i)).collect();
                let changes = by_bucket(&table, &inserts(&rows));
                table.overwrite(&subject, OverwriteScope::Dynamic, &changes).await.unwrap();
                model.extend(keys.into_iter().zip(rows));
            }
            PartitionedStep::OverwriteStatic(day, keys) => {
                model.retain(|(overwritten, _), _| *overwritten != day);
                let rows: Vec<Row> = keys.iter().enumerate().map(|(i, key)| new(day, *key, i)).collect();
                let changes = by_bucket(&table, &inserts(&rows));
                table.overwrite(&subject, OverwriteScope::Static(partition(day)), &changes).await.unwrap();
                model.extend(keys.into_iter().map(|key| (day, key)).zip(rows));
            }
            PartitionedStep::Drop(days) => {
                model.retain(|(day, _), _| !days.contains(day));
                let partitions: Vec<_> = days.into_iter().map(partition).collect();
                table.drop_partitions(&subject, &partitions).await.unwrap();
            }
            PartitionedStep::Truncate => {
                model.clear();
                table.truncate(&subject).await.unwrap();
            }
            PartitionedStep::Compact(kind) => {
                compact(&table, &subject, kind).await;
            }
        }
        if let Some(latest) = table.latest_snapshot().await.unwrap() {
            of_snapshots.insert(latest.id, model.clone());
        }
        for (snapshot_id, expected) in &of_snapshots {
            let snapshot = table.snapshot(*snapshot_id).await.unwrap();
            let read = async |filter: &Filter| {
                let mut rows: Vec<Row> = table.scan(&snapshot, filter).await.unwrap().into_values().flatten().collect();
                rows.sort();
                rows
            };
            let sorted = |mut rows: Vec<Row>| {
                rows.sort();
                rows
            };
            let all = sorted(expected.values().cloned().collect());
            assert_eq!(read(&Filter::new()).await, all, "snapshot {snapshot_id} after step {number}");
            let monday = expected.iter().filter(|((day, _), _)| *day == 0).map(|(_, row)| row.clone()).collect();
            assert_eq!(read(&partition(0)).await, sorted(monday), "a day of it after step {number}");
        }
    }
    assert_eq!(verify(&*warehouse.lake.objects, &path()).await, Verification::default());
}

/// What happens to an append table in partitions.
#[derive(Clone, Debug)]
enum AppendStep {
    /// Two rows of this day.
    Append(i64),
    /// Two rows of this day in place of all that it had.
    Overwrite(i64),
    /// Puts files together, not rows.
    Compact(CompactionKind),
}

fn append_steps() -> impl Strategy<Value = Vec<AppendStep>> {
    let step = prop_oneof![
        3 => (0..3_i64).prop_map(AppendStep::Append),
        2 => (0..3_i64).prop_map(AppendStep::Overwrite),
        1 => compaction_kind().prop_map(AppendStep::Compact),
    ];
    prop::collection::vec(step, 1..12)
}

async fn partitioned_table_equals_list(steps: Vec<AppendStep>) {
    let warehouse = warehouse();
    let table = warehouse.create(&with_option(partitioned_schema(), "compaction.min.file-num", "2")).await;
    let mut model: Vec<Row> = Vec::new();
    for (number, step) in steps.into_iter().enumerate() {
        let subject = number.to_string();
        let rows_of = |day: i64| ["x", "y"].map(|value| row(number as i64, value, &format!("day {day}")));
        let (day, mode) = match step {
            AppendStep::Append(day) => (day, CommitMode::Append),
            AppendStep::Overwrite(day) => {
                let overwritten = Value::string(&format!("day {day}"));
                model.retain(|row| row[2] != overwritten);
                (day, CommitMode::Overwrite { partitions: OverwriteScope::Dynamic })
            }
            AppendStep::Compact(kind) => {
                compact(&table, &subject, kind).await;
                continue;
            }
        };
        model.extend(rows_of(day));
        table.commit(request(&table, &subject, mode, &inserts(&rows_of(day))).await).await.unwrap();
    }
    model.sort();
    assert_eq!(rows(&table).await, model);
    assert_eq!(verify(&*warehouse.lake.objects, &path()).await, Verification::default());
}

fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_partitioned_key_table_equals_a_map(steps in partitioned_steps(), eager_merges in any::<bool>()) {
        let eager: &[(&str, &str)] =
            &[("manifest.merge-min-count", "2"), ("manifest.full-compaction-threshold-size", "4 kb")];
        block_on(partitioned_key_table_equals_map(steps, if eager_merges { eager } else { &[] }));
    }

    #[test]
    fn a_partitioned_append_table_equals_a_list(steps in append_steps()) {
        block_on(partitioned_table_equals_list(steps));
    }
}
