//! From heads to files: everything between them is read once, then it is only looked at.
//!
//! It reads manifests and never data files, and it deletes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::rc::Rc;

use crate::concurrently;
use crate::contract::{Failure, ObjectStore};

use super::super::directory::{TableDirectory, numbers_after};
use super::super::live_files::{Manifest, ManifestReader, replay};
use super::super::manifest::FileSource;
use super::super::table::{SchemaVersion, decode_schema};
use super::super::{FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta, Snapshot};
use super::files::{Files, Stage};
use super::heads::{Head, HeadKind};

/// The option that puts index files beside the data files that they are of.
const INDEX_BESIDE_DATA: &str = "index-file-in-data-file-dir";

/// Heads, and what they lead to, by file name. Whatever could not be read is kept as its failure.
pub(super) struct Graph {
    directory: TableDirectory,
    schema: SchemaVersion,
    heads: BTreeMap<Head, Result<Snapshot, Failure>>,
    lists: BTreeMap<String, Result<Rc<Vec<ManifestFileMeta>>, Failure>>,
    manifests: BTreeMap<String, Result<Manifest, Failure>>,
    index_manifests: BTreeMap<String, Result<Rc<Vec<IndexManifestEntry>>, Failure>>,
}

/// Where the reading of something that a head leads to failed: the file, and why.
pub(super) type Unreadable = BTreeMap<String, String>;

impl Graph {
    /// Reads what these heads lead to. Partition columns never change, so any schema tells them; the failure is that
    /// no schema of the main branch can be read.
    pub(super) async fn load(
        objects: &dyn ObjectStore,
        main: &TableDirectory,
        listed: &[String],
        heads: impl IntoIterator<Item = Head>,
    ) -> Result<Self, Failure> {
        let in_schema = main.schema_directory();
        let newest = numbers_after(listed, &in_schema, "schema-").pop();
        let schema_id = newest.ok_or_else(|| {
            Failure::not_found(format!("expected a schema file beneath {in_schema}, found none; is this a table?"))
        })?;
        let path = main.schema(schema_id);
        let schema = SchemaVersion::new(decode_schema(&path, schema_id, &objects.get(&path).await?)?);
        let partition_types = schema.partition_types();
        let reader = ManifestReader { objects, directory: main, partition_types: &partition_types };

        let heads = each(heads, |head| async move { head.read(objects).await }).await;
        let snapshots: Vec<&Snapshot> = heads.values().flatten().collect();
        let list_names = snapshots.iter().flat_map(|snapshot| list_names(snapshot));
        let lists = each(list_names.collect::<BTreeSet<_>>(), |name| async move { reader.list(&name).await }).await;
        let described: BTreeMap<String, ManifestFileMeta> = (lists.values().flatten())
            .flat_map(|list| list.iter().map(|manifest| (manifest.file_name.clone(), manifest.clone())))
            .collect();
        let read_manifest = |name: String| {
            let described = &described[&name];
            async move { reader.manifest(described).await }
        };
        let manifests = each(described.keys().cloned(), read_manifest).await;
        let with_index = snapshots.iter().filter_map(|snapshot| Some((snapshot.index_manifest.clone()?, *snapshot)));
        let with_index: BTreeMap<String, &Snapshot> = with_index.collect();
        let read_index = |name: String| {
            let snapshot = with_index[&name];
            async move { reader.index_files(snapshot).await }
        };
        let index_manifests = each(with_index.keys().cloned(), read_index).await;
        Ok(Self { directory: main.on_main(), schema, heads, lists, manifests, index_manifests })
    }

    /// What a head says; `None` if it could not be read.
    pub(super) fn snapshot_of(&self, head: &Head) -> Option<&Snapshot> {
        self.heads.get(head)?.as_ref().ok()
    }

