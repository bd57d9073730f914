//! Rules `replay` and `totals`: a snapshot is the one before and its own changes, and counts them rightly.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::PartitionValues;

use super::super::table::SchemaVersion;
use super::super::{FileKind, ManifestEntry, ManifestFileMeta, Snapshot};
use super::check::{Check, Line, Referrer};
use super::levels::BucketName;
use super::manifests::ReadManifest;
use super::rule::Rule;

/// What makes two entries speak of the same file: partition, bucket, level, name. A file that is moved to another level
/// is deleted from one and added to the other, in whichever order.
pub(super) type LiveName = (PartitionValues, i64, i32, String);

/// What is known of a snapshot once it is checked.
pub(super) struct SnapshotFiles {
    pub(super) id: u64,
    /// Its manifests, those of its base first.
    pub(super) manifests: Vec<ManifestFileMeta>,
    pub(super) live: BTreeMap<LiveName, ManifestEntry>,
    /// The files of which one of its manifests holds a delete.
    deleted: BTreeSet<LiveName>,
    /// The rows of all live files.
    pub(super) rows: i128,
}

impl SnapshotFiles {
    /// A snapshot before anything is read of it.
    fn none(id: u64) -> Self {
        Self { id, manifests: Vec::new(), live: BTreeMap::new(), deleted: BTreeSet::new(), rows: 0 }
    }
}

