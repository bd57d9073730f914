//! The store's DDL. "Lake first": the lake table is made or marked before the store's, so that a statement that is cut
//! short leaves a lake table that says too much, never a store table that cannot be tiered; repeating it completes it.
//!
//! The mode has two names here: the store's own, [`DATALAKE_ENABLED`], and the lake's, [`LAKESTREAM_ENABLED`]. They mean
//! one thing, and definitions are kept with the lake's. A lake table of the legacy layout never gets either (C19).
//!
//! Whether a failure is definite depends on the steps before it: once the lake was changed, nothing is certain any more
//! (C22). This module must never know how tables are tiered.

use std::collections::BTreeMap;

use super::{TieringCoordinator, agreement, lake_table};
use crate::contract::{
    BUCKET, BUCKET_KEY, DATALAKE_ENABLED, Failure, FailureCode, LAKESTREAM_ENABLED, StoreTable, TablePath, TableSchema,
};
use crate::defects::Defect;
use crate::paimon::PaimonTable;
use crate::tiering::lake_columns::{first_system_column, refuse_system_names};
use crate::tiering::layout::RowLayout;

/// A call that only reads failed, before the statement changed anything.
pub(super) fn nothing_changed(failure: Failure) -> Failure {
    failure.made_definite()
}

/// `already-exists` if the store has a table of this name.
pub(super) async fn expect_no_store_table(coordinator: &TieringCoordinator, path: &TablePath) -> Result<(), Failure> {
    match coordinator.store.table(path).await {
        Ok(existing) => Err(Failure::definite(
            FailureCode::AlreadyExists,
            format!("expected no table {path} in the store, found one with table id {}", existing.table_id),
        )),
        Err(failure) if failure.code == FailureCode::NotFound => Ok(()),
        Err(failure) => Err(nothing_changed(failure)),
    }
}

