//! Values as text: as a cast to STRING spells them, and as Java prints them. Partition directories and the casts of
//! changed columns need both, and both must be those of every other Paimon.
//!
//! TIMESTAMP WITH LOCAL TIME ZONE is spelled in UTC: a reader that must be deterministic has no zone of its own.

use crate::contract::{DataType, Value, civil_from_days, decimal_text};

const MILLIS_PER_DAY: i64 = 86_400_000;

/// The value as `CAST(… AS STRING)` spells it; `None` for NULL and for a value that is not of the type.
pub(super) fn cast_text(data_type: &DataType, value: &Value) -> Option<String> {
    Some(match (data_type, value) {
        (DataType::Date, Value::Date(days)) => date_text(i64::from(*days)),
        (DataType::Time(precision), Value::Time(millis)) => time_text(i64::from(*millis), *precision),
        (
            DataType::Timestamp(precision) | DataType::TimestampLtz(precision),
            Value::Timestamp { millis, nanos_of_milli },
        ) => timestamp_text(*millis, *nanos_of_milli, usize::from(*precision)),
        (DataType::Array(element), Value::Array(cells)) => {
            let cells = cells.iter().map(|cell| nested_text(&element.data_type, cell));
            format!("[{}]", cells.collect::<Option<Vec<_>>>()?.join(", "))
        }
        (DataType::Map(entry), Value::Map(cells)) => {
            let pair = |(key, value): &(Value, Value)| {
                let key = nested_text(&entry.0.data_type, key)?;
                Some(format!("{key} -> {}", nested_text(&entry.1.data_type, value)?))
            };
            format!("{{{}}}", cells.iter().map(pair).collect::<Option<Vec<_>>>()?.join(", "))
        }
        (DataType::Row(fields), Value::Row(row)) if fields.len() == row.cells().len() => {
            let cells = fields.iter().zip(row.cells());
            let cells = cells.map(|(field, cell)| nested_text(&field.field_type.data_type, cell));
            format!("{{{}}}", cells.collect::<Option<Vec<_>>>()?.join(", "))
        }
        _ => return plain_text(data_type, value),
    })
}

fn nested_text(data_type: &DataType, value: &Value) -> Option<String> {
    if value.is_null() { Some("null".to_owned()) } else { cast_text(data_type, value) }
}

/// The value as Java prints it, the spelling of Paimon's older partition names; `None` for NULL, for nested values and
/// for a value that is not of the type.
pub(super) fn plain_text(data_type: &DataType, value: &Value) -> Option<String> {
    Some(match (data_type, value) {
        (DataType::Boolean, Value::Boolean(value)) => value.to_string(),
        (DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt, Value::Int(number)) => {
            number.to_string()
        }
        (DataType::Float, Value::Float(number)) => floating_text(&format!("{number:e}"), f64::from(*number)),
        (DataType::Double, Value::Double(number)) => floating_text(&format!("{number:e}"), *number),
        (DataType::Decimal(_, scale), Value::Decimal(unscaled)) => decimal_text(*unscaled, *scale),
        (DataType::Char(_) | DataType::VarChar(_), Value::String(text)) => text.to_string(),
        (DataType::Binary(_) | DataType::VarBinary(_), Value::Bytes(bytes)) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        (DataType::Date, Value::Date(number)) | (DataType::Time(_), Value::Time(number)) => number.to_string(),
        (DataType::Timestamp(_) | DataType::TimestampLtz(_), Value::Timestamp { millis, nanos_of_milli }) => {
            iso_timestamp_text(*millis, *nanos_of_milli)
        }
        _ => return None,
    })
}

