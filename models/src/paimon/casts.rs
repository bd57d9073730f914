//! Casts: which types a column may be changed to, and what its older values become then.
//!
//! The rules are Paimon's. Where Java has quirks that lose information without a word (integers wrap around, decimals
//! that do not fit become NULL) they are kept, because the rows that a reader returns must not depend on who reads.
//! Zones are UTC. Nothing here knows about columns or files.

mod numbers;
mod text;

use std::sync::Arc;

use crate::contract::{DataType, Value};

use self::numbers::{decimal_of_text, double_of_decimal, float_of_decimal, rescaled, wrapped};
use self::text::{parse_boolean, parse_date, parse_floating, parse_integer, parse_time, parse_timestamp};
use super::value_text::cast_text;
use super::{FormatError, FormatResult};

const MILLIS_PER_DAY: i64 = 86_400_000;

/// What kind of type it is, as far as casts care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Boolean,
    /// With its width in bits.
    Integer(u32),
    Float,
    Double,
    Decimal,
    Character,
    Binary,
    Date,
    Time,
    Timestamp,
    Nested,
}

impl Family {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::TinyInt => Self::Integer(8),
            DataType::SmallInt => Self::Integer(16),
            DataType::Int => Self::Integer(32),
            DataType::BigInt => Self::Integer(64),
            DataType::Float => Self::Float,
            DataType::Double => Self::Double,
            DataType::Decimal(..) => Self::Decimal,
            DataType::Char(_) | DataType::VarChar(_) => Self::Character,
            DataType::Binary(_) | DataType::VarBinary(_) => Self::Binary,
            DataType::Date => Self::Date,
            DataType::Time(_) => Self::Time,
            DataType::Timestamp(_) | DataType::TimestampLtz(_) => Self::Timestamp,
            DataType::Array(_) | DataType::Map(_) | DataType::Row(_) => Self::Nested,
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Integer(_) | Self::Float | Self::Double | Self::Decimal)
    }
}

/// Whether values of one type can be cast to another. `explicit` allows casts that may lose information.
pub(super) fn can_cast(from: &DataType, to: &DataType, explicit: bool) -> bool {
    from == to || has_rule(from, to) && (explicit || is_implicit(from, to))
}

fn has_rule(from: &DataType, to: &DataType) -> bool {
    match (Family::of(from), Family::of(to)) {
        (from, Family::Decimal | Family::Float | Family::Double | Family::Integer(_)) if from.is_number() => true,
        (Family::Boolean, to) => to.is_number() || to == Family::Character,
        (Family::Integer(_), Family::Boolean) | (Family::Integer(32 | 64), Family::Timestamp) => true,
        (Family::Character, Family::Nested) => false,
        (_, Family::Character) | (Family::Character, _) | (Family::Binary, Family::Binary) => true,
        (Family::Timestamp, Family::Timestamp | Family::Date | Family::Time | Family::Integer(32 | 64)) => true,
        (Family::Date | Family::Time, Family::Timestamp) => true,
        _ => false,
    }
}

/// Whether the cast needs no one's consent: it widens, or Paimon treats it so.
fn is_implicit(from: &DataType, to: &DataType) -> bool {
    let zoned = |data_type: &DataType| matches!(data_type, DataType::TimestampLtz(_));
    match (Family::of(from), Family::of(to)) {
        (Family::Integer(from), Family::Integer(to)) => from <= to,
        (from, Family::Decimal | Family::Double) => from.is_number(),
        (from, Family::Float) => from.is_number() && from != Family::Double,
        (Family::Character, Family::Character) => {
            matches!(to, DataType::VarChar(_)) || matches!(from, DataType::Char(_))
        }
        (Family::Binary, Family::Binary) => matches!(to, DataType::VarBinary(_)) || matches!(from, DataType::Binary(_)),
        (Family::Timestamp, Family::Timestamp) => true,
        (Family::Timestamp, Family::Date | Family::Time) => !zoned(from),
        _ => false,
    }
}

/// The value as one of the other type. An error says which value has none there.
pub(super) fn cast(value: &Value, from: &DataType, to: &DataType) -> FormatResult<Value> {
    if value.is_null() || from == to {
        return Ok(value.clone());
    }
    cast_present(value, from, to)
        .ok_or_else(|| FormatError::new(format!("expected a {from} that can be cast to {to}, found {value:?}")))
}

