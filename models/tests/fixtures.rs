//! Tables that other Paimon implementations wrote, read from their files up to their rows.
//!
//! The tables are in `fixtures/warehouse-…`, what their own writer reads from them is in `fixtures/expected-…`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use models::contract::{DataType, Row, RowSet, TableSchema, Value, partition_name};
use models::paimon::data_file::{DataFileLayout, FileFormat, decode_changes, decode_rows};
use models::paimon::manifest::{decode_manifest, decode_manifest_list, encode_manifest, encode_manifest_list};
use models::paimon::{DataFileMeta, FileKind, ManifestEntry, SchemaFile, Snapshot, binary_row};

const PYPAIMON: &str = "pypaimon-2.1.0";
const PAIMON_RUST: &str = "paimon-rs-0.4.0";
const JAVA: &str = "java-1.4.2";

/// Every fixture: writer and table.
const TABLES: [(&str, &str); 6] = [
    (PYPAIMON, "app"),
    (PYPAIMON, "app_unaware"),
    (PYPAIMON, "pk"),
    (PYPAIMON, "pk_avro"),
    (PAIMON_RUST, "app"),
    (PAIMON_RUST, "pk"),
];

/// Fixtures of every column type, nested ones among them.
const TABLES_OF_ALL_TYPES: [(&str, &str); 5] =
    [(JAVA, "types"), (JAVA, "types_avro"), (JAVA, "nested"), (JAVA, "nested_avro"), (JAVA, "nested_key")];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// One fixture table.
struct Fixture {
    name: String,
    directory: PathBuf,
    schema_file: SchemaFile,
    schema: TableSchema,
    partition_types: Vec<DataType>,
}

impl Fixture {
    fn open(writer: &str, table: &str) -> Self {
        let directory = fixtures().join(format!("warehouse-{writer}/db.db/{table}"));
        let schema_file = SchemaFile::decode(&fs::read(directory.join("schema/schema-0")).unwrap()).unwrap();
        let schema = schema_file.table_schema();
        let partition_types = types(&schema, &schema.partition_positions());
        Self { name: format!("{writer} {table}"), directory, schema_file, schema, partition_types }
    }

    fn all() -> impl Iterator<Item = Self> {
        TABLES.into_iter().map(|(writer, table)| Self::open(writer, table))
    }

    fn read(&self, path: &str) -> Bytes {
        let file = self.directory.join(path);
        Bytes::from(fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())))
    }

    fn latest_snapshot(&self) -> Snapshot {
        let hint = String::from_utf8(self.read("snapshot/LATEST").to_vec()).unwrap();
        Snapshot::decode(&self.read(&format!("snapshot/snapshot-{}", hint.trim()))).unwrap()
    }

    /// The live files of the latest snapshot, base before delta.
    fn live_entries(&self) -> Vec<ManifestEntry> {
        let snapshot = self.latest_snapshot();
        let mut live: Vec<ManifestEntry> = Vec::new();
        for list in [&snapshot.base_manifest_list, &snapshot.delta_manifest_list] {
            for manifest in decode_manifest_list(&self.read(&format!("manifest/{list}"))).unwrap().iter() {
                let bytes = self.read(&format!("manifest/{}", manifest.file_name));
                assert_eq!(bytes.len() as u64, manifest.file_size, "{}", manifest.file_name);
                let entries = decode_manifest(&self.partition_types, &bytes).unwrap();
                assert_eq!(entries.len() as u64, manifest.added_files + manifest.deleted_files);
                for entry in entries.iter() {
                    match entry.kind {
                        FileKind::Add => live.push(entry.clone()),
                        FileKind::Delete => live.retain(|other| other.file.file_name != entry.file.file_name),
                    }
                }
            }
        }
        let live_rows: u64 = live.iter().map(|entry| entry.file.row_count).sum();
        assert_eq!(live_rows as i64, snapshot.total_record_count, "{}", self.name);
        live
    }

    /// A live data file's bytes, from the directory that its entry says it is in.
    fn data_file(&self, entry: &ManifestEntry) -> Bytes {
        let partition = partition_name(&self.schema.partition_keys, &entry.partition);
        let partition = partition.map_or(String::new(), |name| format!("{name}/"));
        let bytes = self.read(&format!("{partition}bucket-{}/{}", entry.bucket, entry.file.file_name));
        assert_eq!(bytes.len() as u64, entry.file.file_size, "{}", entry.file.file_name);
        bytes
    }

    /// Every row of every live file, overwritten and deleted ones too: its entry's position, sequence number, whether
    /// it is there after its change, and the row.
    fn stored_rows(&self, entries: &[ManifestEntry]) -> Vec<(usize, i64, bool, Row)> {
        let layout = DataFileLayout::of(&self.schema_file);
        let mut stored = Vec::new();
        for (position, entry) in entries.iter().enumerate() {
            let bytes = self.data_file(entry);
            let format = FileFormat::of_file_name(&entry.file.file_name).unwrap();
            let before = stored.len();
            if self.schema.has_primary_key() {
                for change in decode_changes(&layout, format, &bytes).unwrap().iter() {
                    let DataFileMeta { min_sequence_number, max_sequence_number, .. } = *entry.file;
                    assert!((min_sequence_number..=max_sequence_number).contains(&change.sequence));
                    stored.push((position, change.sequence, change.kind.adds(), change.row.clone()));
                }
            } else {
                let rows = decode_rows(&layout, format, &bytes).unwrap();
                stored.extend(rows.iter().map(|row| (position, 0, true, row.clone())));
            }
            assert_eq!((stored.len() - before) as u64, entry.file.row_count, "{}", entry.file.file_name);
        }
        stored
    }

    /// The rows that a reader of the latest snapshot sees, sorted.
    fn rows(&self) -> Vec<Row> {
        let stored = self.stored_rows(&self.live_entries());
        let mut rows: Vec<Row> = if self.schema.has_primary_key() {
            let key_positions = self.schema.key_positions();
            let mut newest: BTreeMap<Row, (i64, bool, Row)> = BTreeMap::new();
            for (_, sequence, is_there, row) in stored {
                let key = row.project(&key_positions);
                if newest.get(&key).is_none_or(|(other, _, _)| sequence > *other) {
                    newest.insert(key, (sequence, is_there, row));
                }
            }
            newest.into_values().filter(|(_, is_there, _)| *is_there).map(|(_, _, row)| row).collect()
        } else {
            stored.into_iter().map(|(_, _, _, row)| row).collect()
        };
        rows.sort();
        rows
    }
}

