//! Which lake tables the store can hold: the mapping matrix, as one table (P7).
//!
//! A row is a feature of a definition, how to find it, and why it is refused, if it is. Whoever promotes a table is told
//! the option or type that stands in the way. The last rows of the matrix are this store's own limits: it keeps the last
//! write of a key and knows no other merge. This module must never know what becomes of a table that is mapped.

use std::fmt::Write;

use super::lake_columns::is_system_name;
use crate::contract::{BUCKET, DataType, Failure, TablePath, TableSchema};
use crate::defects::{Defect, Defects};

/// One feature of a lake table's definition.
pub struct MappingRule {
    /// The feature.
    pub feature: &'static str,
    /// Why a table that has it is refused; `None` if it is mapped.
    pub refused_because: Option<&'static str>,
    /// Of a feature that is refused: the option or type, with its value or column; `None` if the definition has not got it.
    find: fn(&TableSchema) -> Option<String>,
}

const fn mapped(feature: &'static str) -> MappingRule {
    MappingRule { feature, refused_because: None, find: |_| None }
}

const fn refused(
    feature: &'static str,
    because: &'static str,
    find: fn(&TableSchema) -> Option<String>,
) -> MappingRule {
    MappingRule { feature, refused_because: Some(because), find }
}

/// The matrix. The first refused row that a definition has is its refusal.
pub const MAPPING_MATRIX: &[MappingRule] = &[
    mapped("columns of the simple types"),
    mapped("ARRAY, MAP and ROW outside keys"),
    mapped("a primary key with a fixed number of buckets"),
    mapped("an append table, bucketed or not"),
    mapped("partition columns of the simple types but DECIMAL"),
    refused("row tracking", "the store gives rows no ids", |schema| switched_on(schema, "row-tracking.enabled")),
    refused("data evolution", "the store writes whole rows", |schema| switched_on(schema, "data-evolution.enabled")),
    refused("deletion vectors", "tiering would have to compact before anybody can read", |schema| {
        switched_on(schema, "deletion-vectors.enabled")
    }),
    refused("an upsert key", "the store upserts by primary key", |schema| given(schema, "upsert-key")),
    refused("a row-kind field", "the store knows the kind of a change by itself", |schema| {
        given(schema, "rowkind.field")
    }),
    refused("the modulo bucket function", "the store places rows by hash", |schema| {
        has_word(schema, "bucket-function.type", "mod")
    }),
    refused("a primary key with dynamic or postponed buckets", "the store needs a fixed number of buckets", |schema| {
        (schema.has_primary_key() && schema.bucket_count().is_none()).then(|| option(schema, BUCKET))
    }),
    refused(
        "BLOB, VARIANT, VECTOR and MULTISET at any depth",
        "the store has no such type; a table that has one cannot be opened at all, and that refusal names the type",
        // No definition that was read can have one.
        |_| None,
    ),
    refused("DECIMAL, ARRAY, MAP and ROW partition columns", "the store cannot name such a partition", |schema| {
        of_type(schema, schema.partition_positions(), is_refused_in_partitions)
    }),
    refused("ARRAY, MAP and ROW key columns", "the store cannot order such a key", |schema| {
        let keys = schema.key_positions().into_iter().chain(schema.bucket_key_positions());
        of_type(schema, keys.collect(), DataType::is_nested)
    }),
    refused("sequence groups", "the store replaces whole rows", |schema| {
        let group = schema.options.keys().find(|key| key.starts_with("fields.") && key.ends_with(".sequence-group"));
        group.map(|group| option(schema, group))
    }),
    refused("a descending sequence field", "the store knows no such order", |schema| {
        has_word(schema, "sequence.field.sort-order", "descending")
    }),
    refused("several sequence fields", "the store knows no such order", |schema| {
        given(schema, "sequence.field").filter(|_| schema.options["sequence.field"].contains(','))
    }),
    refused("columns named like the system columns", "the store could not tell them from its own", |schema| {
        let system = schema.columns.iter().find(|column| is_system_name(&column.name));
        system.map(|column| format!("column `{}`", column.name))
    }),
    refused("a sequence field", "this store orders changes by their arrival", |schema| given(schema, "sequence.field")),
    refused("another merge engine than deduplicate", "this store keeps the last write of a key", |schema| {
        given(schema, "merge-engine").filter(|_| has_word(schema, "merge-engine", "deduplicate").is_none())
    }),
    refused("ignored deletes", "this store's deletes delete", |schema| switched_on(schema, "ignore-delete")),
];

/// `rejected` if the store cannot hold such a table; the message names the option or type.
pub fn refuse_unmappable(path: &TablePath, lake: &TableSchema, defects: &Defects) -> Result<(), Failure> {
    // Planted bug unmappable-accepted: whatever can be opened is mapped.
    if defects.has(Defect::UnmappableAccepted) {
        return Ok(());
    }
    for rule in MAPPING_MATRIX {
        if let Some(because) = rule.refused_because
            && let Some(found) = (rule.find)(lake)
        {
            return Err(Failure::rejected(format!(
                "expected a lake table that the store can hold, found {path} with {}, {found}: {because}",
                rule.feature
            )));
        }
    }
    Ok(())
}

