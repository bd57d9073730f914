//! Cells and rows as `kinds.json` writes them, to and from Arrow.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use paimon::spec::Datum;
use serde_json::{Map, Value as Json, json};

use crate::Failure;

/// The rows as one batch; missing cells are NULL.
pub fn batch(schema: &Arc<Schema>, rows: &[&Json]) -> Result<RecordBatch, Failure> {
    let columns = columns(schema.fields(), rows)?;
    Ok(RecordBatch::try_new(schema.clone(), columns)?)
}

fn columns(fields: &Fields, rows: &[&Json]) -> Result<Vec<ArrayRef>, Failure> {
    let cells = |field: &Field| rows.iter().map(|row| &row[field.name()]).collect::<Vec<_>>();
    fields.iter().map(|field| array(field.data_type(), &cells(field))).collect()
}

/// The cells as an array of the type. Numbers and times go in as text, which Arrow casts.
pub fn array(data_type: &DataType, cells: &[&Json]) -> Result<ArrayRef, Failure> {
    match data_type {
        DataType::Boolean => {
            let mut booleans = BooleanBuilder::new();
            cells.iter().for_each(|cell| booleans.append_option(cell.as_bool()));
            Ok(Arc::new(booleans.finish()))
        }
        DataType::Binary => {
            let mut bytes = BinaryBuilder::new();
            for cell in cells {
                bytes.append_option(cell.as_str().map(|text| STANDARD.decode(text)).transpose()?);
            }
            Ok(Arc::new(bytes.finish()))
        }
        DataType::List(element) => {
            let (offsets, nulls, elements) = flattened(cells);
            let elements = array(element.data_type(), &elements)?;
            Ok(Arc::new(ListArray::try_new(element.clone(), offsets, elements, Some(nulls.into()))?))
        }
        DataType::Map(entry, ordered) => {
            let DataType::Struct(fields) = entry.data_type() else {
                return Err("expected a struct in a map".into());
            };
            let (offsets, nulls, pairs) = flattened(cells);
            let side = |position: usize, field: &Field| {
                array(field.data_type(), &pairs.iter().map(|pair| &pair[position]).collect::<Vec<_>>())
            };
            let sides = vec![side(0, &fields[0])?, side(1, &fields[1])?];
            let entries = StructArray::try_new(fields.clone(), sides, None)?;
            Ok(Arc::new(MapArray::try_new(entry.clone(), offsets, entries, Some(nulls.into()), *ordered)?))
        }
        DataType::Struct(fields) => {
            let nulls: Vec<bool> = cells.iter().map(|cell| !cell.is_null()).collect();
            Ok(Arc::new(StructArray::try_new(fields.clone(), columns(fields, cells)?, Some(nulls.into()))?))
        }
        _ => {
            let mut texts = StringBuilder::new();
            for cell in cells {
                texts.append_option(match cell {
                    Json::Null => None,
                    Json::String(text) => Some(text.clone()),
                    other => Some(other.to_string()),
                });
            }
            let exact = CastOptions { safe: false, ..CastOptions::default() };
            Ok(cast_with_options(&texts.finish(), data_type, &exact)?)
        }
    }
}

/// The offsets of lists, which of them are there, and their elements one after the other.
fn flattened<'a>(cells: &[&'a Json]) -> (OffsetBuffer<i32>, Vec<bool>, Vec<&'a Json>) {
    let mut elements = Vec::new();
    let mut lengths = Vec::new();
    for cell in cells {
        let list = cell.as_array().map_or(&[][..], Vec::as_slice);
        lengths.push(list.len());
        elements.extend(list);
    }
    let nulls = cells.iter().map(|cell| !cell.is_null()).collect();
    (OffsetBuffer::from_lengths(lengths), nulls, elements)
}