fn types(schema: &TableSchema, positions: &[usize]) -> Vec<DataType> {
    positions.iter().map(|position| schema.columns[*position].data_type.clone()).collect()
}

/// What the table's writer reads from it, sorted.
fn expected_rows(writer: &str, table: &str, schema: &TableSchema) -> Vec<Row> {
    #[derive(serde::Deserialize)]
    struct Expected {
        rows: RowSet,
    }
    let text = fs::read(fixtures().join(format!("expected-{writer}/db.{table}.json"))).unwrap();
    let expected: Expected = serde_json::from_slice(&text).unwrap();
    let mut rows = expected.rows.conform(schema).unwrap();
    rows.sort();
    rows
}

#[test]
fn every_table_reads_as_its_writer_reads_it() {
    for (writer, table) in TABLES.into_iter().chain(TABLES_OF_ALL_TYPES) {
        let fixture = Fixture::open(writer, table);
        let expected = expected_rows(writer, table, &fixture.schema);
        assert!(!expected.is_empty());
        assert_eq!(fixture.rows(), expected, "{writer} {table}");
    }
}

#[test]
fn every_row_lies_in_the_bucket_that_its_key_hashes_to() {
    let mut buckets_met = BTreeSet::new();
    for fixture in Fixture::all() {
        let Some(bucket_count) = fixture.schema.bucket_count() else { continue };
        let positions = fixture.schema.bucket_key_positions();
        let key_types = types(&fixture.schema, &positions);
        let entries = fixture.live_entries();
        for (position, _, _, row) in fixture.stored_rows(&entries) {
            let bucket = binary_row::bucket_of(&key_types, &row.project(&positions), bucket_count).unwrap();
            assert_eq!(bucket, entries[position].bucket, "{}: {row:?}", fixture.name);
            buckets_met.insert((fixture.name.clone(), bucket));
        }
    }
    // Five tables with buckets, of which two have two.
    assert_eq!(buckets_met.len(), 7, "{buckets_met:?}");
}

#[test]
fn keys_and_statistics_of_the_manifests_agree_with_the_rows() {
    for fixture in Fixture::all().filter(|fixture| fixture.schema.has_primary_key()) {
        let layout = DataFileLayout::of(&fixture.schema_file);
        let key_types = types(&fixture.schema, layout.key_positions());
        let entries = fixture.live_entries();
        let stored = fixture.stored_rows(&entries);
        for (position, entry) in entries.iter().enumerate() {
            let of_file = stored.iter().filter(|(other, ..)| *other == position);
            let keys: Vec<Row> = of_file.map(|(_, _, _, row)| row.project(layout.key_positions())).collect();
            assert!(keys.is_sorted(), "{}: {keys:?}", fixture.name);
            let decode = |bytes: &[u8]| Some(binary_row::deserialize(&key_types, bytes).unwrap());
            assert_eq!(decode(&entry.file.min_key).as_ref(), keys.first(), "{}", fixture.name);
            assert_eq!(decode(&entry.file.max_key).as_ref(), keys.last(), "{}", fixture.name);
            let encoded = |key: &Row| binary_row::serialize(&key_types, key).unwrap();
            assert_eq!(encoded(&keys[0]), entry.file.min_key, "the same bytes as the other writer");
        }
    }
}

