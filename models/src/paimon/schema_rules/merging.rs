//! How the changes of a key become its row: the merge engine and what goes with it.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{Failure, TableSchema};

use super::columns::require_columns;
use super::options::{boolean, option_of, word};

/// The option for the columns that say which change of a key is the newest.
pub(in super::super) const SEQUENCE_FIELD: &str = "sequence.field";
/// What options about single columns begin with: `fields.<column>.<…>`.
pub(in super::super) const FIELDS_PREFIX: &str = "fields.";
/// What an option ends in that says which columns follow the newest of its own.
pub(in super::super) const SEQUENCE_GROUP_SUFFIX: &str = ".sequence-group";
/// The one option that begins like those about columns and is about all of them.
const DEFAULT_AGGREGATE_FUNCTION: &str = "fields.default-aggregate-function";
const AGGREGATE_FUNCTION_SUFFIX: &str = ".aggregate-function";

pub(super) const MERGE_ENGINE: &str = "merge-engine";
pub(super) const CHANGELOG_PRODUCER: &str = "changelog-producer";
pub(super) const DELETION_VECTORS: &str = "deletion-vectors.enabled";
const FULL_COMPACTION_DELTA_COMMITS: &str = "full-compaction.delta-commits";
const STREAMING_READ_OVERWRITE: &str = "streaming-read-overwrite";

pub(super) const MERGE_ENGINES: [&str; 4] = ["deduplicate", "partial-update", "aggregation", "first-row"];
pub(super) const CHANGELOG_PRODUCERS: [&str; 4] = ["none", "input", "full-compaction", "lookup"];

pub(super) fn validate(schema: &TableSchema) -> Result<(), Failure> {
    let merge_engine = word(schema, MERGE_ENGINE, &MERGE_ENGINES)?;
    let producer = word(schema, CHANGELOG_PRODUCER, &CHANGELOG_PRODUCERS)?;
    validate_changelog_producer(schema, merge_engine, producer)?;
    validate_deletion_vectors(schema, merge_engine, producer)?;
    validate_column_options(schema)?;
    validate_sequence_field(schema, merge_engine)?;
    validate_sequence_groups(schema)?;
    boolean(schema, "ignore-delete", false)?;
    boolean(schema, "ignore-update-before", false)?;
    match option_of(schema, "rowkind.field") {
        Some(name) => require_columns(schema, "option `rowkind.field`", std::iter::once(name)),
        None => Ok(()),
    }
}

fn validate_changelog_producer(schema: &TableSchema, merge_engine: &str, producer: &str) -> Result<(), Failure> {
    if producer != "none" && !schema.has_primary_key() {
        return Err(Failure::invalid(format!(
            "expected `{CHANGELOG_PRODUCER}` none in a table without a primary key, found {producer}"
        )));
    }
    if merge_engine == "first-row" && producer != "none" && producer != "lookup" {
        return Err(Failure::invalid(format!(
            "expected `{CHANGELOG_PRODUCER}` none or lookup with `{MERGE_ENGINE}` first-row, found {producer}"
        )));
    }
    let compacts = producer == "lookup" || producer == "full-compaction";
    if boolean(schema, STREAMING_READ_OVERWRITE, false)? {
        if compacts {
            // Its readers would see the overwrite's changes twice.
            return Err(Failure::invalid(format!(
                "expected `{STREAMING_READ_OVERWRITE}` off with `{CHANGELOG_PRODUCER}` {producer}, found it on"
            )));
        }
        if !schema.has_primary_key() {
            return Err(Failure::invalid(format!(
                "expected `{STREAMING_READ_OVERWRITE}` off in a table without a primary key, found it on"
            )));
        }
    }
    if schema.options.contains_key(FULL_COMPACTION_DELTA_COMMITS) {
        if producer == "lookup" {
            return Err(Failure::invalid(format!(
                "expected no `{FULL_COMPACTION_DELTA_COMMITS}` with `{CHANGELOG_PRODUCER}` lookup, found one"
            )));
        }
        if !schema.has_primary_key() && schema.bucket_count().is_none() {
            return Err(Failure::invalid(format!(
                "expected no `{FULL_COMPACTION_DELTA_COMMITS}` in an append table without buckets, found one"
            )));
        }
    }
    Ok(())
}

fn validate_deletion_vectors(schema: &TableSchema, merge_engine: &str, producer: &str) -> Result<(), Failure> {
    if !boolean(schema, DELETION_VECTORS, false)? {
        return Ok(());
    }
    if producer == "full-compaction" {
        return Err(Failure::invalid(format!(
            "expected `{CHANGELOG_PRODUCER}` none, input or lookup with `{DELETION_VECTORS}`, found {producer}"
        )));
    }
    if merge_engine == "first-row" {
        // No row is ever replaced, so there is nothing to delete.
        return Err(Failure::invalid(format!(
            "expected another `{MERGE_ENGINE}` than first-row with `{DELETION_VECTORS}`, found first-row"
        )));
    }
    Ok(())
}

