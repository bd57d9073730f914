//! Time travel on the base name: the snapshot's own rows and columns (C11, F4).

use models::contract::{FailureCode, Output, RowSet};
use serde_json::{Value, json};

use super::fixture::{World, objects};

async fn travel(world: &World, place: &str, to: u64) -> (RowSet, Option<u64>) {
    let mut select = json!({"select": {"table": "db.t"}});
    select["select"][place] = Value::from(to);
    match world.execute(select).await {
        Ok(Output::Rows { rows, snapshot_id }) => (rows, snapshot_id),
        other => panic!("expected rows, found {other:?}"),
    }
}

async fn committed_at(world: &World, snapshot_id: u64) -> u64 {
    world.lake_table().await.snapshot(snapshot_id).await.unwrap().time_millis
}

async fn wait() {
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
}

#[tokio::test(start_paused = true)]
async fn the_past_has_the_rows_and_the_columns_that_it_had() {
    for side in ["lake", "store"] {
        let world = World::new();
        wait().await;
        if side == "lake" {
            world.plain_key_table().await
        } else {
            world.key_table().await
        }
        let native = |id| json!({"native_insert": {"table": "db.t", "rows": objects(&[(id, 0)])}});
        world.execute(native(1)).await.unwrap();
        wait().await;
        let add = json!({"alter_columns": {"table": "db.t", "changes": [{"add": {"name": "w", "type": "INT"}}]}});
        world.execute(add).await.unwrap();
        world.execute(native(2)).await.unwrap();
        let (first, second) = (committed_at(&world, 1).await, committed_at(&world, 2).await);
        assert!(first < second);
        for (place, to, snapshot_id, columns, rows) in [
            ("at_timestamp_ms", first - 1, None, 3, 0),
            ("at_timestamp_ms", first, Some(1), 2, 1),
            ("at_timestamp_ms", second - 1, Some(1), 2, 1),
            ("at_timestamp_ms", second, Some(2), 3, 2),
            ("at_timestamp_ms", u64::MAX, Some(2), 3, 2),
            ("at_snapshot", 1, Some(1), 2, 1),
            ("at_snapshot", 2, Some(2), 3, 2),
        ] {
            let (found, read) = travel(&world, place, to).await;
            let seen = (read, found.columns.len(), found.rows.len());
            assert_eq!(seen, (snapshot_id, columns, rows), "{place} {to}");
        }
        assert_eq!(world.client.store_use().opened, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn rt_has_no_past_and_an_unknown_snapshot_is_not_found() {
    let world = World::new();
    world.key_table().await;
    for (select, code) in [
        (json!({"table": "db.t$rt", "at_timestamp_ms": 5}), FailureCode::Rejected),
        (json!({"table": "db.t$rt", "at_snapshot": 1}), FailureCode::Rejected),
        (json!({"table": "db.t", "at_snapshot": 1}), FailureCode::NotFound),
        (json!({"table": "db.t", "at_snapshot": 1, "at_timestamp_ms": 5}), FailureCode::Invalid),
    ] {
        let failure = world.execute(json!({"select": select})).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (code, true), "{failure}");
    }
}
