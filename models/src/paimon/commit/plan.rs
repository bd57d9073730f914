//! What one attempt changes of the newest snapshot, and whether it may.
//!
//! A plain append to a table whose schema never changed cannot be in conflict, so it looks at nothing. Everything else
//! is checked against the live files of the newest snapshot.

use std::collections::BTreeSet;

use crate::contract::{Failure, FailureCode, PartitionValues};
use crate::defects::Defect;
use crate::paimon::index_manifest::DELETION_VECTORS_INDEX;
use crate::paimon::live_files::{FileIdentity, Manifest, identity, replay};
use crate::paimon::overwrite::{BoundScope, all_live};
use crate::paimon::{
    CommitKind, Committable, FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta, PaimonTable, Snapshot,
};
use crate::points::Point;

use super::conflict_checks::LiveFiles;
use super::options::CommitOptions;
use super::{CommitMode, CommitRequest, index_changes};

/// What one attempt changes, beside the new files.
#[derive(Default)]
pub(super) struct Plan {
    /// The files that go.
    pub(super) deletes: Vec<ManifestEntry>,
    /// All index files of the next snapshot; `None` if they are those of the newest one.
    pub(super) index: Option<Vec<IndexManifestEntry>>,
    /// Whether the manifests that are there hold a delete of a new file, as they may after a rollback. Then they must
    /// be rewritten without: Java Paimon's readers collect the deletes of all manifests before any add, and would miss
    /// the file.
    pub(super) brings_back: bool,
}

/// What kind of snapshot a request makes. An append that takes rows away is an overwrite, for those who follow.
pub(super) fn commit_kind(request: &CommitRequest) -> CommitKind {
    let committable = &request.committable;
    let has_vectors = committable.index.iter().any(|entry| entry.index_type == DELETION_VECTORS_INDEX);
    match request.mode {
        CommitMode::Append if committable.deleted.is_empty() && !has_vectors => CommitKind::Append,
        CommitMode::Append | CommitMode::Overwrite { .. } | CommitMode::Restore => CommitKind::Overwrite,
        CommitMode::Compact => CommitKind::Compact,
    }
}

impl PaimonTable {
    /// Plans an attempt on the newest snapshot, whose manifests these are. `rejected` if it is in conflict.
    pub(super) async fn plan(
        &self,
        request: &CommitRequest,
        options: &CommitOptions,
        scope: Option<&BoundScope>,
        latest: Option<&Snapshot>,
        manifests: &[ManifestFileMeta],
    ) -> Result<Plan, Failure> {
        let committable = &request.committable;
        let adds_only = request.mode == CommitMode::Append
            && committable.deleted.is_empty()
            && committable.index.is_empty()
            && options.last_safe_snapshot.is_none();
        if adds_only && latest.is_none_or(|latest| latest.schema_id == 0 && self.schema_id() == 0) {
            return Ok(Plan::default());
        }
        let plan = self.checked_plan(request, scope, latest, manifests).await;
        let plan = plan.map_err(|failure| self.told_of_table(failure))?;
        if let (Some(last_safe), Some(latest)) = (options.last_safe_snapshot, latest) {
            let changed = changed_partitions(committable, &plan.deletes);
            let checked = self.check_strict_mode(request, last_safe, latest, &changed).await;
            checked.map_err(|failure| self.told_of_table(failure))?;
        }
        Ok(plan)
    }

    async fn checked_plan(
        &self,
        request: &CommitRequest,
        scope: Option<&BoundScope>,
        latest: Option<&Snapshot>,
        manifests: &[ManifestFileMeta],
    ) -> Result<Plan, Failure> {
        let committable = &request.committable;
        let manifests = self.manifest_reader().manifests(manifests).await?;
        let live = replay(&manifests)?;
        if let (CommitMode::Compact, Some(latest)) = (&request.mode, latest) {
            self.check_compaction_is_current(committable, latest, &live).await?;
        }
        let mut deletes = match (scope, latest) {
            (Some(scope), Some(latest)) => self.deletes_in_scope(scope, committable, latest, &live).await?,
            _ => Vec::new(),
        };
        let in_scope: BTreeSet<_> = deletes.iter().map(identity).collect();
        let others = committable.deleted.iter().filter(|entry| !in_scope.contains(&identity(entry)));
        let others: Vec<ManifestEntry> =
            others.map(|entry| ManifestEntry { kind: FileKind::Delete, ..entry.clone() }).collect();
        deletes.extend(others);

        let files = LiveFiles::without(&live, &deletes, &committable.added)?;
        files.check_added_are_new()?;
        files.check_bucket_counts()?;
        if self.schema.has_primary_key() {
            files.check_key_ranges(&self.version.key_types())?;
        }
        let index = self.checked_index(request, scope, latest, &deletes, &files).await?;
        Ok(Plan { deletes, index, brings_back: hold_delete_of_any(&manifests, &committable.added) })
    }

