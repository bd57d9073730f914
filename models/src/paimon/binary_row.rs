//! Binary rows: the bytes of partitions, keys and statistics inside manifests, and what a row's bucket is hashed from.

use crate::contract::{DataType, Row};

use super::{FormatError, FormatResult};

/// The row's bytes, without the arity prefix. The row has one cell for each type.
pub fn encode(types: &[DataType], row: &Row) -> FormatResult<Vec<u8>> {
    let _ = (types, row);
    Err(FormatError::new("not yet"))
}

/// The row as manifests hold it: a 4-byte big-endian arity, then the row's bytes.
pub fn serialize(types: &[DataType], row: &Row) -> FormatResult<Vec<u8>> {
    let _ = (types, row);
    Err(FormatError::new("not yet"))
}

/// Reads what [`serialize`] writes.
pub fn deserialize(types: &[DataType], bytes: &[u8]) -> FormatResult<Row> {
    let _ = (types, bytes);
    Err(FormatError::new("not yet"))
}

/// The bucket of a row with this bucket key, 0 .. `bucket_count` (exclusive).
pub fn bucket_of(types: &[DataType], bucket_key: &Row, bucket_count: u32) -> FormatResult<u32> {
    let _ = (types, bucket_key, bucket_count);
    Err(FormatError::new("not yet"))
}
