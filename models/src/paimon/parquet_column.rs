//! Leaf columns of Parquet files: cells as stored values, both ways.
//!
//! What a column is part of is not known here; levels are handed through.

use parquet::basic::{self, ConvertedType, LogicalType, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType as ParquetType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::reader::RowGroupReader;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::ColumnDescriptor;

use crate::contract::{DataType, Value};

use super::data_file::FileColumn;
use super::parquet_delta::CheckedPages;
use super::parquet_limits::ParquetLimits;
use super::parquet_schema::{decimal_bytes, decimal_storage};
use super::stored_cell::{TimeUnit, cell_of_bytes, cell_of_integer};
use super::{FormatError, FormatResult};

/// 1970-01-01 as a Julian day, which 12-byte timestamps count.
const JULIAN_DAY_OF_EPOCH: i64 = 2_440_588;
const MILLIS_PER_DAY: i64 = 86_400_000;
const NANOS_PER_MILLI: i64 = 1_000_000;
/// So many cells are read at once; what a broken file claims to hold is never allocated ahead.
const READ_BATCH: usize = 1024;

/// Where the cells of a leaf inside nested columns stand, both levels for each place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels<'a> {
    /// How much of the path to each place is there.
    pub definition: &'a [i16],
    /// Which repeated group of the path goes on at each place; 0 begins a row.
    pub repetition: &'a [i16],
}

