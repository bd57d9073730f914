//! Names and identities: tables, partitions, buckets.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::value::{Row, Value};

/// `database.table`, without any `$` suffix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TablePath {
    database: Arc<str>,
    table: Arc<str>,
}

impl TablePath {
    /// The path of a table.
    pub fn new(database: &str, table: &str) -> Self {
        Self { database: Arc::from(database), table: Arc::from(table) }
    }

    /// The database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The table's name within its database.
    pub fn table(&self) -> &str {
        &self.table
    }
}

impl fmt::Display for TablePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.database, self.table)
    }
}

impl std::str::FromStr for TablePath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('.') {
            Some((database, table)) if !database.is_empty() && !table.is_empty() && !table.contains('.') => {
                Ok(Self::new(database, table))
            }
            _ => Err(format!("expected a table as database.table, found {text:?}")),
        }
    }
}

impl TryFrom<String> for TablePath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TablePath> for String {
    fn from(path: TablePath) -> Self {
        path.to_string()
    }
}

/// The identity that the store gives a table when it is created; a table that is dropped and created again under the
/// same name has another one (L12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TableId(pub u64);

impl fmt::Display for TableId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The values of the partition columns, in the order of `partition_keys`. Empty for a table without partitions.
pub type PartitionValues = Row;

/// One bucket of one partition: the unit of the log, of offsets and of tiering.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketId {
    /// The partition's values; no cells where the table has no partitions.
    pub partition: PartitionValues,
    /// 0 ..  number of buckets (exclusive).
    pub bucket: u32,
}

impl BucketId {
    /// A bucket of a table without partitions.
    pub fn unpartitioned(bucket: u32) -> Self {
        Self { partition: Row::new(Vec::new()), bucket }
    }
}

/// The partition as people and the adapter protocol write it: `k=v/k=v`; `None` where there are no partition keys.
pub fn partition_name(partition_keys: &[String], values: &PartitionValues) -> Option<String> {
    if partition_keys.is_empty() {
        return None;
    }
    let parts = partition_keys.iter().zip(values.cells());
    Some(parts.map(|(key, value)| format!("{key}={}", partition_value_text(value))).collect::<Vec<_>>().join("/"))
}

/// A partition value as text; NULL is Paimon's default partition name.
pub fn partition_value_text(value: &Value) -> String {
    match value {
        Value::Null => "__DEFAULT_PARTITION__".to_owned(),
        Value::String(text) if text.is_empty() => "__DEFAULT_PARTITION__".to_owned(),
        Value::String(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Boolean(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}
