//! Rollback of snapshots and schemas.

use models::contract::FailureCode;
use models::paimon::{CommitKind, CommitMode, CompactionKind, RollbackTarget};

use super::crashing::*;
use super::history::*;
use crate::surroundings::*;

fn to_tag(name: &str) -> RollbackTarget {
    RollbackTarget::Tag(name.to_owned())
}

#[tokio::test]
async fn what_came_after_the_target_is_undone() {
    let (warehouse, table) = eventful_table().await;
    table.create_tag("two", Some(2), None, false).await.unwrap();
    table.create_tag("four", Some(4), None, false).await.unwrap();
    table.rollback_to(&RollbackTarget::Snapshot(2)).await.unwrap();
    assert_eq!(latest(&table).await.id, 2);
    assert_eq!(rows(&table).await, [row(1, "new", "d"), row(2, "y", "d")]);
    assert_eq!(table.tags().await.unwrap().into_keys().collect::<Vec<_>>(), ["two"]);
    assert_whole(&warehouse.storage.memory).await;
    assert!(!orphans(&warehouse.storage.memory).await.is_empty(), "files are left for the clean-up");
    insert(&table, "again", 3).await;
    assert_eq!(latest(&table).await.id, 3, "numbers are used again");
    assert_whole(&warehouse.storage.memory).await;
}

#[tokio::test]
async fn an_expired_snapshot_comes_back_from_its_tag() {
    for target in [to_tag("one"), RollbackTarget::Snapshot(1)] {
        let (warehouse, table) = eventful_table().await;
        table.create_tag("one", Some(1), Some(9), false).await.unwrap();
        table.expire_snapshots(&keep(1)).await.unwrap();
        table.rollback_to(&target).await.unwrap();
        assert_eq!(table.snapshot_ids().await.unwrap(), [1]);
        assert_eq!(rows(&table).await, [row(1, "x", "d"), row(2, "y", "d")]);
        assert_whole(&warehouse.storage.memory).await;
        insert(&table, "again", 3).await;
        assert_eq!(latest(&table).await.id, 2);
    }
}

#[tokio::test]
async fn what_comes_back_from_a_tag_names_a_changelog_only_while_there_is_one() {
    for (expires, told) in [(false, inserts(&[row(1, "a", "d")])), (true, Vec::new())] {
        let warehouse = warehouse();
        let table = warehouse.create(&with_option(key_schema(), "changelog-producer", "input")).await;
        insert(&table, "a", 1).await;
        table.create_tag("one", None, None, false).await.unwrap();
        insert(&table, "b", 2).await;
        if expires {
            table.expire_snapshots(&keep(1)).await.unwrap();
        }
        table.create_branch("side", Some("one")).await.unwrap();
        table.rollback_to(&to_tag("one")).await.unwrap();
        for table in [table.clone(), table.on_branch("side").await.unwrap()] {
            assert_eq!(rows(&table).await, [row(1, "a", "d")]);
            let changelog = table.changelog(&latest(&table).await).await.unwrap();
            assert_eq!(changelog.into_values().flatten().collect::<Vec<_>>(), told);
        }
        assert_whole(&warehouse.storage.memory).await;
    }
}

#[tokio::test]
async fn a_rollback_that_crashes_anywhere_is_completed_by_the_next() {
    let (warehouse, table) = eventful_table().await;
    for (name, id) in [("one", 1), ("three", 3), ("four", 4)] {
        table.create_tag(name, Some(id), None, false).await.unwrap();
    }
    let stays = ["snapshot-1", "tag-one"];
    let effects = crash_everywhere(&warehouse, &stays, |table| {
        Box::pin(async move { table.rollback_to(&RollbackTarget::Snapshot(1)).await })
    });
    assert_eq!(effects.await, 7, "the hints, three snapshots, two tags");

    table.expire_snapshots(&keep(2)).await.unwrap();
    let effects = crash_everywhere(&warehouse, &["tag-one"], |table| {
        Box::pin(async move { table.rollback_to(&to_tag("one")).await })
    });
    assert_eq!(effects.await, 7, "one snapshot comes back, two go, two tags, the hints");
}

#[tokio::test]
async fn at_no_time_there_is_a_gap_between_snapshots() {
    let (warehouse, _) = eventful_table().await;
    let before = warehouse.storage.memory.snapshot_all();
    for effects in 1..=5 {
        let (memory, crashing) = copy_of(&before, effects).await;
        let _ = open_on(&warehouse, crashing).await.unwrap().rollback_to(&RollbackTarget::Snapshot(1)).await;
        let table = open_on(&warehouse, std::rc::Rc::new(memory.clone())).await.unwrap();
        let ids = table.snapshot_ids().await.unwrap();
        assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>());
        assert_eq!(latest(&table).await.id, ids.len() as u64);
        assert_whole(&memory).await;
    }
}

