//! Arithmetic on cells, as aggregate functions need it: in the width of the column's type.
//!
//! Integers wrap around at their type's width and decimals that outgrow theirs become NULL, as in Paimon.

use crate::contract::{DataType, Value};

use super::decimals::{multiply_then_divide, quotient_ends};
use super::{FormatError, FormatResult};

/// Whether the type has an arithmetic.
pub(super) fn is_numeric(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::TinyInt
            | DataType::SmallInt
            | DataType::Int
            | DataType::BigInt
            | DataType::Float
            | DataType::Double
            | DataType::Decimal(..)
    )
}

/// The sum of two cells that are not NULL.
pub(super) fn sum(data_type: &DataType, a: &Value, b: &Value) -> FormatResult<Value> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Ok(wrapped(data_type, a.wrapping_add(*b))),
        (Value::Float(a), Value::Float(b)) => Ok(Value::Float(a + b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
        (Value::Decimal(a), Value::Decimal(b)) => Ok(within_precision(data_type, a.checked_add(*b))),
        _ => Err(not_numbers(data_type, a, b)),
    }
}

/// The negative of a cell; NULL stays NULL.
pub(super) fn negative(data_type: &DataType, cell: &Value) -> FormatResult<Value> {
    match cell {
        Value::Null => Ok(Value::Null),
        Value::Int(number) => Ok(wrapped(data_type, number.wrapping_neg())),
        Value::Float(number) => Ok(Value::Float(-number)),
        Value::Double(number) => Ok(Value::Double(-number)),
        Value::Decimal(number) => Ok(Value::Decimal(-number)),
        _ => Err(not_numbers(data_type, cell, cell)),
    }
}

/// `a - b` of two cells that are not NULL.
pub(super) fn difference(data_type: &DataType, a: &Value, b: &Value) -> FormatResult<Value> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Ok(wrapped(data_type, a.wrapping_sub(*b))),
        (Value::Float(a), Value::Float(b)) => Ok(Value::Float(a - b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Value::Decimal(a), Value::Decimal(b)) => Ok(within_precision(data_type, a.checked_sub(*b))),
        _ => Err(not_numbers(data_type, a, b)),
    }
}

/// The product of two cells that are not NULL. Decimals are rounded to the column's scale, halves away from zero.
pub(super) fn product(data_type: &DataType, a: &Value, b: &Value) -> FormatResult<Value> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Ok(wrapped(data_type, a.wrapping_mul(*b))),
        (Value::Float(a), Value::Float(b)) => Ok(Value::Float(a * b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
        (Value::Decimal(a), Value::Decimal(b)) => {
            Ok(within_precision(data_type, multiply_then_divide(*a, *b, unit_of(data_type))))
        }
        _ => Err(not_numbers(data_type, a, b)),
    }
}

/// `a / b` of two cells that are not NULL. Integers are cut off; decimals are rounded as products are.
pub(super) fn quotient(data_type: &DataType, a: &Value, b: &Value) -> FormatResult<Value> {
    match (a, b) {
        (Value::Int(_), Value::Int(0)) | (Value::Decimal(_), Value::Decimal(0)) => {
            Err(FormatError::new("expected a divisor other than 0 to take back from a product, found 0"))
        }
        (Value::Int(a), Value::Int(b)) => Ok(wrapped(data_type, a.wrapping_div(*b))),
        (Value::Float(a), Value::Float(b)) => Ok(Value::Float(a / b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
        (Value::Decimal(a), Value::Decimal(b)) if quotient_ends(*a, *b) => {
            Ok(within_precision(data_type, multiply_then_divide(*a, unit_of(data_type), *b)))
        }
        (Value::Decimal(a), Value::Decimal(b)) => {
            Err(FormatError::new(format!("expected a quotient with finitely many digits, found {a} / {b}")))
        }
        _ => Err(not_numbers(data_type, a, b)),
    }
}

fn wrapped(data_type: &DataType, number: i64) -> Value {
    Value::Int(match data_type {
        DataType::TinyInt => i64::from(number as i8),
        DataType::SmallInt => i64::from(number as i16),
        DataType::Int => i64::from(number as i32),
        _ => number,
    })
}

/// The unscaled number of 1.
fn unit_of(data_type: &DataType) -> i128 {
    match data_type {
        DataType::Decimal(_, scale) => 10_i128.pow((*scale).into()),
        _ => 1,
    }
}

fn within_precision(data_type: &DataType, unscaled: Option<i128>) -> Value {
    let DataType::Decimal(precision, _) = data_type else {
        return Value::Null;
    };
    match unscaled {
        Some(number) if number.unsigned_abs() < 10_u128.pow((*precision).into()) => Value::Decimal(number),
        _ => Value::Null,
    }
}

fn not_numbers(data_type: &DataType, a: &Value, b: &Value) -> FormatError {
    FormatError::new(format!("expected two cells of type {data_type}, found {a:?} and {b:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_at_their_width() {
        let (most, one) = (Value::Int(127), Value::Int(1));
        assert_eq!(sum(&DataType::TinyInt, &most, &one), Ok(Value::Int(-128)));
        assert_eq!(sum(&DataType::SmallInt, &most, &one), Ok(Value::Int(128)));
        assert_eq!(sum(&DataType::BigInt, &Value::Int(i64::MAX), &one), Ok(Value::Int(i64::MIN)));
        assert_eq!(product(&DataType::TinyInt, &most, &Value::Int(2)), Ok(Value::Int(-2)));
        assert_eq!(quotient(&DataType::TinyInt, &Value::Int(-128), &Value::Int(-1)), Ok(Value::Int(-128)));
        assert!(quotient(&DataType::Int, &one, &Value::Int(0)).is_err());
    }

    #[test]
    fn decimals_keep_their_scale_and_outgrow_their_precision_to_null() {
        let money = DataType::Decimal(5, 2);
        let cell = Value::Decimal;
        assert_eq!(sum(&money, &cell(99_999), &cell(1)), Ok(Value::Null));
        assert_eq!(difference(&money, &cell(100), &cell(250)), Ok(cell(-150)));
        assert_eq!(product(&money, &cell(150), &cell(15)), Ok(cell(23)), "1.50 * 0.15 = 0.225");
        assert_eq!(quotient(&money, &cell(100), &cell(800)), Ok(cell(13)), "1.00 / 8.00 = 0.125");
        assert!(quotient(&money, &cell(100), &cell(300)).is_err());
    }
}
