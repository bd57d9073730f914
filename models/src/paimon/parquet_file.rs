//! Columns of cells as Parquet files: plain values, one row group, no statistics; columns of some size are packed with
//! zstandard level 1.
//!
//! Statistics are in the manifest already, and neither dictionaries nor packing pay for columns of a few cells. Nothing
//! of the process or the time gets into a file, so the same cells are the same bytes everywhere.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{self, Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType as ParquetType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type, TypePtr};

use crate::contract::{DataType, Value};

use super::data_file::FileColumn;
use super::stored_cell::{TimeUnit, cell_of_bytes, cell_of_integer};
use super::{FormatError, FormatResult};

/// 1970-01-01 as a Julian day, which 12-byte timestamps count.
const JULIAN_DAY_OF_EPOCH: i64 = 2_440_588;
const MILLIS_PER_DAY: i64 = 86_400_000;
/// Columns of fewer bytes are stored as they are: setting up the packer would take most of the time of a small file.
const LEAST_PACKED_BYTES: usize = 4096;
/// So many cells are read at once; what a broken file claims to hold is never allocated ahead.
const READ_BATCH: usize = 1024;

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
    for (column, cells) in columns.iter().zip(cells) {
        if plain_bytes(cells) >= LEAST_PACKED_BYTES {
            let path = ColumnPath::from(column.name.as_str());
            properties = properties.set_column_compression(path, Compression::ZSTD(ZstdLevel::try_new(1)?));
        }
    }
    let mut bytes = Vec::with_capacity(2048);
    let mut file = SerializedFileWriter::new(&mut bytes, TypePtr::new(schema), Arc::new(properties.build()))?;
    let mut row_group = file.next_row_group()?;
    for (column, cells) in columns.iter().zip(cells) {
        let Some(mut writer) = row_group.next_column()? else { break };
        write_column(&mut writer, column, cells)?;
        writer.close()?;
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

fn parquet_field(column: &FileColumn) -> FormatResult<Type> {
    let logical_timestamp = |precision: u8, adjusted_to_utc: bool| match TimeUnit::of_precision(precision) {
        Some(TimeUnit::Milliseconds) => {
            (PhysicalType::INT64, Some(LogicalType::timestamp(adjusted_to_utc, basic::TimeUnit::MILLIS)))
        }
        Some(_) => (PhysicalType::INT64, Some(LogicalType::timestamp(adjusted_to_utc, basic::TimeUnit::MICROS))),
        None => (PhysicalType::INT96, None),
    };
    let (physical, logical) = match &column.data_type {
        DataType::Boolean => (PhysicalType::BOOLEAN, None),
        DataType::TinyInt => (PhysicalType::INT32, Some(LogicalType::integer(8, true))),
        DataType::SmallInt => (PhysicalType::INT32, Some(LogicalType::integer(16, true))),
        DataType::Int => (PhysicalType::INT32, None),
        DataType::BigInt => (PhysicalType::INT64, None),
        DataType::Float => (PhysicalType::FLOAT, None),
        DataType::Double => (PhysicalType::DOUBLE, None),
        DataType::Decimal(precision, scale) => {
            (decimal_storage(*precision), Some(LogicalType::decimal((*scale).into(), (*precision).into())))
        }
        DataType::Char(_) | DataType::VarChar(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        DataType::Binary(_) | DataType::VarBinary(_) => (PhysicalType::BYTE_ARRAY, None),
        DataType::Date => (PhysicalType::INT32, Some(LogicalType::Date)),
        DataType::Time(_) => (PhysicalType::INT32, Some(LogicalType::time(true, basic::TimeUnit::MILLIS))),
        DataType::Timestamp(precision) => logical_timestamp(*precision, false),
        DataType::TimestampLtz(precision) => logical_timestamp(*precision, true),
        DataType::Array(_) | DataType::Map(_) | DataType::Row(_) => return Err(column.nested()),
    };
    let mut field = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED })
        .with_logical_type(logical)
        .with_id(Some(column.field_id));
    if let DataType::Decimal(precision, scale) = column.data_type {
        field = field.with_precision(precision.into()).with_scale(scale.into());
        if physical == PhysicalType::FIXED_LEN_BYTE_ARRAY {
            field = field.with_length(decimal_bytes(precision) as i32);
        }
    }
    Ok(field.build()?)
}

