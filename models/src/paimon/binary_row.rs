//! Binary rows: the bytes of partitions, keys and statistics inside manifests, and what a row's bucket is hashed from.
//!
//! A row is a header byte (0, the kind of an insert) and one null bit for each field, padded to 8 bytes; then 8 bytes
//! for each field, little-endian; then a variable part, 8-byte aligned, for what does not fit there, nested cells among
//! it. Manifests put a 4-byte big-endian arity before it.

use std::sync::Arc;

use crate::contract::{DataType, Row, Value};

use super::{FormatError, FormatResult, binary_nested};

/// Null bits begin after the header byte.
const HEADER_BITS: usize = 8;
/// Marks a field whose bytes are in the fixed part; the mark's low seven bits are the length.
const INLINE_MARK: u8 = 0x80;
/// At most so many bytes of a string fit into the fixed part.
const INLINE_BYTES: usize = 7;
/// Decimals of at most this precision are 8-byte integers.
const COMPACT_DECIMAL_PRECISION: u8 = 18;
/// Timestamps of at most this precision are 8-byte milliseconds.
const COMPACT_TIMESTAMP_PRECISION: u8 = 3;
/// The seed of the bucket hash.
const BUCKET_HASH_SEED: u32 = 42;

fn null_part_bytes(arity: usize) -> usize {
    (arity + 63 + HEADER_BITS) / 64 * 8
}

fn field_position(arity: usize, field: usize) -> usize {
    null_part_bytes(arity) + 8 * field
}

/// The row's bytes, without the arity prefix. The row has one cell for each type.
pub fn encode(types: &[DataType], row: &Row) -> FormatResult<Vec<u8>> {
    let mut bytes = Vec::new();
    append(types, row, &mut bytes)?;
    Ok(bytes)
}

/// The row as manifests hold it: a 4-byte big-endian arity, then the row's bytes.
pub fn serialize(types: &[DataType], row: &Row) -> FormatResult<Vec<u8>> {
    let mut bytes = u32::try_from(types.len()).unwrap_or(u32::MAX).to_be_bytes().to_vec();
    append(types, row, &mut bytes)?;
    Ok(bytes)
}

/// Appends the row's bytes; offsets within the row count from where it begins.
fn append(types: &[DataType], row: &Row, bytes: &mut Vec<u8>) -> FormatResult<()> {
    let arity = types.len();
    if row.cells().len() != arity {
        return Err(FormatError::new(format!("expected a row of {arity} cells, found {}", row.cells().len())));
    }
    let start = bytes.len();
    bytes.resize(start + field_position(arity, arity), 0);
    for (field, (data_type, cell)) in types.iter().zip(row.cells()).enumerate() {
        let fixed = match fixed_part(data_type, cell, &mut |variable| append_variable(bytes, start, variable)) {
            Some(fixed) => fixed,
            None if cell.is_null() => {
                let bit = HEADER_BITS + field;
                bytes[start + bit / 8] |= 1 << (bit % 8);
                continue;
            }
            None => return Err(FormatError::new(format!("expected a {data_type} cell, found {cell:?}"))),
        };
        let position = start + field_position(arity, field);
        bytes[position..position + 8].copy_from_slice(&fixed);
    }
    Ok(())
}

/// Appends to the variable part of what begins at `start`, zero-padded to 8 bytes, and returns the offset within it.
pub(super) fn append_variable(bytes: &mut Vec<u8>, start: usize, variable: &[u8]) -> u64 {
    let offset = bytes.len() - start;
    bytes.extend_from_slice(variable);
    bytes.resize(start + offset + variable.len().next_multiple_of(8), 0);
    offset as u64
}