fn cast_present(value: &Value, from: &DataType, to: &DataType) -> Option<Value> {
    if !has_rule(from, to) {
        return None;
    }
    match (value, to) {
        (Value::Bytes(bytes), DataType::Char(_) | DataType::VarChar(_)) => {
            Some(Value::string(&String::from_utf8_lossy(bytes)))
        }
        (_, DataType::Char(_) | DataType::VarChar(_)) => Some(Value::string(&fitted_text(cast_text(from, value)?, to))),
        (Value::String(text), _) => cast_string(text, to),
        (Value::Boolean(value), _) => cast_integer(i64::from(*value), to),
        (Value::Int(number), _) => cast_integer(*number, to),
        (Value::Float(number), DataType::Float) => Some(Value::Float(*number)),
        (Value::Float(number), _) => cast_floating(f64::from(*number), to),
        (Value::Double(number), _) => cast_floating(*number, to),
        (Value::Decimal(unscaled), _) => cast_decimal(*unscaled, from, to),
        (Value::Bytes(bytes), DataType::Binary(_) | DataType::VarBinary(_)) => Some(fitted_bytes(bytes, to)),
        (Value::Date(days), _) => Some(midnight(i64::from(*days) * MILLIS_PER_DAY)),
        (Value::Time(millis), _) => Some(midnight(i64::from(*millis))),
        (Value::Timestamp { millis, nanos_of_milli }, _) => cast_timestamp(*millis, *nanos_of_milli, to),
        _ => None,
    }
}

fn midnight(millis: i64) -> Value {
    Value::Timestamp { millis, nanos_of_milli: 0 }
}

fn cast_integer(number: i64, to: &DataType) -> Option<Value> {
    Some(match to {
        DataType::Boolean => Value::Boolean(number != 0),
        DataType::Float => Value::Float(number as f32),
        DataType::Double => Value::Double(number as f64),
        DataType::Decimal(precision, scale) => decimal_or_null(rescaled(i128::from(number), 0, *precision, *scale)),
        // The number counts seconds.
        DataType::Timestamp(_) | DataType::TimestampLtz(_) => midnight(number.wrapping_mul(1000)),
        _ => Value::Int(wrapped(number, to)?),
    })
}

fn cast_floating(number: f64, to: &DataType) -> Option<Value> {
    Some(match to {
        DataType::Float => Value::Float(number as f32),
        DataType::Double => Value::Double(number),
        DataType::Decimal(precision, scale) => {
            decimal_or_null(decimal_of_text(&format!("{number:e}"), *precision, *scale)?)
        }
        DataType::BigInt => Value::Int(number as i64),
        // Narrow integers are cut off a 32-bit one, which is as near as it gets.
        _ => Value::Int(wrapped(i64::from(number as i32), to)?),
    })
}

fn cast_decimal(unscaled: i128, from: &DataType, to: &DataType) -> Option<Value> {
    let DataType::Decimal(_, from_scale) = from else {
        return None;
    };
    Some(match to {
        DataType::Decimal(precision, scale) => decimal_or_null(rescaled(unscaled, *from_scale, *precision, *scale)),
        DataType::Float => Value::Float(float_of_decimal(unscaled, *from_scale)),
        DataType::Double => Value::Double(double_of_decimal(unscaled, *from_scale)),
        _ => Value::Int(wrapped((unscaled / 10_i128.pow(u32::from(*from_scale))) as i64, to)?),
    })
}

fn decimal_or_null(unscaled: Option<i128>) -> Value {
    unscaled.map_or(Value::Null, Value::Decimal)
}

fn cast_timestamp(millis: i64, nanos_of_milli: u32, to: &DataType) -> Option<Value> {
    Some(match to {
        DataType::Date => Value::Date(i32::try_from(millis.div_euclid(MILLIS_PER_DAY)).ok()?),
        DataType::Time(_) => Value::Time(millis.rem_euclid(MILLIS_PER_DAY) as i32),
        DataType::Timestamp(precision) | DataType::TimestampLtz(precision) => {
            truncated_timestamp(millis, nanos_of_milli, *precision)
        }
        _ => Value::Int(wrapped(millis / 1000, to)?),
    })
}

/// The timestamp without the digits that the precision does not have.
fn truncated_timestamp(millis: i64, nanos_of_milli: u32, precision: u8) -> Value {
    let power = |digits: u8| 10_i64.pow(u32::from(digits));
    if precision < 3 {
        return midnight(millis - millis.rem_euclid(power(3 - precision)));
    }
    let cut = power(9_u8.saturating_sub(precision)) as u32;
    Value::Timestamp { millis, nanos_of_milli: nanos_of_milli - nanos_of_milli % cut }
}