/// The matrix for people: one line per feature.
pub fn mapping_matrix() -> String {
    let mut text = String::new();
    for rule in MAPPING_MATRIX {
        let verdict = rule.refused_because.map_or_else(|| "mapped".to_owned(), |why| format!("refused: {why}"));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} | {verdict}", rule.feature);
    }
    text
}

fn is_refused_in_partitions(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal(..)) || data_type.is_nested()
}

/// The first of these columns whose type is such a one.
fn of_type(schema: &TableSchema, positions: Vec<usize>, is_such: fn(&DataType) -> bool) -> Option<String> {
    let mut columns = positions.into_iter().map(|position| &schema.columns[position]);
    let found = columns.find(|column| is_such(&column.data_type))?;
    Some(format!("column `{}` of type {}", found.name, found.data_type))
}

fn option(schema: &TableSchema, key: &str) -> String {
    format!("option `{key}` = {:?}", schema.options.get(key).map_or("-1", String::as_str))
}

/// The option, if it has a value.
fn given(schema: &TableSchema, key: &str) -> Option<String> {
    schema.options.get(key).filter(|value| !value.trim().is_empty()).map(|_| option(schema, key))
}

fn has_word(schema: &TableSchema, key: &str, word: &str) -> Option<String> {
    given(schema, key).filter(|_| schema.options[key].trim().eq_ignore_ascii_case(word))
}

fn switched_on(schema: &TableSchema, key: &str) -> Option<String> {
    has_word(schema, key, "true")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::FailureCode;

    fn verdict(columns: &str, rest: &str) -> Result<(), Failure> {
        let text = format!(r#"{{"columns":[{columns}],{rest}}}"#);
        refuse_unmappable(&TablePath::new("db", "t"), &serde_json::from_str(&text).unwrap(), &Defects::none())
    }

    const ID: &str = r#"{"name":"id","type":"BIGINT","nullable":false}"#;

    #[test]
    fn ordinary_tables_are_mapped() {
        for rest in [
            r#""primary_key":["id"],"options":{"bucket":"2","merge-engine":"Deduplicate","file.format":"avro"}"#,
            r#""options":{"bucket":"-1","row-tracking.enabled":"false"}"#,
            r#""partition_keys":["id"],"options":{"bucket":"-1","upsert-key":""}"#,
        ] {
            assert_eq!(verdict(ID, rest), Ok(()), "{rest}");
        }
    }

    #[test]
    fn a_refusal_names_the_option() {
        for (option, value) in [
            ("row-tracking.enabled", "true"),
            ("data-evolution.enabled", "TRUE"),
            ("deletion-vectors.enabled", "true"),
            ("upsert-key", "id"),
            ("rowkind.field", "id"),
            ("bucket-function.type", "mod"),
            ("fields.v.sequence-group", "id"),
            ("sequence.field.sort-order", "descending"),
            ("sequence.field", "id,v"),
            ("sequence.field", "id"),
            ("merge-engine", "first-row"),
            ("ignore-delete", "true"),
        ] {
            let rest = format!(r#""primary_key":["id"],"options":{{"bucket":"1","{option}":"{value}"}}"#);
            let failure = verdict(ID, &rest).unwrap_err();
            assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));
            assert!(failure.message.contains(&format!("`{option}` = {value:?}")), "{failure}");
        }
        for bucket in ["-1", "-2"] {
            let rest = format!(r#""primary_key":["id"],"options":{{"bucket":"{bucket}"}}"#);
            let failure = verdict(ID, &rest).unwrap_err();
            assert!(failure.message.contains(&format!("`bucket` = {bucket:?}")), "{failure}");
        }
    }

    #[test]
    fn a_refusal_names_the_type() {
        for (data_type, rest) in [
            ("DECIMAL(4, 2)", r#""partition_keys":["p"],"options":{}"#),
            ("ROW<`a` INT>", r#""partition_keys":["p"],"options":{}"#),
            ("ARRAY<INT>", r#""primary_key":["p"],"options":{"bucket":"1"}"#),
            ("MAP<INT, INT>", r#""options":{"bucket":"1","bucket-key":"p"}"#),
        ] {
            let failure = verdict(&format!(r#"{ID},{{"name":"p","type":"{data_type}"}}"#), rest).unwrap_err();
            assert!(failure.message.contains(&format!("`p` of type {data_type}")), "{failure}");
        }
        let system = verdict(&format!(r#"{ID},{{"name":"__offset","type":"BIGINT"}}"#), r#""options":{}"#).unwrap_err();
        assert!(system.message.contains("`__offset`"), "{system}");
    }

    #[test]
    fn the_matrix_is_a_line_per_feature() {
        let text = mapping_matrix();
        assert_eq!(text.lines().count(), MAPPING_MATRIX.len());
        assert!(text.contains("\nrow tracking | refused: "), "{text}");
        assert!(text.starts_with("columns of the simple types | mapped\n"), "{text}");
    }
}
