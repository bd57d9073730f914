//! The procedure is cut, or overtaken by a native commit, behind each of its remote calls in turn (P4, P5, P8).

use std::rc::Rc;

use serde_json::json;

use super::fixture::{World, crash, message};

const HISTORY: [(i64, i64); 5] = [(1, 10), (2, 20), (3, 30), (4, 40), (5, 50)];

async fn world_with_history(primary_key: &serde_json::Value) -> World {
    let world = World::new();
    world.lake_table(primary_key.clone()).await;
    world.insert(&HISTORY).await;
    world
}

/// Deletes and updates a historic key, and compares every view.
async fn expect_whole(world: &World, keyed: bool, history: &[(i64, i64)], context: &str) {
    assert_eq!(world.enabled().await, (true, true), "{context}");
    let mut expected = history.to_vec();
    assert_eq!(world.select("db.t$rt").await, expected, "{context}");
    if keyed {
        world.run(json!({"delete": {"table": "db.t", "keys": [{"id": 2}]}})).await;
        expected.retain(|(id, _)| *id != 2);
        for (id, v) in &expected {
            assert_eq!(world.lookup(*id).await, Some(*v), "{context}");
        }
        assert_eq!(world.lookup(2).await, None, "{context}");
    }
    world.insert(&[(9, 90)]).await;
    expected.push((9, 90));
    assert_eq!(world.select("db.t$rt").await, expected, "{context}");
    world.tier().await;
    assert_eq!(world.select("db.t").await, expected, "{context}");
}

/// P8: whatever was done when the client died, the table is disabled or whole, and the next call makes it whole.
#[tokio::test(start_paused = true)]
async fn a_client_that_dies_behind_any_call_leaves_nothing_that_the_next_call_cannot_complete() {
    for primary_key in [json!(["id"]), json!([])] {
        let keyed = primary_key != json!([]);
        let mut cut_at = 0;
        loop {
            cut_at += 1;
            let world = world_with_history(&primary_key).await;
            let context = format!("key {primary_key}, cut behind call {cut_at}");
            if world.promote_interrupted(cut_at, crash()).await.is_some() {
                // It had fewer calls than that.
                assert!(cut_at > if keyed { 8 } else { 3 }, "{context}");
                expect_whole(&world, keyed, &HISTORY, &context).await;
                break;
            }
            assert_eq!(world.calls_made(), cut_at);
            let (on_lake, in_store) = world.enabled().await;
            assert_eq!(on_lake, in_store, "{context}");
            if !in_store {
                // Enabling by hand works only if all of the history is there.
                let enabled = world.execute(json!({"enable": {"table": "db.t"}})).await.is_ok();
                assert!(!enabled || cut_at + 1 >= if keyed { 8 } else { 3 }, "{context}");
            }
            message(world.promote().await);
            expect_whole(&world, keyed, &HISTORY, &context).await;
        }
    }
}

/// P4: a native commit behind any call makes the procedure fail, unless it had succeeded by then; the next call takes
/// the commit in.
#[tokio::test(start_paused = true)]
async fn a_native_commit_during_the_procedure_is_never_missed() {
    for primary_key in [json!(["id"]), json!([])] {
        let keyed = primary_key != json!([]);
        let mut calls = 1;
        let mut at = 0;
        while at < calls {
            at += 1;
            let world = world_with_history(&primary_key).await;
            let context = format!("key {primary_key}, a commit behind call {at}");
            let other = world.clone();
            let commit = move || -> futures::future::LocalBoxFuture<'static, ()> {
                let other = other.clone();
                Box::pin(async move { other.native_insert(6, 60).await })
            };
            let answer = world.promote_interrupted(at, Rc::new(commit)).await.unwrap();
            calls = calls.max(world.calls_made());
            // Behind the last call the table is enabled. Before the snapshot is fixed, behind the first, the commit is
            // history like any other.
            assert_eq!(answer.is_ok(), at == 1 || at == calls && world.enabled().await.1, "{context}: {answer:?}");
            if let Err(failure) = &answer {
                assert_eq!(world.enabled().await, (false, false), "{context}");
                assert!(!failure.definite, "the store has metadata that it had not: {failure}");
                message(world.promote().await);
            }
            let history: Vec<(i64, i64)> = HISTORY.into_iter().chain([(6, 60)]).collect();
            expect_whole(&world, keyed, &history, &context).await;
        }
        assert!(calls >= if keyed { 8 } else { 4 }, "{calls} calls");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_crashes_during_the_load_loses_the_staging_area_and_nothing_else() {
    use models::contract::Host;
    for at in 1..9 {
        let world = world_with_history(&json!(["id"])).await;
        let store = world.store.clone();
        let crash_store = move || -> futures::future::LocalBoxFuture<'static, ()> {
            store.crash();
            Box::pin(std::future::ready(()))
        };
        let first = world.promote_interrupted(at, Rc::new(crash_store)).await.unwrap();
        if first.is_err() {
            assert_eq!(world.enabled().await, (false, false));
        }
        message(world.promote().await);
        expect_whole(&world, true, &HISTORY, &format!("a crash behind call {at}")).await;
    }
}
