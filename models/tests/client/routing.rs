//! Which side a statement reaches, seen from both sides (C6, C8, C14–C16, F6).

use models::contract::{FailureCode, Output};
use serde_json::json;

use super::fixture::{World, acked, objects};

#[tokio::test(start_paused = true)]
async fn a_regular_write_reaches_the_log_and_makes_no_snapshot() {
    let world = World::new();
    world.key_table().await;
    assert_eq!(world.insert(&[(1, 10), (2, 20)]).await, acked(2));
    assert_eq!(world.delete(2).await, acked(1));
    assert_eq!(world.snapshot_id().await, 0);
    assert_eq!(world.select("db.t$rt").await, [(1, 10)]);
    assert_eq!(world.select("db.t").await, []);
}

#[tokio::test(start_paused = true)]
async fn the_base_name_shows_what_is_tiered_and_rt_also_what_is_not() {
    let world = World::new();
    world.key_table().await;
    world.insert(&[(1, 10)]).await.unwrap();
    world.tier(u64::MAX / 2, true).await;
    world.insert(&[(2, 20)]).await.unwrap();
    assert_eq!(world.select("db.t").await, [(1, 10)]);
    assert_eq!(world.select("db.t$rt").await, [(1, 10), (2, 20)]);
}

#[tokio::test(start_paused = true)]
async fn base_reads_never_call_the_store() {
    let world = World::new();
    world.key_table().await;
    world.insert(&[(1, 10)]).await.unwrap();
    world.tier(u64::MAX / 2, true).await;
    let calls = world.store.calls.get();
    assert_eq!(world.select("db.t").await, [(1, 10)]);
    assert_eq!(world.lookup("db.t", 1).await, [(1, 10)]);
    assert_eq!(world.filter("db.t", "v", 10).await, [(1, 10)]);
    world.execute(json!({"describe": {"table": "db.t"}})).await.unwrap();
    world.execute(json!({"select": {"table": "db.t", "at_snapshot": 1}})).await.unwrap();
    assert_eq!(world.store.calls.get(), calls);
}

#[tokio::test(start_paused = true)]
async fn an_overwrite_reaches_the_lake_shows_at_once_in_rt_and_leaves_the_log_alone() {
    let world = World::new();
    world.append_table().await;
    world.insert(&[(1, 10), (2, 20)]).await.unwrap();
    world.tier(u64::MAX / 2, true).await;
    world.insert(&[(3, 30)]).await.unwrap();
    let log_length = world.log_length().await;
    let overwrite = json!({"insert_overwrite": {"table": "db.t", "rows": objects(&[(7, 70)])}});
    assert_eq!(world.execute(overwrite).await, Ok(Output::Acked { acked: 1, snapshot_id: Some(2) }));
    assert_eq!(world.select("db.t").await, [(7, 70)]);
    assert_eq!(world.select("db.t$rt").await, [(3, 30), (7, 70)]);
    assert_eq!(world.log_length().await, log_length);
}

#[tokio::test(start_paused = true)]
async fn outside_the_mode_every_statement_is_paimons() {
    let world = World::new();
    world.plain_key_table().await;
    let calls = world.store.calls.get();
    assert_eq!(world.insert(&[(1, 10), (2, 20)]).await, Ok(Output::Acked { acked: 2, snapshot_id: Some(1) }));
    assert_eq!(world.delete(2).await, Ok(Output::Acked { acked: 1, snapshot_id: Some(2) }));
    assert_eq!(world.insert(&[]).await, acked(0));
    assert_eq!(world.select("db.t").await, [(1, 10)]);
    assert_eq!(world.lookup("db.t", 1).await, [(1, 10)]);
    let failure = world.execute(json!({"select": {"table": "db.t$rt"}})).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::NotFound);
    assert_eq!(world.store.calls.get(), calls);
}

