//! Manifest files and manifest lists on disk: Avro containers, format version 2.
//!
//! What they say is `manifest_meta`'s business.
//! Every field of today's Paimon is written; of older and newer writers' files the fields that are known are read.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use bytes::Bytes;

use crate::contract::DataType;

use super::avro_container::{self, SyncMarker};
use super::avro_datum::DatumWriter;
use super::avro_record::AvroRecord;
use super::column_stats::SimpleStats;
use super::content_cache::{ContentCache, decode_once};
use super::{FormatError, FormatResult, binary_row};

pub use super::manifest_meta::{DataFileMeta, FileKind, FileSource, ManifestEntry, ManifestFileMeta};

/// The version of both formats.
const VERSION: i64 = 2;

/// The fields of statistics; the names of nested records are Paimon's.
macro_rules! stats_schema {
    ($name:literal) => {
        concat!(
            r#"{"type":"record","name":""#,
            $name,
            r#"","fields":[{"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},"#,
            r#"{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]}"#
        )
    };
}

/// What a manifest's writer declares. [`write_entry`] follows it field by field.
const MANIFEST_SCHEMA: &str = concat!(
    r#"{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":["#,
    r#"{"name":"_VERSION","type":"int"},"#,
    r#"{"name":"_KIND","type":"int"},"#,
    r#"{"name":"_PARTITION","type":"bytes"},"#,
    r#"{"name":"_BUCKET","type":"int"},"#,
    r#"{"name":"_TOTAL_BUCKETS","type":"int"},"#,
    r#"{"name":"_FILE","type":{"type":"record","name":"record__FILE","fields":["#,
    r#"{"name":"_FILE_NAME","type":"string"},"#,
    r#"{"name":"_FILE_SIZE","type":"long"},"#,
    r#"{"name":"_ROW_COUNT","type":"long"},"#,
    r#"{"name":"_MIN_KEY","type":"bytes"},"#,
    r#"{"name":"_MAX_KEY","type":"bytes"},"#,
    r#"{"name":"_KEY_STATS","type":"#,
    stats_schema!("record__FILE__KEY_STATS"),
    r#"},"#,
    r#"{"name":"_VALUE_STATS","type":"#,
    stats_schema!("record__FILE__VALUE_STATS"),
    r#"},"#,
    r#"{"name":"_MIN_SEQUENCE_NUMBER","type":"long"},"#,
    r#"{"name":"_MAX_SEQUENCE_NUMBER","type":"long"},"#,
    r#"{"name":"_SCHEMA_ID","type":"long"},"#,
    r#"{"name":"_LEVEL","type":"int"},"#,
    r#"{"name":"_EXTRA_FILES","type":{"type":"array","items":"string"}},"#,
    r#"{"name":"_CREATION_TIME","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null},"#,
    r#"{"name":"_DELETE_ROW_COUNT","type":["null","long"],"default":null},"#,
    r#"{"name":"_EMBEDDED_FILE_INDEX","type":["null","bytes"],"default":null},"#,
    r#"{"name":"_FILE_SOURCE","type":["null","int"],"default":null},"#,
    r#"{"name":"_VALUE_STATS_COLS","type":["null",{"type":"array","items":"string"}],"default":null},"#,
    r#"{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},"#,
    r#"{"name":"_FIRST_ROW_ID","type":["null","long"],"default":null},"#,
    r#"{"name":"_WRITE_COLS","type":["null",{"type":"array","items":"string"}],"default":null}"#,
    r#"]}}]}"#
);

/// What a manifest list's writer declares. [`write_manifest`] follows it field by field.
const MANIFEST_LIST_SCHEMA: &str = concat!(
    r#"{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":["#,
    r#"{"name":"_VERSION","type":"int"},"#,
    r#"{"name":"_FILE_NAME","type":"string"},"#,
    r#"{"name":"_FILE_SIZE","type":"long"},"#,
    r#"{"name":"_NUM_ADDED_FILES","type":"long"},"#,
    r#"{"name":"_NUM_DELETED_FILES","type":"long"},"#,
    r#"{"name":"_PARTITION_STATS","type":"#,
    stats_schema!("record__PARTITION_STATS"),
    r#"},"#,
    r#"{"name":"_SCHEMA_ID","type":"long"},"#,
    r#"{"name":"_MIN_BUCKET","type":["null","int"],"default":null},"#,
    r#"{"name":"_MAX_BUCKET","type":["null","int"],"default":null},"#,
    r#"{"name":"_MIN_LEVEL","type":["null","int"],"default":null},"#,
    r#"{"name":"_MAX_LEVEL","type":["null","int"],"default":null},"#,
    r#"{"name":"_MIN_ROW_ID","type":["null","long"],"default":null},"#,
    r#"{"name":"_MAX_ROW_ID","type":["null","long"],"default":null},"#,
    r#"{"name":"_TOTAL_BUCKETS","type":["null","int"],"default":null}"#,
    r#"]}"#
);

