//! Any bytes are a schema or an error; what is a schema can be written and read again.
#![no_main]

use fuzz as _;
use libfuzzer_sys::fuzz_target;
use models::paimon::SchemaFile;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(schema) = SchemaFile::decode(bytes) {
        let again = schema.encode().and_then(|bytes| SchemaFile::decode(&bytes));
        assert_eq!(again.as_ref(), Ok(&schema));
    }
});