/// How decimals of this precision are stored, as Paimon chooses it.
fn decimal_storage(precision: u8) -> PhysicalType {
    match precision {
        0..=9 => PhysicalType::INT32,
        10..=18 => PhysicalType::INT64,
        _ => PhysicalType::FIXED_LEN_BYTE_ARRAY,
    }
}

/// The least number of bytes that hold every decimal of this precision.
fn decimal_bytes(precision: u8) -> usize {
    let most = 10_u128.pow(precision.into()) - 1;
    let bits = u128::BITS - most.leading_zeros() + 1;
    bits.div_ceil(8) as usize
}

fn write_column(writer: &mut SerializedColumnWriter<'_>, column: &FileColumn, cells: &[&Value]) -> FormatResult<()> {
    match &column.data_type {
        DataType::Boolean => put::<BoolType>(writer, column, cells, |cell| match cell {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }),
        DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::Date | DataType::Time(_) => {
            put::<Int32Type>(writer, column, cells, |cell| small_integer(&column.data_type, cell))
        }
        DataType::BigInt => put::<Int64Type>(writer, column, cells, Value::as_int),
        DataType::Float => put::<FloatType>(writer, column, cells, |cell| match cell {
            Value::Float(number) => Some(*number),
            _ => None,
        }),
        DataType::Double => put::<DoubleType>(writer, column, cells, |cell| match cell {
            Value::Double(number) => Some(*number),
            _ => None,
        }),
        DataType::Decimal(precision, _) => {
            let unscaled = |cell: &Value| match cell {
                Value::Decimal(number) if number.unsigned_abs() < 10_u128.pow((*precision).into()) => Some(*number),
                _ => None,
            };
            match decimal_storage(*precision) {
                PhysicalType::INT32 => put::<Int32Type>(writer, column, cells, |cell| unscaled(cell)?.try_into().ok()),
                PhysicalType::INT64 => put::<Int64Type>(writer, column, cells, |cell| unscaled(cell)?.try_into().ok()),
                _ => {
                    let length = decimal_bytes(*precision);
                    put::<FixedLenByteArrayType>(writer, column, cells, |cell| {
                        let bytes = unscaled(cell)?.to_be_bytes();
                        Some(FixedLenByteArray::from(bytes[bytes.len() - length..].to_vec()))
                    })
                }
            }
        }
        DataType::Char(_) | DataType::VarChar(_) => put::<ByteArrayType>(writer, column, cells, |cell| match cell {
            Value::String(text) => Some(ByteArray::from(text.as_bytes().to_vec())),
            _ => None,
        }),
        DataType::Binary(_) | DataType::VarBinary(_) => {
            put::<ByteArrayType>(writer, column, cells, |cell| match cell {
                Value::Bytes(bytes) => Some(ByteArray::from(bytes.to_vec())),
                _ => None,
            })
        }
        DataType::Timestamp(precision) | DataType::TimestampLtz(precision) => {
            let parts = |cell: &Value| match cell {
                Value::Timestamp { millis, nanos_of_milli } => Some((*millis, *nanos_of_milli)),
                _ => None,
            };
            match TimeUnit::of_precision(*precision) {
                Some(unit) => put::<Int64Type>(writer, column, cells, |cell| {
                    let (millis, nanos_of_milli) = parts(cell)?;
                    unit.count(millis, nanos_of_milli)
                }),
                None => put::<Int96Type>(writer, column, cells, |cell| {
                    let (millis, nanos_of_milli) = parts(cell)?;
                    int96(millis, nanos_of_milli)
                }),
            }
        }
        DataType::Array(_) | DataType::Map(_) | DataType::Row(_) => Err(column.nested()),
    }
}

