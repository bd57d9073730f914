//! Data files: rows, or key-value changes, as Parquet or Avro.

use std::rc::Rc;

use bytes::Bytes;

use crate::contract::{Row, RowKind};

use super::schema_file::{DataField, SchemaFile};
use super::{FormatError, FormatResult};

/// How a data file's rows are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileFormat {
    /// Apache Parquet, the default.
    Parquet,
    /// Apache Avro.
    Avro,
}

impl FileFormat {
    /// The format that a data file's name ends in.
    pub fn of_file_name(file_name: &str) -> FormatResult<Self> {
        match file_name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("parquet") => Ok(Self::Parquet),
            Some("avro") => Ok(Self::Avro),
            _ => Err(FormatError::new(format!("expected a data file .parquet or .avro, found {file_name:?}"))),
        }
    }

    /// The ending of its file names, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Avro => "avro",
        }
    }
}

/// One change of a key: one row of a key-value file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// Which change is newer: the higher number wins.
    pub sequence: i64,
    /// What the change does.
    pub kind: RowKind,
    /// The whole row.
    pub row: Row,
}

/// What the columns of a table's data files are. Made once for a schema and shared.
#[derive(Clone, Debug)]
pub struct DataFileLayout {
    fields: Vec<DataField>,
    key_positions: Vec<usize>,
}

impl DataFileLayout {
    /// The layout of the data files of this schema version.
    pub fn of(schema: &SchemaFile) -> Self {
        let key_positions = (0..schema.fields.len())
            .filter(|position| schema.primary_keys.contains(&schema.fields[*position].name))
            .collect();
        Self { fields: schema.fields.clone(), key_positions }
    }

    /// The value columns.
    pub fn fields(&self) -> &[DataField] {
        &self.fields
    }

    /// Where the key of the merge (the primary key without the partition columns) stands among the columns, in the
    /// primary key's order.
    pub fn key_positions(&self) -> &[usize] {
        &self.key_positions
    }
}

/// The bytes of an append file: the same for the same rows.
pub fn encode_rows(layout: &DataFileLayout, format: FileFormat, rows: &[Row]) -> FormatResult<Bytes> {
    let _ = (layout, format, rows);
    Err(FormatError::new("not yet"))
}

/// The rows of an append file, in its order.
pub fn decode_rows(layout: &DataFileLayout, format: FileFormat, bytes: &Bytes) -> FormatResult<Rc<Vec<Row>>> {
    let _ = (layout, format, bytes);
    Err(FormatError::new("not yet"))
}

/// The bytes of a key-value file: the same for the same changes, which are sorted by key.
pub fn encode_changes(layout: &DataFileLayout, format: FileFormat, changes: &[KeyValue]) -> FormatResult<Bytes> {
    let _ = (layout, format, changes);
    Err(FormatError::new("not yet"))
}

/// The changes of a key-value file, in its order.
pub fn decode_changes(layout: &DataFileLayout, format: FileFormat, bytes: &Bytes) -> FormatResult<Rc<Vec<KeyValue>>> {
    let _ = (layout, format, bytes);
    Err(FormatError::new("not yet"))
}
