//! The lake table of a table that is being created in the store.
//!
//! A lake table that is there already is taken over only if an earlier create may have left it: same layout, in the
//! mode if the statement is, and nothing in it. An empty one of the legacy layout is taken over whatever its options
//! say, and keeps them (C19). This module must never know the store.

use std::collections::BTreeMap;

use super::TieringCoordinator;
use super::ddl::nothing_changed;
use crate::contract::{
    Failure, FailureCode, LAKESTREAM_ENABLED, OFFSETS_PROPERTY, TIERING_COMMIT_USER, TablePath, TableSchema,
};
use crate::defects::Defect;
use crate::paimon::{CommitMode, CommitRequest, PaimonTable, Precondition, Snapshot};
use crate::tiering::lake_columns::first_system_column;

/// Makes the lake table, or takes over the one that a create that was cut short has left.
pub(super) async fn prepare(
    coordinator: &TieringCoordinator,
    path: &TablePath,
    schema: &TableSchema,
) -> Result<(), Failure> {
    match coordinator.catalog.create_table(path, schema, false).await {
        Err(failure) if failure.code == FailureCode::AlreadyExists => adopt(coordinator, path, schema).await,
        created => created,
    }
}

async fn adopt(coordinator: &TieringCoordinator, path: &TablePath, schema: &TableSchema) -> Result<(), Failure> {
    let table = coordinator.catalog.table(path).await.map_err(nothing_changed)?;
    let columns = &table.schema().columns;
    let first_system = first_system_column(path, columns)?;
    let user_columns = columns[..first_system.unwrap_or(columns.len())].to_vec();
    let user_schema = TableSchema { columns: user_columns, ..TableSchema::clone(table.schema()) };
    if !user_schema.has_columns_like(schema) {
        return Err(taken(path, "one with other columns"));
    }
    if let Some(what) = differing_layout(table.schema(), schema) {
        return Err(taken(path, &format!("one with another {what}")));
    }
    // Planted bug adopts-old-table: outside the mode, what a lake table of this name holds is nobody's concern.
    if coordinator.defects.has(Defect::AdoptsOldTable) && !schema.lakestream_enabled() {
        return coordinator.catalog.alter_options(path, &BTreeMap::new(), &[LAKESTREAM_ENABLED.to_owned()]).await;
    }
    if first_system.is_none() && table.schema().lakestream_enabled() != schema.lakestream_enabled() {
        let found = if schema.lakestream_enabled() { "one that is not in" } else { "one that is in" };
        return Err(taken(path, &format!("{found} lake-stream mode")));
    }
    let latest = table.latest_snapshot().await.map_err(nothing_changed)?;
    if latest.as_ref().is_some_and(|snapshot| !is_fence(snapshot)) {
        return Err(taken(path, "one that has data or the progress of an earlier table"));
    }
    fence(coordinator, path, &table, latest).await?;
    // Planted bug legacy-marked: a table of the legacy layout is marked like any other.
    if first_system.is_some() && coordinator.defects.has(Defect::LegacyMarked) {
        let set = BTreeMap::from([(LAKESTREAM_ENABLED.to_owned(), true.to_string())]);
        coordinator.catalog.alter_options(path, &set, &[]).await?;
    }
    Ok(())
}

fn taken(path: &TablePath, found: &str) -> Failure {
    Failure::definite(
        FailureCode::AlreadyExists,
        format!("expected no lake table {path}, found {found}; drop or rename it first"),
    )
}

/// Commits an empty tiering snapshot without offsets.
///
/// An earlier table of this name may have been dropped with a round in flight. That round was planned before this
/// snapshot, so its precondition fails from here on, and no row of the dropped table can arrive in the new one (L12).
async fn fence(
    coordinator: &TieringCoordinator,
    path: &TablePath,
    table: &PaimonTable,
    latest: Option<Snapshot>,
) -> Result<(), Failure> {
    let epoch = coordinator.epochs.borrow_mut().next(path);
    let subject = format!("{path}/epoch-{epoch}");
    let committable = table.write(&subject, latest.as_ref(), &BTreeMap::new()).await.map_err(nothing_changed)?;
    let newest_known = latest.map(|snapshot| snapshot.id);
    let request = CommitRequest {
        subject,
        user: TIERING_COMMIT_USER.to_owned(),
        identifier: epoch,
        mode: CommitMode::Append,
        properties: BTreeMap::new(),
        committable,
        precondition: Precondition::NewestOfUser { user: TIERING_COMMIT_USER.to_owned(), newest_known },
    };
    match table.commit(request).await {
        Ok(_) => Ok(()),
        // The round in flight was faster.
        Err(failure) if failure.code == FailureCode::Rejected => {
            Err(taken(path, "one that an earlier table is still being tiered into"))
        }
        Err(failure) => Err(failure),
    }
}

/// Whether this is what [`fence`] commits, on a table that was empty.
pub(super) fn is_fence(snapshot: &Snapshot) -> bool {
    let carries_offsets =
        snapshot.properties.as_ref().is_some_and(|properties| properties.contains_key(OFFSETS_PROPERTY));
    snapshot.commit_user == TIERING_COMMIT_USER && !carries_offsets && snapshot.total_record_count == 0
}

/// What decides where a row lies, and differs between the two definitions. Option values are not shown; they may be
/// secrets.
pub(super) fn differing_layout(lake: &TableSchema, store: &TableSchema) -> Option<&'static str> {
    let differs = [
        ("primary key", lake.primary_key != store.primary_key),
        ("partition keys", lake.partition_keys != store.partition_keys),
        ("number of buckets", lake.bucket_count() != store.bucket_count()),
        ("bucket key", bucket_key(lake) != bucket_key(store)),
    ];
    differs.into_iter().find(|(_, differs)| *differs).map(|(what, _)| what)
}

fn bucket_key(schema: &TableSchema) -> Option<Vec<&str>> {
    let names = schema.bucket_key_positions().into_iter().map(|position| schema.columns[position].name.as_str());
    schema.bucket_count().map(|_| names.collect())
}
