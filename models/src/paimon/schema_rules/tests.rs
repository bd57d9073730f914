use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::*;
use crate::contract::{BUCKET, BUCKET_KEY, Column, DataType, FailureCode, FieldType, LAKESTREAM_ENABLED, NestedField};
use crate::paimon::SchemaFile;

/// `id BIGINT, v STRING, n INT, dt DATE, list ARRAY<INT>` with these keys and options.
fn definition(primary_key: &[&str], partition_keys: &[&str], options: &[(&str, &str)]) -> TableSchema {
    let column = |(name, data_type): (&str, &str)| Column {
        name: name.to_owned(),
        data_type: data_type.parse().unwrap(),
        nullable: true,
    };
    let columns = [("id", "BIGINT"), ("v", "STRING"), ("n", "INT"), ("dt", "DATE"), ("list", "ARRAY<INT>")];
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    TableSchema {
        columns: columns.map(column).to_vec(),
        primary_key: owned(primary_key),
        partition_keys: owned(partition_keys),
        options: options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    }
}

fn append(options: &[(&str, &str)]) -> TableSchema {
    definition(&[], &[], options)
}

fn keyed(options: &[(&str, &str)]) -> TableSchema {
    let bucket = [(BUCKET, "1")];
    definition(&["id"], &[], &bucket.iter().chain(options).copied().collect::<Vec<_>>())
}

fn lake_stream(options: &[(&str, &str)]) -> TableSchema {
    keyed(&[&[(LAKESTREAM_ENABLED, "true")], options].concat())
}

fn with_columns(columns: &[(&str, &str)]) -> TableSchema {
    let column = |(name, data_type): &(&str, &str)| Column {
        name: (*name).to_owned(),
        data_type: data_type.parse().unwrap(),
        nullable: true,
    };
    TableSchema { columns: columns.iter().map(column).collect(), ..append(&[]) }
}

fn with_column_of_type(data_type: DataType) -> TableSchema {
    TableSchema { columns: vec![Column { name: "c".to_owned(), data_type, nullable: true }], ..append(&[]) }
}

fn row_of(names: &[&str]) -> DataType {
    let field = |name: &&str| NestedField {
        id: 0,
        name: (*name).to_owned(),
        field_type: FieldType { data_type: DataType::Int, nullable: true },
    };
    DataType::Row(names.iter().map(field).collect())
}

#[test]
fn ordinary_definitions_are_accepted() {
    for schema in [
        append(&[]),
        definition(&[], &["dt"], &[(BUCKET, "-1")]),
        append(&[(BUCKET, "2"), (BUCKET_KEY, "id, v")]),
        append(&[(BUCKET, "2"), (BUCKET_KEY, "n"), ("bucket-function.type", "MOD")]),
        append(&[("file.format", "AVRO"), ("file.compression", "zstd"), ("data-file.prefix", "rows-")]),
        keyed(&[]),
        definition(&["id", "dt"], &["dt"], &[(BUCKET, "4"), (LAKESTREAM_ENABLED, "true")]),
        definition(&["id"], &[], &[]),
        definition(&["id"], &[], &[(BUCKET, "-2")]),
        definition(&["id"], &["dt"], &[(BUCKET, "-1")]),
        append(&[("primary-key", "id"), ("partition", ""), (BUCKET, "1")]),
        keyed(&[("merge-engine", "partial-update"), ("fields.n.sequence-group", "v"), (LAKESTREAM_ENABLED, "false")]),
        keyed(&[("merge-engine", "aggregation"), ("fields.n.aggregate-function", "sum")]),
        keyed(&[("fields.default-aggregate-function", "last_value"), ("fields.v.map.storage-layout", "x")]),
        keyed(&[("merge-engine", "first-row"), ("changelog-producer", "lookup")]),
        keyed(&[("deletion-vectors.enabled", "true"), ("changelog-producer", "input")]),
        append(&[("deletion-vectors.enabled", "true")]),
        lake_stream(&[("deletion-vectors.enabled", "true")]),
        keyed(&[("sequence.field", "n,v"), ("changelog-producer", "full-compaction")]),
        keyed(&[("sequence.snapshot-ordering", "true"), ("write-only", "true")]),
        append(&[("scan.snapshot-id", "1")]),
        append(&[("scan.mode", "from-timestamp"), ("scan.timestamp-millis", "1")]),
        append(&[("snapshot.num-retained.min", "1"), ("snapshot.num-retained.max", "1")]),
    ] {
        assert_eq!(validate_schema(&schema), Ok(()), "{schema:?}");
    }
}

