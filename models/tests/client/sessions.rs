//! Sessions of the reference system, and what a client's crash leaves (L1, L3, L11).

use models::contract::{Statement, System};
use serde_json::json;

use super::fixture::{World, acked, objects};

fn insert(id: i64) -> Statement {
    serde_json::from_value(json!({"insert": {"table": "db.t", "rows": objects(&[(id, 0)])}})).unwrap()
}

fn native_insert(id: i64) -> Statement {
    serde_json::from_value(json!({"native_insert": {"table": "db.t", "rows": objects(&[(id, 0)])}})).unwrap()
}

#[tokio::test(start_paused = true)]
async fn sessions_and_incarnations_are_different_writers() {
    let world = World::new();
    world.append_table().await;
    let system = world.system();
    for (operation, session) in ["a", "b", "a"].into_iter().enumerate() {
        assert_eq!(system.execute(session, &operation.to_string(), insert(1)).await, acked(1));
    }
    system.forget("a");
    assert_eq!(system.execute("a", "after the crash", insert(1)).await, acked(1));
    // Had two of them been one writer to the store, one batch would have passed for a repetition of another.
    assert_eq!(world.select("db.t$rt").await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_lake_commit_is_told_from_every_other_by_user_and_identifier() {
    let world = World::new();
    world.append_table().await;
    let system = world.system();
    for (operation, session) in ["a", "a", "b"].into_iter().enumerate() {
        system.execute(session, &operation.to_string(), native_insert(1)).await.unwrap();
    }
    system.forget("a");
    system.execute("a", "after the crash", native_insert(1)).await.unwrap();
    let table = world.lake_table().await;
    let mut commits = Vec::new();
    for snapshot_id in 1..=4 {
        let snapshot = table.snapshot(snapshot_id).await.unwrap();
        commits.push((snapshot.commit_user, snapshot.commit_identifier));
    }
    let expected = [("client-a-0", 0), ("client-a-0", 1), ("client-b-0", 0), ("client-a-1", 0)];
    assert_eq!(commits, expected.map(|(user, identifier)| (user.to_owned(), identifier)));
}
