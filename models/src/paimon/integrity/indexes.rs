//! Rules `index` and `deletion-vector`: the index files that a snapshot names, and the rows that they delete.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::contract::PartitionValues;

use super::super::deletion_vectors::index_file::decode_vector;
use super::super::index_manifest::{
    DELETION_VECTORS_INDEX, DeletionVectorMeta, HASH_INDEX, IndexManifestEntry, decode_index_manifest,
};
use super::super::live_files::INDEX_MANIFEST_PREFIX;
use super::super::seal::check_file_name;
use super::super::{FileKind, Snapshot};
use super::check::{Check, Line, Referrer};
use super::rule::Rule;
use super::snapshots::SnapshotFiles;

/// With this table option index files lie with the data that they index.
const IN_DATA_FILE_DIRECTORY: &str = "index-file-in-data-file-dir";
/// Each hash of a hash index has so many bytes.
const HASH_BYTES: u64 = 4;

impl Check<'_> {
    /// Checks the index manifest of a snapshot, where it has one, and all that it leads to.
    pub(super) async fn index(
        &mut self,
        line: &Line,
        by: &str,
        snapshot: &Snapshot,
        files: &SnapshotFiles,
        referrer: Referrer<'_>,
    ) {
        let Some(name) = &snapshot.index_manifest else { return };
        let path = self.directory.manifest(name);
        let Some(entries) = self.index_manifest(line, by, name, &path, snapshot, referrer).await else {
            self.incomplete = true;
            return;
        };
        let newest_schema = line.schemas.last_key_value().map(|(_, schema)| schema);
        let beside_data = newest_schema
            .filter(|schema| schema.file.options.get(IN_DATA_FILE_DIRECTORY).is_some_and(|value| value == "true"));
        let mut hash_indexes: BTreeSet<(&PartitionValues, i64)> = BTreeSet::new();
        let mut marked: BTreeSet<(&PartitionValues, i64, &str)> = BTreeSet::new();
        for entry in entries.iter() {
            let bucket = i64::from(entry.bucket);
            if entry.kind == FileKind::Delete {
                let found = format!("expected index files that there are, found a DELETE of {}", entry.file_name);
                self.findings.add(Rule::Index, &path, referrer.snapshot(), found);
                continue;
            }
            if entry.index_type == HASH_INDEX && !hash_indexes.insert((&entry.partition, bucket)) {
                let found = format!("expected one hash index for bucket {bucket}, found also {}", entry.file_name);
                self.findings.add(Rule::Index, &path, referrer.snapshot(), found);
            }
            for vector in entry.deletion_vectors.iter().flatten() {
                if !marked.insert((&entry.partition, bucket, &vector.data_file)) {
                    let found = format!("expected one deletion vector a data file, found two of {}", vector.data_file);
                    self.findings.add(Rule::DeletionVector, &path, referrer.snapshot(), found);
                }
                if rows_of(files, entry, vector).is_none() {
                    let file = &vector.data_file;
                    let found =
                        format!("expected deletion vectors of live files of bucket {bucket}, found one of {file}");
                    self.findings.add(Rule::DeletionVector, &path, referrer.snapshot(), found);
                }
            }
            let file = match beside_data {
                Some(schema) => {
                    let paths = &schema.partition_paths;
                    self.directory.data_file(paths, &entry.partition, entry.bucket, &entry.file_name)
                }
                None => format!("{}/index/{}", self.directory.root(), entry.file_name),
            };
            self.index_file(files, &path, &file, entry, referrer).await;
        }
    }

    async fn index_manifest(
        &mut self,
        line: &Line,
        by: &str,
        name: &str,
        path: &str,
        snapshot: &Snapshot,
        referrer: Referrer<'_>,
    ) -> Option<Rc<Vec<IndexManifestEntry>>> {
        if !self.check_name(name, by, referrer) {
            return None;
        }
        let types = line.schemas.get(&snapshot.schema_id)?.partition_types();
        let bytes = self.read(path, referrer).await?;
        if let Err(error) = check_file_name(name, INDEX_MANIFEST_PREFIX, &bytes) {
            self.findings.add(Rule::FileSeal, path, referrer.snapshot(), error.to_string());
            return None;
        }
        match decode_index_manifest(&types, &bytes) {
            Ok(entries) => Some(entries),
            Err(error) => {
                self.unreadable(path, referrer, &error);
                None
            }
        }
    }

    async fn index_file(
        &mut self,
        files: &SnapshotFiles,
        manifest: &str,
        path: &str,
        entry: &IndexManifestEntry,
        referrer: Referrer<'_>,
    ) {
        if let Some(external) = &entry.external_path {
            let shown: String = external.chars().take(80).collect();
            let found = format!("its manifest says that it lies outside of the table, at {shown:?}; it is not read");
            self.findings.add(Rule::FilePlace, path, referrer.snapshot(), found);
            return;
        }
        if !self.check_name(&entry.file_name, manifest, referrer) || !self.done.insert(path.to_owned()) {
            return;
        }
        let Some(bytes) = self.read(path, referrer).await else { return };
        if !self.check_size(path, referrer, entry.file_size, &bytes) {
            return;
        }
        if entry.index_type == HASH_INDEX && entry.row_count.checked_mul(HASH_BYTES) != Some(entry.file_size) {
            let found =
                format!("expected {} hashes of {HASH_BYTES} bytes, found {} bytes", entry.row_count, entry.file_size);
            self.findings.add(Rule::Index, path, referrer.snapshot(), found);
        }
        if entry.index_type != DELETION_VECTORS_INDEX {
            return;
        }
        for vector in entry.deletion_vectors.iter().flatten() {
            let rows = rows_of(files, entry, vector);
            let wrong = match decode_vector(&bytes, vector) {
                Err(error) => Some(error.to_string()),
                Ok(decoded) => decoded.greatest().zip(rows).filter(|(last, rows)| last >= rows).map(|(last, rows)| {
                    format!("expected deleted positions below {rows} in {}, found {last}", vector.data_file)
                }),
            };
            if let Some(found) = wrong {
                self.findings.add(Rule::DeletionVector, path, referrer.snapshot(), found);
            }
        }
    }
}

/// The rows of the data file that a vector belongs to; `None` if it is not live.
fn rows_of(files: &SnapshotFiles, entry: &IndexManifestEntry, vector: &DeletionVectorMeta) -> Option<u64> {
    let bucket = i64::from(entry.bucket);
    let from = (entry.partition.clone(), bucket, i32::MIN, String::new());
    let mut of_bucket = files.live.range(from..).take_while(|(name, _)| name.0 == entry.partition && name.1 == bucket);
    of_bucket.find(|(name, _)| name.3 == vector.data_file).map(|(_, file)| file.file.row_count)
}
