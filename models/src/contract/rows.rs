//! Rows with their column names: what statements carry and reads return.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::data_type::DataType;
use super::failure::Failure;
use super::schema::TableSchema;
use super::value::{Row, Value};

/// Column names and rows of those columns. In JSON: an array of objects by column name, as in the adapter protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowSet {
    /// The columns, in the order of each row's cells.
    pub columns: Arc<[Arc<str>]>,
    /// The rows.
    pub rows: Vec<Row>,
}

impl RowSet {
    /// No rows of these columns.
    pub fn empty(columns: Arc<[Arc<str>]>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// The position of a column.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|candidate| &**candidate == column)
    }

    /// The rows as rows of the schema: cells in schema order, missing columns NULL, each cell of its column's type.
    /// `invalid` if a column is unknown, a cell does not fit, or a NOT NULL column is missing.
    pub fn conform(&self, schema: &TableSchema) -> Result<Vec<Row>, Failure> {
        for column in self.columns.iter() {
            if schema.position(column).is_none() {
                let known: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
                return Err(Failure::invalid(format!(
                    "expected columns among [{}], found `{column}`",
                    known.join(", ")
                )));
            }
        }
        let sources: Vec<Option<usize>> = schema.columns.iter().map(|column| self.position(&column.name)).collect();
        let conform_row = |row: &Row| -> Result<Row, Failure> {
            let cells = schema.columns.iter().zip(&sources).map(|(column, source)| {
                let cell = source.map_or(Value::Null, |position| row[position].clone());
                if cell.is_null() && !column.nullable {
                    return Err(Failure::invalid(format!("column `{}` is NOT NULL but has no value", column.name)));
                }
                coerce(cell, &column.data_type)
                    .map_err(|found| Failure::invalid(format!("column `{}`: {found}", column.name)))
            });
            Ok(Row::new(cells.collect::<Result<Vec<_>, _>>()?))
        };
        self.rows.iter().map(conform_row).collect()
    }
}

/// The cell as a value of the type: JSON knows only numbers, strings and booleans, so decimals, dates, times,
/// timestamps and bytes arrive as strings. The error says what was expected and found.
pub fn coerce(cell: Value, data_type: &DataType) -> Result<Value, String> {
    let mismatch = |cell: &Value| Err(format!("expected a {data_type}, found {cell:?}"));
    let integer = |cell: &Value, low: i64, high: i64| {
        let number = match cell {
            Value::Int(number) => Some(*number),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        match number {
            Some(number) if (low..=high).contains(&number) => Ok(Value::Int(number)),
            _ => mismatch(cell),
        }
    };
    match (data_type, &cell) {
        (_, Value::Null) => Ok(Value::Null),
        (DataType::Boolean, Value::Boolean(_)) => Ok(cell),
        (DataType::TinyInt, _) => integer(&cell, i8::MIN.into(), i8::MAX.into()),
        (DataType::SmallInt, _) => integer(&cell, i16::MIN.into(), i16::MAX.into()),
        (DataType::Int, _) => integer(&cell, i32::MIN.into(), i32::MAX.into()),
        (DataType::BigInt, _) => integer(&cell, i64::MIN, i64::MAX),
        (DataType::Float, Value::Float(_)) | (DataType::Double, Value::Double(_)) => Ok(cell),
        (DataType::Float, Value::Double(number)) => Ok(Value::Float(*number as f32)),
        (DataType::Float, Value::Int(number)) => Ok(Value::Float(*number as f32)),
        (DataType::Double, Value::Int(number)) => Ok(Value::Double(*number as f64)),
        (DataType::Float, Value::String(text)) => text.parse().map(Value::Float).or_else(|_| mismatch(&cell)),
        (DataType::Double, Value::String(text)) => text.parse().map(Value::Double).or_else(|_| mismatch(&cell)),
        (DataType::Char(_) | DataType::VarChar(_), Value::String(_)) => Ok(cell),
        (DataType::Binary(_) | DataType::VarBinary(_), Value::Bytes(_)) => Ok(cell),
        (DataType::Binary(_) | DataType::VarBinary(_), Value::String(text)) => {
            match base64::engine::general_purpose::STANDARD.decode(text.as_bytes()) {
                Ok(bytes) => Ok(Value::Bytes(Arc::from(bytes))),
                Err(_) => mismatch(&cell),
            }
        }
        (DataType::Decimal(_, _), Value::Decimal(_)) => Ok(cell),
        (DataType::Decimal(precision, scale), Value::String(text)) => {
            parse_decimal(text, *precision, *scale).map(Value::Decimal).ok_or(()).or_else(|()| mismatch(&cell))
        }
        (DataType::Date, Value::Date(_)) | (DataType::Time(_), Value::Time(_)) => Ok(cell),
        (DataType::Timestamp(_) | DataType::TimestampLtz(_), Value::Timestamp { .. }) => Ok(cell),
        (DataType::Date, Value::String(text)) => {
            parse_date(text).map(Value::Date).ok_or(()).or_else(|()| mismatch(&cell))
        }
        (DataType::Time(_), Value::String(text)) => match parse_time(text) {
            Some((millis, _)) => Ok(Value::Time(millis as i32)),
            None => mismatch(&cell),
        },
        (DataType::Timestamp(_) | DataType::TimestampLtz(_), Value::String(text)) => {
            parse_timestamp(text).ok_or(()).or_else(|()| mismatch(&cell))
        }
        _ => mismatch(&cell),
    }
}

fn parse_decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if fraction.len() > usize::from(scale) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let padded = format!("{whole}{fraction:0<width$}", width = usize::from(scale));
    if !padded.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let unscaled: i128 = padded.parse().ok()?;
    (unscaled < 10_i128.pow(precision.into())).then_some(if negative { -unscaled } else { unscaled })
}

