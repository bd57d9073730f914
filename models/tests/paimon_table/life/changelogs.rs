//! Changelogs that outlive their snapshots.

use models::contract::{FailureCode, RowKind};
use models::paimon::{PaimonTable, Retained, Retention, RollbackTarget};

use super::crashing::*;
use super::history::*;
use crate::surroundings::*;

/// Keeps one snapshot, and the changelogs of `count`.
fn keep_changelogs(count: u64) -> Retention {
    let changelogs = Retained { at_least: count, at_most: count, time_ms: u64::MAX };
    Retention { changelogs, ..keep(1) }
}

async fn changes(table: &PaimonTable, snapshot_id: u64) -> Vec<(RowKind, i64)> {
    let changelog = table.long_lived_changelog(snapshot_id).await.unwrap();
    let buckets = table.delta(&changelog).await.unwrap();
    let mut changes: Vec<(RowKind, i64)> = buckets
        .into_values()
        .flatten()
        .map(|(kind, row)| match row[0] {
            models::contract::Value::Int(id) => (kind, id),
            _ => panic!("expected a number"),
        })
        .collect();
    changes.sort();
    changes
}

#[tokio::test]
async fn an_expired_snapshot_leaves_its_changes_behind() {
    let (warehouse, table) = eventful_table().await;
    assert_eq!(table.expire_snapshots(&keep_changelogs(10)).await, Ok(3));
    assert_eq!(table.snapshot_ids().await.unwrap(), [4]);
    assert_eq!(table.long_lived_changelog_ids().await.unwrap(), [1, 2, 3]);
    assert_eq!(changes(&table, 1).await, [(RowKind::Insert, 1), (RowKind::Insert, 2)]);
    assert_eq!(changes(&table, 2).await, [(RowKind::UpdateAfter, 1)]);
    assert_eq!(table.long_lived_changelog(4).await.unwrap_err().code, FailureCode::NotFound);
    assert_whole(&warehouse.storage.memory).await;
    assert_eq!(orphans(&warehouse.storage.memory).await, Vec::<String>::new());
}

#[tokio::test]
async fn changelogs_expire_by_their_own_rules() {
    let (warehouse, table) = eventful_table().await;
    table.expire_snapshots(&keep_changelogs(3)).await.unwrap();
    assert_eq!(table.expire_changelogs(&keep_changelogs(3)).await, Ok(1));
    assert_eq!(table.long_lived_changelog_ids().await.unwrap(), [2, 3]);
    assert_eq!(table.expire_changelogs(&keep_changelogs(3)).await, Ok(0));
    table.record_consumer("reader", 3).await.unwrap();
    assert_eq!(table.expire_changelogs(&keep_changelogs(1)).await, Ok(1), "3 is yet to be read");
    table.delete_consumer("reader").await.unwrap();
    assert_eq!(table.expire_changelogs(&keep_changelogs(1)).await, Ok(1));
    assert_eq!(rows(&table).await, [row(3, "c", "d"), row(4, "d", "d")]);
    assert_whole(&warehouse.storage.memory).await;
    assert_eq!(orphans(&warehouse.storage.memory).await, Vec::<String>::new());
}

#[tokio::test]
async fn both_expiries_are_completed_by_the_next_if_they_crash_anywhere() {
    let (warehouse, table) = eventful_table().await;
    let effects = crash_everywhere(&warehouse, &["snapshot-4"], |table| {
        Box::pin(async move {
            table.expire_snapshots(&keep_changelogs(10)).await?;
            table.expire_changelogs(&keep_changelogs(10)).await.map(|_| ())
        })
    });
    assert!(effects.await > 8);
    table.expire_snapshots(&keep_changelogs(10)).await.unwrap();
    let effects = crash_everywhere(&warehouse, &["snapshot-4"], |table| {
        Box::pin(async move { table.expire_changelogs(&keep_changelogs(1)).await.map(|_| ()) })
    });
    assert!(effects.await > 8);
}

#[tokio::test]
async fn a_rollback_takes_newer_changelogs_along() {
    let (warehouse, table) = eventful_table().await;
    table.create_tag("two", Some(2), None, false).await.unwrap();
    table.expire_snapshots(&keep_changelogs(10)).await.unwrap();
    let effects = crash_everywhere(&warehouse, &["tag-two"], |table| {
        Box::pin(async move { table.rollback_to(&RollbackTarget::Tag("two".to_owned())).await })
    });
    assert_eq!(effects.await, 6, "a snapshot comes back, another goes, a changelog goes, three hints");
    table.rollback_to(&RollbackTarget::Tag("two".to_owned())).await.unwrap();
    assert_eq!(table.long_lived_changelog_ids().await.unwrap(), [1, 2]);
    assert_eq!(table.snapshot_ids().await.unwrap(), [2]);
    assert_whole(&warehouse.storage.memory).await;
}
