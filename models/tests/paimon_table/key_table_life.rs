//! Any life of a key table, with commits, compactions, overwrites, rollbacks, tags and expiry, leaves in every snapshot
//! that is kept what a map held then.

use std::collections::BTreeMap;
use std::slice;

use models::contract::{Filter, Row, RowKind, Value};
use models::paimon::{
    CommitMode, CompactionKind, OverwriteScope, PaimonTable, Retained, Retention, RollbackTarget, Snapshot, TimeTravel,
    Verification, verify,
};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::surroundings::*;

#[derive(Clone, Debug)]
enum Step {
    /// Upserts (`true`) and deletes, by key.
    Change(Vec<(i64, bool)>),
    /// Replaces everything by rows of these keys.
    Overwrite(Vec<i64>),
    /// A write that lost a race to another upsert of the first key.
    Race(i64, i64),
    /// A commit whose answer is lost.
    AnswerLost(i64),
    /// Rewrites files, not rows.
    Compact(CompactionKind),
    /// Tags the newest snapshot.
    Tag,
    /// Makes the rows of one of the snapshots and tags that are kept the newest again.
    RollBackAsLatest(Index),
    /// Makes one of the snapshots and tags that are kept the newest again; what came later goes.
    RollBack(Index),
    /// Keeps so many of the newest snapshots.
    Expire(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || 0..6_i64;
    let step = prop_oneof![
        6 => prop::collection::vec((key(), any::<bool>()), 0..5).prop_map(Step::Change),
        1 => prop::collection::vec(key(), 0..4).prop_map(Step::Overwrite),
        1 => (key(), key()).prop_map(|(winner, loser)| Step::Race(winner, loser)),
        1 => key().prop_map(Step::AnswerLost),
        2 => Just(Step::Compact(CompactionKind::Automatic)),
        1 => Just(Step::Compact(CompactionKind::Full)),
        1 => Just(Step::Tag),
        1 => any::<Index>().prop_map(Step::RollBackAsLatest),
        1 => any::<Index>().prop_map(Step::RollBack),
        1 => (1..4_u64).prop_map(Step::Expire),
    ];
    prop::collection::vec(step, 1..14)
}

/// The rows of a table by key.
type Rows = BTreeMap<i64, Row>;

/// What a table must hold.
#[derive(Default)]
struct Model {
    newest: Rows,
    of_snapshots: BTreeMap<u64, Rows>,
    /// The snapshots and rows of tags, by name.
    of_tags: BTreeMap<String, (u64, Rows)>,
}

impl Model {
    /// One of the snapshots and tags that are kept, and its number and rows; `None` if there is none.
    fn kept(&self, index: &Index) -> Option<(RollbackTarget, u64, Rows)> {
        let snapshots = self.of_snapshots.iter().map(|(id, rows)| (RollbackTarget::Snapshot(*id), *id, rows.clone()));
        let tags = self.of_tags.iter().map(|(name, (id, rows))| (RollbackTarget::Tag(name.clone()), *id, rows.clone()));
        let kept: Vec<_> = snapshots.chain(tags).collect();
        (!kept.is_empty()).then(|| index.get(&kept).clone())
    }