/// Days since 1970-01-01 of a proleptic Gregorian `yyyy-mm-dd`.
fn parse_date(text: &str) -> Option<i32> {
    let mut parts = text.splitn(3, '-');
    let year: i64 = parts.next()?.parse().ok()?;
    let month: i64 = parts.next()?.parse().ok()?;
    let day: i64 = parts.next()?.parse().ok()?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_from_civil(year, month, day);
    (civil_from_days(days) == (year, month, day)).then_some(i32::try_from(days).ok()?)
}

/// Days since 1970-01-01 of a day of the proleptic Gregorian calendar.
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is a year's last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of a number of days since 1970-01-01.
pub(crate) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Milliseconds since midnight, and nanoseconds within the millisecond.
fn parse_time(text: &str) -> Option<(i64, u32)> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':').map(str::parse::<i64>);
    let (hours, minutes) = (parts.next()?.ok()?, parts.next()?.ok()?);
    let seconds = parts.next().unwrap_or(Ok(0)).ok()?;
    if parts.next().is_some() || !(0..24).contains(&hours) || !(0..60).contains(&minutes) || !(0..60).contains(&seconds)
    {
        return None;
    }
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanos: u32 = format!("{fraction:0<9}").parse().ok()?;
    Some((((hours * 60 + minutes) * 60 + seconds) * 1000 + i64::from(nanos / 1_000_000), nanos % 1_000_000))
}

fn parse_timestamp(text: &str) -> Option<Value> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once('T').or_else(|| text.split_once(' '))?;
    let (millis, nanos_of_milli) = parse_time(time)?;
    Some(Value::Timestamp { millis: i64::from(parse_date(date)?) * 86_400_000 + millis, nanos_of_milli })
}

/// One cell as the adapter protocol writes it. A decimal needs its scale, which only the schema knows; here its
/// unscaled number is written, so rows with decimals are written through [`decimal_text`] first.
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

/// A decimal as text, `-12.50` for −1250 with scale 2.
pub fn decimal_text(unscaled: i128, scale: u8) -> String {
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    let sign = if unscaled < 0 { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

fn date_text(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    format!("{year:04}-{month:02}-{day:02}")
}

fn time_text(millis: i64, nanos_of_milli: u32) -> String {
    let seconds = millis / 1000;
    let nanos = (millis % 1000) * 1_000_000 + i64::from(nanos_of_milli);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if nanos == 0 {
        return clock;
    }
    let fraction = format!("{nanos:09}");
    format!("{clock}.{}", fraction.trim_end_matches('0'))
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("null, a boolean, a number or a string")
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
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
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
    fn decimals_keep_their_scale() {
        let parse = |text: &str| coerce(Value::string(text), &DataType::Decimal(6, 2));
        assert_eq!(parse("-12.5").unwrap(), Value::Decimal(-1250));
        assert_eq!(decimal_text(-1250, 2), "-12.50");
        assert_eq!(decimal_text(5, 2), "0.05");
        assert!(parse("12.345").unwrap_err().contains("DECIMAL(6, 2)"));
        assert!(parse("99999.00").is_err());
    }

    #[test]
    fn cells_that_do_not_fit_are_refused_with_what_was_expected() {
        assert!(coerce(Value::Int(300), &DataType::TinyInt).unwrap_err().contains("TINYINT"));
        assert!(coerce(Value::string("2023-02-29"), &DataType::Date).is_err());
        assert!(coerce(Value::Boolean(true), &DataType::BigInt).is_err());
    }
}