/// The columns and the word of an option `fields.<columns>.<word>`.
fn columns_and_word(key: &str) -> Option<(&str, &str)> {
    if key == DEFAULT_AGGREGATE_FUNCTION { None } else { key.strip_prefix(FIELDS_PREFIX)?.rsplit_once('.') }
}

fn validate_column_options(schema: &TableSchema) -> Result<(), Failure> {
    for key in schema.options.keys() {
        let columns = match columns_and_word(key) {
            Some((columns, _)) => columns,
            None if key.starts_with(FIELDS_PREFIX) && key != DEFAULT_AGGREGATE_FUNCTION => {
                return Err(Failure::invalid(format!("expected an option `fields.<column>.<name>`, found `{key}`")));
            }
            None => continue,
        };
        // A word of two parts, `map.storage-layout` say, begins behind the column.
        let is_column = schema.columns.iter().any(|column| {
            columns == column.name || columns.strip_prefix(&column.name).is_some_and(|rest| rest.starts_with('.'))
        });
        if !is_column {
            let names = columns.split(',').map(str::trim);
            require_columns(schema, &format!("option `{key}`"), names)?;
        }
    }
    Ok(())
}

fn has_aggregate_function(schema: &TableSchema, column: &str) -> bool {
    schema.options.contains_key(&format!("{FIELDS_PREFIX}{column}{AGGREGATE_FUNCTION_SUFFIX}"))
}

fn validate_sequence_field(schema: &TableSchema, merge_engine: &str) -> Result<(), Failure> {
    let field = option_of(schema, SEQUENCE_FIELD);
    let snapshot_ordering = boolean(schema, "sequence.snapshot-ordering", false)?;
    if snapshot_ordering && (field.is_some() || !schema.has_primary_key() || !boolean(schema, "write-only", false)?) {
        return Err(Failure::invalid(format!(
            "expected `sequence.snapshot-ordering` in a write-only primary-key table without `{SEQUENCE_FIELD}` only"
        )));
    }
    let Some(field) = field else {
        return Ok(());
    };
    let names: Vec<&str> = field.split(',').map(str::trim).collect();
    require_columns(schema, &format!("option `{SEQUENCE_FIELD}`"), names.iter().copied())?;
    if names.iter().collect::<BTreeSet<_>>().len() != names.len() {
        return Err(Failure::invalid(format!("expected `{SEQUENCE_FIELD}` to name each column once, found {field:?}")));
    }
    if let Some(aggregated) = names.iter().find(|name| has_aggregate_function(schema, name)) {
        return Err(Failure::invalid(format!(
            "expected no aggregate function for `{aggregated}`, a column of `{SEQUENCE_FIELD}`"
        )));
    }
    if merge_engine == "first-row" {
        return Err(Failure::invalid(format!(
            "expected no `{SEQUENCE_FIELD}` with `{MERGE_ENGINE}` first-row, found {field:?}"
        )));
    }
    let crosses_partitions =
        schema.has_primary_key() && schema.partition_keys.iter().any(|key| !schema.primary_key.contains(key));
    if crosses_partitions {
        return Err(Failure::invalid(format!(
            "expected no `{SEQUENCE_FIELD}` where a key can move to another partition, found {field:?}"
        )));
    }
    Ok(())
}

fn validate_sequence_groups(schema: &TableSchema) -> Result<(), Failure> {
    let mut group_of: BTreeMap<&str, &str> = BTreeMap::new();
    for (key, value) in &schema.options {
        let Some(sequence) = key.strip_prefix(FIELDS_PREFIX).and_then(|rest| rest.strip_suffix(SEQUENCE_GROUP_SUFFIX))
        else {
            continue;
        };
        let members: Vec<&str> = value.split(',').map(str::trim).collect();
        require_columns(schema, &format!("option `{key}`"), sequence.split(',').map(str::trim))?;
        require_columns(schema, &format!("option `{key}`"), members.iter().copied())?;
        for member in members {
            if group_of.insert(member, sequence).is_some_and(|other| other != sequence) {
                return Err(Failure::invalid(format!(
                    "expected each column in one sequence group, found `{member}` in several"
                )));
            }
        }
        if let Some(column) = sequence.split(',').map(str::trim).find(|name| has_aggregate_function(schema, name)) {
            return Err(Failure::invalid(format!(
                "expected no aggregate function for `{column}`, which orders a sequence group"
            )));
        }
    }
    Ok(())
}
