//! Changelogs that outlive their snapshots: `changelog/changelog-N`, what is left of the expired snapshot N.
//!
//! Its changes can still be read, its rows cannot.

use crate::contract::Failure;
use crate::contract::FailureCode;

use super::super::directory::numbers_after;
use super::super::lake_access::before_any_effect;
use super::super::{PaimonTable, Snapshot};
use super::expiry::bounds;
use super::heads::{Head, HeadKind, decode_changelog};
use super::hints::write_hint;
use super::retention::Retention;
use super::survey::{Survey, delete_in_order};

impl PaimonTable {
    /// The numbers of the expired snapshots of this branch whose changelogs are kept, ascending.
    pub async fn long_lived_changelog_ids(&self) -> Result<Vec<u64>, Failure> {
        let directory = self.directory.changelog_directory();
        Ok(numbers_after(&self.lake.objects.list(&directory).await?, &directory, "changelog-"))
    }

    /// What an expired snapshot says of its changelog; `not-found` if none is kept. Only the changes that it names may
    /// be read. The name of a list that its writer left out is empty.
    pub async fn long_lived_changelog(&self, snapshot_id: u64) -> Result<Snapshot, Failure> {
        let path = self.directory.changelog(snapshot_id);
        match self.lake.objects.get(&path).await {
            Ok(bytes) => decode_changelog(&path, snapshot_id, &bytes),
            Err(failure) if failure.code == FailureCode::NotFound => {
                Err(Failure::not_found(format!("table {} keeps no changelog of snapshot {snapshot_id}", self.path)))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Expires changelogs of this branch that need not be kept; returns how many. The bounds count from the newest
    /// snapshot, and the age is the changelog's own; otherwise they are those of
    /// [`PaimonTable::expire_snapshots`]. A definite failure means that nothing was deleted.
    pub async fn expire_changelogs(&self, retention: &Retention) -> Result<u64, Failure> {
        retention.changelogs.check("changelog")?;
        let ids = self.long_lived_changelog_ids().await.map_err(before_any_effect)?;
        let snapshots = self.snapshot_ids().await.map_err(before_any_effect)?;
        let (Some(earliest), false) = (ids.first().copied(), snapshots.is_empty()) else {
            return Ok(0);
        };
        let end_exclusive = self.changelogs_expire_until(&ids, &snapshots, retention).await;
        let end_exclusive = end_exclusive.map_err(before_any_effect)?;
        let objects = &*self.lake.objects;
        let hint = self.directory.changelog_earliest_hint();
        let going: Vec<u64> = ids.iter().copied().filter(|id| *id < end_exclusive).collect();
        if going.is_empty() {
            write_hint(objects, &hint, earliest).await?;
            return Ok(0);
        }
        let paths: Vec<String> = going.iter().map(|id| self.directory.changelog(*id)).collect();
        let goes = |head: &Head| head.kind == HeadKind::Changelog && paths.contains(&head.path);
        let survey = Survey::take(&self.lake, &self.directory.on_main()).await?;
        let doomed = survey.doomed(goes, |_| false)?;
        // From here on files may be gone, so no failure is definite any more.
        let stays = ids.iter().copied().find(|id| *id >= end_exclusive);
        let delete = async {
            if stays.is_none() {
                // Before the last changelog, or a run after a crash would see nothing to mend.
                self.delete_changelog_hints().await?;
            }
            delete_in_order(objects, &doomed).await?;
            for path in &paths {
                objects.delete(path).await?;
            }
            match stays {
                Some(stays) => write_hint(objects, &hint, stays).await,
                None => Ok(()),
            }
        };
        delete.await.map_err(Failure::made_indefinite)?;
        Ok(going.len() as u64)
    }

    async fn changelogs_expire_until(
        &self,
        ids: &[u64],
        snapshots: &[u64],
        retention: &Retention,
    ) -> Result<u64, Failure> {
        let consumed_exclusive = self.min_next_snapshot().await?.unwrap_or(u64::MAX);
        let (young, end_exclusive) = bounds(ids, snapshots, &retention.changelogs, consumed_exclusive, retention.limit);
        let younger_than_ms = self.lake.environment.now_ms().saturating_sub(retention.changelogs.time_ms);
        for id in ids.iter().filter(|id| **id >= young && **id < end_exclusive) {
            if self.long_lived_changelog(*id).await?.time_millis >= younger_than_ms {
                return Ok(*id);
            }
        }
        Ok(end_exclusive)
    }

    /// Deletes the hints at changelogs, when there is none to hint at.
    pub(super) async fn delete_changelog_hints(&self) -> Result<(), Failure> {
        self.lake.objects.delete(&self.directory.changelog_latest_hint()).await?;
        self.lake.objects.delete(&self.directory.changelog_earliest_hint()).await
    }
}
