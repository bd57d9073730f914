//! Index manifests on disk: which index files a snapshot has, one Avro container for all of them, format version 1.
//!
//! Unlike data files, index files have no history in manifests: a snapshot names one index manifest with everything
//! that is valid in it, and a commit that changes an index writes a new one. Deletion vectors are the index files that
//! readers must know; what is in them is not known here.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;

use crate::contract::{DataType, PartitionValues};

use super::avro_container::{self, SyncMarker};
use super::avro_datum::DatumWriter;
use super::avro_record::AvroRecord;
use super::content_cache::{ContentCache, decode_once};
use super::{FileKind, FormatError, FormatResult, binary_row};

/// The version of the format.
const VERSION: i64 = 1;

/// The type of index files that hold deletion vectors.
pub const DELETION_VECTORS_INDEX: &str = "DELETION_VECTORS";
/// The type of index files that hold the key hashes of a dynamic bucket.
pub const HASH_INDEX: &str = "HASH";

/// What an index manifest's writer declares. [`write_entry`] follows it field by field.
const INDEX_MANIFEST_SCHEMA: &str = concat!(
    r#"{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":["#,
    r#"{"name":"_VERSION","type":"int"},"#,
    r#"{"name":"_KIND","type":"int"},"#,
    r#"{"name":"_PARTITION","type":"bytes"},"#,
    r#"{"name":"_BUCKET","type":"int"},"#,
    r#"{"name":"_INDEX_TYPE","type":"string"},"#,
    r#"{"name":"_FILE_NAME","type":"string"},"#,
    r#"{"name":"_FILE_SIZE","type":"long"},"#,
    r#"{"name":"_ROW_COUNT","type":"long"},"#,
    r#"{"name":"_DELETIONS_VECTORS_RANGES","type":["null",{"type":"array","items":["null",{"type":"record","#,
    r#""name":"record__DELETIONS_VECTORS_RANGES","fields":["#,
    r#"{"name":"f0","type":"string"},"#,
    r#"{"name":"f1","type":"int"},"#,
    r#"{"name":"f2","type":"int"},"#,
    r#"{"name":"_CARDINALITY","type":["null","long"],"default":null}"#,
    r#"]}]}],"default":null},"#,
    r#"{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null}"#,
    r#"]}"#
);

/// One index file of a snapshot, or the change of one by a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexManifestEntry {
    /// In an index manifest always [`FileKind::Add`]; in a commit's changes also [`FileKind::Delete`].
    pub kind: FileKind,
    /// The partition of the data that is indexed.
    pub partition: PartitionValues,
    /// The bucket of the data that is indexed.
    pub bucket: u32,
    /// What kind of index it is, such as [`DELETION_VECTORS_INDEX`].
    pub index_type: String,
    /// The name within the index directory.
    pub file_name: String,
    /// Its size in bytes.
    pub file_size: u64,
    /// What it holds: deletion vectors, or hashes.
    pub row_count: u64,
    /// Where the deletion vectors lie in the file, in its order; `None` in files of other types.
    pub deletion_vectors: Option<Vec<DeletionVectorMeta>>,
    /// Where it is if not in the index directory.
    pub external_path: Option<String>,
}

/// What a commit does with one index file: it comes ([`FileKind::Add`]) or goes ([`FileKind::Delete`]).
pub type IndexChange = IndexManifestEntry;

/// Where the deletion vector of one data file lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletionVectorMeta {
    /// The name of the data file whose rows it deletes, within its bucket directory.
    pub data_file: String,
    /// Its first byte within the index file, of the field that holds its size.
    pub offset: u32,
    /// The length in bytes that its size field states: without that field and without the checksum.
    pub length: u32,
    /// How many rows it deletes; older writers do not say.
    pub cardinality: Option<u64>,
}

thread_local! {
    static INDEXES: RefCell<ContentCache<Vec<IndexManifestEntry>>> = const { RefCell::new(ContentCache::new()) };
}

