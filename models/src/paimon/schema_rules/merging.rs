//! How the changes of a key become its row: what a definition must heed beyond what its options mean by themselves.
//!
//! What the options mean, and which of them contradict each other, is parsed by [`MergeOptions`]: a definition that it
//! refuses could be written down and never be opened.

use std::collections::BTreeMap;

use crate::contract::{Failure, TableSchema};

use super::super::merge::{
    ChangelogProducer, FIELDS_PREFIX, MERGE_ENGINE, MergeOptions, SEQUENCE_FIELD, SEQUENCE_GROUP_SUFFIX,
};
use super::columns::require_columns;
use super::options::{boolean, option_of};

const AGGREGATE_FUNCTION_SUFFIX: &str = ".aggregate-function";

pub(super) const CHANGELOG_PRODUCER: &str = ChangelogProducer::OPTION;
pub(super) const DELETION_VECTORS: &str = "deletion-vectors.enabled";
const FULL_COMPACTION_DELTA_COMMITS: &str = "full-compaction.delta-commits";
const STREAMING_READ_OVERWRITE: &str = "streaming-read-overwrite";

pub(super) fn validate(schema: &TableSchema) -> Result<(), Failure> {
    let producer = MergeOptions::of(schema)?.changelog_producer;
    validate_changelog_producer(schema, producer)?;
    validate_deletion_vectors(schema, producer)?;
    validate_snapshot_ordering(schema)?;
    validate_sequence_groups(schema)
}

fn validate_changelog_producer(schema: &TableSchema, producer: ChangelogProducer) -> Result<(), Failure> {
    if boolean(schema, STREAMING_READ_OVERWRITE, false)? && !schema.has_primary_key() {
        return Err(Failure::invalid(format!(
            "expected `{STREAMING_READ_OVERWRITE}` off in a table without a primary key, found it on"
        )));
    }
    if schema.options.contains_key(FULL_COMPACTION_DELTA_COMMITS) {
        if producer == ChangelogProducer::Lookup {
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

fn validate_deletion_vectors(schema: &TableSchema, producer: ChangelogProducer) -> Result<(), Failure> {
    if !boolean(schema, DELETION_VECTORS, false)? {
        return Ok(());
    }
    if producer == ChangelogProducer::FullCompaction {
        return Err(Failure::invalid(format!(
            "expected `{CHANGELOG_PRODUCER}` none, input or lookup with `{DELETION_VECTORS}`, found full-compaction"
        )));
    }
    if option_of(schema, MERGE_ENGINE).is_some_and(|engine| engine.eq_ignore_ascii_case("first-row")) {
        // No row is ever replaced, so there is nothing to delete.
        return Err(Failure::invalid(format!(
            "expected another `{MERGE_ENGINE}` than first-row with `{DELETION_VECTORS}`, found first-row"
        )));
    }
    Ok(())
}

fn has_aggregate_function(schema: &TableSchema, column: &str) -> bool {
    schema.options.contains_key(&format!("{FIELDS_PREFIX}{column}{AGGREGATE_FUNCTION_SUFFIX}"))
}

fn validate_snapshot_ordering(schema: &TableSchema) -> Result<(), Failure> {
    let has_field = option_of(schema, SEQUENCE_FIELD).is_some();
    let snapshot_ordering = boolean(schema, "sequence.snapshot-ordering", false)?;
    if snapshot_ordering && (has_field || !schema.has_primary_key() || !boolean(schema, "write-only", false)?) {
        return Err(Failure::invalid(format!(
            "expected `sequence.snapshot-ordering` in a write-only primary-key table without `{SEQUENCE_FIELD}` only"
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