#[test]
fn contradictions_are_refused_in_one_sentence() {
    for (schema, expected) in [
        (with_columns(&[]), "at least one column"),
        (with_columns(&[("a", "INT"), ("a", "INT")]), "`a` twice"),
        (with_columns(&[("", "INT")]), "does not reserve"),
        (with_columns(&[("_SEQUENCE_NUMBER", "INT")]), "`_SEQUENCE_NUMBER`"),
        (with_columns(&[("_KEY_id", "INT")]), "`_KEY_id`"),
        (with_column_of_type(row_of(&["a", "a"])), "field names in column `c`"),
        (
            with_column_of_type(DataType::Array(Arc::new(FieldType { data_type: row_of(&[]), nullable: true }))),
            "a row with fields in column `c`",
        ),
        (definition(&["x"], &[], &[(BUCKET, "1")]), "`x` is none"),
        (definition(&[], &["x"], &[]), "`x` is none"),
        (definition(&["id", "id"], &[], &[(BUCKET, "1")]), "`id` twice"),
        (definition(&["list"], &[], &[(BUCKET, "1")]), "ARRAY<INT>"),
        (definition(&[], &["list"], &[]), "ARRAY<INT>"),
        (definition(&["id"], &["dt"], &[(BUCKET, "1")]), "every partition key"),
        (definition(&["dt"], &["dt"], &[(BUCKET, "1")]), "more than the partition keys"),
        (definition(&["id"], &[], &[(BUCKET, "1"), ("primary-key", "id")]), "primary-key once"),
        (append(&[(BUCKET, "2")]), "`bucket-key`"),
        (append(&[(BUCKET, "0")]), "\"0\""),
        (append(&[(BUCKET, "-2")]), "\"-2\""),
        (append(&[(BUCKET, "4294967295"), (BUCKET_KEY, "id")]), "4294967295"),
        (append(&[(BUCKET, "many")]), "many"),
        (append(&[(BUCKET_KEY, "id")]), "no `bucket-key`"),
        (append(&[(BUCKET, "2"), (BUCKET_KEY, "id,id")]), "`id` twice"),
        (append(&[(BUCKET, "2"), (BUCKET_KEY, "x")]), "`x` is none"),
        (append(&[(BUCKET, "2"), (BUCKET_KEY, "list")]), "ARRAY<INT>"),
        (definition(&[], &["dt"], &[(BUCKET, "2"), (BUCKET_KEY, "dt")]), "no partition key"),
        (keyed(&[(BUCKET_KEY, "v")]), "primary key"),
        (append(&[(BUCKET, "2"), (BUCKET_KEY, "v"), ("bucket-function.type", "mod")]), "INT or BIGINT"),
        (append(&[(BUCKET, "2"), (BUCKET_KEY, "id,n"), ("bucket-function.type", "mod")]), "BIGINT, INT"),
        (keyed(&[("merge-engine", "newest")]), "newest"),
        (keyed(&[("changelog-producer", "all")]), "all"),
        (append(&[("changelog-producer", "input")]), "without a primary key"),
        (keyed(&[("merge-engine", "first-row"), ("changelog-producer", "input")]), "first-row"),
        (keyed(&[("streaming-read-overwrite", "true"), ("changelog-producer", "lookup")]), "lookup"),
        (append(&[("streaming-read-overwrite", "true")]), "streaming-read-overwrite"),
        (keyed(&[("full-compaction.delta-commits", "1"), ("changelog-producer", "lookup")]), "delta-commits"),
        (append(&[("full-compaction.delta-commits", "1")]), "without buckets"),
        (keyed(&[("deletion-vectors.enabled", "true"), ("changelog-producer", "full-compaction")]), "deletion-vectors"),
        (keyed(&[("deletion-vectors.enabled", "true"), ("merge-engine", "first-row")]), "first-row"),
        (keyed(&[("deletion-vectors.enabled", "perhaps")]), "perhaps"),
        (keyed(&[("fields.x.aggregate-function", "sum")]), "`x` is none"),
        (keyed(&[("fields.v", "sum")]), "fields.<column>.<name>"),
        (keyed(&[("sequence.field", "x")]), "`x` is none"),
        (keyed(&[("sequence.field", "n,n")]), "each column once"),
        (keyed(&[("sequence.field", "n"), ("fields.n.aggregate-function", "sum")]), "no aggregate function"),
        (keyed(&[("sequence.field", "n"), ("merge-engine", "first-row")]), "first-row"),
        (definition(&["id"], &["dt"], &[("sequence.field", "n")]), "another partition"),
        (keyed(&[("sequence.snapshot-ordering", "true")]), "write-only"),
        (keyed(&[("fields.n.sequence-group", "x")]), "`x` is none"),
        (keyed(&[("fields.n.sequence-group", "v"), ("fields.dt.sequence-group", "v")]), "in several"),
        (keyed(&[("fields.n.sequence-group", "v"), ("fields.n.aggregate-function", "max")]), "orders a sequence group"),
        (keyed(&[("rowkind.field", "x")]), "`x` is none"),
        (keyed(&[("ignore-delete", "no")]), "ignore-delete"),
        (append(&[("scan.mode", "someday")]), "someday"),
        (append(&[("scan.mode", "latest"), ("scan.snapshot-id", "1")]), "scan.snapshot-id"),
        (append(&[("scan.mode", "from-timestamp")]), "found none"),
        (append(&[("scan.snapshot-id", "1"), ("scan.tag-name", "t")]), "found several"),
        (append(&[("scan.timestamp-millis", "1"), ("scan.snapshot-id", "1")]), "scan.snapshot-id"),
        (append(&[("scan.mode", "incremental"), ("scan.tag-name", "t")]), "scan.tag-name"),
        (append(&[("scan.fallback-branch", "a"), ("scan.primary-branch", "b")]), "found both"),
        (append(&[("snapshot.num-retained.min", "0")]), "at least 1"),
        (append(&[("snapshot.num-retained.min", "5"), ("snapshot.num-retained.max", "4")]), "at most"),
        (append(&[("changelog.num-retained.max", "4")]), "changelog.num-retained.min"),
        (append(&[("snapshot.num-retained.min", "few")]), "few"),
        (append(&[("partition.expiration-time", "1 d")]), "partition keys"),
        (append(&[("data-file.prefix", "a/b")]), "data-file.prefix"),
        (append(&[("data-file.path-directory", "../elsewhere")]), "beneath the table's"),
        (append(&[("partition.default-name", " ")]), "partition.default-name"),
    ] {
        let failure = validate_schema(&schema).unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true), "{schema:?}: {failure}");
        assert!(failure.message.contains(expected), "expected {expected:?}, found {failure}");
    }
}

