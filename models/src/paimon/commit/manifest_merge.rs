//! Merging manifests: which of them are rewritten, and what is left of their entries.
//!
//! Without it every commit would leave one more manifest to read for ever. Small manifests are merged when there are
//! enough of them; all of them are, and deletes go for good, when those that are small or hold deletes have become
//! large together. Nothing here reads or writes.

use std::collections::BTreeMap;

use crate::paimon::live_files::{FileIdentity, identity};
use crate::paimon::{FileKind, FormatError, FormatResult, ManifestEntry, ManifestFileMeta};

use super::options::CommitOptions;

/// What becomes of the manifests of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MergePlan {
    /// They stay as they are.
    Keep,
    /// Each of these groups becomes one; a group of one manifest stays as it is. All manifests are in a group, in
    /// their order.
    Groups(Vec<Vec<ManifestFileMeta>>),
    /// All are read; those that hold only live files and are large enough stay.
    Full,
}

impl MergePlan {
    /// What becomes of these manifests.
    pub(super) fn of(manifests: &[ManifestFileMeta], options: &CommitOptions) -> Self {
        let must_change = manifests.iter().filter(|manifest| must_change(manifest, options));
        let must_change_size: u64 = must_change.map(|manifest| manifest.file_size).sum();
        if must_change_size >= options.manifest_full_compaction_size && manifests.len() > 1 {
            return Self::Full;
        }
        let mut groups = Vec::new();
        let (mut group, mut group_size) = (Vec::new(), 0);
        for manifest in manifests {
            group_size += manifest.file_size;
            group.push(manifest.clone());
            if group_size >= options.manifest_target_size {
                groups.push(std::mem::take(&mut group));
                group_size = 0;
            }
        }
        if group.len() >= options.manifest_merge_min_count {
            groups.push(group);
        } else {
            groups.extend(group.into_iter().map(|manifest| vec![manifest]));
        }
        if groups.iter().all(|group| group.len() == 1) { Self::Keep } else { Self::Groups(groups) }
    }
}

/// Whether a full merge rewrites a manifest whatever its files have become.
pub(super) fn must_change(manifest: &ManifestFileMeta, options: &CommitOptions) -> bool {
    manifest.deleted_files > 0 || manifest.file_size < options.manifest_target_size
}

/// The entries of one group without the files that are both added and deleted in it. A delete of a file that an
/// earlier manifest added stays.
pub(super) fn without_pairs<'a>(
    entries: impl IntoIterator<Item = &'a ManifestEntry>,
) -> FormatResult<Vec<ManifestEntry>> {
    // A file that moves to another level is deleted at one and added at the other.
    let mut positions: BTreeMap<FileIdentity<'a>, usize> = BTreeMap::new();
    let mut left: Vec<Option<&ManifestEntry>> = Vec::new();
    for entry in entries {
        let key = identity(entry);
        let known = positions.get(&key).copied();
        let known_kind = known.and_then(|position| left[position]).map(|entry| entry.kind);
        match (entry.kind, known_kind, known) {
            (FileKind::Delete, Some(FileKind::Add), Some(position)) => {
                left[position] = None;
                positions.remove(&key);
            }
            // A file that an earlier manifest added may also be brought back, as a rollback does.
            (_, None, _) | (FileKind::Add, Some(FileKind::Delete), _) => {
                positions.insert(key, left.len());
                left.push(Some(entry));
            }
            (kind, _, _) => {
                return Err(FormatError::new(format!(
                    "expected adds and deletes of a file in turn, found another {kind:?} of {}",
                    entry.file.file_name
                )));
            }
        }
    }
    Ok(left.into_iter().flatten().cloned().collect())
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use crate::contract::Row;
    use crate::paimon::DataFileMeta;

    use super::*;

    fn entry(kind: FileKind, file_name: &str, level: i32) -> ManifestEntry {
        ManifestEntry {
            kind,
            partition: Row::new(Vec::new()),
            bucket: 0,
            total_buckets: -1,
            file: Rc::new(DataFileMeta::bare(file_name, level)),
        }
    }

    fn manifest(file_size: u64, deleted_files: u64) -> ManifestFileMeta {
        ManifestFileMeta { deleted_files, ..ManifestFileMeta::describe("manifest", file_size, 0, &[], &[]).unwrap() }
    }

    fn options() -> CommitOptions {
        let schema = crate::contract::TableSchema {
            columns: Vec::new(),
            primary_key: Vec::new(),
            partition_keys: Vec::new(),
            options: [("manifest.target-file-size", "100"), ("manifest.merge-min-count", "3")]
                .into_iter()
                .chain([("manifest.full-compaction-threshold-size", "300")])
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        };
        CommitOptions::of(&schema).unwrap()
    }

    /// The sizes of the manifests in each group.
    fn grouped(sizes: &[u64]) -> Option<Vec<Vec<u64>>> {
        let manifests: Vec<ManifestFileMeta> = sizes.iter().map(|size| manifest(*size, 0)).collect();
        match MergePlan::of(&manifests, &options()) {
            MergePlan::Keep => None,
            MergePlan::Groups(groups) => {
                Some(groups.iter().map(|group| group.iter().map(|manifest| manifest.file_size).collect()).collect())
            }
            MergePlan::Full => panic!("expected no full merge of {sizes:?}"),
        }
    }

    #[test]
    fn small_manifests_are_merged_when_there_are_enough_or_they_are_large_together() {
        assert_eq!(grouped(&[]), None);
        assert_eq!(grouped(&[10, 10]), None, "too few");
        assert_eq!(grouped(&[10, 10, 10]), Some(vec![vec![10, 10, 10]]));
        assert_eq!(grouped(&[60, 60]), Some(vec![vec![60, 60]]), "large together");
        assert_eq!(grouped(&[100, 200, 10, 10]), None, "large ones stay as they are");
        assert_eq!(grouped(&[100, 10, 10, 10]), Some(vec![vec![100], vec![10, 10, 10]]));
    }

    #[test]
    fn all_are_rewritten_when_the_small_ones_and_those_with_deletes_are_large_together() {
        let plan = |manifests: &[ManifestFileMeta]| MergePlan::of(manifests, &options());
        assert_eq!(plan(&[manifest(200, 0), manifest(250, 1), manifest(50, 0)]), MergePlan::Full);
        assert_eq!(plan(&[manifest(300, 0), manifest(300, 0)]), MergePlan::Keep);
        assert_eq!(plan(&[manifest(400, 1)]), MergePlan::Keep, "one alone is not merged");
    }

    #[test]
    fn pairs_go_and_deletes_of_earlier_files_stay() {
        use FileKind::{Add, Delete};
        let left = |entries: &[ManifestEntry]| without_pairs(entries).unwrap();
        let (add, delete) = (|name| entry(Add, name, 0), |name| entry(Delete, name, 0));
        assert_eq!(left(&[add("a"), add("b"), delete("a")]), [add("b")]);
        assert_eq!(left(&[delete("earlier"), add("b")]), [delete("earlier"), add("b")]);
        let upgrade = [delete("a"), entry(Add, "a", 5)];
        assert_eq!(left(&upgrade), upgrade, "a move to another level is no pair");
        assert_eq!(left(&[delete("a"), add("a"), delete("a")]), [delete("a")], "brought back, and gone again");
        for wrong in [[add("a"), add("a")], [delete("a"), delete("a")]] {
            assert!(without_pairs(&wrong).unwrap_err().to_string().contains("in turn"));
        }
    }
}