thread_local! {
    static MANIFESTS: RefCell<ContentCache<Vec<ManifestEntry>>> = const { RefCell::new(ContentCache::new()) };
    static MANIFEST_LISTS: RefCell<ContentCache<Vec<ManifestFileMeta>>> = const { RefCell::new(ContentCache::new()) };
}

/// The bytes of a manifest file: the same for the same entries and marker.
pub fn encode_manifest(
    partition_types: &[DataType],
    entries: &[ManifestEntry],
    sync_marker: SyncMarker,
) -> FormatResult<Bytes> {
    let mut values = DatumWriter::default();
    for entry in entries {
        write_entry(&mut values, partition_types, entry)?;
    }
    avro_container::encode(MANIFEST_SCHEMA, entries.len(), values, sync_marker)
}

/// The entries of a manifest file, in its order.
pub fn decode_manifest(partition_types: &[DataType], bytes: &Bytes) -> FormatResult<Rc<Vec<ManifestEntry>>> {
    decode_once(&MANIFESTS, &partition_types, bytes, || {
        let mut entries = Vec::new();
        avro_container::decode(bytes, |record| {
            let entry = read_entry(partition_types, record);
            entries.push(entry.map_err(|error| error.within(format!("manifest entry {}", entries.len())))?);
            Ok(())
        })?;
        Ok(entries)
    })
}

/// The bytes of a manifest list: the same for the same manifests and marker.
pub fn encode_manifest_list(manifests: &[ManifestFileMeta], sync_marker: SyncMarker) -> FormatResult<Bytes> {
    let mut values = DatumWriter::default();
    for manifest in manifests {
        write_manifest(&mut values, manifest);
    }
    avro_container::encode(MANIFEST_LIST_SCHEMA, manifests.len(), values, sync_marker)
}

/// The manifests of a manifest list, in its order.
pub fn decode_manifest_list(bytes: &Bytes) -> FormatResult<Rc<Vec<ManifestFileMeta>>> {
    decode_once(&MANIFEST_LISTS, &(), bytes, || {
        let mut manifests: Vec<ManifestFileMeta> = Vec::new();
        let mut names = BTreeSet::new();
        avro_container::decode(bytes, |record| {
            let manifest = read_manifest(record);
            let manifest = manifest.map_err(|error| error.within(format!("manifest {}", manifests.len())))?;
            // Whoever named a large manifest many times would have its files counted without end.
            if !names.insert(manifest.file_name.clone()) {
                let name = manifest.file_name;
                return Err(FormatError::new(format!("expected a list with each manifest once, found {name:?} twice")));
            }
            manifests.push(manifest);
            Ok(())
        })?;
        Ok(manifests)
    })
}

fn write_texts(values: &mut DatumWriter, texts: &[String]) {
    values.array(texts, |values, text| values.bytes(text.as_bytes()));
}

fn write_stats(values: &mut DatumWriter, stats: &SimpleStats) {
    values.bytes(&stats.min_values);
    values.bytes(&stats.max_values);
    values.optional(Some(&stats.null_counts), |values, counts| {
        values.array(counts, |values, count| values.optional(*count, DatumWriter::integer));
    });
}

