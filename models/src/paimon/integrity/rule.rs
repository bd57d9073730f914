//! The rules of a table's files, as data: what each demands and what follows where it is broken.
//!
//! It knows no file; the modules beside it look.

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// What is referred to exists.
    FileExists,
    /// What is referred to can be read and parses.
    FileReadable,
    /// Every file lies in the table's directory.
    FilePlace,
    /// Files are as long as what refers to them says.
    FileSize,
    /// A content hash in a file's name or last field is that of its content.
    FileSeal,
    /// Schema files are complete and make sense.
    Schema,
    /// Snapshots follow each other.
    SnapshotChain,
    /// Watermarks and row ids never go back.
    SnapshotOrder,
    /// Snapshots are committed in the order of their times.
    SnapshotTime,
    /// Hints name what there is.
    Hint,
    /// Manifest lists describe their manifests.
    ManifestDescription,
    /// Manifests add and delete what they can.
    Replay,
    /// Snapshots count their rows.
    Totals,
    /// Data files have the rows that they are said to have.
    RowCount,
    /// Data files have the deletes that they are said to have.
    DeleteCount,
    /// The least and the greatest key of a data file.
    KeyRange,
    /// Keys ascend within a file.
    KeyOrder,
    /// Sequence numbers are in their range.
    SequenceRange,
    /// Statistics contain the rows.
    ColumnStatistics,
    /// Buckets.
    Bucket,
    /// Partitions.
    Partition,
    /// Levels do not overlap.
    Level,
    /// Index manifests and index files.
    Index,
    /// Deletion vectors.
    DeletionVector,
    /// The statistics file.
    TableStatistics,
    /// Consumers.
    Consumer,
    /// Branches.
    Branch,
    /// Nobody needs the file.
    Orphan,
    /// This check cannot say.
    NotChecked,
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The table breaks a rule.
    Damage,
    /// Worth knowing; the table is sound.
    Note,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Rule; 29] = [
        Self::FileExists,
        Self::FileReadable,
        Self::FilePlace,
        Self::FileSize,
        Self::FileSeal,
        Self::Schema,
        Self::SnapshotChain,
        Self::SnapshotOrder,
        Self::SnapshotTime,
        Self::Hint,
        Self::ManifestDescription,
        Self::Replay,
        Self::Totals,
        Self::RowCount,
        Self::DeleteCount,
        Self::KeyRange,
        Self::KeyOrder,
        Self::SequenceRange,
        Self::ColumnStatistics,
        Self::Bucket,
        Self::Partition,
        Self::Level,
        Self::Index,
        Self::DeletionVector,
        Self::TableStatistics,
        Self::Consumer,
        Self::Branch,
        Self::Orphan,
        Self::NotChecked,
    ];

    /// Its name, as machines and people call it.
    pub fn id(self) -> &'static str {
        self.entry().0
    }

    /// What it demands, one sentence without its full stop.
    pub fn statement(self) -> &'static str {
        self.entry().1
    }

    /// What follows for readers where it is broken, one sentence without its full stop.
    pub fn consequence(self) -> &'static str {
        self.entry().2
    }

    /// The property that it belongs to.
    pub fn property(self) -> &'static str {
        if self == Self::Orphan { "L18" } else { "L10" }
    }

    /// How much a finding of it weighs.
    pub fn severity(self) -> Severity {
        match self {
            Self::SnapshotTime | Self::Orphan | Self::NotChecked => Severity::Note,
            _ => Severity::Damage,
        }
    }

    fn entry(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::FileExists => (
                "file-exists",
                "every file that a snapshot, tag, branch or changelog refers to exists",
                "readers of what refers to it fail",
            ),
            Self::FileReadable => (
                "file-readable",
                "every file that is referred to can be read and follows its format",
                "readers of what refers to it fail",
            ),
            Self::FilePlace => (
                "file-place",
                "every file lies beneath the table's directory, as a regular file under a plain name",
                "following it would read files that are not the table's",
            ),
            Self::FileSize => (
                "file-size",
                "every file is as long as what refers to it says",
                "it is not the file that was written; readers fail or take other rows",
            ),
            Self::FileSeal => (
                "file-seal",
                "a content hash that a file carries is that of its content",
                "at least one byte is not what was written",
            ),
            Self::Schema => (
                "schema",
                "schema files are numbered from 0 without a gap, and their keys and field ids make sense",
                "files that were written with the schema cannot be read",
            ),
            Self::SnapshotChain => (
                "snapshot-chain",
                "snapshots follow each other without a gap, from the earliest to the latest",
                "streaming readers stop there, and expiry never passes",
            ),
            Self::SnapshotOrder => (
                "snapshot-order",
                "watermarks and next row ids never go back",
                "readers that wait for a watermark, or identify rows by id, are misled",
            ),
            Self::SnapshotTime => (
                "snapshot-time",
                "snapshots are committed in the order of their times",
                "time travel by a timestamp may take another snapshot",
            ),
            Self::Hint => (
                "hint",
                "LATEST and EARLIEST name snapshots that exist, and EARLIEST the first one",
                "readers list the directory instead, or miss snapshots",
            ),
            Self::ManifestDescription => (
                "manifest-description",
                "a manifest list says of each manifest what is in it",
                "scans that skip manifests by it miss files",
            ),
            Self::Replay => (
                "replay",
                "a snapshot is the one before and its own changes; only live files are deleted, none is added twice or beside a \
                 delete of it",
                "rows are lost, or come twice",
            ),
            Self::Totals => (
                "totals",
                "a snapshot counts the rows of its live files, of its changes and of its changelog",
                "counts that are answered from metadata are wrong",
            ),
            Self::RowCount => (
                "row-count",
                "a data file has as many rows as its manifest says",
                "counts that are answered from metadata are wrong, and rows may be missing",
            ),
            Self::DeleteCount => (
                "delete-count",
                "a data file has as many deletes as its manifest says",
                "readers that skip the merge where nothing was deleted return deleted rows",
            ),
            Self::KeyRange => (
                "key-range",
                "the least and the greatest key of a data file are those that its manifest says",
                "a lookup may skip the file, and a merge may take an older row",
            ),
            Self::KeyOrder => (
                "key-order",
                "the keys of a data file ascend, one change a key",
                "a merge returns rows twice, or takes an older row",
            ),
            Self::SequenceRange => (
                "sequence-range",
                "the sequence numbers of a data file lie within what its manifest says",
                "a later writer may reuse a number, and an older change of a key wins",
            ),
            Self::ColumnStatistics => (
                "column-statistics",
                "every cell lies between the least and the greatest value, and NULLs are counted",
                "a filtered scan may skip the file and miss rows",
            ),
            Self::Bucket => (
                "bucket",
                "buckets are in range, a partition has one number of them, and rows are in the bucket of their key",
                "a lookup of a key does not find it, or two rows of a key live side by side",
            ),
            Self::Partition => (
                "partition",
                "every row of a data file is of the file's partition",
                "a filter on the partition does not find the row",
            ),
            Self::Level => (
                "level",
                "above level 0, the key ranges of one level of a bucket do not overlap",
                "a merge may return an older row",
            ),
            Self::Index => (
                "index",
                "an index manifest names one index file for each purpose, of the length and row count that it says",
                "writers that look keys up write them into a wrong bucket",
            ),
            Self::DeletionVector => (
                "deletion-vector",
                "a deletion vector belongs to a live file, is intact, and deletes rows that the file has",
                "deleted rows come back, or live rows are hidden",
            ),
            Self::TableStatistics => (
                "table-statistics",
                "a statistics file belongs to a snapshot and schema that are not newer than what refers to it",
                "plans are made on wrong numbers",
            ),
            Self::Consumer => (
                "consumer",
                "a consumer goes on at a snapshot that exists, or at the one that comes next",
                "the consumer cannot go on, or skips snapshots",
            ),
            Self::Branch => (
                "branch",
                "a branch has a schema of its own",
                "the branch cannot be opened, and cleaning up orphans stops at it",
            ),
            Self::Orphan => (
                "orphan",
                "every file is one that a snapshot, tag, branch, changelog, schema, consumer or hint leads to",
                "the file costs space and nothing else",
            ),
            Self::NotChecked => {
                ("not-checked", "everything that a reader would read is checked", "whether it is sound is not known")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_texts_are_sentences_to_build_on() {
        let ids: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        assert_eq!(ids.len(), Rule::ALL.len());
        for rule in Rule::ALL {
            for text in [rule.statement(), rule.consequence()] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text}", rule.id());
            }
        }
    }

    #[test]
    fn what_costs_only_space_is_a_note() {
        assert_eq!((Rule::Orphan.property(), Rule::Orphan.severity()), ("L18", Severity::Note));
        assert_eq!((Rule::FileExists.property(), Rule::FileExists.severity()), ("L10", Severity::Damage));
    }
}
