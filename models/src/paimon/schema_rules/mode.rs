//! What a table in lake-stream mode may be: what the store can serve. Its rows come out of a log of upserts, or of
//! appends, so nothing may merge them in another way or spread them over other buckets than the store knows.

use crate::contract::{BUCKET, Failure, LAKESTREAM_ENABLED, TableSchema};

use super::super::bucket_function::{BUCKET_FUNCTION_TYPE, BucketMode};
use super::super::merge::{MERGE_ENGINE, SEQUENCE_FIELD};
use super::merging::{CHANGELOG_PRODUCER, DELETION_VECTORS};
use super::option_changes::{PARTITION, PRIMARY_KEY};
use super::options::{is_option_on, option_of, unsupported};

/// Options that are left at this value.
const REQUIRED_WORDS: [(&str, &str); 3] =
    [(MERGE_ENGINE, "deduplicate"), (CHANGELOG_PRODUCER, "none"), (BUCKET_FUNCTION_TYPE, "default")];
/// Options that are not set.
const ABSENT: [&str; 4] = [SEQUENCE_FIELD, "rowkind.field", PRIMARY_KEY, PARTITION];
/// Options that are off.
const OFF: [&str; 4] = [
    // Level 0 is hidden from readers, or it is not; the store must know which.
    "deletion-vectors.merge-on-read",
    "ignore-delete",
    "ignore-update-before",
    "sequence.snapshot-ordering",
];

pub(super) fn validate(schema: &TableSchema) -> Result<(), Failure> {
    if !schema.lakestream_enabled() {
        return Ok(());
    }
    if let BucketMode::Dynamic | BucketMode::Postponed = BucketMode::of(schema) {
        return Err(unsupported(format!(
            "expected a primary-key table with a fixed number of buckets where `{LAKESTREAM_ENABLED}` is on; set \
             `{BUCKET}` to 1 or more"
        )));
    }
    for (key, expected) in REQUIRED_WORDS {
        if let Some(found) = option_of(schema, key).filter(|found| !found.eq_ignore_ascii_case(expected)) {
            return Err(unsupported(format!(
                "expected option `{key}` to be {expected} where `{LAKESTREAM_ENABLED}` is on, found {found:?}"
            )));
        }
    }
    if let Some(key) = ABSENT.into_iter().find(|key| schema.options.contains_key(*key)) {
        return Err(unsupported(format!("expected no option `{key}` where `{LAKESTREAM_ENABLED}` is on, found one")));
    }
    // Nothing that a store sends deletes rows of an append table.
    let of_keys = (!schema.has_primary_key()).then_some(DELETION_VECTORS);
    match OFF.into_iter().chain(of_keys).find(|key| is_option_on(&schema.options, key, false)) {
        None => Ok(()),
        Some(key) => Err(unsupported(format!(
            "expected option `{key}` to be off where `{LAKESTREAM_ENABLED}` is on, found it on"
        ))),
    }
}