fn write_entry(values: &mut DatumWriter, partition_types: &[DataType], entry: &ManifestEntry) -> FormatResult<()> {
    values.integer(VERSION);
    values.integer(entry.kind as i64);
    values.bytes(&binary_row::serialize(partition_types, &entry.partition)?);
    values.integer(i64::from(entry.bucket));
    values.integer(i64::from(entry.total_buckets));
    let file = &*entry.file;
    values.bytes(file.file_name.as_bytes());
    values.integer(file.file_size.cast_signed());
    values.integer(file.row_count.cast_signed());
    values.bytes(&file.min_key);
    values.bytes(&file.max_key);
    write_stats(values, &file.key_stats);
    write_stats(values, &file.value_stats);
    values.integer(file.min_sequence_number);
    values.integer(file.max_sequence_number);
    values.integer(file.schema_id.cast_signed());
    values.integer(i64::from(file.level));
    write_texts(values, &file.extra_files);
    values.optional(file.creation_time_millis, DatumWriter::integer);
    values.optional(file.delete_row_count, DatumWriter::integer);
    values.optional(file.embedded_file_index.as_deref(), DatumWriter::bytes);
    values.optional(file.file_source, |values, source| values.integer(source as i64));
    values.optional(file.value_stats_columns.as_deref(), write_texts);
    values.optional(file.external_path.as_deref(), |values, path| values.bytes(path.as_bytes()));
    values.optional(file.first_row_id, DatumWriter::integer);
    values.optional(file.write_columns.as_deref(), write_texts);
    Ok(())
}

fn write_manifest(values: &mut DatumWriter, manifest: &ManifestFileMeta) {
    values.integer(VERSION);
    values.bytes(manifest.file_name.as_bytes());
    values.integer(manifest.file_size.cast_signed());
    values.integer(manifest.added_files.cast_signed());
    values.integer(manifest.deleted_files.cast_signed());
    write_stats(values, &manifest.partition_stats);
    values.integer(manifest.schema_id.cast_signed());
    let optional_int = |values: &mut DatumWriter, number: Option<i32>| {
        values.optional(number.map(i64::from), DatumWriter::integer);
    };
    optional_int(values, manifest.min_bucket);
    optional_int(values, manifest.max_bucket);
    optional_int(values, manifest.min_level);
    optional_int(values, manifest.max_level);
    // Row tracking is off in every table that is written here.
    let no_row_id = None;
    values.optional(no_row_id, DatumWriter::integer);
    values.optional(no_row_id, DatumWriter::integer);
    optional_int(values, manifest.total_buckets);
}

fn check_version(record: &AvroRecord<'_>) -> FormatResult<()> {
    match record.integer("_VERSION")? {
        VERSION => Ok(()),
        other => Err(FormatError::new(format!("expected _VERSION {VERSION}, found {other}"))),
    }
}

fn read_stats(record: &AvroRecord<'_>, name: &str) -> FormatResult<SimpleStats> {
    match record.optional_record(name)? {
        None => Ok(SimpleStats::empty()),
        Some(stats) => Ok(SimpleStats {
            min_values: stats.bytes("_MIN_VALUES")?.to_vec(),
            max_values: stats.bytes("_MAX_VALUES")?.to_vec(),
            null_counts: stats.optional_integers("_NULL_COUNTS")?,
        }),
    }
}

fn read_entry(partition_types: &[DataType], record: &AvroRecord<'_>) -> FormatResult<ManifestEntry> {
    check_version(record)?;
    let kind = match record.integer("_KIND")? {
        0 => FileKind::Add,
        1 => FileKind::Delete,
        other => return Err(FormatError::new(format!("expected _KIND 0 or 1, found {other}"))),
    };
    let partition = binary_row::deserialize(partition_types, record.bytes("_PARTITION")?)
        .map_err(|error| error.within("_PARTITION"))?;
    let bucket = record.integer("_BUCKET")?;
    let total_buckets = record.integer("_TOTAL_BUCKETS")?;
    let file = record.optional_record("_FILE")?.ok_or_else(|| FormatError::new("expected a _FILE, found none"))?;
    Ok(ManifestEntry { kind, partition, bucket, total_buckets, file: Rc::new(read_file(&file)?) })
}

