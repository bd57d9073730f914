//! Leaf columns with levels as nested cells, for reading.
//!
//! Levels of a broken file may say anything: what is no cell of the column's type is an error.

use std::sync::Arc;

use parquet::file::reader::RowGroupReader;
use parquet::schema::types::SchemaDescriptor;

use crate::contract::{Row, Value};

use super::data_file::FileColumn;
use super::parquet_column::{LeveledCells, read_column};
use super::parquet_limits::ParquetLimits;
use super::parquet_parts::{LeafSource, Node, Repeated, Shape, find_parts};
use super::{FormatError, FormatResult};

/// A nested column as a file declares it.
pub(super) struct NestedColumn {
    root: Node,
    leaves: Vec<LeafSource>,
}

impl NestedColumn {
    /// The column of this name in a file.
    pub fn find(column: &FileColumn, schema: &SchemaDescriptor) -> FormatResult<Self> {
        let (root, leaves) = find_parts(column, schema)?;
        Ok(Self { root, leaves })
    }

    /// Appends the column's cells in a row group.
    pub fn read(
        &self,
        row_group: &dyn RowGroupReader,
        column: &FileColumn,
        schema: &SchemaDescriptor,
        cells: &mut Vec<Value>,
        limits: &mut ParquetLimits<'_>,
    ) -> FormatResult<()> {
        let mut cursors = Vec::with_capacity(self.leaves.len());
        for leaf in &self.leaves {
            let stored = schema.column(leaf.position);
            let mut leveled = LeveledCells::default();
            read_column(row_group, leaf.position, &leaf.column, &stored, &mut leveled, limits)?;
            cursors.push(LeafCursor::new(leveled, stored.max_def_level()));
        }
        while cursors.iter().any(|cursor| !cursor.is_at_end()) {
            let begins = cursors.iter().all(|cursor| cursor.repetition() == Some(0));
            let cell = begins.then(|| self.root.next_cell(&mut cursors)).flatten();
            cells.push(cell.ok_or_else(|| {
                let (data_type, name) = (&column.data_type, &column.name);
                FormatError::new(format!("expected a {data_type} in column `{name}`, found levels that give none"))
            })?);
        }
        Ok(())
    }
}

/// Reads a leaf's places one after the other.
struct LeafCursor {
    cells: std::vec::IntoIter<Value>,
    definition: Vec<i16>,
    repetition: Vec<i16>,
    next: usize,
    /// The definition level of places that have a cell.
    full: i16,
}

impl LeafCursor {
    fn new(leveled: LeveledCells, full: i16) -> Self {
        let LeveledCells { cells, definition, repetition } = leveled;
        Self { cells: cells.into_iter(), definition, repetition, next: 0, full }
    }

    fn is_at_end(&self) -> bool {
        self.next >= self.definition.len()
    }

    fn definition(&self) -> Option<i16> {
        self.definition.get(self.next).copied()
    }

    fn repetition(&self) -> Option<i16> {
        self.repetition.get(self.next).copied()
    }

    /// The next place's cell, NULL if there is none.
    fn take(&mut self) -> Option<Value> {
        let definition = self.definition()?;
        self.next += 1;
        if definition == self.full { self.cells.next() } else { Some(Value::Null) }
    }
}

impl Node {
    /// The next cell of this part; `None` if the levels give none of its type.
    fn next_cell(&self, cursors: &mut [LeafCursor]) -> Option<Value> {
        let level = cursors.get(self.first_leaf)?.definition()?;
        let cell = match &self.shape {
            Shape::Leaf => cursors[self.first_leaf].take()?,
            _ if level < self.definition => {
                self.skip_place(cursors)?;
                Value::Null
            }
            Shape::Row(fields) => {
                Value::Row(Row::new(fields.iter().map(|field| field.next_cell(cursors)).collect::<Option<_>>()?))
            }
            Shape::Array(repeated, element) => {
                let mut elements = Vec::new();
                self.for_each(*repeated, cursors, |cursors| {
                    elements.push(element.next_cell(cursors)?);
                    Some(())
                })?;
                Value::Array(Arc::from(elements))
            }
            Shape::Map(repeated, entry) => {
                let mut entries = Vec::new();
                self.for_each(*repeated, cursors, |cursors| {
                    let key = Some(entry.0.next_cell(cursors)?).filter(|key| !key.is_null())?;
                    entries.push((key, entry.1.next_cell(cursors)?));
                    Some(())
                })?;
                Value::map(entries)
            }
        };
        (self.nullable || !cell.is_null()).then_some(cell)
    }

