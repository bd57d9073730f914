//! Statements that delete rows by partition or altogether. Each is an overwrite by nothing.

use std::collections::BTreeMap;

use crate::contract::{Failure, TablePath, Value};
use crate::defects::Defect;

use super::FilesystemCatalog;
use super::guards::refuse_while_enabled;
use super::object_names::require_plain;
use crate::paimon::lake_access::before_any_effect;
use crate::paimon::overwrite::BoundScope;
use crate::paimon::{CommitMode, CommitRequest, OverwriteScope, PaimonTable, Precondition};

impl FilesystemCatalog {
    /// Deletes all rows in one snapshot. Refused while the mode is on: it would leave the store's copy (C9). `subject`
    /// keys the draws: each call needs another one.
    pub async fn truncate_table(&self, path: &TablePath, subject: &str) -> Result<(), Failure> {
        require_plain(path, "truncated")?;
        let table = self.table(path).await?;
        if !self.lake.defects.has(Defect::TruncateLakeOnly) {
            refuse_while_enabled(&self.lake, &table, "truncated")?;
        }
        self.delete_all_rows(&table, subject).await
    }

    /// Deletes the rows of these partitions, one snapshot for each; a partition may leave columns out, and then means
    /// all that match the rest. Allowed in the mode: the store keeps its own partitions. `invalid` if a value is none
    /// of a partition column. `subject` keys the draws: each call needs another one.
    pub async fn drop_partitions(
        &self,
        path: &TablePath,
        partitions: &[BTreeMap<String, Value>],
        subject: &str,
    ) -> Result<(), Failure> {
        require_plain(path, "stripped of partitions")?;
        let table = self.table(path).await?;
        if let Some(partition) = partitions.iter().find(|partition| partition.is_empty()) {
            return Err(Failure::invalid(format!("expected partition columns to drop, found {partition:?}")));
        }
        let scopes: Vec<OverwriteScope> =
            partitions.iter().map(|partition| OverwriteScope::Static(partition.clone())).collect();
        // All of them make sense before the first one goes.
        scopes.iter().try_for_each(|scope| BoundScope::bind(scope, table.schema(), &[]).map(|_| ()))?;
        for (index, scope) in scopes.into_iter().enumerate() {
            let dropped = self.overwrite_by_nothing(&table, scope, &format!("{subject}/{index}")).await;
            // What went before this partition is gone.
            dropped.map_err(|failure| if index == 0 { failure } else { failure.made_indefinite() })?;
        }
        Ok(())
    }

    /// Commits an overwrite of everything by nothing.
    pub(super) async fn delete_all_rows(&self, table: &PaimonTable, subject: &str) -> Result<(), Failure> {
        self.overwrite_by_nothing(table, OverwriteScope::WholeTable, subject).await
    }

    async fn overwrite_by_nothing(
        &self,
        table: &PaimonTable,
        partitions: OverwriteScope,
        subject: &str,
    ) -> Result<(), Failure> {
        let Some(base) = table.latest_snapshot().await.map_err(before_any_effect)? else {
            return Ok(());
        };
        let committable = table.write(subject, Some(&base), &BTreeMap::new()).await?;
        let request = CommitRequest {
            subject: subject.to_owned(),
            // As Paimon's batch writers do: a user of its own for each commit, so the identifier need not differ.
            user: self.lake.environment.uuid("paimon.batch-user", subject, 0),
            identifier: i64::MAX as u64,
            mode: CommitMode::Overwrite { partitions },
            properties: BTreeMap::new(),
            committable,
            precondition: Precondition::None,
        };
        table.commit(request).await.map(|_| ())
    }
}
