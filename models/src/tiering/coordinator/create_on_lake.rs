//! The store's definition of a table that the lake already has (P1).
//!
//! Columns, keys, partitions and buckets are the lake's; what the caller gives are options of the store's own. The
//! table is disabled, and the lake is only read. This module must never know what a load or an enabling needs.

use std::collections::BTreeMap;

use super::TieringCoordinator;
use super::ddl::{expect_no_store_table, nothing_changed};
use crate::contract::{
    BUCKET, BUCKET_KEY, DATALAKE_ENABLED, Failure, HISTORICAL_PARTITION_ENABLED, LAKESTREAM_ENABLED, StoreTable,
    TablePath, TableSchema,
};
use crate::defects::{Defect, Defects};
use crate::tiering::mapping::refuse_unmappable;

/// Makes the store's table.
pub(super) async fn create_table_on_lake(
    coordinator: &TieringCoordinator,
    path: &TablePath,
    properties: &BTreeMap<String, String>,
) -> Result<StoreTable, Failure> {
    refuse_managed(properties, &coordinator.defects)?;
    expect_no_store_table(coordinator, path).await?;
    let lake_table = coordinator.catalog.table(path).await.map_err(nothing_changed)?;
    refuse_unmappable(path, lake_table.schema(), &coordinator.defects)?;
    let schema = definition(lake_table.schema(), properties);
    // Of the store alone: nothing is to be undone if it fails.
    coordinator.store.create_table(path, &schema).await.inspect_err(|failure| coordinator.note_doubt(failure))
}

/// `rejected` if an option is among these that is the store's to set, or that the lake table decides.
fn refuse_managed(properties: &BTreeMap<String, String>, defects: &Defects) -> Result<(), Failure> {
    // Planted bug managed-option-accepted: the caller decides about everything.
    if defects.has(Defect::ManagedOptionAccepted) {
        return Ok(());
    }
    let managed = [DATALAKE_ENABLED, HISTORICAL_PARTITION_ENABLED, LAKESTREAM_ENABLED, BUCKET, BUCKET_KEY];
    match managed.into_iter().find(|option| properties.contains_key(*option)) {
        None => Ok(()),
        Some(option) => Err(Failure::rejected(format!(
            "expected options that the caller may set, found `{option}`: the store sets it by itself, or the lake table \
             decides it"
        ))),
    }
}

fn definition(lake: &TableSchema, properties: &BTreeMap<String, String>) -> TableSchema {
    let layout = [BUCKET, BUCKET_KEY].into_iter().filter_map(|option| lake.options.get_key_value(option));
    let mut options: BTreeMap<String, String> =
        layout.chain(properties).map(|(option, value)| (option.clone(), value.clone())).collect();
    // Only a caller that was allowed to can have switched the mode here.
    if let Some(value) = options.remove(DATALAKE_ENABLED) {
        options.insert(LAKESTREAM_ENABLED.to_owned(), value);
    }
    TableSchema { options, ..lake.clone() }
}
