//! Tables with merge engines and changelogs: what is written in batches is read back merged.

use std::collections::BTreeMap;

use models::contract::{Column, DataType, Failure, FailureCode, ObjectStore, Row, RowKind, TableSchema, Value};
use models::paimon::{
    ChangelogProducer, CommitMode, CompactionKind, MergeOptions, OverwriteScope, PaimonTable, SchemaFile, Verification,
    verify,
};
use proptest::prelude::*;

use crate::surroundings::*;

use RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};

/// A key table of one bucket with the key `id`, and `at`, `n` and `v`.
fn schema(options: &[(&str, &str)]) -> TableSchema {
    let column =
        |(name, data_type): (&str, DataType)| Column { name: name.to_owned(), data_type, nullable: name != "id" };
    let columns = [("id", DataType::BigInt), ("at", DataType::Int), ("n", DataType::BigInt), ("v", DataType::STRING)];
    let options = [&[("bucket", "1")][..], options].concat();
    TableSchema {
        columns: columns.map(column).to_vec(),
        primary_key: vec!["id".to_owned()],
        partition_keys: Vec::new(),
        options: options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    }
}

/// A table that another Paimon created; the catalog's own rules do not matter here.
async fn created(warehouse: &Warehouse, options: &[(&str, &str)]) -> PaimonTable {
    let file = SchemaFile::first(&schema(options), 0).encode().unwrap();
    warehouse.storage.memory.put("db.db/t/schema/schema-0", file).await.unwrap();
    PaimonTable::open(&warehouse.lake, &path()).await.unwrap()
}

/// A row; `None` is NULL and the empty text.
fn record(id: i64, at: Option<i64>, n: Option<i64>, v: &str) -> Row {
    let int = |number: Option<i64>| number.map_or(Value::Null, Value::Int);
    let text = if v.is_empty() { Value::Null } else { Value::string(v) };
    Row::new(vec![Value::Int(id), int(at), int(n), text])
}

async fn changelog(table: &PaimonTable) -> Vec<(RowKind, Row)> {
    table.changelog(&latest(table).await).await.unwrap().into_values().flatten().collect()
}

async fn assert_sound(warehouse: &Warehouse) {
    assert_eq!(verify(&*warehouse.lake.objects, &path()).await.findings, []);
}

async fn refusal(table: &PaimonTable, changes: &[(RowKind, Row)]) -> Failure {
    let failure = table.write("refused", None, &by_bucket(table, changes)).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true), "{failure}");
    failure
}

#[tokio::test]
async fn partial_update_fills_a_row_from_batches() {
    let warehouse = warehouse();
    let table = created(&warehouse, &[("merge-engine", "partial-update")]).await;
    append(&table, "a", &inserts(&[record(1, Some(1), None, ""), record(1, None, Some(5), "")])).await;
    append(&table, "b", &inserts(&[record(1, None, None, "x"), record(2, None, Some(2), "")])).await;
    append(&table, "c", &[(UpdateAfter, record(1, None, Some(6), ""))]).await;
    assert_eq!(rows(&table).await, [record(1, Some(1), Some(6), "x"), record(2, None, Some(2), "")]);
    assert!(refusal(&table, &[(Delete, record(1, None, None, ""))]).await.message.contains("partial-update"));
    assert_sound(&warehouse).await;
}

#[tokio::test]
async fn aggregation_adds_up_and_takes_back() {
    let warehouse = warehouse();
    let options = [
        ("merge-engine", "aggregation"),
        ("fields.n.aggregate-function", "sum"),
        ("fields.at.ignore-retract", "true"),
        ("fields.v.aggregate-function", "listagg"),
        ("fields.v.ignore-retract", "true"),
    ];
    let table = created(&warehouse, &options).await;
    append(&table, "a", &inserts(&[record(1, Some(1), Some(5), "x"), record(1, Some(2), Some(7), "y")])).await;
    append(&table, "b", &[(Delete, record(1, Some(9), Some(2), "x")), (Insert, record(2, None, None, ""))]).await;
    assert_eq!(rows(&table).await, [record(1, Some(2), Some(10), "x,y"), record(2, None, None, "")]);
    assert_sound(&warehouse).await;
}

