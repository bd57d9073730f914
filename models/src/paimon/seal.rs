//! Seals: how a reader notices that one byte of a lake file is not what was written.
//!
//! Paimon's formats have no checksum that covers a whole file. This writer adds one where other readers do not mind:
//! * the names of data files, manifests and manifest lists contain a UUID; ours is a version-8 UUID, 74 bits of which
//!   are drawn and the last 48 bits of which are a hash of the file's content;
//! * schema and snapshot files, whose names are fixed, end in a JSON field `checksum` over all bytes before it.
//!
//! Files of other writers carry no seal and are read without this check. It knows nothing of what the bytes mean.

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

use super::{FormatError, FormatResult};

const UUID_LENGTH: usize = 36;
const VERSION_POSITION: usize = 14;
const NODE_POSITION: usize = 24;
const NODE_MASK: u64 = 0xffff_ffff_ffff;

const CHECKSUM_OPENING: &str = ",\n  \"checksum\": \"";
const CHECKSUM_CLOSING: &str = "\"\n}";
const CHECKSUM_DIGITS: usize = 16;
const JSON_END: &str = "\n}";

/// A drawn UUID, turned into the seal of this content.
pub fn sealed_uuid(drawn: &str, content: &[u8]) -> String {
    let hash = xxh3_64(content) & NODE_MASK;
    format!("{}8{}{hash:012x}", &drawn[..VERSION_POSITION], &drawn[VERSION_POSITION + 1..NODE_POSITION])
}

/// Checks the content of a file against the seal in its name: `prefix`, then the UUID. Names without a seal pass.
pub fn check_file_name(file_name: &str, prefix: &str, content: &[u8]) -> FormatResult<()> {
    let uuid = file_name.strip_prefix(prefix).and_then(|rest| rest.get(..UUID_LENGTH));
    check_uuid(file_name, uuid, content)
}

/// Checks the content of a data file against the seal in its name, whatever the name begins with: the UUID is followed
/// by the last `-`. Names without a seal pass.
pub fn check_data_file_name(file_name: &str, content: &[u8]) -> FormatResult<()> {
    let before_counter = file_name.rsplit_once('-').map_or("", |(before, _)| before);
    let start = before_counter.len().checked_sub(UUID_LENGTH);
    let uuid = start.and_then(|start| before_counter.get(start..));
    let is_uuid = |uuid: &&str| {
        let mut groups = uuid.split('-').map(str::len);
        [8, 4, 4, 4, 12].into_iter().all(|length| groups.next() == Some(length))
            && uuid.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
    };
    check_uuid(file_name, uuid.filter(is_uuid), content)
}

fn check_uuid(file_name: &str, uuid: Option<&str>, content: &[u8]) -> FormatResult<()> {
    let Some(uuid) = uuid.filter(|uuid| uuid.as_bytes()[VERSION_POSITION] == b'8') else {
        return Ok(());
    };
    let expected = u64::from_str_radix(&uuid[NODE_POSITION..], 16).ok();
    if expected == Some(xxh3_64(content) & NODE_MASK) {
        Ok(())
    } else {
        Err(FormatError::new(format!("expected the content that the seal in the name {file_name} is of, found other")))
    }
}

/// The JSON object with its checksum as last field. The object is written over several lines and ends in a line of
/// its own; anything else is returned as it is.
pub fn seal_json(object: &Bytes) -> Bytes {
    let Some(body) = object.strip_suffix(JSON_END.as_bytes()) else {
        return object.clone();
    };
    let mut sealed = Vec::with_capacity(body.len() + 64);
    sealed.extend_from_slice(body);
    sealed.extend_from_slice(CHECKSUM_OPENING.as_bytes());
    sealed.extend_from_slice(format!("{:016x}", xxh3_64(body)).as_bytes());
    sealed.extend_from_slice(CHECKSUM_CLOSING.as_bytes());
    Bytes::from(sealed)
}

/// Checks what [`seal_json`] added. An object without a checksum passes; one whose checksum field itself has a wrong
/// byte does not.
pub fn check_json(object: &[u8]) -> FormatResult<()> {
    let tail_length = CHECKSUM_OPENING.len() + CHECKSUM_DIGITS + CHECKSUM_CLOSING.len();
    let Some(body_length) = object.len().checked_sub(tail_length) else {
        return Ok(());
    };
    let (body, tail) = object.split_at(body_length);
    let (opening, rest) = tail.split_at(CHECKSUM_OPENING.len());
    let (digits, closing) = rest.split_at(CHECKSUM_DIGITS);
    let differing =
        |found: &[u8], expected: &str| found.iter().zip(expected.bytes()).filter(|(a, b)| **a != *b).count();
    match differing(opening, CHECKSUM_OPENING) + differing(closing, CHECKSUM_CLOSING) {
        0 if digits == format!("{:016x}", xxh3_64(body)).as_bytes() => Ok(()),
        0 | 1 => Err(FormatError::new("expected the content that the field `checksum` is of, found other")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWN: &str = "01234567-89ab-4def-8123-456789abcdef";

    #[test]
    fn a_name_seals_its_content() {
        let name = format!("data-{}-0.parquet", sealed_uuid(DRAWN, b"rows"));
        assert!(name.starts_with("data-01234567-89ab-8def-8123-"));
        assert!(check_file_name(&name, "data-", b"rows").is_ok());
        assert!(check_file_name(&name, "data-", b"rowz").is_err());
        assert!(check_file_name(&format!("data-{DRAWN}-0.parquet"), "data-", b"any").is_ok(), "foreign names pass");
        assert!(check_file_name("data-x", "data-", b"any").is_ok());
    }

    #[test]
    fn a_data_files_seal_is_found_behind_any_prefix() {
        let uuid = sealed_uuid(DRAWN, b"rows");
        for prefix in ["data-", "", "übrig", "a-b.c"] {
            let name = format!("{prefix}{uuid}-0.zstd.parquet");
            assert!(check_data_file_name(&name, b"rows").is_ok(), "{name}");
            assert!(check_data_file_name(&name, b"rowz").is_err(), "{name}");
        }
        for name in ["", "data-0.parquet", "data-é-0.parquet", &format!("data-{DRAWN}-0.parquet")] {
            assert!(check_data_file_name(name, b"any").is_ok(), "{name}");
        }
    }

    #[test]
    fn every_single_wrong_byte_of_a_sealed_object_is_found() {
        let sealed = seal_json(&Bytes::from_static(b"{\n  \"id\": 1,\n  \"uuid\": \"x\"\n}"));
        assert!(check_json(&sealed).is_ok());
        assert!(serde_json::from_slice::<serde_json::Value>(&sealed).is_ok());
        for position in 0..sealed.len() {
            let mut damaged = sealed.to_vec();
            damaged[position] ^= 0x01;
            assert!(check_json(&damaged).is_err(), "byte {position}");
        }
    }

    #[test]
    fn objects_of_other_writers_pass() {
        assert!(check_json(b"{}").is_ok());
        assert!(
            check_json(br#"{"version":3,"id":2,"schemaId":0,"commitUser":"somebody","timeMillis":1796018268832}"#)
                .is_ok()
        );
    }
}
