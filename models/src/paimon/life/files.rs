//! Sets of a table's files, in the order in which they may be deleted.
//!
//! It knows the order and nothing of who leads to a file.

use std::collections::{BTreeMap, BTreeSet};

/// What a file is to the files that lead to it. A file is deleted before those that lead to it, so that after a crash
/// whatever is missing was deleted together with all that it led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Rows, and what lies beside them.
    DataFile,
    /// Changes of rows.
    ChangelogFile,
    /// Deletion vectors and other indexes.
    IndexFile,
    /// A manifest.
    Manifest,
    /// A manifest list, an index manifest, or statistics: what a snapshot itself names.
    OfSnapshot,
}

/// Files by their stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Files(BTreeMap<Stage, BTreeSet<String>>);

impl Files {
    /// Adds one.
    pub(super) fn insert(&mut self, stage: Stage, path: String) {
        self.0.entry(stage).or_default().insert(path);
    }

    /// Adds all of these.
    pub(super) fn extend(&mut self, other: Files) {
        for (stage, paths) in other.0 {
            self.0.entry(stage).or_default().extend(paths);
        }
    }

    /// Keeps those for which the predicate holds.
    pub(super) fn retain(&mut self, keep: impl Fn(&String) -> bool) {
        for paths in self.0.values_mut() {
            paths.retain(|path| keep(path));
        }
    }

    /// The paths, whatever their stage.
    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        self.0.values().flatten()
    }

    /// The paths of each stage, in the order of deletion.
    pub(super) fn stages(&self) -> impl Iterator<Item = &BTreeSet<String>> {
        self.0.values()
    }
}
