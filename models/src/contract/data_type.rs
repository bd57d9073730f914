//! Column types and how they are written as text; [`super::data_type_text`] reads it.

use std::fmt;
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

    /// Whether cells of the type have parts: ARRAY, MAP and ROW.
    pub fn is_nested(&self) -> bool {
        matches!(self, Self::Array(_) | Self::Map(_) | Self::Row(_))
    }

    /// Whether this is the same type to a user: equal but for the ids of fields, which each table gives for itself.
    pub fn is_like(&self, other: &Self) -> bool {
        self == other || self.is_nested() && self.with_new_field_ids(&mut -1) == other.with_new_field_ids(&mut -1)
    }

    /// The type with the fields of its rows numbered anew, as a table gives ids to the fields of a new column: depth
    /// first, each field before its own parts. `highest` is the highest id given so far, before and after.
    #[must_use]
    pub fn with_new_field_ids(&self, highest: &mut i32) -> Self {
        let mut renumbered = |field_type: &FieldType| FieldType {
            data_type: field_type.data_type.with_new_field_ids(highest),
            nullable: field_type.nullable,
        };
        match self {
            Self::Array(element) => Self::Array(Arc::new(renumbered(element))),
            Self::Map(entry) => Self::Map(Arc::new((renumbered(&entry.0), renumbered(&entry.1)))),
            Self::Row(fields) => Self::Row(
                fields
                    .iter()
                    .map(|field| {
                        *highest = highest.saturating_add(1);
                        let id = *highest;
                        let data_type = field.field_type.data_type.with_new_field_ids(highest);
                        let field_type = FieldType { data_type, nullable: field.field_type.nullable };
                        NestedField { id, name: field.name.clone(), field_type }
                    })
                    .collect(),
            ),
            simple => simple.clone(),
        }
    }
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
                    write!(formatter, "{separator}`{}` {}", field.name.replace('`', "``"), field.field_type)?;
                }
                formatter.write_str(">")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_numbered_depth_first_and_ids_are_no_part_of_the_meaning() {
        let declared: DataType = "MAP<INT, ROW<a ARRAY<ROW<b INT>>, c INT>>".parse().unwrap();
        let mut highest = 6;
        let numbered = declared.with_new_field_ids(&mut highest);
        let DataType::Map(entry) = &numbered else { panic!("expected a map, found {numbered}") };
        let DataType::Row(fields) = &entry.1.data_type else { panic!("expected rows, found {}", entry.1) };
        let inner = "ARRAY<ROW<b INT>>".parse::<DataType>().unwrap().with_new_field_ids(&mut 7);
        assert_eq!((fields[0].id, &fields[0].field_type.data_type, fields[1].id, highest), (7, &inner, 9, 9));
        assert!(numbered != declared && numbered.is_like(&declared));
        assert!(!numbered.is_like(&"MAP<INT, ROW<a ARRAY<ROW<b BIGINT>>, c INT>>".parse().unwrap()));
    }
}
