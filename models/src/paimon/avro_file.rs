//! Columns of cells as Avro files, row by row.
//!
//! Nested types follow Java Paimon: rows are records named after the way to them (`record_point`), maps with text keys
//! are Avro maps, other maps arrays of records `key`, `value` with the logical type `map`.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Value as Json, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::contract::{DataType, FieldType, Row, Value};

use super::avro_container;
use super::avro_datum::{Datum, DatumWriter};
use super::avro_record::AvroRecord;
use super::avro_schema::AvroType;
use super::binary_row::minimal_big_endian;
use super::data_file::FileColumn;
use super::stored_cell::{TimeUnit, cell_of_bytes, cell_of_integer};
use super::{FormatError, FormatResult};

/// The finest digits that a TIME in an Avro file may have.
const TIME_PRECISION: u8 = 3;

/// The bytes of a file of these columns; `cells` has one vector of `count` cells for each.
pub(super) fn encode(columns: &[FileColumn], cells: &[Vec<&Value>], count: usize) -> FormatResult<Bytes> {
    let schema = schema_text(columns)?;
    let mut rows = DatumWriter::default();
    for row in 0..count {
        for (column, cells) in columns.iter().zip(cells) {
            let written = write_cell(&mut rows, &column.data_type, column.nullable, cells[row]);
            written.ok_or_else(|| column.cannot_hold(cells[row]))?;
        }
    }
    // Derived from the content, for data files have no identity of their own here.
    let sync_marker = xxh3_128(schema.as_bytes()).to_be_bytes();
    avro_container::encode(&schema, count, rows, sync_marker)
}

fn schema_text(columns: &[FileColumn]) -> FormatResult<String> {
    let mut schema = SchemaWriter { column: "", records: BTreeSet::from(["record".to_owned()]) };
    let mut fields = Vec::with_capacity(columns.len());
    for column in columns {
        schema.column = &column.name;
        let avro_type = schema.avro_type(&column.data_type, column.nullable, &format!("record_{}", column.name))?;
        fields.push(field_json(&column.name, column.nullable, avro_type));
    }
    let namespace = "org.apache.paimon.avro.generated";
    Ok(json!({"type": "record", "name": "record", "namespace": namespace, "fields": fields}).to_string())
}

fn field_json(name: &str, nullable: bool, avro_type: Json) -> Json {
    if nullable {
        json!({"name": name, "type": avro_type, "default": null})
    } else {
        json!({"name": name, "type": avro_type})
    }
}

/// Writes the schema of one column after the other.
struct SchemaWriter<'a> {
    column: &'a str,
    /// The names of records so far; Avro defines each once.
    records: BTreeSet<String>,
}

impl SchemaWriter<'_> {
    /// The schema of a type whose records are named so.
    fn avro_type(&mut self, data_type: &DataType, nullable: bool, record: &str) -> FormatResult<Json> {
        let plain = match data_type {
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
            DataType::Time(0..=TIME_PRECISION) => json!({"type": "int", "logicalType": "time-millis"}),
            DataType::Time(_) => return Err(self.too_precise(data_type, "TIME", TIME_PRECISION)),
            DataType::Timestamp(precision) | DataType::TimestampLtz(precision) => {
                let unit = match TimeUnit::of_precision(*precision) {
                    Some(TimeUnit::Milliseconds) => "millis",
                    Some(_) => "micros",
                    None => return Err(self.too_precise(data_type, "timestamp", 6)),
                };
                let local = if matches!(data_type, DataType::TimestampLtz(_)) { "local-" } else { "" };
                json!({"type": "long", "logicalType": format!("{local}timestamp-{unit}")})
            }
            DataType::Array(element) => {
                json!({"type": "array", "items": self.part(element, record)?})
            }
            DataType::Map(entry) if has_text_keys(entry) => {
                json!({"type": "map", "values": self.part(&entry.1, record)?})
            }
            DataType::Map(entry) => {
                self.define(record)?;
                let key = self.part(&entry.0, &format!("{record}_key"))?;
                let value = self.part(&entry.1, &format!("{record}_value"))?;
                let fields = json!([{"name": "key", "type": key}, field_json("value", entry.1.nullable, value)]);
                let items = json!({"type": "record", "name": record, "fields": fields});
                json!({"type": "array", "items": items, "logicalType": "map"})
            }
            DataType::Row(fields) => {
                self.define(record)?;
                let mut listed = Vec::with_capacity(fields.len());
                for field in fields.iter() {
                    let avro_type = self.part(&field.field_type, &format!("{record}_{}", field.name))?;
                    listed.push(field_json(&field.name, field.field_type.nullable, avro_type));
                }
                json!({"type": "record", "name": record, "fields": listed})
            }
        };
        Ok(if nullable { json!(["null", plain]) } else { plain })
    }

    fn part(&mut self, field_type: &FieldType, record: &str) -> FormatResult<Json> {
        self.avro_type(&field_type.data_type, field_type.nullable, record)
    }

    /// Takes a record's name. The rules of naming can give one name twice: `a_b`, and `b` in `a`.
    fn define(&mut self, record: &str) -> FormatResult<()> {
        if self.records.insert(record.to_owned()) {
            return Ok(());
        }
        Err(FormatError::new(format!(
            "expected Avro records of one name each, found a second `{record}` in column `{}`",
            self.column
        )))
    }

    fn too_precise(&self, data_type: &DataType, what: &str, most: u8) -> FormatError {
        FormatError::new(format!(
            "expected a {what} of precision 0 to {most} in column `{}` of an Avro file, found {data_type}",
            self.column
        ))
    }
}

