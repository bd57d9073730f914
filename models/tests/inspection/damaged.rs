//! A copy of a table that another writer left behind, and the means to break it.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bytes::Bytes;
use futures::FutureExt;
use models::contract::{DataType, ObjectStore, TablePath};
use models::paimon::integrity::{Contents, Rule};
use models::paimon::manifest::{decode_manifest, decode_manifest_list, encode_manifest, encode_manifest_list};
use models::paimon::object_stores::MemoryObjectStore;
use models::paimon::{DataFileMeta, ManifestEntry, ManifestFileMeta, SchemaFile, Snapshot, Verification, inspect};
use serde_json::Value as Json;

/// A key table, partitioned by `dt`, of two buckets and three snapshots.
pub const KEY: (&str, &str) = ("pypaimon-2.1.0", "pk");
/// A key table of Avro files, of one bucket and no partitions.
pub const KEY_AVRO: (&str, &str) = ("pypaimon-2.1.0", "pk_avro");
/// An append table without buckets, partitioned by `dt`.
pub const APPEND: (&str, &str) = ("pypaimon-2.1.0", "app_unaware");
/// Every table that another writer left behind.
pub const ALL: [(&str, &str); 6] =
    [KEY, KEY_AVRO, APPEND, ("pypaimon-2.1.0", "app"), ("paimon-rs-0.4.0", "app"), ("paimon-rs-0.4.0", "pk")];

/// The newest snapshot of all of them.
pub const NEWEST: u64 = 3;
const MARKER: [u8; 16] = [7; 16];

/// Where the original lies.
pub fn original((writer, table): (&str, &str)) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/warehouse-{writer}/db.db/{table}"))
}

