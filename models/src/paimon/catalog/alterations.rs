//! ALTER TABLE: the next version of a table's schema.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::contract::{ColumnChange, Failure, FailureCode, TablePath};

use super::FilesystemCatalog;
use super::object_names::require_plain;
use crate::paimon::SchemaFile;
use crate::paimon::exclusive_create::{Created, create_exclusively};
use crate::paimon::lake_access::before_any_effect;
use crate::paimon::schema_change::{SchemaChange, apply_changes};
use crate::paimon::schema_rules::validate_schema;
use crate::paimon::seal::seal_json;

/// How often a schema change that lost its race starts over.
const MAX_LOST_RACES: u32 = 10;

impl FilesystemCatalog {
    /// ALTER TABLE: all of these changes or none. Allowed in the mode, and touches only this table (C7);
    /// `lakestream.enabled` can be changed at any time, with the store down or absent (C6).
    pub async fn alter_table(&self, path: &TablePath, changes: &[SchemaChange]) -> Result<(), Failure> {
        require_plain(path, "altered")?;
        self.change_schema(path, |has_snapshots, old| {
            let changed = apply_changes(old, changes, has_snapshots)?;
            Ok((changed != *old).then_some(changed))
        })
        .await
    }

    /// ALTER TABLE … SET / RESET. An option that is both reset and set is set.
    pub async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        let removed = reset.iter().filter(|key| !set.contains_key(*key));
        let removed = removed.map(|key| SchemaChange::RemoveOption { key: key.clone() });
        let set = set.iter().map(|(key, value)| SchemaChange::SetOption { key: key.clone(), value: value.clone() });
        self.alter_table(path, &removed.chain(set).collect::<Vec<_>>()).await
    }

    /// ALTER TABLE … columns, all or nothing (C7).
    pub async fn alter_columns(&self, path: &TablePath, changes: &[ColumnChange]) -> Result<(), Failure> {
        let changes = changes.iter().map(SchemaChange::try_from).collect::<Result<Vec<_>, Failure>>()?;
        self.alter_table(path, &changes).await
    }

    /// Adds the next version of the schema by compare-and-swap; whoever loses starts over on the winner's. The change
    /// is told whether the table has snapshots, and returns `None` if there is nothing to change.
    pub(super) async fn change_schema(
        &self,
        path: &TablePath,
        change: impl Fn(bool, &SchemaFile) -> Result<Option<SchemaFile>, Failure>,
    ) -> Result<(), Failure> {
        for _ in 0..MAX_LOST_RACES {
            let table = self.table(path).await.map_err(before_any_effect)?;
            let has_snapshots = table.latest_snapshot().await.map_err(before_any_effect)?.is_some();
            let Some(mut changed) = change(has_snapshots, &table.version.file)? else {
                return Ok(());
            };
            validate_schema(&changed.table_schema())?;
            changed.id = table.schema_id() + 1;
            changed.time_millis = self.lake.environment.now_ms();
            let bytes = encode_schema(&changed)?;
            match create_exclusively(&self.lake, &table.directory.schema(changed.id), &bytes).await {
                Created::Ours => return Ok(()),
                Created::Taken => {}
                Created::Refused(failure) | Created::Unknown(failure) => return Err(failure),
            }
        }
        Err(Failure::definite(
            FailureCode::Unavailable,
            format!("table {path}: the schema change lost {MAX_LOST_RACES} races against other changes; try again"),
        ))
    }
}

/// A schema file's bytes. Two writers that make the same change in the same millisecond write the same bytes, and then
/// it does not matter whose they are.
pub(super) fn encode_schema(schema: &SchemaFile) -> Result<Bytes, Failure> {
    let encoded = schema.encode().map_err(|error| Failure::invalid(error.to_string()))?;
    Ok(seal_json(&encoded))
}