    /// What an overwrite takes away: what its scope covers of the snapshot that it began on. If one of these files is
    /// gone already, it is planned again, as if it had begun on the newest snapshot.
    async fn deletes_in_scope(
        &self,
        scope: &BoundScope,
        committable: &Committable,
        latest: &Snapshot,
        live: &[ManifestEntry],
    ) -> Result<Vec<ManifestEntry>, Failure> {
        match committable.base_snapshot_id {
            None => Ok(Vec::new()),
            Some(base_id) if base_id == latest.id => Ok(scope.deletes(live)),
            // Planted bug overwrite-drops-concurrent: the newest snapshot's files go, whoever added them.
            Some(_) if self.lake.defects.has(Defect::OverwriteDropsConcurrent) => Ok(scope.deletes(live)),
            Some(base_id) => {
                let base = self.snapshot(base_id).await?;
                let planned = scope.deletes(&self.manifest_reader().live_files(&base).await?);
                if all_live(&planned, live) {
                    self.reached(Point::OverwriteOnOlderBase);
                    return Ok(planned);
                }
                self.reached(Point::OverwriteReplanned);
                Ok(scope.deletes(live))
            }
        }
    }

    /// The index files of the next snapshot, if they change. Only tables that have an index pay for it.
    async fn checked_index(
        &self,
        request: &CommitRequest,
        scope: Option<&BoundScope>,
        latest: Option<&Snapshot>,
        deletes: &[ManifestEntry],
        files: &LiveFiles<'_>,
    ) -> Result<Option<Vec<IndexManifestEntry>>, Failure> {
        let (committable, restores) = (&request.committable, request.mode == CommitMode::Restore);
        let has_index = latest.is_some_and(|latest| latest.index_manifest.is_some());
        if committable.index.is_empty() && (!has_index || (deletes.is_empty() && !restores)) {
            return Ok(None);
        }
        let before = match latest {
            Some(latest) => self.manifest_reader().index_files(latest).await?,
            None => std::rc::Rc::default(),
        };
        let staying = match scope {
            None if restores => Vec::new(),
            None => before.to_vec(),
            Some(scope) => {
                index_changes::left_by_overwrite(&before, |partition| scope.covers(partition), files.staying())
            }
        };
        let after = index_changes::changed(staying, &committable.index)?;
        index_changes::check_one_a_bucket(&after, self.schema.bucket_count().is_some())?;
        files.check_deletion_vectors(&after)?;
        Ok((after != *before).then_some(after))
    }

    /// The same refusal, told of this table.
    fn told_of_table(&self, failure: Failure) -> Failure {
        if failure.code == FailureCode::Rejected {
            self.reached(Point::ConflictOfFiles);
        }
        Failure { message: format!("table {}: {}", self.path, failure.message), ..failure }
    }
}

/// Whether one of these files was deleted in one of these manifests.
fn hold_delete_of_any(manifests: &[Manifest], files: &[ManifestEntry]) -> bool {
    let files: BTreeSet<FileIdentity<'_>> = files.iter().map(identity).collect();
    let mut entries = manifests.iter().flat_map(|manifest| manifest.iter());
    entries.any(|entry| entry.kind == FileKind::Delete && files.contains(&identity(entry)))
}

/// The partitions in which a commit changes anything.
fn changed_partitions(committable: &Committable, deletes: &[ManifestEntry]) -> BTreeSet<PartitionValues> {
    let files = committable.added.iter().chain(deletes).map(|entry| &entry.partition);
    files.chain(committable.index.iter().map(|entry| &entry.partition)).cloned().collect()
}
