//! A table with a history, and ways to make more of it.

use models::contract::RowKind;
use models::paimon::{CommitMode, OverwriteScope, PaimonTable, Retained, Retention};

use crate::surroundings::*;

/// Keeps the newest `count`, whatever their age, and no changelogs longer than their snapshots.
pub fn keep(count: u64) -> Retention {
    let retained = Retained { at_least: count, at_most: count, time_ms: u64::MAX };
    Retention { snapshots: retained, changelogs: retained, limit: u64::MAX }
}

/// Replaces all rows by one.
pub async fn overwrite(table: &PaimonTable, subject: &str, id: i64) {
    let whole = CommitMode::Overwrite { partitions: OverwriteScope::WholeTable };
    table.commit(request(table, subject, whole, &inserts(&[row(id, subject, "d")])).await).await.unwrap();
}

/// Adds a row.
pub async fn insert(table: &PaimonTable, subject: &str, id: i64) {
    append(table, subject, &inserts(&[row(id, subject, "d")])).await;
}

/// Snapshots 1 and 2 append, 3 overwrites, 4 appends.
pub async fn eventful_table() -> (Warehouse, PaimonTable) {
    let warehouse = warehouse();
    let table = warehouse.create(&key_schema()).await;
    append(&table, "a", &inserts(&[row(1, "x", "d"), row(2, "y", "d")])).await;
    append(&table, "b", &[(RowKind::UpdateAfter, row(1, "new", "d"))]).await;
    overwrite(&table, "c", 3).await;
    insert(&table, "d", 4).await;
    (warehouse, table)
}
