//! Writes that were planned against a layout (C13).

use models::contract::{Failure, FailureCode, Output};
use models::defects::Defect;
use serde_json::json;

use super::fixture::{World, acked, objects};

async fn described(world: &World) -> String {
    match world.execute(json!({"describe": {"table": "db.t"}})).await {
        Ok(Output::Described(described)) => described.layout.unwrap(),
        other => panic!("expected a definition, found {other:?}"),
    }
}

async fn insert(world: &World, layout: &str) -> Result<Output, Failure> {
    world.execute(json!({"insert": {"table": "db.t", "rows": objects(&[(1, 1)]), "layout": layout}})).await
}

async fn add_column(world: &World) {
    let add = json!({"alter_columns": {"table": "db.t", "changes": [{"add": {"name": "w", "type": "INT"}}]}});
    assert_eq!(world.execute(add).await, Ok(Output::Done));
}

async fn keep_a_secret(world: &World) {
    let set = json!({"alter_options": {"table": "db.t", "set": {"password": "S3CRET"}}});
    assert_eq!(world.execute(set).await, Ok(Output::Done));
}

#[tokio::test(start_paused = true)]
async fn a_write_is_taken_while_the_layout_is_the_one_that_it_was_planned_against() {
    let world = World::new();
    world.key_table().await;
    let layout = described(&world).await;
    assert_eq!(world.client.store_use().opened, 0, "a definition is resolved without the store");
    keep_a_secret(&world).await;
    assert_eq!(insert(&world, &layout).await, acked(1), "an option that may change is no layout");
}

#[tokio::test(start_paused = true)]
async fn an_older_layout_is_refused_by_kind_and_no_option_is_told() {
    for in_the_mode in [true, false] {
        let world = World::new();
        if in_the_mode {
            world.key_table().await
        } else {
            world.plain_key_table().await
        }
        keep_a_secret(&world).await;
        let layout = described(&world).await;
        add_column(&world).await;
        let failure = insert(&world, &layout).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));
        assert!(failure.message.contains("columns") && !failure.message.contains("S3CRET"), "{failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_layout_that_the_store_does_not_have_yet_is_refused_too() {
    let world = World::new();
    world.key_table().await;
    add_column(&world).await;
    let layout = described(&world).await;
    let failure = insert(&world, &layout).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));
    assert!(failure.message.contains("in the store"), "{failure}");
    assert_eq!(world.insert(&[(1, 1)]).await, acked(1), "a write without a plan goes by the store's own definition");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_layout_is_invalid() {
    let world = World::new();
    world.key_table().await;
    assert_eq!(insert(&world, "layout").await.unwrap_err().code, FailureCode::Invalid);
}

#[tokio::test(start_paused = true)]
async fn planted_bugs_of_layouts_show() {
    let stale = async |defect: Defect| {
        let world = World::with(&[defect]);
        world.key_table().await;
        keep_a_secret(&world).await;
        let layout = described(&world).await;
        add_column(&world).await;
        insert(&world, &layout).await
    };
    assert_eq!(stale(Defect::StaleLayoutAccepted).await, acked(1));
    assert!(stale(Defect::LayoutMessageLeaksOptions).await.unwrap_err().message.contains("S3CRET"));
}
