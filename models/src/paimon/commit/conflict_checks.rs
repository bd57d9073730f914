//! The checks of a commit's files against the files that are live in the newest snapshot.
//!
//! Each check is one rule. None of them reads, and none knows what kind of statement commits.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{DataType, Failure, PartitionValues, Row};
use crate::paimon::binary_row::deserialize;
use crate::paimon::index_manifest::DELETION_VECTORS_INDEX;
use crate::paimon::live_files::{FileIdentity, identity};
use crate::paimon::{FormatResult, IndexManifestEntry, ManifestEntry};

use super::conflict::{Conflict, ConflictKind, ConflictResult};

/// So many files are named in one message.
const NAMED_FILES: usize = 5;

/// The live files with what a commit changes of them.
pub(super) struct LiveFiles<'a> {
    /// The live files that the commit leaves.
    staying: Vec<&'a ManifestEntry>,
    /// The new files.
    added: &'a [ManifestEntry],
}

impl<'a> LiveFiles<'a> {
    /// The live files without those that go. Every file that goes must be live, once.
    pub(super) fn without(
        live: &'a [ManifestEntry],
        deletes: &[ManifestEntry],
        added: &'a [ManifestEntry],
    ) -> Result<Self, Conflict> {
        let mut staying_files: BTreeSet<FileIdentity<'_>> = live.iter().map(identity).collect();
        let gone: Vec<&str> = deletes
            .iter()
            .filter(|entry| !staying_files.remove(&identity(entry)))
            .map(|entry| entry.file.file_name.as_str())
            .collect();
        if !gone.is_empty() {
            return Err(Conflict::new(
                ConflictKind::DeletedFileGone,
                format!("expected every file that the commit deletes to be live, found {} not to be", listed(&gone)),
            ));
        }
        let staying = live.iter().filter(|entry| staying_files.contains(&identity(entry))).collect();
        Ok(Self { staying, added })
    }

    /// New files must not be live already, at any level, and each comes once.
    pub(super) fn check_added_are_new(&self) -> ConflictResult {
        let place = |entry: &'a ManifestEntry| (&entry.partition, entry.bucket, &entry.file.file_name);
        let mut known: BTreeSet<_> = self.staying.iter().map(|entry| place(entry)).collect();
        let live: Vec<&str> = self
            .added
            .iter()
            .filter(|entry| !known.insert(place(entry)))
            .map(|entry| entry.file.file_name.as_str())
            .collect();
        if live.is_empty() {
            return Ok(());
        }
        Err(Conflict::new(
            ConflictKind::AddedFileLive,
            format!("expected only new files to be added, found {} to be live already", listed(&live)),
        ))
    }

    /// The files of one partition must agree on the number of buckets, or rows are looked for in the wrong one.
    pub(super) fn check_bucket_counts(&self) -> ConflictResult {
        let counts: BTreeMap<&PartitionValues, i32> =
            self.staying.iter().map(|entry| (&entry.partition, entry.total_buckets)).collect();
        let differs =
            |entry: &&ManifestEntry| counts.get(&entry.partition).is_some_and(|count| *count != entry.total_buckets);
        let Some(differing) = self.added.iter().find(differs) else {
            return Ok(());
        };
        Err(Conflict::new(
            ConflictKind::BucketCount,
            format!(
                "expected files of {} buckets as in the rest of the partition, found {} in {}; overwrite the \
                 partition to change its number of buckets",
                counts[&differing.partition], differing.total_buckets, differing.file.file_name
            ),
        ))
    }

    /// The files of one level from 1 on must hold disjoint ranges of keys, in every bucket and level that new files
    /// come to. The ranges are serialised rows of these types.
    pub(super) fn check_key_ranges(&self, key_types: &[DataType]) -> Result<(), Failure> {
        type Level<'a> = (&'a PartitionValues, u32, i32);
        let level = |entry: &'a ManifestEntry| -> Level<'a> { (&entry.partition, entry.bucket, entry.file.level) };
        let mut touched: BTreeMap<Level<'a>, Vec<&'a ManifestEntry>> = BTreeMap::new();
        for entry in self.added.iter().filter(|entry| entry.file.level >= 1) {
            touched.entry(level(entry)).or_default().push(entry);
        }
        if touched.is_empty() {
            return Ok(());
        }
        for entry in &self.staying {
            if let Some(files) = touched.get_mut(&level(entry)) {
                files.push(entry);
            }
        }
        for ((_, bucket, level), files) in touched {
            let range = |entry: &&'a ManifestEntry| -> FormatResult<(Row, Row, &'a str)> {
                let file = &entry.file;
                let key = |bytes: &[u8]| deserialize(key_types, bytes).map_err(|error| error.within(&file.file_name));
                Ok((key(&file.min_key)?, key(&file.max_key)?, file.file_name.as_str()))
            };
            let mut ranges = files.iter().map(range).collect::<FormatResult<Vec<_>>>()?;
            ranges.sort();
            let overlap = ranges.windows(2).find(|pair| pair[0].1 >= pair[1].0);
            if let Some([(_, _, first), (_, _, second)]) = overlap {
                return Err(Conflict::new(
                    ConflictKind::KeyRangeOverlap,
                    format!(
                        "expected disjoint ranges of keys in level {level} of bucket {bucket}, found {first} and \
                         {second} to overlap"
                    ),
                )
                .into());
            }
        }
        Ok(())
    }

    /// Each deletion vector must speak of a file that is live after the commit, and each file has at most one.
    pub(super) fn check_deletion_vectors(&self, index: &[IndexManifestEntry]) -> ConflictResult {
        let vectors: Vec<(&PartitionValues, &str)> = index
            .iter()
            .filter(|entry| entry.index_type == DELETION_VECTORS_INDEX)
            .flat_map(|entry| {
                let vectors = entry.deletion_vectors.iter().flatten();
                vectors.map(|vector| (&entry.partition, vector.data_file.as_str()))
            })
            .collect();
        if vectors.is_empty() {
            return Ok(());
        }
        let live = self.staying.iter().copied().chain(self.added);
        let mut without_vector: BTreeSet<(&PartitionValues, &str)> =
            live.map(|entry| (&entry.partition, entry.file.file_name.as_str())).collect();
        let wrong: Vec<&str> =
            vectors.iter().filter(|vector| !without_vector.remove(vector)).map(|(_, data_file)| *data_file).collect();
        if wrong.is_empty() {
            return Ok(());
        }
        Err(Conflict::new(
            ConflictKind::DeletionVector,
            format!(
                "expected every deletion vector to speak of a live file, and no file to have two, found {} otherwise",
                listed(&wrong)
            ),
        ))
    }

    /// The live files that the commit leaves.
    pub(super) fn staying(&self) -> &[&'a ManifestEntry] {
        &self.staying
    }
}

/// Names for a message: the first few, and how many more there are.
pub(super) fn listed(names: &[&str]) -> String {
    let first = names.iter().take(NAMED_FILES).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED_FILES) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