#[tokio::test]
async fn a_sequence_field_lets_late_changes_lose() {
    let warehouse = warehouse();
    let table = created(&warehouse, &[("sequence.field", "at")]).await;
    append(&table, "a", &inserts(&[record(1, Some(10), None, "ten"), record(1, Some(9), None, "nine")])).await;
    append(&table, "b", &[(Delete, record(1, Some(8), None, "")), (Insert, record(2, None, None, "never"))]).await;
    append(&table, "c", &inserts(&[record(1, Some(10), None, "ten again"), record(2, Some(0), None, "now")])).await;
    assert_eq!(rows(&table).await, [record(1, Some(10), None, "ten again"), record(2, Some(0), None, "now")]);
}

#[tokio::test]
async fn what_is_ignored_is_not_written() {
    let table = created(&warehouse(), &[("ignore-delete", "true")]).await;
    append(&table, "a", &inserts(&[record(1, None, None, "x")])).await;
    append(&table, "b", &[(Delete, record(1, None, None, "x")), (UpdateBefore, record(1, None, None, "x"))]).await;
    assert_eq!(rows(&table).await, [record(1, None, None, "x")]);
    assert_eq!(latest(&table).await.total_record_count, 1);
}

#[tokio::test]
async fn a_column_says_what_a_change_does() {
    let table = created(&warehouse(), &[("rowkind.field", "v")]).await;
    append(&table, "a", &inserts(&[record(1, None, None, "+I"), record(2, None, None, "+U")])).await;
    append(&table, "b", &inserts(&[record(1, None, None, "-D")])).await;
    assert_eq!(rows(&table).await, [record(2, None, None, "+U")]);
    assert!(refusal(&table, &inserts(&[record(1, None, None, "?")])).await.message.contains("`rowkind.field`"));
}

#[tokio::test]
async fn first_rows_are_hidden_until_they_are_compacted() {
    let table = created(&warehouse(), &[("merge-engine", "first-row")]).await;
    append(&table, "a", &inserts(&[record(1, None, None, "first"), record(1, None, None, "second")])).await;
    assert_eq!(rows(&table).await, Vec::<Row>::new());
    let added: Vec<_> = table.delta(&latest(&table).await).await.unwrap().into_values().flatten().collect();
    assert_eq!(added, inserts(&[record(1, None, None, "first")]));
    assert!(refusal(&table, &[(Delete, record(1, None, None, ""))]).await.message.contains("first-row"));
    for (number, kind) in [CompactionKind::Full, CompactionKind::Automatic].into_iter().enumerate() {
        append(&table, &format!("{number}"), &inserts(&[record(1, None, None, "late")])).await;
        assert!(compact(&table, &format!("compaction {number}"), kind).await);
        assert_eq!(rows(&table).await, [record(1, None, None, "first")]);
    }
}

#[tokio::test]
async fn options_that_make_no_sense_are_told_when_the_table_is_used() {
    let table = created(&warehouse(), &[("merge-engine", "newest")]).await;
    assert!(refusal(&table, &inserts(&[record(1, None, None, "x")])).await.message.contains("`merge-engine`"));
}

#[tokio::test]
async fn an_input_changelog_holds_every_change_in_the_order_of_its_key() {
    let table = created(&warehouse(), &[("changelog-producer", "input"), ("changelog-file.format", "avro")]).await;
    append(&table, "a", &inserts(&[record(2, None, None, "b"), record(1, None, None, "a")])).await;
    assert_eq!(changelog(&table).await, inserts(&[record(1, None, None, "a"), record(2, None, None, "b")]));
    let changes = [
        (Delete, record(2, None, None, "b")),
        (UpdateBefore, record(1, None, None, "a")),
        (UpdateAfter, record(1, None, None, "A")),
        (Insert, record(3, None, None, "c")),
        (Delete, record(3, None, None, "c")),
    ];
    append(&table, "b", &changes).await;
    let by_key = [1, 2, 0, 3, 4].map(|index| changes[index].clone());
    assert_eq!(changelog(&table).await, by_key);
    let snapshot = latest(&table).await;
    assert_eq!((snapshot.changelog_record_count, snapshot.delta_record_count), (Some(5), 3));
    assert_eq!(rows(&table).await, [record(1, None, None, "A")]);
}

#[tokio::test]
async fn an_overwrite_tells_no_changes() {
    let table = created(&warehouse(), &[]).await;
    append(&table, "a", &inserts(&[record(1, None, None, "x")])).await;
    assert_eq!(changelog(&table).await, inserts(&[record(1, None, None, "x")]));
    let mode = CommitMode::Overwrite { partitions: OverwriteScope::WholeTable };
    let overwrite = inserts(&[record(2, None, None, "y")]);
    table.commit(request(&table, "b", mode, &overwrite).await).await.unwrap();
    assert_eq!(changelog(&table).await, []);
    assert_eq!(rows(&table).await, [record(2, None, None, "y")]);
}

