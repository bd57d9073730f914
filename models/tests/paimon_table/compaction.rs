//! Compaction: fewer files, the same rows, and nothing visible before its commit.

use models::contract::{FailureCode, ObjectStore, Row, RowKind, TableSchema};
use models::paimon::{CommitKind, CommitMode, CompactionKind, PaimonTable, Verification, verify};
use proptest::prelude::*;

use crate::surroundings::*;

use CompactionKind::{Automatic, Full};

/// A key table of one bucket whose compaction begins at two sorted runs.
fn eager_schema() -> TableSchema {
    with_option(with_option(key_schema(), "bucket", "1"), "num-sorted-run.compaction-trigger", "2")
}

/// An append table of one bucket that is compacted from two files on.
fn bucketed_schema() -> TableSchema {
    let one_bucket = with_option(with_option(append_schema(), "bucket", "1"), "bucket-key", "id");
    with_option(one_bucket, "compaction.min.file-num", "2")
}

/// The data files in the object store.
async fn data_files(warehouse: &Warehouse) -> Vec<String> {
    let files = warehouse.storage.memory.list("db.db/t").await.unwrap();
    files.into_iter().filter(|file| file.contains("/bucket-")).collect()
}

async fn upsert(table: &PaimonTable, subject: &str, ids: &[i64]) {
    let rows: Vec<Row> = ids.iter().map(|id| row(*id, subject, "d")).collect();
    append(table, subject, &inserts(&rows)).await;
}

async fn delete(table: &PaimonTable, subject: &str, id: i64) {
    append(table, subject, &[(RowKind::Delete, row(id, subject, "d"))]).await;
}

/// The rows in the order in which the only bucket is read.
async fn rows_in_order(table: &PaimonTable) -> Vec<Row> {
    let snapshot = latest(table).await;
    table.scan(&snapshot, &Default::default()).await.unwrap().into_values().flatten().collect()
}

async fn is_sound(warehouse: &Warehouse) {
    assert_eq!(verify(&*warehouse.lake.objects, &path()).await, Verification::default());
}

#[tokio::test]
async fn a_full_compaction_leaves_one_change_a_key_and_no_deletes() {
    let warehouse = warehouse();
    let table = warehouse.create(&eager_schema()).await;
    upsert(&table, "a", &[1, 2, 3]).await;
    upsert(&table, "b", &[2]).await;
    delete(&table, "c", 3).await;
    let before = rows(&table).await;
    assert_eq!(latest(&table).await.total_record_count, 5);

    assert!(compact(&table, "compaction", Full).await);
    let snapshot = latest(&table).await;
    assert_eq!((snapshot.commit_kind, snapshot.total_record_count), (CommitKind::Compact, 2));
    assert_eq!((snapshot.delta_record_count, snapshot.id), (-3, 4));
    assert_eq!(rows(&table).await, before);
    is_sound(&warehouse).await;
    assert!(!compact(&table, "again", Full).await, "there is nothing left to do");
}

#[tokio::test]
async fn nothing_is_visible_before_the_commit_and_an_aborted_compaction_leaves_nothing() {
    let warehouse = warehouse();
    let table = warehouse.create(&eager_schema()).await;
    upsert(&table, "a", &[1, 2]).await;
    upsert(&table, "b", &[2]).await;
    let (before, files_before) = (rows(&table).await, data_files(&warehouse).await);
    let request = compaction(&table, "compaction", Full).await.unwrap();
    assert_eq!(rows(&table).await, before);
    assert_eq!(data_files(&warehouse).await.len(), files_before.len() + 1);
    table.abort(&request.committable).await.unwrap();
    assert_eq!(data_files(&warehouse).await, files_before);
}

#[tokio::test]
async fn a_file_without_neighbours_only_moves_and_outlives_an_abort() {
    let warehouse = warehouse();
    let table = warehouse.create(&eager_schema()).await;
    upsert(&table, "a", &[1, 2]).await;
    let (before, files_before) = (rows(&table).await, data_files(&warehouse).await);
    let aborted = compaction(&table, "aborted", Full).await.unwrap();
    table.abort(&aborted.committable).await.unwrap();
    assert_eq!(rows(&table).await, before);

    assert!(compact(&table, "compaction", Full).await);
    assert_eq!(data_files(&warehouse).await, files_before);
    assert_eq!(rows(&table).await, before);
    is_sound(&warehouse).await;
}

