//! Columns and the keys that they form.

use std::collections::BTreeSet;

use crate::contract::{DataType, Failure, TableSchema};

use super::options::{is_option_on, option_of, unsupported};

/// Column names that data files use for themselves.
const RESERVED_COLUMNS: [&str; 5] = ["_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "_ROW_ID", "rowkind"];
const RESERVED_COLUMN_PREFIX: &str = "_KEY_";

pub(super) fn validate(schema: &TableSchema) -> Result<(), Failure> {
    if schema.columns.is_empty() {
        return Err(Failure::invalid("expected at least one column, found none"));
    }
    require_distinct("column names", schema.columns.iter().map(|column| column.name.as_str()))?;
    for column in &schema.columns {
        check_column_name(&column.name)?;
        check_nested_names(&column.name, &column.data_type)?;
    }
    validate_keys(schema)
}

/// `invalid` if no column of a table can have this name.
pub(in super::super) fn check_column_name(name: &str) -> Result<(), Failure> {
    if name.is_empty() || RESERVED_COLUMNS.contains(&name) || name.starts_with(RESERVED_COLUMN_PREFIX) {
        return Err(Failure::invalid(format!("expected a column name that Paimon does not reserve, found `{name}`")));
    }
    Ok(())
}

fn require_distinct<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Failure::invalid(format!("expected {what} once each, found `{name}` twice")));
        }
    }
    Ok(())
}

fn check_nested_names(column: &str, data_type: &DataType) -> Result<(), Failure> {
    match data_type {
        DataType::Array(element) => check_nested_names(column, &element.data_type),
        DataType::Map(entry) => {
            check_nested_names(column, &entry.0.data_type)?;
            check_nested_names(column, &entry.1.data_type)
        }
        DataType::Row(fields) => {
            if fields.is_empty() {
                return Err(Failure::invalid(format!("expected a row with fields in column `{column}`, found none")));
            }
            let names = fields.iter().map(|field| field.name.as_str());
            require_distinct(&format!("field names in column `{column}`"), names)?;
            fields.iter().try_for_each(|field| check_nested_names(column, &field.field_type.data_type))
        }
        _ => Ok(()),
    }
}

fn validate_keys(schema: &TableSchema) -> Result<(), Failure> {
    for (what, keys) in [("primary key", &schema.primary_key), ("partition keys", &schema.partition_keys)] {
        require_columns(schema, what, keys.iter().map(String::as_str))?;
        require_distinct(&format!("columns of the {what}"), keys.iter().map(String::as_str))?;
        for position in schema.positions(keys) {
            let column = &schema.columns[position];
            if column.data_type.is_nested() {
                return Err(Failure::invalid(format!(
                    "expected simple types in the {what}, found {} in `{}`",
                    column.data_type, column.name
                )));
            }
        }
    }
    for position in schema.partition_positions() {
        let column = &schema.columns[position];
        let is_binary = matches!(column.data_type, DataType::Binary(_) | DataType::VarBinary(_));
        if is_binary && is_option_on(&schema.options, "partition.legacy-name", true) {
            // Java spells where the bytes lie in memory.
            return Err(unsupported(format!(
                "expected a partition column whose directories have stable names, found {} in `{}`",
                column.data_type, column.name
            )));
        }
    }
    if !schema.has_primary_key() {
        return Ok(());
    }
    let outside = schema.partition_keys.iter().find(|key| !schema.primary_key.contains(key));
    if let (Some(outside), Some(buckets)) = (outside, option_of(schema, "bucket"))
        && buckets != "-1"
    {
        return Err(Failure::invalid(format!(
            "expected the primary key to hold every partition key, `{outside}` is not in it; only dynamic buckets \
             (-1) can find a key in whichever partition it is"
        )));
    }
    if schema.primary_key.iter().all(|key| schema.partition_keys.contains(key)) {
        return Err(Failure::invalid(
            "expected the primary key to hold more than the partition keys: otherwise a partition has one row",
        ));
    }
    Ok(())
}

/// `invalid` if one of these is no column.
pub(super) fn require_columns<'a>(
    schema: &TableSchema,
    what: &str,
    mut names: impl Iterator<Item = &'a str>,
) -> Result<(), Failure> {
    match names.find(|name| schema.position(name).is_none()) {
        None => Ok(()),
        Some(unknown) => Err(Failure::invalid(format!("expected the {what} to name columns, `{unknown}` is none"))),
    }
}