fn small_integer(data_type: &DataType, cell: &Value) -> Option<i32> {
    match (data_type, cell) {
        (DataType::TinyInt, Value::Int(number)) => i8::try_from(*number).ok().map(i32::from),
        (DataType::SmallInt, Value::Int(number)) => i16::try_from(*number).ok().map(i32::from),
        (DataType::Int, Value::Int(number)) => i32::try_from(*number).ok(),
        (DataType::Date, Value::Date(number)) | (DataType::Time(_), Value::Time(number)) => Some(*number),
        _ => None,
    }
}

/// A timestamp as nanoseconds of the day and Julian day, little-endian.
fn int96(millis: i64, nanos_of_milli: u32) -> Option<Int96> {
    let day = u32::try_from(millis.div_euclid(MILLIS_PER_DAY) + JULIAN_DAY_OF_EPOCH).ok()?;
    let nanos = millis.rem_euclid(MILLIS_PER_DAY).cast_unsigned() * 1_000_000 + u64::from(nanos_of_milli);
    let mut stored = Int96::new();
    stored.set_data(nanos as u32, (nanos >> 32) as u32, day);
    Some(stored)
}

fn of_int96(stored: &Int96) -> Value {
    let [low, high, day] = [stored.data()[0], stored.data()[1], stored.data()[2]];
    let nanos = i64::from(low) | i64::from(high & 0x7fff_ffff) << 32;
    let millis = (i64::from(day) - JULIAN_DAY_OF_EPOCH) * MILLIS_PER_DAY + nanos / 1_000_000;
    Value::Timestamp { millis, nanos_of_milli: (nanos % 1_000_000) as u32 }
}

