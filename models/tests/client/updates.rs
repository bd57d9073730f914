//! UPDATE, DELETE by filter and PARTITION clauses: where they run, and where they fail (C15, C23).

use models::contract::{FailureCode, Output};
use models::defects::Defect;
use serde_json::{Value, json};

use super::fixture::{World, acked, objects};

fn update(set: Value, filter: Value) -> Value {
    json!({"update": {"table": "db.t", "set": set, "filter": filter}})
}

fn delete(filter: Value) -> Value {
    json!({"delete": {"table": "db.t", "filter": filter}})
}

#[tokio::test(start_paused = true)]
async fn in_the_mode_rows_of_lake_and_log_are_updated_through_the_store() {
    let world = World::new();
    world.key_table().await;
    world.insert(&[(1, 10), (2, 20)]).await.unwrap();
    world.tier(u64::MAX / 2, true).await;
    world.insert(&[(2, 21), (3, 10)]).await.unwrap();
    assert_eq!(world.execute(update(json!({"v": 11}), json!({"v": 10}))).await, acked(2));
    assert_eq!(world.select("db.t$rt").await, [(1, 11), (2, 21), (3, 11)]);
    assert_eq!(world.execute(update(json!({"v": 12}), json!({"v": 20}))).await, acked(0), "20 is no longer there");
    assert_eq!(world.execute(delete(json!({"v": 11}))).await, acked(2));
    assert_eq!(world.select("db.t$rt").await, [(2, 21)]);
    assert_eq!((world.select("db.t").await, world.snapshot_id().await), (vec![(1, 10), (2, 20)], 1));
}

#[tokio::test(start_paused = true)]
async fn outside_the_mode_they_are_paimon_commits() {
    let world = World::new();
    world.plain_key_table().await;
    world.insert(&[(1, 10), (2, 20), (3, 10)]).await.unwrap();
    let committed = |acked, id| Ok(Output::Acked { acked, snapshot_id: Some(id) });
    assert_eq!(world.execute(update(json!({"v": null}), json!({"v": 10}))).await, committed(2, 2));
    assert_eq!(world.execute(delete(json!({"id": 2}))).await, committed(1, 3));
    assert_eq!(world.execute(delete(json!({"id": 2}))).await, acked(0));
    let left = world.execute(json!({"select": {"table": "db.t", "filter": {"v": null}}})).await;
    assert!(matches!(left, Ok(Output::Rows { rows, .. }) if rows.rows.len() == 2));
    assert_eq!(world.client.store_use().opened, 0);
}

#[tokio::test(start_paused = true)]
async fn append_tables_cannot_be_updated_and_in_the_mode_the_store_is_named() {
    let world = World::new();
    world.append_table().await;
    world.insert(&[(1, 10)]).await.unwrap();
    for statement in [update(json!({"v": 11}), json!({"id": 1})), delete(json!({"id": 1}))] {
        let failure = world.execute(statement.clone()).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Unsupported, true), "{statement}");
        assert!(failure.message.contains("`reference`"), "{failure}");
    }
    assert_eq!((world.select("db.t$rt").await, world.snapshot_id().await), (vec![(1, 10)], 0));
}

#[tokio::test(start_paused = true)]
async fn keys_and_unknown_columns_cannot_be_set_on_either_side() {
    for in_the_mode in [true, false] {
        let world = World::new();
        if in_the_mode {
            world.key_table().await
        } else {
            world.plain_key_table().await
        }
        world.insert(&[(1, 10)]).await.unwrap();
        for set in [json!({"id": 2}), json!({"colour": 2}), json!({})] {
            let failure = world.execute(update(set.clone(), json!({}))).await.unwrap_err();
            assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true), "{set}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_partition_clause_completes_the_rows_on_either_side() {
    for side in ["store", "lake"] {
        let world = World::new();
        world.partitioned_table(side).await;
        let insert =
            |partition: Value, rows: Value| json!({"insert": {"table": "db.t", "partition": partition, "rows": rows}});
        assert!(world.execute(insert(json!({"d": "a"}), objects(&[(1, 10)]))).await.is_ok());
        for (partition, rows) in
            [(json!({"d": "a"}), json!([{"id": 1, "v": 1, "d": "b"}])), (json!({"v": 1}), objects(&[(1, 1)]))]
        {
            let failure = world.execute(insert(partition.clone(), rows)).await.unwrap_err();
            assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true), "{partition}");
        }
        let view = if side == "store" { "db.t$rt" } else { "db.t" };
        let found = world.execute(json!({"select": {"table": view, "filter": {"d": "a"}}})).await;
        assert!(matches!(found, Ok(Output::Rows { rows, .. }) if rows.rows.len() == 1), "{side}");
    }
}

#[tokio::test(start_paused = true)]
async fn planted_bugs_of_the_side_show() {
    let key_table = async |defect: Defect| {
        let world = World::with(&[defect]);
        world.key_table().await;
        world
    };
    let overwrite = || json!({"insert_overwrite": {"table": "db.t", "rows": objects(&[(7, 70)])}});
    let committed = |acked, id| Ok(Output::Acked { acked, snapshot_id: Some(id) });

    assert_eq!(key_table(Defect::WriteToLake).await.insert(&[(1, 1)]).await, committed(1, 1));
    assert_eq!(key_table(Defect::OverwriteToStore).await.execute(overwrite()).await, acked(1));

    let world = key_table(Defect::OverwriteSticksToSession).await;
    assert_eq!(world.insert(&[(1, 1)]).await, acked(1));
    world.execute(overwrite()).await.unwrap();
    assert_eq!(world.insert(&[(1, 1)]).await, committed(1, 2));

    let world = key_table(Defect::UpdateOnLake).await;
    world.execute(overwrite()).await.unwrap();
    assert_eq!(world.execute(update(json!({"v": 1}), json!({"id": 7}))).await, committed(1, 2));

    let world = World::with(&[Defect::UnmarkedAffected]);
    world.plain_key_table().await;
    assert_eq!(world.insert(&[(1, 1)]).await.unwrap_err().code, FailureCode::Misconfigured);
}