fn cast_string(text: &str, to: &DataType) -> Option<Value> {
    Some(match to {
        DataType::Boolean => Value::Boolean(parse_boolean(text)?),
        DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt => {
            // A number that does not fit is no number of the type: text is read, not cut.
            let number = parse_integer(text)?;
            Value::Int(wrapped(number, to).filter(|kept| *kept == number)?)
        }
        DataType::Float => Value::Float(parse_floating(text)?.parse().ok()?),
        DataType::Double => Value::Double(parse_floating(text)?.parse().ok()?),
        DataType::Decimal(precision, scale) => decimal_or_null(decimal_of_text(text, *precision, *scale)?),
        DataType::Binary(_) | DataType::VarBinary(_) => fitted_bytes(text.as_bytes(), to),
        DataType::Date => Value::Date(parse_date(text)?),
        DataType::Time(_) => Value::Time(parse_time(text)?),
        DataType::Timestamp(precision) => {
            let (millis, nanos_of_milli) = parse_timestamp(text, Some(*precision))?;
            truncated_timestamp(millis, nanos_of_milli, *precision)
        }
        DataType::TimestampLtz(precision) => {
            let (millis, nanos_of_milli) = parse_timestamp(text, None)?;
            truncated_timestamp(millis, nanos_of_milli, *precision)
        }
        _ => return None,
    })
}

/// Cut to the type's length in characters; a CHAR is filled up with blanks.
fn fitted_text(text: String, to: &DataType) -> String {
    match to {
        DataType::Char(length) => {
            let length = *length as usize;
            let missing = length.saturating_sub(text.chars().take(length).count());
            let mut fitted: String = text.chars().take(length).collect();
            fitted.extend(std::iter::repeat_n(' ', missing));
            fitted
        }
        DataType::VarChar(length) => match text.char_indices().nth(*length as usize) {
            Some((end, _)) => text[..end].to_owned(),
            None => text,
        },
        _ => text,
    }
}

