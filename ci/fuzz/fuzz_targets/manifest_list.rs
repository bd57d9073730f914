//! Any bytes are a manifest list or an error; a list can be written and read again.
#![no_main]

use bytes::Bytes;
use fuzz as _;
use libfuzzer_sys::fuzz_target;
use models::paimon::manifest::{decode_manifest_list, encode_manifest_list};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(manifests) = decode_manifest_list(&Bytes::copy_from_slice(bytes)) {
        let again = encode_manifest_list(&manifests, [7; 16]).and_then(|bytes| decode_manifest_list(&bytes));
        assert_eq!(again.as_ref(), Ok(&manifests));
    }
});
