//! Columns of cells as Parquet files: plain values, one row group, no statistics; columns of some size are packed with
//! zstandard level 1.
//!
//! Statistics are in the manifest already, and neither dictionaries nor packing pay for columns of a few cells. Nothing
//! of the process or the time gets into a file, so the same cells are the same bytes everywhere. Read is what any writer
//! may have written: dictionaries, several row groups, other codecs, other spellings of lists.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescriptor, ColumnPath, SchemaDescriptor, Type, TypePtr};

use crate::contract::Value;

use super::data_file::FileColumn;
use super::parquet_assembly::NestedColumn;
use super::parquet_column::{read_column, write_column};
use super::parquet_levels::shred;
use super::parquet_limits::ParquetLimits;
use super::parquet_schema::parquet_field;
use super::{FormatError, FormatResult};

/// Columns of fewer bytes are stored as they are: setting up the packer would take most of the time of a small file.
const LEAST_PACKED_BYTES: usize = 4096;

impl From<ParquetError> for FormatError {
    fn from(error: ParquetError) -> Self {
        FormatError::new(format!("Parquet: {error}"))
    }
}

/// The bytes of a file of these columns; `cells` has one vector for each, all of one length.
pub(super) fn encode(columns: &[FileColumn], cells: &[Vec<&Value>]) -> FormatResult<Bytes> {
    let fields = columns.iter().map(|column| parquet_field(column).map(Arc::new)).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("paimon_schema").with_fields(fields).build()?;
    let mut properties = WriterProperties::builder()
        .set_created_by("lakestream-certify".to_owned())
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true);
    let packed = Compression::ZSTD(ZstdLevel::try_new(1)?);
    let mut nested = BTreeMap::new();
    for (position, (column, cells)) in columns.iter().zip(cells).enumerate() {
        if column.data_type.is_nested() {
            let leaves = shred(column, cells)?;
            for leaf in &leaves {
                if plain_bytes(&leaf.cells) >= LEAST_PACKED_BYTES {
                    let path = ColumnPath::from(leaf.path.clone());
                    properties = properties.set_column_compression(path, packed);
                }
            }
            nested.insert(position, leaves);
        } else if plain_bytes(cells) >= LEAST_PACKED_BYTES {
            let path = ColumnPath::from(vec![column.name.clone()]);
            properties = properties.set_column_compression(path, packed);
        }
    }
    let mut bytes = Vec::with_capacity(2048);
    let mut file = SerializedFileWriter::new(&mut bytes, TypePtr::new(schema), Arc::new(properties.build()))?;
    let mut row_group = file.next_row_group()?;
    for (position, (column, cells)) in columns.iter().zip(cells).enumerate() {
        let Some(leaves) = nested.get(&position) else {
            let Some(mut writer) = row_group.next_column()? else { break };
            write_column(&mut writer, column, cells, None)?;
            writer.close()?;
            continue;
        };
        for leaf in leaves {
            let Some(mut writer) = row_group.next_column()? else { break };
            write_column(&mut writer, &leaf.column, &leaf.cells, Some(leaf.levels()))?;
            writer.close()?;
        }
    }
    row_group.close()?;
    file.close()?;
    Ok(Bytes::from(bytes))
}

/// About how many bytes the cells take as they are.
fn plain_bytes(cells: &[&Value]) -> usize {
    let bytes_of = |cell: &&Value| match cell {
        Value::Null => 0,
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => size_of::<i64>(),
    };
    cells.iter().map(bytes_of).sum()
}

/// The cells of these columns, found by name, and the number of rows.
pub(super) fn decode(columns: &[FileColumn], bytes: &Bytes) -> FormatResult<(Vec<Vec<Value>>, usize)> {
    // The library checks most of what it reads, but some broken files make it panic; to a reader they are the same.
    // It leaves no state behind that could be half changed.
    catch_unwind(AssertUnwindSafe(|| decode_checked(columns, bytes)))
        .unwrap_or_else(|_| Err(FormatError::new("expected a Parquet file, found one that is broken inside")))
}

fn decode_checked(columns: &[FileColumn], bytes: &Bytes) -> FormatResult<(Vec<Vec<Value>>, usize)> {
    let file = SerializedFileReader::new(bytes.clone())?;
    let schema = file.metadata().file_metadata().schema_descr();
    let sources: Vec<Source> = columns.iter().map(|column| Source::of(column, schema)).collect::<Result<_, _>>()?;
    let mut cells: Vec<Vec<Value>> = columns.iter().map(|_| Vec::new()).collect();
    let mut count = 0;
    let mut limits = ParquetLimits::of(bytes);
    for group in 0..file.num_row_groups() {
        let row_group = file.get_row_group(group)?;
        count += limits.begin_row_group(row_group.metadata().num_rows())?;
        for ((column, source), cells) in columns.iter().zip(&sources).zip(&mut cells) {
            match source {
                Source::Simple(position) => {
                    read_column(&*row_group, *position, column, &schema.column(*position), cells, &mut limits)?;
                }
                Source::Nested(nested) => nested.read(&*row_group, column, schema, cells, &mut limits)?,
            }
            if cells.len() != count {
                let found = cells.len();
                return Err(FormatError::new(format!(
                    "expected {count} cells in column `{}`, found {found}",
                    column.name
                )));
            }
        }
    }
    Ok((cells, count))
}

/// Where a column's cells are in a file.
enum Source {
    /// In the leaf at this position.
    Simple(usize),
    /// In leaves with levels.
    Nested(NestedColumn),
}

impl Source {
    fn of(column: &FileColumn, schema: &SchemaDescriptor) -> FormatResult<Self> {
        if column.data_type.is_nested() {
            return NestedColumn::find(column, schema).map(Self::Nested);
        }
        let is_column = |leaf: &Arc<ColumnDescriptor>| *leaf.path().parts() == [column.name.as_str()];
        schema.columns().iter().position(is_column).map(Self::Simple).ok_or_else(|| column.missing())
    }
}
