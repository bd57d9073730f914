//! `$rt` equals a model, whatever tiering, retention and registration did in between (L1, L3, L5, L6, L17).

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::fixture::World;

/// One step of a history.
#[derive(Clone, Debug)]
enum Step {
    /// Inserts rows of these keys; each gets a new value.
    Insert(Vec<i64>),
    /// Deletes a key; nothing in an append table.
    Delete(i64),
    /// A tiering round of at most so many offsets per bucket, registered or not.
    Tier(u64, bool),
    /// Retention passes.
    Retention,
    /// Reads.
    Read,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => prop::collection::vec(0_i64..8, 1..4).prop_map(Step::Insert),
        2 => (0_i64..8).prop_map(Step::Delete),
        3 => (1_u64..8, any::<bool>()).prop_map(|(max_offsets, register)| Step::Tier(max_offsets, register)),
        1 => Just(Step::Retention),
        3 => Just(Step::Read),
    ]
}

fn run(history: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(history);
}

async fn key_history(steps: Vec<Step>) {
    let world = World::new();
    world.key_table().await;
    let mut model: BTreeMap<i64, i64> = BTreeMap::new();
    let mut value = 100;
    for step in steps.into_iter().chain([Step::Read]) {
        match step {
            Step::Insert(ids) => {
                let mut rows = Vec::new();
                for id in ids {
                    value += 1;
                    model.insert(id, value);
                    rows.push((id, value));
                }
                world.insert(&rows).await.unwrap();
            }
            Step::Delete(id) => {
                model.remove(&id);
                world.delete(id).await.unwrap();
            }
            Step::Tier(max_offsets, register) => world.tier(max_offsets, register).await,
            Step::Retention => world.retention().await,
            Step::Read => {
                let expected: Vec<(i64, i64)> = model.iter().map(|(id, v)| (*id, *v)).collect();
                assert_eq!(world.select("db.t$rt").await, expected);
                for id in 0..8 {
                    let of_key: Vec<(i64, i64)> = model.get(&id).map(|v| (id, *v)).into_iter().collect();
                    assert_eq!(world.lookup("db.t$rt", id).await, of_key, "lookup of {id}");
                    assert_eq!(world.filter("db.t$rt", "id", id).await, of_key, "filter on key {id}");
                }
                assert_eq!(world.filter("db.t$rt", "v", value).await, {
                    let newest: Vec<(i64, i64)> = expected.into_iter().filter(|(_, v)| *v == value).collect();
                    newest
                });
                let base = world.select("db.t").await;
                for id in 0..8 {
                    let of_key: Vec<(i64, i64)> = base.iter().copied().filter(|(key, _)| *key == id).collect();
                    assert_eq!(world.lookup("db.t", id).await, of_key, "base lookup of {id}");
                }
            }
        }
    }
}

async fn append_history(steps: Vec<Step>) {
    let world = World::new();
    world.append_table().await;
    let mut model: Vec<(i64, i64)> = Vec::new();
    for step in steps.into_iter().chain([Step::Read]) {
        match step {
            Step::Insert(ids) => {
                let rows: Vec<(i64, i64)> = ids.into_iter().map(|id| (id, 1)).collect();
                world.insert(&rows).await.unwrap();
                model.extend(rows);
            }
            Step::Delete(_) => {}
            Step::Tier(max_offsets, register) => world.tier(max_offsets, register).await,
            Step::Retention => world.retention().await,
            Step::Read => {
                model.sort_unstable();
                assert_eq!(world.select("db.t$rt").await, model);
                let of_key: Vec<(i64, i64)> = model.iter().copied().filter(|(id, _)| *id == 3).collect();
                assert_eq!(world.filter("db.t$rt", "id", 3).await, of_key);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_key_table_is_the_last_write_of_each_key(steps in prop::collection::vec(step(), 1..30)) {
        run(key_history(steps));
    }

    #[test]
    fn an_append_table_is_every_row_once(steps in prop::collection::vec(step(), 1..30)) {
        run(append_history(steps));
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_that_was_never_written_or_never_tiered_is_read_all_the_same() {
    let world = World::new();
    world.key_table().await;
    assert_eq!(world.select("db.t$rt").await, []);
    assert_eq!(world.lookup("db.t$rt", 1).await, []);
    world.insert(&[(1, 10)]).await.unwrap();
    assert_eq!(world.select("db.t$rt").await, [(1, 10)]);
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_that_the_store_never_heard_of_is_read_with_its_own_offsets() {
    let world = World::new();
    world.append_table().await;
    world.insert(&[(1, 10), (2, 20)]).await.unwrap();
    world.tier(u64::MAX / 2, false).await;
    assert_eq!(world.select("db.t$rt").await, [(1, 10), (2, 20)]);
}

#[tokio::test(start_paused = true)]
async fn a_row_that_a_native_writer_put_into_the_lake_is_found_by_scan_and_by_key() {
    let world = World::new();
    world.key_table().await;
    let native = serde_json::json!({"native_insert": {"table": "db.t", "rows": [{"id": 5, "v": 50}]}});
    world.execute(native).await.unwrap();
    world.insert(&[(1, 10)]).await.unwrap();
    assert_eq!(world.select("db.t$rt").await, [(1, 10), (5, 50)]);
    assert_eq!(world.lookup("db.t$rt", 5).await, [(5, 50)]);
}
