//! Compaction: files are rewritten into fewer and larger ones, and the rows that a reader sees stay what they were.
//!
//! * Key tables keep a merge tree in each bucket ([`levels`]). Which sorted runs are compacted is decided by
//!   [`universal`], how by [`steps`], and `merge_tree` does it. Where the table has deletion vectors, the rows of
//!   older runs that are replaced are marked, so that above level 0 every key has one row.
//! * Append tables put small files together (`append`).
//!
//! The result waits for a commit, like the result of a write: nothing is visible before it. It must never know when it
//! is worth while to compact a table; it is asked to.

mod append;
mod conflict;
pub mod levels;
mod merge_tree;
pub mod options;
mod output;
pub mod steps;
pub mod universal;

use std::collections::BTreeMap;

use crate::contract::{BucketId, Failure, FailureCode};

use self::merge_tree::TreeCompaction;
use self::options::CompactionOptions;
use self::output::Output;
use super::lake_access::before_any_effect;
use super::merge::{ChangelogProducer, FORCE_LOOKUP};
use super::{Committable, ManifestEntry, PaimonTable, Snapshot};

/// How much of a table is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompactionKind {
    /// Everything: of a key table all rows go to the highest level.
    Full,
    /// What the table's options find worth while; often nothing.
    Automatic,
}

impl PaimonTable {
    /// Compacts all buckets of a snapshot; `None` if there is nothing to do. The files are written and wait for a
    /// commit in mode [`super::CommitMode::Compact`]. Nothing is visible before that, so every failure is definite;
    /// files that were written already are deleted as far as possible.
    ///
    /// * `subject` keys the draws of file names: each call needs another one.
    /// * `base` is the snapshot whose files are compacted. All of them must be live still when the result is
    ///   committed.
    pub async fn compact(
        &self,
        subject: &str,
        base: &Snapshot,
        kind: CompactionKind,
    ) -> Result<Option<Committable>, Failure> {
        self.version.buckets.mode().check_writable()?;
        self.check_owes_no_changelog()?;
        let mut options = CompactionOptions::of(&self.schema)?;
        self.check_looks_up_as_asked(&options)?;
        // What readers do not see must not wait.
        options.force_up_level_0 |= self.merge_options()?.function.hides_level_zero();
        let mut output = Output::new(self, subject, base, options.target_file_size)?;
        self.compact_into(&mut output, base, kind, &options).await.map_err(before_any_effect)?;
        let committable = output.write().await?;
        Ok(Some(committable).filter(|committable| !committable.is_empty()))
    }

    async fn compact_into(
        &self,
        output: &mut Output<'_>,
        base: &Snapshot,
        kind: CompactionKind,
        options: &CompactionOptions,
    ) -> Result<(), Failure> {
        let live = self.manifest_reader().live_files(base).await?;
        let mut vectors = self.deletion_vectors(base, &live, |_| true).await?;
        let mut buckets: BTreeMap<BucketId, Vec<ManifestEntry>> = BTreeMap::new();
        for file in live {
            buckets.entry(file.bucket_id()).or_default().push(file);
        }
        for (bucket, files) in buckets {
            let vectors = vectors.take_bucket(&bucket);
            if self.schema.has_primary_key() {
                let Some(compaction) = TreeCompaction::plan(self, options, kind, files, vectors)? else {
                    continue;
                };
                compaction.run(output).await?;
            } else {
                self.compact_append_bucket(output, options, kind, files, vectors).await?;
            }
        }
        Ok(())
    }

    /// Refuses tables whose readers take the row at the lowest level for the whole of a key, where a compaction would
    /// put a part of it there.
    fn check_looks_up_as_asked(&self, options: &CompactionOptions) -> Result<(), Failure> {
        let merge = self.merge_options()?;
        if !merge.looks_up || options.deletion_vectors || merge.function.keeps_newest() {
            return Ok(());
        }
        Err(Failure::definite(
            FailureCode::Unsupported,
            format!(
                "table {}: expected no `{FORCE_LOOKUP}` to compact a table without deletion vectors whose rows are put \
                 together from several changes, found it",
                self.path
            ),
        ))
    }

    /// Refuses tables whose compaction would owe a changelog: their followers would miss changes.
    fn check_owes_no_changelog(&self) -> Result<(), Failure> {
        match self.merge_options()?.changelog_producer {
            ChangelogProducer::None | ChangelogProducer::Input => Ok(()),
            ChangelogProducer::FullCompaction | ChangelogProducer::Lookup => Err(Failure::definite(
                FailureCode::Unsupported,
                format!(
                    "table {}: expected a `changelog-producer` none or input to compact the table, found one whose \
                     changelog is made by compaction",
                    self.path
                ),
            )),
        }
    }
}