/// Only these have an Avro map of their own.
fn has_text_keys(entry: &(FieldType, FieldType)) -> bool {
    matches!(entry.0.data_type, DataType::Char(_) | DataType::VarChar(_))
}

/// Writes a cell; `None` if it is not of the type.
fn write_cell(writer: &mut DatumWriter, data_type: &DataType, nullable: bool, cell: &Value) -> Option<()> {
    if nullable {
        writer.integer(i64::from(!cell.is_null()));
        if cell.is_null() {
            return Some(());
        }
    }
    match (data_type, cell) {
        (DataType::Boolean, Value::Boolean(value)) => writer.boolean(*value),
        (DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt, Value::Int(number)) => {
            cell_of_integer(data_type, TimeUnit::Milliseconds, *number)?;
            writer.integer(*number);
        }
        (DataType::Float, Value::Float(number)) => writer.float(*number),
        (DataType::Double, Value::Double(number)) => writer.double(*number),
        (DataType::Decimal(precision, _), Value::Decimal(unscaled))
            if unscaled.unsigned_abs() < 10_u128.pow((*precision).into()) =>
        {
            writer.bytes(&minimal_big_endian(*unscaled));
        }
        (DataType::Char(_) | DataType::VarChar(_), Value::String(text)) => writer.bytes(text.as_bytes()),
        (DataType::Binary(_) | DataType::VarBinary(_), Value::Bytes(bytes)) => writer.bytes(bytes),
        (DataType::Date, Value::Date(number)) | (DataType::Time(_), Value::Time(number)) => {
            writer.integer((*number).into());
        }
        (
            DataType::Timestamp(precision) | DataType::TimestampLtz(precision),
            Value::Timestamp { millis, nanos_of_milli },
        ) => writer.integer(TimeUnit::of_precision(*precision)?.count(*millis, *nanos_of_milli)?),
        (DataType::Array(element), Value::Array(cells)) => {
            writer.block(cells, |writer, cell| write_part(writer, element, cell))?;
        }
        (DataType::Map(entry), Value::Map(entries)) if has_text_keys(entry) => {
            writer.block(entries, |writer, (key, value)| {
                writer.bytes(key.as_str()?.as_bytes());
                write_part(writer, &entry.1, value)
            })?;
        }
        (DataType::Map(entry), Value::Map(entries)) => writer.block(entries, |writer, (key, value)| {
            (!key.is_null()).then_some(())?;
            write_part(writer, &entry.0, key)?;
            write_part(writer, &entry.1, value)
        })?,
        (DataType::Row(fields), Value::Row(row)) if row.cells().len() == fields.len() => {
            let mut parts = fields.iter().zip(row.cells());
            parts.try_for_each(|(field, cell)| write_part(writer, &field.field_type, cell))?;
        }
        _ => return None,
    }
    Some(())
}

