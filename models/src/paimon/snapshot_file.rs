//! Snapshot files: `snapshot/snapshot-N`, one JSON object each, version 3.
//!
//! A snapshot names its manifest lists and nothing else of the table; what they hold is [`super::manifest`]'s business.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{FormatError, FormatResult};

/// The version of the snapshot format that is written.
pub const SNAPSHOT_VERSION: u32 = 3;

/// What kind of change a snapshot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CommitKind {
    /// New files only.
    Append,
    /// Files rewritten, rows unchanged.
    Compact,
    /// Files replaced by others.
    Overwrite,
    /// Statistics only.
    Analyze,
}

/// One snapshot. Fields that are absent from a file are `None`; fields that this version does not know are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The format's version; 3 in everything written here.
    pub version: u32,
    /// The identity of the attempt that wrote the file (H4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The snapshot's number; the first is 1, and there are no gaps.
    pub id: u64,
    /// The schema at the time of the commit.
    pub schema_id: u64,
    /// The name of the manifest list with everything before this commit, within `manifest/`.
    pub base_manifest_list: String,
    /// The size of that file in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_manifest_list_size: Option<u64>,
    /// The name of the manifest list with what this commit changed.
    pub delta_manifest_list: String,
    /// The size of that file in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_manifest_list_size: Option<u64>,
    /// The name of the manifest list with this commit's changelog files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changelog_manifest_list: Option<String>,
    /// The size of that file in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changelog_manifest_list_size: Option<u64>,
    /// The name of the index manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_manifest: Option<String>,
    /// Who committed.
    pub commit_user: String,
    /// The writer's software.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer_version: Option<String>,
    /// The user's own number of this commit; Java writers use `i64::MAX` for batch commits.
    pub commit_identifier: i64,
    /// What kind of change this is.
    pub commit_kind: CommitKind,
    /// When, in milliseconds since 1970-01-01T00:00Z.
    pub time_millis: u64,
    /// Rows in all live files. Negative only in a broken file.
    pub total_record_count: i64,
    /// Rows added less rows deleted by this commit.
    pub delta_record_count: i64,
    /// Rows in this commit's changelog files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changelog_record_count: Option<i64>,
    /// The watermark, in milliseconds since 1970-01-01T00:00Z.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watermark: Option<i64>,
    /// The name of the statistics file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<String>,
    /// What the committer noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<BTreeMap<String, String>>,
    /// The next row id where row tracking is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_row_id: Option<u64>,
}

impl Snapshot {
    /// The file's bytes; the same for equal snapshots.
    pub fn encode(&self) -> FormatResult<Bytes> {
        serde_json::to_vec_pretty(self).map(Bytes::from).map_err(|error| FormatError::new(error.to_string()))
    }

    /// Reads a snapshot file.
    pub fn decode(bytes: &[u8]) -> FormatResult<Self> {
        let snapshot: Self = serde_json::from_slice(bytes)
            .map_err(|error| FormatError::new(format!("expected a snapshot file (JSON), found {error}")))?;
        if snapshot.version > SNAPSHOT_VERSION {
            return Err(FormatError::new(format!(
                "expected a snapshot of version {SNAPSHOT_VERSION} or older, found version {}",
                snapshot.version
            )));
        }
        // Paimon's numbers have a sign. What is greater is forged, and would leave no room for the next number.
        for (field, number) in [
            ("id", Some(snapshot.id)),
            ("schemaId", Some(snapshot.schema_id)),
            ("timeMillis", Some(snapshot.time_millis)),
            ("nextRowId", snapshot.next_row_id),
        ] {
            if let Some(number) = number.filter(|number| *number > i64::MAX.cast_unsigned()) {
                return Err(FormatError::new(format!("expected {field} up to {}, found {number}", i64::MAX)));
            }
        }
        Ok(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As pypaimon 2.1.0 writes it, with two fields that no version knows.
    const WRITTEN: &str = r#"{
        "version": 3, "id": 2, "schemaId": 0,
        "baseManifestList": "manifest-list-a-0", "deltaManifestList": "manifest-list-a-1",
        "baseManifestListSize": 1349, "deltaManifestListSize": 1335,
        "totalRecordCount": 6, "deltaRecordCount": 3,
        "commitUser": "u", "commitIdentifier": 9223372036854775807, "commitKind": "APPEND",
        "timeMillis": 1796017913941, "uuid": "4f31fea8", "writerVersion": "python-2.1.0",
        "properties": {"b": "2", "a": "1"}, "fromTheFuture": {"x": [1]}, "watermark": null }"#;

    #[test]
    fn unknown_fields_are_ignored_and_known_ones_come_back() {
        let snapshot = Snapshot::decode(WRITTEN.as_bytes()).unwrap();
        assert_eq!((snapshot.id, snapshot.commit_identifier), (2, i64::MAX));
        assert_eq!(snapshot.uuid.as_deref(), Some("4f31fea8"));
        assert_eq!(snapshot.watermark, None);
        let bytes = snapshot.encode().unwrap();
        assert_eq!(Snapshot::decode(&bytes).unwrap(), snapshot);
        let text = std::str::from_utf8(&bytes).unwrap();
        assert!(text.contains("baseManifestListSize") && !text.contains("watermark"), "{text}");
    }

    #[test]
    fn what_is_no_snapshot_is_refused() {
        for text in ["", "{}", "[]", &WRITTEN[..200], &WRITTEN.replace("APPEND", "APPENDED")] {
            assert!(Snapshot::decode(text.as_bytes()).unwrap_err().to_string().contains("a snapshot file"), "{text}");
        }
        for field in ["\"id\": 2", "\"schemaId\": 0", "\"timeMillis\": 1796017913941"] {
            let (name, _) = field.split_once(' ').unwrap();
            let with = |number: u64| WRITTEN.replace(field, &format!("{name} {number}"));
            assert!(Snapshot::decode(with(i64::MAX.cast_unsigned()).as_bytes()).is_ok(), "{name}");
            let refusal = Snapshot::decode(with(1 << 63).as_bytes()).unwrap_err().to_string();
            assert!(refusal.contains("up to 9223372036854775807"), "{refusal}");
        }
        let newer = WRITTEN.replace("\"version\": 3", "\"version\": 4");
        assert!(Snapshot::decode(newer.as_bytes()).unwrap_err().to_string().contains("version 4"));
    }
}
