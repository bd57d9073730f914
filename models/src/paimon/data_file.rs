//! Data files: the rows of an append table, or the changes of a key table, as Parquet or Avro.
//!
//! An append file has the table's columns. A key-value file has before them the key's columns again (`_KEY_…`), the
//! change's sequence number and what it does; files without the key's copy ("thin" ones) are read too. Cells that a
//! column's type cannot hold are refused.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use bytes::Bytes;

use crate::contract::{DataType, Row, RowKind, Value};

use super::content_cache::{ContentCache, decode_once};
use super::schema_file::{DataField, SchemaFile};
use super::schema_rules::is_option_on;
use super::{FormatError, FormatResult, avro_file, parquet_file};

pub use super::file_format::FileFormat;

/// What the names of the key's copies begin with.
const KEY_PREFIX: &str = "_KEY_";
/// The field ids of the key's copies begin here.
const FIRST_KEY_FIELD_ID: i32 = i32::MAX / 2;
/// The column of the sequence number.
const SEQUENCE_NUMBER: &str = "_SEQUENCE_NUMBER";
/// The column of what the change does.
const VALUE_KIND: &str = "_VALUE_KIND";

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

/// One column of a data file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileColumn {
    /// Its name in the file.
    pub name: String,
    /// Its identity, for formats that have one.
    pub field_id: i32,
    /// What its cells are.
    pub data_type: DataType,
    /// Whether cells may be NULL.
    pub nullable: bool,
}

impl FileColumn {
    /// The error for a cell that the column cannot hold.
    pub fn cannot_hold(&self, cell: &Value) -> FormatError {
        let suffix = if self.nullable { "" } else { " NOT NULL" };
        FormatError::new(format!("expected a {}{suffix} in column `{}`, found {cell:?}", self.data_type, self.name))
    }

    /// The error for a column that the file does not have.
    pub fn missing(&self) -> FormatError {
        FormatError::new(format!("expected a column `{}` of type {}, found none", self.name, self.data_type))
    }
}

/// What the columns of a table's data files are. Made once for a schema and shared.
#[derive(Clone, Debug)]
pub struct DataFileLayout {
    fields: Vec<DataField>,
    key_positions: Vec<usize>,
    /// The columns of append files.
    row_columns: Vec<FileColumn>,
    /// The columns of key-value files: the key's copy, sequence number, kind, then [`Self::row_columns`].
    change_columns: Vec<FileColumn>,
    /// Whether key-value files are written without the key's copy.
    is_thin: bool,
}

impl DataFileLayout {
    /// The layout of the data files of this schema version.
    pub fn of(schema: &SchemaFile) -> Self {
        let position = |name: &String| schema.fields.iter().position(|field| field.name == *name);
        // All rows of a bucket agree on the partition, so it is no part of the key.
        let is_trimmed = |name: &&String| !schema.partition_keys.contains(name);
        let key_positions: Vec<usize> = schema.primary_keys.iter().filter(is_trimmed).filter_map(position).collect();
        let row_column = |field: &DataField| FileColumn {
            name: field.name.clone(),
            field_id: field.id,
            data_type: field.field_type.data_type.clone(),
            nullable: field.field_type.nullable,
        };
        let row_columns: Vec<FileColumn> = schema.fields.iter().map(row_column).collect();
        let key_column = |position: &usize| FileColumn {
            name: format!("{KEY_PREFIX}{}", row_columns[*position].name),
            field_id: row_columns[*position].field_id.saturating_add(FIRST_KEY_FIELD_ID),
            nullable: false,
            ..row_columns[*position].clone()
        };
        let own_column = |name: &str, field_id: i32, data_type: DataType| FileColumn {
            name: name.to_owned(),
            field_id,
            data_type,
            nullable: false,
        };
        let mut change_columns: Vec<FileColumn> = key_positions.iter().map(key_column).collect();
        change_columns.push(own_column(SEQUENCE_NUMBER, i32::MAX - 1, DataType::BigInt));
        change_columns.push(own_column(VALUE_KIND, i32::MAX - 2, DataType::TinyInt));
        change_columns.extend_from_slice(&row_columns);
        let is_thin = is_option_on(&schema.options, "data-file.thin-mode", false);
        Self { fields: schema.fields.clone(), key_positions, row_columns, change_columns, is_thin }
    }

    /// The table's columns.
    pub fn fields(&self) -> &[DataField] {
        &self.fields
    }

    /// Where the key of the merge (the primary key without the partition columns) stands among the columns, in the
    /// primary key's order.
    pub fn key_positions(&self) -> &[usize] {
        &self.key_positions
    }

    /// The columns that reading changes needs: all but the key's copy.
    fn thin_change_columns(&self) -> &[FileColumn] {
        &self.change_columns[self.key_positions.len()..]
    }

