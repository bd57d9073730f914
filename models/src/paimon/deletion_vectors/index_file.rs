//! Deletion vectors on disk: one index file holds the vectors of many data files.
//!
//! The file is a version byte, 1, then the vectors one after the other: a size, that many bytes which begin with a
//! magic number and go on with a roaring bitmap in its portable form, and the CRC-32 of these bytes. Sizes and
//! checksums are big-endian. There are two kinds of vector, told apart by the magic number: 32-bit ones, which are
//! written here, and 64-bit ones, whose magic number and bitmap are little-endian. Which vector belongs to which data
//! file is not in the file; the index manifest says so.
//!
//! Nothing here is read before its bytes are there, so a forged size costs no memory.

use std::collections::BTreeMap;

use bytes::Bytes;
use roaring::{RoaringBitmap, RoaringTreemap};

use super::DeletionVector;
use crate::paimon::{DeletionVectorMeta, FormatError, FormatResult};

/// The first byte of every file.
const VERSION: u8 = 1;
/// What a 32-bit vector begins with.
const MAGIC: [u8; 4] = 1_581_511_376_u32.to_be_bytes();
/// What a 64-bit vector begins with.
const MAGIC_64: [u8; 4] = 1_681_511_377_u32.to_le_bytes();
/// The bytes of a size, of a magic number and of a checksum.
const FIELD_BYTES: usize = 4;
/// Java counts the rows of a 32-bit vector's file with signed integers.
const MAX_POSITION: u64 = i32::MAX as u64;

/// The bytes of an index file with the vectors of these data files, and where each lies in it. The same vectors always
/// become the same bytes. The error is for positions that 32-bit vectors cannot hold.
pub fn encode_index_file(vectors: &BTreeMap<String, DeletionVector>) -> FormatResult<(Bytes, Vec<DeletionVectorMeta>)> {
    let mut file = vec![VERSION];
    let mut places = Vec::with_capacity(vectors.len());
    for (data_file, vector) in vectors {
        let body = encode_body(vector).map_err(|error| error.within(format!("deletion vector of {data_file}")))?;
        let too_long = |_| FormatError::new("expected deletion vectors of less than 4 GiB in one file, found more");
        let length = u32::try_from(body.len()).map_err(too_long)?;
        places.push(DeletionVectorMeta {
            data_file: data_file.clone(),
            offset: u32::try_from(file.len()).map_err(too_long)?,
            length,
            cardinality: Some(vector.cardinality()),
        });
        file.extend_from_slice(&length.to_be_bytes());
        file.extend_from_slice(&body);
        file.extend_from_slice(&crc32fast::hash(&body).to_be_bytes());
    }
    Ok((Bytes::from(file), places))
}

fn encode_body(vector: &DeletionVector) -> FormatResult<Vec<u8>> {
    if let Some(greatest) = vector.positions.max().filter(|greatest| *greatest > MAX_POSITION) {
        return Err(FormatError::new(format!("expected positions up to {MAX_POSITION}, found {greatest}")));
    }
    // As a whole: a few bytes of another writer's file can be a run of two thousand million positions.
    let mut bitmap = vector.positions.bitmaps().next().map_or_else(RoaringBitmap::new, |(_, bitmap)| bitmap.clone());
    bitmap.optimize();
    let mut body = Vec::with_capacity(FIELD_BYTES + bitmap.serialized_size());
    body.extend_from_slice(&MAGIC);
    bitmap
        .serialize_into(&mut body)
        .map_err(|error| FormatError::new(format!("expected a bitmap that can be written: {error}")))?;
    Ok(body)
}

/// The vector that lies at this place of an index file.
pub fn decode_vector(file: &[u8], place: &DeletionVectorMeta) -> FormatResult<DeletionVector> {
    decode_at(file, place).map_err(|error| error.within(format!("deletion vector of {}", place.data_file)))
}

