//! The state of one check, and the one way in which it reads files.
//!
//! It must never follow a name out of the table's directory, and never read a file twice to say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bytes::Bytes;

use crate::contract::{FailureCode, ObjectStore};

use super::super::directory::TableDirectory;
use super::super::live_files::Manifest;
use super::super::table::SchemaVersion;
use super::super::{FormatError, FormatResult, SchemaFile};
use super::finding::Findings;
use super::rule::Rule;

/// The check of one table while it goes on.
pub(super) struct Check<'a> {
    pub(super) objects: &'a dyn ObjectStore,
    /// The table itself: where manifests and data files lie, those of branches too.
    pub(super) directory: TableDirectory,
    /// Every file beneath it, ascending.
    pub(super) listed: &'a [String],
    pub(super) findings: Findings,
    /// Every file that something leads to, there or not.
    pub(super) reachable: BTreeSet<String>,
    /// What was read of manifests, by name; `None` where it could not be. Only those of the last snapshot are kept.
    pub(super) manifests: BTreeMap<String, Option<Manifest>>,
    /// The data files that were checked, and what could not be read.
    pub(super) done: BTreeSet<String>,
    /// The rows of data files that have more or fewer than their manifests say, by name: counts are compared with
    /// these, so that a wrong one is told once.
    pub(super) found_rows: BTreeMap<String, u64>,
    /// Whether a file could not be read that would have led to others.
    pub(super) incomplete: bool,
    pub(super) data_files_read: u64,
    pub(super) bytes_read: u64,
}

/// One line of snapshots: the table's own, or a branch's.
pub(super) struct Line {
    /// The branch; `None` for the table's own line.
    pub(super) branch: Option<String>,
    /// Where its schemas, snapshots and tags lie.
    pub(super) directory: TableDirectory,
    /// Its schemas that could be read.
    pub(super) schemas: BTreeMap<u64, SchemaVersion>,
}

impl Line {
    /// The newest schema that could be read.
    pub(super) fn newest_schema(&self) -> Option<&SchemaFile> {
        self.schemas.last_key_value().map(|(_, version)| &version.file)
    }
}

/// What leads to a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Referrer<'a> {
    /// A snapshot.
    Snapshot(u64),
    /// A tag of this name.
    Tag(&'a str, u64),
    /// A changelog that outlives its snapshot.
    Changelog(u64),
    /// The directory that it lies in.
    Directory,
}

impl Referrer<'_> {
    /// The snapshot, where one refers.
    pub(super) fn snapshot(self) -> Option<u64> {
        match self {
            Self::Snapshot(id) | Self::Tag(_, id) | Self::Changelog(id) => Some(id),
            Self::Directory => None,
        }
    }
}

impl fmt::Display for Referrer<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshot(id) => write!(formatter, "snapshot {id}"),
            Self::Tag(name, id) => write!(formatter, "tag {name} of snapshot {id}"),
            Self::Changelog(id) => write!(formatter, "changelog {id}"),
            Self::Directory => formatter.write_str("its directory"),
        }
    }
}

impl<'a> Check<'a> {
    pub(super) fn new(objects: &'a dyn ObjectStore, directory: TableDirectory, listed: &'a [String]) -> Self {
        Self {
            objects,
            directory,
            listed,
            findings: Findings::default(),
            reachable: BTreeSet::new(),
            manifests: BTreeMap::new(),
            done: BTreeSet::new(),
            found_rows: BTreeMap::new(),
            incomplete: false,
            data_files_read: 0,
            bytes_read: 0,
        }
    }

    /// The bytes of a file that is referred to; `None` if there are none to be had, which is told.
    pub(super) async fn read(&mut self, path: &str, referrer: Referrer<'_>) -> Option<Bytes> {
        self.reachable.insert(path.to_owned());
        let failure = match self.objects.get(path).await {
            Ok(bytes) => {
                self.bytes_read += bytes.len() as u64;
                return Some(bytes);
            }
            Err(failure) => failure,
        };
        let snapshot = referrer.snapshot();
        match failure.code {
            FailureCode::NotFound => {
                self.findings.add(
                    Rule::FileExists,
                    path,
                    snapshot,
                    format!("expected the file, to which {referrer} leads, found none"),
                );
            }
            FailureCode::Invalid => self.findings.add(Rule::FilePlace, path, snapshot, failure.message),
            FailureCode::Unsupported => self.findings.add(Rule::NotChecked, path, snapshot, failure.message),
            _ => self.findings.add(Rule::FileReadable, path, snapshot, failure.message),
        }
        None
    }

    /// Tells that a file does not follow its format.
    pub(super) fn unreadable(&mut self, path: &str, referrer: Referrer<'_>, error: &FormatError) {
        self.findings.add(Rule::FileReadable, path, referrer.snapshot(), error.to_string());
    }

    /// Whether the file is as long as what refers to it says; told if not.
    pub(super) fn check_size(&mut self, path: &str, referrer: Referrer<'_>, expected: u64, bytes: &Bytes) -> bool {
        if bytes.len() as u64 == expected {
            return true;
        }
        let found = format!("expected {expected} bytes as {referrer} says, found {}", bytes.len());
        self.findings.add(Rule::FileSize, path, referrer.snapshot(), found);
        false
    }

    /// Whether a name that a file gives is one within a directory; told of `by` if not.
    pub(super) fn check_name(&mut self, name: &str, by: &str, referrer: Referrer<'_>) -> bool {
        match plain_name(name) {
            Ok(()) => true,
            Err(error) => {
                self.findings.add(Rule::FilePlace, by, referrer.snapshot(), error.to_string());
                false
            }
        }
    }

    /// Whether the listing names this.
    pub(super) fn is_listed(&self, path: &str) -> bool {
        self.listed.binary_search_by(|file| file.as_str().cmp(path)).is_ok()
    }

    /// The files beneath this directory, ascending.
    pub(super) fn beneath(&self, directory: &str) -> &'a [String] {
        let prefix = format!("{directory}/");
        let start = self.listed.partition_point(|file| file.as_str() < prefix.as_str());
        let length = self.listed[start..].partition_point(|file| file.starts_with(&prefix));
        &self.listed[start..start + length]
    }
}

/// Refuses names that lead out of their directory.
fn plain_name(name: &str) -> FormatResult<()> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\', '\0']) {
        let shown: String = name.chars().take(80).collect();
        return Err(FormatError::new(format!("expected the plain name of a file in its directory, found {shown:?}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_leave_their_directory() {
        assert!(plain_name("data-1-0.parquet").is_ok());
        for name in ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b", "a\0"] {
            assert!(plain_name(name).is_err(), "{name:?}");
        }
    }
}
