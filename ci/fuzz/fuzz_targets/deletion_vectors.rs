//! Any bytes with a right checksum are a deletion vector or an error; a vector can be written and read again.
#![no_main]

use std::collections::BTreeMap;

use fuzz as _;
use libfuzzer_sys::fuzz_target;
use models::paimon::deletion_vectors::index_file::{decode_vector, encode_index_file};
use models::paimon::index_manifest::DeletionVectorMeta;

/// What 64-bit vectors begin with; the index manifest counts the 8 bytes around them too.
const MAGIC_64: [u8; 4] = 1_681_511_377_u32.to_le_bytes();

fuzz_target!(|bytes: &[u8]| {
    // An index file as it lies in the fixtures, its first vector with the size and checksum that it then needs.
    let Some((head, rest)) = bytes.split_first_chunk::<5>() else { return };
    let claimed = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let body = &rest[..claimed.min(rest.len())];
    let size = body.len() as u32;
    let file = [&head[..1], &size.to_be_bytes(), body, &crc32fast::hash(body).to_be_bytes()].concat();
    let length = if body.starts_with(&MAGIC_64) { size + 8 } else { size };
    let place = DeletionVectorMeta { data_file: "f".to_owned(), offset: 1, length, cardinality: None };
    let Ok(vector) = decode_vector(&file, &place) else { return };
    assert_eq!(vector.greatest().is_none(), vector.is_empty());
    if let Ok((again, places)) = encode_index_file(&BTreeMap::from([("f".to_owned(), vector.clone())])) {
        assert_eq!(decode_vector(&again, &places[0]).as_ref(), Ok(&vector));
    }
});
