//! The integrity check: whether the files of a table agree with each other (L10), and which files nobody refers to
//! (L18).
//!
//! It trusts nobody: it reads every file from the object store, whoever wrote it, and turns whatever is wrong into a
//! finding. It never fails, and it never knows what the rows should be.

mod data_files;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::contract::{DataType, ObjectStore, PartitionValues, TablePath};

use self::data_files::check_data_file;
use super::binary_row::deserialize;
use super::directory::{TableDirectory, numbers_after, parse_canonical};
use super::live_files::{ManifestReader, identity, replay};
use super::table::{SchemaVersion, decode_schema, decode_snapshot};
use super::{FileKind, ManifestEntry, ManifestFileMeta, Snapshot};

/// One thing that is wrong with the files of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file.
    pub file: String,
    /// The property that it breaks.
    pub rule: &'static str,
    /// What was expected, what was found, and what follows from it.
    pub consequence: String,
}

/// The result of the integrity check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// What is wrong, in the order of the files that lead to it; empty for a sound table.
    pub findings: Vec<Finding>,
    /// Files that no snapshot, schema or hint leads to, ascending. They cost space and break nothing (L18).
    pub orphans: Vec<String>,
}

/// Checks all files of a table, read through the object store itself. A table without any files is sound.
pub async fn verify(objects: &dyn ObjectStore, table: &TablePath) -> Verification {
    let directory = TableDirectory::of(table);
    let listed = match objects.list(directory.root()).await {
        Ok(listed) => listed,
        Err(failure) => {
            let mut verification = Verification::default();
            verification.find(directory.root(), format!("the directory cannot be listed: {failure}"));
            return verification;
        }
    };
    let mut check = Check {
        objects,
        directory: &directory,
        reachable: BTreeSet::new(),
        schemas: BTreeMap::new(),
        checked_data_files: BTreeSet::new(),
        verification: Verification::default(),
    };
    check.schemas(&listed).await;
    check.snapshots(&listed).await;
    let Check { reachable, mut verification, .. } = check;
    verification.orphans = listed.into_iter().filter(|file| !reachable.contains(file)).collect();
    verification
}

impl Verification {
    fn find(&mut self, file: &str, consequence: impl Into<String>) {
        self.findings.push(Finding { file: file.to_owned(), rule: "L10", consequence: consequence.into() });
    }
}

/// The check of one table while it goes on.
struct Check<'a> {
    objects: &'a dyn ObjectStore,
    directory: &'a TableDirectory,
    reachable: BTreeSet<String>,
    schemas: BTreeMap<u64, SchemaVersion>,
    checked_data_files: BTreeSet<String>,
    verification: Verification,
}

