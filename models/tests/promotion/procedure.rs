//! What the procedure does when nobody interrupts it, and what it refuses.

use models::contract::{BucketId, FailureCode, Output, RowKind, Store};
use serde_json::{Value, json};

use super::fixture::{World, message, path};

#[tokio::test(start_paused = true)]
async fn creating_on_the_lake_makes_disabled_metadata_of_what_is_there() {
    let world = World::new();
    world.lake_table(json!(["id"])).await;
    let create = json!({"create_on_lake": {"table": "db.t", "properties": {"table.log.ttl": "1d"}}});
    assert_eq!(world.run(create.clone()).await, Output::Done);
    let (lake, store) = (world.lake_schema().await, world.store_table().await.unwrap().schema);
    assert_eq!(
        (&store.columns, &store.primary_key, &store.partition_keys),
        (&lake.columns, &lake.primary_key, &lake.partition_keys)
    );
    let expected = [("bucket", "2"), ("bucket-key", "id"), ("table.log.ttl", "1d")];
    assert!(store.options.iter().map(|(key, value)| (key.as_str(), value.as_str())).eq(expected));
    assert_eq!(world.enabled().await, (false, false));
    assert_eq!(world.execute(create).await.unwrap_err().code, FailureCode::AlreadyExists);
}

#[tokio::test(start_paused = true)]
async fn options_that_the_store_manages_are_refused() {
    let world = World::new();
    world.lake_table(json!(["id"])).await;
    for option in ["table.datalake.enabled", "table.datalake.historical-partition.enabled", "lakestream.enabled"] {
        for statement in ["create_on_lake", "promote"] {
            let failure = world.execute(json!({statement: {"table": "db.t", "properties": {option: "true"}}})).await;
            let failure = failure.unwrap_err();
            assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));
            assert!(failure.message.contains(option), "{failure}");
        }
    }
    assert_eq!(world.store_table().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_table_that_cannot_be_mapped_or_is_not_there_is_refused() {
    let world = World::new();
    assert_eq!(world.promote().await.unwrap_err().code, FailureCode::NotFound);
    let columns = json!([{"name": "id", "type": "BIGINT", "nullable": false}]);
    let options = json!({"bucket": "-1"});
    world
        .run(json!({"create_table": {"table": "db.t", "columns": columns, "primary_key": ["id"], "options": options}}))
        .await;
    let failure = world.promote().await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));
    assert!(failure.message.contains("`bucket` = \"-1\""), "{failure}");
    assert_eq!(world.store_table().await, None);
}

/// P5: reads, updates and deletes of historic keys, before and after tiering.
#[tokio::test(start_paused = true)]
async fn a_promoted_key_table_is_its_history_and_what_is_written_since() {
    let world = World::new();
    world.lake_table(json!(["id"])).await;
    world.insert(&[(1, 10), (2, 20), (3, 30), (4, 40)]).await;
    world.insert(&[(4, 41)]).await;
    let source = world.newest_id().await;
    assert!(message(world.promote().await).contains(&format!("snapshot {source}")));
    assert_eq!(world.enabled().await, (true, true));
    assert_eq!(world.select("db.t$rt").await, [(1, 10), (2, 20), (3, 30), (4, 41)]);
    assert_eq!(world.lookup(4).await, Some(41));

    let observed = world.store.observe(&path());
    assert_eq!(observed.lake_snapshot_id, Some(source));
    assert!(observed.tiered.unwrap().iter().all(|bucket| bucket.offset == 0), "nothing of the log is in the lake");

    world.insert(&[(1, 11), (5, 50)]).await;
    world.run(json!({"delete": {"table": "db.t", "keys": [{"id": 2}]}})).await;
    let expected = [(1, 11), (3, 30), (4, 41), (5, 50)];
    assert_eq!(world.newest_id().await, source, "regular writes go to the store");
    assert_eq!(world.select("db.t$rt").await, expected);
    assert_eq!((world.lookup(1).await, world.lookup(2).await, world.lookup(3).await), (Some(11), None, Some(30)));
    world.tier().await;
    assert_eq!(world.select("db.t").await, expected);
    assert_eq!(world.select("db.t$rt").await, expected);
}

