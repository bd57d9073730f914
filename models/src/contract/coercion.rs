//! Cells as values of their column's type: what JSON or a statement gives becomes what the table holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;

use super::cell_text::{parse_date, parse_decimal, parse_time, parse_timestamp};
use super::data_type::{DataType, FieldType, NestedField};
use super::value::{Row, Value};

/// The cell as a value of the type: JSON knows only numbers, strings, booleans, arrays and objects, so decimals, dates,
/// times, timestamps and bytes arrive as strings, a map as an array of pairs or as an object, and a row as an object or
/// as an array of its cells. The error says what was expected and found.
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
        (DataType::Array(_) | DataType::Map(_) | DataType::Row(_), _) => {
            coerce_nested(&cell, data_type).unwrap_or_else(|| mismatch(&cell)).map_err(|found| {
                if found.contains(&data_type.to_string()) { found } else { format!("{found} in a {data_type}") }
            })
        }
        _ => mismatch(&cell),
    }
}

/// The cell as a value of a nested type; `None` if it has another form.
fn coerce_nested(cell: &Value, data_type: &DataType) -> Option<Result<Value, String>> {
    Some(match (data_type, cell) {
        (DataType::Array(element), Value::Array(cells)) => {
            cells.iter().map(|cell| coerce_part(cell, element, "element")).collect::<Result<_, _>>().map(Value::Array)
        }
        (DataType::Map(entry), Value::Map(pairs)) => {
            coerce_entries(pairs.iter().map(|(key, value)| (key, value)), entry)
        }
        (DataType::Map(entry), Value::Array(pairs)) => {
            let pairs = pairs.iter().map(|pair| match pair {
                Value::Array(pair) => <&[Value; 2]>::try_from(&**pair).ok().map(|[key, value]| (key, value)),
                _ => None,
            });
            coerce_entries(pairs.collect::<Option<Vec<_>>>()?.into_iter(), entry)
        }
        (DataType::Row(fields), Value::Row(row)) => coerce_in_order(row.cells(), fields)?,
        (DataType::Row(fields), Value::Array(cells)) => coerce_in_order(cells, fields)?,
        (DataType::Row(fields), Value::Map(pairs)) => coerce_by_name(pairs, fields),
        _ => return None,
    })
}

fn coerce_part(cell: &Value, field_type: &FieldType, what: &str) -> Result<Value, String> {
    if cell.is_null() && !field_type.nullable {
        return Err(format!("expected a {what} of type {field_type}, found NULL"));
    }
    coerce(cell.clone(), &field_type.data_type)
}

fn coerce_entries<'a>(
    pairs: impl Iterator<Item = (&'a Value, &'a Value)>,
    entry: &(FieldType, FieldType),
) -> Result<Value, String> {
    let mut entries = BTreeMap::new();
    for (key, value) in pairs {
        let key = coerce_part(key, &entry.0, "key")?;
        if key.is_null() {
            return Err("expected keys that are not NULL, found NULL".to_owned());
        }
        let value = coerce_part(value, &entry.1, "value")?;
        if let Some((key, _)) = entries.get_key_value(&key) {
            return Err(format!("expected keys once each, found {key:?} twice"));
        }
        entries.insert(key, value);
    }
    Ok(Value::Map(entries.into_iter().collect()))
}

fn coerce_in_order(cells: &[Value], fields: &[NestedField]) -> Option<Result<Value, String>> {
    (cells.len() == fields.len()).then(|| {
        let cells = cells.iter().zip(fields).map(|(cell, field)| coerce_part(cell, &field.field_type, &field.name));
        cells.collect::<Result<Vec<_>, _>>().map(|cells| Value::Row(Row::new(cells)))
    })
}

/// A row by field names. Fields that are not there are NULL.
fn coerce_by_name(pairs: &[(Value, Value)], fields: &[NestedField]) -> Result<Value, String> {
    let is_field = |name: &Value| fields.iter().any(|field| name.as_str() == Some(&field.name));
    if let Some((unknown, _)) = pairs.iter().find(|(name, _)| !is_field(name)) {
        let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        return Err(format!("expected fields among [{}], found {unknown:?}", known.join(", ")));
    }
    let cells = fields.iter().map(|field| {
        let pair = pairs.iter().find(|(name, _)| name.as_str() == Some(&field.name));
        coerce_part(pair.map_or(&Value::Null, |(_, cell)| cell), &field.field_type, &field.name)
    });
    cells.collect::<Result<Vec<_>, _>>().map(|cells| Value::Row(Row::new(cells)))
}

#[cfg(test)]
mod tests {
    use super::super::cell_text::decimal_text;
    use super::*;

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

    fn read(json: &str, data_type: &str) -> Result<Value, String> {
        coerce(serde_json::from_str(json).unwrap(), &data_type.parse().unwrap())
    }

    fn strings<const COUNT: usize>(texts: [&str; COUNT]) -> Value {
        Value::Array(texts.map(Value::string).into())
    }

    #[test]
    fn nested_cells_take_their_types() {
        let date = Value::Date(1);
        assert_eq!(read(r#"["1970-01-02", null]"#, "ARRAY<DATE>").unwrap(), Value::Array([date, Value::Null].into()));
        let map = Value::Map([(Value::Int(-1), strings(["a"])), (Value::Int(2), Value::Null)].into());
        assert_eq!(read(r#"[[2, null], [-1, ["a"]]]"#, "MAP<INT, ARRAY<STRING>>").unwrap(), map);
        assert_eq!(read(r#"{"2": null, "-1": ["a"]}"#, "MAP<INT, ARRAY<STRING>>").unwrap(), map);
        let row = Value::Row(Row::new(vec![Value::Decimal(150), Value::Null]));
        let row_type = "ROW<price DECIMAL(5, 2), label STRING>";
        assert_eq!(read(r#"{"price": "1.5"}"#, row_type).unwrap(), row);
        assert_eq!(read(r#"["1.50", null]"#, row_type).unwrap(), row);
        assert_eq!(coerce(row.clone(), &row_type.parse().unwrap()).unwrap(), row);
    }

    #[test]
    fn nested_cells_that_do_not_fit_are_refused_with_what_was_expected() {
        for (json, data_type, found) in [
            ("[1, null]", "ARRAY<INT NOT NULL>", "NULL"),
            ("[300]", "ARRAY<TINYINT>", "Int(300)"),
            ("7", "ARRAY<INT>", "Int(7)"),
            ("[[null, 1]]", "MAP<INT, INT>", "NULL"),
            ("[[1, 1], [1, 2]]", "MAP<INT, INT>", "twice"),
            ("[[1, 1, 1]]", "MAP<INT, INT>", "Array"),
            (r#"{"z": 1}"#, "ROW<`x` INT>", "\"z\""),
            ("[1, 2]", "ROW<`x` INT>", "Array"),
            ("{}", "ROW<`x` INT NOT NULL>", "NULL"),
        ] {
            let error = read(json, data_type).unwrap_err();
            assert!(error.contains(data_type) && error.contains(found), "{error}");
        }
    }
}