    /// Upserts and deletes; returns them as changes of these rows.
    fn change(&mut self, keys: &[(i64, bool)], value: impl Fn(usize) -> String) -> Vec<(RowKind, Row)> {
        let mut changes = Vec::new();
        for (index, (key, present)) in keys.iter().enumerate() {
            let row = row(*key, &value(index), "d");
            if *present {
                self.newest.insert(*key, row.clone());
            } else {
                self.newest.remove(key);
            }
            changes.push((if *present { RowKind::Insert } else { RowKind::Delete }, row));
        }
        changes
    }
}

/// Takes one step of table and model; returns the changes that a changelog of the newest snapshot must tell.
async fn take(
    warehouse: &Warehouse,
    table: &PaimonTable,
    subject: &str,
    step: Step,
    model: &mut Model,
) -> Vec<(RowKind, Row)> {
    let value = |index: usize| format!("{subject}.{index}");
    let mut told = Vec::new();
    match step {
        Step::Change(keys) => {
            told = model.change(&keys, value);
            append(table, subject, &told).await;
        }
        Step::Overwrite(keys) => {
            model.newest.clear();
            let upserts: Vec<(i64, bool)> = keys.into_iter().map(|key| (key, true)).collect();
            let changes = model.change(&upserts, value);
            let mode = CommitMode::Overwrite { partitions: OverwriteScope::WholeTable };
            table.commit(request(table, subject, mode, &changes).await).await.unwrap();
        }
        Step::Race(winner, loser) => {
            let (first, second) = (row(winner, &value(0), "d"), row(loser, &value(1), "d"));
            let winning =
                request(table, &format!("{subject}/w"), CommitMode::Append, &inserts(slice::from_ref(&first))).await;
            let losing = request(table, subject, CommitMode::Append, &inserts(slice::from_ref(&second))).await;
            let other = table.clone();
            warehouse.storage.line_up([CreateFault::After(Box::pin(async move {
                other.commit(winning).await.unwrap();
            }))]);
            let committed = table.commit(losing).await.unwrap();
            model.newest.insert(winner, first);
            model.of_snapshots.insert(committed.snapshot_id - 1, model.newest.clone());
            told = inserts(slice::from_ref(&second));
            model.newest.insert(loser, second);
        }
        Step::AnswerLost(key) => {
            told = model.change(&[(key, true)], value);
            let commit = request(table, subject, CommitMode::Append, &told).await;
            warehouse.storage.line_up([CreateFault::AnswerLost]);
            table.commit(commit).await.unwrap();
        }
        Step::Compact(kind) => {
            compact(table, subject, kind).await;
        }
        Step::Tag => {
            if let Some(latest) = table.latest_snapshot().await.unwrap() {
                table.create_tag(subject, None, None, false).await.unwrap();
                model.of_tags.insert(subject.to_owned(), (latest.id, model.newest.clone()));
            }
        }
        Step::RollBackAsLatest(index) => {
            if let Some((target, _, rows)) = model.kept(&index) {
                table.rollback_to_as_latest(subject, &target).await.unwrap();
                model.newest = rows;
            }
        }
        Step::RollBack(index) => {
            if let Some((target, id, rows)) = model.kept(&index) {
                table.rollback_to(&target).await.unwrap();
                model.of_snapshots.retain(|newer, _| *newer <= id);
                model.of_tags.retain(|_, (newer, _)| *newer <= id);
                model.newest = rows;
                // What it leaves behind is the clean-up's.
                let orphans = table.find_orphans().await.unwrap();
                table.remove_orphans(&orphans, 0).await.unwrap();
            }
        }
        Step::Expire(count) => {
            let kept = Retained { at_least: count, at_most: count, time_ms: u64::MAX };
            let retention = Retention { snapshots: kept, changelogs: kept, limit: u64::MAX };
            table.expire_snapshots(&retention).await.unwrap();
            while model.of_snapshots.len() as u64 > count {
                model.of_snapshots.pop_first();
            }
        }
    }
    told
}

async fn key_table_equals_map(steps: Vec<Step>, options: &[(&str, &str)]) {
    let warehouse = warehouse();
    let schema = options.iter().fold(key_schema(), |schema, (option, value)| with_option(schema, option, value));
    let table = warehouse.create_unchecked(&schema).await;
    let mut model = Model::default();
    for (number, step) in steps.into_iter().enumerate() {
        let before = table.latest_snapshot().await.unwrap().map(|snapshot| snapshot.id);
        let shown = format!("after step {number}, {step:?}");
        let told = take(&warehouse, &table, &format!("step-{number}"), step, &mut model).await;
        let Some(latest) = table.latest_snapshot().await.unwrap() else { continue };
        model.of_snapshots.insert(latest.id, model.newest.clone());
        if before < Some(latest.id) && table.schema().options.contains_key("changelog-producer") {
            assert_eq!(changelog(&table, &latest).await, by_key(told), "{shown}");
        }
        let kept: Vec<u64> = model.of_snapshots.keys().copied().collect();
        assert_eq!(table.snapshot_ids().await.unwrap(), kept, "{shown}");
        for (id, rows) in &model.of_snapshots {
            assert_eq!(rows_at(&table, &TimeTravel::SnapshotId(*id)).await, *rows, "snapshot {id} {shown}");
        }
        for (tag, (_, rows)) in &model.of_tags {
            assert_eq!(rows_at(&table, &TimeTravel::Tag(tag.clone())).await, *rows, "tag {tag} {shown}");
        }
    }
    assert_eq!(verify(&*warehouse.lake.objects, &path()).await, Verification::default());
}

fn key_of(row: &Row) -> i64 {
    match row[0] {
        Value::Int(key) => key,
        ref other => panic!("expected a number, found {other:?}"),
    }
}

async fn rows_at(table: &PaimonTable, place: &TimeTravel) -> Rows {
    let (table, snapshot) = table.travel_to(place).await.unwrap();
    let buckets = table.scan(&snapshot, &Filter::new()).await.unwrap();
    let found: Vec<Row> = buckets.into_values().flatten().collect();
    let rows: Rows = found.iter().map(|row| (key_of(row), row.clone())).collect();
    assert_eq!(rows.len(), found.len(), "every key once");
    rows
}

/// Changes by key; those of one key in their order.
fn by_key(mut changes: Vec<(RowKind, Row)>) -> Vec<(RowKind, Row)> {
    changes.sort_by_key(|(_, row)| key_of(row));
    changes
}

async fn changelog(table: &PaimonTable, snapshot: &Snapshot) -> Vec<(RowKind, Row)> {
    by_key(table.changelog(snapshot).await.unwrap().into_values().flatten().collect())
}

fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future);
}

const SMALL_RUNS: (&str, &str) = ("num-sorted-run.compaction-trigger", "2");

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_key_table_equals_a_map(steps in steps()) {
        block_on(key_table_equals_map(steps, &[SMALL_RUNS]));
    }

    #[test]
    fn a_key_table_with_deletion_vectors_equals_a_map(steps in steps()) {
        let vectors = [("deletion-vectors.enabled", "true"), ("deletion-vectors.merge-on-read", "true")];
        block_on(key_table_equals_map(steps, &[vectors[0], vectors[1], SMALL_RUNS]));
    }

    #[test]
    fn a_key_table_with_a_changelog_equals_a_map_and_tells_its_changes(steps in steps()) {
        block_on(key_table_equals_map(steps, &[("changelog-producer", "input"), SMALL_RUNS]));
    }
}
