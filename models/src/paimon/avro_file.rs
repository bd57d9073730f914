//! Columns of cells as Avro files, row by row.

use bytes::Bytes;
use serde_json::json;
use xxhash_rust::xxh3::xxh3_128;

use crate::contract::{DataType, Value};

use super::avro_container;
use super::avro_datum::{Datum, DatumWriter};
use super::avro_schema::AvroType;
use super::binary_row::minimal_big_endian;
use super::data_file::FileColumn;
use super::stored_cell::{TimeUnit, cell_of_bytes, cell_of_integer};
use super::{FormatError, FormatResult};

/// The bytes of a file of these columns; `cells` has one vector of `count` cells for each.
pub(super) fn encode(columns: &[FileColumn], cells: &[Vec<&Value>], count: usize) -> FormatResult<Bytes> {
    let schema = schema_text(columns)?;
    let mut rows = DatumWriter::default();
    for row in 0..count {
        for (column, cells) in columns.iter().zip(cells) {
            write_cell(&mut rows, column, cells[row])?;
        }
    }
    // Derived from the content, for data files have no identity of their own here.
    let sync_marker = xxh3_128(schema.as_bytes()).to_be_bytes();
    avro_container::encode(&schema, count, rows, sync_marker)
}

fn schema_text(columns: &[FileColumn]) -> FormatResult<String> {
    let mut fields = Vec::with_capacity(columns.len());
    for column in columns {
        let plain = match &column.data_type {
            DataType::Boolean => json!("boolean"),
            DataType::TinyInt | DataType::SmallInt | DataType::Int => json!("int"),
            DataType::BigInt => json!("long"),
            DataType::Float => json!("float"),
            DataType::Double => json!("double"),
            DataType::Decimal(precision, scale) => {
                json!({"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale})
            }
            DataType::Char(_) | DataType::VarChar(_) => json!("string"),
            DataType::Binary(_) | DataType::VarBinary(_) => json!("bytes"),
            DataType::Date => json!({"type": "int", "logicalType": "date"}),
            DataType::Time(_) => json!({"type": "int", "logicalType": "time-millis"}),
            DataType::Timestamp(precision) | DataType::TimestampLtz(precision) => {
                let logical = match timestamp_unit(column, *precision)? {
                    TimeUnit::Milliseconds => "timestamp-millis",
                    _ => "timestamp-micros",
                };
                json!({"type": "long", "logicalType": logical})
            }
            DataType::Array(_) | DataType::Map(_) | DataType::Row(_) => return Err(column.nested()),
        };
        fields.push(if column.nullable {
            json!({"name": column.name, "type": ["null", plain], "default": null})
        } else {
            json!({"name": column.name, "type": plain})
        });
    }
    let namespace = "org.apache.paimon.avro.generated";
    Ok(json!({"type": "record", "name": "record", "namespace": namespace, "fields": fields}).to_string())
}

fn timestamp_unit(column: &FileColumn, precision: u8) -> FormatResult<TimeUnit> {
    TimeUnit::of_precision(precision).ok_or_else(|| {
        FormatError::new(format!(
            "expected a timestamp of precision 0 to 6 in column `{}` of an Avro file, found {}",
            column.name, column.data_type
        ))
    })
}

fn write_cell(row: &mut DatumWriter, column: &FileColumn, cell: &Value) -> FormatResult<()> {
    if column.nullable {
        row.integer(i64::from(!cell.is_null()));
        if cell.is_null() {
            return Ok(());
        }
    }
    match (&column.data_type, cell) {
        (DataType::Boolean, Value::Boolean(value)) => row.boolean(*value),
        (DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt, Value::Int(number)) => {
            if cell_of_integer(&column.data_type, TimeUnit::Milliseconds, *number).is_none() {
                return Err(column.cannot_hold(cell));
            }
            row.integer(*number);
        }
        (DataType::Float, Value::Float(number)) => row.float(*number),
        (DataType::Double, Value::Double(number)) => row.double(*number),
        (DataType::Decimal(precision, _), Value::Decimal(unscaled))
            if unscaled.unsigned_abs() < 10_u128.pow((*precision).into()) =>
        {
            row.bytes(&minimal_big_endian(*unscaled));
        }
        (DataType::Char(_) | DataType::VarChar(_), Value::String(text)) => row.bytes(text.as_bytes()),
        (DataType::Binary(_) | DataType::VarBinary(_), Value::Bytes(bytes)) => row.bytes(bytes),
        (DataType::Date, Value::Date(number)) | (DataType::Time(_), Value::Time(number)) => {
            row.integer((*number).into());
        }
        (
            DataType::Timestamp(precision) | DataType::TimestampLtz(precision),
            Value::Timestamp { millis, nanos_of_milli },
        ) => match timestamp_unit(column, *precision)?.count(*millis, *nanos_of_milli) {
            Some(count) => row.integer(count),
            None => return Err(column.cannot_hold(cell)),
        },
        _ => return Err(column.cannot_hold(cell)),
    }
    Ok(())
}

/// The cells of these columns, found by name, and the number of rows.
pub(super) fn decode(columns: &[FileColumn], bytes: &Bytes) -> FormatResult<(Vec<Vec<Value>>, usize)> {
    let mut cells: Vec<Vec<Value>> = columns.iter().map(|_| Vec::new()).collect();
    let mut count = 0;
    avro_container::decode(bytes, |record| {
        for (column, cells) in columns.iter().zip(&mut cells) {
            let (avro_type, datum) = record.field(&column.name).ok_or_else(|| column.missing())?;
            match read_cell(&column.data_type, stored_unit(avro_type), datum) {
                Some(Value::Null) if !column.nullable => return Err(column.cannot_hold(&Value::Null)),
                Some(cell) => cells.push(cell),
                None => {
                    let (name, data_type) = (&column.name, &column.data_type);
                    return Err(FormatError::new(format!(
                        "expected a {data_type} in column `{name}`, found {datum:?}"
                    )));
                }
            }
        }
        count += 1;
        Ok(())
    })?;
    Ok((cells, count))
}

/// What a field's times or timestamps count.
fn stored_unit(avro_type: &AvroType) -> TimeUnit {
    match avro_type {
        AvroType::Integer(unit) => *unit,
        AvroType::Union(branches) => {
            let unit = branches.iter().find_map(|branch| match branch {
                AvroType::Integer(unit) => Some(*unit),
                _ => None,
            });
            unit.unwrap_or(TimeUnit::Milliseconds)
        }
        _ => TimeUnit::Milliseconds,
    }
}

fn read_cell(data_type: &DataType, unit: TimeUnit, datum: &Datum<'_>) -> Option<Value> {
    match (data_type, datum) {
        (_, Datum::Null) => Some(Value::Null),
        (DataType::Boolean, Datum::Boolean(value)) => Some(Value::Boolean(*value)),
        (DataType::Float, Datum::Float(number)) => Some(Value::Float(*number)),
        (DataType::Double, Datum::Double(number)) => Some(Value::Double(*number)),
        (_, Datum::Integer(number)) => cell_of_integer(data_type, unit, *number),
        (_, Datum::Bytes(bytes)) => cell_of_bytes(data_type, bytes),
        (_, Datum::Text(text)) => cell_of_bytes(data_type, text.as_bytes()),
        _ => None,
    }
}