#[tokio::test]
async fn an_abandoned_write_leaves_no_changelog_file() {
    let warehouse = warehouse();
    let table = created(&warehouse, &[("changelog-producer", "input")]).await;
    let changes = by_bucket(&table, &inserts(&[record(1, None, None, "x")]));
    let committable = table.write("a", None, &changes).await.unwrap();
    assert_eq!(warehouse.storage.memory.list("db.db/t/bucket-0").await.unwrap().len(), 2);
    table.abort(&committable).await.unwrap();
    assert_eq!(verify(&*warehouse.lake.objects, &path()).await, Verification::default());
}

#[test]
fn the_producers_are_the_four_of_paimon() {
    for (value, producer) in [
        ("none", ChangelogProducer::None),
        ("input", ChangelogProducer::Input),
        ("lookup", ChangelogProducer::Lookup),
        ("full-compaction", ChangelogProducer::FullCompaction),
    ] {
        let options = MergeOptions::of(&schema(&[("changelog-producer", value)])).unwrap();
        assert_eq!(options.changelog_producer, producer);
    }
}

/// Changes of one batch: key, `at`, `n`.
type Batch = Vec<(i64, Option<i64>, Option<i64>)>;

/// Batches of changes.
fn batches() -> impl Strategy<Value = Vec<Batch>> {
    let cell = || prop::option::weighted(0.8, 0..5_i64);
    prop::collection::vec(prop::collection::vec((0..3_i64, cell(), cell()), 1..4), 1..6)
}

/// The table's rows after these batches, and what its changelog told on the way.
async fn written(options: &[(&str, &str)], batches: &[Batch], compacts: bool) -> (Vec<Row>, Vec<(RowKind, Row)>) {
    let table = created(&warehouse(), options).await;
    let mut told = Vec::new();
    for (number, batch) in batches.iter().enumerate() {
        let records: Vec<Row> = batch.iter().map(|(id, at, n)| record(*id, *at, *n, "")).collect();
        append(&table, &format!("batch-{number}"), &inserts(&records)).await;
        told.extend(changelog(&table).await);
        if compacts {
            compact(&table, &format!("compaction-{number}"), CompactionKind::Automatic).await;
        }
    }
    (rows(&table).await, told)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn sums_depend_neither_on_batches_nor_on_compactions(batches in batches(), compacts: bool) {
        let options = [
            ("merge-engine", "aggregation"),
            ("fields.n.aggregate-function", "sum"),
            ("fields.at.aggregate-function", "max"),
            ("num-sorted-run.compaction-trigger", "2"),
        ];
        let mut model: BTreeMap<i64, (Option<i64>, Option<i64>)> = BTreeMap::new();
        for (id, at, n) in batches.iter().flatten() {
            let (greatest, total) = model.entry(*id).or_default();
            *greatest = (*greatest).max(*at);
            *total = n.map_or(*total, |n| Some(total.unwrap_or_default() + n));
        }
        let expected: Vec<Row> = model.into_iter().map(|(id, (at, n))| record(id, at, n, "")).collect();
        prop_assert_eq!(block_on(written(&options, &batches, compacts)).0, expected);
    }

    #[test]
    fn a_sequence_field_and_a_changelog_agree_with_a_map(batches in batches(), compacts: bool) {
        let mut model: BTreeMap<i64, Row> = BTreeMap::new();
        for (id, at, n) in batches.iter().flatten() {
            let row = record(*id, *at, *n, "");
            if model.get(id).is_none_or(|present| present[1] <= row[1]) {
                model.insert(*id, row);
            }
        }
        let options = [
            ("sequence.field", "at"),
            ("changelog-producer", "input"),
            ("num-sorted-run.compaction-trigger", "2"),
        ];
        let (rows, told) = block_on(written(&options, &batches, compacts));
        prop_assert_eq!(rows, model.into_values().collect::<Vec<_>>());
        let mut all: Vec<Row> = told.into_iter().map(|(_, row)| row).collect();
        let mut expected: Vec<Row> = batches.iter().flatten().map(|(id, at, n)| record(*id, *at, *n, "")).collect();
        all.sort();
        expected.sort();
        prop_assert_eq!(all, expected);
    }
}
