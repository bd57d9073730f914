//! What names lead to: views, branches, system tables, and names that lead nowhere (C10, C12, C18, C24).

use models::contract::{FailureCode, Output};
use models::defects::Defect;
use serde_json::json;

use super::fixture::{World, objects};

async fn view(world: &World, name: &str, table: &str) {
    assert_eq!(world.execute(json!({"create_view": {"view": name, "query_table": table}})).await, Ok(Output::Done));
}

/// A key table with one row in the lake and a newer one in the log only.
async fn world_with_a_tail(defects: &[Defect]) -> World {
    let world = World::with(defects);
    world.key_table().await;
    world.insert(&[(1, 10)]).await.unwrap();
    world.tier(u64::MAX / 2, true).await;
    world.insert(&[(2, 20)]).await.unwrap();
    world
}

#[tokio::test(start_paused = true)]
async fn a_view_shows_the_lakes_rows_of_its_table_whatever_its_name() {
    let world = world_with_a_tail(&[]).await;
    for name in ["db.v", "db.x$rt", "db.t$rt", "db.t$rt$rt"] {
        view(&world, name, "db.t").await;
        assert_eq!(world.select(name).await, [(1, 10)], "{name}");
        assert_eq!(world.filter(name, "id", 2).await, [], "{name}");
    }
    assert_eq!(world.client.store_use().opened, 1, "by the inserts");
}

#[tokio::test(start_paused = true)]
async fn a_view_is_read_only_and_has_no_history_no_key_and_no_changelog() {
    let world = world_with_a_tail(&[]).await;
    view(&world, "db.v", "db.t").await;
    for statement in [
        json!({"insert": {"table": "db.v", "rows": objects(&[(1, 1)])}}),
        json!({"insert_overwrite": {"table": "db.v", "rows": objects(&[(1, 1)])}}),
        json!({"update": {"table": "db.v", "set": {"v": 1}, "filter": {}}}),
        json!({"select": {"table": "db.v", "at_snapshot": 1}}),
        json!({"select": {"table": "db.v", "at_timestamp_ms": 1}}),
        json!({"lookup": {"table": "db.v", "key": {"id": 1}}}),
    ] {
        let failure = world.execute(statement.clone()).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true), "{statement}");
    }
}

#[tokio::test(start_paused = true)]
async fn rt_is_an_alias_only_as_the_one_suffix_of_a_table() {
    let world = world_with_a_tail(&[]).await;
    for name in ["db.t$rt$rt", "db.$rt", "db.t$branch_b$rt", "db.t$nothing", "db.none$rt", "db.none"] {
        let failure = world.execute(json!({"select": {"table": name}})).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::NotFound, true), "{name}: {failure}");
    }
    let insert = json!({"insert": {"table": "db.t$rt$rt", "rows": objects(&[(1, 1)])}});
    assert_eq!(world.execute(insert).await.unwrap_err().code, FailureCode::NotFound);
    assert_eq!(world.select("db.t$rt").await, [(1, 10), (2, 20)]);
}