/// The 8 bytes of a cell, its variable part handed over; `None` if the cell is not of the type.
pub(super) fn fixed_part(data_type: &DataType, cell: &Value, append: &mut dyn FnMut(&[u8]) -> u64) -> Option<[u8; 8]> {
    // Narrow values fill only their own bytes: a negative INT leaves the upper four zero.
    let fixed = match (data_type, cell) {
        (DataType::Boolean, Value::Boolean(value)) => u64::from(*value),
        (DataType::TinyInt, Value::Int(number)) => u64::from(i8::try_from(*number).ok()?.cast_unsigned()),
        (DataType::SmallInt, Value::Int(number)) => u64::from(i16::try_from(*number).ok()?.cast_unsigned()),
        (DataType::Int, Value::Int(number)) => u64::from(i32::try_from(*number).ok()?.cast_unsigned()),
        (DataType::BigInt, Value::Int(number)) => number.cast_unsigned(),
        (DataType::Date, Value::Date(number)) | (DataType::Time(_), Value::Time(number)) => {
            u64::from(number.cast_unsigned())
        }
        (DataType::Float, Value::Float(number)) => u64::from(number.to_bits()),
        (DataType::Double, Value::Double(number)) => number.to_bits(),
        (DataType::Decimal(precision, _), Value::Decimal(unscaled)) if *precision <= COMPACT_DECIMAL_PRECISION => {
            i64::try_from(*unscaled).ok()?.cast_unsigned()
        }
        (DataType::Decimal(..), Value::Decimal(unscaled)) => {
            let minimal = minimal_big_endian(*unscaled);
            let mut reserved = [0; 16];
            reserved[..minimal.len()].copy_from_slice(&minimal);
            append(&reserved) << 32 | minimal.len() as u64
        }
        (DataType::Array(_) | DataType::Map(_) | DataType::Row(_), _) => {
            let nested = binary_nested::encode(data_type, cell)?;
            append(&nested) << 32 | u64::from(u32::try_from(nested.len()).ok()?)
        }
        (DataType::Char(_) | DataType::VarChar(_), Value::String(text)) => return byte_field(text.as_bytes(), append),
        (DataType::Binary(_) | DataType::VarBinary(_), Value::Bytes(bytes)) => return byte_field(bytes, append),
        (
            DataType::Timestamp(precision) | DataType::TimestampLtz(precision),
            Value::Timestamp { millis, nanos_of_milli },
        ) => {
            if *precision <= COMPACT_TIMESTAMP_PRECISION {
                (*nanos_of_milli == 0).then_some(millis.cast_unsigned())?
            } else {
                append(&millis.to_le_bytes()) << 32 | u64::from(*nanos_of_milli)
            }
        }
        _ => return None,
    };
    Some(fixed.to_le_bytes())
}

fn byte_field(bytes: &[u8], append: &mut dyn FnMut(&[u8]) -> u64) -> Option<[u8; 8]> {
    if bytes.len() <= INLINE_BYTES {
        let mut fixed = [0; 8];
        fixed[..bytes.len()].copy_from_slice(bytes);
        fixed[INLINE_BYTES] = INLINE_MARK | bytes.len() as u8;
        return Some(fixed);
    }
    let length = u32::try_from(bytes.len()).ok()?;
    Some((append(bytes) << 32 | u64::from(length)).to_le_bytes())
}

/// The shortest big-endian two's complement of a number, at least one byte.
pub(super) fn minimal_big_endian(number: i128) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let fill = if number < 0 { 0xff } else { 0x00 };
    let redundant = bytes.windows(2).take_while(|pair| pair[0] == fill && (pair[1] & 0x80) == (fill & 0x80)).count();
    bytes[redundant..].to_vec()
}

/// Reads a big-endian two's complement of 1 to 16 bytes.
pub(super) fn from_big_endian(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let mut extended = if first & 0x80 == 0 { [0; 16] } else { [0xff; 16] };
    extended.get_mut(16_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(extended))
}

/// Reads what [`serialize`] writes.
pub fn deserialize(types: &[DataType], bytes: &[u8]) -> FormatResult<Row> {
    let broken = || {
        FormatError::new(format!(
            "expected a binary row of {} fields, found {} bytes {bytes:02x?}",
            types.len(),
            bytes.len()
        ))
    };
    let (arity, row) = bytes.split_first_chunk::<4>().ok_or_else(broken)?;
    let arity = u32::from_be_bytes(*arity) as usize;
    if arity != types.len() {
        return Err(FormatError::new(format!("expected a binary row of {} fields, found {arity}", types.len())));
    }
    let mut section = Section::new(row);
    let cells = types.iter().enumerate().map(|(field, data_type)| section.field(data_type, arity, field));
    Ok(Row::new(cells.collect::<Option<Vec<Value>>>().ok_or_else(broken)?))
}

/// The bytes of a row, array or map: what its offsets count from, and how much of it may still be read as variable
/// parts. The parts of an honest section do not overlap, so one that asks for more than its length is broken; without
/// this bound a few bytes could claim to hold each other many times over.
pub(super) struct Section<'a> {
    bytes: &'a [u8],
    unread: usize,
}

