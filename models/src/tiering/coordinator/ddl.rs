//! The store's DDL. "Lake first": the lake table is made or marked before the store's, so that a statement that is cut
//! short leaves a lake table that says too much, never a store table that cannot be tiered; repeating it completes it.
//!
//! Whether a failure is definite depends on the steps before it: once the lake was changed, nothing is certain any more
//! (C22). This module must never know how tables are tiered.

use std::collections::BTreeMap;

use super::{TieringCoordinator, lake_table};
use crate::contract::{
    BUCKET, BUCKET_KEY, Failure, FailureCode, LAKESTREAM_ENABLED, StoreTable, TablePath, TableSchema,
};
use crate::tiering::layout::RowLayout;

/// A call that only reads failed, before the statement changed anything.
pub(super) fn nothing_changed(failure: Failure) -> Failure {
    Failure { definite: true, ..failure }
}

/// Store-side CREATE TABLE.
pub(super) async fn create_table(
    coordinator: &TieringCoordinator,
    path: &TablePath,
    schema: &TableSchema,
) -> Result<StoreTable, Failure> {
    // Asked first, so that the ordinary `already-exists` leaves no trace in the lake.
    match coordinator.store.table(path).await {
        Ok(existing) => {
            return Err(Failure::definite(
                FailureCode::AlreadyExists,
                format!("expected no table {path} in the store, found one with table id {}", existing.table_id),
            ));
        }
        Err(failure) if failure.code == FailureCode::NotFound => {}
        Err(failure) => return Err(nothing_changed(failure)),
    }
    let mut schema = schema.clone();
    // Written after the user's options: a lake-stream table is what this statement makes (C19).
    schema.options.insert(LAKESTREAM_ENABLED.to_owned(), true.to_string());
    lake_table::prepare(coordinator, path, &schema).await?;
    match coordinator.store.create_table(path, &schema).await {
        Ok(table) => {
            coordinator.track(table.clone());
            Ok(table)
        }
        Err(failure) => {
            coordinator.note_doubt(&failure);
            Err(failure.made_indefinite())
        }
    }
}

/// Store-side DROP TABLE. The lake table stays, as its readers expect.
pub(super) async fn drop_table(coordinator: &TieringCoordinator, path: &TablePath) -> Result<(), Failure> {
    let dropped = coordinator.store.drop_table(path).await;
    match &dropped {
        Ok(()) => coordinator.forget(path),
        Err(failure) if failure.code == FailureCode::NotFound => coordinator.forget(path),
        Err(failure) => coordinator.note_doubt(failure),
    }
    dropped
}

/// Store-side ALTER TABLE … SET / RESET.
///
/// Only the mode concerns the lake: enabling writes `true` there, disabling or resetting removes the key, and `false`
/// is never stored in the lake (C19). Other options are the store's own.
pub(super) async fn alter_options(
    coordinator: &TieringCoordinator,
    path: &TablePath,
    set: &BTreeMap<String, String>,
    reset: &[String],
) -> Result<(), Failure> {
    for fixed in [BUCKET, BUCKET_KEY] {
        if set.contains_key(fixed) || reset.iter().any(|key| key == fixed) {
            return Err(Failure::rejected(format!(
                "expected options that may change, found `{fixed}`, which decides where rows already are; create a \
                 new table instead"
            )));
        }
    }
    let mode = switched_mode(set, reset);
    let table = coordinator.store.table(path).await.map_err(nothing_changed)?;
    if let Some(enable) = mode {
        switch_lake(coordinator, &table, enable).await?;
    }
    let altered = coordinator.store.alter_options(path, set, reset).await;
    if let Err(failure) = altered {
        coordinator.note_doubt(&failure);
        return Err(if mode.is_some() { failure.made_indefinite() } else { failure });
    }
    match mode {
        Some(true) => {
            // Read back: the assignment carries the definition as it is now.
            match coordinator.store.table(path).await {
                Ok(table) => coordinator.track(table),
                Err(failure) => coordinator.note_doubt(&failure.made_indefinite()),
            }
        }
        Some(false) => coordinator.forget(path),
        None => {}
    }
    Ok(())
}

/// What the statement says about the mode. Where it both resets and sets, the set counts, as in the store.
fn switched_mode(set: &BTreeMap<String, String>, reset: &[String]) -> Option<bool> {
    match set.get(LAKESTREAM_ENABLED) {
        Some(value) => Some(value.trim().eq_ignore_ascii_case("true")),
        None => reset.iter().any(|key| key == LAKESTREAM_ENABLED).then_some(false),
    }
}

/// Marks or unmarks the lake table.
async fn switch_lake(coordinator: &TieringCoordinator, table: &StoreTable, enable: bool) -> Result<(), Failure> {
    if enable {
        let lake_table = coordinator.catalog.table(&table.path).await.map_err(nothing_changed)?;
        RowLayout::between(&table.path, &table.schema, lake_table.schema())?;
        if let Some(what) = lake_table::differing_layout(lake_table.schema(), &table.schema) {
            return Err(Failure::rejected(format!(
                "expected the lake table {} to have the store table's {what}, found another; drop or rename the lake \
                 table first",
                table.path
            )));
        }
        let set = BTreeMap::from([(LAKESTREAM_ENABLED.to_owned(), true.to_string())]);
        return coordinator.catalog.alter_options(&table.path, &set, &[]).await;
    }
    let reset = [LAKESTREAM_ENABLED.to_owned()];
    match coordinator.catalog.alter_options(&table.path, &BTreeMap::new(), &reset).await {
        // Leaving the mode must work whatever became of the lake table.
        Err(failure) if failure.code == FailureCode::NotFound => Ok(()),
        answer => answer,
    }
}
