//! What a table looks like: columns, types, keys, buckets, options.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The table option that puts a table into lake-stream mode when it is `true` (C1–C9).
pub const LAKESTREAM_ENABLED: &str = "lakestream.enabled";
/// The catalog option that names the store implementation (C14, C17).
pub const LAKESTREAM_STORE: &str = "lakestream.store";
/// The table option for the number of buckets; −1 means bucket-unaware.
pub const BUCKET: &str = "bucket";
/// The table option for the columns that a row's bucket is computed from, comma-separated.
pub const BUCKET_KEY: &str = "bucket-key";

/// A column type, spelled as Paimon's schema files do. Types that this version cannot hold are refused by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataType {
    /// BOOLEAN
    Boolean,
    /// TINYINT, 8 bits
    TinyInt,
    /// SMALLINT, 16 bits
    SmallInt,
    /// INT, 32 bits
    Int,
    /// BIGINT, 64 bits
    BigInt,
    /// FLOAT, 32 bits
    Float,
    /// DOUBLE, 64 bits
    Double,
    /// DECIMAL(precision, scale)
    Decimal(u8, u8),
    /// CHAR(length in characters)
    Char(u32),
    /// VARCHAR(length in characters); STRING is VARCHAR(2147483647)
    VarChar(u32),
    /// BINARY(length in bytes)
    Binary(u32),
    /// VARBINARY(length in bytes); BYTES is VARBINARY(2147483647)
    VarBinary(u32),
    /// DATE
    Date,
    /// TIME(precision)
    Time(u8),
    /// TIMESTAMP(precision)
    Timestamp(u8),
    /// TIMESTAMP(precision) WITH LOCAL TIME ZONE
    TimestampLtz(u8),
}

impl DataType {
    /// STRING.
    pub const STRING: Self = Self::VarChar(i32::MAX as u32);
    /// BYTES.
    pub const BYTES: Self = Self::VarBinary(i32::MAX as u32);
}

impl fmt::Display for DataType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => write!(formatter, "BOOLEAN"),
            Self::TinyInt => write!(formatter, "TINYINT"),
            Self::SmallInt => write!(formatter, "SMALLINT"),
            Self::Int => write!(formatter, "INT"),
            Self::BigInt => write!(formatter, "BIGINT"),
            Self::Float => write!(formatter, "FLOAT"),
            Self::Double => write!(formatter, "DOUBLE"),
            Self::Decimal(precision, scale) => write!(formatter, "DECIMAL({precision}, {scale})"),
            Self::Char(length) => write!(formatter, "CHAR({length})"),
            Self::VarChar(_) if *self == Self::STRING => write!(formatter, "STRING"),
            Self::VarChar(length) => write!(formatter, "VARCHAR({length})"),
            Self::Binary(length) => write!(formatter, "BINARY({length})"),
            Self::VarBinary(_) if *self == Self::BYTES => write!(formatter, "BYTES"),
            Self::VarBinary(length) => write!(formatter, "VARBINARY({length})"),
            Self::Date => write!(formatter, "DATE"),
            Self::Time(precision) => write!(formatter, "TIME({precision})"),
            Self::Timestamp(precision) => write!(formatter, "TIMESTAMP({precision})"),
            Self::TimestampLtz(precision) => write!(formatter, "TIMESTAMP({precision}) WITH LOCAL TIME ZONE"),
        }
    }
}

impl FromStr for DataType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let spelled = text.trim().to_ascii_uppercase();
        let (name, arguments, rest) = match spelled.split_once('(') {
            Some((name, tail)) => {
                let (inside, rest) = tail.split_once(')').ok_or_else(|| format!("type {text:?} lacks a `)`"))?;
                let numbers = inside.split(',').map(|number| number.trim().parse::<u32>());
                let numbers = numbers
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|_| format!("expected numbers between the parentheses of type {text:?}"))?;
                (name.trim(), numbers, rest.trim())
            }
            None => match spelled.split_once(' ') {
                Some((name, rest)) => (name, Vec::new(), rest.trim()),
                None => (spelled.as_str(), Vec::new(), ""),
            },
        };
        let first = arguments.first().copied();
        let precision = |default: u8, most: u8| match first {
            None => Ok(default),
            Some(number) if number <= u32::from(most) => Ok(number as u8),
            Some(number) => Err(format!("expected a precision of at most {most} in type {text:?}, found {number}")),
        };
        let plain = |data_type| if rest.is_empty() { Ok(data_type) } else { Err(unknown_type(text)) };
        match (name, rest) {
            ("BOOLEAN", _) => plain(Self::Boolean),
            ("TINYINT", _) => plain(Self::TinyInt),
            ("SMALLINT", _) => plain(Self::SmallInt),
            ("INT" | "INTEGER", _) => plain(Self::Int),
            ("BIGINT", _) => plain(Self::BigInt),
            ("FLOAT", _) => plain(Self::Float),
            ("DOUBLE", _) => plain(Self::Double),
            ("DECIMAL", "") => {
                let (precision, scale) = (first.unwrap_or(10), arguments.get(1).copied().unwrap_or(0));
                if (1..=38).contains(&precision) && scale <= precision {
                    Ok(Self::Decimal(precision as u8, scale as u8))
                } else {
                    Err(format!("expected DECIMAL(1..38, 0..precision), found {text:?}"))
                }
            }
            ("CHAR", "") => Ok(Self::Char(first.unwrap_or(1))),
            ("VARCHAR", "") => Ok(Self::VarChar(first.unwrap_or(1))),
            ("STRING", _) => plain(Self::STRING),
            ("BINARY", "") => Ok(Self::Binary(first.unwrap_or(1))),
            ("VARBINARY", "") => Ok(Self::VarBinary(first.unwrap_or(1))),
            ("BYTES", _) => plain(Self::BYTES),
            ("DATE", _) => plain(Self::Date),
            ("TIME", "") => Ok(Self::Time(precision(0, 9)?)),
            ("TIMESTAMP", "") => Ok(Self::Timestamp(precision(6, 9)?)),
            ("TIMESTAMP", "WITH LOCAL TIME ZONE") | ("TIMESTAMP_LTZ", "") => Ok(Self::TimestampLtz(precision(6, 9)?)),
            _ => Err(unknown_type(text)),
        }
    }
}

fn unknown_type(text: &str) -> String {
    format!("expected a column type that this version can hold, found {text:?}")
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_spelled_as_they_are_read() {
        for text in [
            "BOOLEAN",
            "TINYINT",
            "SMALLINT",
            "INT",
            "BIGINT",
            "FLOAT",
            "DOUBLE",
            "DECIMAL(10, 2)",
            "CHAR(3)",
            "VARCHAR(20)",
            "STRING",
            "BINARY(4)",
            "VARBINARY(9)",
            "BYTES",
            "DATE",
            "TIME(0)",
            "TIMESTAMP(6)",
            "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        ] {
            assert_eq!(text.parse::<DataType>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn unknown_types_are_refused_by_name() {
        for text in ["GEOMETRY", "MAP<INT, INT>", "INT UNSIGNED", "DECIMAL(39, 0)", "TIMESTAMP(10)", "VARCHAR(x)"] {
            assert!(text.parse::<DataType>().unwrap_err().contains(text), "{text}");
        }
    }
}