/// The bytes of an index manifest: the same for the same entries and marker.
pub fn encode_index_manifest(
    partition_types: &[DataType],
    entries: &[IndexManifestEntry],
    sync_marker: SyncMarker,
) -> FormatResult<Bytes> {
    let mut values = DatumWriter::default();
    for entry in entries {
        write_entry(&mut values, partition_types, entry)?;
    }
    avro_container::encode(INDEX_MANIFEST_SCHEMA, entries.len(), values, sync_marker)
}

/// The entries of an index manifest, in its order.
pub fn decode_index_manifest(partition_types: &[DataType], bytes: &Bytes) -> FormatResult<Rc<Vec<IndexManifestEntry>>> {
    decode_once(&INDEXES, &partition_types, bytes, || {
        let mut entries = Vec::new();
        avro_container::decode(bytes, |record| {
            let entry = read_entry(partition_types, record);
            entries.push(entry.map_err(|error| error.within(format!("index manifest entry {}", entries.len())))?);
            Ok(())
        })?;
        Ok(entries)
    })
}

fn write_entry(values: &mut DatumWriter, partition_types: &[DataType], entry: &IndexManifestEntry) -> FormatResult<()> {
    values.integer(VERSION);
    values.integer(entry.kind as i64);
    values.bytes(&binary_row::serialize(partition_types, &entry.partition)?);
    values.integer(i64::from(entry.bucket));
    values.bytes(entry.index_type.as_bytes());
    values.bytes(entry.file_name.as_bytes());
    values.integer(entry.file_size.cast_signed());
    values.integer(entry.row_count.cast_signed());
    values.optional(entry.deletion_vectors.as_deref(), |values, vectors| {
        values.array(vectors, |values, vector| values.optional(Some(vector), write_vector));
    });
    values.optional(entry.external_path.as_deref(), |values, path| values.bytes(path.as_bytes()));
    Ok(())
}

fn write_vector(values: &mut DatumWriter, vector: &DeletionVectorMeta) {
    values.bytes(vector.data_file.as_bytes());
    values.integer(i64::from(vector.offset));
    values.integer(i64::from(vector.length));
    values.optional(vector.cardinality, |values, cardinality| values.integer(cardinality.cast_signed()));
}

fn read_entry(partition_types: &[DataType], record: &AvroRecord<'_>) -> FormatResult<IndexManifestEntry> {
    let version: i64 = record.integer("_VERSION")?;
    if version != VERSION {
        return Err(FormatError::new(format!("expected _VERSION {VERSION}, found {version}")));
    }
    // An index over row ids would be lost when the index manifest is written again.
    if record.optional_record("_GLOBAL_INDEX")?.is_some() {
        return Err(FormatError::new("expected an index of one bucket, found a _GLOBAL_INDEX over row ids"));
    }
    Ok(IndexManifestEntry {
        kind: match record.integer("_KIND")? {
            0 => FileKind::Add,
            1 => FileKind::Delete,
            other => return Err(FormatError::new(format!("expected _KIND 0 or 1, found {other}"))),
        },
        partition: binary_row::deserialize(partition_types, record.bytes("_PARTITION")?)
            .map_err(|error| error.within("_PARTITION"))?,
        bucket: record.integer("_BUCKET")?,
        index_type: record.text("_INDEX_TYPE")?,
        file_name: record.text("_FILE_NAME")?,
        file_size: record.integer("_FILE_SIZE")?,
        row_count: record.integer("_ROW_COUNT")?,
        deletion_vectors: match record.optional_records("_DELETIONS_VECTORS_RANGES")? {
            None => None,
            Some(vectors) => Some(vectors.iter().map(read_vector).collect::<FormatResult<_>>()?),
        },
        external_path: record.optional_text("_EXTERNAL_PATH")?,
    })
}

fn read_vector(record: &AvroRecord<'_>) -> FormatResult<DeletionVectorMeta> {
    Ok(DeletionVectorMeta {
        data_file: record.text("f0")?,
        offset: record.integer("f1")?,
        length: record.integer("f2")?,
        cardinality: record.optional_integer("_CARDINALITY")?,
    })
}

#[cfg(test)]
mod tests {
    use crate::contract::{Row, Value};

    use super::*;

    const MARKER: SyncMarker = [7; 16];

