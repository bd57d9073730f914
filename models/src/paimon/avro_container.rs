//! Avro object container files: a header, then blocks of values, each closed by the header's sync marker.
//!
//! The same values always become the same bytes: header keys are sorted and the caller gives the sync marker. Blocks
//! are written with zstandard, as Paimon does; without a codec or with zstandard they are read, other codecs are
//! refused by name.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;
use std::rc::Rc;

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_128;

use super::avro_datum::{Datum, DatumReader, DatumWriter};
use super::avro_record::AvroRecord;
use super::avro_schema::AvroType;
use super::{FormatError, FormatResult};

/// What every container begins with.
const MAGIC: &[u8; 4] = b"Obj\x01";
/// The header key of the codec.
const CODEC: &str = "avro.codec";
/// The header key of the schema.
const SCHEMA: &str = "avro.schema";
/// Paimon's level for manifests and data.
const ZSTANDARD_LEVEL: i32 = 1;
/// A block may not unpack to more than this; Paimon's own target for a whole manifest is 8 MiB.
const MAX_BLOCK_BYTES: u64 = 64 << 20;
/// Nor may all blocks of a file, which become far larger values, unpack to more than this ...
const BASE_UNPACKED_BYTES: u64 = 4 << 20;
/// ... and this for each byte of the file.
const UNPACKED_BYTES_PER_BYTE: u64 = 256;
/// Nor may unpacking need a window of more than 2^this bytes.
const MAX_WINDOW_LOG: u32 = 23;
/// So many parsed schemas are kept; a run meets a handful.
const KEPT_SCHEMAS: usize = 64;

/// Separates the blocks of one container; any bytes do.
pub type SyncMarker = [u8; 16];