impl Check<'_> {
    /// Checks one snapshot and all that it leads to; returns its files if its manifests could be read. `before` is what
    /// is known of the snapshot before.
    pub(super) async fn snapshot(
        &mut self,
        line: &Line,
        path: &str,
        snapshot: &Snapshot,
        before: Option<SnapshotFiles>,
    ) -> Option<SnapshotFiles> {
        let referrer = Referrer::Snapshot(snapshot.id);
        let base_size = snapshot.base_manifest_list_size;
        let base = self.manifest_list(&snapshot.base_manifest_list, base_size, path, referrer).await;
        let delta_size = snapshot.delta_manifest_list_size;
        let delta = self.manifest_list(&snapshot.delta_manifest_list, delta_size, path, referrer).await;
        self.changelog_of(line, path, snapshot, referrer).await;

        let (base, delta) = (base?, delta?);
        let Some(schema) = line.schemas.get(&snapshot.schema_id) else {
            self.missing_schema(line, snapshot.schema_id, referrer);
            self.incomplete = true;
            return None;
        };
        let partition_types = schema.partition_types();
        let is_first = before.is_none();
        let delta_list = self.directory.manifest(&snapshot.delta_manifest_list);
        let delta_entries = self.manifests(&partition_types, &delta_list, &delta, referrer).await;
        // Where the base is just the lists of the snapshot before, its files are known without reading them again.
        let (mut files, rebased) = match before {
            Some(before) if before.manifests == *base => (before, false),
            before => {
                let base_list = self.directory.manifest(&snapshot.base_manifest_list);
                let entries = self.manifests(&partition_types, &base_list, &base, referrer).await?;
                let mut files = SnapshotFiles::none(snapshot.id);
                self.apply(&mut files, &entries, referrer);
                if let Some(before) = before {
                    self.compare(&base_list, &before, &files, referrer);
                }
                (files, true)
            }
        };
        let delta_entries = delta_entries?;
        files.id = snapshot.id;
        files.manifests = base.iter().chain(delta.iter()).cloned().collect();
        for entry in delta_entries.iter().flat_map(|manifest| manifest.entries.iter()) {
            self.refer(line, entry);
        }
        self.apply(&mut files, &delta_entries, referrer);
        if is_first {
            // The oldest snapshot is the only one whose files no other commit led to. What its own commit deleted may
            // be gone with the snapshots that expired before it.
            for entry in files.live.values() {
                self.data_file(line, entry, referrer).await;
            }
        } else {
            let added = delta_entries.iter().flat_map(|manifest| manifest.entries.iter());
            for entry in added.filter(|entry| entry.kind == FileKind::Add) {
                self.data_file(line, entry, referrer).await;
            }
        }
        self.recount(&mut files);
        self.totals(path, snapshot, &delta_entries, &files);
        let touched: BTreeSet<BucketName<'_>> = if rebased || is_first {
            files.live.values().map(BucketName::of).collect()
        } else {
            delta_entries.iter().flat_map(|manifest| manifest.entries.iter()).map(BucketName::of).collect()
        };
        self.buckets(line, path, &files, &touched, referrer);
        self.index(line, path, snapshot, &files, referrer).await;
        self.table_statistics(line, path, snapshot, referrer).await;
        let named: BTreeSet<&str> = files.manifests.iter().map(|manifest| manifest.file_name.as_str()).collect();
        self.manifests.retain(|name, _| named.contains(name.as_str()));
        Some(files)
    }

    /// Adds and deletes what these manifests say.
    fn apply(&mut self, files: &mut SnapshotFiles, manifests: &[ReadManifest], referrer: Referrer<'_>) {
        for manifest in manifests {
            for entry in manifest.entries.iter() {
                let named = live_name(entry);
                let misplaced = match entry.kind {
                    FileKind::Add => {
                        files.rows += self.rows_of(entry);
                        // Java's readers take all deletes together first, and so miss what comes back beside one.
                        let beside_delete = files.deleted.contains(&named);
                        match files.live.insert(named, entry.clone()) {
                            Some(old) => {
                                files.rows -= self.rows_of(&old);
                                Some(("to add files that are not live", "an ADD of the live file"))
                            }
                            None => beside_delete.then_some((
                                "to bring a file back only where no manifest of it holds a delete of the file",
                                "an ADD of the deleted file",
                            )),
                        }
                    }
                    FileKind::Delete => {
                        let old = files.live.remove(&named);
                        files.deleted.insert(named);
                        match old {
                            Some(old) => {
                                files.rows -= self.rows_of(&old);
                                None
                            }
                            None => Some(("to delete live files", "a DELETE of the file, which is not live,")),
                        }
                    }
                };
                if let Some((expected, found)) = misplaced {
                    let name = &entry.file.file_name;
                    let found = format!("expected {referrer} {expected}, found {found} {name}");
                    self.findings.add(Rule::Replay, &manifest.path, referrer.snapshot(), found);
                }
            }
        }
    }

    /// The files before a commit are those after the one before it.
    fn compare(&mut self, list: &str, before: &SnapshotFiles, files: &SnapshotFiles, referrer: Referrer<'_>) {
        let lost = before.live.keys().find(|name| !files.live.contains_key(*name));
        let come = files.live.keys().find(|name| !before.live.contains_key(*name));
        if let Some((found, name)) = lost.map(|name| ("without", name)).or(come.map(|name| ("also", name))) {
            let found = format!("expected the live files of snapshot {}, found them {found} {}", before.id, name.3);
            self.findings.add(Rule::Replay, list, referrer.snapshot(), found);
        }
    }

    /// Corrects the count by files that were found to have other rows than their manifests say.
    fn recount(&self, files: &mut SnapshotFiles) {
        if !self.found_rows.is_empty() {
            files.rows = files.live.values().map(|entry| self.rows_of(entry)).sum();
        }
    }

    fn totals(&mut self, path: &str, snapshot: &Snapshot, delta: &[ReadManifest], files: &SnapshotFiles) {
        let entries = delta.iter().flat_map(|manifest| manifest.entries.iter());
        let signed = entries.map(|entry| match entry.kind {
            FileKind::Add => self.rows_of(entry),
            FileKind::Delete => -self.rows_of(entry),
        });
        let delta_rows: i128 = signed.sum();
        for (field, found, expected, source) in [
            ("deltaRecordCount", snapshot.delta_record_count, delta_rows, "the files of its commit"),
            ("totalRecordCount", snapshot.total_record_count, files.rows, "its live files"),
        ] {
            if i128::from(found) != expected {
                let found = format!("expected {field} {expected} by {source}, found {found}");
                self.findings.add(Rule::Totals, path, Some(snapshot.id), found);
            }
        }
    }

    /// The rows of a file: as many as were found in it, or as its manifest says.
    pub(super) fn rows_of(&self, entry: &ManifestEntry) -> i128 {
        let found = self.found_rows.get(&entry.file.file_name).copied();
        i128::from(found.unwrap_or(entry.file.row_count))
    }

    /// Checks the changelog files of a commit, and their count.
    pub(super) async fn changelog_of(&mut self, line: &Line, path: &str, snapshot: &Snapshot, referrer: Referrer<'_>) {
        let Some(name) = &snapshot.changelog_manifest_list else { return };
        let size = snapshot.changelog_manifest_list_size;
        let Some(manifests) = self.manifest_list(name, size, path, referrer).await else { return };
        let Some(types) = line.schemas.get(&snapshot.schema_id).map(SchemaVersion::partition_types) else { return };
        let list = self.directory.manifest(name);
        let Some(read) = self.manifests(&types, &list, &manifests, referrer).await else { return };
        let mut rows = 0;
        for entry in read.iter().flat_map(|manifest| manifest.entries.iter()) {
            self.refer(line, entry);
            self.changelog_file(line, entry, referrer).await;
            rows += self.rows_of(entry);
        }
        if let Some(said) = snapshot.changelog_record_count
            && i128::from(said) != rows
        {
            let found = format!("expected changelogRecordCount {rows} by its changelog files, found {said}");
            self.findings.add(Rule::Totals, path, Some(snapshot.id), found);
        }
    }

    /// Checks the live files of a tag, whose snapshot may have expired.
    pub(super) async fn tagged(&mut self, line: &Line, path: &str, snapshot: &Snapshot, referrer: Referrer<'_>) {
        let base_size = snapshot.base_manifest_list_size;
        let base = self.manifest_list(&snapshot.base_manifest_list, base_size, path, referrer).await;
        let delta_size = snapshot.delta_manifest_list_size;
        let delta = self.manifest_list(&snapshot.delta_manifest_list, delta_size, path, referrer).await;
        let (Some(base), Some(delta)) = (base, delta) else { return };
        let Some(types) = line.schemas.get(&snapshot.schema_id).map(SchemaVersion::partition_types) else {
            self.missing_schema(line, snapshot.schema_id, referrer);
            self.incomplete = true;
            return;
        };
        let mut files = SnapshotFiles::none(snapshot.id);
        for (name, manifests) in [(&snapshot.base_manifest_list, base), (&snapshot.delta_manifest_list, delta)] {
            let list = self.directory.manifest(name);
            let Some(read) = self.manifests(&types, &list, &manifests, referrer).await else { return };
            self.apply(&mut files, &read, referrer);
        }
        for entry in files.live.values() {
            self.data_file(line, entry, referrer).await;
        }
        self.recount(&mut files);
        if i128::from(snapshot.total_record_count) != files.rows {
            let found = format!(
                "expected totalRecordCount {} by its live files, found {}",
                files.rows, snapshot.total_record_count
            );
            self.findings.add(Rule::Totals, path, Some(snapshot.id), found);
        }
        self.index(line, path, snapshot, &files, referrer).await;
        self.table_statistics(line, path, snapshot, referrer).await;
        self.manifests.clear();
    }
}

fn live_name(entry: &ManifestEntry) -> LiveName {
    (entry.partition.clone(), i64::from(entry.bucket), entry.file.level, entry.file.file_name.clone())
}
