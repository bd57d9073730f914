//! Statements that delete rows by partition or altogether. Each is an overwrite by nothing.

use std::collections::BTreeMap;

use crate::contract::{Failure, TablePath, Value};
use crate::defects::Defect;

use super::FilesystemCatalog;
use super::guards::refuse_while_enabled;
use super::object_names::require_plain;

impl FilesystemCatalog {
    /// Deletes all rows in one snapshot. Refused while the mode is on: it would leave the store's copy (C9). `subject`
    /// keys the draws: each call needs another one.
    pub async fn truncate_table(&self, path: &TablePath, subject: &str) -> Result<(), Failure> {
        require_plain(path, "truncated")?;
        let table = self.table(path).await?;
        if !self.lake.defects.has(Defect::TruncateLakeOnly) {
            refuse_while_enabled(&self.lake, &table, "truncated")?;
        }
        table.truncate(subject).await.map(|_| ())
    }

    /// Deletes the rows of these partitions, in one snapshot; a partition may leave columns out, and then means all that
    /// match the rest. Allowed in the mode: the store keeps its own partitions. `invalid` if a value is none of a
    /// partition column. `subject` keys the draws: each call needs another one.
    pub async fn drop_partitions(
        &self,
        path: &TablePath,
        partitions: &[BTreeMap<String, Value>],
        subject: &str,
    ) -> Result<(), Failure> {
        require_plain(path, "stripped of partitions")?;
        self.table(path).await?.drop_partitions(subject, partitions).await.map(|_| ())
    }
}
