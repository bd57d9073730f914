//! Clean-up: files that nothing leads to and that nobody is about to commit (L18).
//!
//! Paimon leaves files alone that were modified lately, for their writer may be about to commit them. Storage here
//! need not know when a file was written, so one looks twice: what nothing led to at the first look and still nothing
//! leads to at the second is at least as old as the time between. A writer that takes longer than that loses its files,
//! as in Paimon; where no writer is alive the time may be zero.

use std::collections::BTreeSet;

use crate::concurrently;
use crate::contract::{Failure, ObjectStore};
use crate::defects::Defect;

use super::super::PaimonTable;
use super::super::directory::TableDirectory;
use super::super::lake_access::before_any_effect;
use super::reachable::reachable_among;

/// Files that nothing led to at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrphansSeen {
    /// When, in milliseconds of the environment's clock.
    pub seen_at_ms: u64,
    /// Their paths. Only files in places where the table's own files are; a file of another kind is nobody's business.
    pub files: BTreeSet<String>,
}

impl PaimonTable {
    /// Looks for files that no snapshot, tag or changelog of any branch leads to. Fails if what they lead to cannot all
    /// be read, since then it is not known which files are needed.
    pub async fn find_orphans(&self) -> Result<OrphansSeen, Failure> {
        let files = orphans(&*self.lake.objects, &self.directory.on_main()).await?;
        Ok(OrphansSeen { seen_at_ms: self.lake.environment.now_ms(), files })
    }

    /// Deletes what nothing led to when `earlier` was seen and nothing leads to now, if that is at least
    /// `older_than_ms` ago; returns what was deleted. A definite failure means that nothing was.
    pub async fn remove_orphans(&self, earlier: &OrphansSeen, older_than_ms: u64) -> Result<Vec<String>, Failure> {
        let now = self.find_orphans().await.map_err(before_any_effect)?;
        // Planted bug orphan-clean-races: what nothing leads to goes, however new it is.
        let races = self.lake.defects.has(Defect::OrphanCleanRaces);
        let earlier = if races { &now } else { earlier };
        if !races && now.seen_at_ms.saturating_sub(earlier.seen_at_ms) < older_than_ms {
            return Ok(Vec::new());
        }
        let mut old: Vec<String> = now.files.intersection(&earlier.files).cloned().collect();
        // Planted bug abort-leaves-files: data files are taken for somebody's who is about to commit them.
        if self.lake.defects.has(Defect::AbortLeavesFiles) {
            old.retain(|path| !path.contains("/bucket-"));
        }
        let deletes = old.iter().map(|path| self.lake.objects.delete(path));
        let outcomes: Result<(), Failure> = concurrently::all(deletes).await.into_iter().collect();
        outcomes.map_err(Failure::made_indefinite)?;
        Ok(old)
    }
}

async fn orphans(objects: &dyn ObjectStore, main: &TableDirectory) -> Result<BTreeSet<String>, Failure> {
    let listed = objects.list(main.root()).await?;
    let reachable = reachable_among(objects, main, &listed).await;
    if let Some((file, reason)) = reachable.unreadable.into_iter().next() {
        return Err(Failure::internal(format!(
            "expected to read all that is needed before anything is called an orphan, found {file}: {reason}"
        )));
    }
    let is_orphan = |path: &String| !reachable.files.contains(path) && is_in_place(main, path);
    Ok(listed.into_iter().filter(is_orphan).collect())
}

/// Whether a file is where the table's own files are, and would be one of them.
fn is_in_place(main: &TableDirectory, path: &str) -> bool {
    let Some(beneath) = path.strip_prefix(main.root()).and_then(|rest| rest.strip_prefix('/')) else {
        return false;
    };
    let of_branch = beneath.strip_prefix("branch/branch-").map(|branch| branch.split_once('/').map(|(_, rest)| rest));
    let (directory, name) = match of_branch.unwrap_or(Some(beneath)).and_then(|beneath| beneath.rsplit_once('/')) {
        Some(split) => split,
        None => return false,
    };
    match directory {
        "snapshot" | "changelog" => true,
        // Half-written files only: the others are needed for what they are.
        "schema" | "tag" | "consumer" => name.starts_with('.'),
        _ if of_branch.is_some() => false,
        "manifest" | "index" | "statistics" => true,
        _ => directory.rsplit('/').next().is_some_and(|bucket| bucket.starts_with("bucket-")),
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::TablePath;

    use super::*;

    #[test]
    fn only_files_where_the_tables_own_are_can_be_orphans() {
        let main = TableDirectory::of(&TablePath::new("db", "t"));
        for path in [
            "bucket-0/data-1.parquet",
            "dt=1/h=2/bucket-postpone/.data-1.parquet.tmp",
            "manifest/manifest-1",
            "index/index-1",
            "statistics/stat-1",
            "snapshot/.snapshot-3.tmp",
            "changelog/x",
            "tag/.tag-a.tmp",
            "branch/branch-b/snapshot/.snapshot-3.tmp",
        ] {
            assert!(is_in_place(&main, &format!("db.db/t/{path}")), "{path}");
        }
        for path in [
            "_SUCCESS",
            "dt=1/_SUCCESS",
            "notes/bucket-list",
            "tag/tag-success-file/x",
            "branch/branch-b/manifest/m",
            "a",
        ] {
            assert!(!is_in_place(&main, &format!("db.db/t/{path}")), "{path}");
        }
        assert!(!is_in_place(&main, "db.db/t2/bucket-0/data-1.parquet"), "another table");
    }
}
