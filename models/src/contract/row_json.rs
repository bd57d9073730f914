//! Rows and cells as JSON, both ways: the adapter protocol's form.
//!
//! What a cell means is its column type's business: reading yields what JSON says, and [`super::coerce`] gives it its
//! type.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::cell_text::{date_text, decimal_text, time_text};
use super::data_type::DataType;
use super::rows::RowSet;
use super::schema::TableSchema;
use super::value::{Row, Value};

/// One cell as the adapter protocol writes it, as far as it knows itself: of a decimal the unscaled number, of a row
/// the cells in order. Where the type is at hand, [`TypedCell`] writes the scale and the names too.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Int(number) => serializer.serialize_i64(*number),
            Self::Float(number) if number.is_finite() => serializer.serialize_f32(*number),
            Self::Float(number) => serializer.collect_str(&number),
            Self::Double(number) if number.is_finite() => serializer.serialize_f64(*number),
            Self::Double(number) => serializer.collect_str(&number),
            Self::Decimal(unscaled) => serializer.collect_str(unscaled),
            Self::String(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => serializer.serialize_str(&base64::engine::general_purpose::STANDARD.encode(bytes)),
            Self::Date(days) => serializer.serialize_str(&date_text(i64::from(*days))),
            Self::Time(millis) => serializer.serialize_str(&time_text(i64::from(*millis), 0)),
            Self::Timestamp { millis, nanos_of_milli } => {
                let (days, within) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
                serializer.serialize_str(&format!("{}T{}", date_text(days), time_text(within, *nanos_of_milli)))
            }
            Self::Array(elements) => serializer.collect_seq(elements.iter()),
            Self::Map(entries) => serializer.collect_seq(entries.iter()),
            Self::Row(row) => serializer.collect_seq(row.cells()),
        }
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("null, a boolean, a number, a string, an array or an object")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Value, E> {
        i64::try_from(number).map(Value::Int).map_err(|_| E::custom(format!("{number} does not fit into 64 bits")))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Double(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::string(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut cells = Vec::new();
        while let Some(cell) = sequence.next_element()? {
            cells.push(cell);
        }
        Ok(Value::Array(Arc::from(cells)))
    }

    /// An object is a map with text keys until its type says what it is.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries: BTreeMap<Value, Value> = BTreeMap::new();
        while let Some((name, cell)) = map.next_entry::<String, Value>()? {
            if entries.insert(Value::string(&name), cell).is_some() {
                return Err(A::Error::custom(format!("`{name}` stands twice in one object")));
            }
        }
        Ok(Value::Map(entries.into_iter().collect()))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

/// A cell beside its type: decimals are written with their scale, rows as objects by field name, maps as arrays of
/// pairs, all else as [`Value`] does.
#[derive(Clone, Copy, Debug)]
pub struct TypedCell<'a>(pub &'a Value, pub &'a DataType);

impl Serialize for TypedCell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.0, self.1) {
            (Value::Decimal(unscaled), DataType::Decimal(_, scale)) => {
                serializer.serialize_str(&decimal_text(*unscaled, *scale))
            }
            (Value::Array(cells), DataType::Array(element)) => {
                serializer.collect_seq(cells.iter().map(|cell| TypedCell(cell, &element.data_type)))
            }
            (Value::Map(entries), DataType::Map(entry)) => serializer.collect_seq(
                entries
                    .iter()
                    .map(|(key, value)| (TypedCell(key, &entry.0.data_type), TypedCell(value, &entry.1.data_type))),
            ),
            (Value::Row(row), DataType::Row(fields)) => serializer.collect_map(
                fields
                    .iter()
                    .zip(row.cells())
                    .map(|(field, cell)| (&field.name, TypedCell(cell, &field.field_type.data_type))),
            ),
            (cell, _) => cell.serialize(serializer),
        }
    }
}

/// One cell as JSON, with all that its type knows.
pub fn cell_json(cell: &Value, data_type: &DataType) -> serde_json::Value {
    serde_json::to_value(TypedCell(cell, data_type)).expect("every key of a cell's JSON is text")
}

/// Rows beside their schema: an array of objects by column name, like a [`RowSet`], with all that the columns' types
/// know. Each row has one cell for each column of the schema.
#[derive(Clone, Copy, Debug)]
pub struct TypedRows<'a> {
    /// The columns.
    pub schema: &'a TableSchema,
    /// The rows.
    pub rows: &'a [Row],
}

impl Serialize for TypedRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows.iter().map(|row| TypedRow { schema: self.schema, row }))
    }
}

/// One row beside its schema: an object by column name.
#[derive(Clone, Copy, Debug)]
pub struct TypedRow<'a> {
    /// The columns.
    pub schema: &'a TableSchema,
    /// The row, of one cell for each column.
    pub row: &'a Row,
}

impl Serialize for TypedRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = self.schema.columns.iter().zip(self.row.cells());
        serializer.collect_map(cells.map(|(column, cell)| (&column.name, TypedCell(cell, &column.data_type))))
    }
}

struct NamedRow<'a>(&'a [Arc<str>], &'a Row);

