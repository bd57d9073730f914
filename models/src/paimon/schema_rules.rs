//! Which table definitions and which changes of them make sense: Paimon's schema validation, as far as this version
//! holds such tables.
//!
//! Definitions only. Whether a table is there, and whether the mode forbids a statement, is not known here.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{BUCKET, BUCKET_KEY, Column, ColumnChange, Failure, FailureCode, FieldType, TableSchema};

use super::data_file::FileFormat;
use super::{DataField, SchemaFile};

/// Options that Paimon never lets change once a table has a snapshot. `lakestream.enabled` is not among them (C5, C6).
const IMMUTABLE_OPTIONS: [&str; 22] = [
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
    "partition",
    "pk-clustering-override",
    "primary-key",
    "primary-key.nullable",
    "row-tracking.enabled",
    "rowkind.field",
    "sequence.snapshot-ordering",
    "type",
];
/// Column names that data files use for themselves.
const RESERVED_COLUMNS: [&str; 5] = ["_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "_ROW_ID", "rowkind"];
const RESERVED_COLUMN_PREFIX: &str = "_KEY_";

/// Options whose meaning this version implements for these values only.
const SUPPORTED_VALUES: [(&str, &[&str]); 6] = [
    ("file.format", &["parquet", "avro"]),
    ("merge-engine", &["deduplicate"]),
    ("deletion-vectors.enabled", &["false"]),
    ("row-tracking.enabled", &["false"]),
    ("type", &["table"]),
    ("bucket-function.type", &["default"]),
];

/// The format of new data files.
pub(super) fn file_format(schema: &TableSchema) -> Result<FileFormat, Failure> {
    match schema.options.get("file.format").map_or("parquet", String::as_str) {
        "parquet" => Ok(FileFormat::Parquet),
        "avro" => Ok(FileFormat::Avro),
        other => Err(unsupported("file.format", other, &["parquet", "avro"])),
    }
}

fn unsupported(option: &str, found: &str, expected: &[&str]) -> Failure {
    Failure::definite(
        FailureCode::Unsupported,
        format!("expected option `{option}` to be one of [{}], found {found:?}", expected.join(", ")),
    )
}

/// Whether a table can have this definition: `invalid` if it contradicts itself, `unsupported` if it asks for a kind
/// of table that this version does not hold.
pub fn validate_schema(schema: &TableSchema) -> Result<(), Failure> {
    validate_columns(schema)?;
    validate_keys(schema)?;
    validate_buckets(schema)?;
    for (option, expected) in SUPPORTED_VALUES {
        if let Some(found) = schema.options.get(option).filter(|found| !expected.contains(&found.as_str())) {
            return Err(unsupported(option, found, expected));
        }
    }
    match schema.options.get("sequence.field") {
        None => Ok(()),
        Some(found) => Err(Failure::definite(
            FailureCode::Unsupported,
            format!("expected a table without `sequence.field`, found {found:?}"),
        )),
    }
}

fn validate_columns(schema: &TableSchema) -> Result<(), Failure> {
    if schema.columns.is_empty() {
        return Err(Failure::invalid("expected at least one column, found none"));
    }
    let mut names = BTreeSet::new();
    for column in &schema.columns {
        validate_column_name(&column.name)?;
        if !names.insert(&column.name) {
            return Err(Failure::invalid(format!("expected column names once each, found `{}` twice", column.name)));
        }
    }
    Ok(())
}

fn validate_column_name(name: &str) -> Result<(), Failure> {
    if name.is_empty() || RESERVED_COLUMNS.contains(&name) || name.starts_with(RESERVED_COLUMN_PREFIX) {
        return Err(Failure::invalid(format!("expected a column name that Paimon does not reserve, found `{name}`")));
    }
    Ok(())
}

fn validate_keys(schema: &TableSchema) -> Result<(), Failure> {
    for (what, keys) in [("primary key", &schema.primary_key), ("partition keys", &schema.partition_keys)] {
        require_columns(schema, what, keys)?;
        if keys.iter().collect::<BTreeSet<_>>().len() != keys.len() {
            return Err(Failure::invalid(format!("expected the {what} to name each column once, found {keys:?}")));
        }
    }
    if !schema.has_primary_key() {
        return Ok(());
    }
    if let Some(outside) = schema.partition_keys.iter().find(|key| !schema.primary_key.contains(key)) {
        return Err(Failure::invalid(format!(
            "expected the primary key to hold every partition key, `{outside}` is not"
        )));
    }
    if schema.primary_key.iter().all(|key| schema.partition_keys.contains(key)) {
        return Err(Failure::invalid(
            "expected the primary key to hold more than the partition keys: otherwise a partition has one row",
        ));
    }
    Ok(())
}

fn require_columns(schema: &TableSchema, what: &str, names: &[String]) -> Result<(), Failure> {
    match names.iter().find(|name| schema.position(name).is_none()) {
        None => Ok(()),
        Some(unknown) => Err(Failure::invalid(format!("expected the {what} to name columns, `{unknown}` is none"))),
    }
}

fn validate_buckets(schema: &TableSchema) -> Result<(), Failure> {
    let text = schema.options.get(BUCKET).map_or("-1", String::as_str);
    let bucket_key: Vec<String> = schema
        .options
        .get(BUCKET_KEY)
        .map(|names| names.split(',').map(|name| name.trim().to_owned()).collect())
        .unwrap_or_default();
    require_columns(schema, "bucket-key", &bucket_key)?;
    if bucket_key.iter().any(|name| schema.partition_keys.contains(name)) {
        return Err(Failure::invalid("expected no partition key in `bucket-key`"));
    }
    if schema.has_primary_key() && bucket_key.iter().any(|name| !schema.primary_key.contains(name)) {
        return Err(Failure::invalid("expected `bucket-key` to name columns of the primary key"));
    }
    match text.parse::<i32>() {
        Ok(1..) if schema.has_primary_key() || !bucket_key.is_empty() => Ok(()),
        Ok(1..) => Err(Failure::invalid("expected `bucket-key` in an append table with a fixed number of buckets")),
        Ok(-1) if !schema.has_primary_key() && bucket_key.is_empty() => Ok(()),
        Ok(-1) if !schema.has_primary_key() => Err(Failure::invalid(
            "expected no `bucket-key` where `bucket` is -1; set `bucket` to the number of buckets",
        )),
        Ok(-1 | -2) => Err(Failure::definite(
            FailureCode::Unsupported,
            "expected a primary-key table with a fixed number of buckets; set `bucket` to 1 or more",
        )),
        _ => Err(Failure::invalid(format!("expected `bucket` to be -1 or 1 or more, found {text:?}"))),
    }
}

/// The options after ALTER TABLE … SET / RESET; `invalid` if one of the changes is not allowed any more.
pub(super) fn change_options(
    options: &BTreeMap<String, String>,
    set: &BTreeMap<String, String>,
    reset: &[String],
    has_snapshots: bool,
) -> Result<BTreeMap<String, String>, Failure> {
    let mut changed = options.clone();
    for key in reset {
        changed.remove(key);
    }
    changed.extend(set.iter().map(|(key, value)| (key.clone(), value.clone())));
    let differs = |key: &str| options.get(key) != changed.get(key);
    if differs("path") {
        return Err(Failure::invalid("option `path` cannot be changed: it says where the table is"));
    }
    if has_snapshots {
        if let Some(option) = IMMUTABLE_OPTIONS.into_iter().find(|option| differs(option)) {
            return Err(Failure::invalid(format!("option `{option}` cannot be changed once the table has snapshots")));
        }
        if differs(BUCKET) {
            let fixed = |options: &BTreeMap<String, String>| options.get(BUCKET).is_some_and(|text| text != "-1");
            if !fixed(options) || !fixed(&changed) {
                return Err(Failure::invalid(
                    "option `bucket` can change from one fixed number to another only, once the table has snapshots",
                ));
            }
        }
    }
    Ok(changed)
}

/// The schema after ALTER TABLE … columns, all or nothing. The caller numbers and dates it.
pub(super) fn change_columns(schema: &SchemaFile, changes: &[ColumnChange]) -> Result<SchemaFile, Failure> {
    let mut changed = schema.clone();
    for change in changes {
        match change {
            ColumnChange::Add { column, position } => add_column(&mut changed, column, position.as_deref())?,
            ColumnChange::Drop(name) => drop_column(&mut changed, name)?,
            ColumnChange::Rename { from, to } => rename_column(&mut changed, from, to)?,
        }
    }
    Ok(changed)
}

fn find_column(schema: &SchemaFile, name: &str) -> Result<usize, Failure> {
    schema
        .fields
        .iter()
        .position(|field| field.name == name)
        .ok_or_else(|| Failure::invalid(format!("expected a column of the table, found `{name}`")))
}

fn refuse_taken_name(schema: &SchemaFile, name: &str) -> Result<(), Failure> {
    validate_column_name(name)?;
    match find_column(schema, name) {
        Ok(_) => Err(Failure::invalid(format!("expected a new column name, `{name}` exists"))),
        Err(_) => Ok(()),
    }
}

fn add_column(schema: &mut SchemaFile, column: &Column, position: Option<&str>) -> Result<(), Failure> {
    refuse_taken_name(schema, &column.name)?;
    if !column.nullable {
        // Rows that are there have no value for it.
        return Err(Failure::invalid(format!("expected the added column `{}` to be nullable", column.name)));
    }
    let position = match position {
        None | Some("last") => schema.fields.len(),
        Some("first") => 0,
        Some(text) => text.parse().ok().filter(|position| *position <= schema.fields.len()).ok_or_else(|| {
            Failure::invalid(format!(
                "expected a position `first`, `last` or 0 to {}, found {text:?}",
                schema.fields.len()
            ))
        })?,
    };
    schema.highest_field_id += 1;
    let field = new_field(schema.highest_field_id, column, column.nullable);
    schema.fields.insert(position, field);
    Ok(())
}

fn drop_column(schema: &mut SchemaFile, name: &str) -> Result<(), Failure> {
    let position = find_column(schema, name)?;
    let in_use = schema.primary_keys.iter().chain(&schema.partition_keys).any(|key| key == name)
        || bucket_key_names(schema).any(|key| key == name);
    if in_use || schema.fields.len() == 1 {
        return Err(Failure::invalid(format!(
            "column `{name}` cannot be dropped: it is a key, a partition or bucket column, or the last one"
        )));
    }
    schema.fields.remove(position);
    Ok(())
}

fn rename_column(schema: &mut SchemaFile, from: &str, to: &str) -> Result<(), Failure> {
    let position = find_column(schema, from)?;
    refuse_taken_name(schema, to)?;
    if schema.partition_keys.iter().any(|key| key == from) {
        return Err(Failure::invalid(format!("partition column `{from}` cannot be renamed")));
    }
    let renamed = |name: &str| if name == from { to.to_owned() } else { name.to_owned() };
    let bucket_key: Vec<String> = bucket_key_names(schema).map(renamed).collect();
    if let Some(option) = schema.options.get_mut(BUCKET_KEY) {
        *option = bucket_key.join(",");
    }
    for key in schema.primary_keys.iter_mut().filter(|key| *key == from) {
        to.clone_into(key);
    }
    to.clone_into(&mut schema.fields[position].name);
    Ok(())
}

fn bucket_key_names(schema: &SchemaFile) -> impl Iterator<Item = &str> {
    schema.options.get(BUCKET_KEY).into_iter().flat_map(|names| names.split(',')).map(str::trim)
}

fn new_field(id: i32, column: &Column, nullable: bool) -> DataField {
    DataField {
        id,
        name: column.name.clone(),
        field_type: FieldType { data_type: column.data_type.clone(), nullable },
        description: None,
        default_value: None,
    }
}

/// The schema after a replace. A column that keeps its name and type keeps its identity; every other one gets an id
/// that no column of this table ever had. The caller numbers and dates it.
pub(super) fn replace_schema(old: &SchemaFile, definition: &TableSchema) -> Result<SchemaFile, Failure> {
    if old.partition_keys != definition.partition_keys {
        return Err(Failure::invalid(format!(
            "expected a replace to keep the partition keys [{}], found [{}]",
            old.partition_keys.join(", "),
            definition.partition_keys.join(", ")
        )));
    }
    let mut replaced = SchemaFile::first(definition, old.time_millis);
    replaced.highest_field_id = old.highest_field_id;
    for field in &mut replaced.fields {
        let kept = old
            .fields
            .iter()
            .find(|known| known.name == field.name && known.field_type.data_type == field.field_type.data_type);
        field.id = match kept {
            Some(known) => known.id,
            None => {
                replaced.highest_field_id += 1;
                replaced.highest_field_id
            }
        };
    }
    Ok(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{DataType, LAKESTREAM_ENABLED};

    fn column(name: &str) -> Column {
        Column { name: name.to_owned(), data_type: DataType::BigInt, nullable: true }
    }

    fn definition(primary_key: &[&str], partition_keys: &[&str], options: &[(&str, &str)]) -> TableSchema {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        TableSchema {
            columns: ["id", "v", "dt"].map(column).to_vec(),
            primary_key: owned(primary_key),
            partition_keys: owned(partition_keys),
            options: options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        }
    }

    #[test]
    fn ordinary_definitions_are_accepted() {
        for schema in [
            definition(&[], &[], &[]),
            definition(&[], &["dt"], &[("bucket", "-1")]),
            definition(&[], &[], &[("bucket", "2"), ("bucket-key", "id, v")]),
            definition(&["id"], &[], &[("bucket", "1")]),
            definition(&["id", "dt"], &["dt"], &[("bucket", "4"), (LAKESTREAM_ENABLED, "true")]),
        ] {
            assert_eq!(validate_schema(&schema), Ok(()), "{schema:?}");
        }
    }

    #[test]
    fn contradictions_and_foreign_kinds_are_refused_for_certain() {
        for (schema, code) in [
            (definition(&["x"], &[], &[("bucket", "1")]), FailureCode::Invalid),
            (definition(&[], &["x"], &[]), FailureCode::Invalid),
            (definition(&["id"], &["dt"], &[("bucket", "1")]), FailureCode::Invalid),
            (definition(&["dt"], &["dt"], &[("bucket", "1")]), FailureCode::Invalid),
            (definition(&["id", "id"], &[], &[("bucket", "1")]), FailureCode::Invalid),
            (definition(&[], &[], &[("bucket", "2")]), FailureCode::Invalid),
            (definition(&[], &[], &[("bucket", "0")]), FailureCode::Invalid),
            (definition(&[], &[], &[("bucket", "many")]), FailureCode::Invalid),
            (definition(&[], &[], &[("bucket-key", "id")]), FailureCode::Invalid),
            (definition(&["id"], &[], &[("bucket", "2"), ("bucket-key", "v")]), FailureCode::Invalid),
            (definition(&["id"], &[], &[]), FailureCode::Unsupported),
            (definition(&[], &[], &[("file.format", "orc")]), FailureCode::Unsupported),
            (definition(&["id"], &[], &[("bucket", "1"), ("merge-engine", "first-row")]), FailureCode::Unsupported),
        ] {
            let failure = validate_schema(&schema).unwrap_err();
            assert_eq!((failure.code, failure.definite), (code, true), "{schema:?}: {failure}");
        }
    }

    #[test]
    fn the_mode_may_change_at_any_time_and_keys_may_not() {
        let options = BTreeMap::from([(BUCKET.to_owned(), "2".to_owned())]);
        let set = |key: &str, value: &str| {
            change_options(&options, &BTreeMap::from([(key.to_owned(), value.to_owned())]), &[], true)
        };
        assert!(set(LAKESTREAM_ENABLED, "true").is_ok());
        assert!(set(BUCKET, "4").is_ok());
        assert!(set(BUCKET, "-1").is_err());
        assert!(set(BUCKET_KEY, "id").is_err());
        assert!(change_options(&options, &BTreeMap::new(), &[BUCKET.to_owned()], true).is_err());
        assert!(change_options(&options, &BTreeMap::new(), &[BUCKET.to_owned()], false).is_ok());
    }

    #[test]
    fn a_renamed_column_keeps_its_identity_and_a_replaced_one_does_not() {
        let old = SchemaFile::first(&definition(&["id"], &[], &[("bucket", "1")]), 7);
        let renamed = change_columns(&old, &[ColumnChange::Rename { from: "id".to_owned(), to: "key".to_owned() }]);
        let renamed = renamed.unwrap();
        assert_eq!((renamed.fields[0].id, renamed.primary_keys.as_slice()), (0, &["key".to_owned()][..]));

        let mut definition = definition(&["id"], &[], &[("bucket", "1")]);
        definition.columns[1].data_type = DataType::STRING;
        let replaced = replace_schema(&old, &definition).unwrap();
        assert_eq!(replaced.fields.iter().map(|field| field.id).collect::<Vec<_>>(), [0, 3, 2]);
        assert_eq!(replaced.highest_field_id, 3);
    }

    #[test]
    fn key_columns_stay() {
        let old = SchemaFile::first(&definition(&["id", "dt"], &["dt"], &[("bucket", "1")]), 7);
        for change in [
            ColumnChange::Drop("id".to_owned()),
            ColumnChange::Rename { from: "dt".to_owned(), to: "day".to_owned() },
            ColumnChange::Add { column: column("v"), position: None },
            ColumnChange::Add { column: Column { nullable: false, ..column("w") }, position: None },
            ColumnChange::Drop("unknown".to_owned()),
        ] {
            assert!(change_columns(&old, std::slice::from_ref(&change)).is_err(), "{change:?}");
        }
    }
}
