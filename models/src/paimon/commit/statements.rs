//! The statements that take whole partitions away: TRUNCATE, DROP PARTITION, INSERT OVERWRITE.
//!
//! All of them are overwrites, by new rows or by nothing: a snapshot of kind OVERWRITE, one for each statement. Rows
//! that others add after the statement began survive (L15).

use std::collections::BTreeMap;

use crate::contract::{BucketId, Failure, Row, RowKind, Value};
use crate::paimon::lake_access::before_any_effect;
use crate::paimon::overwrite::BoundScope;
use crate::paimon::{OverwriteScope, PaimonTable, Snapshot};

use super::{CommitMode, CommitOutcome, CommitRequest, Precondition};

/// The identifier of commits that are one of a kind, as Paimon's batch writers use it: the user is another one each
/// time, so the number need not differ.
const BATCH_IDENTIFIER: u64 = i64::MAX as u64;

impl PaimonTable {
    /// Deletes all rows in one snapshot; `None` if the table has no snapshot, and so nothing to delete. `subject` keys
    /// the draws: each call needs another one.
    pub async fn truncate(&self, subject: &str) -> Result<Option<CommitOutcome>, Failure> {
        self.overwrite_by_nothing(subject, OverwriteScope::WholeTable).await
    }

    /// Deletes the rows of every partition that one of these speaks of, in one snapshot. Columns that are not named may
    /// be anything; a partition that is not there is no error. `invalid` if none is given, if one names no column, or
    /// names what is no partition column. `None` if the table has no snapshot.
    pub async fn drop_partitions(
        &self,
        subject: &str,
        partitions: &[BTreeMap<String, Value>],
    ) -> Result<Option<CommitOutcome>, Failure> {
        if partitions.is_empty() || partitions.iter().any(BTreeMap::is_empty) {
            return Err(Failure::invalid(format!(
                "table {}: expected partitions to drop, each with at least one value, found none; truncate the table \
                 to delete all rows",
                self.path
            )));
        }
        let scope = OverwriteScope::AnyOf(partitions.to_vec());
        // Also where there is nothing to delete.
        BoundScope::bind(&scope, &self.schema, &[])?;
        self.overwrite_by_nothing(subject, scope).await
    }

    /// Replaces what the scope covers by these rows, in one snapshot. A dynamic overwrite of a partitioned table by
    /// nothing covers nothing, and makes no snapshot. After an indefinite failure the new files stay, since they may be
    /// live.
    pub async fn overwrite(
        &self,
        subject: &str,
        scope: OverwriteScope,
        rows: &BTreeMap<BucketId, Vec<(RowKind, Row)>>,
    ) -> Result<Option<CommitOutcome>, Failure> {
        let has_rows = rows.values().any(|rows| !rows.is_empty());
        if scope == OverwriteScope::Dynamic && !self.schema.partition_keys.is_empty() && !has_rows {
            return Ok(None);
        }
        let base = self.latest_snapshot().await.map_err(before_any_effect)?;
        self.overwrite_from(base.as_ref(), subject, scope, rows).await.map(Some)
    }

    async fn overwrite_by_nothing(
        &self,
        subject: &str,
        scope: OverwriteScope,
    ) -> Result<Option<CommitOutcome>, Failure> {
        match self.latest_snapshot().await.map_err(before_any_effect)? {
            None => Ok(None),
            base => self.overwrite_from(base.as_ref(), subject, scope, &BTreeMap::new()).await.map(Some),
        }
    }

    async fn overwrite_from(
        &self,
        base: Option<&Snapshot>,
        subject: &str,
        scope: OverwriteScope,
        rows: &BTreeMap<BucketId, Vec<(RowKind, Row)>>,
    ) -> Result<CommitOutcome, Failure> {
        let committable = self.write(subject, base, rows).await?;
        let request = CommitRequest {
            subject: subject.to_owned(),
            user: self.lake.environment.uuid("paimon.batch-user", subject, 0),
            identifier: BATCH_IDENTIFIER,
            mode: CommitMode::Overwrite { partitions: scope },
            properties: BTreeMap::new(),
            committable,
            precondition: Precondition::None,
        };
        self.commit_or_delete(request).await
    }
}
