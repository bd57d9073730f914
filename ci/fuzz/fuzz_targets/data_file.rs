//! Any bytes are the rows or the changes of a data file, in each format, or an error.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use models::paimon::SchemaFile;
use models::paimon::data_file::{DataFileLayout, FileFormat, decode_changes, decode_rows};

const TABLE: &str = r#"{"columns": [{"name": "id", "type": "BIGINT"}, {"name": "name", "type": "STRING"},
    {"name": "v", "type": "INT"}, {"name": "dt", "type": "STRING"}], "primary_key": ["id", "dt"],
    "partition_keys": ["dt"]}"#;

fuzz_target!(|bytes: &[u8]| {
    let table = serde_json::from_str(TABLE).expect("a table");
    let layout = DataFileLayout::of(&SchemaFile::first(&table, 0));
    let bytes = Bytes::copy_from_slice(bytes);
    for format in [FileFormat::Parquet, FileFormat::Avro] {
        let _ = decode_rows(&layout, format, &bytes);
        let _ = decode_changes(&layout, format, &bytes);
    }
});