/// Cut to the type's length in bytes; a BINARY is filled up with zeros.
fn fitted_bytes(bytes: &[u8], to: &DataType) -> Value {
    let (length, filled) = match to {
        DataType::Binary(length) => (*length as usize, true),
        DataType::VarBinary(length) => (*length as usize, false),
        _ => (bytes.len(), false),
    };
    let mut fitted = bytes[..bytes.len().min(length)].to_vec();
    if filled {
        fitted.resize(length, 0);
    }
    Value::Bytes(Arc::from(fitted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data_type(text: &str) -> DataType {
        text.parse().unwrap()
    }

    fn timestamp(millis: i64, nanos_of_milli: u32) -> Value {
        Value::Timestamp { millis, nanos_of_milli }
    }

    #[test]
    fn values_become_what_java_makes_of_them() {
        for (from, value, to, expected) in [
            ("INT", Value::Int(383), "TINYINT", Value::Int(127)),
            ("TINYINT", Value::Int(-128), "BIGINT", Value::Int(-128)),
            ("BIGINT", Value::Int(1024), "DOUBLE", Value::Double(1024.0)),
            ("INT", Value::Int(7), "DECIMAL(4, 2)", Value::Decimal(700)),
            ("INT", Value::Int(700), "DECIMAL(4, 2)", Value::Null),
            ("INT", Value::Int(-2), "BOOLEAN", Value::Boolean(true)),
            ("INT", Value::Int(-1), "TIMESTAMP(3)", timestamp(-1000, 0)),
            ("BOOLEAN", Value::Boolean(true), "SMALLINT", Value::Int(1)),
            ("FLOAT", Value::Float(1.5), "DOUBLE", Value::Double(1.5)),
            ("DOUBLE", Value::Double(1e300), "INT", Value::Int(i64::from(i32::MAX))),
            ("DOUBLE", Value::Double(-0.125), "DECIMAL(5, 2)", Value::Decimal(-13)),
            ("DOUBLE", Value::Double(f64::NAN), "BIGINT", Value::Int(0)),
            ("DECIMAL(5, 2)", Value::Decimal(-12_345), "DECIMAL(10, 3)", Value::Decimal(-123_450)),
            ("DECIMAL(5, 2)", Value::Decimal(12_345), "DECIMAL(4, 1)", Value::Decimal(1_235)),
            ("DECIMAL(5, 2)", Value::Decimal(-199), "INT", Value::Int(-1)),
            ("DECIMAL(5, 2)", Value::Decimal(150), "FLOAT", Value::Float(1.5)),
            ("INT", Value::Int(-42), "STRING", Value::string("-42")),
            ("INT", Value::Int(12_345), "CHAR(3)", Value::string("123")),
            ("BOOLEAN", Value::Boolean(false), "CHAR(7)", Value::string("false  ")),
            ("STRING", Value::string("süß!"), "VARCHAR(3)", Value::string("süß")),
            ("STRING", Value::string("Yes"), "BOOLEAN", Value::Boolean(true)),
            ("STRING", Value::string("-12.9"), "INT", Value::Int(-12)),
            ("STRING", Value::string("1.25E1"), "DECIMAL(5, 1)", Value::Decimal(125)),
            ("STRING", Value::string("2024-2-29"), "DATE", Value::Date(19_782)),
            ("STRING", Value::string("1970-01-01T00:00:01.2345"), "TIMESTAMP(3)", timestamp(1_234, 0)),
            ("STRING", Value::string("ab"), "BINARY(3)", Value::Bytes(Arc::from(*b"ab\0"))),
            ("DATE", Value::Date(-1), "TIMESTAMP(3)", timestamp(-MILLIS_PER_DAY, 0)),
            ("TIME(3)", Value::Time(5), "TIMESTAMP(3)", timestamp(5, 0)),
            ("TIMESTAMP(6)", timestamp(-1, 999_000), "TIMESTAMP(0)", timestamp(-1000, 0)),
            ("TIMESTAMP(9)", timestamp(1, 123_456), "TIMESTAMP(6) WITH LOCAL TIME ZONE", timestamp(1, 123_000)),
            ("TIMESTAMP(3)", timestamp(-1, 0), "DATE", Value::Date(-1)),
            ("TIMESTAMP(3)", timestamp(-1, 0), "TIME(3)", Value::Time(86_399_999)),
            ("TIMESTAMP(3)", timestamp(61_999, 0), "BIGINT", Value::Int(61)),
            ("BYTES", Value::Bytes(Arc::from(*b"abc")), "VARBINARY(2)", Value::Bytes(Arc::from(*b"ab"))),
            ("BYTES", Value::Bytes(Arc::from(*b"abc")), "STRING", Value::string("abc")),
            ("INT", Value::Null, "STRING", Value::Null),
        ] {
            assert_eq!(cast(&value, &data_type(from), &data_type(to)), Ok(expected), "{value:?} {from} -> {to}");
        }
    }

    #[test]
    fn text_that_is_no_value_of_the_type_is_an_error() {
        for (text, to) in [
            ("300", "TINYINT"),
            ("", "INT"),
            ("-", "INT"),
            (" 1", "INT"),
            ("99999999999999999999", "BIGINT"),
            ("maybe", "BOOLEAN"),
            ("1e5x", "DECIMAL(5, 1)"),
            ("inf", "DOUBLE"),
            ("2023-02-29", "DATE"),
            ("noon", "TIME(0)"),
            ("yesterday", "TIMESTAMP(3)"),
        ] {
            let failure = cast(&Value::string(text), &DataType::STRING, &data_type(to)).unwrap_err();
            assert!(failure.to_string().contains(to), "{failure}");
        }
    }

    #[test]
    fn what_may_lose_information_needs_consent_and_some_things_never_go() {
        for (from, to, implicit, explicit) in [
            ("INT", "BIGINT", true, true),
            ("BIGINT", "INT", false, true),
            ("INT", "DECIMAL(3, 0)", true, true),
            ("DOUBLE", "FLOAT", false, true),
            ("DECIMAL(5, 2)", "FLOAT", true, true),
            ("CHAR(3)", "STRING", true, true),
            ("STRING", "CHAR(3)", false, true),
            ("VARCHAR(9)", "VARCHAR(3)", true, true),
            ("BINARY(3)", "BYTES", true, true),
            ("BYTES", "BINARY(3)", false, true),
            ("TIMESTAMP(3)", "DATE", true, true),
            ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "DATE", false, true),
            ("DATE", "STRING", false, true),
            ("DATE", "DATE", true, true),
            ("DATE", "INT", false, false),
            ("FLOAT", "TIMESTAMP(3)", false, false),
            ("FLOAT", "BOOLEAN", false, false),
            ("TIME(0)", "TIME(3)", false, false),
            ("BOOLEAN", "DATE", false, false),
            ("TIMESTAMP(3)", "DOUBLE", false, false),
            ("INT", "BYTES", false, false),
        ] {
            let (from, to) = (data_type(from), data_type(to));
            let found = (can_cast(&from, &to, false), can_cast(&from, &to, true));
            assert_eq!(found, (implicit, explicit), "{from} -> {to}");
        }
    }
}
