//! Rollback that undoes nothing: a new snapshot with the rows of an old one.
//!
//! The history stays, so readers of every snapshot and tag go on, and numbers are never used twice.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{Failure, FailureCode};

use super::super::commit::{CommitMode, CommitOutcome, CommitRequest, Precondition};
use super::super::lake_access::before_any_effect;
use super::super::live_files::{FileIdentity, identity};
use super::super::table::decode_snapshot;
use super::super::{Committable, FileKind, ManifestEntry, PaimonTable, Snapshot};
use super::rollback::RollbackTarget;

/// How often a rollback that lost its race starts over.
const MAX_LOST_RACES: u32 = 10;

impl PaimonTable {
    /// Commits a snapshot with exactly the files of an older one, in place of all that are there; returns what was
    /// committed. It follows the snapshot that is the newest then, so nobody's commit is undone unseen: one that comes
    /// first is undone too, and one that comes later stands. `subject` keys the draws: each call needs another one.
    /// `not-found` if there is no such target. A definite failure means that no such snapshot exists or ever will.
    pub async fn rollback_to_as_latest(
        &self,
        subject: &str,
        target: &RollbackTarget,
    ) -> Result<CommitOutcome, Failure> {
        let (target_id, bytes) = self.rollback_bytes(target).await.map_err(before_any_effect)?;
        let target = decode_snapshot(&self.directory.snapshot(target_id), target_id, &bytes);
        let target = target.map_err(before_any_effect)?;
        let user = self.lake.environment.uuid("paimon.batch-user", subject, 0);
        let mut lost_races = 0;
        loop {
            let latest = self.latest_snapshot().await.map_err(before_any_effect)?;
            let committable = self.files_again(&target, latest.as_ref()).await.map_err(before_any_effect)?;
            let request = CommitRequest {
                subject: format!("{subject}/{lost_races}"),
                user: user.clone(),
                identifier: i64::MAX as u64,
                mode: CommitMode::Restore,
                properties: BTreeMap::new(),
                committable,
                precondition: Precondition::NewestIs(latest.as_ref().map(|latest| latest.id)),
            };
            let overtaken = match self.commit(request).await {
                Err(failure) if failure.code == FailureCode::Rejected && lost_races < MAX_LOST_RACES => {
                    let newest = self.latest_snapshot().await.map_err(before_any_effect)?;
                    (newest.map(|newest| newest.id) != latest.map(|latest| latest.id)).then_some(()).ok_or(failure)
                }
                outcome => return outcome,
            };
            overtaken?;
            lost_races += 1;
        }
    }

    /// From the files of the newest snapshot to those of the target. A file of both stays as it is.
    async fn files_again(&self, target: &Snapshot, latest: Option<&Snapshot>) -> Result<Committable, Failure> {
        let reader = self.manifest_reader();
        let wanted = reader.live_files(target).await?;
        let present = match latest {
            Some(latest) => reader.live_files(latest).await?,
            None => Vec::new(),
        };
        Ok(Committable {
            added: without(&wanted, &present, FileKind::Add),
            deleted: without(&present, &wanted, FileKind::Delete),
            index: reader.index_files(target).await?.to_vec(),
            base_snapshot_id: latest.map(|latest| latest.id),
            ..Committable::default()
        })
    }
}

/// The files that are not among the others, as entries of this kind.
fn without(files: &[ManifestEntry], others: &[ManifestEntry], kind: FileKind) -> Vec<ManifestEntry> {
    let others: BTreeSet<FileIdentity<'_>> = others.iter().map(identity).collect();
    let left = files.iter().filter(|file| !others.contains(&identity(file)));
    left.map(|file| ManifestEntry { kind, ..file.clone() }).collect()
}