/// Store-side CREATE TABLE.
pub(super) async fn create_table(
    coordinator: &TieringCoordinator,
    path: &TablePath,
    schema: &TableSchema,
) -> Result<StoreTable, Failure> {
    // Asked first, so that the ordinary `already-exists` leaves no trace in the lake.
    expect_no_store_table(coordinator, path).await?;
    refuse_system_names(&schema.columns, &coordinator.defects)?;
    let mut schema = schema.clone();
    let switched = schema.options.remove(DATALAKE_ENABLED);
    if switched.is_none_or(|value| is_true(&value)) {
        // Written after the user's options: a lake-stream table is what this statement makes (C19).
        schema.options.insert(LAKESTREAM_ENABLED.to_owned(), true.to_string());
    } else {
        schema.options.remove(LAKESTREAM_ENABLED);
    }
    lake_table::prepare(coordinator, path, &schema).await?;
    match coordinator.store.create_table(path, &schema).await {
        Ok(table) => {
            if table.schema.lakestream_enabled() {
                coordinator.track(table.clone());
            }
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
    let (set, reset) = &in_the_lakes_words(set, reset);
    let mode = switched_mode(set, reset);
    let table = coordinator.store.table(path).await.map_err(nothing_changed)?;
    // Planted bug enabled-without-lake-table: the options change first, and stay where the lake is in the way.
    if mode == Some(true) && coordinator.defects.has(Defect::EnabledWithoutLakeTable) {
        coordinator.store.alter_options(path, set, reset).await?;
    }
    if let Some(enable) = mode {
        switch_lake(coordinator, &table, enable).await?;
    }
    let altered = coordinator.store.alter_options(path, set, reset).await;
    if let Err(failure) = altered {
        coordinator.note_doubt(&failure);
        return Err(if mode.is_some() { failure.made_indefinite() } else { failure });
    }
    match mode {
        Some(true) => track_as_it_is(coordinator, path).await,
        Some(false) => coordinator.forget(path),
        None => {}
    }
    Ok(())
}

/// Tiers the table by its present definition, which it reads back: assignments carry it.
pub(super) async fn track_as_it_is(coordinator: &TieringCoordinator, path: &TablePath) {
    match coordinator.store.table(path).await {
        Ok(table) => coordinator.track(table),
        Err(failure) => coordinator.note_doubt(&failure.made_indefinite()),
    }
}

/// The same statement with the lake's name for the mode in place of the store's. Where it has both, the lake's counts.
fn in_the_lakes_words(set: &BTreeMap<String, String>, reset: &[String]) -> (BTreeMap<String, String>, Vec<String>) {
    let (mut set, mut reset) = (set.clone(), reset.to_vec());
    if let Some(value) = set.remove(DATALAKE_ENABLED) {
        set.entry(LAKESTREAM_ENABLED.to_owned()).or_insert(value);
    }
    for key in &mut reset {
        if key == DATALAKE_ENABLED {
            LAKESTREAM_ENABLED.clone_into(key);
        }
    }
    (set, reset)
}

/// Java's reading of a boolean.
fn is_true(value: &str) -> bool {
    value.trim().eq_ignore_ascii_case("true")
}

/// What the statement says about the mode. Where it both resets and sets, the set counts, as in the store.
fn switched_mode(set: &BTreeMap<String, String>, reset: &[String]) -> Option<bool> {
    match set.get(LAKESTREAM_ENABLED) {
        Some(value) => Some(is_true(value)),
        None => reset.iter().any(|key| key == LAKESTREAM_ENABLED).then_some(false),
    }
}

/// Marks or unmarks the lake table, unless it is of the legacy layout.
async fn switch_lake(coordinator: &TieringCoordinator, table: &StoreTable, enable: bool) -> Result<(), Failure> {
    let lake_table = match coordinator.catalog.table(&table.path).await {
        Ok(lake_table) => lake_table,
        // Leaving the mode must work whatever became of the lake table.
        Err(failure) if failure.code == FailureCode::NotFound && !enable => return Ok(()),
        Err(failure) => return Err(nothing_changed(failure)),
    };
    // Enabling what is enabled changes nothing, and so needs no agreement (rule 64, P2).
    if enable && !table.schema.lakestream_enabled() {
        expect_agreement(coordinator, table, &lake_table).await?;
    }
    let is_legacy = matches!(first_system_column(&table.path, &lake_table.schema().columns), Ok(Some(_)));
    // Planted bug legacy-marked: a table of the legacy layout is marked like any other.
    if is_legacy && !coordinator.defects.has(Defect::LegacyMarked) {
        return Ok(());
    }
    // Planted bug reset-then-enable-forgotten: the old definition lacks the key, and the lake is not told.
    let forgotten = enable && !table.schema.options.contains_key(LAKESTREAM_ENABLED);
    if forgotten && coordinator.defects.has(Defect::ResetThenEnableForgotten) {
        return Ok(());
    }
    // Planted bug false-stored: leaving the mode writes `false` where the key should go.
    let (set, reset) = if enable || coordinator.defects.has(Defect::FalseStored) {
        (BTreeMap::from([(LAKESTREAM_ENABLED.to_owned(), enable.to_string())]), Vec::new())
    } else {
        (BTreeMap::new(), vec![LAKESTREAM_ENABLED.to_owned()])
    };
    match coordinator.catalog.alter_options(&table.path, &set, &reset).await {
        Err(failure) if failure.code == FailureCode::NotFound && !enable => Ok(()),
        answer => answer,
    }
}

/// `rejected` if the lake table is not the store table's: other columns, another layout or another history (P2).
async fn expect_agreement(
    coordinator: &TieringCoordinator,
    table: &StoreTable,
    lake_table: &PaimonTable,
) -> Result<(), Failure> {
    let columns = RowLayout::between(&table.path, &table.schema, lake_table.schema());
    columns.map_err(|failure| Failure::rejected(failure.message))?;
    if let Some(what) = lake_table::differing_layout(lake_table.schema(), &table.schema) {
        return Err(Failure::rejected(format!(
            "expected the lake table {} to have the store table's {what}, found another; drop or rename the lake table \
             first",
            table.path
        )));
    }
    agreement::expect_same_snapshot(coordinator, table, lake_table).await
}