#[test]
fn what_this_version_does_not_hold_is_refused_by_name() {
    let binary_partition =
        TableSchema { partition_keys: vec!["p".to_owned()], ..with_columns(&[("id", "INT"), ("p", "BYTES")]) };
    for (schema, expected) in [
        (append(&[("file.format", "orc")]), "file.format"),
        (append(&[("file.compression", "snappy")]), "snappy"),
        (append(&[("manifest.compression", "none")]), "manifest.compression"),
        (append(&[("type", "format-table")]), "format-table"),
        (append(&[("row-tracking.enabled", "true")]), "row-tracking.enabled"),
        (append(&[("data-evolution.enabled", "true")]), "data-evolution.enabled"),
        (append(&[("data-file.external-paths", "s3://b")]), "data-file.external-paths"),
        (append(&[("record-level.expire-time", "1 d")]), "record-level.expire-time"),
        (append(&[(BUCKET, "2"), (BUCKET_KEY, "id"), ("bucket-function.type", "hive")]), "hive"),
        (binary_partition, "stable names"),
        (definition(&["id"], &[], &[(LAKESTREAM_ENABLED, "true")]), "fixed number of buckets"),
        (definition(&["id"], &[], &[(LAKESTREAM_ENABLED, "true"), (BUCKET, "-2")]), "fixed number of buckets"),
        (lake_stream(&[("merge-engine", "partial-update")]), "merge-engine"),
        (lake_stream(&[("changelog-producer", "lookup")]), "changelog-producer"),
        (lake_stream(&[("bucket-function.type", "mod")]), "bucket-function.type"),
        (append(&[(LAKESTREAM_ENABLED, "true"), ("deletion-vectors.enabled", "true")]), "deletion-vectors.enabled"),
        (lake_stream(&[("deletion-vectors.merge-on-read", "true")]), "deletion-vectors.merge-on-read"),
        (lake_stream(&[("sequence.field", "n")]), "sequence.field"),
        (lake_stream(&[("ignore-delete", "true")]), "ignore-delete"),
    ] {
        let failure = validate_schema(&schema).unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Unsupported, true), "{schema:?}: {failure}");
        assert!(failure.message.contains(expected), "expected {expected:?}, found {failure}");
    }
}