#[tokio::test(start_paused = true)]
async fn a_branch_of_a_table_in_the_mode_refuses_writes_before_the_store_is_opened() {
    let world = World::new();
    world.key_table().await;
    world.execute(json!({"create_branch": {"table": "db.t", "branch": "b"}})).await.unwrap();
    let rows = objects(&[(1, 1)]);
    for statement in [
        json!({"insert": {"table": "db.t", "branch": "b", "rows": rows}}),
        json!({"insert": {"table": "db.t$branch_b", "rows": rows}}),
        json!({"update": {"table": "db.t$branch_b", "set": {"v": 1}, "filter": {}}}),
        json!({"delete": {"table": "db.t$branch_b", "keys": [{"id": 1}]}}),
        json!({"insert_overwrite": {"table": "db.t$branch_b", "rows": rows}}),
    ] {
        let failure = world.execute(statement.clone()).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true), "{statement}");
    }
    assert_eq!((world.client.store_use().opened, world.select("db.t$branch_b").await), (0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn outside_the_mode_a_branch_is_written_and_read_by_itself() {
    let world = World::new();
    world.plain_key_table().await;
    world.insert(&[(1, 10)]).await.unwrap();
    world.execute(json!({"create_branch": {"table": "db.t", "branch": "b"}})).await.unwrap();
    let beside = json!({"insert": {"table": "db.t", "branch": "b", "rows": objects(&[(2, 20)])}});
    assert_eq!(world.execute(beside).await, Ok(Output::Acked { acked: 1, snapshot_id: Some(1) }));
    world.execute(json!({"insert": {"table": "db.t$branch_b", "rows": objects(&[(3, 30)])}})).await.unwrap();
    assert_eq!(world.select("db.t$branch_b").await, [(2, 20), (3, 30)]);
    assert_eq!(world.select("db.t").await, [(1, 10)]);
    let missing = world.execute(json!({"select": {"table": "db.t$branch_c"}})).await.unwrap_err();
    assert_eq!(missing.code, FailureCode::NotFound);
}

#[tokio::test(start_paused = true)]
async fn what_paimon_tells_about_a_table_is_read_without_the_store_and_never_written() {
    let world = World::new();
    world.key_table().await;
    let overwrite = json!({"insert_overwrite": {"table": "db.t", "rows": objects(&[(7, 70)])}});
    world.execute(overwrite).await.unwrap();
    let read = async |name: &str| match world.execute(json!({"select": {"table": name}})).await {
        Ok(Output::Rows { rows, .. }) => rows,
        other => panic!("expected rows, found {other:?}"),
    };
    let snapshots = read("db.t$snapshots").await;
    let cell = |column: &str| snapshots.rows[0][snapshots.position(column).unwrap()].clone();
    assert_eq!((snapshots.rows.len(), cell("snapshot_id").as_int()), (1, Some(1)));
    assert_eq!(cell("commit_kind"), models::contract::Value::string("OVERWRITE"));
    assert_eq!(read("db.t$schemas").await.rows.len(), 1);
    let described = match world.execute(json!({"describe": {"table": "db.t"}})).await {
        Ok(Output::Described(described)) => described.schema.options,
        other => panic!("expected a definition, found {other:?}"),
    };
    assert_eq!(read("db.t$options").await.rows.len(), described.len());
    let one = json!({"select": {"table": "db.t$options", "filter": {"key": "bucket"}}});
    assert!(matches!(world.execute(one).await, Ok(Output::Rows { rows, .. }) if rows.rows.len() == 1));
    for statement in [
        json!({"insert": {"table": "db.t$snapshots", "rows": objects(&[(1, 1)])}}),
        json!({"delete": {"table": "db.t$options", "keys": [{"id": 1}]}}),
        json!({"select": {"table": "db.t$snapshots", "at_snapshot": 1}}),
    ] {
        let failure = world.execute(statement.clone()).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true), "{statement}");
    }
    assert_eq!(world.client.store_use().opened, 0);
}

#[tokio::test(start_paused = true)]
async fn planted_bugs_of_names_show() {
    let world = world_with_a_tail(&[Defect::RtAliasTooGreedy]).await;
    assert_eq!(world.select("db.t$rt$rt").await, [(1, 10), (2, 20)]);

    let world = world_with_a_tail(&[Defect::ViewShadowed]).await;
    view(&world, "db.t$rt", "db.t").await;
    assert_eq!(world.select("db.t$rt").await, [(1, 10), (2, 20)]);

    let world = world_with_a_tail(&[Defect::RtWritable, Defect::RtTimeTravel]).await;
    world.execute(json!({"insert": {"table": "db.t$rt", "rows": objects(&[(3, 30)])}})).await.unwrap();
    let travelled = world.execute(json!({"select": {"table": "db.t$rt", "at_timestamp_ms": 0}})).await;
    assert!(matches!(travelled, Ok(Output::Rows { rows, .. }) if rows.rows.len() == 3));

    let world = world_with_a_tail(&[Defect::SystemTableRouted]).await;
    assert_eq!(world.select("db.t$snapshots").await, [(1, 10), (2, 20)]);
}

#[tokio::test(start_paused = true)]
async fn planted_bugs_of_branches_show() {
    let write = json!({"insert": {"table": "db.t$branch_b", "rows": objects(&[(1, 1)])}});
    let branched = async |defect: Defect| {
        let world = World::with(&[defect]);
        world.key_table().await;
        world.execute(json!({"create_branch": {"table": "db.t", "branch": "b"}})).await.unwrap();
        world
    };
    let world = branched(Defect::BranchWriteAccepted).await;
    assert_eq!(world.execute(write.clone()).await, Ok(Output::Acked { acked: 1, snapshot_id: Some(1) }));
    let world = branched(Defect::BranchWriteOpensStore).await;
    assert_eq!(world.execute(write).await.unwrap_err().code, FailureCode::Rejected);
    assert_eq!(world.client.store_use().opened, 1);
}
