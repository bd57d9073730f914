//! Strict mode: a commit is refused if somebody else changed its partitions after a snapshot that was declared to be
//! the last safe one.
//!
//! It is for writers whose rows were computed from a snapshot, such as a job that rescales a partition.

use std::collections::BTreeSet;

use crate::contract::{Failure, PartitionValues};
use crate::paimon::{CommitKind, PaimonTable, Snapshot};

use super::CommitRequest;
use super::conflict::{Conflict, ConflictKind};
use super::plan::commit_kind;

impl PaimonTable {
    /// Checks every snapshot after the last safe one, up to the newest. Overwrites and compactions of others refuse any
    /// commit to their partitions; appends of others refuse an overwrite. A snapshot that is expired cannot be checked,
    /// and so refuses the commit too.
    pub(super) async fn check_strict_mode(
        &self,
        request: &CommitRequest,
        last_safe: u64,
        latest: &Snapshot,
        changed: &BTreeSet<PartitionValues>,
    ) -> Result<(), Failure> {
        let mut newer = Some(latest.clone()).filter(|latest| latest.id > last_safe);
        while let Some(snapshot) = newer {
            if self.strictly_refuses(&snapshot, request, changed).await? {
                return Err(Conflict::new(
                    ConflictKind::StrictMode,
                    format!(
                        "expected nobody else to change the same partitions after snapshot {last_safe}, found {:?} \
                         snapshot {} of {}",
                        snapshot.commit_kind, snapshot.id, snapshot.commit_user
                    ),
                )
                .into());
            }
            if snapshot.id <= last_safe + 1 {
                return Ok(());
            }
            let older = self.snapshot_if_present(snapshot.id - 1).await?;
            if older.is_none() {
                return Err(Conflict::new(
                    ConflictKind::StrictMode,
                    format!("expected all snapshots after {last_safe}, found {} to be expired", snapshot.id - 1),
                )
                .into());
            }
            newer = older;
        }
        Ok(())
    }

    /// Whether this snapshot of somebody else's stands in the way.
    async fn strictly_refuses(
        &self,
        snapshot: &Snapshot,
        request: &CommitRequest,
        changed: &BTreeSet<PartitionValues>,
    ) -> Result<bool, Failure> {
        let can_refuse = match snapshot.commit_kind {
            CommitKind::Compact | CommitKind::Overwrite => true,
            CommitKind::Append => commit_kind(request) == CommitKind::Overwrite,
            CommitKind::Analyze => false,
        };
        if snapshot.commit_user == request.user || !can_refuse {
            return Ok(false);
        }
        let reader = self.manifest_reader();
        let delta = reader.manifests(&reader.list(&snapshot.delta_manifest_list).await?).await?;
        if delta.iter().flat_map(|manifest| manifest.iter()).any(|entry| changed.contains(&entry.partition)) {
            return Ok(true);
        }
        if snapshot.commit_kind == CommitKind::Append {
            return Ok(false);
        }
        // A change of deletion vectors alone leaves no trace in the delta.
        let before = self.snapshot_if_present(snapshot.id - 1).await?;
        if before.is_some_and(|before| before.index_manifest == snapshot.index_manifest) {
            return Ok(false);
        }
        Ok(reader.index_files(snapshot).await?.iter().any(|entry| changed.contains(&entry.partition)))
    }
}
