//! How a catalog finds its store, opens it and closes it (C6, C14, C16, C17).

use std::collections::BTreeMap;

use models::contract::{Failure, FailureCode, Output, Statement, System};
use models::defects::Defect;
use models::system::StoreUse;
use serde_json::json;

use super::fixture::{World, acked, objects};

const BOOTSTRAP: (&str, &str) = ("reference.bootstrap.servers", "store:9123");

fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Statements that need the store.
fn needing_the_store() -> [serde_json::Value; 6] {
    [
        json!({"select": {"table": "db.t$rt"}}),
        json!({"lookup": {"table": "db.t$rt", "key": {"id": 1}}}),
        json!({"changes": {"table": "db.t$rt", "from": "earliest", "max": 9}}),
        json!({"insert": {"table": "db.t", "rows": objects(&[(1, 1)])}}),
        json!({"update": {"table": "db.t", "set": {"v": 2}, "filter": {"id": 1}}}),
        json!({"delete": {"table": "db.t", "keys": [{"id": 1}]}}),
    ]
}

/// Statements that do not, in the mode.
fn needing_the_lake_only() -> [serde_json::Value; 9] {
    let switch = |value: &str| json!({"alter_options": {"table": "db.t", "set": {"lakestream.enabled": value}}});
    [
        json!({"select": {"table": "db.t"}}),
        json!({"lookup": {"table": "db.t", "key": {"id": 1}}}),
        json!({"describe": {"table": "db.t"}}),
        json!({"describe": {"table": "db.t$rt"}}),
        json!({"select": {"table": "db.t$snapshots"}}),
        json!({"insert_overwrite": {"table": "db.t", "rows": objects(&[(1, 1)])}}),
        json!({"alter_columns": {"table": "db.t", "changes": [{"add": {"name": "w", "type": "INT"}}]}}),
        switch("false"),
        switch("true"),
    ]
}

#[tokio::test(start_paused = true)]
async fn the_store_is_opened_once_by_the_first_statement_that_needs_it_with_its_own_options_only() {
    let configured = [("lakestream.store", "reference"), BOOTSTRAP, ("reference.secret", "S"), ("other.x", "Y")];
    let world = World::with_catalog(&[], options(&configured));
    world.key_table().await;
    for statement in needing_the_lake_only() {
        world.execute(statement).await.unwrap();
    }
    assert_eq!(world.client.store_use(), StoreUse::default());
    for statement in needing_the_store() {
        world.execute(statement).await.unwrap();
    }
    assert_eq!(*world.factory.given.borrow(), [options(&[("bootstrap.servers", "store:9123"), ("secret", "S")])]);
    let option_keys = vec!["bootstrap.servers".to_owned(), "secret".to_owned()];
    assert_eq!(world.client.store_use(), StoreUse { opened: 1, closed: 0, option_keys });
}