    fn check_width(&self, row: &Row) -> FormatResult<()> {
        let (expected, found) = (self.row_columns.len(), row.cells().len());
        if expected == found {
            return Ok(());
        }
        Err(FormatError::new(format!("expected a row of {expected} cells, found {found}")))
    }
}

/// Two layouts are the same to a reader if their columns are.
impl Hash for DataFileLayout {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.change_columns.hash(state);
    }
}

thread_local! {
    static ROWS: RefCell<ContentCache<Vec<Row>>> = const { RefCell::new(ContentCache::new()) };
    static CHANGES: RefCell<ContentCache<Vec<KeyValue>>> = const { RefCell::new(ContentCache::new()) };
}

/// The bytes of an append file: the same for the same rows.
pub fn encode_rows(layout: &DataFileLayout, format: FileFormat, rows: &[Row]) -> FormatResult<Bytes> {
    rows.iter().try_for_each(|row| layout.check_width(row))?;
    let cells = (0..layout.row_columns.len()).map(|position| rows.iter().map(|row| &row[position]).collect());
    encode(&layout.row_columns, format, &cells.collect::<Vec<_>>(), rows.len())
}

/// The rows of an append file, in its order.
pub fn decode_rows(layout: &DataFileLayout, format: FileFormat, bytes: &Bytes) -> FormatResult<Rc<Vec<Row>>> {
    decode_once(&ROWS, &(format, layout), bytes, || {
        let (mut columns, count) = decode(&layout.row_columns, format, bytes)?;
        Ok((0..count).map(|_| next_row(&mut columns)).collect())
    })
}

/// The bytes of a key-value file: the same for the same changes, which are sorted by key.
pub fn encode_changes(layout: &DataFileLayout, format: FileFormat, changes: &[KeyValue]) -> FormatResult<Bytes> {
    changes.iter().try_for_each(|change| layout.check_width(&change.row))?;
    let sequences: Vec<Value> = changes.iter().map(|change| Value::Int(change.sequence)).collect();
    let kinds: Vec<Value> = changes.iter().map(|change| Value::Int(change.kind as i64)).collect();
    let row_cells = |position: usize| -> Vec<&Value> { changes.iter().map(|change| &change.row[position]).collect() };
    let mut cells: Vec<Vec<&Value>> = layout.key_positions.iter().map(|position| row_cells(*position)).collect();
    cells.push(sequences.iter().collect());
    cells.push(kinds.iter().collect());
    cells.extend((0..layout.row_columns.len()).map(row_cells));
    let first = if layout.is_thin { layout.key_positions.len() } else { 0 };
    encode(&layout.change_columns[first..], format, &cells[first..], changes.len())
}

/// The changes of a key-value file, in its order.
pub fn decode_changes(layout: &DataFileLayout, format: FileFormat, bytes: &Bytes) -> FormatResult<Rc<Vec<KeyValue>>> {
    decode_once(&CHANGES, &(format, layout), bytes, || {
        let (mut columns, count) = decode(layout.thin_change_columns(), format, bytes)?;
        let (own_columns, row_columns) = columns.split_at_mut(2);
        let mut next_integer = |position: usize| own_columns[position].next().as_ref().and_then(Value::as_int);
        let mut next_change = || {
            let sequence = next_integer(0)?;
            let kind = RowKind::from_number(next_integer(1)?)?;
            Some(KeyValue { sequence, kind, row: next_row(row_columns) })
        };
        let changes: Option<Vec<KeyValue>> = (0..count).map(|_| next_change()).collect();
        changes
            .ok_or_else(|| FormatError::new(format!("expected numbers 0 to 3 in column `{VALUE_KIND}`, found another")))
    })
}

fn encode(columns: &[FileColumn], format: FileFormat, cells: &[Vec<&Value>], count: usize) -> FormatResult<Bytes> {
    match format {
        FileFormat::Parquet => parquet_file::encode(columns, cells),
        FileFormat::Avro => avro_file::encode(columns, cells, count),
    }
}

/// The cells of one column, in the file's order.
type Cells = std::vec::IntoIter<Value>;

/// The columns' cells and the number of rows.
fn decode(columns: &[FileColumn], format: FileFormat, bytes: &Bytes) -> FormatResult<(Vec<Cells>, usize)> {
    let (cells, count) = match format {
        FileFormat::Parquet => parquet_file::decode(columns, bytes)?,
        FileFormat::Avro => avro_file::decode(columns, bytes)?,
    };
    Ok((cells.into_iter().map(Vec::into_iter).collect(), count))
}

