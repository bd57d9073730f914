//! Arrays, maps and rows inside binary rows.
//!
//! An array is a 4-byte count and one null bit for each element, padded to 4 bytes; then the elements, each as wide as
//! its type; then, from the next multiple of 8 bytes on, a variable part like a row's. A map is the length of its keys'
//! array in bytes and two arrays, keys and values. Numbers are little-endian, offsets count from the beginning of the
//! array or row that they are in.

use std::sync::Arc;

use crate::contract::{DataType, FieldType, Row, Value};

use super::binary_row::{self, Section, append_variable, fixed_part};

/// The length of a count.
const COUNT_BYTES: usize = 4;

/// How many bytes of a fixed part an array keeps for each element.
fn element_width(data_type: &DataType) -> usize {
    match data_type {
        DataType::Boolean | DataType::TinyInt => 1,
        DataType::SmallInt => 2,
        DataType::Int | DataType::Float | DataType::Date | DataType::Time(_) => 4,
        _ => 8,
    }
}

/// The count and the null bits.
fn header_bytes(count: usize) -> usize {
    COUNT_BYTES + count.div_ceil(32) * 4
}

/// The bytes of a cell of a nested type; `None` if the cell is not of the type.
pub(super) fn encode(data_type: &DataType, cell: &Value) -> Option<Vec<u8>> {
    match (data_type, cell) {
        (DataType::Array(element), Value::Array(elements)) => encode_array(element, elements.iter()),
        (DataType::Map(entry), Value::Map(entries)) => {
            if entries.iter().any(|(key, _)| key.is_null()) {
                return None;
            }
            let keys = encode_array(&entry.0, entries.iter().map(|(key, _)| key))?;
            let values = encode_array(&entry.1, entries.iter().map(|(_, value)| value))?;
            let mut bytes = u32::try_from(keys.len()).ok()?.to_le_bytes().to_vec();
            bytes.extend_from_slice(&keys);
            bytes.extend_from_slice(&values);
            Some(bytes)
        }
        (DataType::Row(fields), Value::Row(row)) => {
            let misses = |(field, cell): (&FieldType, &Value)| cell.is_null() && !field.nullable;
            if fields.iter().map(|field| &field.field_type).zip(row.cells()).any(misses) {
                return None;
            }
            let types: Vec<DataType> = fields.iter().map(|field| field.field_type.data_type.clone()).collect();
            binary_row::encode(&types, row).ok()
        }
        _ => None,
    }
}

fn encode_array<'a>(element: &FieldType, elements: impl ExactSizeIterator<Item = &'a Value>) -> Option<Vec<u8>> {
    let count = elements.len();
    let (header, width) = (header_bytes(count), element_width(&element.data_type));
    let mut bytes = vec![0; (header + width * count).next_multiple_of(8)];
    bytes[..COUNT_BYTES].copy_from_slice(&u32::try_from(count).ok()?.to_le_bytes());
    for (position, cell) in elements.enumerate() {
        if cell.is_null() {
            if !element.nullable {
                return None;
            }
            bytes[COUNT_BYTES + position / 8] |= 1 << (position % 8);
            continue;
        }
        let fixed = fixed_part(&element.data_type, cell, &mut |variable| append_variable(&mut bytes, 0, variable))?;
        bytes[header + width * position..][..width].copy_from_slice(&fixed[..width]);
    }
    Some(bytes)
}

/// The cell of a nested type; `None` if the bytes hold none.
pub(super) fn decode(data_type: &DataType, bytes: &[u8]) -> Option<Value> {
    match data_type {
        DataType::Array(element) => decode_array(element, bytes).map(|elements| Value::Array(Arc::from(elements))),
        DataType::Map(entry) => {
            let (length, arrays) = bytes.split_first_chunk()?;
            let (keys, values) = arrays.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            let (keys, values) = (decode_array(&entry.0, keys)?, decode_array(&entry.1, values)?);
            if keys.len() != values.len() || keys.iter().any(Value::is_null) {
                return None;
            }
            Some(Value::map(keys.into_iter().zip(values).collect()))
        }
        DataType::Row(fields) => {
            let mut section = Section::new(bytes);
            let cells = fields.iter().enumerate().map(|(position, field)| {
                let cell = section.field(&field.field_type.data_type, fields.len(), position)?;
                (field.field_type.nullable || !cell.is_null()).then_some(cell)
            });
            Some(Value::Row(Row::new(cells.collect::<Option<_>>()?)))
        }
        _ => None,
    }
}

fn decode_array(element: &FieldType, bytes: &[u8]) -> Option<Vec<Value>> {
    let mut section = Section::new(bytes);
    let count = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
    let (header, width) = (header_bytes(count), element_width(&element.data_type));
    // Checked before anything is taken in proportion to the count.
    let elements = bytes.get(header..header.checked_add(width.checked_mul(count)?)?)?;
    let cells = elements.chunks_exact(width).enumerate().map(|(position, stored)| {
        if section.bytes()[COUNT_BYTES + position / 8] & (1 << (position % 8)) != 0 {
            return element.nullable.then_some(Value::Null);
        }
        let mut fixed = [0; 8];
        fixed[..width].copy_from_slice(stored);
        section.cell(&element.data_type, fixed)
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(data_type: &str) -> DataType {
        data_type.parse().unwrap()
    }

    fn cell(json: serde_json::Value, data_type: &DataType) -> Value {
        crate::contract::coerce(serde_json::from_value(json).unwrap(), data_type).unwrap()
    }

    #[test]
    fn an_array_is_a_count_null_bits_and_elements_of_their_width() {
        let smallints = of("ARRAY<SMALLINT>");
        let bytes = encode(&smallints, &cell(serde_json::json!([1, null, -1]), &smallints)).unwrap();
        assert_eq!(bytes, [3, 0, 0, 0, 0b10, 0, 0, 0, 1, 0, 0, 0, 0xff, 0xff, 0, 0]);
        let strings = of("ARRAY<STRING>");
        let bytes = encode(&strings, &cell(serde_json::json!(["12345678"]), &strings)).unwrap();
        assert_eq!(bytes, [&[1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 16, 0, 0, 0][..], b"12345678"].concat());
    }

    #[test]
    fn a_map_is_two_arrays() {
        let map = of("MAP<TINYINT, BOOLEAN>");
        let bytes = encode(&map, &cell(serde_json::json!([[7, true]]), &map)).unwrap();
        assert_eq!(bytes[..4], [16, 0, 0, 0]);
        assert_eq!(bytes[4..20], [1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[20..], [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn null_where_none_may_be_is_refused_both_ways() {
        let nulls = Value::Array([Value::Null].into());
        let bytes = encode(&of("ARRAY<INT>"), &nulls).unwrap();
        assert_eq!(decode(&of("ARRAY<INT>"), &bytes), Some(nulls.clone()));
        assert_eq!(encode(&of("ARRAY<INT NOT NULL>"), &nulls), None);
        assert_eq!(decode(&of("ARRAY<INT NOT NULL>"), &bytes), None);
    }

    #[test]
    fn parts_that_claim_to_hold_each_other_are_refused() {
        let nested = of("ARRAY<ARRAY<ARRAY<INT>>>");
        // Eight elements, each of them the whole of the same bytes.
        let mut bytes = vec![8, 0, 0, 0, 0, 0, 0, 0];
        for _ in 0..8 {
            bytes.extend_from_slice(&[72, 0, 0, 0, 0, 0, 0, 0]);
        }
        assert_eq!(decode(&nested, &bytes), None);
        assert_eq!(decode(&nested, &[0xff; 64]), None, "a forged count");
    }
}