    fn entry(index_type: &str, deletion_vectors: Option<Vec<DeletionVectorMeta>>) -> IndexManifestEntry {
        IndexManifestEntry {
            kind: FileKind::Add,
            partition: Row::new(vec![Value::string("a day with a long name")]),
            bucket: 3,
            index_type: index_type.to_owned(),
            file_name: "index-x-0".to_owned(),
            file_size: 60,
            row_count: 2,
            deletion_vectors,
            external_path: None,
        }
    }

    fn vectors() -> Vec<DeletionVectorMeta> {
        let vector = |data_file: &str, offset, cardinality| DeletionVectorMeta {
            data_file: data_file.to_owned(),
            offset,
            length: 22,
            cardinality,
        };
        vec![vector("data-b", 1, Some(2)), vector("data-a", 31, None)]
    }

    #[test]
    fn entries_come_back_and_bytes_repeat() {
        let types = [DataType::STRING];
        let elsewhere = IndexManifestEntry { external_path: Some("elsewhere".to_owned()), ..entry(HASH_INDEX, None) };
        let entries = vec![entry(DELETION_VECTORS_INDEX, Some(vectors())), elsewhere];
        let bytes = encode_index_manifest(&types, &entries, MARKER).unwrap();
        assert_eq!(*decode_index_manifest(&types, &bytes).unwrap(), entries);
        assert_eq!(encode_index_manifest(&types, &entries, MARKER).unwrap(), bytes);
    }

    /// apache-avro is the independent witness.
    #[test]
    fn another_implementation_reads_values_by_the_schema() {
        use apache_avro::types::Value as AvroValue;
        use apache_avro::{Schema, from_avro_datum};

        let mut values = DatumWriter::default();
        write_entry(&mut values, &[DataType::STRING], &entry(DELETION_VECTORS_INDEX, Some(vectors()))).unwrap();
        let bytes = values.into_bytes();
        let mut rest = bytes.as_slice();
        let value = from_avro_datum(&Schema::parse_str(INDEX_MANIFEST_SCHEMA).unwrap(), &mut rest, None).unwrap();
        assert!(rest.is_empty(), "{} bytes that the schema does not know", rest.len());
        let AvroValue::Record(fields) = value else { panic!("expected a record, found {value:?}") };
        assert!(fields.contains(&("_BUCKET".to_owned(), AvroValue::Int(3))), "{fields:?}");
        assert!(format!("{fields:?}").contains(r#"("f0", String("data-b"))"#), "{fields:?}");
    }

    #[test]
    fn an_entry_that_makes_no_sense_is_refused_with_its_place() {
        let types = [DataType::STRING];
        let bytes = encode_index_manifest(&types, &[entry(HASH_INDEX, None)], MARKER).unwrap();
        let error = decode_index_manifest(&[DataType::STRING, DataType::Int], &bytes).unwrap_err().to_string();
        assert!(error.contains("index manifest entry 0") && error.contains("_PARTITION"), "{error}");
    }

    #[test]
    fn an_index_over_row_ids_is_refused() {
        let global = r#"{"name":"_GLOBAL_INDEX","type":["null",{"type":"record","name":"g","fields":[]}]}"#;
        let schema = INDEX_MANIFEST_SCHEMA.strip_suffix("]}").unwrap().to_owned();
        let mut values = DatumWriter::default();
        write_entry(&mut values, &[], &IndexManifestEntry { partition: Row::new(vec![]), ..entry("btree", None) })
            .unwrap();
        values.optional(Some(()), |_, ()| {});
        let bytes = avro_container::encode(&format!("{schema},{global}]}}"), 1, values, MARKER).unwrap();
        let error = decode_index_manifest(&[], &bytes).unwrap_err().to_string();
        assert!(error.contains("_GLOBAL_INDEX"), "{error}");
    }

    #[test]
    fn any_flipped_byte_is_entries_or_an_error() {
        let types = [DataType::STRING];
        let entries = [entry(DELETION_VECTORS_INDEX, Some(vectors()))];
        let whole = encode_index_manifest(&types, &entries, MARKER).unwrap();
        for position in 0..whole.len() {
            let mut broken = whole.to_vec();
            broken[position] ^= 0xff;
            let _ = decode_index_manifest(&types, &Bytes::from(broken));
        }
    }
}
