//! What lies beside the snapshots of a line: tags, changelogs that outlive their snapshots, consumers, statistics.

use serde::Deserialize;

use super::super::directory::numbers_after;
use super::super::table::{SchemaVersion, decode_snapshot};
use super::super::{CommitKind, manifest_meta::FileSource};
use super::super::{FileKind, FormatError, FormatResult, Snapshot};
use super::check::{Check, Line, Referrer};
use super::rule::Rule;

/// The beginning of a tag's file name.
const TAG_PREFIX: &str = "tag-";
/// The beginning of a consumer's file name.
const CONSUMER_PREFIX: &str = "consumer-";

/// A statistics file, as far as it is checked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatisticsFile {
    snapshot_id: u64,
    schema_id: u64,
}

/// A consumer file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConsumerFile {
    next_snapshot: u64,
}

impl Check<'_> {
    /// Checks the tags of a line; returns their names.
    pub(super) async fn tags(&mut self, line: &Line) -> Vec<String> {
        let mut names = Vec::new();
        let directory = format!("{}/tag", line.directory.branch_root());
        for path in self.beneath(&directory) {
            let Some(name) = path[directory.len() + 1..].strip_prefix(TAG_PREFIX).filter(|name| !name.contains('/'))
            else {
                continue;
            };
            names.push(name.to_owned());
            let Some(bytes) = self.read(path, Referrer::Directory).await else {
                self.incomplete = true;
                continue;
            };
            match Snapshot::decode(&bytes) {
                Ok(snapshot) => self.tagged(line, path, &snapshot, Referrer::Tag(name, snapshot.id)).await,
                Err(error) => {
                    self.incomplete = true;
                    self.unreadable(path, Referrer::Directory, &error);
                }
            }
        }
        names
    }

    /// Checks the changelogs that outlive their snapshots; returns their ids, ascending.
    pub(super) async fn changelogs(&mut self, line: &Line) -> Vec<u64> {
        let directory = format!("{}/changelog", line.directory.branch_root());
        let ids = numbers_after(self.beneath(&directory), &directory, "changelog-");
        for (position, id) in ids.iter().enumerate() {
            let path = format!("{directory}/changelog-{id}");
            if position > 0 && ids[position - 1].checked_add(1) != Some(*id) {
                let missing = format!("{directory}/changelog-{}", ids[position - 1].saturating_add(1));
                let found = format!("expected the changelog, for {path} exists, found none");
                self.findings.add(Rule::SnapshotChain, &missing, None, found);
            }
            let Some(bytes) = self.read(&path, Referrer::Directory).await else {
                self.incomplete = true;
                continue;
            };
            match decode_snapshot(&path, *id, &bytes) {
                Ok(snapshot) => self.changelog(line, &path, &snapshot).await,
                Err(failure) => {
                    self.incomplete = true;
                    self.unreadable(&path, Referrer::Directory, &FormatError::new(failure.message));
                }
            }
        }
        for (name, expected) in [("EARLIEST", ids.first()), ("LATEST", ids.last())] {
            self.changelog_hint(&format!("{directory}/{name}"), expected, &ids).await;
        }
        ids
    }

    /// A changelog keeps its changelog files, or, where its commit wrote none, the files that the commit added.
    async fn changelog(&mut self, line: &Line, path: &str, snapshot: &Snapshot) {
        let referrer = Referrer::Changelog(snapshot.id);
        if snapshot.changelog_manifest_list.is_some() {
            self.changelog_of(line, path, snapshot, referrer).await;
            return;
        }
        // The base list is kept with the other one and never read.
        self.reachable.insert(self.directory.manifest(&snapshot.base_manifest_list));
        let (name, size) = (&snapshot.delta_manifest_list, snapshot.delta_manifest_list_size);
        let Some(manifests) = self.manifest_list(name, size, path, referrer).await else { return };
        let Some(types) = line.schemas.get(&snapshot.schema_id).map(SchemaVersion::partition_types) else {
            self.missing_schema(line, snapshot.schema_id, referrer);
            return;
        };
        let list = self.directory.manifest(name);
        let Some(read) = self.manifests(&types, &list, &manifests, referrer).await else { return };
        for entry in read.iter().flat_map(|manifest| manifest.entries.iter()) {
            self.refer(line, entry);
            let is_new = entry.kind == FileKind::Add && entry.file.file_source != Some(FileSource::Compact);
            if is_new && snapshot.commit_kind == CommitKind::Append {
                self.data_file(line, entry, referrer).await;
            }
        }
    }

    async fn changelog_hint(&mut self, path: &str, expected: Option<&u64>, ids: &[u64]) {
        let Some(hinted) = self.hint(path).await else { return };
        if hinted.is_none_or(|id| !ids.contains(&id)) {
            let expected = expected.map_or("no hint".to_owned(), |id| format!("the number of a changelog, {id}"));
            let found = hinted.map_or("another text".to_owned(), |id| id.to_string());
            self.findings.add(Rule::Hint, path, None, format!("expected {expected}, found {found}"));
        }
    }

    /// Checks the consumers of a line, which go on within `first ..= last + 1`; returns their names.
    pub(super) async fn consumers(&mut self, line: &Line, first: Option<u64>, last: Option<u64>) -> Vec<String> {
        let mut names = Vec::new();
        let directory = format!("{}/consumer", line.directory.branch_root());
        for path in self.beneath(&directory) {
            let Some(name) = path[directory.len() + 1..].strip_prefix(CONSUMER_PREFIX) else { continue };
            names.push(name.to_owned());
            let Some(bytes) = self.read(path, Referrer::Directory).await else { continue };
            match json::<ConsumerFile>("a consumer file", &bytes) {
                Ok(consumer) => {
                    let next = consumer.next_snapshot;
                    let (first, after_last) = (first.unwrap_or(1), last.unwrap_or(0).saturating_add(1));
                    if !(first..=after_last.max(first)).contains(&next) {
                        let found = format!("expected nextSnapshot from {first} to {after_last}, found {next}");
                        self.findings.add(Rule::Consumer, path, None, found);
                    }
                }
                Err(error) => self.unreadable(path, Referrer::Directory, &error),
            }
        }
        names
    }

    /// Checks the statistics file of a snapshot, where it has one.
    pub(super) async fn table_statistics(
        &mut self,
        line: &Line,
        by: &str,
        snapshot: &Snapshot,
        referrer: Referrer<'_>,
    ) {
        let Some(name) = &snapshot.statistics else { return };
        if !self.check_name(name, by, referrer) {
            return;
        }
        let path = format!("{}/statistics/{name}", self.directory.root());
        if !self.done.insert(path.clone()) {
            return;
        }
        let Some(bytes) = self.read(&path, referrer).await else { return };
        match json::<StatisticsFile>("a statistics file", &bytes) {
            Ok(statistics) if statistics.snapshot_id > snapshot.id => {
                let found = format!("expected statistics of {referrer} or older, found {}", statistics.snapshot_id);
                self.findings.add(Rule::TableStatistics, &path, referrer.snapshot(), found);
            }
            Ok(statistics) if !line.schemas.contains_key(&statistics.schema_id) => {
                self.missing_schema(line, statistics.schema_id, referrer);
            }
            Ok(_) => {}
            Err(error) => self.unreadable(&path, referrer, &error),
        }
    }
}

/// Reads JSON whose other fields do not matter.
fn json<'a, Content: Deserialize<'a>>(what: &str, bytes: &'a [u8]) -> FormatResult<Content> {
    serde_json::from_slice(bytes).map_err(|error| FormatError::new(format!("expected {what} (JSON), found {error}")))
}