#[test]
fn statistics_are_the_ones_that_another_writer_computes() {
    use models::paimon::column_stats::SimpleStats;

    let fixture = Fixture::open(PAIMON_RUST, "pk");
    let all_types: Vec<DataType> = fixture.schema.columns.iter().map(|column| column.data_type.clone()).collect();
    let entries = fixture.live_entries();
    let stored = fixture.stored_rows(&entries);
    for (position, entry) in entries.iter().enumerate() {
        let rows = stored.iter().filter(|(other, ..)| *other == position).map(|(_, _, _, row)| row);
        assert_eq!(SimpleStats::of(&all_types, rows).unwrap(), entry.file.value_stats);
    }
}

#[test]
fn statistics_of_every_type_are_the_ones_that_java_computes() {
    use models::paimon::column_stats::SimpleStats;

    for (writer, table) in TABLES_OF_ALL_TYPES {
        let fixture = Fixture::open(writer, table);
        let entries = fixture.live_entries();
        let stored = fixture.stored_rows(&entries);
        for (position, entry) in entries.iter().enumerate() {
            // Java leaves out columns that it knows nothing of, such as nested ones in Parquet files.
            let all_columns = fixture.schema.columns.iter().map(|column| column.name.clone()).collect();
            let columns: Vec<String> = entry.file.value_stats_columns.clone().unwrap_or(all_columns);
            let positions = fixture.schema.positions(&columns);
            assert_eq!(positions.len(), columns.len(), "{table}");
            let types = types(&fixture.schema, &positions);
            let of_file = stored.iter().filter(|(other, ..)| *other == position);
            let rows: Vec<Row> = of_file.map(|(_, _, _, row)| row.project(&positions)).collect();
            let ours = SimpleStats::of(&types, rows.iter()).unwrap();
            let cells = |bytes: &[u8]| binary_row::deserialize(&types, bytes).unwrap();
            let theirs = &entry.file.value_stats;
            assert_eq!(cells(&ours.min_values), cells(&theirs.min_values), "{table}");
            assert_eq!(cells(&ours.max_values), cells(&theirs.max_values), "{table}");
            assert_eq!(ours.null_counts, theirs.null_counts, "{table}");
        }
    }
}

#[test]
fn schema_files_of_every_type_survive_being_written_again() {
    for (writer, table) in TABLES_OF_ALL_TYPES {
        let fixture = Fixture::open(writer, table);
        assert_eq!(SchemaFile::decode(&fixture.schema_file.encode().unwrap()).unwrap(), fixture.schema_file);
        let first = SchemaFile::first(&fixture.schema, fixture.schema_file.time_millis);
        assert_eq!(first, fixture.schema_file, "a table of this schema would get the same file");
    }
}

#[test]
fn manifests_survive_being_written_again() {
    for fixture in Fixture::all() {
        let entries = fixture.live_entries();
        let bytes = encode_manifest(&fixture.partition_types, &entries, [1; 16]).unwrap();
        assert_eq!(*decode_manifest(&fixture.partition_types, &bytes).unwrap(), entries, "{}", fixture.name);

        let list = fixture.read(&format!("manifest/{}", fixture.latest_snapshot().base_manifest_list));
        let manifests = decode_manifest_list(&list).unwrap();
        let bytes = encode_manifest_list(&manifests, [1; 16]).unwrap();
        assert_eq!(decode_manifest_list(&bytes).unwrap(), manifests, "{}", fixture.name);
    }
}

#[test]
fn a_thin_file_and_a_full_file_hold_the_same_changes() {
    // paimon-rs leaves the key's copy out, this crate writes it.
    use models::paimon::data_file::encode_changes;

    let fixture = Fixture::open(PAIMON_RUST, "pk");
    let layout = DataFileLayout::of(&fixture.schema_file);
    for entry in fixture.live_entries() {
        let thin = fixture.data_file(&entry);
        let changes = decode_changes(&layout, FileFormat::Parquet, &thin).unwrap();
        let full = encode_changes(&layout, FileFormat::Parquet, &changes).unwrap();
        assert_eq!(decode_changes(&layout, FileFormat::Parquet, &full).unwrap(), changes);
        let has_key_copy = |bytes: &Bytes| bytes.windows(7).any(|window| window == b"_KEY_id");
        assert!(has_key_copy(&full) && !has_key_copy(&thin));
    }
}

#[test]
fn schema_files_survive_being_written_again() {
    for fixture in Fixture::all() {
        let again = SchemaFile::decode(&fixture.schema_file.encode().unwrap()).unwrap();
        assert_eq!(again, fixture.schema_file, "{}", fixture.name);
        assert_eq!(fixture.schema_file.fields[0].name, "id");
        assert!(!fixture.schema_file.fields[0].field_type.nullable);
        let first = SchemaFile::first(&fixture.schema, fixture.schema_file.time_millis);
        assert_eq!(first, fixture.schema_file, "a table of this schema would get the same file");
    }
}

#[test]
fn a_missing_cell_is_null_in_the_expected_rows() {
    // Guards the comparison above: NULL names are among what must be equal.
    let fixture = Fixture::open(PYPAIMON, "pk");
    let names: BTreeSet<Value> = fixture.rows().iter().map(|row| row[1].clone()).collect();
    assert!(names.contains(&Value::Null) && names.contains(&Value::String(Arc::from("a0"))));
}
