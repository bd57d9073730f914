//! Rows of any types, nested ones among them, for property tests of the formats.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::contract::{DataType, FieldType, NestedField, Row, Value};

/// Every simple type, the parametrised ones on both sides of each change of layout.
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

/// A type: mostly a simple one, else parts within parts, at most three deep.
pub fn any_type() -> impl Strategy<Value = DataType> {
    let simple = select(&TYPES);
    let nested = simple.clone().prop_recursive(2, 8, 3, |part| {
        let field_type = (part, any::<bool>()).prop_map(|(data_type, nullable)| FieldType { data_type, nullable });
        let fields = |types: Vec<FieldType>| {
            let field = |(position, field_type)| NestedField { id: 100, name: format!("f{position}"), field_type };
            DataType::Row(types.into_iter().enumerate().map(field).collect())
        };
        prop_oneof![
            field_type.clone().prop_map(|element| DataType::Array(Arc::new(element))),
            (field_type.clone(), field_type.clone()).prop_map(|entry| DataType::Map(Arc::new(entry))),
            vec(field_type, 1..4).prop_map(fields),
        ]
    });
    prop_oneof![3 => simple, 2 => nested]
}

fn cell_of(field_type: &FieldType) -> BoxedStrategy<Value> {
    let present = cell(&field_type.data_type);
    if field_type.nullable { prop_oneof![1 => Just(Value::Null), 4 => present].boxed() } else { present }
}

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
        DataType::Array(element) => {
            vec(cell_of(&element), 0..4).prop_map(|cells| Value::Array(Arc::from(cells))).boxed()
        }
        DataType::Map(entry) => vec((cell(&entry.0.data_type), cell_of(&entry.1)), 0..4).prop_map(Value::map).boxed(),
        DataType::Row(fields) => {
            let cells: Vec<_> = fields.iter().map(|field| cell_of(&field.field_type)).collect();
            cells.prop_map(|cells| Value::Row(Row::new(cells))).boxed()
        }
    }
}

/// Columns (type, nullable) and at most so many rows of them.
pub fn typed_rows(most_rows: usize) -> impl Strategy<Value = (Vec<(DataType, bool)>, Vec<Row>)> {
    vec((any_type(), any::<bool>()), 1..6).prop_flat_map(move |columns| {
        let cells: Vec<BoxedStrategy<Value>> = columns
            .iter()
            .map(|(data_type, nullable)| cell_of(&FieldType { data_type: data_type.clone(), nullable: *nullable }))
            .collect();
        (Just(columns), vec(cells.prop_map(Row::new), 0..=most_rows))
    })
}
