//! Rule `column-statistics`: what a manifest entry says of a file's columns contains every row of the file.
//!
//! Writers may say less than they could: no statistics, only NULL counts, texts cut to a prefix. What they say must not
//! exclude a row.

use std::cmp::Ordering;

use crate::contract::{DataType, Row, Value};

use super::super::ManifestEntry;
use super::super::binary_row::deserialize;
use super::super::column_stats::SimpleStats;
use super::super::table::SchemaVersion;
use super::file_content::Breach;
use super::rule::Rule;

/// Checks the statistics of the key and of the columns; the first column that they are wrong of is told.
pub(super) fn check_statistics<'a>(
    schema: &SchemaVersion,
    entry: &ManifestEntry,
    rows: impl Iterator<Item = &'a Row> + Clone,
    breaches: &mut Vec<Breach>,
) {
    let fields = &schema.file.fields;
    let described: Option<Vec<usize>> = match &entry.file.value_stats_columns {
        None => Some((0..fields.len()).collect()),
        Some(names) => names.iter().map(|name| fields.iter().position(|field| field.name == *name)).collect(),
    };
    let Some(described) = described else {
        let names = entry.file.value_stats_columns.as_deref().unwrap_or_default();
        breaches.push((Rule::ColumnStatistics, format!("expected statistics of columns, found them of {names:?}")));
        return;
    };
    let of_values = (&entry.file.value_stats, described.as_slice());
    let of_key = (&entry.file.key_stats, schema.layout.key_positions());
    for (stats, positions) in [of_values, of_key] {
        if let Some(found) = excluded(schema, stats, positions, rows.clone()) {
            breaches.push((Rule::ColumnStatistics, found));
            return;
        }
    }
}

/// What the statistics exclude though it is there; nothing where they are right.
fn excluded<'a>(
    schema: &SchemaVersion,
    stats: &SimpleStats,
    positions: &[usize],
    rows: impl Iterator<Item = &'a Row>,
) -> Option<String> {
    // Statistics of no columns say nothing: the first four bytes count the cells.
    if positions.is_empty() || stats.min_values.starts_with(&[0; 4]) {
        return None;
    }
    let types: Vec<DataType> =
        positions.iter().map(|position| schema.file.fields[*position].field_type.data_type.clone()).collect();
    let (least, greatest) = match (deserialize(&types, &stats.min_values), deserialize(&types, &stats.max_values)) {
        (Ok(least), Ok(greatest)) => (least, greatest),
        (Err(error), _) | (_, Err(error)) => return Some(error.within("its column statistics").to_string()),
    };
    let mut nulls = vec![0_i64; positions.len()];
    for row in rows {
        for (at, position) in positions.iter().enumerate() {
            let cell = &row[*position];
            if cell.is_null() {
                nulls[at] += 1;
            } else if is_below(cell, &least[at]) || is_below(&greatest[at], cell) {
                return Some(format!(
                    "expected cells of column `{}` from {:?} to {:?}, found {cell:?}",
                    schema.file.fields[*position].name, least[at], greatest[at]
                ));
            }
        }
    }
    let mut counted = stats.null_counts.iter().zip(&nulls).zip(positions);
    let ((said, found), position) = counted.find(|((said, found), _)| said.is_some_and(|said| said != **found))?;
    let said = said.unwrap_or_default();
    Some(format!("expected {said} NULLs in column `{}`, found {found}", schema.file.fields[*position].name))
}

/// Whether one value is certainly below another. NULL is no bound, NaN has no place, and the two zeros are equal.
fn is_below(value: &Value, bound: &Value) -> bool {
    match (value, bound) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Float(value), Value::Float(bound)) => value.partial_cmp(bound) == Some(Ordering::Less),
        (Value::Double(value), Value::Double(bound)) => value.partial_cmp(bound) == Some(Ordering::Less),
        (value, bound) => value < bound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_excludes_only_what_is_certainly_outside() {
        assert!(is_below(&Value::Int(1), &Value::Int(2)));
        assert!(!is_below(&Value::Int(2), &Value::Int(2)));
        assert!(!is_below(&Value::Int(1), &Value::Null) && !is_below(&Value::Null, &Value::Int(1)));
        assert!(!is_below(&Value::Double(-0.0), &Value::Double(0.0)));
        assert!(!is_below(&Value::Double(f64::NAN), &Value::Double(0.0)));
        assert!(!is_below(&Value::Double(0.0), &Value::Double(f64::NAN)));
        assert!(is_below(&Value::Float(-1.0), &Value::Float(0.0)));
    }
}