/// Writes a leaf column. Without levels there is one cell for each row; with them, `cells` are those that are there.
pub(super) fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    column: &FileColumn,
    cells: &[&Value],
    levels: Option<Levels<'_>>,
) -> FormatResult<()> {
    match &column.data_type {
        DataType::Boolean => put::<BoolType>(writer, column, cells, levels, |cell| match cell {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }),
        DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::Date | DataType::Time(_) => {
            put::<Int32Type>(writer, column, cells, levels, |cell| small_integer(&column.data_type, cell))
        }
        DataType::BigInt => put::<Int64Type>(writer, column, cells, levels, Value::as_int),
        DataType::Float => put::<FloatType>(writer, column, cells, levels, |cell| match cell {
            Value::Float(number) => Some(*number),
            _ => None,
        }),
        DataType::Double => put::<DoubleType>(writer, column, cells, levels, |cell| match cell {
            Value::Double(number) => Some(*number),
            _ => None,
        }),
        DataType::Decimal(precision, _) => {
            let unscaled = |cell: &Value| match cell {
                Value::Decimal(number) if number.unsigned_abs() < 10_u128.pow((*precision).into()) => Some(*number),
                _ => None,
            };
            match decimal_storage(*precision) {
                PhysicalType::INT32 => {
                    put::<Int32Type>(writer, column, cells, levels, |cell| unscaled(cell)?.try_into().ok())
                }
                PhysicalType::INT64 => {
                    put::<Int64Type>(writer, column, cells, levels, |cell| unscaled(cell)?.try_into().ok())
                }
                _ => {
                    let length = decimal_bytes(*precision);
                    put::<FixedLenByteArrayType>(writer, column, cells, levels, |cell| {
                        let bytes = unscaled(cell)?.to_be_bytes();
                        Some(FixedLenByteArray::from(bytes[bytes.len() - length..].to_vec()))
                    })
                }
            }
        }
        DataType::Char(_) | DataType::VarChar(_) => {
            put::<ByteArrayType>(writer, column, cells, levels, |cell| match cell {
                Value::String(text) => Some(ByteArray::from(text.as_bytes().to_vec())),
                _ => None,
            })
        }
        DataType::Binary(_) | DataType::VarBinary(_) => {
            put::<ByteArrayType>(writer, column, cells, levels, |cell| match cell {
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
                Some(unit) => put::<Int64Type>(writer, column, cells, levels, |cell| {
                    let (millis, nanos_of_milli) = parts(cell)?;
                    unit.count(millis, nanos_of_milli)
                }),
                None => put::<Int96Type>(writer, column, cells, levels, |cell| {
                    let (millis, nanos_of_milli) = parts(cell)?;
                    int96(millis, nanos_of_milli)
                }),
            }
        }
        // Only their leaves are columns.
        DataType::Array(_) | DataType::Map(_) | DataType::Row(_) => {
            let (name, data_type) = (&column.name, &column.data_type);
            Err(FormatError::new(format!("expected a simple type in column `{name}`, found {data_type}")))
        }
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

/// Other writers count back from midnight before the epoch: then the nanoseconds are negative.
fn of_int96(stored: &Int96) -> Value {
    let [low, high, day] = [stored.data()[0], stored.data()[1], stored.data()[2]];
    let nanos = (u64::from(low) | u64::from(high) << 32).cast_signed();
    let millis = (i64::from(day) - JULIAN_DAY_OF_EPOCH) * MILLIS_PER_DAY + nanos.div_euclid(NANOS_PER_MILLI);
    Value::Timestamp { millis, nanos_of_milli: nanos.rem_euclid(NANOS_PER_MILLI) as u32 }
}

/// Writes the cells that are there, and which are.
fn put<Stored: ParquetType>(
    writer: &mut SerializedColumnWriter<'_>,
    column: &FileColumn,
    cells: &[&Value],
    levels: Option<Levels<'_>>,
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
    if let Some(levels) = levels {
        if !levels.definition.is_empty() {
            let (definition, repetition) = (Some(levels.definition), Some(levels.repetition));
            writer.typed::<Stored>().write_batch(&stored, definition, repetition)?;
        }
        return Ok(());
    }
    let presence: Option<Vec<i16>> =
        column.nullable.then(|| cells.iter().map(|cell| i16::from(!cell.is_null())).collect());
    writer.typed::<Stored>().write_batch(&stored, presence.as_deref(), None)?;
    Ok(())
}

/// Reads a leaf column of a row group, the file's leaf at this position.
pub(super) fn read_column(
    row_group: &dyn RowGroupReader,
    position: usize,
    column: &FileColumn,
    stored: &ColumnDescriptor,
    cells: &mut impl CellSink,
    limits: &mut ParquetLimits<'_>,
) -> FormatResult<()> {
    let chunk = row_group.metadata().column(position);
    limits.check_pages(chunk)?;
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
    let unit = stored_unit(stored);
    let only = |wanted: DataType, value: Value| (*data_type == wanted).then_some(value);
    let pages = CheckedPages::new(row_group.get_column_page_reader(position)?, stored);
    match get_column_reader(chunk.column_descr_ptr(), Box::new(pages)) {
        ColumnReader::BoolColumnReader(reader) => {
            cells.take(reader, column, stored, limits, |value| only(DataType::Boolean, Value::Boolean(value)))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            cells.take(reader, column, stored, limits, |value| cell_of_integer(data_type, unit, value.into()))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            cells.take(reader, column, stored, limits, |value| cell_of_integer(data_type, unit, value))
        }
        ColumnReader::Int96ColumnReader(reader) => cells.take(reader, column, stored, limits, |value| {
            matches!(data_type, DataType::Timestamp(_) | DataType::TimestampLtz(_)).then(|| of_int96(&value))
        }),
        ColumnReader::FloatColumnReader(reader) => {
            cells.take(reader, column, stored, limits, |value| only(DataType::Float, Value::Float(value)))
        }
        ColumnReader::DoubleColumnReader(reader) => {
            cells.take(reader, column, stored, limits, |value| only(DataType::Double, Value::Double(value)))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            cells.take(reader, column, stored, limits, |value| cell_of_bytes(data_type, value.data()))
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            cells.take(reader, column, stored, limits, |value| cell_of_bytes(data_type, value.data()))
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

/// Where the cells of a leaf column go.
pub(super) trait CellSink {
    /// Takes all cells of a column chunk; `cell` turns a stored value into one.
    fn take<Stored: ParquetType>(
        &mut self,
        reader: ColumnReaderImpl<Stored>,
        column: &FileColumn,
        stored: &ColumnDescriptor,
        limits: &mut ParquetLimits<'_>,
        cell: impl Fn(Stored::T) -> Option<Value>,
    ) -> FormatResult<()>;
}

/// The cells of a column of one value a row, NULLs in their places.
impl CellSink for Vec<Value> {
    fn take<Stored: ParquetType>(
        &mut self,
        mut reader: ColumnReaderImpl<Stored>,
        column: &FileColumn,
        stored: &ColumnDescriptor,
        limits: &mut ParquetLimits<'_>,
        cell: impl Fn(Stored::T) -> Option<Value>,
    ) -> FormatResult<()> {
        if stored.max_rep_level() > 0 {
            return Err(FormatError::new(format!("expected one cell a row in column `{}`, found lists", column.name)));
        }
        let may_be_absent = stored.max_def_level() > 0;
        let (mut values, mut presence) = (Vec::new(), Vec::new());
        let mut read = 0;
        loop {
            values.clear();
            presence.clear();
            let levels = may_be_absent.then_some(&mut presence);
            let (records, _, _) = reader.read_records(READ_BATCH, levels, None, &mut values)?;
            if records == 0 {
                return Ok(());
            }
            read += records;
            check_rows(read, limits, column)?;
            let mut present = values.drain(..);
            for record in 0..records {
                let is_absent =
                    may_be_absent && presence.get(record).is_none_or(|level| *level < stored.max_def_level());
                let value = if is_absent { Some(Value::Null) } else { present.next().and_then(&cell) };
                match value {
                    Some(Value::Null) if !column.nullable => return Err(column.cannot_hold(&Value::Null)),
                    Some(value) => {
                        limits.spend(plain_bytes(&value))?;
                        self.push(value);
                    }
                    None => return Err(not_of_the_type(column, stored)),
                }
            }
        }
    }
}

/// The cells of a leaf inside nested columns that are there, and the levels that say where.
#[derive(Debug, Default)]
pub(super) struct LeveledCells {
    /// The cells that are there.
    pub cells: Vec<Value>,
    /// How much of the path to each place is there.
    pub definition: Vec<i16>,
    /// Which repeated group of the path goes on at each place; 0 begins a row.
    pub repetition: Vec<i16>,
}

impl CellSink for LeveledCells {
    fn take<Stored: ParquetType>(
        &mut self,
        mut reader: ColumnReaderImpl<Stored>,
        column: &FileColumn,
        stored: &ColumnDescriptor,
        limits: &mut ParquetLimits<'_>,
        cell: impl Fn(Stored::T) -> Option<Value>,
    ) -> FormatResult<()> {
        let mut values = Vec::new();
        let mut read = 0;
        loop {
            values.clear();
            let definition = (stored.max_def_level() > 0).then_some(&mut self.definition);
            let repetition = (stored.max_rep_level() > 0).then_some(&mut self.repetition);
            let (records, _, places) = reader.read_records(READ_BATCH, definition, repetition, &mut values)?;
            if stored.max_def_level() == 0 {
                self.definition.resize(self.definition.len() + places, 0);
            }
            if stored.max_rep_level() == 0 {
                self.repetition.resize(self.repetition.len() + places, 0);
            }
            read += records;
            check_rows(read, limits, column)?;
            for value in values.drain(..) {
                let value = cell(value).ok_or_else(|| not_of_the_type(column, stored))?;
                limits.spend(plain_bytes(&value))?;
                self.cells.push(value);
            }
            if records == 0 {
                return Ok(());
            }
        }
    }
}

/// A column has as many cells as its row group has rows, whatever its pages claim.
fn check_rows(read: usize, limits: &ParquetLimits<'_>, column: &FileColumn) -> FormatResult<()> {
    if read <= limits.rows() {
        return Ok(());
    }
    let (rows, name) = (limits.rows(), &column.name);
    Err(FormatError::new(format!("expected {rows} cells in column `{name}` of a row group, found more")))
}

/// What a leaf's cell takes besides its place: many cells may be one entry of a dictionary.
fn plain_bytes(cell: &Value) -> u64 {
    match cell {
        Value::String(text) => text.len() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
        _ => 0,
    }
}

fn not_of_the_type(column: &FileColumn, stored: &ColumnDescriptor) -> FormatError {
    FormatError::new(format!(
        "expected a {} in column `{}`, found {} that is none",
        column.data_type,
        column.name,
        stored.physical_type()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_before_the_epoch_count_forward_or_back() {
        let value = Value::Timestamp { millis: -1, nanos_of_milli: 999_999 };
        let ours = int96(-1, 999_999).unwrap();
        assert_eq!(of_int96(&ours), value);
        // Java Paimon writes one nanosecond before the epoch as −1 on the day of the epoch.
        let mut theirs = Int96::new();
        theirs.set_data(u32::MAX, u32::MAX, JULIAN_DAY_OF_EPOCH as u32);
        assert_eq!(of_int96(&theirs), value);
    }
}