#[tokio::test(start_paused = true)]
async fn leaving_the_mode_needs_no_store_and_holds_for_the_next_statement() {
    let world = World::new();
    world.key_table().await;
    world.insert(&[(1, 10)]).await.unwrap();
    let calls = world.store.calls.get();
    let leave = json!({"alter_options": {"table": "db.t", "set": {"lakestream.enabled": "false"}}});
    assert_eq!(world.execute(leave).await, Ok(Output::Done));
    assert_eq!(world.insert(&[(5, 50)]).await, Ok(Output::Acked { acked: 1, snapshot_id: Some(1) }));
    assert_eq!(world.store.calls.get(), calls);
    let enter = json!({"alter_options": {"table": "db.t", "set": {"lakestream.enabled": "true"}}});
    assert_eq!(world.execute(enter).await, Ok(Output::Done));
    assert_eq!(world.insert(&[(6, 60)]).await, acked(1));
    assert_eq!(world.select("db.t$rt").await, [(1, 10), (5, 50), (6, 60)]);
}

#[tokio::test(start_paused = true)]
async fn a_store_without_the_table_is_a_misconfiguration_and_not_a_missing_table() {
    let world = World::new();
    world.key_table().await;
    world.execute(json!({"drop_table": {"table": "db.t", "side": "store"}})).await.unwrap();
    for statement in [
        json!({"select": {"table": "db.t$rt"}}),
        json!({"lookup": {"table": "db.t$rt", "key": {"id": 1}}}),
        json!({"changes": {"table": "db.t$rt", "from": "earliest", "max": 9}}),
        json!({"insert": {"table": "db.t", "rows": objects(&[(1, 1)])}}),
        json!({"delete": {"table": "db.t", "keys": [{"id": 1}]}}),
    ] {
        let failure = world.execute(statement.clone()).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Misconfigured, true), "{statement}");
        assert!(failure.message.contains("lakestream.store"), "{failure}");
    }
    assert_eq!(world.select("db.t").await, []);
}

#[tokio::test(start_paused = true)]
async fn a_table_that_was_created_again_holds_nothing_of_its_predecessor() {
    let world = World::new();
    world.append_table().await;
    world.insert(&[(1, 10)]).await.unwrap();
    world.tier(u64::MAX / 2, true).await;
    world.execute(json!({"drop_table": {"table": "db.t", "side": "store"}})).await.unwrap();
    world.append_table().await;
    world.insert(&[(2, 20)]).await.unwrap();
    assert_eq!(world.select("db.t$rt").await, [(2, 20)]);
}

#[tokio::test(start_paused = true)]
async fn what_the_store_cannot_do_fails_by_its_name_and_never_runs_on_the_lake() {
    let world = World::new();
    world.append_table().await;
    world.insert(&[(1, 10)]).await.unwrap();
    let failure = world.delete(1).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Unsupported, true));
    assert!(failure.message.contains("lakestream.store"), "{failure}");
    assert_eq!(world.snapshot_id().await, 0);
    assert_eq!(world.select("db.t$rt").await, [(1, 10)]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_replace_never_becomes_drop_and_create() {
    for via in ["catalog", "create-or-replace", "rtas"] {
        let world = World::new();
        world.key_table().await;
        let before = world.execute(json!({"describe": {"table": "db.t"}})).await;
        let columns = json!([{"name": "other", "type": "INT"}]);
        let replace = json!({"replace_table": {"table": "db.t", "columns": columns, "via": via}});
        let failure = world.execute(replace).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));
        assert_eq!(world.execute(json!({"describe": {"table": "db.t"}})).await, before);
    }
}

#[tokio::test(start_paused = true)]
async fn if_exists_and_if_not_exists_excuse_only_existence() {
    let world = World::new();
    for side in ["lake", "store"] {
        let drop = |if_exists| json!({"drop_table": {"table": "db.none", "if_exists": if_exists, "side": side}});
        assert_eq!(world.execute(drop(true)).await, Ok(Output::Done));
        assert_eq!(world.execute(drop(false)).await.unwrap_err().code, FailureCode::NotFound);
    }
    world.key_table().await;
    let columns = json!([{"name": "id", "type": "BIGINT"}]);
    for side in ["lake", "store"] {
        let create = |if_not_exists| {
            json!({"create_table": {
                "table": "db.t", "columns": columns, "if_not_exists": if_not_exists, "side": side,
            }})
        };
        assert_eq!(world.execute(create(true)).await, Ok(Output::Done));
        assert_eq!(world.execute(create(false)).await.unwrap_err().code, FailureCode::AlreadyExists);
    }
}
