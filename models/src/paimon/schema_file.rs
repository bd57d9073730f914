//! Schema files: `schema/schema-N`, one JSON object each, N from 0.
//!
//! A schema file is the contract's [`TableSchema`] with what the format adds: field ids that survive renaming, the
//! schema's number and its time.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::contract::{Column, FieldType, TableSchema};

use super::{FormatError, FormatResult};

/// The version of the schema format that is written.
pub const SCHEMA_VERSION: u32 = 3;

/// One column as a schema file describes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DataField {
    /// The identity of the column, kept when it is renamed.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// Its type and nullability.
    #[serde(rename = "type", with = "super::schema_types")]
    pub field_type: FieldType,
    /// A comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The default value as text.
    #[serde(default, rename = "defaultValue", skip_serializing_if = "Option::is_none")]
    pub default_value: Option<String>,
}

/// One version of a table's schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SchemaFile {
    /// The format's version; 3 in everything written here.
    #[serde(default)]
    pub version: u32,
    /// The schema's number, from 0.
    pub id: u64,
    /// The columns, in order.
    pub fields: Vec<DataField>,
    /// The highest id that a field of this table ever had.
    pub highest_field_id: i32,
    /// The partition columns.
    pub partition_keys: Vec<String>,
    /// The primary key; empty for an append table.
    pub primary_keys: Vec<String>,
    /// Table options.
    pub options: BTreeMap<String, String>,
    /// A comment on the table.
    #[serde(default)]
    pub comment: Option<String>,
    /// When this version was made, in milliseconds since 1970-01-01T00:00Z.
    #[serde(default)]
    pub time_millis: u64,
}

impl SchemaFile {
    /// The first version of a new table: fields are numbered from 0, each column before the fields that are nested in
    /// it; primary-key columns are made NOT NULL.
    pub fn first(schema: &TableSchema, time_millis: u64) -> Self {
        let mut highest_field_id = -1;
        let field = |column: &Column| {
            highest_field_id += 1;
            DataField {
                id: highest_field_id,
                name: column.name.clone(),
                field_type: FieldType {
                    data_type: column.data_type.with_new_field_ids(&mut highest_field_id),
                    nullable: column.nullable && !schema.primary_key.contains(&column.name),
                },
                description: None,
                default_value: None,
            }
        };
        let fields: Vec<DataField> = schema.columns.iter().map(field).collect();
        Self {
            version: SCHEMA_VERSION,
            id: 0,
            highest_field_id,
            fields,
            partition_keys: schema.partition_keys.clone(),
            primary_keys: schema.primary_key.clone(),
            options: schema.options.clone(),
            comment: None,
            time_millis,
        }
    }

    /// The table as a statement would define it.
    pub fn table_schema(&self) -> TableSchema {
        let column = |field: &DataField| Column {
            name: field.name.clone(),
            data_type: field.field_type.data_type.clone(),
            nullable: field.field_type.nullable,
        };
        TableSchema {
            columns: self.fields.iter().map(column).collect(),
            primary_key: self.primary_keys.clone(),
            partition_keys: self.partition_keys.clone(),
            options: self.options.clone(),
        }
    }

    /// The file's bytes; the same for equal schemas.
    pub fn encode(&self) -> FormatResult<Bytes> {
        serde_json::to_vec_pretty(self).map(Bytes::from).map_err(|error| FormatError::new(error.to_string()))
    }