fn read_file(record: &AvroRecord<'_>) -> FormatResult<DataFileMeta> {
    Ok(DataFileMeta {
        file_name: record.text("_FILE_NAME")?,
        file_size: record.integer("_FILE_SIZE")?,
        row_count: record.integer("_ROW_COUNT")?,
        min_key: record.bytes("_MIN_KEY")?.to_vec(),
        max_key: record.bytes("_MAX_KEY")?.to_vec(),
        key_stats: read_stats(record, "_KEY_STATS")?,
        value_stats: read_stats(record, "_VALUE_STATS")?,
        min_sequence_number: record.integer("_MIN_SEQUENCE_NUMBER")?,
        max_sequence_number: record.integer("_MAX_SEQUENCE_NUMBER")?,
        schema_id: record.integer("_SCHEMA_ID")?,
        level: record.integer("_LEVEL")?,
        extra_files: record.optional_texts("_EXTRA_FILES")?.unwrap_or_default(),
        creation_time_millis: record.optional_integer("_CREATION_TIME")?,
        delete_row_count: record.optional_integer("_DELETE_ROW_COUNT")?,
        embedded_file_index: record.optional_bytes("_EMBEDDED_FILE_INDEX")?.map(<[u8]>::to_vec),
        file_source: match record.optional_integer("_FILE_SOURCE")? {
            None => None,
            Some(0) => Some(FileSource::Append),
            Some(1) => Some(FileSource::Compact),
            Some(other) => return Err(FormatError::new(format!("expected _FILE_SOURCE 0 or 1, found {other}"))),
        },
        value_stats_columns: record.optional_texts("_VALUE_STATS_COLS")?,
        external_path: record.optional_text("_EXTERNAL_PATH")?,
        first_row_id: record.optional_integer("_FIRST_ROW_ID")?,
        write_columns: record.optional_texts("_WRITE_COLS")?,
    })
}

fn read_manifest(record: &AvroRecord<'_>) -> FormatResult<ManifestFileMeta> {
    check_version(record)?;
    Ok(ManifestFileMeta {
        file_name: record.text("_FILE_NAME")?,
        file_size: record.integer("_FILE_SIZE")?,
        added_files: record.integer("_NUM_ADDED_FILES")?,
        deleted_files: record.integer("_NUM_DELETED_FILES")?,
        partition_stats: read_stats(record, "_PARTITION_STATS")?,
        schema_id: record.integer("_SCHEMA_ID")?,
        min_bucket: record.optional_integer("_MIN_BUCKET")?,
        max_bucket: record.optional_integer("_MAX_BUCKET")?,
        min_level: record.optional_integer("_MIN_LEVEL")?,
        max_level: record.optional_integer("_MAX_LEVEL")?,
        total_buckets: record.optional_integer("_TOTAL_BUCKETS")?,
    })
}

#[cfg(test)]
mod tests {
    use crate::contract::{Row, Value};

    use super::*;

    const MARKER: SyncMarker = [7; 16];

    fn entry(file_name: &str, kind: FileKind, bucket: u32, day: &str) -> ManifestEntry {
        let key = |key| binary_row::serialize(&[DataType::BigInt], &Row::new(vec![Value::Int(key)])).unwrap();
        ManifestEntry {
            kind,
            partition: Row::new(vec![Value::string(day)]),
            bucket,
            total_buckets: 4,
            file: Rc::new(DataFileMeta {
                file_name: file_name.to_owned(),
                file_size: 1234,
                row_count: 5,
                min_key: key(1),
                max_key: key(9),
                key_stats: SimpleStats { min_values: key(1), max_values: key(9), null_counts: vec![Some(0)] },
                value_stats: SimpleStats { min_values: key(1), max_values: key(9), null_counts: vec![None] },
                min_sequence_number: 10,
                max_sequence_number: 14,
                schema_id: 0,
                level: 0,
                extra_files: vec!["extra".to_owned()],
                creation_time_millis: Some(-1),
                delete_row_count: Some(2),
                embedded_file_index: Some(vec![1, 2, 3]),
                file_source: Some(FileSource::Compact),
                value_stats_columns: Some(vec!["v".to_owned()]),
                external_path: Some("elsewhere".to_owned()),
                first_row_id: Some(7),
                write_columns: Some(vec!["id".to_owned(), "v".to_owned()]),
            }),
        }
    }

    #[test]
    fn entries_come_back_and_bytes_repeat() {
        let types = [DataType::STRING];
        let mut bare = entry("b", FileKind::Delete, 3, "a day with a long name");
        let file = Rc::make_mut(&mut bare.file);
        file.creation_time_millis = None;
        file.delete_row_count = None;
        file.embedded_file_index = None;
        file.file_source = None;
        file.value_stats_columns = None;
        file.external_path = None;
        file.first_row_id = None;
        file.write_columns = None;
        let entries = vec![entry("a", FileKind::Add, 0, "d1"), bare];
        let bytes = encode_manifest(&types, &entries, MARKER).unwrap();
        assert_eq!(*decode_manifest(&types, &bytes).unwrap(), entries);
        assert_eq!(encode_manifest(&types, &entries, MARKER).unwrap(), bytes);
    }

