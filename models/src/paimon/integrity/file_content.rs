//! The rules of the rows of one data file: their number, their places, their keys, and what its manifest entry says.
//!
//! It knows one file at a time; how files make a snapshot is not known here.

use crate::contract::Row;

use super::super::ManifestEntry;
use super::super::binary_row::deserialize;
use super::super::bucket_function::BucketMode;
use super::super::data_file::KeyValue;
use super::super::scan::compare_keys;
use super::super::table::SchemaVersion;
use super::column_statistics::check_statistics;
use super::rule::Rule;

/// A rule that is broken, and what was found.
pub(super) type Breach = (Rule, String);

/// The rules of an append file.
pub(super) fn check_rows(schema: &SchemaVersion, entry: &ManifestEntry, rows: &[Row]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    check_row_count(entry, rows.len(), &mut breaches);
    check_places(schema, entry, rows.iter(), &mut breaches);
    check_statistics(schema, entry, rows.iter(), &mut breaches);
    breaches
}

/// The rules of a file of a merge tree.
pub(super) fn check_changes(schema: &SchemaVersion, entry: &ManifestEntry, changes: &[KeyValue]) -> Vec<Breach> {
    let mut breaches = check_changelog(schema, entry, changes);
    let key_positions = schema.layout.key_positions();
    let descends = |pair: &&[KeyValue]| compare_keys(key_positions, &pair[0].row, &pair[1].row).is_ge();
    if let Some(pair) = changes.windows(2).find(descends) {
        let keys = [&pair[0], &pair[1]].map(|change| change.row.project(key_positions));
        let found = format!("expected keys that ascend, found {:?} after {:?}", keys[1].cells(), keys[0].cells());
        breaches.push((Rule::KeyOrder, found));
        return breaches;
    }
    let key_types = schema.key_types();
    for (what, serialized, change) in
        [("least", &entry.file.min_key, changes.first()), ("greatest", &entry.file.max_key, changes.last())]
    {
        let Some(found) = change.map(|change| change.row.project(key_positions)) else { continue };
        match deserialize(&key_types, serialized) {
            Ok(said) if said == found => {}
            Ok(said) => {
                let (said, found) = (said.cells(), found.cells());
                breaches.push((Rule::KeyRange, format!("expected the {what} key {said:?}, found {found:?}")));
                break;
            }
            Err(error) => {
                breaches.push((Rule::KeyRange, error.within(format!("the {what} key")).to_string()));
                break;
            }
        }
    }
    breaches
}

/// The rules of a changelog file, in which a key may change several times.
pub(super) fn check_changelog(schema: &SchemaVersion, entry: &ManifestEntry, changes: &[KeyValue]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    check_row_count(entry, changes.len(), &mut breaches);
    let deletes = changes.iter().filter(|change| !change.kind.adds()).count() as i64;
    if let Some(said) = entry.file.delete_row_count.filter(|said| *said != deletes) {
        breaches.push((Rule::DeleteCount, format!("expected {said} deletes as its manifest says, found {deletes}")));
    }
    let (lowest, highest) = (entry.file.min_sequence_number, entry.file.max_sequence_number);
    let outside = changes.iter().find(|change| !(lowest..=highest).contains(&change.sequence));
    if let Some(change) = outside {
        let found = format!("expected sequence numbers from {lowest} to {highest}, found {}", change.sequence);
        breaches.push((Rule::SequenceRange, found));
    }
    check_places(schema, entry, changes.iter().map(|change| &change.row), &mut breaches);
    check_statistics(schema, entry, changes.iter().map(|change| &change.row), &mut breaches);
    breaches
}

fn check_row_count(entry: &ManifestEntry, found: usize, breaches: &mut Vec<Breach>) {
    let said = entry.file.row_count;
    if said != found as u64 {
        breaches.push((Rule::RowCount, format!("expected {said} rows as its manifest says, found {found}")));
    }
}

/// Every row is in its partition and in the bucket that its key hashes to; an append table without buckets has bucket 0
/// only.
fn check_places<'a>(
    schema: &SchemaVersion,
    entry: &ManifestEntry,
    rows: impl Iterator<Item = &'a Row> + Clone,
    breaches: &mut Vec<Breach>,
) {
    let partition_positions = schema.file.table_schema().partition_positions();
    let outside = rows.clone().find(|row| {
        let cells = partition_positions.iter().map(|position| &row[*position]);
        !cells.eq(entry.partition.cells().iter())
    });
    if let Some(row) = outside {
        let (said, found) = (entry.partition.cells(), row.project(&partition_positions));
        let found = format!("expected rows of partition {said:?}, found one of {:?}", found.cells());
        breaches.push((Rule::Partition, found));
    }
    let bucket = i64::from(entry.bucket);
    let Ok(bucket_count @ 1..) = u32::try_from(entry.total_buckets) else {
        // The buckets of a key table without a number of them are found by an index, not by a hash.
        if bucket != 0 && schema.buckets.mode() == BucketMode::Unaware {
            breaches.push((Rule::Bucket, format!("expected bucket 0 in a table without buckets, found {bucket}")));
        }
        return;
    };
    if bucket >= i64::from(bucket_count) {
        breaches.push((Rule::Bucket, format!("expected a bucket below {bucket_count}, found {bucket}")));
        return;
    }
    for row in rows {
        let hashed = match schema.buckets.bucket_of_row(row, bucket_count) {
            Ok(hashed) => i64::from(hashed),
            Err(error) => {
                breaches.push((Rule::Bucket, error.to_string()));
                return;
            }
        };
        if hashed != bucket {
            let key = row.project(schema.buckets.key_positions());
            let found = format!("expected rows of bucket {bucket}, found {:?} of bucket {hashed}", key.cells());
            breaches.push((Rule::Bucket, found));
            return;
        }
    }
}