    /// Reads a schema file. Fields of the file that this version does not know are ignored; column types that it
    /// cannot hold are refused by name.
    pub fn decode(bytes: &[u8]) -> FormatResult<Self> {
        let file: Self = serde_json::from_slice(bytes)
            .map_err(|error| FormatError::new(format!("expected a schema file (JSON), found {error}")))?;
        // Paimon's numbers have a sign. What is greater is forged, and would leave no room for the next number.
        match [("id", file.id), ("timeMillis", file.time_millis)]
            .into_iter()
            .find(|(_, number)| *number > i64::MAX.cast_unsigned())
        {
            Some((field, number)) => {
                Err(FormatError::new(format!("expected {field} up to {}, found {number}", i64::MAX)))
            }
            None => Ok(file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TableSchema {
        serde_json::from_str(
            r#"{"columns": [{"name": "id", "type": "BIGINT"}, {"name": "v", "type": "DECIMAL(10, 2)"}],
                "primary_key": ["id"], "options": {"bucket": "2"}}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_new_table_numbers_its_fields_and_its_key_is_not_null() {
        let file = SchemaFile::first(&table(), 17);
        let text = String::from_utf8(file.encode().unwrap().to_vec()).unwrap();
        assert!(text.contains(r#""type": "BIGINT NOT NULL""#), "{text}");
        assert!(text.contains(r#""type": "DECIMAL(10, 2)""#), "{text}");
        assert_eq!((file.id, file.highest_field_id, file.fields[1].id), (0, 1, 1));
        assert_eq!(SchemaFile::decode(text.as_bytes()).unwrap(), file);
    }

    #[test]
    fn nested_types_are_objects_as_paimon_writes_them() {
        // As Java Paimon 1.4.2 wrote them.
        let written = r#"{"version": 3, "id": 0, "fields": [
            {"id": 0, "name": "id", "type": "INT"},
            {"id": 1, "name": "numbers", "type": {"type": "ARRAY", "element": "INT"}},
            {"id": 2, "name": "names", "type": {"type": "MAP", "key": "STRING", "value": "BIGINT"}},
            {"id": 3, "name": "point", "type": {"type": "ROW NOT NULL", "fields": [
                {"id": 4, "name": "x", "type": "INT"}, {"id": 5, "name": "label", "type": "STRING"}]}},
            {"id": 6, "name": "deep", "type": {"type": "ARRAY", "element": {"type": "ROW", "fields": [
                {"id": 7, "name": "tags", "type": {"type": "MAP", "key": "STRING", "value":
                    {"type": "ARRAY NOT NULL", "element": "STRING"}}},
                {"id": 8, "name": "at", "type": "TIMESTAMP(3)"}]}}}],
            "highestFieldId": 8, "partitionKeys": [], "primaryKeys": [], "options": {}, "timeMillis": 5}"#;
        let file = SchemaFile::decode(written.as_bytes()).unwrap();
        let declared: TableSchema = serde_json::from_str(
            r#"{"columns": [
                {"name": "id", "type": "INT"},
                {"name": "numbers", "type": "ARRAY<INT>"},
                {"name": "names", "type": "MAP<STRING, BIGINT>"},
                {"name": "point", "type": "ROW<x INT, label STRING>", "nullable": false},
                {"name": "deep", "type": "ARRAY<ROW<tags MAP<STRING, ARRAY<STRING> NOT NULL>, at TIMESTAMP(3)>>"}]}"#,
        )
        .unwrap();
        assert_eq!(file, SchemaFile::first(&declared, 5));
        assert!(file.table_schema().has_columns_like(&declared));
        assert_eq!(SchemaFile::decode(&file.encode().unwrap()).unwrap(), file);
        let text = String::from_utf8(file.encode().unwrap().to_vec()).unwrap();
        let spaceless: String = text.split_whitespace().collect::<Vec<_>>().join("");
        let point = r#"{"id":3,"name":"point","type":{"type":"ROWNOTNULL","fields":[{"id":4,"name":"x","type":"INT"},"#;
        assert!(spaceless.contains(point), "{text}");
    }

    #[test]
    fn the_table_comes_back() {
        let mut expected = table();
        expected.columns[0].nullable = false;
        assert_eq!(SchemaFile::first(&table(), 17).table_schema(), expected);
    }

    #[test]
    fn unknown_types_are_refused_and_unknown_fields_are_not() {
        let file = String::from_utf8(SchemaFile::first(&table(), 17).encode().unwrap().to_vec()).unwrap();
        let newer = file.replace("\"options\"", "\"fromTheFuture\": 1, \"options\"");
        assert_eq!(SchemaFile::decode(newer.as_bytes()).unwrap(), SchemaFile::first(&table(), 17));
        let odd = file.replace("BIGINT NOT NULL", "VARIANT NOT NULL");
        assert!(SchemaFile::decode(odd.as_bytes()).unwrap_err().to_string().contains("VARIANT"));
        for odd_type in [
            r#"{"type": "MULTISET", "element": "INT"}"#,
            r#"{"type": "ARRAY"}"#,
            r#"{"type": "ROW", "fields": []}"#,
            r#"{"type": "ROW", "fields": [{"id": 1, "name": "a", "type": "INT"}, {"id": 2, "name": "a", "type": "INT"}]}"#,
            r#"{"type": "ARRAY", "element": {"type": "VECTOR", "element": "FLOAT", "length": 3}}"#,
            "7",
        ] {
            let odd = file.replace("\"BIGINT NOT NULL\"", odd_type);
            assert!(SchemaFile::decode(odd.as_bytes()).is_err(), "{odd_type}");
        }
        let deep = format!("{}\"INT\"{}", r#"{"type": "ARRAY", "element": "#.repeat(32), "}".repeat(32));
        let odd = file.replace("\"BIGINT NOT NULL\"", &deep);
        assert!(SchemaFile::decode(odd.as_bytes()).unwrap_err().to_string().contains("at most 32"));
        let forged = file.replace("\"id\": 0,\n  \"", "\"id\": 9223372036854775808,\n  \"");
        assert!(SchemaFile::decode(forged.as_bytes()).unwrap_err().to_string().contains("expected id up to"));
        assert!(SchemaFile::decode(b"{").is_err());
    }
}
