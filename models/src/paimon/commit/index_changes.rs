//! From the index files of one snapshot to those of the next.
//!
//! What an index holds is not known here: entries come and go by type and name.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::PartitionValues;
use crate::paimon::index_manifest::{DELETION_VECTORS_INDEX, HASH_INDEX};
use crate::paimon::{FileKind, IndexChange, IndexManifestEntry, ManifestEntry};

use super::conflict::{Conflict, ConflictKind, ConflictResult};

/// The index files after these changes, those that stay first, in their order. It is a conflict if a change takes away
/// what is not there, or brings what is there already: the index was changed since the commit was planned.
pub(super) fn changed(
    before: Vec<IndexManifestEntry>,
    changes: &[IndexChange],
) -> Result<Vec<IndexManifestEntry>, Conflict> {
    let mut after = before;
    // Those that go make room for those that come.
    for gone in changes.iter().filter(|change| change.kind == FileKind::Delete) {
        match after.iter().position(|entry| identity(entry) == identity(gone)) {
            Some(position) => drop(after.remove(position)),
            None => return Err(conflict("an index file of the newest snapshot to be replaced", gone)),
        }
    }
    let mut known: BTreeSet<String> = after.iter().map(|entry| entry.file_name.clone()).collect();
    for come in changes.iter().filter(|change| change.kind == FileKind::Add) {
        if !known.insert(come.file_name.clone()) {
            return Err(conflict("only new index files to be added", come));
        }
        after.push(come.clone());
    }
    Ok(after)
}

/// A bucket has one index file of each type: Paimon's writers replace a bucket's index file, so of two one would be
/// lost at the next change. Only the deletion vectors of tables without buckets are spread over several.
pub(super) fn check_one_a_bucket(index: &[IndexManifestEntry], bucketed: bool) -> ConflictResult {
    let one_only = |entry: &&IndexManifestEntry| match entry.index_type.as_str() {
        HASH_INDEX => true,
        DELETION_VECTORS_INDEX => bucketed,
        _ => false,
    };
    let mut buckets: BTreeMap<(&PartitionValues, u32, &str), &str> = BTreeMap::new();
    for entry in index.iter().filter(one_only) {
        let bucket = (&entry.partition, entry.bucket, entry.index_type.as_str());
        if let Some(other) = buckets.insert(bucket, &entry.file_name) {
            return Err(Conflict::new(
                ConflictKind::IndexFileChanged,
                format!(
                    "expected one index file of type {} in bucket {}, found {other} and {}",
                    entry.index_type, entry.bucket, entry.file_name
                ),
            ));
        }
    }
    Ok(())
}

/// What an overwrite leaves of the index: of the partitions that it covers, entries lose the deletion vectors of files
/// that go, and go themselves if none is left, or if their bucket is empty. `staying` are the live files that stay.
pub(super) fn left_by_overwrite(
    index: &[IndexManifestEntry],
    covers: impl Fn(&PartitionValues) -> bool,
    staying: &[&ManifestEntry],
) -> Vec<IndexManifestEntry> {
    let files: BTreeSet<(&PartitionValues, &str)> =
        staying.iter().map(|entry| (&entry.partition, entry.file.file_name.as_str())).collect();
    let buckets: BTreeSet<(&PartitionValues, u32)> =
        staying.iter().map(|entry| (&entry.partition, entry.bucket)).collect();
    let leave = |entry: &IndexManifestEntry| -> Option<IndexManifestEntry> {
        if !covers(&entry.partition) {
            return Some(entry.clone());
        }
        let Some(vectors) = &entry.deletion_vectors else {
            return buckets.contains(&(&entry.partition, entry.bucket)).then(|| entry.clone());
        };
        let stays = vectors.iter().filter(|vector| files.contains(&(&entry.partition, vector.data_file.as_str())));
        let stays: Vec<_> = stays.cloned().collect();
        let row_count = stays.len() as u64;
        (!stays.is_empty()).then(|| IndexManifestEntry { deletion_vectors: Some(stays), row_count, ..entry.clone() })
    };
    index.iter().filter_map(leave).collect()
}

fn identity(entry: &IndexManifestEntry) -> (&str, &str) {
    (&entry.index_type, &entry.file_name)
}

fn conflict(expected: &str, found: &IndexChange) -> Conflict {
    Conflict::new(
        ConflictKind::IndexFileChanged,
        format!("expected {expected}, found {} of type {}", found.file_name, found.index_type),
    )
}
