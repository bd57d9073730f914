//! Column types and how they are spelled.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A column type, spelled as Paimon's schema files do. Types that this version cannot hold are refused by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// ARRAY of this element type
    Array(Arc<FieldType>),
    /// MAP of this key type and this value type
    Map(Arc<(FieldType, FieldType)>),
    /// ROW of these fields
    Row(Arc<[NestedField]>),
}

/// A type with its nullability, spelled `BIGINT NOT NULL`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldType {
    /// The type.
    pub data_type: DataType,
    /// Whether NULL is allowed.
    pub nullable: bool,
}

impl fmt::Display for FieldType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = if self.nullable { "" } else { " NOT NULL" };
        write!(formatter, "{}{suffix}", self.data_type)
    }
}

/// One field of a ROW type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NestedField {
    /// The identity of the field within its table, kept when it is renamed. A CREATE statement's are replaced by the
    /// lake's.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// Its type and nullability.
    pub field_type: FieldType,
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
            Self::Array(element) => write!(formatter, "ARRAY<{element}>"),
            Self::Map(entry) => write!(formatter, "MAP<{}, {}>", entry.0, entry.1),
            Self::Row(fields) => {
                formatter.write_str("ROW<")?;
                for (position, field) in fields.iter().enumerate() {
                    let separator = if position == 0 { "" } else { ", " };
                    write!(formatter, "{separator}`{}` {}", field.name, field.field_type)?;
                }
                formatter.write_str(">")
            }
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
