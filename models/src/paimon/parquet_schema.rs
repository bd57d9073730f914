//! Columns as Parquet declares them, spelled as Java Paimon does: names, annotations, ids.
//!
//! An array is a group `list` of `element`, a map a group `key_value` of `key` and `value`. These have no field of the
//! table behind them, so their ids are made from the id of the field that they are in and how deep in it they are.

use std::sync::Arc;

use parquet::basic::{self, ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::schema::types::Type;

use crate::contract::DataType;

use super::data_file::FileColumn;
use super::stored_cell::TimeUnit;
use super::{FormatError, FormatResult};

/// The ids of elements and values begin here, those of keys end here.
const PART_ID_BASE: i32 = i32::MAX / 4;
/// So many parts inside each other have ids of their own.
const PART_IDS_OF_A_FIELD: i32 = 1024;

/// A part of a nested column: a field of the table with its id, or an element, key or value inside one.
struct Part<'a> {
    name: &'a str,
    data_type: &'a DataType,
    nullable: bool,
    id: i32,
    /// The id of the nearest field around the part, and how many parts deep in it the part's own parts are.
    field_id: i32,
    depth: i32,
}

/// The declaration of a column.
pub(super) fn parquet_field(column: &FileColumn) -> FormatResult<Type> {
    parquet_part(&Part::field(&column.name, &column.data_type, column.nullable, column.field_id))
}

impl<'a> Part<'a> {
    fn field(name: &'a str, data_type: &'a DataType, nullable: bool, id: i32) -> Self {
        Self { name, data_type, nullable, id, field_id: id, depth: 1 }
    }

    fn repetition(&self) -> Repetition {
        if self.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED }
    }

    /// The distance of the ids of the part's own parts from the base.
    fn part_id_offset(&self) -> i32 {
        self.field_id.wrapping_mul(PART_IDS_OF_A_FIELD).wrapping_add(self.depth)
    }

    fn inner(&self, name: &'a str, data_type: &'a DataType, nullable: bool, id: i32) -> Self {
        Part { name, data_type, nullable, id, field_id: self.field_id, depth: self.depth + 1 }
    }
}

fn parquet_part(part: &Part<'_>) -> FormatResult<Type> {
    let (logical, fields) = match part.data_type {
        DataType::Array(element) => {
            let id = PART_ID_BASE.wrapping_add(part.part_id_offset());
            let element = parquet_part(&part.inner("element", &element.data_type, element.nullable, id))?;
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![Arc::new(element)])
                .build()?;
            (Some(LogicalType::List), vec![Arc::new(list)])
        }
        DataType::Map(entry) => {
            let key_id = PART_ID_BASE.wrapping_sub(part.part_id_offset());
            let value_id = PART_ID_BASE.wrapping_add(part.part_id_offset());
            // Keys are never NULL, whatever their type says.
            let key = parquet_part(&part.inner("key", &entry.0.data_type, false, key_id))?;
            let value = parquet_part(&part.inner("value", &entry.1.data_type, entry.1.nullable, value_id))?;
            let entries = Type::group_type_builder("key_value")
                .with_repetition(Repetition::REPEATED)
                .with_converted_type(ConvertedType::MAP_KEY_VALUE)
                .with_fields(vec![Arc::new(key), Arc::new(value)])
                .build()?;
            (Some(LogicalType::Map), vec![Arc::new(entries)])
        }
        DataType::Row(fields) => {
            let field = fields.iter().map(|field| {
                let (data_type, nullable) = (&field.field_type.data_type, field.field_type.nullable);
                parquet_part(&Part::field(&field.name, data_type, nullable, field.id)).map(Arc::new)
            });
            (None, field.collect::<FormatResult<Vec<_>>>()?)
        }
        simple => return simple_field(part.name, simple, part.repetition(), part.id),
    };
    let group = Type::group_type_builder(part.name)
        .with_repetition(part.repetition())
        .with_logical_type(logical)
        .with_fields(fields)
        .with_id(Some(part.id));
    Ok(group.build()?)
}