    /// The files that a head needs so that all that it offers can be read. Data files that the head's own commit
    /// deleted are not among them. What cannot be read on the way is told, and then the answer is not complete.
    pub(super) fn held_by(&self, head: &Head, unreadable: &mut Unreadable) -> Files {
        let snapshot = match self.heads.get(head) {
            Some(Ok(snapshot)) => snapshot,
            Some(Err(failure)) => {
                unreadable.insert(head.path.clone(), failure.message.clone());
                return Files::default();
            }
            None => return Files::default(),
        };
        let mut files = self.held_as(head.kind, &head.path, snapshot, unreadable);
        if head.kind == HeadKind::Changelog {
            // Not needed, but writers that keep them do so as long as the changelog.
            let lists = [&snapshot.base_manifest_list, &snapshot.delta_manifest_list];
            let kept = lists.into_iter().filter(|list| matches!(self.lists.get(*list), Some(Ok(_))));
            self.manifests_of(kept, &mut files, &mut Unreadable::new());
        }
        files
    }

    /// The files that a snapshot needs in order to go on as a changelog only.
    pub(super) fn held_as_changelog(&self, head: &Head, unreadable: &mut Unreadable) -> Files {
        match self.snapshot_of(head) {
            Some(snapshot) => self.held_as(HeadKind::Changelog, &head.path, snapshot, unreadable),
            None => Files::default(),
        }
    }

    fn held_as(&self, kind: HeadKind, path: &str, snapshot: &Snapshot, unreadable: &mut Unreadable) -> Files {
        let mut files = Files::default();
        if kind != HeadKind::Changelog {
            let lists = [&snapshot.base_manifest_list, &snapshot.delta_manifest_list];
            let manifests = self.manifests_of(lists, &mut files, unreadable);
            match replay(&manifests) {
                Ok(live) => self.insert_data_files(Stage::DataFile, &live, &mut files),
                Err(error) => {
                    unreadable.insert(path.to_owned(), error.to_string());
                    self.insert_all(Stage::DataFile, &manifests, &mut files);
                }
            }
            self.insert_of_snapshot(snapshot, &mut files, unreadable);
        }
        // A tag keeps rows, not changes of rows.
        if kind == HeadKind::Tag {
            return files;
        }
        if let Some(list) = &snapshot.changelog_manifest_list {
            let manifests = self.manifests_of([list], &mut files, unreadable);
            self.insert_all(Stage::ChangelogFile, &manifests, &mut files);
        } else if kind == HeadKind::Changelog {
            // Without changelog files the changes are the commit's files with new rows.
            let manifests = self.manifests_of([&snapshot.delta_manifest_list], &mut files, unreadable);
            let entries = manifests.iter().flat_map(|manifest| manifest.iter());
            let is_new = |entry: &&ManifestEntry| entry.file.file_source != Some(FileSource::Compact);
            let added = entries.filter(|entry| entry.kind == FileKind::Add).filter(is_new);
            self.insert_data_files(Stage::DataFile, added, &mut files);
        }
        files
    }

    /// Every file that a head or what it leads to names, whether it is live or not. Files that are missing lead to
    /// nothing any more.
    pub(super) fn named_by(&self, head: &Head) -> Files {
        let mut files = Files::default();
        let Some(snapshot) = self.snapshot_of(head) else {
            return files;
        };
        let mut missing = Unreadable::new();
        let lists = [&snapshot.base_manifest_list, &snapshot.delta_manifest_list];
        let manifests = self.manifests_of(lists, &mut files, &mut missing);
        self.insert_all(Stage::DataFile, &manifests, &mut files);
        if let Some(list) = &snapshot.changelog_manifest_list {
            let manifests = self.manifests_of([list], &mut files, &mut missing);
            self.insert_all(Stage::ChangelogFile, &manifests, &mut files);
        }
        self.insert_of_snapshot(snapshot, &mut files, &mut missing);
        files
    }

    /// The data files that a head's own commit says that it deleted.
    pub(super) fn deleted_by(&self, head: &Head) -> Files {
        let mut files = Files::default();
        let Some(snapshot) = self.snapshot_of(head) else { return files };
        let delta = [&snapshot.delta_manifest_list];
        let manifests = self.manifests_of(delta, &mut Files::default(), &mut Unreadable::new());
        let entries = manifests.iter().flat_map(|manifest| manifest.iter());
        let deleted = entries.filter(|entry| entry.kind == FileKind::Delete);
        self.insert_data_files(Stage::DataFile, deleted, &mut files);
        files
    }

