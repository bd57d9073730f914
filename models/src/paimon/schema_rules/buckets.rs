//! Buckets: how many, by which key, by which function.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{BUCKET, BUCKET_KEY, DataType, Failure, TableSchema};

use super::super::bucket_function::BUCKET_FUNCTION_TYPE;
use super::columns::require_columns;
use super::options::{option_of, require_word};

/// The columns that option `bucket-key` names.
pub(in super::super) fn bucket_key_names(options: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    options.get(BUCKET_KEY).into_iter().flat_map(|names| names.split(',')).map(str::trim)
}

pub(super) fn validate(schema: &TableSchema) -> Result<(), Failure> {
    validate_key(schema)?;
    let (has_key, has_bucket_key) = (schema.has_primary_key(), schema.options.contains_key(BUCKET_KEY));
    let text = option_of(schema, BUCKET).unwrap_or("-1");
    match text.parse::<i32>() {
        Ok(1..) if has_key || has_bucket_key => {}
        Ok(1..) => {
            return Err(Failure::invalid("expected `bucket-key` in an append table with a fixed number of buckets"));
        }
        Ok(-1) if has_bucket_key => {
            return Err(Failure::invalid(
                "expected no `bucket-key` where `bucket` is -1; set `bucket` to the number of buckets",
            ));
        }
        Ok(-1) => {}
        Ok(-2) if has_key => {}
        _ => {
            return Err(Failure::invalid(format!(
                "expected `bucket` to be 1 or more, -1, or -2 in a primary-key table, found {text:?}"
            )));
        }
    }
    validate_function(schema)
}

fn validate_key(schema: &TableSchema) -> Result<(), Failure> {
    require_columns(schema, BUCKET_KEY, bucket_key_names(&schema.options))?;
    let mut seen = BTreeSet::new();
    for name in bucket_key_names(&schema.options) {
        if !seen.insert(name) {
            return Err(Failure::invalid(format!(
                "expected `bucket-key` to name each column once, found `{name}` twice"
            )));
        }
        if schema.partition_keys.iter().any(|key| key == name) {
            return Err(Failure::invalid(format!("expected no partition key in `bucket-key`, found `{name}`")));
        }
        if schema.has_primary_key() && !schema.primary_key.iter().any(|key| key == name) {
            return Err(Failure::invalid(format!(
                "expected `bucket-key` to name columns of the primary key, found `{name}`"
            )));
        }
        let data_type = schema.position(name).map(|position| &schema.columns[position].data_type);
        if let Some(nested) = data_type.filter(|data_type| data_type.is_nested()) {
            return Err(Failure::invalid(format!("expected simple types in `bucket-key`, found {nested} in `{name}`")));
        }
    }
    Ok(())
}

fn validate_function(schema: &TableSchema) -> Result<(), Failure> {
    require_word(schema, BUCKET_FUNCTION_TYPE, &["default", "mod"])?;
    let is_modulo = option_of(schema, BUCKET_FUNCTION_TYPE).is_some_and(|name| name.eq_ignore_ascii_case("mod"));
    if !is_modulo || schema.bucket_count().is_none() {
        return Ok(());
    }
    let key: Vec<&DataType> =
        schema.bucket_key_positions().into_iter().map(|position| &schema.columns[position].data_type).collect();
    match key.as_slice() {
        [DataType::Int | DataType::BigInt] => Ok(()),
        found => Err(Failure::invalid(format!(
            "expected one INT or BIGINT column as the bucket key of `{BUCKET_FUNCTION_TYPE}` mod, found [{}]",
            found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        ))),
    }
}
