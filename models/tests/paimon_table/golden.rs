//! The files of one small table as a person reads them. Whoever changes what is written reviews the difference.
//!
//! Names that are drawn are numbered by their first appearance, sizes and hashes are left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bytes::Bytes;
use models::contract::{DataType, Row, RowKind, Value};
use models::paimon::index_manifest::{DELETION_VECTORS_INDEX, decode_index_manifest, encode_index_manifest};
use models::paimon::manifest::{decode_manifest, decode_manifest_list};
use models::paimon::{
    CommitMode, CompactionKind, DeletionVectorMeta, FileKind, IndexManifestEntry, OverwriteScope, Snapshot,
};

use crate::surroundings::*;

/// Replaces every UUID by its number of appearance, and every checksum.
#[derive(Default)]
struct Readable {
    uuids: BTreeMap<String, usize>,
}

const UUID_LENGTH: usize = 36;

impl Readable {
    fn text(&mut self, text: &str) -> String {
        let is_uuid = |part: &str| {
            part.len() == UUID_LENGTH
                && part.char_indices().all(|(index, character)| match index {
                    8 | 13 | 18 | 23 => character == '-',
                    _ => character.is_ascii_hexdigit(),
                })
        };
        let mut readable = String::new();
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            match rest.get(..UUID_LENGTH).filter(|part| is_uuid(part)) {
                Some(uuid) => {
                    let next = self.uuids.len() + 1;
                    let number = *self.uuids.entry(uuid.to_owned()).or_insert(next);
                    let _ = write!(readable, "<uuid {number}>");
                    rest = &rest[UUID_LENGTH..];
                }
                None => {
                    readable.push(character);
                    rest = &rest[character.len_utf8()..];
                }
            }
        }
        readable
    }

    /// A JSON file without what changes with every byte of it.
    fn json(&mut self, bytes: &[u8]) -> String {
        let volatile = |line: &&str| !line.contains("\"checksum\"") && !line.contains("Size\"");
        let text = std::str::from_utf8(bytes).expect("the file is UTF-8");
        self.text(&text.lines().filter(volatile).collect::<Vec<_>>().join("\n"))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every snapshot, oldest first, with the lists and manifests that it names.
fn outline(files: &BTreeMap<String, Bytes>, partition_types: &[DataType]) -> String {
    let mut readable = Readable::default();
    let mut lines = String::new();
    for (path, bytes) in files.iter().filter(|(path, _)| path.contains("/schema/")) {
        let _ = writeln!(lines, "== {path}\n{}", readable.json(bytes));
    }
    for (path, bytes) in files.iter().filter(|(path, _)| path.contains("/snapshot/")) {
        let _ = writeln!(lines, "== {path}\n{}", readable.json(bytes));
        let Ok(snapshot) = Snapshot::decode(bytes) else { continue };
        let lists = [("base", Some(&snapshot.base_manifest_list)), ("delta", Some(&snapshot.delta_manifest_list))];
        let changelog = ("changelog", snapshot.changelog_manifest_list.as_ref());
        let lists = lists.into_iter().chain([changelog]).filter_map(|(role, list)| Some((role, list?)));
        for (role, list) in lists {
            let manifests = decode_manifest_list(&files[&format!("db.db/t/manifest/{list}")]).unwrap();
            let _ = writeln!(lines, "-- {role}: {}", readable.text(list));
            for manifest in manifests.iter() {
                let _ = writeln!(
                    lines,
                    "{}: added {}, deleted {}, schema {}, buckets {:?}..={:?} of {:?}, levels {:?}..={:?}",
                    readable.text(&manifest.file_name),
                    manifest.added_files,
                    manifest.deleted_files,
                    manifest.schema_id,
                    manifest.min_bucket,
                    manifest.max_bucket,
                    manifest.total_buckets,
                    manifest.min_level,
                    manifest.max_level
                );
                let content = &files[&format!("db.db/t/manifest/{}", manifest.file_name)];
                for entry in decode_manifest(partition_types, content).unwrap().iter() {
                    let file = &entry.file;
                    let _ = writeln!(
                        lines,
                        "  {:?} {:?} bucket {} {}: rows {} ({} deletes), keys {}..={}, sequence {}..={}, schema {}, \
                         level {}, {:?}, written at {:?}",
                        entry.kind,
                        entry.partition.cells(),
                        entry.bucket,
                        readable.text(&file.file_name),
                        file.row_count,
                        file.delete_row_count.unwrap_or_default(),
                        hexadecimal(&file.min_key),
                        hexadecimal(&file.max_key),
                        file.min_sequence_number,
                        file.max_sequence_number,
                        file.schema_id,
                        file.level,
                        file.file_source,
                        file.creation_time_millis
                    );
                }
            }
        }
        let Some(index_manifest) = &snapshot.index_manifest else { continue };
        let _ = writeln!(lines, "-- index: {}", readable.text(index_manifest));
        let content = &files[&format!("db.db/t/manifest/{index_manifest}")];
        for entry in decode_index_manifest(partition_types, content).unwrap().iter() {
            let (partition, bucket, index_type) = (entry.partition.cells(), entry.bucket, &entry.index_type);
            let (file_name, row_count) = (readable.text(&entry.file_name), entry.row_count);
            let _ = writeln!(lines, "  {partition:?} bucket {bucket} {index_type} {file_name}: rows {row_count}");
            for vector in entry.deletion_vectors.iter().flatten() {
                let _ = writeln!(
                    lines,
                    "    {}: {} bytes at {}, deletes {:?}",
                    readable.text(&vector.data_file),
                    vector.length,
                    vector.offset,
                    vector.cardinality
                );
            }
        }
    }
    lines
}

/// The only place where golden files are named.
fn assert_golden(name: &str, content: &str) {
    insta::with_settings!({ snapshot_path => "../../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, content);
    });
}

#[tokio::test]
async fn the_files_of_a_key_table() {
    let warehouse = warehouse();
    let mut schema = with_option(partitioned_schema(), "bucket", "2");
    schema.primary_key = vec!["id".to_owned(), "dt".to_owned()];
    for column in schema.columns.iter_mut().filter(|column| column.name != "v") {
        column.nullable = false;
    }
    let table = warehouse.create(&schema).await;
    append(&table, "a", &inserts(&[row(1, "a", "mon"), row(2, "a", "mon"), row(3, "a", "tue")])).await;
    append(&table, "b", &[(RowKind::Delete, row(2, "a", "mon"))]).await;
    let monday = by_bucket(&table, &inserts(&[row(4, "c", "mon")]));
    table.overwrite("c", OverwriteScope::Dynamic, &monday).await.unwrap();
    let commit = request(&table, "d", CommitMode::Append, &[]).await;
    table.commit(commit).await.unwrap();
    assert_golden("paimon-key-table", &outline(&warehouse.storage.memory.snapshot_all(), &[DataType::STRING]));
}

#[tokio::test]
async fn the_files_of_a_key_table_with_deletion_vectors_and_a_changelog() {
    let warehouse = warehouse();
    let vectors = with_option(with_option(key_schema(), "bucket", "1"), "deletion-vectors.enabled", "true");
    let table = warehouse.create_unchecked(&with_option(vectors, "changelog-producer", "input")).await;
    append(&table, "a", &inserts(&[1, 2, 3, 4, 5, 6].map(|id| row(id, "old", "d")))).await;
    assert!(compact(&table, "to the top", CompactionKind::Full).await);
    append(&table, "b", &[(RowKind::UpdateAfter, row(2, "new", "d")), (RowKind::Delete, row(5, "old", "d"))]).await;
    assert!(compact(&table, "above it", CompactionKind::Automatic).await);
    assert_golden("paimon-key-table-with-vectors", &outline(&warehouse.storage.memory.snapshot_all(), &[]));
}

#[tokio::test]
async fn the_files_of_an_append_table() {
    let warehouse = warehouse();
    let table = warehouse.create(&with_option(append_schema(), "compaction.min.file-num", "2")).await;
    append(&table, "a", &inserts(&[row(1, "a", "d"), row(1, "a", "d")])).await;
    append(&table, "b", &inserts(&[row(2, "b", "d")])).await;
    assert!(compact(&table, "c", CompactionKind::Full).await);
    assert_golden("paimon-append-table", &outline(&warehouse.storage.memory.snapshot_all(), &[]));
}

#[tokio::test]
async fn the_files_of_a_partitioned_append_table() {
    let warehouse = warehouse();
    let table = warehouse.create(&partitioned_schema()).await;
    append(&table, "a", &inserts(&[row(1, "a", "mon"), row(2, "a", "a/b=c"), row(3, "a", "100%")])).await;
    let monday = by_bucket(&table, &inserts(&[row(4, "b", "mon")]));
    table.overwrite("b", OverwriteScope::Dynamic, &monday).await.unwrap();
    let percent = BTreeMap::from([("dt".to_owned(), Value::string("100%"))]);
    table.drop_partitions("c", &[percent]).await.unwrap();
    let files = warehouse.storage.memory.snapshot_all();
    let mut readable = Readable::default();
    let data_files: Vec<String> =
        files.keys().filter(|path| path.contains("/data-")).map(|path| readable.text(path)).collect();
    let outline = outline(&files, &[DataType::STRING]);
    assert_golden("paimon-partitioned-append-table", &format!("{outline}== data files\n{}", data_files.join("\n")));
}

#[test]
fn the_entries_of_an_index_manifest() {
    let vector = |data_file: &str, offset, cardinality| DeletionVectorMeta {
        data_file: data_file.to_owned(),
        offset,
        length: 22,
        cardinality,
    };
    let entry = IndexManifestEntry {
        kind: FileKind::Add,
        partition: Row::new(vec![Value::string("mon")]),
        bucket: 1,
        index_type: DELETION_VECTORS_INDEX.to_owned(),
        file_name: "index-1".to_owned(),
        file_size: 61,
        row_count: 2,
        deletion_vectors: Some(vec![vector("data-1", 1, Some(2)), vector("data-2", 31, None)]),
        external_path: None,
    };
    let bytes = encode_index_manifest(&[DataType::STRING], &[entry], [7; 16]).unwrap();
    let header_end = bytes.windows(16).position(|window| window == [7; 16]).unwrap();
    let header: String =
        bytes[..header_end].iter().map(|byte| *byte as char).filter(|c| c.is_ascii_graphic()).collect();
    let entries = decode_index_manifest(&[DataType::STRING], &bytes).unwrap();
    assert_golden("paimon-index-manifest", &format!("{header}\n{entries:#?}"));
}