    fn manifests_of<'a>(
        &self,
        lists: impl IntoIterator<Item = &'a String>,
        files: &mut Files,
        unreadable: &mut Unreadable,
    ) -> Vec<Manifest> {
        let mut manifests = Vec::new();
        for list in lists.into_iter().filter(|list| !list.is_empty()) {
            let path = self.directory.manifest(list);
            files.insert(Stage::OfSnapshot, path.clone());
            match self.lists.get(list) {
                Some(Ok(described)) => {
                    for manifest in described.iter() {
                        let path = self.directory.manifest(&manifest.file_name);
                        files.insert(Stage::Manifest, path.clone());
                        match self.manifests.get(&manifest.file_name) {
                            Some(Ok(manifest)) => manifests.push(Rc::clone(manifest)),
                            Some(Err(failure)) => {
                                unreadable.insert(path, failure.message.clone());
                            }
                            None => {}
                        }
                    }
                }
                Some(Err(failure)) => {
                    unreadable.insert(path, failure.message.clone());
                }
                None => {}
            }
        }
        manifests
    }

    fn insert_all(&self, stage: Stage, manifests: &[Manifest], files: &mut Files) {
        for manifest in manifests {
            let added = manifest.iter().filter(|entry| entry.kind == FileKind::Add);
            self.insert_data_files(stage, added, files);
        }
    }

    fn insert_data_files<'a>(
        &self,
        stage: Stage,
        entries: impl IntoIterator<Item = &'a ManifestEntry>,
        files: &mut Files,
    ) {
        let paths = &self.schema.partition_paths;
        for entry in entries {
            let in_bucket = || self.directory.data_file(paths, &entry.partition, entry.bucket, &entry.file.file_name);
            let path = entry.file.external_path.clone().unwrap_or_else(in_bucket);
            let beside = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            for extra_file in &entry.file.extra_files {
                files.insert(stage, format!("{beside}/{extra_file}"));
            }
            files.insert(stage, path);
        }
    }

    /// The index files and the statistics of a snapshot.
    fn insert_of_snapshot(&self, snapshot: &Snapshot, files: &mut Files, unreadable: &mut Unreadable) {
        if let Some(statistics) = &snapshot.statistics {
            files.insert(Stage::OfSnapshot, self.directory.statistics(statistics));
        }
        let Some(name) = &snapshot.index_manifest else {
            return;
        };
        let path = self.directory.manifest(name);
        files.insert(Stage::OfSnapshot, path.clone());
        match self.index_manifests.get(name) {
            Some(Ok(index_files)) => {
                for index_file in index_files.iter() {
                    files.insert(Stage::IndexFile, self.index_path(index_file));
                }
            }
            Some(Err(failure)) => {
                unreadable.insert(path, failure.message.clone());
            }
            None => {}
        }
    }

    fn index_path(&self, entry: &IndexManifestEntry) -> String {
        let schema = &self.schema;
        match &entry.external_path {
            Some(external) => external.clone(),
            None if schema.file.options.get(INDEX_BESIDE_DATA).is_some_and(|value| value == "true") => {
                self.directory.data_file(&schema.partition_paths, &entry.partition, entry.bucket, &entry.file_name)
            }
            None => self.directory.index_file(&entry.file_name),
        }
    }
}

/// The manifest lists that a snapshot names.
fn list_names(snapshot: &Snapshot) -> impl Iterator<Item = String> {
    let names = [Some(&snapshot.base_manifest_list), Some(&snapshot.delta_manifest_list)];
    let names = names.into_iter().chain([snapshot.changelog_manifest_list.as_ref()]);
    names.flatten().filter(|name| !name.is_empty()).cloned()
}

/// The outcome of one call for each key; the calls go on side by side.
async fn each<Key: Ord + Clone, Value, Call: Future<Output = Value>>(
    keys: impl IntoIterator<Item = Key>,
    call: impl Fn(Key) -> Call,
) -> BTreeMap<Key, Value> {
    let keys: Vec<Key> = keys.into_iter().collect();
    let outcomes = concurrently::all(keys.iter().cloned().map(call)).await;
    keys.into_iter().zip(outcomes).collect()
}