/// Writes the cells that are there, and which are.
fn put<Stored: ParquetType>(
    writer: &mut SerializedColumnWriter<'_>,
    column: &FileColumn,
    cells: &[&Value],
    store: impl Fn(&Value) -> Option<Stored::T>,
) -> FormatResult<()> {
    let mut stored = Vec::with_capacity(cells.len());
    for cell in cells {
        match store(cell) {
            Some(value) => stored.push(value),
            None if cell.is_null() && column.nullable => {}
            None => return Err(column.cannot_hold(cell)),
        }
    }
    let presence: Option<Vec<i16>> =
        column.nullable.then(|| cells.iter().map(|cell| i16::from(!cell.is_null())).collect());
    writer.typed::<Stored>().write_batch(&stored, presence.as_deref(), None)?;
    Ok(())
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
    let positions: Vec<usize> = columns
        .iter()
        .map(|column| {
            let is_column = |leaf: &Arc<ColumnDescriptor>| *leaf.path().parts() == [column.name.as_str()];
            schema.columns().iter().position(is_column).ok_or_else(|| column.missing())
        })
        .collect::<Result<_, _>>()?;
    let mut cells: Vec<Vec<Value>> = columns.iter().map(|_| Vec::new()).collect();
    let mut count = 0;
    for group in 0..file.num_row_groups() {
        let row_group = file.get_row_group(group)?;
        let rows = row_group.metadata().num_rows();
        count += usize::try_from(rows).map_err(|_| FormatError::new(format!("expected a row count, found {rows}")))?;
        for ((column, position), cells) in columns.iter().zip(&positions).zip(&mut cells) {
            check_place(&*row_group, *position)?;
            read_column(&*row_group, *position, column, &schema.column(*position), cells)?;
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

/// The library asserts that a column chunk's place is possible; a broken footer may say otherwise.
fn check_place(row_group: &dyn RowGroupReader, position: usize) -> FormatResult<()> {
    let chunk = row_group.metadata().column(position);
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    if start >= 0 && chunk.compressed_size() >= 0 {
        return Ok(());
    }
    let length = chunk.compressed_size();
    Err(FormatError::new(format!("expected a column chunk's place, found {length} bytes from {start} on")))
}

fn read_column(
    row_group: &dyn RowGroupReader,
    position: usize,
    column: &FileColumn,
    stored: &ColumnDescriptor,
    cells: &mut Vec<Value>,
) -> FormatResult<()> {
    let data_type = &column.data_type;
    if let DataType::Decimal(_, scale) = data_type
        && stored.type_scale() != i32::from(*scale)
    {
        let found = stored.type_scale();
        return Err(FormatError::new(format!(
            "expected a {data_type} in column `{}`, found one of scale {found}",
            column.name
        )));
    }
    if stored.max_rep_level() > 0 {
        return Err(FormatError::new(format!("expected one cell a row in column `{}`, found lists", column.name)));
    }
    let unit = stored_unit(stored);
    let only = |wanted: DataType, value: Value| (*data_type == wanted).then_some(value);
    match row_group.get_column_reader(position)? {
        ColumnReader::BoolColumnReader(reader) => {
            take(reader, column, stored, cells, |value| only(DataType::Boolean, Value::Boolean(value)))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            take(reader, column, stored, cells, |value| cell_of_integer(data_type, unit, value.into()))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            take(reader, column, stored, cells, |value| cell_of_integer(data_type, unit, value))
        }
        ColumnReader::Int96ColumnReader(reader) => take(reader, column, stored, cells, |value| {
            matches!(data_type, DataType::Timestamp(_) | DataType::TimestampLtz(_)).then(|| of_int96(&value))
        }),
        ColumnReader::FloatColumnReader(reader) => {
            take(reader, column, stored, cells, |value| only(DataType::Float, Value::Float(value)))
        }
        ColumnReader::DoubleColumnReader(reader) => {
            take(reader, column, stored, cells, |value| only(DataType::Double, Value::Double(value)))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            take(reader, column, stored, cells, |value| cell_of_bytes(data_type, value.data()))
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            take(reader, column, stored, cells, |value| cell_of_bytes(data_type, value.data()))
        }
    }
}

/// What a column's times or timestamps count, by its newer or older annotation.
fn stored_unit(stored: &ColumnDescriptor) -> TimeUnit {
    let unit = match stored.logical_type_ref() {
        Some(LogicalType::Timestamp(annotation)) => Some(&annotation.unit),
        Some(LogicalType::Time(annotation)) => Some(&annotation.unit),
        _ => None,
    };
    match (unit, stored.converted_type()) {
        (Some(basic::TimeUnit::NANOS), _) => TimeUnit::Nanoseconds,
        (Some(basic::TimeUnit::MICROS), _) | (None, ConvertedType::TIMESTAMP_MICROS | ConvertedType::TIME_MICROS) => {
            TimeUnit::Microseconds
        }
        _ => TimeUnit::Milliseconds,
    }
}

/// Appends a column chunk's cells.
fn take<Stored: ParquetType>(
    mut reader: ColumnReaderImpl<Stored>,
    column: &FileColumn,
    stored: &ColumnDescriptor,
    cells: &mut Vec<Value>,
    cell: impl Fn(Stored::T) -> Option<Value>,
) -> FormatResult<()> {
    let may_be_absent = stored.max_def_level() > 0;
    let (mut values, mut presence) = (Vec::new(), Vec::new());
    loop {
        values.clear();
        presence.clear();
        let levels = may_be_absent.then_some(&mut presence);
        let (records, _, _) = reader.read_records(READ_BATCH, levels, None, &mut values)?;
        if records == 0 {
            return Ok(());
        }
        let mut present = values.drain(..);
        for record in 0..records {
            let is_absent = may_be_absent && presence.get(record).is_none_or(|level| *level < stored.max_def_level());
            let value = if is_absent { Some(Value::Null) } else { present.next().and_then(&cell) };
            match value {
                Some(Value::Null) if !column.nullable => return Err(column.cannot_hold(&Value::Null)),
                Some(value) => cells.push(value),
                None => {
                    return Err(FormatError::new(format!(
                        "expected a {} in column `{}`, found {} that is none",
                        column.data_type,
                        column.name,
                        stored.physical_type()
                    )));
                }
            }
        }
    }
}