impl<'a> Section<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, unread: bytes.len() }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    fn variable(&mut self, offset: usize, length: usize) -> Option<&'a [u8]> {
        self.unread = self.unread.checked_sub(length)?;
        self.bytes.get(offset..offset.checked_add(length)?)
    }

    /// The cell of a field of a row; `None` if the row's bytes do not hold it.
    pub(super) fn field(&mut self, data_type: &DataType, arity: usize, field: usize) -> Option<Value> {
        let bit = HEADER_BITS + field;
        if self.bytes.get(bit / 8)? & (1 << (bit % 8)) != 0 {
            return Some(Value::Null);
        }
        let position = field_position(arity, field);
        self.cell(data_type, self.bytes.get(position..position + 8)?.try_into().ok()?)
    }

    /// The cell with this fixed part; `None` if the section's bytes do not hold it.
    pub(super) fn cell(&mut self, data_type: &DataType, fixed: [u8; 8]) -> Option<Value> {
        let number = u64::from_le_bytes(fixed);
        let (offset, length) = ((number >> 32) as usize, number as u32 as usize);
        Some(match data_type {
            DataType::Boolean => Value::Boolean(fixed[0] != 0),
            DataType::TinyInt => Value::Int(i64::from(fixed[0].cast_signed())),
            DataType::SmallInt => Value::Int(i64::from((number as u16).cast_signed())),
            DataType::Int => Value::Int(i64::from((number as u32).cast_signed())),
            DataType::BigInt => Value::Int(number.cast_signed()),
            DataType::Date => Value::Date((number as u32).cast_signed()),
            DataType::Time(_) => Value::Time((number as u32).cast_signed()),
            DataType::Float => Value::Float(f32::from_bits(number as u32)),
            DataType::Double => Value::Double(f64::from_bits(number)),
            DataType::Decimal(precision, _) if *precision <= COMPACT_DECIMAL_PRECISION => {
                Value::Decimal(i128::from(number.cast_signed()))
            }
            DataType::Decimal(..) => Value::Decimal(from_big_endian(self.variable(offset, length)?)?),
            DataType::Char(_) | DataType::VarChar(_) => {
                Value::String(Arc::from(std::str::from_utf8(self.field_bytes(&fixed)?).ok()?))
            }
            DataType::Binary(_) | DataType::VarBinary(_) => Value::Bytes(Arc::from(self.field_bytes(&fixed)?)),
            DataType::Timestamp(precision) | DataType::TimestampLtz(precision) => {
                if *precision <= COMPACT_TIMESTAMP_PRECISION {
                    Value::Timestamp { millis: number.cast_signed(), nanos_of_milli: 0 }
                } else {
                    let millis = i64::from_le_bytes(self.variable(offset, 8)?.try_into().ok()?);
                    let nanos_of_milli = number as u32;
                    (nanos_of_milli < 1_000_000).then_some(Value::Timestamp { millis, nanos_of_milli })?
                }
            }
            DataType::Array(_) | DataType::Map(_) | DataType::Row(_) => {
                binary_nested::decode(data_type, self.variable(offset, length)?)?
            }
        })
    }

    /// The bytes of a string or binary field, from the fixed or the variable part. What is in the fixed part is copied
    /// by the caller, so it need not live longer.
    fn field_bytes<'b>(&mut self, fixed: &'b [u8; 8]) -> Option<&'b [u8]>
    where
        'a: 'b,
    {
        if fixed[INLINE_BYTES] & INLINE_MARK != 0 {
            return fixed[..INLINE_BYTES].get(..usize::from(fixed[INLINE_BYTES] & !INLINE_MARK));
        }
        let number = u64::from_le_bytes(*fixed);
        self.variable((number >> 32) as usize, number as u32 as usize)
    }
}

/// The bucket of a row with this bucket key, 0 .. `bucket_count` (exclusive).
pub fn bucket_of(types: &[DataType], bucket_key: &Row, bucket_count: u32) -> FormatResult<u32> {
    let hash = hash_words(&encode(types, bucket_key)?);
    let count = i32::try_from(bucket_count)
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| FormatError::new(format!("expected 1 to {} buckets, found {bucket_count}", i32::MAX)))?;
    Ok((hash % count).unsigned_abs())
}