    /// Calls once for each element of a repeated group that begins at the next place.
    fn for_each(
        &self,
        repeated: Repeated,
        cursors: &mut [LeafCursor],
        mut take_element: impl FnMut(&mut [LeafCursor]) -> Option<()>,
    ) -> Option<()> {
        if cursors.get(self.first_leaf)?.definition()? < repeated.definition {
            return self.skip_place(cursors);
        }
        loop {
            // Takes at least one place, so this ends.
            take_element(cursors)?;
            if cursors[self.first_leaf].repetition().is_none_or(|level| level < repeated.repetition) {
                return Some(());
            }
        }
    }

    /// Leaves one place of every leaf of this part behind.
    fn skip_place(&self, cursors: &mut [LeafCursor]) -> Option<()> {
        match &self.shape {
            Shape::Leaf => cursors[self.first_leaf].take().map(|_| ()),
            Shape::Row(fields) => fields.iter().try_for_each(|field| field.skip_place(cursors)),
            Shape::Array(_, element) => element.skip_place(cursors),
            Shape::Map(_, entry) => {
                entry.0.skip_place(cursors)?;
                entry.1.skip_place(cursors)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use parquet::basic::{Compression, GzipLevel, ZstdLevel};
    use parquet::data_type::Int32Type;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::super::parquet_file::decode;
    use super::*;
    use crate::contract::coerce;

    /// Values and both levels of a leaf, as a column writer takes them.
    type Leaf<'a> = (&'a [i32], &'a [i16], &'a [i16]);

    /// A file of INT32 leaves, each row group of the same leaves.
    fn foreign_file(message: &str, properties: WriterProperties, groups: usize, leaves: &[Leaf<'_>]) -> Bytes {
        let schema = Arc::new(parse_message_type(message).unwrap());
        let mut bytes = Vec::new();
        let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
        for _ in 0..groups {
            let mut group = file.next_row_group().unwrap();
            for (values, definition, repetition) in leaves {
                let mut column = group.next_column().unwrap().unwrap();
                column.typed::<Int32Type>().write_batch(values, Some(definition), Some(repetition)).unwrap();
                column.close().unwrap();
            }
            group.close().unwrap();
        }
        file.close().unwrap();
        Bytes::from(bytes)
    }

    /// The cells of the column `c`.
    fn read(bytes: &Bytes, data_type: &str, nullable: bool) -> FormatResult<Vec<Value>> {
        let data_type = data_type.parse().unwrap();
        let (mut cells, _) = decode(&[FileColumn { name: "c".to_owned(), field_id: 0, data_type, nullable }], bytes)?;
        Ok(cells.remove(0))
    }

    fn cells(data_type: &str, json: serde_json::Value) -> Vec<Value> {
        let cells: Vec<Value> = serde_json::from_value(json).unwrap();
        cells.into_iter().map(|cell| coerce(cell, &data_type.parse().unwrap()).unwrap()).collect()
    }

    #[test]
    fn lists_are_read_in_every_spelling() {
        let of_ints = "ARRAY<INT>";
        let of_rows = "ARRAY<ROW<x INT>>";
        let cases: [(&str, &str, Leaf<'_>, serde_json::Value); 7] = [
            (
                "optional group c (LIST) { repeated group bag { optional int32 array_element; } }",
                of_ints,
                (&[1, 2], &[3, 3, 1, 2, 0], &[0, 1, 0, 0, 0]),
                serde_json::json!([[1, 2], [], [null], null]),
            ),
            (
                "required group c (LIST) { repeated group list { required int32 item; } }",
                of_ints,
                (&[1, 2], &[1, 1, 0], &[0, 1, 0]),
                serde_json::json!([[1, 2], []]),
            ),
            (
                "optional group c (LIST) { repeated int32 array; }",
                of_ints,
                (&[1, 2], &[2, 2, 1, 0], &[0, 1, 0, 0]),
                serde_json::json!([[1, 2], [], null]),
            ),
            ("repeated int32 c;", of_ints, (&[1, 2], &[1, 1, 0], &[0, 1, 0]), serde_json::json!([[1, 2], []])),
            (
                "optional group c (LIST) { repeated group array { optional int32 x; } }",
                of_rows,
                (&[1], &[3, 2, 1], &[0, 1, 0]),
                serde_json::json!([[{"x": 1}, {"x": null}], []]),
            ),
            (
                "optional group c (LIST) { repeated group c_tuple { required int32 x; } }",
                of_rows,
                (&[1, 2], &[2, 2, 0], &[0, 1, 0]),
                serde_json::json!([[{"x": 1}, {"x": 2}], null]),
            ),
            (
                "repeated group c { required int32 x; }",
                of_rows,
                (&[1, 2], &[1, 0, 1], &[0, 0, 0]),
                serde_json::json!([[{"x": 1}], [], [{"x": 2}]]),
            ),
        ];
        for (declared, data_type, leaf, expected) in cases {
            let message = format!("message m {{ {declared} }}");
            let bytes = foreign_file(&message, WriterProperties::default(), 1, &[leaf]);
            assert_eq!(read(&bytes, data_type, true).unwrap(), cells(data_type, expected), "{declared}");
        }
    }

    #[test]
    fn maps_and_rows_are_read_whatever_their_groups_are_called() {
        let message = "message m { optional group c (MAP) { repeated group map (MAP_KEY_VALUE) {
            required int32 k; optional group v { optional int32 unknown; required int32 x; } } } }";
        let leaves: [Leaf<'_>; 3] = [
            (&[2, 1, 2], &[2, 2, 2, 1], &[0, 1, 1, 0]),
            (&[9], &[4, 2, 3, 1], &[0, 1, 1, 0]),
            (&[10, 30], &[3, 2, 3, 1], &[0, 1, 1, 0]),
        ];
        let bytes = foreign_file(message, WriterProperties::default(), 1, &leaves);
        let data_type = "MAP<INT, ROW<x INT>>";
        // The last value of a key counts.
        let expected = cells(data_type, serde_json::json!([[[1, null], [2, {"x": 30}]], []]));
        assert_eq!(read(&bytes, data_type, true).unwrap(), expected);
        let error = read(&bytes, "MAP<INT, ROW<y INT>>", true).unwrap_err().to_string();
        assert!(error.contains("`y`") && error.contains("`c`"), "{error}");
        for other in
            ["ARRAY<INT>", "ROW<x INT>", "MAP<INT, INT>", "MAP<ARRAY<INT>, INT>", "MAP<INT, ROW<x INT> NOT NULL>"]
        {
            assert!(read(&bytes, other, true).unwrap_err().to_string().contains("`c`"), "{other}");
        }
    }

    #[test]
    fn dictionaries_row_groups_and_codecs_of_other_writers_are_read() {
        let message = "message m { optional group c (LIST) { repeated group list { required int32 element; } } }";
        let (values, definition) = (vec![7; 3000], vec![2; 3000]);
        let repetition: Vec<i16> = (0..3000).map(|place| i16::from(place % 3 > 0)).collect();
        let expected = vec![Value::Array(vec![Value::Int(7); 3].into()); 2000];
        for codec in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::LZ4_RAW,
            Compression::ZSTD(ZstdLevel::default()),
        ] {
            let properties = WriterProperties::builder().set_compression(codec).set_dictionary_enabled(true).build();
            let bytes = foreign_file(message, properties, 2, &[(&values, &definition, &repetition)]);
            assert_eq!(read(&bytes, "ARRAY<INT>", true).unwrap(), expected, "{codec:?}");
        }
    }

