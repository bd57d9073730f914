//! What a table looks like: columns, types, keys, buckets, options.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::data_type::DataType;

/// The table option that puts a table into lake-stream mode when it is `true` (C1–C9).
pub const LAKESTREAM_ENABLED: &str = "lakestream.enabled";
/// The catalog option that names the store implementation (C14, C17).
pub const LAKESTREAM_STORE: &str = "lakestream.store";
/// The table option for the number of buckets; −1 means bucket-unaware.
pub const BUCKET: &str = "bucket";
/// The table option for the columns that a row's bucket is computed from, comma-separated.
pub const BUCKET_KEY: &str = "bucket-key";

/// The table option for how many of its newest partitions the store keeps; older ones live in the lake alone.
pub const PARTITION_RETENTION: &str = "table.auto-partition.num-retention";

/// One column.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type", with = "type_as_text")]
    pub data_type: DataType,
    /// Whether NULL is allowed; primary-key columns never allow it.
    #[serde(default = "nullable_by_default")]
    pub nullable: bool,
}

fn nullable_by_default() -> bool {
    true
}

mod type_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::DataType;

    pub fn serialize<S: Serializer>(data_type: &DataType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(data_type)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DataType, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The logical definition of a table, as a CREATE TABLE statement gives it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSchema {
    /// The columns, in order.
    pub columns: Vec<Column>,
    /// The primary key; empty for an append table.
    #[serde(default)]
    pub primary_key: Vec<String>,
    /// The partition columns; empty for a table without partitions.
    #[serde(default)]
    pub partition_keys: Vec<String>,
    /// Table options.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

impl TableSchema {
    /// Whether this is a primary-key table.
    pub fn has_primary_key(&self) -> bool {
        !self.primary_key.is_empty()
    }

    /// Whether another definition has the same columns to a user: equal but for the ids of nested fields.
    pub fn has_columns_like(&self, other: &Self) -> bool {
        let is_like = |(column, other): (&Column, &Column)| {
            column.name == other.name && column.nullable == other.nullable && column.data_type.is_like(&other.data_type)
        };
        self.columns.len() == other.columns.len() && self.columns.iter().zip(&other.columns).all(is_like)
    }

    /// The position of a column.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|candidate| candidate.name == column)
    }

    /// The positions of these columns; columns that do not exist are left out (validation refuses such schemas).
    pub fn positions(&self, columns: &[String]) -> Vec<usize> {
        columns.iter().filter_map(|column| self.position(column)).collect()
    }

    /// The positions of the primary key within a row.
    pub fn key_positions(&self) -> Vec<usize> {
        self.positions(&self.primary_key)
    }

    /// The positions of the partition columns within a row.
    pub fn partition_positions(&self) -> Vec<usize> {
        self.positions(&self.partition_keys)
    }

    /// The positions of the columns that a row's bucket is computed from: `bucket-key`, else the primary key without
    /// the partition columns (all of it where that leaves nothing).
    pub fn bucket_key_positions(&self) -> Vec<usize> {
        if let Some(names) = self.options.get(BUCKET_KEY) {
            return names.split(',').filter_map(|name| self.position(name.trim())).collect();
        }
        let trimmed: Vec<String> =
            self.primary_key.iter().filter(|key| !self.partition_keys.contains(key)).cloned().collect();
        self.positions(if trimmed.is_empty() { &self.primary_key } else { &trimmed })
    }

    /// The number of buckets; `None` for a bucket-unaware table, which keeps everything in bucket 0 (L10).
    pub fn bucket_count(&self) -> Option<u32> {
        let declared = self.options.get(BUCKET).and_then(|text| text.parse::<i64>().ok()).unwrap_or(-1);
        u32::try_from(declared).ok().filter(|count| *count > 0)
    }

    /// Whether the mode is declared on. Only a case-insensitive `true` counts, as in Java's boolean parser.
    pub fn lakestream_enabled(&self) -> bool {
        self.options.get(LAKESTREAM_ENABLED).is_some_and(|text| text.trim().eq_ignore_ascii_case("true"))
    }

    /// The column names, shared by every [`super::RowSet`] of this schema.
    pub fn column_names(&self) -> Arc<[Arc<str>]> {
        self.columns.iter().map(|column| Arc::from(column.name.as_str())).collect()
    }
}
