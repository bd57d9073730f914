//! The client's planted bugs are there when asked for.

use models::contract::Output;
use models::defects::Defect;
use serde_json::json;

use super::fixture::World;

#[tokio::test(start_paused = true)]
async fn rt_cached_misses_acked_writes_between_refreshes() {
    let world = World::with(&[Defect::RtCached]);
    world.key_table().await;
    let mut missed = 0;
    for id in 0..10 {
        world.insert(&[(id, 0)]).await.unwrap();
        missed += usize::from(!world.select("db.t$rt").await.contains(&(id, 0)));
    }
    assert_eq!(missed, 8, "one read in five is fresh");
}

#[tokio::test(start_paused = true)]
async fn replace_falls_back_to_drop_create_in_the_engine_and_not_in_the_catalog() {
    for (via, is_replaced) in [("catalog", false), ("create-or-replace", true), ("rtas", true)] {
        let world = World::with(&[Defect::ReplaceFallsBackToDropCreate]);
        world.key_table().await;
        let columns = json!([{"name": "other", "type": "INT"}]);
        let replace = json!({"replace_table": {"table": "db.t", "columns": columns, "via": via}});
        assert_eq!(world.execute(replace).await == Ok(Output::Done), is_replaced, "{via}");
    }
}
