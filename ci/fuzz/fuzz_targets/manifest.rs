//! Any bytes are the entries of a manifest or an error; entries can be written and read again.
#![no_main]

use bytes::Bytes;
use fuzz as _;
use libfuzzer_sys::fuzz_target;
use models::contract::DataType;
use models::paimon::manifest::{decode_manifest, encode_manifest};

fuzz_target!(|bytes: &[u8]| {
    let types = [DataType::STRING, DataType::Int];
    if let Ok(entries) = decode_manifest(&types, &Bytes::copy_from_slice(bytes)) {
        if let Ok(again) = encode_manifest(&types, &entries, [7; 16]) {
            assert_eq!(decode_manifest(&types, &again).as_ref(), Ok(&entries));
        }
    }
});