    #[test]
    fn null_where_none_may_be_is_refused() {
        let message = "message m { optional group c (LIST) { repeated group list { optional int32 element; } } }";
        let bytes = foreign_file(message, WriterProperties::default(), 1, &[(&[1], &[3, 2, 0], &[0, 1, 0])]);
        assert!(read(&bytes, "ARRAY<INT>", true).is_ok());
        assert!(read(&bytes, "ARRAY<INT NOT NULL>", true).is_err());
        assert!(read(&bytes, "ARRAY<INT>", false).is_err());
    }

    #[test]
    fn leaves_that_disagree_are_refused() {
        let message = "message m { required group c (LIST) { repeated group list { required group element {
            required int32 x; required int32 y; } } } }";
        let one_row: Leaf<'_> = (&[1, 2], &[1, 1], &[0, 1]);
        let two_rows: Leaf<'_> = (&[1, 2], &[1, 1], &[0, 0]);
        let data_type = "ARRAY<ROW<x INT, y INT>>";
        let bytes = foreign_file(message, WriterProperties::default(), 1, &[two_rows, two_rows]);
        assert_eq!(read(&bytes, data_type, true).unwrap().len(), 2);
        // The library itself refuses leaves of different numbers of rows; these have different numbers of elements.
        let three: Leaf<'_> = (&[1, 2, 3], &[1, 1, 1], &[0, 1, 1]);
        for leaves in [[one_row, three], [three, one_row]] {
            let bytes = foreign_file(message, WriterProperties::default(), 1, &leaves);
            assert!(read(&bytes, data_type, true).unwrap_err().to_string().contains("levels"));
        }
    }
}