/// `yyyy-mm-dd`.
fn date_text(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `hh:mm:ss`, and as many digits of the milliseconds as the precision allows and zeros at their end do not use up; at
/// least one if the precision is not 0.
fn time_text(millis: i64, precision: u8) -> String {
    let millis = millis.rem_euclid(MILLIS_PER_DAY);
    let clock = clock_text(millis / 1000);
    if precision == 0 {
        return clock;
    }
    let digits = format!("{:03}", millis % 1000);
    let digits = &digits[..digits.len().min(usize::from(precision))];
    let significant = digits.trim_end_matches('0');
    format!("{clock}.{}", if significant.is_empty() { "0" } else { significant })
}

/// `yyyy-mm-dd hh:mm:ss`, and at least `least_digits` digits of the second.
fn timestamp_text(millis: i64, nanos_of_milli: u32, least_digits: usize) -> String {
    let (days, within) = (millis.div_euclid(MILLIS_PER_DAY), millis.rem_euclid(MILLIS_PER_DAY));
    let mut fraction = format!("{:09}", within % 1000 * 1_000_000 + i64::from(nanos_of_milli));
    while fraction.len() > least_digits && fraction.ends_with('0') {
        fraction.pop();
    }
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{} {}{point}{fraction}", date_text(days), clock_text(within / 1000))
}

/// ISO 8601 with as few parts as Java writes: seconds only if they or their fraction are not zero, the fraction in
/// three, six or nine digits.
fn iso_timestamp_text(millis: i64, nanos_of_milli: u32) -> String {
    let (days, within) = (millis.div_euclid(MILLIS_PER_DAY), millis.rem_euclid(MILLIS_PER_DAY));
    let clock = clock_text(within / 1000);
    let nanos = within % 1000 * 1_000_000 + i64::from(nanos_of_milli);
    let time = match nanos {
        0 => clock.strip_suffix(":00").unwrap_or(&clock).to_owned(),
        _ if nanos % 1_000_000 == 0 => format!("{clock}.{:03}", nanos / 1_000_000),
        _ if nanos % 1_000 == 0 => format!("{clock}.{:06}", nanos / 1_000),
        _ => format!("{clock}.{nanos:09}"),
    };
    let date = date_text(days);
    let plus = if civil_from_days(days).0 > 9999 { "+" } else { "" };
    format!("{plus}{date}T{time}")
}

fn clock_text(seconds: i64) -> String {
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A FLOAT or DOUBLE as Java prints it. `scientific` has its shortest digits, as `1.25e-7`.
fn floating_text(scientific: &str, number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}Infinity");
    }
    let unsigned = scientific.trim_start_matches('-');
    let (mantissa, exponent) = unsigned.split_once('e').unwrap_or((unsigned, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let with_point = |digits: &str, point: usize| {
        let padded = format!("{digits:0<width$}", width = point + 1);
        let (whole, fraction) = padded.split_at(point);
        format!("{whole}.{fraction}")
    };
    match exponent {
        0..=6 => format!("{sign}{}", with_point(&digits, exponent as usize + 1)),
        -3..=-1 => format!("{sign}0.{}{digits}", "0".repeat((-1 - exponent) as usize)),
        _ => format!("{sign}{}E{exponent}", with_point(&digits, 1)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::contract::{FieldType, Row};

    #[test]
    fn numbers_are_spelled_as_java_prints_them() {
        for (number, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (100.0, "100.0"),
            (9_999_999.5, "9999999.5"),
            (1e7, "1.0E7"),
            (1.25e300, "1.25E300"),
            (0.001, "0.001"),
            (0.012, "0.012"),
            (0.00012, "1.2E-4"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(plain_text(&DataType::Double, &Value::Double(number)).unwrap(), expected);
        }
        assert_eq!(plain_text(&DataType::Float, &Value::Float(0.1)).unwrap(), "0.1");
    }

    #[test]
    fn times_keep_the_digits_that_their_precision_promises() {
        let half_past = |nanos_of_milli| Value::Timestamp { millis: -1_500, nanos_of_milli };
        for (data_type, value, expected) in [
            ("TIMESTAMP(0)", Value::Timestamp { millis: 0, nanos_of_milli: 0 }, "1970-01-01 00:00:00"),
            ("TIMESTAMP(3)", half_past(0), "1969-12-31 23:59:58.500"),
            ("TIMESTAMP(9)", half_past(1), "1969-12-31 23:59:58.500000001"),
            ("TIME(0)", Value::Time(1_500), "00:00:01"),
            ("TIME(3)", Value::Time(1_000), "00:00:01.0"),
            ("TIME(3)", Value::Time(1_050), "00:00:01.05"),
            ("TIME(1)", Value::Time(1_059), "00:00:01.0"),
        ] {
            assert_eq!(cast_text(&data_type.parse().unwrap(), &value).unwrap(), expected, "{data_type}");
        }
    }

    #[test]
    fn nested_values_are_spelled_from_the_inside() {
        let nullable = |data_type| FieldType { data_type, nullable: true };
        let dates = DataType::Array(Arc::new(nullable(DataType::Date)));
        let map = DataType::Map(Arc::new((nullable(DataType::STRING), nullable(dates))));
        let cell = Value::Array(Arc::from([Value::Date(0), Value::Null]));
        let cell = Value::Map(Arc::from([(Value::string("k"), cell)]));
        assert_eq!(cast_text(&map, &cell).unwrap(), "{k -> [1970-01-01, null]}");
        assert_eq!(cast_text(&map, &Value::Row(Row::new(Vec::new()))), None);
    }
}