/// Murmur3 (x86, 32 bits) over 4-byte little-endian words. A binary row is a whole number of words.
fn hash_words(bytes: &[u8]) -> i32 {
    let mut hash = BUCKET_HASH_SEED;
    for word in bytes.as_chunks::<4>().0 {
        let mixed = u32::from_le_bytes(*word).wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        hash = (hash ^ mixed).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    hash ^= bytes.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)).cast_signed()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::arbitrary_rows::typed_rows;
    use super::*;

    fn row(cells: impl IntoIterator<Item = Value>) -> Row {
        Row::new(cells.into_iter().collect())
    }

    #[test]
    fn a_short_string_lies_in_the_fixed_part() {
        // As pypaimon 2.1.0 wrote the partition dt=d1.
        let written = b"\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00d1\x00\x00\x00\x00\x00\x82";
        let partition = row([Value::string("d1")]);
        assert_eq!(serialize(&[DataType::STRING], &partition).unwrap(), written);
        assert_eq!(deserialize(&[DataType::STRING], written).unwrap(), partition);
    }

    #[test]
    fn a_row_of_no_fields_is_its_header() {
        assert_eq!(serialize(&[], &row([])).unwrap(), [0; 12]);
    }

    #[test]
    fn a_long_string_lies_behind_the_fixed_part() {
        let bytes =
            encode(&[DataType::Int, DataType::STRING], &row([Value::Int(-1), Value::string("12345678")])).unwrap();
        let expected =
            [[0, 0, 0, 0, 0, 0, 0, 0], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], [8, 0, 0, 0, 24, 0, 0, 0], *b"12345678"];
        assert_eq!(bytes, expected.concat());
    }

    #[test]
    fn null_is_a_bit_after_the_header_byte() {
        let bytes = encode(&[DataType::Int, DataType::Int], &row([Value::Int(7), Value::Null])).unwrap();
        assert_eq!(bytes[..2], [0, 0b10]);
        assert_eq!(bytes[16..], [0; 8]);
    }

    #[test]
    fn the_57th_field_widens_the_null_part() {
        for (arity, null_bytes) in [(56, 8), (57, 16)] {
            let bytes = encode(&vec![DataType::Int; arity], &Row::new(vec![Value::Null; arity])).unwrap();
            assert_eq!(bytes.len(), null_bytes + 8 * arity);
        }
    }

    #[test]
    fn big_decimals_are_shortest_big_endian_in_sixteen_bytes() {
        for (number, shortest) in
            [(0, vec![0]), (-1, vec![0xff]), (127, vec![0x7f]), (128, vec![0, 0x80]), (-129, vec![0xff, 0x7f])]
        {
            assert_eq!(minimal_big_endian(number), shortest);
            assert_eq!(from_big_endian(&shortest), Some(number));
        }
        let bytes = encode(&[DataType::Decimal(38, 2)], &row([Value::Decimal(-129)])).unwrap();
        assert_eq!(bytes.len(), 8 + 8 + 16);
        assert_eq!(bytes[8..18], [2, 0, 0, 0, 16, 0, 0, 0, 0xff, 0x7f]);
    }

    #[test]
    fn cells_of_another_type_are_refused() {
        for cell in [Value::Int(300), Value::string("x")] {
            assert!(encode(&[DataType::TinyInt], &row([cell])).unwrap_err().to_string().contains("TINYINT"));
        }
        assert!(encode(&[DataType::Int], &row([])).is_err());
    }

    #[test]
    fn a_bucket_is_never_negative() {
        let bucket = |key: i64| bucket_of(&[DataType::BigInt], &row([Value::Int(key)]), 3).unwrap();
        let used: std::collections::BTreeSet<u32> = (-50..50).map(bucket).collect();
        assert_eq!(used.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
        assert!(bucket_of(&[DataType::BigInt], &row([Value::Int(1)]), 0).is_err());
    }

    proptest! {
        #[test]
        fn rows_come_back((types, rows) in typed_rows(5)) {
            let types: Vec<DataType> = types.iter().map(|(data_type, _)| data_type.clone()).collect();
            for row in rows {
                let bytes = serialize(&types, &row).unwrap();
                prop_assert_eq!(bytes.len() % 8, 4, "a whole number of words after the arity");
                prop_assert_eq!(deserialize(&types, &bytes).unwrap(), row);
            }
        }

        #[test]
        fn any_bytes_are_a_row_or_an_error((types, rows) in typed_rows(1), position in 0_usize..200, byte: u8, cut in 0_usize..200) {
            let types: Vec<DataType> = types.iter().map(|(data_type, _)| data_type.clone()).collect();
            let mut bytes = serialize(&types, rows.first().unwrap_or(&Row::new(vec![Value::Null; types.len()]))).unwrap();
            if let Some(target) = bytes.get_mut(position) {
                *target = byte;
            }
            bytes.truncate(cut);
            let _ = deserialize(&types, &bytes);
        }
    }
}