fn decode_at(file: &[u8], place: &DeletionVectorMeta) -> FormatResult<DeletionVector> {
    match file.first() {
        Some(&VERSION) => {}
        Some(other) => {
            return Err(FormatError::new(format!("expected an index file of version {VERSION}, found {other}")));
        }
        None => return Err(FormatError::new("expected an index file, found no bytes")),
    }
    let mut rest = file.get(place.offset as usize..).unwrap_or_default();
    let size = u32::from_be_bytes(take_field(&mut rest, "its size")?);
    let body = take(&mut rest, size as usize, "its bitmap")?;
    let checksum = u32::from_be_bytes(take_field(&mut rest, "its checksum")?);
    let found_checksum = crc32fast::hash(body);
    if checksum != found_checksum {
        return Err(FormatError::new(format!("expected the checksum {found_checksum:08x}, found {checksum:08x}")));
    }
    let mut bitmap = body;
    let magic = take_field(&mut bitmap, "its magic number")?;
    // The index manifest counts what is around a 64-bit vector too.
    let described =
        if magic == MAGIC_64 { place.length.checked_sub(2 * FIELD_BYTES as u32) } else { Some(place.length) };
    if described != Some(size) {
        return Err(FormatError::new(format!(
            "expected {} bytes as the index manifest says, found a size of {size}",
            place.length
        )));
    }
    let positions = match magic {
        MAGIC => RoaringBitmap::deserialize_from(&mut bitmap).map(|bitmap| RoaringTreemap::from_bitmaps([(0, bitmap)])),
        MAGIC_64 => RoaringTreemap::deserialize_from(&mut bitmap),
        other => {
            return Err(FormatError::new(format!("expected the magic number {MAGIC:02x?}, found {other:02x?}")));
        }
    };
    let positions = positions.map_err(|error| FormatError::new(format!("expected a roaring bitmap: {error}")))?;
    if !bitmap.is_empty() {
        return Err(FormatError::new(format!("expected the bitmap to end, found {} more bytes", bitmap.len())));
    }
    // A bitmap of 64-bit positions may have parts without any; then equal vectors would not be equal.
    let parts = positions.bitmaps().filter(|(_, part)| !part.is_empty());
    let positions = RoaringTreemap::from_bitmaps(parts.map(|(high, part)| (high, part.clone())));
    let vector = DeletionVector { positions };
    match place.cardinality {
        Some(described) if described != vector.cardinality() => Err(FormatError::new(format!(
            "expected {described} deleted rows as the index manifest says, found {}",
            vector.cardinality()
        ))),
        _ => Ok(vector),
    }
}

fn take<'a>(rest: &mut &'a [u8], length: usize, what: &str) -> FormatResult<&'a [u8]> {
    let Some((taken, left)) = rest.split_at_checked(length) else {
        return Err(FormatError::new(format!("expected {length} bytes of {what}, found {}", rest.len())));
    };
    *rest = left;
    Ok(taken)
}