/// The files beneath a directory, relative to it.
pub fn files_beneath(directory: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            } else {
                files.push(entry.path().strip_prefix(directory).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    files.sort();
    files
}

/// A table in memory that can be broken. Its files are named as they are beneath its directory.
pub struct Damaged {
    objects: MemoryObjectStore,
}

impl Damaged {
    /// A sound copy.
    pub fn copy_of(table: (&str, &str)) -> Self {
        let damaged = Self { objects: MemoryObjectStore::new() };
        let original = original(table);
        for file in files_beneath(&original) {
            damaged.put(&file, fs::read(original.join(&file)).unwrap());
        }
        damaged
    }

    /// Where the copy lies.
    pub fn objects(&self) -> &MemoryObjectStore {
        &self.objects
    }

    fn path(file: &str) -> String {
        format!("db.db/t/{file}")
    }

    pub fn put(&self, file: &str, bytes: impl Into<Bytes>) {
        self.objects.put(&Self::path(file), bytes.into()).now_or_never().unwrap().unwrap();
    }

    pub fn get(&self, file: &str) -> Bytes {
        self.objects.get(&Self::path(file)).now_or_never().unwrap().unwrap_or_else(|failure| panic!("{failure}"))
    }

    pub fn delete(&self, file: &str) {
        self.objects.delete(&Self::path(file)).now_or_never().unwrap().unwrap();
    }

    pub fn rename(&self, from: &str, to: &str) {
        self.put(to, self.get(from));
        self.delete(from);
    }

    pub fn copy(&self, from: &str, to: &str) {
        self.put(to, self.get(from));
    }

    /// The file with one byte changed; positions below zero count from the end.
    pub fn flip(&self, file: &str, position: isize) {
        let mut bytes = self.get(file).to_vec();
        let position = if position < 0 { bytes.len() - position.unsigned_abs() } else { position as usize };
        bytes[position] ^= 0xff;
        self.put(file, bytes);
    }

    pub fn all_files(&self) -> Vec<String> {
        let listed = self.objects.list("db.db/t").now_or_never().unwrap().unwrap();
        listed.into_iter().map(|file| file["db.db/t/".len()..].to_owned()).collect()
    }

    /// The data files, ascending.
    pub fn data_files(&self) -> Vec<String> {
        self.all_files().into_iter().filter(|file| file.contains("/data-") || file.starts_with("data-")).collect()
    }

    /// Changes a JSON file.
    pub fn edit_json(&self, file: &str, edit: impl FnOnce(&mut Json)) {
        let mut json: Json = serde_json::from_slice(&self.get(file)).unwrap();
        edit(&mut json);
        self.put(file, serde_json::to_vec(&json).unwrap());
    }

    pub fn snapshot(&self, id: u64) -> Snapshot {
        Snapshot::decode(&self.get(&format!("snapshot/snapshot-{id}"))).unwrap()
    }

    /// Changes fields of the newest snapshot.
    pub fn edit_snapshot(&self, edit: impl FnOnce(&mut Json)) {
        self.edit_json(&format!("snapshot/snapshot-{NEWEST}"), edit);
    }

    pub fn partition_types(&self) -> Vec<DataType> {
        let schema = SchemaFile::decode(&self.get("schema/schema-0")).unwrap().table_schema();
        schema.partition_positions().iter().map(|at| schema.columns[*at].data_type.clone()).collect()
    }

    /// The one manifest of what the newest snapshot changed.
    pub fn newest_manifest(&self) -> ManifestFileMeta {
        let list = self.snapshot(NEWEST).delta_manifest_list;
        let manifests = decode_manifest_list(&self.get(&format!("manifest/{list}"))).unwrap();
        assert_eq!(manifests.len(), 1);
        manifests[0].clone()
    }

    /// Changes the entries of the newest snapshot's manifest. List and snapshot say how long it is now, and what is in
    /// it; record counts stay. Returns where the manifest lies.
    pub fn edit_entries(&self, edit: impl FnOnce(&mut Vec<ManifestEntry>)) -> String {
        let described = self.newest_manifest();
        let file = format!("manifest/{}", described.file_name);
        let types = self.partition_types();
        let mut entries = decode_manifest(&types, &self.get(&file)).unwrap().to_vec();
        edit(&mut entries);
        let bytes = encode_manifest(&types, &entries, MARKER).unwrap();
        let size = bytes.len() as u64;
        self.put(&file, bytes);
        let again =
            ManifestFileMeta::describe(&described.file_name, size, described.schema_id, &types, &entries).unwrap();
        self.edit_list(|manifests| *manifests = vec![again]);
        file
    }

    /// Changes what the newest snapshot says of its first new data file. Returns where the file lies.
    pub fn edit_file(&self, edit: impl FnOnce(&mut DataFileMeta)) -> String {
        let mut name = String::new();
        self.edit_entries(|entries| {
            name.clone_from(&entries[0].file.file_name);
            edit(Rc::make_mut(&mut entries[0].file));
        });
        self.all_files().into_iter().find(|file| file.ends_with(&name)).unwrap()
    }

    /// Changes the list of what the newest snapshot changed; the snapshot says how long it is now. Returns where the
    /// list lies.
    pub fn edit_list(&self, edit: impl FnOnce(&mut Vec<ManifestFileMeta>)) -> String {
        let file = format!("manifest/{}", self.snapshot(NEWEST).delta_manifest_list);
        let mut manifests = decode_manifest_list(&self.get(&file)).unwrap().to_vec();
        edit(&mut manifests);
        self.put_list(&file, "deltaManifestListSize", &manifests);
        file
    }

    /// The same for the list of what was there before.
    pub fn edit_base_list(&self, edit: impl FnOnce(&mut Vec<ManifestFileMeta>)) -> String {
        let file = format!("manifest/{}", self.snapshot(NEWEST).base_manifest_list);
        let mut manifests = decode_manifest_list(&self.get(&file)).unwrap().to_vec();
        edit(&mut manifests);
        self.put_list(&file, "baseManifestListSize", &manifests);
        file
    }

    fn put_list(&self, file: &str, size_field: &str, manifests: &[ManifestFileMeta]) {
        let bytes = encode_manifest_list(manifests, MARKER).unwrap();
        let size = bytes.len();
        self.put(file, bytes);
        self.edit_snapshot(|snapshot| snapshot[size_field] = size.into());
    }

    /// Adds rows to what the newest snapshot counts.
    pub fn count_more(&self, rows: i64) {
        self.edit_snapshot(|snapshot| {
            for field in ["deltaRecordCount", "totalRecordCount"] {
                snapshot[field] = (snapshot[field].as_i64().unwrap() + rows).into();
            }
        });
    }

    /// What the check says of it.
    pub fn inspect(&self) -> (Verification, Contents) {
        inspect(&self.objects, &TablePath::new("db", "t")).now_or_never().unwrap()
    }

    /// The findings as rules and files.
    pub fn findings(&self) -> Vec<(Rule, String)> {
        let findings = self.inspect().0.findings;
        findings.into_iter().map(|finding| (finding.rule, finding.file["db.db/t/".len()..].to_owned())).collect()
    }

    /// Expects this finding and no other.
    #[track_caller]
    pub fn expect(&self, rule: Rule, file: &str) {
        let (verification, _) = self.inspect();
        assert_eq!(self.findings(), [(rule, file.to_owned())], "{:#?}", verification.findings);
    }
}