fn next_row(columns: &mut [Cells]) -> Row {
    Row::new(columns.iter_mut().filter_map(Iterator::next).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::arbitrary_rows::typed_rows;
    use super::*;
    use crate::contract::FieldType;

    /// Columns `c0`, `c1`, … of these types; the first is the key and NOT NULL if `keyed`.
    fn layout(types: &[(DataType, bool)], keyed: bool) -> DataFileLayout {
        let field = |(position, (data_type, nullable)): (usize, &(DataType, bool))| DataField {
            id: position as i32,
            name: format!("c{position}"),
            field_type: FieldType { data_type: data_type.clone(), nullable: *nullable && !(keyed && position == 0) },
            description: None,
            default_value: None,
        };
        let fields: Vec<DataField> = types.iter().enumerate().map(field).collect();
        DataFileLayout::of(&SchemaFile {
            version: 3,
            id: 0,
            highest_field_id: fields.len() as i32 - 1,
            fields,
            partition_keys: Vec::new(),
            primary_keys: if keyed { vec!["c0".to_owned()] } else { Vec::new() },
            options: Default::default(),
            comment: None,
            time_millis: 0,
        })
    }

    fn changes_of(rows: Vec<Row>) -> Vec<KeyValue> {
        let kinds = [RowKind::Insert, RowKind::Delete, RowKind::UpdateBefore, RowKind::UpdateAfter];
        let change = |(position, row): (usize, Row)| KeyValue {
            sequence: position as i64 * 7 - 3,
            kind: kinds[position % kinds.len()],
            row,
        };
        rows.into_iter().filter(|row| !row[0].is_null()).enumerate().map(change).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn rows_come_back_and_bytes_repeat((types, rows) in typed_rows(20)) {
            let layout = layout(&types, false);
            for format in [FileFormat::Parquet, FileFormat::Avro] {
                let bytes = encode_rows(&layout, format, &rows).unwrap();
                prop_assert_eq!(&*decode_rows(&layout, format, &bytes).unwrap(), &rows);
                prop_assert_eq!(encode_rows(&layout, format, &rows).unwrap(), bytes);
            }
        }

        #[test]
        fn changes_come_back((types, rows) in typed_rows(20)) {
            let layout = layout(&types, true);
            let changes = changes_of(rows);
            for format in [FileFormat::Parquet, FileFormat::Avro] {
                let bytes = encode_changes(&layout, format, &changes).unwrap();
                prop_assert_eq!(&*decode_changes(&layout, format, &bytes).unwrap(), &changes);
            }
        }

        #[test]
        fn a_changed_byte_is_rows_or_an_error((types, rows) in typed_rows(3), change in 1_u8..) {
            let layout = layout(&types, false);
            for format in [FileFormat::Parquet, FileFormat::Avro] {
                let whole = encode_rows(&layout, format, &rows).unwrap().to_vec();
                for position in 0..whole.len() {
                    let mut broken = whole.clone();
                    broken[position] ^= change;
                    let _ = decode(&layout.row_columns, format, &Bytes::from(broken));
                }
                for length in 0..whole.len() {
                    let _ = decode(&layout.row_columns, format, &Bytes::copy_from_slice(&whole[..length]));
                }
            }
        }
    }

    #[test]
    fn long_files_are_packed_and_come_back() {
        let layout = layout(&[(DataType::BigInt, false), (DataType::STRING, true)], true);
        let row = |id: i64| Row::new(vec![Value::Int(id), Value::string("the same text in every row")]);
        let changes = changes_of((0..5000).map(row).collect());
        for format in [FileFormat::Parquet, FileFormat::Avro] {
            let bytes = encode_changes(&layout, format, &changes).unwrap();
            assert!(bytes.len() < 5000 * 10, "{format:?}: {} bytes", bytes.len());
            assert_eq!(*decode_changes(&layout, format, &bytes).unwrap(), changes);
        }
    }

    fn of(data_type: &str) -> DataType {
        data_type.parse().unwrap()
    }

    fn millis(millis: i64, nanos_of_milli: u32) -> Value {
        Value::Timestamp { millis, nanos_of_milli }
    }

    #[test]
    fn nanoseconds_come_back_from_parquet_and_are_refused_by_avro() {
        let layout = layout(&[(DataType::Timestamp(9), true)], false);
        let rows = [Row::new(vec![millis(-1, 999_999)]), Row::new(vec![Value::Null]), Row::new(vec![millis(5, 1)])];
        let bytes = encode_rows(&layout, FileFormat::Parquet, &rows).unwrap();
        assert_eq!(*decode_rows(&layout, FileFormat::Parquet, &bytes).unwrap(), rows);
        let error = encode_rows(&layout, FileFormat::Avro, &rows).unwrap_err().to_string();
        assert!(error.contains("TIMESTAMP(9)") && error.contains("`c0`"), "{error}");
    }

    #[test]
    fn parts_that_do_not_fit_are_refused_by_both_formats() {
        let cases = [
            (of("ARRAY<INT NOT NULL>"), Value::Array([Value::Null].into())),
            (of("ARRAY<INT>"), Value::Array([Value::string("1")].into())),
            (of("MAP<INT, INT>"), Value::Map([(Value::Null, Value::Null)].into())),
            (of("MAP<STRING, INT>"), Value::Map([(Value::Null, Value::Null)].into())),
            (of("ROW<`a` INT, `b` INT>"), Value::Row(Row::new(vec![Value::Int(1)]))),
            (of("ROW<`a` TINYINT>"), Value::Row(Row::new(vec![Value::Int(128)]))),
        ];
        for (data_type, cell) in cases {
            for format in [FileFormat::Parquet, FileFormat::Avro] {
                let rows = [Row::new(vec![cell.clone()])];
                let error =
                    encode_rows(&layout(&[(data_type.clone(), true)], false), format, &rows).unwrap_err().to_string();
                assert!(error.contains("expected a") && error.contains("`c0"), "{format:?}: {error}");
            }
        }
    }

    #[test]
    fn times_finer_than_milliseconds_are_refused_by_avro() {
        let layout = layout(&[(DataType::Time(6), true)], false);
        let rows = [Row::new(vec![Value::Time(1)])];
        let bytes = encode_rows(&layout, FileFormat::Parquet, &rows).unwrap();
        assert_eq!(*decode_rows(&layout, FileFormat::Parquet, &bytes).unwrap(), rows);
        let error = encode_rows(&layout, FileFormat::Avro, &rows).unwrap_err().to_string();
        assert!(error.contains("TIME(6)") && error.contains("`c0`"), "{error}");
    }

    #[test]
    fn cells_that_do_not_fit_are_refused_by_both_formats() {
        let cases = [
            (DataType::Int, Value::Null),
            (DataType::Int, Value::string("1")),
            (DataType::TinyInt, Value::Int(128)),
            (DataType::Decimal(3, 0), Value::Decimal(1000)),
            (DataType::Timestamp(3), millis(0, 1)),
            (DataType::Timestamp(6), millis(0, 1)),
        ];
        for (data_type, cell) in cases {
            for format in [FileFormat::Parquet, FileFormat::Avro] {
                let rows = [Row::new(vec![cell.clone()])];
                let error =
                    encode_rows(&layout(&[(data_type.clone(), false)], false), format, &rows).unwrap_err().to_string();
                assert!(error.contains(&data_type.to_string()) && error.contains("`c0`"), "{format:?}: {error}");
            }
        }
        let too_wide = [Row::new(vec![Value::Int(1), Value::Int(2)])];
        assert!(encode_rows(&layout(&[(DataType::Int, false)], false), FileFormat::Parquet, &too_wide).is_err());
    }

    #[test]
    fn a_file_of_another_schema_is_refused_by_column() {
        let numbers = layout(&[(DataType::Int, true)], false);
        let texts = layout(&[(DataType::STRING, true)], false);
        let wider = layout(&[(DataType::Int, true), (DataType::Int, true)], false);
        let required = layout(&[(DataType::Int, false)], false);
        for format in [FileFormat::Parquet, FileFormat::Avro] {
            let rows = [Row::new(vec![Value::Int(1)]), Row::new(vec![Value::Null])];
            let bytes = encode_rows(&numbers, format, &rows).unwrap();
            for (other, column) in [(&texts, "`c0`"), (&wider, "`c1`"), (&required, "`c0`")] {
                let error = decode_rows(other, format, &bytes).unwrap_err().to_string();
                assert!(error.contains(column), "{format:?}: {error}");
            }
            let error = decode_changes(&numbers, format, &bytes).unwrap_err().to_string();
            assert!(error.contains(SEQUENCE_NUMBER), "{error}");
        }
    }

    #[test]
    fn a_kind_that_is_none_is_refused() {
        let layout = layout(&[(DataType::Int, false)], true);
        let columns = layout.thin_change_columns();
        let (one, four) = (Value::Int(1), Value::Int(4));
        for format in [FileFormat::Parquet, FileFormat::Avro] {
            let bytes = encode(columns, format, &[vec![&one], vec![&four], vec![&one]], 1).unwrap();
            assert!(decode_changes(&layout, format, &bytes).unwrap_err().to_string().contains(VALUE_KIND));
        }
    }

    #[test]
    fn partition_columns_are_no_part_of_the_key() {
        let mut schema = SchemaFile::first(
            &serde_json::from_str(
                r#"{"columns": [{"name": "dt", "type": "STRING"}, {"name": "v", "type": "INT"}, {"name": "id", "type": "BIGINT"}],
                    "primary_key": ["dt", "id"], "partition_keys": ["dt"]}"#,
            )
            .unwrap(),
            0,
        );
        assert_eq!(DataFileLayout::of(&schema).key_positions(), [2]);
        schema.partition_keys.clear();
        assert_eq!(DataFileLayout::of(&schema).key_positions(), [0, 2]);
    }
}
