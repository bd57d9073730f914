//! Any bytes are the entries of an index manifest or an error; entries can be written and read again.
#![no_main]

use bytes::Bytes;
use fuzz as _;
use libfuzzer_sys::fuzz_target;
use models::contract::DataType;
use models::paimon::index_manifest::{decode_index_manifest, encode_index_manifest};

fuzz_target!(|bytes: &[u8]| {
    let types = [DataType::STRING];
    if let Ok(entries) = decode_index_manifest(&types, &Bytes::copy_from_slice(bytes)) {
        if let Ok(again) = encode_index_manifest(&types, &entries, [7; 16]) {
            assert_eq!(decode_index_manifest(&types, &again).as_ref(), Ok(&entries));
        }
    }
});