fn write_part(writer: &mut DatumWriter, part: &FieldType, cell: &Value) -> Option<()> {
    write_cell(writer, &part.data_type, part.nullable, cell)
}

/// The cells of these columns, found by name, and the number of rows.
pub(super) fn decode(columns: &[FileColumn], bytes: &Bytes) -> FormatResult<(Vec<Vec<Value>>, usize)> {
    let mut cells: Vec<Vec<Value>> = columns.iter().map(|_| Vec::new()).collect();
    let mut count = 0;
    avro_container::decode(bytes, |record| {
        for (column, cells) in columns.iter().zip(&mut cells) {
            let (avro_type, datum) = record.field(&column.name).ok_or_else(|| column.missing())?;
            match read_cell(&column.data_type, avro_type, datum) {
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
    match present_type(avro_type, |branch| matches!(branch, AvroType::Integer(_))) {
        Some(AvroType::Integer(unit)) => *unit,
        _ => TimeUnit::Milliseconds,
    }
}

/// The type of what is there, of a union the branch that is wanted.
fn present_type(avro_type: &AvroType, is_wanted: impl Fn(&AvroType) -> bool) -> Option<&AvroType> {
    match avro_type {
        AvroType::Union(branches) => branches.iter().find(|branch| is_wanted(branch)),
        other => Some(other),
    }
}

/// The cell of a value that was written with this schema; `None` if it is not of the type.
fn read_cell(data_type: &DataType, avro_type: &AvroType, datum: &Datum<'_>) -> Option<Value> {
    match (data_type, datum) {
        (_, Datum::Null) => Some(Value::Null),
        (DataType::Boolean, Datum::Boolean(value)) => Some(Value::Boolean(*value)),
        (DataType::Float, Datum::Float(number)) => Some(Value::Float(*number)),
        (DataType::Double, Datum::Double(number)) => Some(Value::Double(*number)),
        (_, Datum::Integer(number)) => cell_of_integer(data_type, stored_unit(avro_type), *number),
        (_, Datum::Bytes(bytes)) => cell_of_bytes(data_type, bytes),
        (_, Datum::Text(text)) => cell_of_bytes(data_type, text.as_bytes()),
        (DataType::Array(element), Datum::Items(items)) => {
            let item_type = items_type(avro_type)?;
            items.iter().map(|item| read_part(element, item_type, item)).collect::<Option<_>>().map(Value::Array)
        }
        (DataType::Map(entry), Datum::Items(items)) => read_map(entry, avro_type, items),
        (DataType::Row(fields), Datum::Record(values)) => {
            let record = present_type(avro_type, |branch| matches!(branch, AvroType::Record(_)))?;
            let record = AvroRecord::new(record.record_fields().ok()?, values);
            let cells = fields.iter().map(|field| {
                let (avro_type, datum) = record.field(&field.name)?;
                read_part(&field.field_type, avro_type, datum)
            });
            Some(Value::Row(Row::new(cells.collect::<Option<_>>()?)))
        }
        _ => None,
    }
}

fn read_part(part: &FieldType, avro_type: &AvroType, datum: &Datum<'_>) -> Option<Value> {
    read_cell(&part.data_type, avro_type, datum).filter(|cell| part.nullable || !cell.is_null())
}

/// The type of an array's items.
fn items_type(avro_type: &AvroType) -> Option<&AvroType> {
    match present_type(avro_type, |branch| matches!(branch, AvroType::Array(_)))? {
        AvroType::Array(item_type) => Some(item_type),
        _ => None,
    }
}

/// A map, from an Avro map or an array of records.
fn read_map(entry: &(FieldType, FieldType), avro_type: &AvroType, items: &[Datum<'_>]) -> Option<Value> {
    let read_entry = |key_type: &AvroType, key: &Datum<'_>, value_type: &AvroType, value: &Datum<'_>| {
        let key = read_part(&entry.0, key_type, key).filter(|key| !key.is_null())?;
        Some((key, read_part(&entry.1, value_type, value)?))
    };
    let entries = match present_type(avro_type, |branch| matches!(branch, AvroType::Map(_) | AvroType::Array(_)))? {
        AvroType::Map(value_type) => {
            let pairs = items.chunks_exact(2);
            pairs.map(|pair| read_entry(&AvroType::Text, &pair[0], value_type, &pair[1])).collect::<Option<_>>()?
        }
        AvroType::Array(item_type) => {
            let fields = item_type.record_fields().ok()?;
            let read_item = |item: &Datum<'_>| {
                let Datum::Record(values) = item else { return None };
                let record = AvroRecord::new(fields, values);
                let ((key_type, key), (value_type, value)) = (record.field("key")?, record.field("value")?);
                read_entry(key_type, key, value_type, value)
            };
            items.iter().map(read_item).collect::<Option<_>>()?
        }
        _ => return None,
    };
    Some(Value::map(entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::coerce;

    fn column(name: &str, data_type: &str, nullable: bool) -> FileColumn {
        FileColumn { name: name.to_owned(), field_id: 0, data_type: data_type.parse().unwrap(), nullable }
    }

    #[test]
    fn nested_types_are_declared_as_java_paimon_does() {
        let columns = [
            column("point", "ROW<x INT, label STRING>", true),
            column("deep", "ARRAY<ROW<tags MAP<STRING, ARRAY<STRING>>, at TIMESTAMP(3)>>", true),
            column("ltz", "TIMESTAMP_LTZ(6)", false),
        ];
        // As Java Paimon 1.4.2 declared these columns.
        let expected = json!({"type": "record", "name": "record", "namespace": "org.apache.paimon.avro.generated",
            "fields": [
                {"name": "point", "type": ["null", {"type": "record", "name": "record_point", "fields": [
                    {"name": "x", "type": ["null", "int"], "default": null},
                    {"name": "label", "type": ["null", "string"], "default": null}]}], "default": null},
                {"name": "deep", "type": ["null", {"type": "array", "items":
                    ["null", {"type": "record", "name": "record_deep", "fields": [
                        {"name": "tags", "type": ["null", {"type": "map", "values":
                            ["null", {"type": "array", "items": ["null", "string"]}]}], "default": null},
                        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}],
                            "default": null}]}]}], "default": null},
                {"name": "ltz", "type": {"type": "long", "logicalType": "local-timestamp-micros"}}]});
        assert_eq!(serde_json::from_str::<Json>(&schema_text(&columns).unwrap()).unwrap(), expected);
    }

    #[test]
    fn another_implementation_reads_nested_cells() {
        use apache_avro::types::Value as Witness;

        let columns = [column("m", "MAP<INT, ROW<x BIGINT NOT NULL>>", false), column("t", "MAP<STRING, INT>", false)];
        let schema = apache_avro::Schema::parse_str(&schema_text(&columns).unwrap()).unwrap();
        let cells = [json!([[7, {"x": -1}], [8, null]]), json!({"k": 3})];
        let mut row = DatumWriter::default();
        for (column, cell) in columns.iter().zip(cells) {
            let cell = coerce(serde_json::from_value(cell).unwrap(), &column.data_type).unwrap();
            write_cell(&mut row, &column.data_type, column.nullable, &cell).unwrap();
        }
        let read = apache_avro::from_avro_datum(&schema, &mut row.into_bytes().as_slice(), None).unwrap();
        let optional = |value: Option<Witness>| match value {
            None => Witness::Union(0, Box::new(Witness::Null)),
            Some(value) => Witness::Union(1, Box::new(value)),
        };
        let entry = |key: i32, value: Option<Witness>| {
            let key = ("key".to_owned(), optional(Some(Witness::Int(key))));
            Witness::Record(vec![key, ("value".to_owned(), optional(value))])
        };
        let x = Witness::Record(vec![("x".to_owned(), Witness::Long(-1))]);
        let expected = Witness::Record(vec![
            ("m".to_owned(), Witness::Array(vec![entry(7, Some(x)), entry(8, None)])),
            ("t".to_owned(), Witness::Map([("k".to_owned(), optional(Some(Witness::Int(3))))].into())),
        ]);
        assert_eq!(read, expected);
    }

    #[test]
    fn one_name_for_two_records_is_refused() {
        let columns = [column("a", "ROW<b ROW<x INT>>", true), column("a_b", "ROW<x INT>", true)];
        let error = schema_text(&columns).unwrap_err().to_string();
        assert!(error.contains("record_a_b") && error.contains("`a_b`"), "{error}");
    }
}
