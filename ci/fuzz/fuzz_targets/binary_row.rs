//! Any bytes are a row of a partition or of statistics, or an error; a row can be written and read again.
#![no_main]

use fuzz as _;
use libfuzzer_sys::fuzz_target;
use models::contract::DataType;
use models::paimon::binary_row::{deserialize, serialize};

/// One type of each way to lie in a row.
const TYPES: &str = "BOOLEAN;BIGINT;DOUBLE;DECIMAL(5, 2);DECIMAL(38, 10);STRING;VARBINARY(20);DATE;TIMESTAMP(3);\
    TIMESTAMP(9);ARRAY<INT>;MAP<STRING, BIGINT>;ROW<a INT, b ARRAY<STRING>>";

fuzz_target!(|bytes: &[u8]| {
    let types: Vec<DataType> = TYPES.split(';').map(|text| text.parse().expect("a type")).collect();
    // The first byte says of how many columns the row is.
    let Some((count, bytes)) = bytes.split_first() else { return };
    let types = &types[..usize::from(*count) % (types.len() + 1)];
    if let Ok(row) = deserialize(types, bytes)
        && let Ok(again) = serialize(types, &row)
    {
        assert_eq!(deserialize(types, &again).as_ref(), Ok(&row));
    }
});