thread_local! {
    static PARSED_SCHEMAS: RefCell<BTreeMap<u128, Rc<AvroType>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Files of one writer repeat one schema, and reading it costs more than reading the values.
fn parsed_schema(text: &str) -> FormatResult<Rc<AvroType>> {
    let key = xxh3_128(text.as_bytes());
    if let Some(schema) = PARSED_SCHEMAS.with_borrow(|schemas| schemas.get(&key).cloned()) {
        return Ok(schema);
    }
    let schema = Rc::new(AvroType::parse(text)?);
    PARSED_SCHEMAS.with_borrow_mut(|schemas| {
        if schemas.len() >= KEPT_SCHEMAS {
            schemas.clear();
        }
        schemas.insert(key, Rc::clone(&schema));
    });
    Ok(schema)
}

/// The bytes of a container with one block of these values.
pub fn encode(schema: &str, count: usize, values: DatumWriter, sync_marker: SyncMarker) -> FormatResult<Bytes> {
    let mut file = DatumWriter::default();
    file.fixed(MAGIC);
    let header: [(&str, &[u8]); 2] = [(CODEC, b"zstandard"), (SCHEMA, schema.as_bytes())];
    file.array(&header, |file, (key, value)| {
        file.bytes(key.as_bytes());
        file.bytes(value);
    });
    file.fixed(&sync_marker);
    if count > 0 {
        let packed = pack(&values.into_bytes())
            .map_err(|error| FormatError::new(format!("expected zstandard to pack a block: {error}")))?;
        file.integer(count as i64);
        file.bytes(&packed);
        file.fixed(&sync_marker);
    }
    Ok(Bytes::from(file.into_bytes()))
}

/// How a container's blocks are packed.
#[derive(Clone, Copy)]
enum Codec {
    Null,
    Zstandard,
}

/// Reads a container: hands every record to `visit`, in the file's order.
pub fn decode(bytes: &[u8], mut visit: impl FnMut(&AvroRecord<'_>) -> FormatResult<()>) -> FormatResult<()> {
    let mut file = DatumReader::new(bytes);
    if file.take(MAGIC.len()).ok() != Some(MAGIC) {
        let found = &bytes[..bytes.len().min(MAGIC.len())];
        return Err(FormatError::new(format!("expected an Avro container ({MAGIC:02x?}), found {found:02x?}")));
    }
    let (schema, codec) = decode_header(&mut file).map_err(|error| error.within("Avro header"))?;
    let sync_marker = file.take(size_of::<SyncMarker>())?;
    let fields = schema.record_fields()?;
    let mut unpacked_left = BASE_UNPACKED_BYTES + UNPACKED_BYTES_PER_BYTE * bytes.len() as u64;
    while file.remaining() > 0 {
        let count = file.integer()?;
        let packed = file.bytes()?;
        let found_marker = file.take(size_of::<SyncMarker>())?;
        if found_marker != sync_marker {
            return Err(FormatError::new(format!(
                "expected the sync marker {sync_marker:02x?} after an Avro block, found {found_marker:02x?}"
            )));
        }
        let unpacked = match codec {
            Codec::Null => None,
            Codec::Zstandard => Some(unpack(packed, unpacked_left.min(MAX_BLOCK_BYTES))?),
        };
        unpacked_left -= unpacked.as_ref().map_or(0, |unpacked| unpacked.len() as u64);
        let mut block = DatumReader::new(unpacked.as_deref().unwrap_or(packed));
        for _ in 0..count {
            // Without this and what follows a forged count of empty records would never end.
            if block.remaining() == 0 {
                return Err(FormatError::new(format!("expected {count} records in an Avro block, found fewer")));
            }
            let before = block.remaining();
            let datum = block.datum(&schema)?;
            if block.remaining() == before {
                return Err(FormatError::new("expected Avro records of at least a byte, found one of none"));
            }
            match datum {
                Datum::Record(values) => visit(&AvroRecord::new(fields, &values))?,
                other => return Err(FormatError::new(format!("expected an Avro record, found {other:?}"))),
            }
        }
        if block.remaining() > 0 {
            return Err(FormatError::new(format!(
                "expected {count} records in an Avro block, found {} more bytes",
                block.remaining()
            )));
        }
    }
    Ok(())
}

fn decode_header(file: &mut DatumReader<'_>) -> FormatResult<(Rc<AvroType>, Codec)> {
    let (mut schema, mut codec) = (None, Codec::Null);
    loop {
        let count = file.block_count()?;
        if count == 0 {
            break;
        }
        for _ in 0..count {
            match (file.text()?, file.bytes()?) {
                (SCHEMA, text) => {
                    let text = std::str::from_utf8(text).map_err(|_| FormatError::new("the schema is not UTF-8"))?;
                    schema = Some(parsed_schema(text)?);
                }
                (CODEC, b"null") => codec = Codec::Null,
                (CODEC, b"zstandard") => codec = Codec::Zstandard,
                (CODEC, other) => {
                    let other = String::from_utf8_lossy(other);
                    return Err(FormatError::new(format!("expected the codec null or zstandard, found {other:?}")));
                }
                _ => {}
            }
        }
    }
    Ok((schema.ok_or_else(|| FormatError::new(format!("expected the key {SCHEMA}, found none")))?, codec))
}

/// With a checksum, so that a changed byte is an error and never another value.
fn pack(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(ZSTANDARD_LEVEL)?;
    compressor.include_checksum(true)?;
    compressor.compress(plain)
}

fn unpack(packed: &[u8], most: u64) -> FormatResult<Vec<u8>> {
    let broken = |error: std::io::Error| FormatError::new(format!("expected a zstandard block: {error}"));
    let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(broken)?;
    decoder.window_log_max(MAX_WINDOW_LOG).map_err(broken)?;
    let mut unpacked = Vec::new();
    decoder.take(most + 1).read_to_end(&mut unpacked).map_err(broken)?;
    if unpacked.len() as u64 > most {
        return Err(FormatError::new(format!("expected an Avro block of at most {most} bytes, found more")));
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: &str = r#"{"type":"record","name":"r","fields":[{"name":"n","type":"long"}]}"#;
    const MARKER: SyncMarker = *b"0123456789abcdef";

    fn container(numbers: &[i64]) -> Bytes {
        let mut values = DatumWriter::default();
        numbers.iter().for_each(|number| values.integer(*number));
        encode(NUMBERS, numbers.len(), values, MARKER).unwrap()
    }

    fn numbers_of(bytes: &[u8]) -> FormatResult<Vec<i64>> {
        let mut numbers = Vec::new();
        decode(bytes, |record| {
            numbers.push(record.integer("n")?);
            Ok(())
        })?;
        Ok(numbers)
    }

    /// A container of these parts, as another writer may write it.
    fn raw(header: &[(&str, &str)], count: i64, block: &[u8], marker: SyncMarker) -> Vec<u8> {
        let mut file = DatumWriter::default();
        file.fixed(MAGIC);
        file.array(header, |file, (key, value)| {
            file.bytes(key.as_bytes());
            file.bytes(value.as_bytes());
        });
        file.fixed(&MARKER);
        file.integer(count);
        file.bytes(block);
        file.fixed(&marker);
        file.into_bytes()
    }

    #[test]
    fn values_come_back_and_bytes_repeat() {
        assert_eq!(numbers_of(&container(&[1, -2, 3])).unwrap(), [1, -2, 3]);
        assert_eq!(numbers_of(&container(&[])).unwrap(), [0; 0]);
        assert_eq!(container(&[1, -2, 3]), container(&[1, -2, 3]));
    }

    #[test]
    fn no_codec_means_plain_blocks() {
        for header in [vec![(SCHEMA, NUMBERS)], vec![(SCHEMA, NUMBERS), ("other", "x"), (CODEC, "null")]] {
            assert_eq!(numbers_of(&raw(&header, 2, &[2, 4], MARKER)).unwrap(), [1, 2]);
        }
    }

    #[test]
    fn each_defect_of_a_container_is_named() {
        let plain = [(SCHEMA, NUMBERS)];
        let cases = [
            (b"PAR1".to_vec(), "an Avro container"),
            (Vec::new(), "an Avro container"),
            (raw(&[(CODEC, "null")], 1, &[2], MARKER), "avro.schema"),
            (raw(&[(SCHEMA, NUMBERS), (CODEC, "deflate")], 1, &[2], MARKER), "deflate"),
            (raw(&[(SCHEMA, NUMBERS), (CODEC, "zstandard")], 1, &[2], MARKER), "a zstandard block"),
            (raw(&plain, 1, &[2], [0; 16]), "the sync marker"),
            (raw(&plain, i64::MAX, &[2], MARKER), "found fewer"),
            (raw(&plain, 1, &[2, 2], MARKER), "1 more bytes"),
            (raw(&[(SCHEMA, r#"{"type":"record","name":"r","fields":[]}"#)], i64::MAX, &[], MARKER), "found fewer"),
            (raw(&[(SCHEMA, r#"{"type":"record","name":"r","fields":[]}"#)], i64::MAX, &[0], MARKER), "one of none"),
        ];
        for (bytes, sentence) in cases {
            let error = numbers_of(&bytes).unwrap_err().to_string();
            assert!(error.contains(sentence), "expected {sentence:?} in {error:?}");
        }
    }

    #[test]
    fn a_block_that_unpacks_without_end_is_refused() {
        for bytes in [MAX_BLOCK_BYTES + 1, 3 * BASE_UNPACKED_BYTES] {
            let bomb = zstd::bulk::compress(&vec![0; bytes as usize], 1).unwrap();
            assert!(bomb.len() < 10_000);
            let file = raw(&[(CODEC, "zstandard"), (SCHEMA, NUMBERS)], bytes as i64, &bomb, MARKER);
            assert!(numbers_of(&file).unwrap_err().to_string().contains("at most"));
        }
    }

    #[test]
    fn a_cut_container_is_an_error_unless_it_is_cut_between_blocks() {
        let whole = container(&[1, 2, 3]);
        let without_block = container(&[]).len();
        for length in 0..whole.len() {
            assert_eq!(numbers_of(&whole[..length]).is_ok(), length == without_block, "cut to {length} bytes");
        }
    }

    #[test]
    fn any_changed_byte_is_an_error_or_changes_nothing() {
        let whole = container(&[1, 2, 3]).to_vec();
        for position in 0..whole.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut broken = whole.clone();
                broken[position] ^= change;
                if let Ok(numbers) = numbers_of(&broken) {
                    assert_eq!(numbers, [1, 2, 3], "byte {position} changed by {change:#x}");
                }
            }
        }
    }
}
