//! Changelogs: what changed from one snapshot to the next, row by row.
//!
//! Who writes the changelog files, and when, is the table's changelog producer. Without one, what a snapshot appended
//! is all that is known of its changes.

use std::collections::BTreeMap;

use crate::contract::{BucketId, Failure, FailureCode, Row, RowKind, TableSchema};

use super::data_file::{FileFormat, KeyValue};
use super::deletion_vectors::SnapshotVectors;
use super::merge::ChangelogProducer;
use super::scan::changes;
use super::schema_rules::file_format;
use super::{CommitKind, FileKind, ManifestEntry, PaimonTable, Snapshot};

/// The format of new changelog files: the data files' if nothing else is said.
pub(super) fn changelog_file_format(schema: &TableSchema) -> Result<FileFormat, Failure> {
    match schema.options.get("changelog-file.format").map(String::as_str) {
        None => file_format(schema),
        Some("parquet") => Ok(FileFormat::Parquet),
        Some("avro") => Ok(FileFormat::Avro),
        Some(other) => Err(Failure::definite(
            FailureCode::Unsupported,
            format!("expected option `changelog-file.format` to be one of [parquet, avro], found {other:?}"),
        )),
    }
}

impl PaimonTable {
    /// What changed with one snapshot, by bucket; within a bucket in the order of its changelog files, so the changes
    /// of one key follow each other as they happened.
    ///
    /// A table without a changelog producer has no such files. There the changes are what an APPEND snapshot added, in
    /// sequence order, and snapshots of other kinds changed nothing: a compaction rewrites what is known, and what an
    /// overwrite took away is not told. With a producer, a snapshot without changelog files changed nothing.
    pub async fn changelog(&self, snapshot: &Snapshot) -> Result<BTreeMap<BucketId, Vec<(RowKind, Row)>>, Failure> {
        let Some(manifest_list) = &snapshot.changelog_manifest_list else {
            let appended = self.merge_options()?.changelog_producer == ChangelogProducer::None
                && snapshot.commit_kind == CommitKind::Append;
            return if appended { self.delta(snapshot).await } else { Ok(BTreeMap::new()) };
        };
        let reader = self.manifest_reader();
        let manifests = reader.manifests(&reader.list(manifest_list).await?).await?;
        let entries = manifests.iter().flat_map(|manifest| manifest.iter());
        let files: Vec<ManifestEntry> = entries.filter(|entry| entry.kind == FileKind::Add).cloned().collect();
        let buckets = self.read_by_bucket(&files, &SnapshotVectors::default()).await?;
        let told = |change: &KeyValue| (change.kind, change.row.clone());
        Ok(buckets.into_iter().map(|(bucket, files)| (bucket, changes(&files).map(told).collect())).collect())
    }
}
