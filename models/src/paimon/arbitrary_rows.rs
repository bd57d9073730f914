//! Rows of any types for property tests of the formats.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::contract::{DataType, Row, Value};

/// Every type, the parametrised ones on both sides of each change of layout.
pub const TYPES: [DataType; 25] = [
    DataType::Boolean,
    DataType::TinyInt,
    DataType::SmallInt,
    DataType::Int,
    DataType::BigInt,
    DataType::Float,
    DataType::Double,
    DataType::Decimal(9, 2),
    DataType::Decimal(18, 3),
    DataType::Decimal(19, 0),
    DataType::Decimal(38, 10),
    DataType::Char(3),
    DataType::VarChar(20),
    DataType::STRING,
    DataType::Binary(4),
    DataType::VarBinary(20),
    DataType::BYTES,
    DataType::Date,
    DataType::Time(0),
    DataType::Time(3),
    DataType::Timestamp(0),
    DataType::Timestamp(3),
    DataType::Timestamp(6),
    DataType::TimestampLtz(3),
    DataType::TimestampLtz(6),
];

/// A cell of the type, within what the type's precision can hold; not NULL.
pub fn cell(data_type: &DataType) -> BoxedStrategy<Value> {
    match data_type.clone() {
        DataType::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        DataType::TinyInt => any::<i8>().prop_map(|number| Value::Int(number.into())).boxed(),
        DataType::SmallInt => any::<i16>().prop_map(|number| Value::Int(number.into())).boxed(),
        DataType::Int => any::<i32>().prop_map(|number| Value::Int(number.into())).boxed(),
        DataType::BigInt => any::<i64>().prop_map(Value::Int).boxed(),
        DataType::Float => any::<f32>().prop_map(Value::Float).boxed(),
        DataType::Double => any::<f64>().prop_map(Value::Double).boxed(),
        DataType::Decimal(precision, _) => {
            let bound = 10_i128.pow(precision.into());
            (-bound + 1..bound).prop_map(Value::Decimal).boxed()
        }
        DataType::Char(length) | DataType::VarChar(length) => vec(any::<char>(), 0..=length.min(20) as usize)
            .prop_map(|text| Value::String(Arc::from(text.into_iter().collect::<String>())))
            .boxed(),
        DataType::Binary(length) | DataType::VarBinary(length) => {
            vec(any::<u8>(), 0..=length.min(20) as usize).prop_map(|bytes| Value::Bytes(Arc::from(bytes))).boxed()
        }
        DataType::Date => any::<i32>().prop_map(Value::Date).boxed(),
        DataType::Time(precision) => {
            let unit = if precision >= 3 { 1 } else { 1000 };
            (0..86_400_000 / unit).prop_map(move |units| Value::Time(units * unit)).boxed()
        }
        DataType::Timestamp(precision) | DataType::TimestampLtz(precision) => {
            let nano_unit = 10_u32.pow(9 - u32::from(precision.clamp(3, 9)));
            // The years −1000 to 5000, before and after the epoch.
            (-100_000_000_000_000_i64..100_000_000_000_000, 0..1_000_000 / nano_unit)
                .prop_map(move |(millis, units)| Value::Timestamp { millis, nanos_of_milli: units * nano_unit })
                .boxed()
        }
        DataType::Array(_) | DataType::Map(_) | DataType::Row(_) => unreachable!("not among TYPES"),
    }
}

/// Columns (type, nullable) and at most so many rows of them.
pub fn typed_rows(most_rows: usize) -> impl Strategy<Value = (Vec<(DataType, bool)>, Vec<Row>)> {
    vec((select(&TYPES), any::<bool>()), 1..6).prop_flat_map(move |columns| {
        let cells: Vec<BoxedStrategy<Value>> = columns
            .iter()
            .map(|(data_type, nullable)| {
                let present = cell(data_type);
                if *nullable { prop_oneof![1 => Just(Value::Null), 4 => present].boxed() } else { present }
            })
            .collect();
        (Just(columns), vec(cells.prop_map(Row::new), 0..=most_rows))
    })
}