#[test]
fn keys_can_be_options_of_a_definition() {
    let schema = append(&[("primary-key", "id, dt"), ("partition", "dt"), (BUCKET, "1")]);
    let moved = with_keys_of_options(&schema).unwrap();
    assert_eq!(*moved, definition(&["id", "dt"], &["dt"], &[(BUCKET, "1")]));
}

/// The refusal of a change from the first to the second value; `None` stands for an option that is not set.
fn change(key: &str, from: Option<&str>, to: Option<&str>, other: &[(&str, &str)]) -> Option<String> {
    let mut schema = keyed(other);
    schema.options.extend(from.map(|from| (key.to_owned(), from.to_owned())));
    let before = SchemaFile::first(&schema, 0);
    // Without a history all of these are free.
    assert_eq!(check_option_change(&before, key, to, false), Ok(from != to), "{key}");
    check_option_change(&before, key, to, true).err().map(|failure| failure.message)
}

#[test]
fn options_that_files_depend_on_stay_once_there_are_files() {
    let modifiable = [("deletion-vectors.modifiable", "true")];
    for (key, from, to, other, refused) in [
        (LAKESTREAM_ENABLED, None, Some("true"), &[][..], false),
        (LAKESTREAM_ENABLED, Some("true"), None, &[], false),
        (BUCKET, Some("2"), Some("4"), &[], false),
        (BUCKET, Some("2"), Some("-1"), &[], true),
        (BUCKET, Some("-1"), Some("2"), &[], true),
        (BUCKET, Some("2"), None, &[], true),
        (BUCKET_KEY, None, Some("id"), &[], true),
        ("merge-engine", None, Some("first-row"), &[], true),
        ("rowkind.field", Some("v"), None, &[], true),
        ("deletion-vectors.enabled", None, Some("true"), &[], true),
        ("deletion-vectors.enabled", Some("true"), None, &[], true),
        ("deletion-vectors.enabled", None, Some("false"), &[], false),
        ("deletion-vectors.enabled", None, Some("true"), &modifiable, false),
        ("ignore-delete", None, Some("true"), &[], false),
        ("ignore-delete", Some("true"), Some("false"), &[], true),
        ("ignore-update-before", Some("true"), None, &[], true),
        ("clustering.columns", None, Some("v"), &[("pk-clustering-override", "true")], true),
        ("snapshot.time-retained", None, Some("1 h"), &[], false),
    ] {
        assert_eq!(change(key, from, to, other).is_some(), refused, "{key}: {from:?} to {to:?}");
    }
}

#[test]
fn where_and_what_the_table_is_never_changes() {
    let before = SchemaFile::first(&keyed(&[]), 0);
    for (key, value) in [("path", "/tmp/t"), ("PATH", "/tmp/t"), ("type", "format-table")] {
        assert!(check_option_change(&before, key, Some(value), false).is_err(), "{key}");
    }
    // What the definition says anyway changes nothing.
    for (key, value) in [("type", "TABLE"), ("primary-key", " id "), ("partition", "")] {
        assert_eq!(check_option_change(&before, key, Some(value), true), Ok(false), "{key}");
    }
    assert_eq!(IMMUTABLE_OPTIONS.iter().collect::<BTreeSet<_>>().len(), 22);
}

#[test]
fn a_replaced_column_keeps_its_identity_only_with_its_name_and_type() {
    let old = SchemaFile::first(&keyed(&[]), 7);
    let mut definition = keyed(&[]);
    definition.columns[1].data_type = DataType::BYTES;
    definition.columns[4].data_type = "ROW<a INT>".parse().unwrap();
    let replaced = replace_schema(&old, &definition).unwrap();
    assert_eq!(replaced.fields.iter().map(|field| field.id).collect::<Vec<_>>(), [0, 5, 2, 3, 6]);
    assert_eq!(replaced.highest_field_id, 7);
    let moved = TableSchema { partition_keys: vec!["dt".to_owned()], options: BTreeMap::new(), ..append(&[]) };
    assert!(replace_schema(&old, &moved).unwrap_err().message.contains("partition keys"));
}
