//! Rollback: what came after a snapshot is undone.
//!
//! Only snapshots, changelogs and tags go. The files that they led to become orphans, since a reader may still be at
//! them, and numbers above the target are used again. It knows nothing of what the snapshots hold.

use bytes::Bytes;

use crate::contract::Failure;

use super::super::PaimonTable;
use super::super::directory::numbers_after;
use super::super::exclusive_create::{Created, create_exclusively};
use super::super::lake_access::before_any_effect;
use super::heads::Head;
use super::hints::write_hint;

/// Where to go back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RollbackTarget {
    /// The snapshot of this number, also if it has expired and a tag keeps it.
    Snapshot(u64),
    /// A tagged snapshot.
    Tag(String),
}

impl PaimonTable {
    /// Makes a snapshot the newest one of this branch again. Newer snapshots, changelogs and tags go for good; the
    /// schema stays. Nobody may write meanwhile, and after a crash it must be run again before anybody does.
    /// `not-found` if there is no such target; a definite failure means that nothing has changed.
    ///
    /// The order is Paimon's: the hint first, then snapshots from the newest on, so that the snapshots that are left
    /// have no gap at any time.
    pub async fn rollback_to(&self, target: &RollbackTarget) -> Result<(), Failure> {
        let (target_id, bytes) = self.rollback_bytes(target).await.map_err(before_any_effect)?;
        let objects = &*self.lake.objects;
        let snapshots = self.snapshot_ids().await.map_err(before_any_effect)?;
        let changelogs = self.long_lived_changelog_ids().await.map_err(before_any_effect)?;
        let tags = self.tags().await.map_err(before_any_effect)?;

        if !snapshots.contains(&target_id) {
            // It has expired: it comes back from its tag before anything else goes.
            match create_exclusively(&self.lake, &self.directory.snapshot(target_id), &bytes).await {
                Created::Ours | Created::Taken => {}
                Created::Refused(failure) => return Err(before_any_effect(failure)),
                Created::Unknown(failure) => return Err(failure),
            }
        }
        let undo = async {
            write_hint(objects, &self.directory.latest_hint(), target_id).await?;
            for id in snapshots.iter().rev().filter(|id| **id > target_id) {
                objects.delete(&self.directory.snapshot(*id)).await?;
            }
            self.delete_changelogs_from(&changelogs, target_id.saturating_add(1)).await?;
            let mut newer: Vec<(u64, &String)> = tags.iter().map(|(name, tag)| (tag.snapshot.id, name)).collect();
            newer.retain(|(snapshot_id, _)| *snapshot_id > target_id);
            newer.sort();
            for (_, name) in newer.into_iter().rev() {
                objects.delete(&self.directory.tag(name)).await?;
            }
            let earliest = snapshots.first().copied().unwrap_or(target_id).min(target_id);
            write_hint(objects, &self.directory.earliest_hint(), earliest).await
        };
        undo.await.map_err(Failure::made_indefinite)
    }

    /// Makes a version of the schema the newest one of this branch again; newer ones go for good. `not-found` if there
    /// is none of this number; `rejected` if a snapshot, a tag or a changelog of the branch has a newer one. A definite
    /// failure means that nothing has changed.
    pub async fn rollback_schema(&self, schema_id: u64) -> Result<(), Failure> {
        let objects = &*self.lake.objects;
        let in_schema = self.directory.schema_directory();
        let schemas = objects.list(&in_schema).await.map_err(before_any_effect)?;
        let schemas = numbers_after(&schemas, &in_schema, "schema-");
        if !schemas.contains(&schema_id) {
            return Err(Failure::not_found(format!("table {} has no schema {schema_id}", self.path)));
        }
        let main = self.directory.on_main();
        let listed = objects.list(self.directory.branch_root()).await.map_err(before_any_effect)?;
        for head in Head::all(&main, &listed) {
            if self.directory == main && head.path.starts_with(&main.branches_directory()) {
                continue;
            }
            let found = head.read(objects).await.map_err(before_any_effect)?;
            if found.schema_id > schema_id {
                return Err(Failure::rejected(format!(
                    "expected no file that needs a schema newer than {schema_id}, found {} of schema {}",
                    head.path, found.schema_id
                )));
            }
        }
        for newer in schemas.iter().rev().filter(|id| **id > schema_id) {
            objects.delete(&self.directory.schema(*newer)).await.map_err(Failure::made_indefinite)?;
        }
        Ok(())
    }

    /// Deletes the changelogs of this number and above, the newest first, after the hint at them is mended.
    pub(super) async fn delete_changelogs_from(&self, changelogs: &[u64], lowest: u64) -> Result<(), Failure> {
        let objects = &*self.lake.objects;
        let mut going = changelogs.iter().rev().filter(|id| **id >= lowest).peekable();
        if going.peek().is_none() {
            return Ok(());
        }
        match changelogs.iter().rev().find(|id| **id < lowest) {
            Some(newest) => write_hint(objects, &self.directory.changelog_latest_hint(), *newest).await?,
            None => self.delete_changelog_hints().await?,
        }
        for id in going {
            objects.delete(&self.directory.changelog(*id)).await?;
        }
        Ok(())
    }

    /// The number of the target, and its snapshot file.
    pub(super) async fn rollback_bytes(&self, target: &RollbackTarget) -> Result<(u64, Bytes), Failure> {
        match target {
            RollbackTarget::Snapshot(snapshot_id) => Ok((*snapshot_id, self.snapshot_bytes(*snapshot_id).await?)),
            RollbackTarget::Tag(name) => self.tagged_snapshot(name).await,
        }
    }
}