fn take_field(rest: &mut &[u8], what: &str) -> FormatResult<[u8; FIELD_BYTES]> {
    let mut field = [0; FIELD_BYTES];
    field.copy_from_slice(take(rest, FIELD_BYTES, what)?);
    Ok(field)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vector(positions: &[u64]) -> DeletionVector {
        positions.iter().copied().collect()
    }

    fn file_of(positions: &[u64]) -> (Vec<u8>, DeletionVectorMeta) {
        let vectors = BTreeMap::from([("data-a".to_owned(), vector(positions))]);
        let (bytes, mut places) = encode_index_file(&vectors).unwrap();
        (bytes.to_vec(), places.remove(0))
    }

    /// A file with one vector of these bytes, as another writer may write it.
    fn raw(body: &[u8]) -> (Vec<u8>, DeletionVectorMeta) {
        let mut file = vec![VERSION];
        file.extend_from_slice(&(body.len() as u32).to_be_bytes());
        file.extend_from_slice(body);
        file.extend_from_slice(&crc32fast::hash(body).to_be_bytes());
        let length = body.len() as u32;
        (file, DeletionVectorMeta { data_file: "data-a".to_owned(), offset: 1, length, cardinality: None })
    }

    fn refusal(file: &[u8], place: &DeletionVectorMeta) -> String {
        decode_vector(file, place).unwrap_err().to_string()
    }

    #[test]
    fn a_part_without_positions_is_no_part() {
        let mut body = MAGIC_64.to_vec();
        let parts = [(0, RoaringBitmap::new()), (3, RoaringBitmap::new())];
        RoaringTreemap::from_bitmaps(parts).serialize_into(&mut body).unwrap();
        let file =
            [&[1][..], &(body.len() as u32).to_be_bytes(), &body, &crc32fast::hash(&body).to_be_bytes()].concat();
        let length = body.len() as u32 + 8;
        let place = DeletionVectorMeta { data_file: "f".to_owned(), offset: 1, length, cardinality: None };
        assert_eq!(decode_vector(&file, &place), Ok(DeletionVector { positions: RoaringTreemap::new() }));
    }

    #[test]
    fn two_deleted_rows_are_these_bytes() {
        let (file, place) = file_of(&[1, 3]);
        // Version; size; magic number; cookie 12346, one container: key 0, 2 values, at byte 16; the values; checksum.
        let body = [0x5e, 0x43, 0xf2, 0xd0, 0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 1, 0, 3, 0];
        let mut expected = vec![1, 0, 0, 0, 24];
        expected.extend_from_slice(&body);
        expected.extend_from_slice(&crc32fast::hash(&body).to_be_bytes());
        assert_eq!(file, expected);
        assert_eq!((place.offset, place.length, place.cardinality), (1, 24, Some(2)));
    }

    #[test]
    fn a_64_bit_vector_of_another_writer_is_read() {
        let far = u64::from(u32::MAX) + 7;
        let mut body = MAGIC_64.to_vec();
        RoaringTreemap::from_iter([5, far]).serialize_into(&mut body).unwrap();
        let (file, mut place) = raw(&body);
        place.length += 8;
        assert_eq!(decode_vector(&file, &place).unwrap(), vector(&[5, far]));
    }

    #[test]
    fn positions_that_java_cannot_count_are_not_written() {
        let vectors = BTreeMap::from([("data-a".to_owned(), vector(&[MAX_POSITION + 1]))]);
        let error = encode_index_file(&vectors).unwrap_err().to_string();
        assert!(error.contains("data-a") && error.contains("2147483648"), "{error}");
    }

    #[test]
    fn each_defect_of_an_index_file_is_named() {
        let (whole, place) = file_of(&[1, 3]);
        let changed = |position: usize, byte: u8| {
            let mut file = whole.clone();
            file[position] = byte;
            file
        };
        let elsewhere = |offset, length| DeletionVectorMeta { offset, length, ..place.clone() };
        let (unknown_magic, unknown_place) = raw(&[0; 24]);
        let (no_magic, no_magic_place) = raw(&[]);
        let (trailing, trailing_place) = raw(&[&whole[5..29], &[0; 3]].concat());
        let (cut, cut_place) = raw(&whole[5..27]);
        let cases = [
            (Vec::new(), place.clone(), "found no bytes"),
            (changed(0, 2), place.clone(), "version 1, found 2"),
            (whole.clone(), elsewhere(u32::MAX, 24), "of its size, found 0"),
            (changed(1, 0xff), place.clone(), "of its bitmap"),
            (whole[..whole.len() - 1].to_vec(), place.clone(), "of its checksum, found 3"),
            (changed(25, 9), place.clone(), "the checksum"),
            (whole.clone(), elsewhere(1, 23), "a size of 24"),
            (whole.clone(), DeletionVectorMeta { cardinality: Some(3), ..place.clone() }, "3 deleted rows"),
            (unknown_magic, unknown_place, "the magic number"),
            (no_magic, no_magic_place, "its magic number, found 0"),
            (trailing, trailing_place, "3 more bytes"),
            (cut, cut_place, "a roaring bitmap"),
        ];
        for (file, place, sentence) in cases {
            let error = refusal(&file, &place);
            assert!(error.contains(sentence) && error.contains("data-a"), "expected {sentence:?} in {error:?}");
        }
    }

    #[test]
    fn a_forged_number_of_bitmaps_ends_with_the_bytes() {
        for body in [
            [&MAGIC_64[..], &u64::MAX.to_le_bytes()].concat(),
            [&MAGIC[..], &12_346_u32.to_le_bytes(), &u32::MAX.to_le_bytes()].concat(),
            [&MAGIC[..], &(12_347_u32 | 0xffff_0000).to_le_bytes()].concat(),
        ] {
            let (file, mut place) = raw(&body);
            if body.starts_with(&MAGIC_64) {
                place.length += 8;
            }
            let error = refusal(&file, &place);
            assert!(error.contains("a roaring bitmap"), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn vectors_come_back_and_bytes_repeat(
            vectors in prop::collection::btree_map("[a-z]{1,4}", prop::collection::vec(0..200_000_u64, 0..40), 0..4),
            run in 0..70_000_u64,
        ) {
            let vectors: BTreeMap<String, DeletionVector> = vectors
                .into_iter()
                .map(|(name, positions)| (name, positions.into_iter().chain(0..run).collect()))
                .collect();
            let (bytes, places) = encode_index_file(&vectors).unwrap();
            for place in &places {
                prop_assert_eq!(&decode_vector(&bytes, place).unwrap(), &vectors[&place.data_file]);
            }
            prop_assert_eq!(places.len(), vectors.len());
            prop_assert_eq!(encode_index_file(&vectors).unwrap().0, bytes);
        }

        #[test]
        fn any_changed_byte_of_a_vector_is_an_error(
            positions in prop::collection::btree_set(0..70_000_u64, 1..20),
            change in 1_u8..,
        ) {
            let positions: Vec<u64> = positions.into_iter().collect();
            let (whole, place) = file_of(&positions);
            for position in 0..whole.len() {
                let mut broken = whole.clone();
                broken[position] ^= change;
                prop_assert!(decode_vector(&broken, &place).is_err(), "byte {}", position);
            }
        }
    }
}
