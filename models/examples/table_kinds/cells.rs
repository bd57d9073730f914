//! Cells as JSON, where the type is needed to write them: decimals have a scale, rows have names.

use models::contract::{DataType, Row, TableSchema, Value, decimal_text};
use serde_json::{Map, Value as Json, json};

/// A row as an object by column name.
pub fn row_json(schema: &TableSchema, row: &Row) -> Json {
    let columns = schema.columns.iter().zip(row.cells());
    columns
        .map(|(column, cell)| (column.name.clone(), cell_json(&column.data_type, cell)))
        .collect::<Map<_, _>>()
        .into()
}

fn cell_json(data_type: &DataType, cell: &Value) -> Json {
    match (data_type, cell) {
        (DataType::Decimal(_, scale), Value::Decimal(unscaled)) => json!(decimal_text(*unscaled, *scale)),
        (DataType::Array(element), Value::Array(cells)) => {
            cells.iter().map(|cell| cell_json(&element.data_type, cell)).collect()
        }
        (DataType::Map(types), Value::Map(entries)) => {
            let pair = |(key, value): &(Value, Value)| {
                json!([cell_json(&types.0.data_type, key), cell_json(&types.1.data_type, value)])
            };
            entries.iter().map(pair).collect()
        }
        (DataType::Row(fields), Value::Row(row)) => {
            let fields = fields.iter().zip(row.cells());
            fields
                .map(|(field, cell)| (field.name.clone(), cell_json(&field.field_type.data_type, cell)))
                .collect::<Map<_, _>>()
                .into()
        }
        _ => json!(cell),
    }
}
