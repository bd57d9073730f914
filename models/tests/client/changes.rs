//! The changelog of `$rt` (L14).

use models::contract::{Change, FailureCode, Output, RowKind};
use serde_json::json;

use super::fixture::World;

async fn changes(world: &World, from: &str, max: u64) -> (Vec<Change>, String) {
    match world.execute(json!({"changes": {"table": "db.t$rt", "from": from, "max": max}})).await {
        Ok(Output::Changes { changes, position }) => (changes, position),
        other => panic!("expected changes, found {other:?}"),
    }
}

/// Reads on until there is nothing more, `max` changes at a time.
async fn all_changes(world: &World, from: &str, max: u64) -> (Vec<Change>, String) {
    let (mut all, mut position) = (Vec::new(), from.to_owned());
    loop {
        let (mut some, next) = changes(world, &position, max).await;
        position = next;
        assert!(some.len() as u64 <= max);
        if some.is_empty() {
            return (all, position);
        }
        all.append(&mut some);
    }
}

/// Kind, id, value.
fn told(changes: &[Change]) -> Vec<(RowKind, i64, i64)> {
    let cell = |change: &Change, column: &str| change.row[column].as_int().unwrap();
    changes.iter().map(|change| (change.kind, cell(change, "id"), cell(change, "v"))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_log_that_reaches_back_to_its_beginning_is_the_whole_changelog() {
    let world = World::new();
    world.key_table().await;
    world.insert(&[(1, 10)]).await.unwrap();
    world.tier(u64::MAX / 2, true).await;
    world.insert(&[(1, 11)]).await.unwrap();
    world.delete(1).await.unwrap();
    let expected = [
        (RowKind::Insert, 1, 10),
        (RowKind::UpdateBefore, 1, 10),
        (RowKind::UpdateAfter, 1, 11),
        (RowKind::Delete, 1, 11),
    ];
    for max in 1..6 {
        let (all, _) = all_changes(&world, "earliest", max).await;
        assert_eq!(told(&all), expected, "{max} at a time");
        assert!(all.iter().all(|change| change.offset.is_some()));
    }
}

#[tokio::test(start_paused = true)]
async fn where_the_log_was_trimmed_the_lakes_rows_come_first() {
    let world = World::new();
    world.append_table().await;
    world.insert(&[(1, 1), (2, 2), (3, 3), (4, 4)]).await.unwrap();
    world.tier(u64::MAX / 2, true).await;
    world.retention().await;
    world.insert(&[(5, 5), (6, 6)]).await.unwrap();
    for max in 1..8 {
        let (all, _) = all_changes(&world, "earliest", max).await;
        let (lake, log) = all.split_at(4);
        assert!(lake.iter().all(|change| change.offset.is_none() && change.kind == RowKind::Insert));
        assert!(log.iter().all(|change| change.offset.is_some()));
        let mut ids: Vec<i64> = told(&all).into_iter().map(|(_, id, _)| id).collect();
        ids.sort_unstable();
        assert_eq!(ids, [1, 2, 3, 4, 5, 6], "{max} at a time");
    }
}

#[tokio::test(start_paused = true)]
async fn a_position_goes_on_where_it_ended_whatever_is_tiered_meanwhile() {
    let world = World::new();
    world.key_table().await;
    world.insert(&[(1, 10)]).await.unwrap();
    let (_, position) = changes(&world, "earliest", 100).await;
    assert_eq!(changes(&world, &position, 100).await, (Vec::new(), position.clone()));
    world.insert(&[(1, 11)]).await.unwrap();
    world.tier(u64::MAX / 2, true).await;
    let (more, _) = changes(&world, &position, 100).await;
    assert_eq!(told(&more), [(RowKind::UpdateBefore, 1, 10), (RowKind::UpdateAfter, 1, 11)]);
}

#[tokio::test(start_paused = true)]
async fn a_position_whose_log_is_gone_must_start_again() {
    let world = World::new();
    world.append_table().await;
    world.insert(&[(1, 1)]).await.unwrap();
    let (_, position) = changes(&world, "earliest", 100).await;
    world.insert(&[(1, 2)]).await.unwrap();
    world.tier(u64::MAX / 2, true).await;
    world.retention().await;
    let read = json!({"changes": {"table": "db.t$rt", "from": position, "max": 9}});
    let failure = world.execute(read).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true));
    assert!(failure.message.contains("start again from `earliest`"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn a_position_is_bound_to_its_table_and_is_not_trusted() {
    let world = World::new();
    world.append_table().await;
    world.insert(&[(1, 1)]).await.unwrap();
    let (_, position) = changes(&world, "earliest", 100).await;
    world.execute(json!({"drop_table": {"table": "db.t", "side": "store"}})).await.unwrap();
    world.append_table().await;
    for from in [position.as_str(), "latest", "{}", r#"{"log":"{}"}"#] {
        let read = json!({"changes": {"table": "db.t$rt", "from": from, "max": 9}});
        let failure = world.execute(read).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true), "{from}");
    }
}