#[tokio::test]
async fn an_automatic_compaction_waits_for_its_trigger() {
    let warehouse = warehouse();
    let table = warehouse.create(&with_option(key_schema(), "bucket", "1")).await;
    for number in 0..4 {
        upsert(&table, &format!("{number}"), &[1, number]).await;
        assert!(!compact(&table, &format!("compaction {number}"), Automatic).await);
    }
    upsert(&table, "4", &[1, 4]).await;
    let before = rows(&table).await;
    assert!(compact(&table, "compaction", Automatic).await);
    assert_eq!(rows(&table).await, before);
    assert_eq!(latest(&table).await.total_record_count, before.len() as i64);
}

#[tokio::test]
async fn a_delete_stays_while_an_older_run_holds_its_key() {
    let warehouse = warehouse();
    let table = warehouse.create(&eager_schema()).await;
    upsert(&table, "old", &(0..400).collect::<Vec<_>>()).await;
    compact(&table, "to the top", Full).await;
    upsert(&table, "a", &[1]).await;
    delete(&table, "b", 2).await;
    let before = rows(&table).await;
    assert!(compact(&table, "of the newer ones", Automatic).await);
    assert_eq!(rows(&table).await, before);
    assert_eq!(latest(&table).await.total_record_count, 402, "the delete is still there");
    assert!(compact(&table, "of everything", Full).await);
    assert_eq!(rows(&table).await, before);
    assert_eq!(latest(&table).await.total_record_count, 399);
    is_sound(&warehouse).await;
}

#[tokio::test]
async fn large_results_become_several_files_without_overlap() {
    let warehouse = warehouse();
    let table = warehouse.create(&with_option(eager_schema(), "target-file-size", "4 kb")).await;
    upsert(&table, "a", &(0..1000).collect::<Vec<_>>()).await;
    upsert(&table, "b", &(500..1500).collect::<Vec<_>>()).await;
    let (before, files_before) = (rows(&table).await, data_files(&warehouse).await.len());
    assert!(compact(&table, "compaction", Full).await);
    assert!(data_files(&warehouse).await.len() > files_before + 1);
    assert_eq!(rows(&table).await, before);
    // Overlapping keys of one level would be found.
    is_sound(&warehouse).await;
    assert!(!compact(&table, "again", Full).await, "small files at the top are not rewritten for ever");
}

#[tokio::test]
async fn of_equal_sequence_numbers_the_later_commit_stands_though_the_earlier_one_is_compacted_after_it() {
    let warehouse = warehouse();
    let table = warehouse.create(&eager_schema()).await;
    let earlier = request(&table, "earlier", CommitMode::Append, &inserts(&[row(1, "earlier", "d")])).await;
    let later = request(&table, "later", CommitMode::Append, &inserts(&[row(1, "later", "d")])).await;
    table.commit(earlier).await.unwrap();
    let compaction_of_earlier = compaction(&table, "compaction", Full).await.unwrap();
    table.commit(later).await.unwrap();
    table.commit(compaction_of_earlier).await.unwrap();
    assert_eq!(rows(&table).await, [row(1, "later", "d")]);
    assert!(compact(&table, "of both", Full).await);
    assert_eq!(rows(&table).await, [row(1, "later", "d")]);
}

#[tokio::test]
async fn a_compaction_whose_files_are_gone_is_rejected() {
    let warehouse = warehouse();
    let table = warehouse.create(&eager_schema()).await;
    upsert(&table, "a", &[1]).await;
    upsert(&table, "b", &[1]).await;
    let first = compaction(&table, "first", Full).await.unwrap();
    let second = compaction(&table, "second", Full).await.unwrap();
    table.commit(first).await.unwrap();
    let failure = table.commit(second).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true), "{}", failure.message);
}

#[tokio::test]
async fn a_compaction_that_dropped_a_delete_is_rejected_if_an_older_change_came_meanwhile() {
    let warehouse = warehouse();
    let table = warehouse.create(&eager_schema()).await;
    upsert(&table, "a", &[1]).await;
    // Both start from one snapshot; the upsert has the lower sequence number and is committed last.
    let upsert = request(&table, "upsert", CommitMode::Append, &inserts(&[row(1, "upsert", "d")])).await;
    let changes = [(RowKind::Insert, row(2, "x", "d")), (RowKind::Delete, row(1, "x", "d"))];
    append(&table, "delete", &changes).await;
    let compaction = compaction(&table, "compaction", Full).await.unwrap();
    table.commit(upsert).await.unwrap();
    let before = rows(&table).await;
    assert_eq!(before, [row(2, "x", "d")]);
    let failure = table.commit(compaction).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::Rejected, "{}", failure.message);
    compact(&table, "planned again", Full).await;
    assert_eq!(rows(&table).await, before);
}

