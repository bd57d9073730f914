//! The merge tree of one bucket: its files as sorted runs, by age.
//!
//! Every file of level 0 is a run of its own; from level 1 on all files of a level make one run. A lower level is
//! newer than a higher one, and within level 0 a later commit is newer. Only manifests are looked at here.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::contract::{DataType, Row};

use super::super::binary_row::deserialize;
use super::super::{FormatError, FormatResult, ManifestEntry};
use super::universal::RunSize;

/// A live data file with what the merge tree knows of it.
#[derive(Clone, Debug)]
pub struct TreeFile {
    /// The file as its manifest has it.
    pub entry: ManifestEntry,
    /// Its place among the bucket's live files in the order of commits.
    pub commit_order: usize,
    /// Its least key.
    pub min_key: Row,
    /// Its greatest key (inclusive).
    pub max_key: Row,
}

impl TreeFile {
    /// Its level.
    pub fn level(&self) -> i32 {
        self.entry.file.level
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.entry.file.file_size
    }

    /// Orders files from the oldest to the newest.
    pub fn age_order(&self) -> impl Ord + use<> {
        (Reverse(self.level()), self.commit_order)
    }
}

/// A sorted run: files of one level whose keys do not overlap.
#[derive(Clone, Debug)]
pub struct SortedRun {
    /// The level of all its files.
    pub level: i32,
    /// The files, by key; at least one.
    pub files: Vec<TreeFile>,
}

impl SortedRun {
    /// What a pick needs to know of it.
    pub fn size(&self) -> RunSize {
        RunSize { level: self.level, bytes: self.files.iter().map(TreeFile::bytes).sum() }
    }
}

/// The sorted runs of a bucket's live files, which are given in the order of commits; newest first.
pub fn sorted_runs(key_types: &[DataType], files: Vec<ManifestEntry>) -> FormatResult<Vec<SortedRun>> {
    let mut level_0 = Vec::new();
    let mut levels: BTreeMap<i32, Vec<TreeFile>> = BTreeMap::new();
    for (commit_order, entry) in files.into_iter().enumerate() {
        let file = tree_file(key_types, commit_order, entry)?;
        match file.level() {
            0 => level_0.push(file),
            1.. => levels.entry(file.level()).or_default().push(file),
            negative => {
                let name = &file.entry.file.file_name;
                return Err(FormatError::new(format!("expected a level from 0 on, found {negative} of {name}")));
            }
        }
    }
    level_0.sort_by_key(|file| Reverse((file.entry.file.max_sequence_number, file.commit_order)));
    let mut runs: Vec<SortedRun> = level_0.into_iter().map(|file| SortedRun { level: 0, files: vec![file] }).collect();
    for (level, mut files) in levels {
        files.sort_by(|a, b| a.min_key.cmp(&b.min_key));
        runs.push(SortedRun { level, files });
    }
    Ok(runs)
}

fn tree_file(key_types: &[DataType], commit_order: usize, entry: ManifestEntry) -> FormatResult<TreeFile> {
    let key = |what: &str, bytes: &[u8]| {
        deserialize(key_types, bytes).map_err(|error| error.within(format!("{what} of {}", entry.file.file_name)))
    };
    let (min_key, max_key) = (key("least key", &entry.file.min_key)?, key("greatest key", &entry.file.max_key)?);
    Ok(TreeFile { entry, commit_order, min_key, max_key })
}

#[cfg(test)]
pub(super) mod tests {
    use std::rc::Rc;

    use crate::contract::Value;

    use super::super::super::binary_row::serialize;
    use super::super::super::{DataFileMeta, FileKind};
    use super::*;

    /// A file `name` at a level with these keys (inclusive), of so many bytes, without deletes.
    pub fn file(name: &str, level: i32, keys: (i64, i64), bytes: u64) -> ManifestEntry {
        let key = |key| serialize(&[DataType::BigInt], &Row::new(vec![Value::Int(key)])).unwrap();
        ManifestEntry {
            kind: FileKind::Add,
            partition: Row::new(Vec::new()),
            bucket: 0,
            total_buckets: 1,
            file: Rc::new(DataFileMeta {
                file_size: bytes,
                min_key: key(keys.0),
                max_key: key(keys.1),
                delete_row_count: Some(0),
                ..DataFileMeta::bare(name, level)
            }),
        }
    }

    /// The same file with the sequence numbers `first` to `last`.
    pub fn sequenced(entry: ManifestEntry, first: i64, last: i64) -> ManifestEntry {
        let file = DataFileMeta { min_sequence_number: first, max_sequence_number: last, ..(*entry.file).clone() };
        ManifestEntry { file: Rc::new(file), ..entry }
    }

    /// As [`sorted_runs`] for one BIGINT key.
    pub fn runs(files: Vec<ManifestEntry>) -> Vec<SortedRun> {
        sorted_runs(&[DataType::BigInt], files).unwrap()
    }

    fn names(runs: &[SortedRun]) -> Vec<Vec<&str>> {
        runs.iter().map(|run| run.files.iter().map(|file| file.entry.file.file_name.as_str()).collect()).collect()
    }

    #[test]
    fn level_0_comes_first_newest_first_and_levels_are_sorted_by_key() {
        let runs = runs(vec![
            file("top-right", 5, (50, 99), 10),
            sequenced(file("old", 0, (0, 9), 1), 0, 4),
            file("middle", 3, (0, 99), 5),
            sequenced(file("new", 0, (0, 9), 1), 5, 9),
            file("top-left", 5, (0, 49), 10),
            sequenced(file("raced", 0, (0, 9), 1), 5, 9),
        ]);
        let expected: [&[&str]; 5] = [&["raced"], &["new"], &["old"], &["middle"], &["top-left", "top-right"]];
        assert_eq!(names(&runs), expected);
        assert_eq!(runs[4].size(), RunSize { level: 5, bytes: 20 });
    }

    #[test]
    fn a_higher_level_and_an_earlier_commit_are_older() {
        let runs = runs(vec![file("a", 0, (0, 0), 1), file("b", 0, (0, 0), 1), file("c", 2, (0, 0), 1)]);
        let mut files: Vec<&TreeFile> = runs.iter().flat_map(|run| &run.files).collect();
        files.sort_by_key(|file| file.age_order());
        let names: Vec<&str> = files.iter().map(|file| file.entry.file.file_name.as_str()).collect();
        assert_eq!(names, ["c", "a", "b"]);
    }

    #[test]
    fn what_is_no_level_or_no_key_is_refused_with_the_files_name() {
        let below = sorted_runs(&[DataType::BigInt], vec![file("a", -1, (0, 0), 1)]).unwrap_err().to_string();
        assert!(below.contains("found -1 of a"), "{below}");
        let other = sorted_runs(&[DataType::BigInt, DataType::Int], vec![file("a", 0, (0, 0), 1)]).unwrap_err();
        assert!(other.to_string().contains("least key of a"), "{other}");
    }
}
