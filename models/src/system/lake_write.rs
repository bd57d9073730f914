//! Writes that are Paimon commits of this client: regular writes to tables outside the mode (C8), INSERT OVERWRITE
//! (rule 39, C15), and a native writer that bypasses the store.
//!
//! This module must never call the store: what it commits is the lake's alone.

use std::collections::BTreeMap;

use crate::contract::{BucketId, Failure, FailureCode, Output, Row, RowKind, RowSet};
use crate::defects::Defect;
use crate::paimon::{CommitMode, CommitRequest, OverwriteScope, PaimonTable, Precondition};

use super::client::Client;
use super::insert::rows_of_keys;
use super::partition_clause::{PartitionSpec, bind_partition, rows_of_partition, rows_to_insert};
use super::patience::attempt_subject;

/// The rows of a commit, bucket by bucket.
type Changes = BTreeMap<BucketId, Vec<(RowKind, Row)>>;

impl Client {
    /// INSERT INTO as Paimon has it.
    pub(super) async fn insert_into_lake(
        &self,
        operation_id: &str,
        table: &PaimonTable,
        partition: Option<&PartitionSpec>,
        rows: &RowSet,
    ) -> Result<Output, Failure> {
        let rows = rows_to_insert(table.schema(), partition, rows)?;
        self.append_to_lake(operation_id, table, RowKind::Insert, rows).await
    }

    /// DELETE by key as Paimon has it.
    pub(super) async fn delete_from_lake(
        &self,
        operation_id: &str,
        table: &PaimonTable,
        keys: &RowSet,
    ) -> Result<Output, Failure> {
        if !table.schema().has_primary_key() {
            return Err(Failure::definite(
                FailureCode::Unsupported,
                "expected a table with a primary key to delete keys from, found one without",
            ));
        }
        let rows = rows_of_keys(table.schema(), keys)?;
        self.append_to_lake(operation_id, table, RowKind::Delete, rows).await
    }

    /// INSERT OVERWRITE: the named partitions, those of the new rows, or the whole table where it has none.
    pub(super) async fn overwrite_lake(
        &self,
        operation_id: &str,
        table: &PaimonTable,
        partition: Option<&PartitionSpec>,
        rows: &RowSet,
    ) -> Result<Output, Failure> {
        let schema = table.schema();
        let (scope, rows) = match partition {
            Some(partition) => {
                let partition = bind_partition(schema, partition)?;
                let rows = rows_of_partition(schema, &partition, rows)?;
                (OverwriteScope::Static(partition), rows)
            }
            None if schema.partition_keys.is_empty() => (OverwriteScope::WholeTable, rows.conform(schema)?),
            // A dynamic overwrite without rows names no partition, and so replaces nothing.
            None if rows.rows.is_empty() => return Ok(Output::Acked { acked: 0, snapshot_id: None }),
            None => (OverwriteScope::Dynamic, rows.conform(schema)?),
        };
        let mode = CommitMode::Overwrite { partitions: scope };
        self.commit_rows(operation_id, table, mode, RowKind::Insert, rows).await
    }

    /// One commit of these rows; none where there are no rows.
    pub(super) async fn append_to_lake(
        &self,
        operation_id: &str,
        table: &PaimonTable,
        kind: RowKind,
        rows: Vec<Row>,
    ) -> Result<Output, Failure> {
        if rows.is_empty() {
            return Ok(Output::Acked { acked: 0, snapshot_id: None });
        }
        self.commit_rows(operation_id, table, CommitMode::Append, kind, rows).await
    }

    /// Writes the files and commits them, again if that certainly failed because a part was down.
    async fn commit_rows(
        &self,
        operation_id: &str,
        table: &PaimonTable,
        mode: CommitMode,
        kind: RowKind,
        rows: Vec<Row>,
    ) -> Result<Output, Failure> {
        let acked = rows.len() as u64;
        let mut changes: Changes = BTreeMap::new();
        for row in rows {
            changes.entry(table.bucket_of(&row)).or_default().push((kind, row));
        }
        let identifier = self.next_commit_identifier.get();
        self.next_commit_identifier.set(identifier + 1);
        let attempt = async |attempt| {
            self.try_commit(&attempt_subject(operation_id, attempt), table, identifier, &mode, &changes).await
        };
        let snapshot_id = self.patience.once(attempt).await?;
        Ok(Output::Acked { acked, snapshot_id: Some(snapshot_id) })
    }

    /// One attempt. Files alone are invisible, so a failure to write them is definite; what a failed commit means only
    /// the commit knows. The files of an unknown outcome stay: they may be live (L10).
    async fn try_commit(
        &self,
        subject: &str,
        table: &PaimonTable,
        identifier: u64,
        mode: &CommitMode,
        changes: &Changes,
    ) -> Result<u64, Failure> {
        if let Some(snapshot_id) = self.planted_commit_of_another(table, identifier).await? {
            return Ok(snapshot_id);
        }
        let base = self.patience.read(async || table.latest_snapshot().await).await?;
        let committable = table.write(subject, base.as_ref(), changes).await?;
        let request = CommitRequest {
            subject: subject.to_owned(),
            user: self.commit_user.clone(),
            identifier,
            mode: mode.clone(),
            properties: BTreeMap::new(),
            committable,
            precondition: Precondition::None,
        };
        table.commit_or_delete(request).await.map(|outcome| outcome.snapshot_id)
    }

    /// Planted bug shared-commit-user: the newest snapshot of the user that all clients share, if its identifier says
    /// that this commit was made already.
    async fn planted_commit_of_another(&self, table: &PaimonTable, identifier: u64) -> Result<Option<u64>, Failure> {
        if !self.lake.defects.has(Defect::SharedCommitUser)
            || !table.filter_committed(&self.commit_user, &[identifier]).await?.is_empty()
        {
            return Ok(None);
        }
        let Some(latest) = table.latest_snapshot().await? else { return Ok(None) };
        let newest = table.newest_snapshot_of_user(&latest, &self.commit_user).await?;
        Ok(newest.map(|snapshot| snapshot.id))
    }
}