/// One cell as a literal of a predicate; `None` is NULL.
pub fn datum(data_type: &DataType, cell: &Json) -> Result<Option<Datum>, Failure> {
    if cell.is_null() {
        return Ok(None);
    }
    let one = array(data_type, &[cell])?;
    use arrow_array::types::*;
    let timestamp = |millis: i64, nanos: i64, local: bool| {
        let nanos = nanos as i32;
        if local { Datum::LocalZonedTimestamp { millis, nanos } } else { Datum::Timestamp { millis, nanos } }
    };
    Ok(Some(match data_type {
        DataType::Boolean => Datum::Bool(one.as_boolean().value(0)),
        DataType::Int8 => Datum::TinyInt(one.as_primitive::<Int8Type>().value(0)),
        DataType::Int16 => Datum::SmallInt(one.as_primitive::<Int16Type>().value(0)),
        DataType::Int32 => Datum::Int(one.as_primitive::<Int32Type>().value(0)),
        DataType::Int64 => Datum::Long(one.as_primitive::<Int64Type>().value(0)),
        DataType::Float32 => Datum::Float(one.as_primitive::<Float32Type>().value(0)),
        DataType::Float64 => Datum::Double(one.as_primitive::<Float64Type>().value(0)),
        DataType::Utf8 => Datum::String(one.as_string::<i32>().value(0).to_owned()),
        DataType::Binary => Datum::Bytes(one.as_binary::<i32>().value(0).to_vec()),
        DataType::Date32 => Datum::Date(one.as_primitive::<Date32Type>().value(0)),
        DataType::Time32(TimeUnit::Millisecond) => Datum::Time(one.as_primitive::<Time32MillisecondType>().value(0)),
        DataType::Decimal128(precision, scale) => Datum::Decimal {
            unscaled: one.as_primitive::<Decimal128Type>().value(0),
            precision: u32::from(*precision),
            scale: u32::from(scale.unsigned_abs()),
        },
        DataType::Timestamp(unit, zone) => {
            let (count, per_milli) = match unit {
                TimeUnit::Second => (one.as_primitive::<TimestampSecondType>().value(0) * 1_000, 1),
                TimeUnit::Millisecond => (one.as_primitive::<TimestampMillisecondType>().value(0), 1),
                TimeUnit::Microsecond => (one.as_primitive::<TimestampMicrosecondType>().value(0), 1_000),
                TimeUnit::Nanosecond => (one.as_primitive::<TimestampNanosecondType>().value(0), 1_000_000),
            };
            let nanos = count.rem_euclid(per_milli) * (1_000_000 / per_milli);
            timestamp(count.div_euclid(per_milli), nanos, zone.is_some())
        }
        other => return Err(format!("expected a plain type in a condition, found {other}").into()),
    }))
}

/// All rows of a batch as objects by column name.
pub fn rows(batch: &RecordBatch) -> Result<Vec<Json>, Failure> {
    let schema = batch.schema();
    (0..batch.num_rows()).map(|row| object(schema.fields(), batch.columns(), row)).collect()
}

fn object(fields: &Fields, columns: &[ArrayRef], row: usize) -> Result<Json, Failure> {
    let mut cells = Map::new();
    for (field, column) in fields.iter().zip(columns) {
        cells.insert(field.name().clone(), json_cell(column, row)?);
    }
    Ok(Json::Object(cells))
}

fn json_cell(column: &ArrayRef, row: usize) -> Result<Json, Failure> {
    use arrow_array::types::*;
    if column.is_null(row) {
        return Ok(Json::Null);
    }
    let elements = |list: ArrayRef| -> Result<Vec<Json>, Failure> {
        (0..list.len()).map(|position| json_cell(&list, position)).collect()
    };
    Ok(match column.data_type() {
        DataType::Boolean => json!(column.as_boolean().value(row)),
        DataType::Int8 => json!(column.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => json!(column.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => json!(column.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => json!(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => json!(column.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => json!(column.as_primitive::<Float64Type>().value(row)),
        DataType::Binary => json!(STANDARD.encode(column.as_binary::<i32>().value(row))),
        DataType::List(_) => Json::Array(elements(column.as_list::<i32>().value(row))?),
        DataType::Map(_, _) => {
            let entries = column.as_map().value(row);
            let (keys, values) = (elements(entries.column(0).clone())?, elements(entries.column(1).clone())?);
            keys.into_iter().zip(values).map(|(key, value)| json!([key, value])).collect()
        }
        DataType::Struct(fields) => object(fields, column.as_struct().columns(), row)?,
        DataType::Time32(_) | DataType::Timestamp(_, _) => json!(without_zeros(&displayed(column, row)?)),
        _ => json!(displayed(column, row)?),
    })
}

fn displayed(column: &ArrayRef, row: usize) -> Result<String, Failure> {
    Ok(ArrayFormatter::try_new(column, &FormatOptions::default())?.value(row).try_to_string()?)
}

/// A time without its zone and without zeros that end its fraction.
fn without_zeros(text: &str) -> &str {
    let text = text.strip_suffix('Z').unwrap_or(text);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}
