//! Branches, and the way back onto the main line.

use models::contract::FailureCode;
use models::paimon::PaimonTable;

use super::crashing::*;
use super::history::*;
use crate::surroundings::*;

async fn on_branch(warehouse: &Warehouse, name: &str) -> PaimonTable {
    PaimonTable::open_branch(&warehouse.lake, &path(), name).await.unwrap()
}

/// Main has snapshots 1 to 4; branch `side` left it at 2 and went on to 3 and 4 of its own.
async fn forked_table() -> (Warehouse, PaimonTable, PaimonTable) {
    let (warehouse, table) = eventful_table().await;
    table.create_tag("base", Some(2), None, false).await.unwrap();
    table.create_branch("side", Some("base")).await.unwrap();
    let side = on_branch(&warehouse, "side").await;
    insert(&side, "side-a", 7).await;
    insert(&side, "side-b", 8).await;
    (warehouse, table, side)
}

fn side_rows() -> [models::contract::Row; 4] {
    [row(1, "new", "d"), row(2, "y", "d"), row(7, "side-a", "d"), row(8, "side-b", "d")]
}

#[tokio::test]
async fn a_branch_goes_on_from_its_tag_and_main_does_not_notice() {
    let (warehouse, table, side) = forked_table().await;
    assert_eq!(rows(&side).await, side_rows());
    assert_eq!(side.snapshot_ids().await.unwrap(), [2, 3, 4]);
    assert_eq!(rows(&table).await, [row(3, "c", "d"), row(4, "d", "d")]);
    assert_eq!(table.branches().await.unwrap(), ["side"]);
    assert_eq!(side.tags().await.unwrap().into_keys().collect::<Vec<_>>(), ["base"]);
    assert_whole(&warehouse.storage.memory).await;
    assert_eq!(orphans(&warehouse.storage.memory).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_empty_branch_begins_with_snapshot_1() {
    let (warehouse, table) = eventful_table().await;
    table.create_branch("empty", None).await.unwrap();
    let empty = on_branch(&warehouse, "empty").await;
    assert_eq!(empty.latest_snapshot().await, Ok(None));
    insert(&empty, "first", 9).await;
    assert_eq!((latest(&empty).await.id, latest(&table).await.id), (1, 4));
    assert_eq!(rows(&empty).await, [row(9, "first", "d")]);
    assert_whole(&warehouse.storage.memory).await;
}

#[tokio::test]
async fn neither_line_loses_a_file_to_the_expiry_of_the_other() {
    let (warehouse, table, side) = forked_table().await;
    table.delete_tag("base").await.unwrap();
    side.create_tag("kept", Some(3), None, false).await.unwrap();
    let before = rows_by_head(&warehouse.lake).await;
    assert_eq!(table.expire_snapshots(&keep(1)).await, Ok(3));
    assert_eq!(side.expire_snapshots(&keep(1)).await, Ok(2));
    side.delete_tag("base").await.unwrap();
    let after = rows_by_head(&warehouse.lake).await;
    assert_eq!(
        after.keys().map(String::as_str).collect::<Vec<_>>(),
        ["branch-side/snapshot-4", "branch-side/tag-kept", "snapshot-4"]
    );
    assert!(after.iter().all(|(head, rows)| before[head] == *rows));
    assert_whole(&warehouse.storage.memory).await;
    assert_eq!(orphans(&warehouse.storage.memory).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_expiry_on_a_branch_that_crashes_anywhere_is_completed_by_the_next() {
    let (warehouse, _, side) = forked_table().await;
    overwrite(&side, "side-c", 9).await;
    let stays = ["snapshot-1", "snapshot-2", "snapshot-4", "tag-base", "branch-side/snapshot-5"];
    let effects = crash_everywhere(&warehouse, &stays, |table| {
        Box::pin(async move { side_of(&table).await?.expire_snapshots(&keep(1)).await.map(|_| ()) })
    });
    assert!(effects.await > 8);
}

async fn side_of(table: &PaimonTable) -> Result<PaimonTable, models::contract::Failure> {
    table.on_branch("side").await
}

#[tokio::test]
async fn names_are_taken_once_and_main_is_taken() {
    let (_, table, _) = forked_table().await;
    assert_eq!(table.create_branch("side", None).await.unwrap_err().code, FailureCode::AlreadyExists);
    for name in ["main", "", "a/b", "42"] {
        assert_eq!(table.create_branch(name, None).await.unwrap_err().code, FailureCode::Invalid, "{name:?}");
    }
    assert_eq!(table.create_branch("x", Some("none")).await.unwrap_err().code, FailureCode::NotFound);
    assert_eq!(table.on_branch("x").await.map(|_| ()).unwrap_err().code, FailureCode::NotFound);
    assert_eq!(table.delete_branch("x").await.unwrap_err().code, FailureCode::NotFound);
    table.create_branch("other", None).await.unwrap();
    assert_eq!(table.rename_branch("side", "other").await.unwrap_err().code, FailureCode::AlreadyExists);
    assert_eq!(table.rename_branch("none", "x").await.unwrap_err().code, FailureCode::NotFound);
    table.rename_branch("side", "aside").await.unwrap();
    assert_eq!(table.branches().await.unwrap(), ["aside", "other"]);
    assert_eq!(rows(&table.on_branch("aside").await.unwrap()).await, side_rows());
}

#[tokio::test]
async fn a_creation_that_crashes_anywhere_is_completed_by_the_next() {
    let (warehouse, table) = eventful_table().await;
    warehouse.catalog.alter_options(&path(), &[("owner".to_owned(), "me".to_owned())].into(), &[]).await.unwrap();
    insert(&warehouse.open().await, "e", 5).await;
    table.create_tag("base", None, None, false).await.unwrap();
    let effects = crash_everywhere(&warehouse, &["snapshot-5", "tag-base"], |table| {
        Box::pin(async move {
            match table.create_branch("side", Some("base")).await {
                // The answer to the very last step was lost.
                Err(failure) if failure.code == FailureCode::AlreadyExists => Ok(()),
                other => other,
            }
        })
    });
    assert_eq!(effects.await, 6, "a tag, a snapshot, two hints, two schemas");
}

#[tokio::test]
async fn a_deletion_that_crashes_anywhere_is_completed_by_the_next() {
    let (warehouse, ..) = forked_table().await;
    let effects = crash_everywhere(&warehouse, &["snapshot-2", "snapshot-4", "tag-base"], |table| {
        Box::pin(async move {
            match table.delete_branch("side").await {
                Err(failure) if failure.code == FailureCode::NotFound => Ok(()),
                other => other,
            }
        })
    });
    assert_eq!(effects.await, 7, "a schema, three snapshots, a tag, two hints");
}

#[tokio::test]
async fn main_goes_on_where_the_branch_has_come_to() {
    let (warehouse, table, side) = forked_table().await;
    table.create_tag("lost", Some(4), None, false).await.unwrap();
    side.create_tag("gained", Some(4), None, false).await.unwrap();
    table.fast_forward("side").await.unwrap();
    assert_eq!(rows(&table).await, side_rows());
    assert_eq!(table.snapshot_ids().await.unwrap(), [1, 2, 3, 4]);
    assert_eq!(table.tags().await.unwrap().into_keys().collect::<Vec<_>>(), ["base", "gained"]);
    assert_whole(&warehouse.storage.memory).await;
    insert(&table, "after", 9).await;
    assert_eq!((latest(&table).await.id, latest(&side).await.id), (5, 4));
    assert_whole(&warehouse.storage.memory).await;
}

#[tokio::test]
async fn a_fast_forward_that_crashes_anywhere_is_completed_by_the_next() {
    let (warehouse, table, side) = forked_table().await;
    warehouse.catalog.alter_options(&path(), &[("owner".to_owned(), "me".to_owned())].into(), &[]).await.unwrap();
    insert(&warehouse.open().await, "e", 5).await;
    table.create_tag("lost", Some(4), None, false).await.unwrap();
    side.create_tag("gained", Some(4), None, false).await.unwrap();
    let stays = ["snapshot-1", "snapshot-2", "tag-base", "branch-side/snapshot-2", "branch-side/snapshot-4"];
    let effects =
        crash_everywhere(&warehouse, &stays, |table| Box::pin(async move { table.fast_forward("side").await }));
    assert_eq!(
        effects.await,
        11,
        "three snapshots, a tag, a schema and a hint go; two snapshots, a tag, two hints come"
    );
}

#[tokio::test]
async fn a_branch_without_snapshots_leads_nowhere() {
    let (warehouse, table) = eventful_table().await;
    table.create_branch("empty", None).await.unwrap();
    let before = warehouse.storage.memory.snapshot_all();
    assert_eq!(table.fast_forward("empty").await.unwrap_err().code, FailureCode::Invalid);
    assert_eq!(table.fast_forward("none").await.unwrap_err().code, FailureCode::NotFound);
    assert_eq!(warehouse.storage.memory.snapshot_all(), before);
}