#[tokio::test]
async fn an_append_bucket_keeps_its_order() {
    let warehouse = warehouse();
    let table = warehouse.create(&bucketed_schema()).await;
    for number in 0..3 {
        upsert(&table, &format!("write {number}"), &[number, number + 10]).await;
    }
    let before = rows_in_order(&table).await;
    assert!(compact(&table, "the first two", Automatic).await);
    assert_eq!(rows_in_order(&table).await, before);
    upsert(&table, "write 3", &[3]).await;
    let before = rows_in_order(&table).await;
    assert_eq!(before.last(), Some(&row(3, "write 3", "d")));
    assert!(compact(&table, "everything", Full).await);
    assert_eq!(rows_in_order(&table).await, before);
    assert_eq!(latest(&table).await.total_record_count, 7);
    is_sound(&warehouse).await;
}

#[tokio::test]
async fn a_bucket_unaware_table_puts_small_files_together() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    for number in 0..5 {
        assert!(!compact(&table, &format!("compaction {number}"), Automatic).await);
        upsert(&table, &format!("write {number}"), &[number]).await;
    }
    let before = rows(&table).await;
    assert!(compact(&table, "compaction", Automatic).await);
    assert_eq!(rows(&table).await, before);
    assert_eq!(data_files(&warehouse).await.len(), 6);
    is_sound(&warehouse).await;
}

#[tokio::test]
async fn of_a_first_row_table_the_first_row_stands_once_and_is_seen_once_it_is_compacted() {
    let warehouse = warehouse();
    let schema = with_option(with_option(key_schema(), "bucket", "1"), "merge-engine", "first-row");
    let table = warehouse.create_unchecked(&schema).await;
    upsert(&table, "first", &(0..400).collect::<Vec<_>>()).await;
    assert!(rows(&table).await.is_empty());
    assert!(compact(&table, "to the top", Full).await);
    upsert(&table, "second", &[1, 400]).await;
    assert!(compact(&table, "of level 0", Automatic).await, "level 0 never waits");
    let expected: Vec<Row> = (0..=400).map(|id| row(id, if id < 400 { "first" } else { "second" }, "d")).collect();
    assert_eq!(rows(&table).await, expected);
    assert_eq!(latest(&table).await.total_record_count, 401, "readers who do not merge see every key once");
}

#[tokio::test]
async fn a_table_with_dynamic_buckets_is_not_written() {
    let warehouse = warehouse();
    let table = warehouse.create_unchecked(&with_option(key_schema(), "bucket", "-1")).await;
    let failure = table.write("write", None, &by_bucket(&table, &inserts(&[row(1, "a", "d")]))).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Unsupported, true));
    assert!(failure.message.contains("dynamic buckets"), "{}", failure.message);
}

#[tokio::test]
async fn a_table_whose_compaction_would_owe_a_changelog_is_not_compacted() {
    let warehouse = warehouse();
    let table = warehouse.create_unchecked(&with_option(eager_schema(), "changelog-producer", "lookup")).await;
    upsert(&table, "a", &[1]).await;
    let failure = table.compact("compaction", &latest(&table).await, Full).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Unsupported, true));
    assert!(failure.message.contains("changelog-producer"), "{}", failure.message);
}

#[tokio::test]
async fn a_table_whose_compactions_must_look_up_is_refused_where_ours_would_leave_parts_of_rows() {
    let sums = [("merge-engine", "aggregation"), ("fields.v.aggregate-function", "listagg")];
    let vectors = [("deletion-vectors.enabled", "true"), ("deletion-vectors.merge-on-read", "true")];
    for (options, is_refused) in [
        (sums.to_vec(), true),
        (vec![("merge-engine", "partial-update")], true),
        (vec![], false),
        (sums.into_iter().chain(vectors).collect(), false),
    ] {
        let schema = with_option(eager_schema(), "force-lookup", "true");
        let schema = options.iter().fold(schema, |schema, (option, value)| with_option(schema, option, value));
        let table = warehouse().create_unchecked(&schema).await;
        for subject in ["a", "b"] {
            upsert(&table, subject, &[1]).await;
        }
        let before = rows(&table).await;
        let refusal = table.compact("compaction", &latest(&table).await, Full).await.err();
        assert_eq!(refusal.as_ref().map(|failure| failure.code), is_refused.then_some(FailureCode::Unsupported));
        assert!(refusal.is_none_or(|failure| failure.message.contains("force-lookup")));
        if !is_refused {
            assert!(compact(&table, "again", Full).await);
        }
        assert_eq!(rows(&table).await, before, "{options:?}");
    }
}

