//! Cells as data files store them: the numbers and bytes that Parquet and Avro share.

use std::sync::Arc;

use crate::contract::{DataType, Value};

use super::binary_row::from_big_endian;

/// What a stored time or timestamp counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl TimeUnit {
    /// The unit that timestamps of this precision are stored in, as Paimon chooses it. More than microseconds has no
    /// 8-byte form there.
    pub fn of_precision(precision: u8) -> Option<Self> {
        match precision {
            0..=3 => Some(Self::Milliseconds),
            4..=6 => Some(Self::Microseconds),
            _ => None,
        }
    }

    /// How many there are in a millisecond.
    fn per_millisecond(self) -> i64 {
        match self {
            Self::Milliseconds => 1,
            Self::Microseconds => 1_000,
            Self::Nanoseconds => 1_000_000,
        }
    }

    /// A timestamp in this unit; `None` if it has finer digits or does not fit.
    pub fn count(self, millis: i64, nanos_of_milli: u32) -> Option<i64> {
        let units = self.per_millisecond();
        let nanos_per_unit = 1_000_000 / units;
        let within = i64::from(nanos_of_milli);
        (within % nanos_per_unit == 0).then_some(millis.checked_mul(units)?.checked_add(within / nanos_per_unit)?)
    }

    /// The timestamp of a count in this unit.
    pub fn timestamp(self, count: i64) -> Value {
        let units = self.per_millisecond();
        let nanos_of_milli = (count.rem_euclid(units) * (1_000_000 / units)) as u32;
        Value::Timestamp { millis: count.div_euclid(units), nanos_of_milli }
    }
}

/// The cell of a stored integer; `None` if the type is not stored so or the number is out of its range. `unit` is what
/// a time or timestamp counts.
pub fn cell_of_integer(data_type: &DataType, unit: TimeUnit, number: i64) -> Option<Value> {
    let within = |low: i64, high: i64| (low..=high).contains(&number).then_some(Value::Int(number));
    match data_type {
        DataType::TinyInt => within(i8::MIN.into(), i8::MAX.into()),
        DataType::SmallInt => within(i16::MIN.into(), i16::MAX.into()),
        DataType::Int => within(i32::MIN.into(), i32::MAX.into()),
        DataType::BigInt => Some(Value::Int(number)),
        DataType::Decimal(..) => Some(Value::Decimal(number.into())),
        DataType::Date => i32::try_from(number).ok().map(Value::Date),
        DataType::Time(_) => i32::try_from(number / unit.per_millisecond()).ok().map(Value::Time),
        DataType::Timestamp(_) | DataType::TimestampLtz(_) => Some(unit.timestamp(number)),
        _ => None,
    }
}

/// The cell of stored bytes; `None` if the type is not stored so or the bytes are none of its values.
pub fn cell_of_bytes(data_type: &DataType, bytes: &[u8]) -> Option<Value> {
    match data_type {
        DataType::Char(_) | DataType::VarChar(_) => std::str::from_utf8(bytes).ok().map(Value::string),
        DataType::Binary(_) | DataType::VarBinary(_) => Some(Value::Bytes(Arc::from(bytes))),
        DataType::Decimal(..) => from_big_endian(bytes).map(Value::Decimal),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_before_the_epoch_count_back() {
        let value = TimeUnit::Microseconds.timestamp(-1);
        assert_eq!(value, Value::Timestamp { millis: -1, nanos_of_milli: 999_000 });
        assert_eq!(TimeUnit::Microseconds.count(-1, 999_000), Some(-1));
    }

    #[test]
    fn finer_digits_and_overflow_are_not_counted() {
        assert_eq!(TimeUnit::Milliseconds.count(1, 1), None);
        assert_eq!(TimeUnit::Microseconds.count(1, 999), None);
        assert_eq!(TimeUnit::Nanoseconds.count(i64::MAX, 0), None);
    }
}
