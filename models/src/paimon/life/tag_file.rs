//! Tag files: a snapshot file with two fields more, if the tag is to go by itself one day.
//!
//! What a tag keeps is not known here.

use bytes::Bytes;
use serde_json::Value as Json;

use crate::contract::{civil_from_days, days_from_civil};

use super::super::seal::{check_json, seal_json};
use super::super::{FormatError, FormatResult, Snapshot};

const CREATE_TIME: &str = "tagCreateTime";
const TIME_RETAINED: &str = "tagTimeRetained";
/// The field of a seal; it is made anew for the whole file.
const CHECKSUM: &str = "checksum";

const DAY_MS: u64 = 86_400_000;

/// A tag: a snapshot under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The snapshot, as it was when the tag was made.
    pub snapshot: Snapshot,
    /// When the tag was made, in milliseconds since 1970-01-01T00:00; only of tags that go by themselves.
    pub create_time_ms: Option<u64>,
    /// How long after that it goes by itself, in milliseconds.
    pub time_retained_ms: Option<u64>,
}

impl Tag {
    /// Reads a tag file.
    pub fn decode(bytes: &[u8]) -> FormatResult<Self> {
        check_json(bytes)?;
        let snapshot = Snapshot::decode(bytes)?;
        let json: Json = serde_json::from_slice(bytes)
            .map_err(|error| FormatError::new(format!("expected a tag file (JSON), found {error}")))?;
        let field = |name: &str| json.get(name).filter(|value| !value.is_null());
        let create_time_ms = field(CREATE_TIME).map(|value| {
            read_time(value).ok_or_else(|| malformed(CREATE_TIME, "[year, month, day, hour, minute, …]", value))
        });
        let time_retained_ms = field(TIME_RETAINED)
            .map(|value| read_seconds(value).ok_or_else(|| malformed(TIME_RETAINED, "a number of seconds", value)));
        Ok(Self {
            snapshot,
            create_time_ms: create_time_ms.transpose()?,
            time_retained_ms: time_retained_ms.transpose()?,
        })
    }
}

/// The tag file of a snapshot file. Without a time to retain it is the snapshot file itself, as readers that know
/// nothing of such times want it. Fields that are not known here stay.
pub(super) fn encode_tag(
    snapshot_file: &Bytes,
    create_time_ms: u64,
    time_retained_ms: Option<u64>,
) -> FormatResult<Bytes> {
    let Some(time_retained_ms) = time_retained_ms else {
        return Ok(snapshot_file.clone());
    };
    let mut json = object_of(snapshot_file)?;
    json.insert(CREATE_TIME.to_owned(), written_time(create_time_ms));
    json.insert(TIME_RETAINED.to_owned(), Json::from(time_retained_ms as f64 / 1000.0));
    sealed(json)
}

/// The snapshot file of a tag file.
pub(super) fn encode_snapshot(tag_file: &Bytes) -> FormatResult<Bytes> {
    let mut json = object_of(tag_file)?;
    if json.remove(CREATE_TIME).is_none() && json.remove(TIME_RETAINED).is_none() {
        return Ok(tag_file.clone());
    }
    json.remove(TIME_RETAINED);
    sealed(json)
}

/// The same snapshot file without a word of a changelog.
pub(super) fn without_changelog(snapshot_file: &Bytes) -> FormatResult<Bytes> {
    let mut json = object_of(snapshot_file)?;
    json.retain(|field, _| !field.starts_with("changelog"));
    sealed(json)
}

fn object_of(bytes: &Bytes) -> FormatResult<serde_json::Map<String, Json>> {
    let mut json: serde_json::Map<String, Json> = serde_json::from_slice(bytes)
        .map_err(|error| FormatError::new(format!("expected a JSON object, found {error}")))?;
    json.remove(CHECKSUM);
    Ok(json)
}

fn sealed(json: serde_json::Map<String, Json>) -> FormatResult<Bytes> {
    let written = serde_json::to_vec_pretty(&json).map_err(|error| FormatError::new(error.to_string()))?;
    Ok(seal_json(&Bytes::from(written)))
}

fn malformed(field: &str, expected: &str, found: &Json) -> FormatError {
    FormatError::new(format!("expected {field} as {expected}, found {found}"))
}