#[tokio::test(start_paused = true)]
async fn the_changelog_begins_with_the_history() {
    let world = World::new();
    world.lake_table(json!(["id"])).await;
    world.insert(&[(1, 10), (2, 20)]).await;
    message(world.promote().await);
    world.insert(&[(1, 11)]).await;
    let changes = json!({"changes": {"table": "db.t$rt", "from": "earliest", "max": 100}});
    let Output::Changes { changes, .. } = world.run(changes).await else { panic!("expected changes") };
    let kinds: Vec<RowKind> = changes.iter().map(|change| change.kind).collect();
    use RowKind::{Insert, UpdateAfter, UpdateBefore};
    assert_eq!(kinds, [Insert, Insert, UpdateBefore, UpdateAfter]);
}

#[tokio::test(start_paused = true)]
async fn an_append_table_registers_its_snapshot_with_empty_offsets_and_loads_nothing() {
    let world = World::new();
    world.lake_table(json!([])).await;
    world.insert(&[(1, 10), (1, 10)]).await;
    message(world.promote().await);
    let table = world.store_table().await.unwrap();
    let registered = world.store.registered_snapshots(table.table_id).await.unwrap().tiered.unwrap();
    assert_eq!((registered.snapshot_id, registered.offsets.len()), (1, 0));
    world.insert(&[(2, 20)]).await;
    let expected = [(1, 10), (1, 10), (2, 20)];
    assert_eq!(world.select("db.t$rt").await, expected);
    world.tier().await;
    assert_eq!(world.select("db.t").await, expected);
    assert_eq!(world.select("db.t$rt").await, expected);
}

#[tokio::test(start_paused = true)]
async fn an_empty_key_table_registers_nothing() {
    let world = World::new();
    world.lake_table(json!(["id"])).await;
    message(world.promote().await);
    assert_eq!(world.store.observe(&path()).lake_snapshot_id, None);
    world.insert(&[(1, 10)]).await;
    world.tier().await;
    assert_eq!(world.select("db.t").await, [(1, 10)]);
}

#[tokio::test(start_paused = true)]
async fn the_second_call_says_that_there_is_nothing_to_do() {
    let world = World::new();
    world.lake_table(json!(["id"])).await;
    world.insert(&[(1, 10)]).await;
    message(world.promote().await);
    world.insert(&[(1, 11)]).await;
    assert!(message(world.promote().await).contains("already"));
    assert_eq!(world.lookup(1).await, Some(11));
}

#[tokio::test(start_paused = true)]
async fn what_a_dropped_predecessor_has_tiered_is_history() {
    let world = World::new();
    let columns = json!([{"name": "id", "type": "BIGINT", "nullable": false}, {"name": "v", "type": "BIGINT"}]);
    let options = json!({"bucket": "2"});
    let table =
        json!({"table": "db.t", "columns": columns, "primary_key": ["id"], "options": options, "side": "store"});
    world.run(json!({"create_table": table})).await;
    world.insert(&[(1, 10), (2, 20)]).await;
    world.tier().await;
    world.run(json!({"drop_table": {"table": "db.t", "side": "store"}})).await;
    message(world.promote().await);
    world.insert(&[(2, 21)]).await;
    assert_eq!(world.select("db.t$rt").await, [(1, 10), (2, 21)]);
    world.tier().await;
    assert_eq!(world.select("db.t").await, [(1, 10), (2, 21)]);
}

#[tokio::test(start_paused = true)]
async fn a_commit_while_the_table_is_disabled_keeps_it_disabled() {
    let world = World::new();
    world.lake_table(json!(["id"])).await;
    let enable = json!({"enable": {"table": "db.t"}});
    world.run(json!({"create_on_lake": {"table": "db.t"}})).await;
    world.native_insert(1, 10).await;
    let failure = world.execute(enable.clone()).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));
    assert_eq!(world.enabled().await, (false, false));

    message(world.promote().await);
    assert_eq!(world.run(enable.clone()).await, Output::Done, "enabling twice is a no-op");
    world.insert(&[(2, 20)]).await;
    world.tier().await;
    let disable = json!({"alter_options": {"table": "db.t", "reset": ["table.datalake.enabled"], "side": "store"}});
    world.run(disable.clone()).await;
    assert_eq!(world.run(enable.clone()).await, Output::Done, "the lake is as the store knows it");
    world.run(disable).await;
    world.native_insert(3, 30).await;
    let set = json!({"lakestream.enabled": "true"});
    let plain_alter = json!({"alter_options": {"table": "db.t", "set": set, "side": "store"}});
    for statement in [enable, plain_alter] {
        assert_eq!(world.execute(statement).await.unwrap_err().code, FailureCode::Rejected);
        assert_eq!(world.enabled().await, (false, false));
    }
}

