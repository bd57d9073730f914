//! What manifests say: which data files a snapshot adds, deletes and keeps.
//!
//! A snapshot names manifest lists, a list names manifests, a manifest names data files. How they lie on disk is
//! [`super::manifest`]'s business.

use std::rc::Rc;

use crate::contract::{BucketId, DataType, PartitionValues};

use super::FormatResult;
use super::column_stats::SimpleStats;

/// What an entry does with its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// The file is live from here on.
    Add = 0,
    /// The file is live no longer.
    Delete = 1,
}

/// Why a data file was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileSource {
    /// New rows.
    Append = 0,
    /// Rows of other files.
    Compact = 1,
}

/// One data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFileMeta {
    /// The name within its bucket directory.
    pub file_name: String,
    /// Its size in bytes.
    pub file_size: u64,
    /// Its rows; for key files every change counts, deletes too.
    pub row_count: u64,
    /// The least key, a serialised binary row; of no fields for append files.
    pub min_key: Vec<u8>,
    /// The greatest key, a serialised binary row; of no fields for append files.
    pub max_key: Vec<u8>,
    /// Statistics of the key columns.
    pub key_stats: SimpleStats,
    /// Statistics of the value columns.
    pub value_stats: SimpleStats,
    /// The lowest sequence number in the file.
    pub min_sequence_number: i64,
    /// The highest sequence number in the file (inclusive).
    pub max_sequence_number: i64,
    /// The schema that the file was written with.
    pub schema_id: u64,
    /// The level in the bucket's merge tree; 0 for new files.
    pub level: i32,
    /// Files that belong to this one.
    pub extra_files: Vec<String>,
    /// When it was written, in milliseconds since 1970-01-01T00:00.
    pub creation_time_millis: Option<i64>,
    /// How many of its rows are deletes.
    pub delete_row_count: Option<i64>,
    /// An index that is small enough to live here.
    pub embedded_file_index: Option<Vec<u8>>,
    /// Why it was written.
    pub file_source: Option<FileSource>,
    /// The columns that `value_stats` describes; `None` means all.
    pub value_stats_columns: Option<Vec<String>>,
    /// Where it is if not in its bucket directory.
    pub external_path: Option<String>,
    /// The id of its first row where row tracking is on.
    pub first_row_id: Option<i64>,
    /// The columns that it holds; `None` means all of its schema.
    pub write_columns: Option<Vec<String>>,
}

/// One line of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// Added or deleted.
    pub kind: FileKind,
    /// The file's partition.
    pub partition: PartitionValues,
    /// The file's bucket.
    pub bucket: u32,
    /// The number of buckets when the file was written; −1 for bucket-unaware tables.
    pub total_buckets: i32,
    /// The file.
    pub file: Rc<DataFileMeta>,
}

impl ManifestEntry {
    /// The bucket that the file is in.
    pub(super) fn bucket_id(&self) -> BucketId {
        BucketId { partition: self.partition.clone(), bucket: self.bucket }
    }
}

/// One manifest file, as a manifest list describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFileMeta {
    /// The name within `manifest/`.
    pub file_name: String,
    /// Its size in bytes.
    pub file_size: u64,
    /// How many entries add a file.
    pub added_files: u64,
    /// How many entries delete a file.
    pub deleted_files: u64,
    /// Statistics of the partition columns.
    pub partition_stats: SimpleStats,
    /// The schema of its newest entry.
    pub schema_id: u64,
    /// The lowest bucket.
    pub min_bucket: Option<i32>,
    /// The highest bucket (inclusive).
    pub max_bucket: Option<i32>,
    /// The lowest level.
    pub min_level: Option<i32>,
    /// The highest level (inclusive).
    pub max_level: Option<i32>,
    /// The number of buckets, where all entries agree on it.
    pub total_buckets: Option<i32>,
}

impl ManifestFileMeta {
    /// The description of a manifest with these entries.
    pub fn describe(
        file_name: &str,
        file_size: u64,
        schema_id: u64,
        partition_types: &[DataType],
        entries: &[ManifestEntry],
    ) -> FormatResult<Self> {
        let count = |kind: FileKind| entries.iter().filter(|entry| entry.kind == kind).count() as u64;
        let buckets = || entries.iter().filter_map(|entry| i32::try_from(entry.bucket).ok());
        let levels = || entries.iter().map(|entry| entry.file.level);
        let first_total = entries.first().map(|entry| entry.total_buckets);
        Ok(Self {
            file_name: file_name.to_owned(),
            file_size,
            added_files: count(FileKind::Add),
            deleted_files: count(FileKind::Delete),
            partition_stats: SimpleStats::of(partition_types, entries.iter().map(|entry| &entry.partition))?,
            schema_id,
            min_bucket: buckets().min(),
            max_bucket: buckets().max(),
            min_level: levels().min(),
            max_level: levels().max(),
            total_buckets: first_total.filter(|total| entries.iter().all(|entry| entry.total_buckets == *total)),
        })
    }
}

#[cfg(test)]
impl DataFileMeta {
    /// A file of one row at a level, of which nothing else is said: what tests begin with.
    pub(super) fn bare(file_name: &str, level: i32) -> Self {
        Self {
            file_name: file_name.to_owned(),
            file_size: 1,
            row_count: 1,
            min_key: Vec::new(),
            max_key: Vec::new(),
            key_stats: SimpleStats::empty(),
            value_stats: SimpleStats::empty(),
            min_sequence_number: 0,
            max_sequence_number: 0,
            schema_id: 0,
            level,
            extra_files: Vec::new(),
            creation_time_millis: None,
            delete_row_count: None,
            embedded_file_index: None,
            file_source: None,
            value_stats_columns: None,
            external_path: None,
            first_row_id: None,
            write_columns: None,
        }
    }
}