impl Serialize for NamedRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, cell) in self.0.iter().zip(self.1.cells()) {
            map.serialize_entry(&**name, cell)?;
        }
        map.end()
    }
}

impl Serialize for RowSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in &self.rows {
            sequence.serialize_element(&NamedRow(&self.columns, row))?;
        }
        sequence.end()
    }
}

struct RowSetVisitor;

/// One row as it is read: names and cells in the order of the text.
struct ReadRow(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for ReadRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RowVisitor;
        impl<'de> Visitor<'de> for RowVisitor {
            type Value = ReadRow;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a row: an object by column name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ReadRow, A::Error> {
                let mut cells: Vec<(String, Value)> = Vec::new();
                while let Some((name, cell)) = map.next_entry::<String, Value>()? {
                    if cells.iter().any(|(other, _)| *other == name) {
                        return Err(A::Error::custom(format!("column `{name}` stands twice in one row")));
                    }
                    cells.push((name, cell));
                }
                Ok(ReadRow(cells))
            }
        }
        deserializer.deserialize_map(RowVisitor)
    }
}

impl<'de> Visitor<'de> for RowSetVisitor {
    type Value = RowSet;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<RowSet, A::Error> {
        // Rows may differ in the fields they spell out; a missing field is null. So the columns are the union, in the
        // order of first appearance.
        let mut columns: Vec<Arc<str>> = Vec::new();
        let mut rows: Vec<Vec<Value>> = Vec::new();
        while let Some(ReadRow(cells)) = sequence.next_element()? {
            let mut row = vec![Value::Null; columns.len()];
            for (index, (name, cell)) in cells.into_iter().enumerate() {
                let position = match columns.get(index) {
                    Some(column) if **column == *name => index,
                    _ => match columns.iter().position(|column| **column == *name) {
                        Some(position) => position,
                        None => {
                            columns.push(Arc::from(name));
                            row.push(Value::Null);
                            columns.len() - 1
                        }
                    },
                };
                row[position] = cell;
            }
            rows.push(row);
        }
        let width = columns.len();
        let padded = rows.into_iter().map(|mut row| {
            row.resize(width, Value::Null);
            Row::new(row)
        });
        Ok(RowSet { rows: padded.collect(), columns: Arc::from(columns) })
    }
}

impl<'de> Deserialize<'de> for RowSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(RowSetVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::super::coercion::coerce;
    use super::*;

    #[test]
    fn rows_are_objects_and_a_missing_field_is_null() {
        let rows: RowSet = serde_json::from_str(r#"[{"id":1,"v":"a"},{"v":"b","w":true}]"#).unwrap();
        assert_eq!(
            serde_json::to_string(&rows).unwrap(),
            r#"[{"id":1,"v":"a","w":null},{"id":null,"v":"b","w":true}]"#
        );
    }

    #[test]
    fn text_becomes_the_columns_type_and_comes_back() {
        let cases = [
            ("DATE", "1969-12-31"),
            ("DATE", "2024-02-29"),
            ("TIME(3)", "23:59:59.5"),
            ("TIMESTAMP(9)", "1969-12-31T23:59:59.000000001"),
            ("TIMESTAMP(6)", "2026-11-30T08:00:00.123456"),
            ("BYTES", "AAEC"),
        ];
        for (data_type, text) in cases {
            let value = coerce(Value::string(text), &data_type.parse().unwrap()).unwrap();
            assert!(!matches!(value, Value::String(_)), "{text} stayed text");
            assert_eq!(serde_json::to_value(&value).unwrap(), serde_json::json!(text));
        }
    }

    #[test]
    fn typed_rows_are_read_as_they_were_written() {
        let schema: TableSchema = serde_json::from_str(
            r#"{"columns": [{"name": "d", "type": "DECIMAL(5, 2)"}, {"name": "a", "type": "ARRAY<DECIMAL(3, 1)>"},
                            {"name": "m", "type": "MAP<INT, DATE>"}, {"name": "r", "type": "ROW<z INT, y ROW<x TIME>>"}]}"#,
        )
        .unwrap();
        let text = r#"[{"d":"-1.50","a":["0.1",null],"m":[[-3,"1970-01-02"],[7,null]],"r":{"z":1,"y":{"x":"00:00:01"}}},{"d":null,"a":[],"m":[],"r":null}]"#;
        let rows = serde_json::from_str::<RowSet>(text).unwrap().conform(&schema).unwrap();
        assert_eq!(serde_json::to_string(&TypedRows { schema: &schema, rows: &rows }).unwrap(), text);
        let json = cell_json(&rows[0][3], &schema.columns[3].data_type);
        assert_eq!(json, serde_json::json!({"z": 1, "y": {"x": "00:00:01"}}));
    }

    #[test]
    fn a_cell_that_is_deep_or_odd_is_refused() {
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        assert!(serde_json::from_str::<Value>(&deep).is_err());
        assert!(serde_json::from_str::<Value>(r#"{"a": 1, "a": 2}"#).unwrap_err().to_string().contains("twice"));
    }
}