async fn partitioned(world: &World) {
    let columns = json!([
        {"name": "id", "type": "BIGINT", "nullable": false},
        {"name": "v", "type": "BIGINT"},
        {"name": "dt", "type": "STRING", "nullable": false},
    ]);
    let table = json!({
        "table": "db.t", "columns": columns, "primary_key": ["id", "dt"], "partition_keys": ["dt"],
        "options": {"bucket": "1"},
    });
    world.run(json!({"create_table": table})).await;
    let rows = json!([{"id": 1, "v": 10, "dt": "a"}, {"id": 2, "v": 20, "dt": "b"}]);
    world.run(json!({"insert": {"table": "db.t", "rows": rows}})).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_not_selected_stays_readable_and_is_not_written() {
    let world = World::new();
    partitioned(&world).await;
    message(world.execute(json!({"promote": {"table": "db.t", "partitions": [{"dt": "b"}]}})).await);
    assert_eq!(world.select("db.t$rt").await, [(1, 10), (2, 20)]);
    let key = json!({"lookup": {"table": "db.t$rt", "key": {"id": 1, "dt": "a"}}});
    assert_eq!(super::fixture::pairs(world.run(key).await), [(1, 10)]);
    let insert = |id: i64, dt: &str| json!({"insert": {"table": "db.t", "rows": [{"id": id, "v": 0, "dt": dt}]}});
    let failure = world.execute(insert(1, "a")).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Unsupported, true));
    world.run(insert(2, "b")).await;
    world.run(insert(3, "c")).await;
    assert_eq!(world.select("db.t$rt").await, [(1, 10), (2, 0), (3, 0)]);
}

/// The second call does what it is asked for, wherever the first one was cut short.
#[tokio::test(start_paused = true)]
async fn a_call_with_other_partitions_after_one_that_was_cut_short_loads_those() {
    let selecting = |partitions: Value| json!({"promote": {"table": "db.t", "partitions": partitions}});
    for cut_at in 1.. {
        let world = World::new();
        partitioned(&world).await;
        let first = world.interrupted(selecting(json!([{"dt": "b"}])), cut_at, super::fixture::crash()).await;
        if first.is_some() || world.enabled().await.1 {
            assert!(cut_at >= 7, "the procedure was over behind call {cut_at}");
            break;
        }
        message(world.execute(selecting(Value::Null)).await);
        let insert = json!({"insert": {"table": "db.t", "rows": [{"id": 1, "v": 11, "dt": "a"}]}});
        world.run(insert).await;
        assert_eq!(world.select("db.t$rt").await, [(1, 11), (2, 20)], "cut behind call {cut_at}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_selection_without_sense_changes_nothing() {
    let world = World::new();
    partitioned(&world).await;
    for selection in [json!([{"dt": "z"}]), json!([{"day": "a"}]), json!([{"dt": "a"}, {"dt": "a"}])] {
        let failure = world.execute(json!({"promote": {"table": "db.t", "partitions": selection}})).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true), "{failure}");
    }
    assert_eq!(world.store_table().await, None);
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_load_shows_before_it_is_published() {
    let world = World::new();
    world.lake_table(json!(["id"])).await;
    world.insert(&[(1, 10)]).await;
    let store = world.store.clone();
    // create, begin, stage: behind the stage there is a staging area and no state.
    let looked = std::rc::Rc::new(std::cell::Cell::new(0));
    let seen = looked.clone();
    let look = move || {
        let (store, seen) = (store.clone(), seen.clone());
        let look: futures::future::LocalBoxFuture<'static, ()> = Box::pin(async move {
            let table_id = store.table(&path()).await.unwrap().table_id;
            for bucket in [0, 1] {
                let key = models::contract::Row::new(vec![models::contract::Value::Int(1)]);
                let row = store.lookup(table_id, &BucketId::unpartitioned(bucket), &key).await.unwrap();
                seen.set(seen.get() + 1 + 100 * u32::from(row.is_some()));
            }
        });
        look
    };
    message(world.promote_interrupted(4, std::rc::Rc::new(look)).await.unwrap());
    assert_eq!(looked.get(), 2, "both buckets were looked at, and both were empty");
    assert_eq!(world.lookup(1).await, Some(10));
}
