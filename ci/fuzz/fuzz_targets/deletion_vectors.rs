//! Any place in any bytes is a deletion vector or an error; a vector can be written and read again.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use models::paimon::deletion_vectors::index_file::{decode_vector, encode_index_file};
use models::paimon::index_manifest::DeletionVectorMeta;

fuzz_target!(|input: (u8, u32, Vec<u8>)| {
    let (offset, length, bytes) = input;
    let place = DeletionVectorMeta { data_file: "f".to_owned(), offset: offset.into(), length, cardinality: None };
    let Ok(vector) = decode_vector(&bytes, &place) else { return };
    if let Ok((again, places)) = encode_index_file(&BTreeMap::from([("f".to_owned(), vector.clone())])) {
        assert_eq!(decode_vector(&again, &places[0]).as_ref(), Ok(&vector));
    }
});
