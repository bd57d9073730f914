//! Heads: the files that lead to all others.
//!
//! Which files are heads is told from their paths alone; what a head says is read here, where it leads is not known.

use bytes::Bytes;
use serde_json::Value as Json;

use crate::contract::{Failure, ObjectStore};

use super::super::directory::{TableDirectory, parse_canonical};
use super::super::seal::check_json;
use super::super::table::decode_snapshot;
use super::super::{FormatError, FormatResult, Snapshot};

/// What kind of head a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HeadKind {
    /// `snapshot/snapshot-N`.
    Snapshot,
    /// `changelog/changelog-N`: what is left of an expired snapshot.
    Changelog,
    /// `tag/tag-<name>`: a snapshot that stays until its tag goes.
    Tag,
}

/// One head.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Head {
    /// Its file.
    pub(super) path: String,
    /// What it is.
    pub(super) kind: HeadKind,
    /// The snapshot's number in its name; `None` for a tag.
    pub(super) snapshot_id: Option<u64>,
}

impl Head {
    /// The head of a table, on any branch, that this file is; `None` if it is none.
    pub(super) fn of(main: &TableDirectory, path: &str) -> Option<Self> {
        let beneath = path.strip_prefix(main.root())?.strip_prefix('/')?;
        let beneath = match beneath.strip_prefix("branch/branch-") {
            None => beneath,
            Some(branch) => branch.split_once('/')?.1,
        };
        let (directory, name) = beneath.split_once('/')?;
        let head = |kind, snapshot_id| Self { path: path.to_owned(), kind, snapshot_id };
        match directory {
            "snapshot" => parse_canonical(name.strip_prefix("snapshot-")?).map(|id| head(HeadKind::Snapshot, Some(id))),
            "changelog" => {
                parse_canonical(name.strip_prefix("changelog-")?).map(|id| head(HeadKind::Changelog, Some(id)))
            }
            "tag" => {
                let tag = name.strip_prefix("tag-")?;
                (!tag.is_empty() && !tag.contains('/')).then(|| head(HeadKind::Tag, None))
            }
            _ => None,
        }
    }

    /// All heads of a table in a listing of its directory.
    pub(super) fn all(main: &TableDirectory, listed: &[String]) -> Vec<Self> {
        listed.iter().filter_map(|path| Self::of(main, path)).collect()
    }

    /// What the head says.
    pub(super) async fn read(&self, objects: &dyn ObjectStore) -> Result<Snapshot, Failure> {
        let bytes = objects.get(&self.path).await?;
        match (self.kind, self.snapshot_id) {
            (HeadKind::Snapshot, Some(snapshot_id)) => decode_snapshot(&self.path, snapshot_id, &bytes),
            (HeadKind::Changelog, Some(snapshot_id)) => decode_changelog(&self.path, snapshot_id, &bytes),
            _ => Ok(check_json(&bytes).and_then(|()| Snapshot::decode(&bytes)).map_err(|e| e.within(&self.path))?),
        }
    }
}

/// The changelog of an expired snapshot is a copy of the snapshot file. Older writers left out the lists that the
/// changelog does not need; their names are empty then.
pub(super) fn decode_changelog(path: &str, snapshot_id: u64, bytes: &Bytes) -> Result<Snapshot, Failure> {
    let decode = || -> FormatResult<Snapshot> {
        check_json(bytes)?;
        let mut json: Json = serde_json::from_slice(bytes)
            .map_err(|error| FormatError::new(format!("expected a changelog file (JSON), found {error}")))?;
        if let Some(fields) = json.as_object_mut() {
            for list in ["baseManifestList", "deltaManifestList"] {
                if fields.get(list).is_none_or(Json::is_null) {
                    fields.insert(list.to_owned(), Json::from(""));
                }
            }
            // Writers of such files told neither of these; nothing is read by them.
            for field in ["commitUser", "commitIdentifier", "totalRecordCount", "deltaRecordCount"] {
                if fields.get(field).is_none_or(Json::is_null) {
                    let nothing = if field == "commitUser" { Json::from("") } else { Json::from(0) };
                    fields.insert(field.to_owned(), nothing);
                }
            }
        }
        Snapshot::decode(json.to_string().as_bytes())
    };
    let changelog = decode().map_err(|error| error.within(path))?;
    if changelog.id == snapshot_id {
        Ok(changelog)
    } else {
        Err(Failure::internal(format!("{path}: expected snapshot id {snapshot_id}, found {}", changelog.id)))
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::TablePath;

    use super::*;

    #[test]
    fn heads_are_known_by_their_paths() {
        let main = TableDirectory::of(&TablePath::new("db", "t"));
        let head = |path: &str| Head::of(&main, &format!("db.db/t/{path}")).map(|head| (head.kind, head.snapshot_id));
        assert_eq!(head("snapshot/snapshot-3"), Some((HeadKind::Snapshot, Some(3))));
        assert_eq!(head("branch/branch-b/snapshot/snapshot-3"), Some((HeadKind::Snapshot, Some(3))));
        assert_eq!(head("changelog/changelog-2"), Some((HeadKind::Changelog, Some(2))));
        assert_eq!(head("branch/branch-b/tag/tag-x"), Some((HeadKind::Tag, None)));
        for none in
            ["snapshot/LATEST", "snapshot/snapshot-03", "tag/tag-", "tag/tag-a/b", "schema/schema-0", "bucket-0/x"]
        {
            assert_eq!(head(none), None, "{none}");
        }
        assert_eq!(Head::of(&main, "db.db/t2/snapshot/snapshot-3"), None, "another table");
    }

    #[test]
    fn changelogs_of_older_writers_name_only_what_they_need() {
        let written = br#"{"version":3,"id":2,"schemaId":0,"baseManifestList":null,"deltaManifestList":null,
            "changelogManifestList":"manifest-list-c","commitKind":"APPEND","timeMillis":7,"watermark":null}"#;
        let changelog = decode_changelog("changelog-2", 2, &Bytes::from_static(written)).unwrap();
        assert_eq!(changelog.changelog_manifest_list.as_deref(), Some("manifest-list-c"));
        assert_eq!((changelog.base_manifest_list.as_str(), changelog.time_millis), ("", 7));
        let failure = decode_changelog("changelog-3", 3, &Bytes::from_static(written)).unwrap_err();
        assert_eq!(failure.message, "changelog-3: expected snapshot id 3, found 2");
        assert!(decode_changelog("changelog-2", 2, &Bytes::from_static(b"[]")).is_err());
    }
}
