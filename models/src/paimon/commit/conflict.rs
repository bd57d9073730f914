//! Why a commit cannot be made on the newest snapshot, though nothing is wrong with its files.

use std::fmt;

use crate::contract::Failure;

/// The kinds of conflicts. Every refusal names one of them, and the files that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConflictKind {
    /// New files say another number of buckets than the files of their partition that stay: rows would be looked for
    /// in the wrong bucket.
    BucketCount,
    /// A file that the commit takes away is not live any more: somebody else rewrote or deleted it.
    DeletedFileGone,
    /// A file that the commit adds is live already: it was committed before.
    AddedFileLive,
    /// Two files of one level from 1 on would hold overlapping keys: a reader of the level relies on their order.
    KeyRangeOverlap,
    /// An index file that the commit replaces is not the valid one any more, or the one that it brings is there.
    IndexFileChanged,
    /// A deletion vector would speak of a file that is not live, or a file would have two of them: deleted rows would
    /// come back.
    DeletionVector,
    /// Somebody else changed the same partitions after the snapshot that was declared to be the last safe one.
    StrictMode,
}

impl ConflictKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::BucketCount,
        Self::DeletedFileGone,
        Self::AddedFileLive,
        Self::KeyRangeOverlap,
        Self::IndexFileChanged,
        Self::DeletionVector,
        Self::StrictMode,
    ];

    /// The kind's name as messages spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BucketCount => "bucket-count",
            Self::DeletedFileGone => "deleted-file-gone",
            Self::AddedFileLive => "added-file-live",
            Self::KeyRangeOverlap => "key-range-overlap",
            Self::IndexFileChanged => "index-file-changed",
            Self::DeletionVector => "deletion-vector",
            Self::StrictMode => "strict-mode",
        }
    }
}

impl fmt::Display for ConflictKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// One conflict: `rejected` for whoever commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    kind: ConflictKind,
    /// What was expected, what was found.
    sentence: String,
}

/// What checks return.
pub(super) type ConflictResult = Result<(), Conflict>;

impl Conflict {
    /// A conflict of this kind with this sentence.
    pub(super) fn new(kind: ConflictKind, sentence: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into() }
    }
}

impl From<Conflict> for Failure {
    fn from(conflict: Conflict) -> Self {
        Failure::rejected(format!("conflict {}: {}", conflict.kind, conflict.sentence))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_is_listed_once_and_named() {
        let names: BTreeSet<&str> = ConflictKind::ALL.into_iter().map(ConflictKind::name).collect();
        assert_eq!(names.len(), ConflictKind::ALL.len());
        let failure = Failure::from(Conflict::new(ConflictKind::BucketCount, "expected 2, found 3"));
        assert_eq!((failure.definite, failure.message.as_str()), (true, "conflict bucket-count: expected 2, found 3"));
    }
}
