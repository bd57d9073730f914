//! Rules `level` and `bucket`, as far as manifests show them: above level 0 the key ranges of one level of a bucket do
//! not overlap, and the files of a partition agree on the number of its buckets.

use std::collections::BTreeSet;

use crate::contract::{DataType, PartitionValues, Row};

use super::super::ManifestEntry;
use super::super::binary_row::deserialize;
use super::super::table::SchemaVersion;
use super::check::{Check, Line, Referrer};
use super::rule::Rule;
use super::snapshots::SnapshotFiles;

/// A bucket of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BucketName<'a> {
    pub(super) partition: &'a PartitionValues,
    pub(super) bucket: i64,
}

impl<'a> BucketName<'a> {
    /// The bucket that a file is in.
    pub(super) fn of(entry: &'a ManifestEntry) -> Self {
        Self { partition: &entry.partition, bucket: i64::from(entry.bucket) }
    }
}

impl Check<'_> {
    /// Checks the buckets in which a commit changed something.
    pub(super) fn buckets(
        &mut self,
        line: &Line,
        path: &str,
        files: &SnapshotFiles,
        touched: &BTreeSet<BucketName<'_>>,
        referrer: Referrer<'_>,
    ) {
        let mut previous = None;
        for bucket in touched {
            if previous != Some(bucket.partition) {
                self.bucket_numbers(path, files, bucket.partition, referrer);
                previous = Some(bucket.partition);
            }
            self.levels(line, path, files, *bucket, referrer);
        }
    }

    fn bucket_numbers(
        &mut self,
        path: &str,
        files: &SnapshotFiles,
        partition: &PartitionValues,
        referrer: Referrer<'_>,
    ) {
        let from = (partition.clone(), 0, i32::MIN, String::new());
        let of_partition = files.live.range(from..).take_while(|(name, _)| name.0 == *partition);
        let mut numbers = of_partition.map(|(_, entry)| entry.total_buckets);
        let Some(first) = numbers.next() else { return };
        if let Some(other) = numbers.find(|number| *number != first) {
            let cells = partition.cells();
            let found = format!("expected one number of buckets in partition {cells:?}, found {first} and {other}");
            self.findings.add(Rule::Bucket, path, referrer.snapshot(), found);
        }
    }

    fn levels(
        &mut self,
        line: &Line,
        path: &str,
        files: &SnapshotFiles,
        bucket: BucketName<'_>,
        referrer: Referrer<'_>,
    ) {
        let from = (bucket.partition.clone(), bucket.bucket, 1, String::new());
        let of_bucket =
            files.live.range(from..).take_while(|(name, _)| name.0 == *bucket.partition && name.1 == bucket.bucket);
        let mut key_types: Option<(u64, Vec<DataType>)> = None;
        let mut ranges: Vec<(i32, Row, Row, &str)> = Vec::new();
        for (_, entry) in of_bucket {
            let file = &entry.file;
            if key_types.as_ref().is_none_or(|(schema_id, _)| *schema_id != file.schema_id) {
                let types = line.schemas.get(&file.schema_id).map(SchemaVersion::key_types).unwrap_or_default();
                key_types = Some((file.schema_id, types));
            }
            let Some((_, types)) = key_types.as_ref().filter(|(_, types)| !types.is_empty()) else { continue };
            if let (Ok(least), Ok(greatest)) = (deserialize(types, &file.min_key), deserialize(types, &file.max_key)) {
                ranges.push((file.level, least, greatest, &file.file_name));
            }
        }
        ranges.sort();
        let overlap = ranges.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[0].2 >= pair[1].1);
        if let Some([(level, _, _, one), (_, _, _, other)]) = overlap {
            let found = format!(
                "expected key ranges of level {level} of bucket {} that do not overlap, found {one} and {other}",
                bucket.bucket
            );
            self.findings.add(Rule::Level, path, referrer.snapshot(), found);
        }
    }
}
