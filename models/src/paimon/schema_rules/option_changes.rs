//! Which options may change once a table has a history.

use crate::contract::{BUCKET, BUCKET_KEY, Failure};

use super::super::SchemaFile;
use super::merging::DELETION_VECTORS;
use super::options::is_option_on;

/// Options that Paimon never lets change once a table has a snapshot. `lakestream.enabled` is not among them (C5, C6).
pub const IMMUTABLE_OPTIONS: [&str; 22] = [
    "aggregation.remove-record-on-delete",
    "blob-descriptor-field",
    "blob-field",
    "blob-view-field",
    "bucket-function.type",
    BUCKET_KEY,
    "data-evolution.enabled",
    "data-file.path-directory",
    "dynamic-bucket.initial-buckets",
    "force-lookup",
    "index-file-in-data-file-dir",
    "merge-engine",
    "partial-update.remove-record-on-delete",
    "partial-update.remove-record-on-sequence-group",
    PARTITION,
    "pk-clustering-override",
    PRIMARY_KEY,
    "primary-key.nullable",
    "row-tracking.enabled",
    "rowkind.field",
    "sequence.snapshot-ordering",
    TYPE,
];
const TYPE: &str = "type";
/// The primary key as an option; a definition moves it to where keys belong.
pub(super) const PRIMARY_KEY: &str = "primary-key";
/// The partition keys as an option; a definition moves them to where keys belong.
pub(super) const PARTITION: &str = "partition";
/// Options that may be switched on and not off again: rows that were ignored meanwhile would be missing.
const ONE_WAY_OPTIONS: [&str; 2] = ["ignore-delete", "ignore-update-before"];

/// Whether setting the option, or removing it with `None`, changes anything; `invalid` if it must not. `before` is the
/// schema that the table has.
pub(in super::super) fn check_option_change(
    before: &SchemaFile,
    key: &str,
    value: Option<&str>,
    has_snapshots: bool,
) -> Result<bool, Failure> {
    let present = before.options.get(key).map(String::as_str);
    if present == value || repeats_the_definition(before, key, present, value) {
        // The same changes may have set it to something else before.
        return Ok(!matches!(key, TYPE | PRIMARY_KEY | PARTITION));
    }
    if key.eq_ignore_ascii_case("path") {
        return Err(Failure::invalid("option `path` cannot be changed: it says where the table is"));
    }
    if key == TYPE {
        return Err(Failure::invalid("option `type` cannot be changed: it says what the table is"));
    }
    if has_snapshots {
        check_with_history(before, key, value)?;
    }
    Ok(true)
}

/// Whether the option says what the definition says anyway.
fn repeats_the_definition(before: &SchemaFile, key: &str, present: Option<&str>, value: Option<&str>) -> bool {
    let Some(value) = value else {
        return false;
    };
    let names = |text: &str| -> Vec<String> {
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    match key {
        TYPE => value.eq_ignore_ascii_case(present.unwrap_or("table")),
        PRIMARY_KEY => present.is_none() && names(value) == before.primary_keys,
        PARTITION => present.is_none() && names(value) == before.partition_keys,
        _ => false,
    }
}

fn check_with_history(before: &SchemaFile, key: &str, value: Option<&str>) -> Result<(), Failure> {
    if IMMUTABLE_OPTIONS.contains(&key) {
        return Err(Failure::invalid(format!("option `{key}` cannot be changed once the table has snapshots")));
    }
    let is_on = |text: Option<&str>| text.is_some_and(|text| text.trim().eq_ignore_ascii_case("true"));
    let present = before.options.get(key).map(String::as_str);
    match key {
        BUCKET => {
            let fixed = |text: Option<&str>| text.is_some_and(|text| text.trim() != "-1");
            if !fixed(present) || !fixed(value) {
                return Err(Failure::invalid(
                    "option `bucket` can change from one fixed number to another only, once the table has snapshots",
                ));
            }
        }
        // Rows that vectors hide would come back, or files would be read that expect some.
        DELETION_VECTORS
            if is_on(present) != is_on(value)
                && !is_option_on(&before.options, "deletion-vectors.modifiable", false) =>
        {
            return Err(Failure::invalid(format!(
                "option `{key}` cannot be changed once the table has snapshots, unless \
                 `deletion-vectors.modifiable` is true"
            )));
        }
        _ if ONE_WAY_OPTIONS.contains(&key) && is_on(present) && !is_on(value) => {
            return Err(Failure::invalid(format!(
                "option `{key}` cannot be switched off once the table has snapshots"
            )));
        }
        "clustering.columns" if before.options.contains_key("pk-clustering-override") => {
            return Err(Failure::invalid(format!("option `{key}` cannot be changed with `pk-clustering-override`")));
        }
        _ => {}
    }
    Ok(())
}
