//! Level 0 of a key table: what was committed and not compacted yet, and so is hidden from readers who do not merge.
//!
//! It only looks: whose commits they are, and what follows from how old they are, is the caller's business.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{BucketId, Failure};

use super::deletion_vectors::batch_reads_skip_level_0;
use super::{CommitKind, FileKind, ManifestEntry, PaimonTable, Snapshot};

impl PaimonTable {
    /// Whether readers of the newest snapshot do not see what was committed after the last compaction.
    pub fn readers_skip_level_0(&self) -> bool {
        batch_reads_skip_level_0(self.schema())
    }

    /// The newest compaction with `lowest_exclusive` < id ≤ `from`'s id; `None` if no snapshot that still exists is.
    pub async fn newest_compaction(&self, from: &Snapshot, lowest_exclusive: u64) -> Result<Option<Snapshot>, Failure> {
        self.newest_above(from, lowest_exclusive, |snapshot| snapshot.commit_kind == CommitKind::Compact).await
    }

    /// The snapshot before the one with this id, if it still exists.
    pub async fn snapshot_before(&self, snapshot_id: u64) -> Result<Option<Snapshot>, Failure> {
        match snapshot_id.checked_sub(1) {
            None | Some(0) => Ok(None),
            Some(id) => self.snapshot_if_present(id).await,
        }
    }

    /// Of each bucket that has files at level 0 in this snapshot, the id of the oldest commit that added one of them:
    /// all that was committed to the bucket before is above level 0. `None` if the snapshot that says so is gone.
    pub async fn level_0_since(&self, snapshot: &Snapshot) -> Result<Option<BTreeMap<BucketId, u64>>, Failure> {
        let reader = self.manifest_reader();
        let live = reader.live_files(snapshot).await?;
        let named = |file: &ManifestEntry| (file.bucket_id(), file.file.file_name.clone());
        let mut unexplained: BTreeSet<(BucketId, String)> =
            live.iter().filter(|file| file.file.level == 0).map(named).collect();
        let mut since = BTreeMap::new();
        let mut candidate = Some(snapshot.clone());
        while !unexplained.is_empty() {
            let Some(commit) = candidate else { return Ok(None) };
            for manifest in reader.manifests(&reader.list(&commit.delta_manifest_list).await?).await? {
                let added = manifest.iter().filter(|entry| entry.kind == FileKind::Add && entry.file.level == 0);
                for entry in added.filter(|entry| unexplained.remove(&named(entry))) {
                    // The walk goes back in time, so the last one that is found is the oldest.
                    since.insert(entry.bucket_id(), commit.id);
                }
            }
            candidate = self.snapshot_before(commit.id).await?;
        }
        Ok(Some(since))
    }
}