#[tokio::test(start_paused = true)]
async fn a_misconfigured_store_is_an_error_that_names_it_and_nothing_happens_elsewhere() {
    let unset: &[(&str, &str)] = &[("reference.secret", "S3CRET"), BOOTSTRAP];
    for (configured, code, named) in [
        (unset, FailureCode::Misconfigured, "lakestream.store"),
        (&[("lakestream.store", ""), BOOTSTRAP], FailureCode::Misconfigured, "lakestream.store"),
        (&[("lakestream.store", "fluss"), ("fluss.x", "S3CRET")], FailureCode::Misconfigured, "`fluss`"),
        (&[("lakestream.store", "reference")], FailureCode::Misconfigured, "`reference`"),
        (
            &[("lakestream.store", "reference"), ("reference.bootstrap.servers", "S3CRET:1")],
            FailureCode::Unavailable,
            "`reference`",
        ),
    ] {
        let world = World::with_catalog(&[], options(configured));
        world.key_table().await;
        for statement in needing_the_store() {
            let failure = world.execute(statement.clone()).await.unwrap_err();
            assert_eq!((failure.code, failure.definite), (code, true), "{configured:?} {statement}");
            assert!(failure.message.contains(named), "{failure}");
            assert!(!failure.message.contains("S3CRET"), "{failure}");
        }
        assert_eq!((world.client.store_use().opened, world.snapshot_id().await), (0, 0));
        for statement in needing_the_lake_only() {
            world.execute(statement).await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_stores_own_ddl_does_not_depend_on_the_catalogs_options() {
    let world = World::with_catalog(&[], options(&[]));
    world.key_table().await;
    let describe = json!({"describe": {"table": "db.t", "side": "store"}});
    assert!(matches!(world.execute(describe).await, Ok(Output::Described(_))));
}

fn insert(id: i64) -> Statement {
    serde_json::from_value(json!({"insert": {"table": "db.t", "rows": objects(&[(id, 0)])}})).unwrap()
}

#[tokio::test(start_paused = true)]
async fn closing_a_catalog_closes_its_store_even_if_the_lake_side_fails_and_the_first_failure_is_kept() {
    let lake_fails = || Err(Failure::internal("the lake side does not close"));
    for (lake_side, store_fails, told) in [
        (Ok(()), false, None),
        (Ok(()), true, Some("the store's side")),
        (lake_fails(), false, Some("the lake side")),
        (lake_fails(), true, Some("the lake side")),
    ] {
        let world = World::new();
        world.append_table().await;
        let system = world.system();
        system.execute("a", "first", insert(1)).await.unwrap();
        world.factory.close_fails.set(store_fails);
        let (store_use, closed) = system.close("a", lake_side);
        assert_eq!((store_use.opened, store_use.closed, world.factory.closed.get()), (1, 1, 1));
        assert_eq!(closed.err().map(|failure| failure.message.contains(told.unwrap())), told.map(|_| true));
    }
}

#[tokio::test(start_paused = true)]
async fn the_statement_after_a_close_makes_another_catalog_and_another_writer() {
    let world = World::new();
    world.append_table().await;
    let system = world.system();
    assert_eq!(system.close("a", Ok(())), (StoreUse::default(), Ok(())), "nothing was open");
    assert_eq!(system.execute("a", "first", insert(1)).await, acked(1));
    system.close("a", Ok(())).1.unwrap();
    assert_eq!(system.store_use("a"), None);
    assert_eq!(system.execute("a", "second", insert(1)).await, acked(1));
    assert_eq!(system.store_use("a").unwrap().1.opened, 1);
    assert_eq!(world.select("db.t$rt").await.len(), 2, "a repeated writer would have hidden the second row");
}

#[tokio::test(start_paused = true)]
async fn planted_bugs_of_opening_and_closing_show() {
    let configured = options(&[("lakestream.store", "reference"), BOOTSTRAP, ("other.x", "Y")]);
    let after = async |defect: Defect, statement: serde_json::Value| {
        let world = World::with_catalog(&[defect], configured.clone());
        world.key_table().await;
        let _ = world.execute(statement).await;
        let _ = world.client.close(Err(Failure::internal("the lake side does not close")));
        world.client.store_use()
    };
    let base_read = || json!({"select": {"table": "db.t"}});
    let real_time = || json!({"select": {"table": "db.t$rt"}});
    assert_eq!(after(Defect::EagerStore, base_read()).await.opened, 1);
    assert_eq!(after(Defect::BaseReadOpensStore, base_read()).await.opened, 1);
    assert_eq!(after(Defect::StoreCreatedTwice, real_time()).await.opened, 2);
    assert_eq!(after(Defect::CloseStopsAtFirstError, real_time()).await.closed, 0);
    assert_eq!(after(Defect::PrefixNotStripped, real_time()).await.option_keys, ["reference.bootstrap.servers"]);
    let all = after(Defect::ForeignOptionsForwarded, real_time()).await.option_keys;
    assert_eq!(all, ["bootstrap.servers", "lakestream.store", "other.x"]);
}

#[tokio::test(start_paused = true)]
async fn planted_bugs_of_misconfiguration_show() {
    let unset = async |defect: Defect, statement: serde_json::Value| {
        let world = World::with_catalog(&[defect], options(&[BOOTSTRAP]));
        world.key_table().await;
        world.execute(statement).await
    };
    let insert = || json!({"insert": {"table": "db.t", "rows": objects(&[(1, 1)])}});
    let leave = json!({"alter_options": {"table": "db.t", "reset": ["lakestream.enabled"]}});
    assert_eq!(unset(Defect::MisconfigurationNotFound, insert()).await.unwrap_err().code, FailureCode::NotFound);
    let committed = Ok(Output::Acked { acked: 1, snapshot_id: Some(1) });
    assert_eq!(unset(Defect::MisconfigurationFallsBack, insert()).await, committed);
    let nameless = unset(Defect::ErrorWithoutStoreName, insert()).await.unwrap_err();
    assert!(!nameless.message.contains("lakestream.store"), "{nameless}");
    assert_eq!(unset(Defect::ToggleNeedsStore, leave).await.unwrap_err().code, FailureCode::Misconfigured);
}