/// Date and time of day by their parts, the last one in nanoseconds. Tags of other writers have their local time.
fn written_time(time_ms: u64) -> Json {
    let (year, month, day) = civil_from_days(i64::try_from(time_ms / DAY_MS).unwrap_or(i64::MAX));
    let of_day = (time_ms % DAY_MS).cast_signed();
    let (seconds, nanoseconds) = (of_day / 1000, of_day % 1000 * 1_000_000);
    Json::from(vec![year, month, day, seconds / 3600, seconds / 60 % 60, seconds % 60, nanoseconds])
}

/// Seconds and nanoseconds are left out where they are zero.
fn read_time(written: &Json) -> Option<u64> {
    let parts: Vec<i64> = written.as_array()?.iter().map(Json::as_i64).collect::<Option<_>>()?;
    if !(5..=7).contains(&parts.len()) {
        return None;
    }
    let part = |position: usize| parts.get(position).copied().unwrap_or(0);
    let in_range = |position: usize, range: std::ops::RangeInclusive<i64>| range.contains(&part(position));
    let valid = in_range(0, 1970..=999_999)
        && in_range(1, 1..=12)
        && in_range(2, 1..=31)
        && in_range(3, 0..=23)
        && in_range(4, 0..=59)
        && in_range(5, 0..=59)
        && in_range(6, 0..=999_999_999);
    let days = valid.then(|| days_from_civil(part(0), part(1), part(2)))?;
    let seconds = days * 86_400 + part(3) * 3600 + part(4) * 60 + part(5);
    u64::try_from(seconds * 1000 + part(6) / 1_000_000).ok()
}

fn read_seconds(written: &Json) -> Option<u64> {
    let milliseconds = written.as_f64()? * 1000.0;
    (0.0..9.0e18).contains(&milliseconds).then(|| milliseconds.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNAPSHOT: &str = r#"{
  "version": 3,
  "id": 2,
  "schemaId": 0,
  "baseManifestList": "a",
  "deltaManifestList": "b",
  "commitUser": "u",
  "commitIdentifier": 9223372036854775807,
  "commitKind": "APPEND",
  "timeMillis": 7,
  "totalRecordCount": 6,
  "deltaRecordCount": 3,
  "operation": "WRITE"
}"#;

    fn snapshot_file() -> Bytes {
        seal_json(&Bytes::from_static(SNAPSHOT.as_bytes()))
    }

    #[test]
    fn a_tag_that_stays_is_the_snapshot_file() {
        let file = encode_tag(&snapshot_file(), 5, None).unwrap();
        assert_eq!(file, snapshot_file());
        let tag = Tag::decode(&file).unwrap();
        assert_eq!((tag.snapshot.id, tag.create_time_ms, tag.time_retained_ms), (2, None, None));
    }

    #[test]
    fn a_tag_that_goes_has_its_times_and_all_of_the_snapshot() {
        // 2026-01-03T05:07:09.011
        let file = encode_tag(&snapshot_file(), 1_767_416_829_011, Some(4_500)).unwrap();
        let json: Json = serde_json::from_slice(&file).unwrap();
        assert_eq!(json[CREATE_TIME], serde_json::json!([2026, 1, 3, 5, 7, 9, 11_000_000]));
        assert_eq!(json[TIME_RETAINED], serde_json::json!(4.5));
        assert_eq!(json["operation"], "WRITE", "a field that is not known here");
        let tag = Tag::decode(&file).unwrap();
        assert_eq!((tag.create_time_ms, tag.time_retained_ms), (Some(1_767_416_829_011), Some(4_500)));
        let back = encode_snapshot(&file).unwrap();
        assert_eq!(Snapshot::decode(&back), Snapshot::decode(SNAPSHOT.as_bytes()));
        assert_eq!(encode_tag(&back, 0, None).unwrap(), back);
    }

    #[test]
    fn times_of_other_writers_are_read() {
        let read =
            |fields: &str| Tag::decode(SNAPSHOT.replace("\"id\": 2,", &format!("\"id\": 2, {fields},")).as_bytes());
        let tag = read(r#""tagCreateTime" : [ 1970, 1, 2, 0, 1 ], "tagTimeRetained" : 86400.000000000"#).unwrap();
        assert_eq!((tag.create_time_ms, tag.time_retained_ms), (Some(86_460_000), Some(86_400_000)));
        for fields in [
            r#""tagCreateTime": "2026-01-03""#,
            r#""tagCreateTime": [2026, 13, 1, 0, 0]"#,
            r#""tagCreateTime": [2026, 1, 1]"#,
            r#""tagTimeRetained": -1"#,
            r#""tagTimeRetained": "PT4S""#,
        ] {
            assert!(read(fields).unwrap_err().to_string().starts_with("expected tag"), "{fields}");
        }
    }
}
