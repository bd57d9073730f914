//! Any sequence of commits leaves what a map, or a list, would hold.

use std::collections::BTreeMap;

use models::contract::{Row, RowKind};
use models::paimon::{CommitMode, OverwriteScope, Verification, verify};
use proptest::prelude::*;

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
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || 0..6_i64;
    let step = prop_oneof![
        4 => prop::collection::vec((key(), any::<bool>()), 0..5).prop_map(Step::Change),
        1 => prop::collection::vec(key(), 0..4).prop_map(Step::Overwrite),
        1 => (key(), key()).prop_map(|(winner, loser)| Step::Race(winner, loser)),
        1 => key().prop_map(Step::AnswerLost),
    ];
    prop::collection::vec(step, 1..10)
}

async fn key_table_equals_map(steps: Vec<Step>) {
    let warehouse = warehouse();
    let table = warehouse.create(&key_schema()).await;
    let mut model: BTreeMap<i64, Row> = BTreeMap::new();
    for (number, step) in steps.into_iter().enumerate() {
        let subject = format!("step-{number}");
        let value = |index: usize| format!("{number}.{index}");
        match step {
            Step::Change(keys) => {
                let mut changes = Vec::new();
                for (index, (key, present)) in keys.into_iter().enumerate() {
                    let row = row(key, &value(index), "d");
                    changes.push((if present { RowKind::Insert } else { RowKind::Delete }, row.clone()));
                    if present {
                        model.insert(key, row)
                    } else {
                        model.remove(&key)
                    };
                }
                append(&table, &subject, &changes).await;
            }
            Step::Overwrite(keys) => {
                let rows: Vec<Row> = keys.iter().enumerate().map(|(i, key)| row(*key, &value(i), "d")).collect();
                model = keys.into_iter().zip(rows.iter().cloned()).collect();
                let mode = CommitMode::Overwrite { partitions: OverwriteScope::WholeTable };
                table.commit(request(&table, &subject, mode, &inserts(&rows)).await).await.unwrap();
            }
            Step::Race(winner, loser) => {
                let (first, second) = (row(winner, &value(0), "d"), row(loser, &value(1), "d"));
                let winning =
                    request(&table, &format!("{subject}/w"), CommitMode::Append, &inserts(&[first.clone()])).await;
                let losing = request(&table, &subject, CommitMode::Append, &inserts(&[second.clone()])).await;
                let other = table.clone();
                let race = CreateFault::After(Box::pin(async move {
                    other.commit(winning).await.unwrap();
                }));
                warehouse.storage.line_up([race]);
                table.commit(losing).await.unwrap();
                model.insert(winner, first);
                model.insert(loser, second);
            }
            Step::AnswerLost(key) => {
                let changed = row(key, &value(0), "d");
                let commit = request(&table, &subject, CommitMode::Append, &inserts(&[changed.clone()])).await;
                warehouse.storage.line_up([CreateFault::AnswerLost]);
                table.commit(commit).await.unwrap();
                model.insert(key, changed);
            }
        }
        let expected: Vec<Row> = model.values().cloned().collect();
        assert_eq!(rows(&table).await, expected, "after step {number}");
    }
    assert_eq!(verify(&*warehouse.lake.objects, &path()).await, Verification::default());
}

async fn partitioned_table_equals_list(steps: Vec<(i64, bool)>) {
    let warehouse = warehouse();
    let table = warehouse.create(&partitioned_schema()).await;
    let mut model: Vec<Row> = Vec::new();
    for (number, (day, overwrite)) in steps.into_iter().enumerate() {
        let day = format!("day {day}");
        let rows_of_step = [row(number as i64, "x", &day), row(number as i64, "y", &day)];
        let mode = if overwrite {
            model.retain(|row| row[2].as_str() != Some(&day));
            CommitMode::Overwrite { partitions: OverwriteScope::Dynamic }
        } else {
            CommitMode::Append
        };
        model.extend(rows_of_step.iter().cloned());
        table.commit(request(&table, &number.to_string(), mode, &inserts(&rows_of_step)).await).await.unwrap();
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
    fn a_key_table_equals_a_map(steps in steps()) {
        block_on(key_table_equals_map(steps));
    }

    #[test]
    fn a_partitioned_append_table_equals_a_list(steps in prop::collection::vec((0..3_i64, any::<bool>()), 1..12)) {
        block_on(partitioned_table_equals_list(steps));
    }
}