impl Check<'_> {
    /// Schema files exist from 0 on without a gap and parse.
    async fn schemas(&mut self, listed: &[String]) {
        let in_schema = self.directory.schema_directory();
        let files: Vec<String> = listed.iter().filter(|file| file.starts_with(&in_schema)).cloned().collect();
        for (expected_id, schema_id) in (0..).zip(numbers_after(&files, "schema-")) {
            let path = self.directory.schema(schema_id);
            if schema_id != expected_id {
                let missing = self.directory.schema(expected_id);
                self.verification.find(&missing, format!("the file is missing, though {path} exists"));
            }
            self.reachable.insert(path.clone());
            let read = match self.objects.get(&path).await {
                Ok(bytes) => decode_schema(&path, schema_id, &bytes),
                Err(failure) => Err(failure),
            };
            match read {
                Ok(file) => {
                    self.schemas.insert(schema_id, SchemaVersion::new(file));
                }
                Err(failure) => self.verification.find(&path, failure.message),
            }
        }
        if self.schemas.is_empty() && !listed.is_empty() {
            let path = self.directory.schema(0);
            self.verification.find(&path, "no schema file can be read, so no file of the table can");
        }
    }

    /// Snapshots follow each other without a gap, and each one is what the one before and its own commit make of it.
    async fn snapshots(&mut self, listed: &[String]) {
        let in_snapshot = self.directory.snapshot_directory();
        let files: Vec<String> = listed.iter().filter(|file| file.starts_with(&in_snapshot)).cloned().collect();
        let ids = numbers_after(&files, "snapshot-");
        self.hints(&files, &ids).await;
        if ids.first().is_some_and(|lowest| *lowest > 1) && !files.contains(&self.directory.earliest_hint()) {
            // Expiry leaves this hint.
            let first = self.directory.snapshot(1);
            self.verification.find(&first, "the file is missing, and no EARLIEST hint says that it expired");
        }
        let mut before: Option<(Snapshot, SnapshotFiles)> = None;
        for (position, snapshot_id) in ids.iter().enumerate() {
            let path = self.directory.snapshot(*snapshot_id);
            self.reachable.insert(path.clone());
            if position > 0 && ids[position - 1] + 1 != *snapshot_id {
                let missing = self.directory.snapshot(snapshot_id - 1);
                self.verification.find(&missing, format!("the file is missing between two snapshots, before {path}"));
                before = None;
            }
            let read = match self.objects.get(&path).await {
                Ok(bytes) => decode_snapshot(&path, *snapshot_id, &bytes),
                Err(failure) => Err(failure),
            };
            let snapshot = match read {
                Ok(snapshot) => snapshot,
                Err(failure) => {
                    self.verification.find(&path, failure.message);
                    before = None;
                    continue;
                }
            };
            let files = self.snapshot(&path, &snapshot, before.as_ref()).await;
            before = files.map(|files| (snapshot, files));
        }
    }

    /// A hint may be old, but it must name a snapshot that exists.
    async fn hints(&mut self, files: &[String], ids: &[u64]) {
        for path in [self.directory.latest_hint(), self.directory.earliest_hint()] {
            if !files.contains(&path) {
                continue;
            }
            self.reachable.insert(path.clone());
            let hinted = match self.objects.get(&path).await {
                Ok(bytes) => std::str::from_utf8(&bytes).ok().and_then(parse_canonical),
                Err(_) => None,
            };
            if hinted.is_none_or(|id| !ids.contains(&id)) {
                self.verification
                    .find(&path, "expected the number of a snapshot that exists; readers must list instead");
            }
        }
    }

    /// Checks one snapshot; returns its files if they could be read.
    async fn snapshot(
        &mut self,
        path: &str,
        snapshot: &Snapshot,
        before: Option<&(Snapshot, SnapshotFiles)>,
    ) -> Option<SnapshotFiles> {
        let Some(schema) = self.schemas.get(&snapshot.schema_id) else {
            self.verification.find(path, format!("its schema {} does not exist", snapshot.schema_id));
            return None;
        };
        let partition_types = schema.partition_types();
        let base_manifests = self.manifest_list(&snapshot.base_manifest_list, snapshot.base_manifest_list_size).await;
        let delta_manifests =
            self.manifest_list(&snapshot.delta_manifest_list, snapshot.delta_manifest_list_size).await;
        let changelog_manifests = match &snapshot.changelog_manifest_list {
            Some(name) => self.manifest_list(name, snapshot.changelog_manifest_list_size).await?,
            None => Vec::new(),
        };
        for entry in self.entries(&partition_types, &changelog_manifests).await? {
            self.data_file(&entry).await;
        }
        let (base_manifests, delta_manifests) = (base_manifests?, delta_manifests?);

        // Where the base is just the lists of the snapshot before, its files are known without reading them again.
        let continues = before.filter(|(_, files)| files.manifests == base_manifests);
        let base_live = match continues {
            Some((_, files)) => files.live.clone(),
            None => {
                let entries = self.entries(&partition_types, &base_manifests).await?;
                self.replay(path, entries)?
            }
        };
        if continues.is_none()
            && let Some((previous, files)) = before
            && !same_files(&files.live, &base_live)
        {
            self.verification.find(
                path,
                format!(
                    "the files before its commit are not those of snapshot {}; files came or went between",
                    previous.id
                ),
            );
        }
        let delta = self.entries(&partition_types, &delta_manifests).await?;
        for entry in &delta {
            self.data_file(entry).await;
        }
        if before.is_none() {
            // The oldest snapshot is the only one whose base no other commit leads to.
            for entry in &base_live {
                self.data_file(entry).await;
            }
        }
        let delta_rows: i64 = delta.iter().map(signed_rows).sum();
        let live = self.replay(path, base_live.into_iter().chain(delta).collect())?;
        self.counts(path, snapshot, before.map(|(previous, _)| previous), delta_rows, &live);
        self.key_ranges(path, &live);
        let manifests = base_manifests.into_iter().chain(delta_manifests).collect();
        Some(SnapshotFiles { manifests, live })
    }

    fn counts(
        &mut self,
        path: &str,
        snapshot: &Snapshot,
        previous: Option<&Snapshot>,
        delta_rows: i64,
        live: &[ManifestEntry],
    ) {
        let total_rows: i64 = live.iter().map(signed_rows).sum();
        let expected_total = previous.map(|previous| previous.total_record_count + snapshot.delta_record_count);
        let expectations = [
            ("deltaRecordCount", snapshot.delta_record_count, Some(delta_rows), "the files of its commit"),
            ("totalRecordCount", snapshot.total_record_count, Some(total_rows), "its live files"),
            ("totalRecordCount", snapshot.total_record_count, expected_total, "the snapshot before and its delta"),
        ];
        for (field, found, expected, source) in expectations {
            if let Some(expected) = expected.filter(|expected| *expected != found) {
                self.verification.find(path, format!("expected {field} {expected} by {source}, found {found}"));
            }
        }
        if previous.is_some_and(|previous| previous.watermark > snapshot.watermark) {
            self.verification.find(path, "its watermark is lower than that of the snapshot before");
        }
    }

    /// Above level 0 the files of one level of a bucket do not overlap, and the files of a partition agree on the
    /// number of buckets.
    fn key_ranges(&mut self, path: &str, live: &[ManifestEntry]) {
        let mut total_buckets = BTreeMap::new();
        let mut levels: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for entry in live {
            if *total_buckets.entry(&entry.partition).or_insert(entry.total_buckets) != entry.total_buckets {
                self.verification.find(
                    path,
                    format!("partition {:?} has files of different numbers of buckets", entry.partition.cells()),
                );
            }
            let key_types = self.schemas.get(&entry.file.schema_id).map(SchemaVersion::key_types).unwrap_or_default();
            if entry.file.level > 0 && !key_types.is_empty() {
                let key = |bytes| deserialize(&key_types, bytes).ok();
                if let (Some(min), Some(max)) = (key(&entry.file.min_key), key(&entry.file.max_key)) {
                    levels.entry((&entry.partition, entry.bucket, entry.file.level)).or_default().push((min, max));
                }
            }
        }
        for ((_, bucket, level), mut ranges) in levels {
            ranges.sort();
            if ranges.windows(2).any(|pair| pair[0].1 >= pair[1].0) {
                self.verification.find(
                    path,
                    format!("files of level {level} of bucket {bucket} overlap; a merge may return an older row"),
                );
            }
        }
    }

    fn reader<'a>(&'a self, partition_types: &'a [DataType]) -> ManifestReader<'a> {
        ManifestReader { objects: self.objects, directory: self.directory, partition_types }
    }

    async fn manifest_list(&mut self, file_name: &str, size: Option<u64>) -> Option<Vec<ManifestFileMeta>> {
        let path = self.directory.manifest(file_name);
        self.reachable.insert(path.clone());
        if let (Some(expected), Ok(bytes)) = (size, self.objects.get(&path).await)
            && bytes.len() as u64 != expected
        {
            self.verification.find(&path, format!("expected {expected} bytes, found {}", bytes.len()));
        }
        let read = self.reader(&[]).list(file_name).await;
        match read {
            Ok(manifests) => Some(manifests.to_vec()),
            Err(failure) => {
                self.verification.find(&path, failure.message);
                None
            }
        }
    }

    /// The entries of these manifests; `None` if one cannot be read.
    async fn entries(
        &mut self,
        partition_types: &[DataType],
        manifests: &[ManifestFileMeta],
    ) -> Option<Vec<ManifestEntry>> {
        let mut entries = Vec::new();
        let mut complete = true;
        for described in manifests {
            let path = self.directory.manifest(&described.file_name);
            self.reachable.insert(path.clone());
            let read = self.reader(partition_types).manifest(described).await;
            match read {
                Ok(manifest) => {
                    let count = |kind| manifest.iter().filter(|entry| entry.kind == kind).count() as u64;
                    let (added, deleted) = (count(FileKind::Add), count(FileKind::Delete));
                    if (added, deleted) != (described.added_files, described.deleted_files) {
                        self.verification.find(
                            &path,
                            format!(
                                "expected {} added and {} deleted files as its list says, found {added} and {deleted}",
                                described.added_files, described.deleted_files
                            ),
                        );
                    }
                    entries.extend(manifest.iter().cloned());
                }
                Err(failure) => {
                    self.verification.find(&path, failure.message);
                    complete = false;
                }
            }
        }
        complete.then_some(entries)
    }

    fn replay(&mut self, path: &str, entries: Vec<ManifestEntry>) -> Option<Vec<ManifestEntry>> {
        match replay(&[Rc::new(entries)]) {
            Ok(live) => Some(live),
            Err(error) => {
                self.verification.find(path, error.to_string());
                None
            }
        }
    }

    /// Reads and checks a data file, once however many snapshots refer to it.
    async fn data_file(&mut self, entry: &ManifestEntry) {
        let Some(schema) = self.schemas.get(&entry.file.schema_id) else {
            let consequence = format!("its schema {} does not exist", entry.file.schema_id);
            self.verification.find(&entry.file.file_name, consequence);
            return;
        };
        let in_bucket =
            || self.directory.data_file(&schema.partition_paths, &entry.partition, entry.bucket, &entry.file.file_name);
        let path = entry.file.external_path.clone().unwrap_or_else(in_bucket);
        for extra_file in &entry.file.extra_files {
            let beside = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            self.reachable.insert(format!("{beside}/{extra_file}"));
        }
        self.reachable.insert(path.clone());
        if !self.checked_data_files.insert(path.clone()) {
            return;
        }
        let wrong = match self.objects.get(&path).await {
            Ok(bytes) => check_data_file(schema, entry, &bytes),
            Err(failure) => vec![format!("the file is referred to and cannot be read: {failure}")],
        };
        for consequence in wrong {
            self.verification.find(&path, consequence);
        }
    }
}

/// What is known of a snapshot once it is checked.
struct SnapshotFiles {
    manifests: Vec<ManifestFileMeta>,
    live: Vec<ManifestEntry>,
}

fn signed_rows(entry: &ManifestEntry) -> i64 {
    let rows = i64::try_from(entry.file.row_count).unwrap_or(i64::MAX);
    match entry.kind {
        FileKind::Add => rows,
        FileKind::Delete => -rows,
    }
}

fn same_files(a: &[ManifestEntry], b: &[ManifestEntry]) -> bool {
    let names = |entries: &[ManifestEntry]| -> BTreeSet<_> { entries.iter().map(identity_owned).collect() };
    names(a) == names(b)
}

fn identity_owned(entry: &ManifestEntry) -> (PartitionValues, u32, String) {
    let (partition, bucket, name) = identity(entry);
    (partition.clone(), bucket, name.to_owned())
}