/// What happens to the property's tables.
#[derive(Clone, Debug)]
enum Step {
    /// Upserts (`true`) and deletes, by key.
    Change(Vec<(i64, bool)>),
    /// A write that starts now and is committed some steps later.
    Late(Vec<(i64, bool)>, usize),
    /// A compaction that starts now and is committed some steps later.
    Compact(CompactionKind, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let changes = || prop::collection::vec((0..8_i64, prop::bool::weighted(0.7)), 1..5);
    let kind = || prop_oneof![Just(Full), Just(Automatic)];
    let step = prop_oneof![
        4 => changes().prop_map(Step::Change),
        2 => (changes(), 1..4_usize).prop_map(|(changes, later)| Step::Late(changes, later)),
        3 => (kind(), 0..3_usize).prop_map(|(kind, later)| Step::Compact(kind, later)),
    ];
    prop::collection::vec(step, 1..16)
}

/// Runs the steps; rows and, in append tables, their order are the same before and after every compaction.
async fn compaction_changes_no_row(schema: &TableSchema, steps: Vec<Step>) {
    let warehouse = warehouse();
    let table = warehouse.create_unchecked(schema).await;
    let with_deletes = schema.has_primary_key() && !schema.options.contains_key("merge-engine");
    let mut pending = Vec::new();
    let step_count = steps.len();
    for (number, step) in steps.into_iter().map(Some).chain((0..4).map(|_| None)).enumerate() {
        let subject = format!("step {number}");
        let changes_of = |changes: &[(i64, bool)]| -> Vec<(RowKind, Row)> {
            let change = |(index, (key, present)): (usize, &(i64, bool))| {
                let kind = if *present || !with_deletes { RowKind::Insert } else { RowKind::Delete };
                (kind, row(*key, &format!("{number}.{index}"), "d"))
            };
            changes.iter().enumerate().map(change).collect()
        };
        match step {
            None => {}
            Some(Step::Change(changes)) => {
                append(&table, &subject, &changes_of(&changes)).await;
            }
            Some(Step::Late(changes, later)) => {
                let request = request(&table, &subject, CommitMode::Append, &changes_of(&changes)).await;
                pending.push((number + later, request));
            }
            Some(Step::Compact(kind, later)) => {
                if let Some(request) = compaction(&table, &subject, kind).await {
                    pending.push((number + later, request));
                }
            }
        }
        let (due, not_due) = pending.into_iter().partition(|(due, _)| *due <= number || number >= step_count);
        pending = not_due;
        let due: Vec<(usize, _)> = due;
        for (_, request) in due {
            if request.mode == CommitMode::Append {
                table.commit(request).await.unwrap();
                continue;
            }
            let before = rows_in_order(&table).await;
            if let Err(failure) = table.commit(request.clone()).await {
                assert_eq!(failure.code, FailureCode::Rejected, "{}", failure.message);
                table.abort(&request.committable).await.unwrap();
            }
            assert_eq!(rows_in_order(&table).await, before, "step {number}");
        }
    }
    is_sound(&warehouse).await;
}

fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_compaction_changes_what_readers_of_a_key_table_see(steps in steps()) {
        block_on(compaction_changes_no_row(&eager_schema(), steps));
    }

    #[test]
    fn no_compaction_of_large_files_changes_what_readers_see(steps in steps()) {
        block_on(compaction_changes_no_row(&with_option(eager_schema(), "target-file-size", "1 b"), steps));
    }

    /// The order of all changes shows in the rows.
    #[test]
    fn no_compaction_changes_what_readers_of_an_aggregating_table_see(steps in steps()) {
        let schema = with_option(eager_schema(), "merge-engine", "aggregation");
        block_on(compaction_changes_no_row(&with_option(schema, "fields.v.aggregate-function", "listagg"), steps));
    }

    #[test]
    fn no_compaction_changes_what_readers_of_a_table_with_a_sequence_column_see(steps in steps()) {
        block_on(compaction_changes_no_row(&with_option(eager_schema(), "sequence.field", "v"), steps));
    }

    #[test]
    fn no_compaction_changes_what_readers_of_an_append_bucket_see(steps in steps()) {
        block_on(compaction_changes_no_row(&bucketed_schema(), steps));
    }
}