#[tokio::test]
async fn what_is_not_there_is_no_target() {
    let (warehouse, table) = eventful_table().await;
    let before = warehouse.storage.memory.snapshot_all();
    for target in [RollbackTarget::Snapshot(5), to_tag("none")] {
        let failure = table.rollback_to(&target).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::NotFound, true));
    }
    assert_eq!(warehouse.storage.memory.snapshot_all(), before);
}

#[tokio::test]
async fn a_rollback_as_latest_keeps_the_history() {
    let (warehouse, table) = eventful_table().await;
    table.create_tag("one", Some(1), None, false).await.unwrap();
    let before = rows_by_head(&warehouse.lake).await;
    let outcome = table.rollback_to_as_latest("back", &RollbackTarget::Snapshot(2)).await.unwrap();
    assert_eq!(outcome.snapshot_id, 5);
    let newest = latest(&table).await;
    assert_eq!((newest.commit_kind, newest.commit_identifier), (CommitKind::Overwrite, i64::MAX));
    assert_eq!(newest.total_record_count, table.snapshot(2).await.unwrap().total_record_count);
    let after = rows_by_head(&warehouse.lake).await;
    assert_eq!(after["snapshot-5"], before["snapshot-2"]);
    assert!(before.iter().all(|(head, rows)| after[head] == *rows));
    assert_whole(&warehouse.storage.memory).await;

    // The files are live again, so the expiry of the snapshots that they come from must leave them.
    table.expire_snapshots(&keep(1)).await.unwrap();
    assert_eq!(rows(&table).await, before["snapshot-2"]);
    assert_whole(&warehouse.storage.memory).await;
    table.rollback_to_as_latest("back to one", &to_tag("one")).await.unwrap();
    assert_eq!(rows(&table).await, before["tag-one"]);
    assert_whole(&warehouse.storage.memory).await;
    assert_eq!(table.rollback_to_as_latest("x", &to_tag("two")).await.unwrap_err().code, FailureCode::NotFound);
}

#[tokio::test]
async fn a_file_that_moves_to_a_level_again_is_not_beside_a_delete_of_it() {
    let warehouse = warehouse();
    let table = warehouse.create(&with_option(key_schema(), "bucket", "1")).await;
    insert(&table, "a", 1).await;
    assert!(compact(&table, "up", CompactionKind::Full).await);
    table.rollback_to_as_latest("down", &RollbackTarget::Snapshot(1)).await.unwrap();
    assert!(compact(&table, "up again", CompactionKind::Full).await);
    assert_eq!(rows(&table).await, [row(1, "a", "d")]);
    assert_whole(&warehouse.storage.memory).await;
}

#[tokio::test]
async fn a_commit_that_overtakes_a_rollback_as_latest_is_undone_too() {
    let (warehouse, table) = eventful_table().await;
    let other = request(&table, "other", CommitMode::Append, &inserts(&[row(9, "other", "d")])).await;
    let winner = table.clone();
    warehouse.storage.line_up([CreateFault::After(Box::pin(async move {
        winner.commit(other).await.unwrap();
    }))]);
    let outcome = table.rollback_to_as_latest("back", &RollbackTarget::Snapshot(1)).await.unwrap();
    assert_eq!(outcome.snapshot_id, 6);
    assert_eq!(rows(&table).await, [row(1, "x", "d"), row(2, "y", "d")]);
    assert_whole(&warehouse.storage.memory).await;
}

#[tokio::test]
async fn a_schema_goes_back_unless_something_needs_a_newer_one() {
    let (warehouse, table) = eventful_table().await;
    for owner in ["me", "you"] {
        warehouse.catalog.alter_options(&path(), &[("owner".to_owned(), owner.to_owned())].into(), &[]).await.unwrap();
    }
    insert(&warehouse.open().await, "e", 5).await;
    let failure = table.rollback_schema(1).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::Rejected);
    assert!(failure.message.contains("snapshot-5 of schema 2"), "{failure}");
    assert_eq!(table.rollback_schema(3).await.unwrap_err().code, FailureCode::NotFound);

    table.rollback_to(&RollbackTarget::Snapshot(4)).await.unwrap();
    let effects =
        crash_everywhere(&warehouse, &["snapshot-4"], |table| Box::pin(async move { table.rollback_schema(0).await }));
    assert_eq!(effects.await, 2);
    table.rollback_schema(1).await.unwrap();
    assert_eq!(warehouse.open().await.schema_id(), 1);
}