/// A column that is one value a row.
fn simple_field(name: &str, data_type: &DataType, repetition: Repetition, id: i32) -> FormatResult<Type> {
    let logical_timestamp = |precision: u8, adjusted_to_utc: bool| match TimeUnit::of_precision(precision) {
        Some(TimeUnit::Milliseconds) => {
            (PhysicalType::INT64, Some(LogicalType::timestamp(adjusted_to_utc, basic::TimeUnit::MILLIS)))
        }
        Some(_) => (PhysicalType::INT64, Some(LogicalType::timestamp(adjusted_to_utc, basic::TimeUnit::MICROS))),
        None => (PhysicalType::INT96, None),
    };
    let (physical, logical) = match data_type {
        DataType::Boolean => (PhysicalType::BOOLEAN, None),
        DataType::TinyInt => (PhysicalType::INT32, Some(LogicalType::integer(8, true))),
        DataType::SmallInt => (PhysicalType::INT32, Some(LogicalType::integer(16, true))),
        DataType::Int => (PhysicalType::INT32, None),
        DataType::BigInt => (PhysicalType::INT64, None),
        DataType::Float => (PhysicalType::FLOAT, None),
        DataType::Double => (PhysicalType::DOUBLE, None),
        DataType::Decimal(precision, scale) => {
            (decimal_storage(*precision), Some(LogicalType::decimal((*scale).into(), (*precision).into())))
        }
        DataType::Char(_) | DataType::VarChar(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        DataType::Binary(_) | DataType::VarBinary(_) => (PhysicalType::BYTE_ARRAY, None),
        DataType::Date => (PhysicalType::INT32, Some(LogicalType::Date)),
        DataType::Time(_) => (PhysicalType::INT32, Some(LogicalType::time(true, basic::TimeUnit::MILLIS))),
        DataType::Timestamp(precision) => logical_timestamp(*precision, false),
        DataType::TimestampLtz(precision) => logical_timestamp(*precision, true),
        DataType::Array(_) | DataType::Map(_) | DataType::Row(_) => {
            return Err(FormatError::new(format!("expected a simple type in column `{name}`, found {data_type}")));
        }
    };
    let mut field = Type::primitive_type_builder(name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .with_id(Some(id));
    if let DataType::Decimal(precision, scale) = *data_type {
        field = field.with_precision(precision.into()).with_scale(scale.into());
        if physical == PhysicalType::FIXED_LEN_BYTE_ARRAY {
            field = field.with_length(decimal_bytes(precision) as i32);
        }
    }
    Ok(field.build()?)
}

/// How decimals of this precision are stored, as Paimon chooses it.
pub(super) fn decimal_storage(precision: u8) -> PhysicalType {
    match precision {
        0..=9 => PhysicalType::INT32,
        10..=18 => PhysicalType::INT64,
        _ => PhysicalType::FIXED_LEN_BYTE_ARRAY,
    }
}

/// The least number of bytes that hold every decimal of this precision.
pub(super) fn decimal_bytes(precision: u8) -> usize {
    let most = 10_u128.pow(precision.into()) - 1;
    let bits = u128::BITS - most.leading_zeros() + 1;
    bits.div_ceil(8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_columns_are_declared_as_java_paimon_does() {
        let data_type: DataType = "ARRAY<ROW<tags MAP<STRING, ARRAY<STRING>>, at TIMESTAMP(3)>>".parse().unwrap();
        let data_type = data_type.with_new_field_ids(&mut 6);
        let column = FileColumn { name: "deep".to_owned(), field_id: 6, data_type, nullable: true };
        let mut printed = Vec::new();
        parquet::schema::printer::print_schema(&mut printed, &parquet_field(&column).unwrap());
        // As Java Paimon 1.4.2 declared this column.
        let expected = "\
OPTIONAL group deep [6] (LIST) {
  REPEATED group list {
    OPTIONAL group element [536877056] {
      OPTIONAL group tags [7] (MAP) {
        REPEATED group key_value (MAP_KEY_VALUE) {
          REQUIRED BYTE_ARRAY key [536863742] (STRING);
          OPTIONAL group value [536878080] (LIST) {
            REPEATED group list {
              OPTIONAL BYTE_ARRAY element [536878081] (STRING);
            }
          }
        }
      }
      OPTIONAL INT64 at [8] (TIMESTAMP(MILLIS,false));
    }
  }
}
";
        assert_eq!(String::from_utf8(printed).unwrap(), expected);
    }
}
