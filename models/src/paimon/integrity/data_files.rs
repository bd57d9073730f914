//! One data file against what its manifest entry says of it.
//!
//! It knows one file at a time; how files make a snapshot is the parent module's business.

use bytes::Bytes;

use crate::contract::Row;

use super::super::binary_row::deserialize;
use super::super::bucket_function::BucketMode;
use super::super::data_file::{FileFormat, KeyValue, decode_changes, decode_rows};
use super::super::scan::{check_size_and_seal, compare_keys};
use super::super::table::SchemaVersion;
use super::super::{FormatResult, ManifestEntry};

/// What is wrong with the file; nothing for a sound one.
pub(super) fn check_data_file(schema: &SchemaVersion, entry: &ManifestEntry, bytes: &Bytes) -> Vec<String> {
    let mut wrong = Vec::new();
    let decoded = check_size_and_seal(entry, bytes).and_then(|()| FileFormat::of_file_name(&entry.file.file_name));
    let format = match decoded {
        Ok(format) => format,
        Err(error) => return vec![error.to_string()],
    };
    let checked = if schema.file.primary_keys.is_empty() {
        decode_rows(&schema.layout, format, bytes).and_then(|rows| {
            check_row_count(entry, rows.len(), &mut wrong);
            check_places(schema, entry, rows.iter(), &mut wrong)
        })
    } else {
        decode_changes(&schema.layout, format, bytes).and_then(|changes| {
            check_row_count(entry, changes.len(), &mut wrong);
            check_changes(schema, entry, &changes, &mut wrong)?;
            check_places(schema, entry, changes.iter().map(|change| &change.row), &mut wrong)
        })
    };
    if let Err(error) = checked {
        wrong.push(error.to_string());
    }
    wrong
}

fn check_row_count(entry: &ManifestEntry, found: usize, wrong: &mut Vec<String>) {
    if entry.file.row_count != found as u64 {
        wrong.push(format!("expected {} rows as its manifest says, found {found}", entry.file.row_count));
    }
    if entry.file.min_sequence_number > entry.file.max_sequence_number {
        wrong.push("its lowest sequence number is above its highest".to_owned());
    }
}

/// Every row is in its partition and in the bucket that its key hashes to; a bucket-unaware table has bucket 0 only.
fn check_places<'a>(
    schema: &SchemaVersion,
    entry: &ManifestEntry,
    rows: impl Iterator<Item = &'a Row>,
    wrong: &mut Vec<String>,
) -> FormatResult<()> {
    let table = schema.file.table_schema();
    let Ok(bucket_count @ 1..) = u32::try_from(entry.total_buckets) else {
        if entry.bucket != 0 && schema.buckets.mode() == BucketMode::Unaware {
            wrong.push(format!("expected bucket 0 in a bucket-unaware table, found {}", entry.bucket));
        }
        return check_partition(&table.partition_positions(), entry, rows, wrong);
    };
    if entry.bucket >= bucket_count {
        wrong.push(format!("expected a bucket below {bucket_count}, found {}", entry.bucket));
    }
    let rows: Vec<&Row> = rows.collect();
    for row in &rows {
        let bucket = schema.buckets.bucket_of_row(row, bucket_count)?;
        if bucket != entry.bucket {
            wrong.push(format!(
                "a row that belongs into bucket {bucket} is in bucket {}; a lookup of its key does not find it",
                entry.bucket
            ));
            break;
        }
    }
    check_partition(&table.partition_positions(), entry, rows.into_iter(), wrong)
}

fn check_partition<'a>(
    partition_positions: &[usize],
    entry: &ManifestEntry,
    mut rows: impl Iterator<Item = &'a Row>,
    wrong: &mut Vec<String>,
) -> FormatResult<()> {
    let outside = rows.find(|row| {
        let cells = partition_positions.iter().map(|position| &row[*position]);
        !cells.eq(entry.partition.cells().iter())
    });
    if outside.is_some() {
        wrong.push("a row of another partition is in it; a filter on the partition does not find it".to_owned());
    }
    Ok(())
}

/// Changes are sorted by key, one a key; keys, deletes and sequence numbers are within what the manifest says.
fn check_changes(
    schema: &SchemaVersion,
    entry: &ManifestEntry,
    changes: &[KeyValue],
    wrong: &mut Vec<String>,
) -> FormatResult<()> {
    let key_positions = schema.layout.key_positions();
    if changes.windows(2).any(|pair| compare_keys(key_positions, &pair[0].row, &pair[1].row).is_ge()) {
        wrong.push("expected its keys to ascend, one change a key".to_owned());
    }
    let key_types = schema.key_types();
    let key_of = |change: Option<&KeyValue>| change.map(|change| change.row.project(key_positions));
    for (what, serialized, found) in [
        ("least", &entry.file.min_key, key_of(changes.first())),
        ("greatest", &entry.file.max_key, key_of(changes.last())),
    ] {
        let described = deserialize(&key_types, serialized)?;
        if found.is_some_and(|found| found != described) {
            wrong.push(format!("its {what} key is not the one that its manifest says; a lookup may skip it"));
        }
    }
    let deletes = changes.iter().filter(|change| !change.kind.adds()).count() as i64;
    if entry.file.delete_row_count.is_some_and(|described| described != deletes) {
        wrong.push(format!("expected {:?} deletes as its manifest says, found {deletes}", entry.file.delete_row_count));
    }
    let sequences = || changes.iter().map(|change| change.sequence);
    let described = (entry.file.min_sequence_number, entry.file.max_sequence_number);
    let outside = |sequence: i64| sequence < described.0 || sequence > described.1;
    if sequences().any(outside) {
        wrong.push(format!(
            "a sequence number lies outside of {} to {}; an older change of its key may win",
            described.0, described.1
        ));
    }
    Ok(())
}