    #[test]
    fn manifests_come_back_as_described() {
        let types = [DataType::STRING];
        let entries = [entry("a", FileKind::Add, 2, "d2"), entry("b", FileKind::Delete, 1, "d1")];
        let manifest = ManifestFileMeta::describe("manifest-x-0", 99, 3, &types, &entries).unwrap();
        assert_eq!((manifest.added_files, manifest.deleted_files), (1, 1));
        assert_eq!((manifest.min_bucket, manifest.max_bucket, manifest.total_buckets), (Some(1), Some(2), Some(4)));
        let least = binary_row::deserialize(&types, &manifest.partition_stats.min_values).unwrap();
        assert_eq!(least, Row::new(vec![Value::string("d1")]));
        let manifests = vec![manifest];
        let bytes = encode_manifest_list(&manifests, MARKER).unwrap();
        assert_eq!(*decode_manifest_list(&bytes).unwrap(), manifests);
    }

    /// apache-avro is the independent witness.
    #[test]
    fn another_implementation_reads_values_by_the_schemas() {
        use apache_avro::types::Value as AvroValue;
        use apache_avro::{Schema, from_avro_datum};

        let types = [DataType::STRING];
        let entry = entry("a", FileKind::Delete, 3, "d1");
        let manifest = ManifestFileMeta::describe("manifest-x-0", 99, 3, &types, std::slice::from_ref(&entry)).unwrap();
        let (mut entries, mut manifests) = (DatumWriter::default(), DatumWriter::default());
        write_entry(&mut entries, &types, &entry).unwrap();
        write_manifest(&mut manifests, &manifest);
        let cases = [
            (MANIFEST_SCHEMA, entries.into_bytes(), "_BUCKET", AvroValue::Int(3)),
            (MANIFEST_LIST_SCHEMA, manifests.into_bytes(), "_FILE_SIZE", AvroValue::Long(99)),
        ];
        for (schema, bytes, name, expected) in cases {
            let mut rest = bytes.as_slice();
            let value = from_avro_datum(&Schema::parse_str(schema).unwrap(), &mut rest, None).unwrap();
            assert!(rest.is_empty(), "{} bytes that the schema does not know", rest.len());
            let AvroValue::Record(fields) = value else { panic!("expected a record, found {value:?}") };
            assert!(fields.contains(&(name.to_owned(), expected)), "{fields:?}");
        }
    }

    #[test]
    fn an_entry_that_makes_no_sense_is_refused_with_its_place() {
        let types = [DataType::STRING];
        let bytes = encode_manifest(&types, &[entry("a", FileKind::Add, 0, "d1")], MARKER).unwrap();
        let error = decode_manifest(&[DataType::STRING, DataType::Int], &bytes).unwrap_err().to_string();
        assert!(error.contains("manifest entry 0") && error.contains("_PARTITION"), "{error}");
        let list = encode_manifest_list(&[], MARKER).unwrap();
        assert!(decode_manifest_list(&list).unwrap().is_empty());
        let manifest = ManifestFileMeta::describe("manifest-x-0", 99, 3, &[], &[]).unwrap();
        let twice = encode_manifest_list(&[manifest.clone(), manifest], MARKER).unwrap();
        assert!(decode_manifest_list(&twice).unwrap_err().to_string().contains("\"manifest-x-0\" twice"));
        assert!(decode_manifest_list(&bytes).unwrap_err().to_string().contains("_FILE_NAME"));
    }

    #[test]
    fn any_flipped_byte_is_entries_or_an_error() {
        let types = [DataType::STRING];
        let whole = encode_manifest(&types, &[entry("a", FileKind::Add, 0, "d1")], MARKER).unwrap();
        for position in 0..whole.len() {
            let mut broken = whole.to_vec();
            broken[position] ^= 0xff;
            let _ = decode_manifest(&types, &Bytes::from(broken));
        }
    }
}
