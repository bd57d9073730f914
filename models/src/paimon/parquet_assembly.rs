//! Leaf columns with levels as nested cells, for reading.
//!
//! The file's declaration says at which levels a part is there. Writers spell lists in several ways; all that the format's
//! rules know are understood, and maps and rows whatever their groups are called. Levels of a broken file may say
//! anything: what is no cell of the column's type is an error.

use std::sync::Arc;

use parquet::basic::Repetition;
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::{SchemaDescriptor, Type};

use crate::contract::{DataType, FieldType, Row, Value};

use super::data_file::FileColumn;
use super::parquet_column::{LeveledCells, read_column};
use super::{FormatError, FormatResult};

/// A nested column as a file declares it.
pub(super) struct NestedColumn {
    root: Node,
    leaves: Vec<LeafSource>,
}

/// A leaf of the file.
struct LeafSource {
    /// Its position among all leaves of the file.
    position: usize,
    column: FileColumn,
}

/// A part of the column: what its cells are, and at which levels they are there.
struct Node {
    nullable: bool,
    /// From this definition level on the cell is there.
    definition: i16,
    /// The first of the part's leaves, counted within the column.
    first_leaf: usize,
    shape: Shape,
}

enum Shape {
    Leaf,
    Row(Vec<Node>),
    Array(Repeated, Box<Node>),
    Map(Repeated, Box<(Node, Node)>),
}

/// The group of a list's elements or a map's entries.
#[derive(Clone, Copy)]
struct Repeated {
    /// From this definition level on there is an element.
    definition: i16,
    /// The repetition level of all elements but the first.
    repetition: i16,
}

/// A part of a file's declaration and what is around it.
#[derive(Clone, Copy)]
struct Stored<'a> {
    declared: &'a Type,
    /// The position of its first leaf among all leaves of the file.
    position: usize,
    /// The levels of what is around it; once [`Finder::part`] has seen its own repetition, with that.
    definition: i16,
    repetition: i16,
}

impl<'a> Stored<'a> {
    fn optional(self) -> Self {
        Self { definition: self.definition + 1, ..self }
    }

    fn repeated(self) -> Self {
        Self { definition: self.definition + 1, repetition: self.repetition + 1, ..self }
    }

    fn levels(self) -> Repeated {
        Repeated { definition: self.definition, repetition: self.repetition }
    }

    /// The fields of a group; none of a leaf.
    fn fields(self) -> Vec<Self> {
        let Type::GroupType { fields, .. } = self.declared else { return Vec::new() };
        let mut position = self.position;
        let field = |declared: &'a Arc<Type>| {
            let field = Self { declared, position, ..self };
            position += leaf_count(declared);
            field
        };
        fields.iter().map(field).collect()
    }

    /// The one field of a group, if it is repeated.
    fn repeated_group(self) -> Option<Self> {
        match self.fields()[..] {
            [group] if group.repetition_kind() == Repetition::REPEATED => Some(group.repeated()),
            _ => None,
        }
    }

    fn repetition_kind(self) -> Repetition {
        let info = self.declared.get_basic_info();
        if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED }
    }

    /// Whether a list's repeated group is its element, and not a group around it: the format's rules for old writers.
    fn is_element_of(self, list: Self) -> bool {
        let name = self.declared.name();
        self.fields().len() != 1 || name == "array" || name == format!("{}_tuple", list.declared.name())
    }
}

fn leaf_count(declared: &Type) -> usize {
    match declared {
        Type::PrimitiveType { .. } => 1,
        Type::GroupType { fields, .. } => fields.iter().map(|field| leaf_count(field)).sum(),
    }
}

impl NestedColumn {
    /// The column of this name in a file.
    pub fn find(column: &FileColumn, schema: &SchemaDescriptor) -> FormatResult<Self> {
        let root = Stored { declared: schema.root_schema(), position: 0, definition: 0, repetition: 0 };
        let fields = root.fields();
        let stored = fields.iter().find(|field| field.declared.name() == column.name);
        let mut finder = Finder { column, leaves: Vec::new() };
        let field_type = FieldType { data_type: column.data_type.clone(), nullable: column.nullable };
        let root = finder.part(&field_type, *stored.ok_or_else(|| column.missing())?)?;
        Ok(Self { root, leaves: finder.leaves })
    }

    /// Appends the column's cells in a row group.
    pub fn read(
        &self,
        row_group: &dyn RowGroupReader,
        column: &FileColumn,
        schema: &SchemaDescriptor,
        cells: &mut Vec<Value>,
    ) -> FormatResult<()> {
        let mut cursors = Vec::with_capacity(self.leaves.len());
        for leaf in &self.leaves {
            let stored = schema.column(leaf.position);
            let mut leveled = LeveledCells::default();
            read_column(row_group, leaf.position, &leaf.column, &stored, &mut leveled)?;
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

/// Finds the parts of a column in a file's declaration.
struct Finder<'a> {
    column: &'a FileColumn,
    leaves: Vec<LeafSource>,
}

impl Finder<'_> {
    fn mismatch(&self, data_type: &DataType, stored: Stored<'_>) -> FormatError {
        FormatError::new(format!(
            "expected a {data_type} in column `{}`, found `{}` declared as another type",
            self.column.name,
            stored.declared.name()
        ))
    }

    /// A part, given the levels around it.
    fn part(&mut self, field_type: &FieldType, stored: Stored<'_>) -> FormatResult<Node> {
        match (stored.repetition_kind(), &field_type.data_type) {
            (Repetition::REQUIRED, _) => self.present_part(field_type, stored),
            (Repetition::OPTIONAL, _) => self.present_part(field_type, stored.optional()),
            // A list may be spelled as its elements alone, repeated; then it is never NULL.
            (Repetition::REPEATED, DataType::Array(element)) => {
                let first_leaf = self.leaves.len();
                let element = self.present_part(element, stored.repeated())?;
                let shape = Shape::Array(stored.repeated().levels(), Box::new(element));
                Ok(Node { nullable: field_type.nullable, definition: stored.definition, first_leaf, shape })
            }
            (Repetition::REPEATED, data_type) => Err(self.mismatch(data_type, stored)),
        }
    }

    /// A part, given the levels at which it is there.
    fn present_part(&mut self, field_type: &FieldType, stored: Stored<'_>) -> FormatResult<Node> {
        let (data_type, first_leaf) = (&field_type.data_type, self.leaves.len());
        let repeated = || stored.repeated_group().ok_or_else(|| self.mismatch(data_type, stored));
        let shape = match data_type {
            DataType::Array(element) => {
                let group = repeated()?;
                let element = match group.fields()[..] {
                    [inner] if !group.is_element_of(stored) => self.part(element, inner)?,
                    _ => self.present_part(element, group)?,
                };
                Shape::Array(group.levels(), Box::new(element))
            }
            DataType::Map(entry) => {
                let group = repeated()?;
                let [key, value] = group.fields()[..] else { return Err(self.mismatch(data_type, group)) };
                let entry = (self.part(&entry.0, key)?, self.part(&entry.1, value)?);
                Shape::Map(group.levels(), Box::new(entry))
            }
            DataType::Row(fields) => {
                let stored_fields = stored.fields();
                let mut nodes = Vec::with_capacity(fields.len());
                for field in fields.iter() {
                    let in_file = stored_fields.iter().find(|stored| stored.declared.name() == field.name);
                    let in_file = in_file.ok_or_else(|| {
                        let (name, column) = (&field.name, &self.column.name);
                        FormatError::new(format!("expected a field `{name}` in column `{column}`, found none"))
                    })?;
                    nodes.push(self.part(&field.field_type, *in_file)?);
                }
                Shape::Row(nodes)
            }
            simple if stored.declared.is_primitive() => {
                let (name, data_type) = (self.column.name.clone(), simple.clone());
                let column = FileColumn { name, field_id: 0, data_type, nullable: true };
                self.leaves.push(LeafSource { position: stored.position, column });
                Shape::Leaf
            }
            simple => return Err(self.mismatch(simple, stored)),
        };
        Ok(Node { nullable: field_type.nullable, definition: stored.definition, first_leaf, shape })
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
                self.for_each(*repeated, cursors, |cursors| Some(elements.push(element.next_cell(cursors)?)))?;
                Value::Array(Arc::from(elements))
            }
            Shape::Map(repeated, entry) => {
                let mut entries = Vec::new();
                self.for_each(*repeated, cursors, |cursors| {
                    let key = Some(entry.0.next_cell(cursors)?).filter(|key| !key.is_null())?;
                    Some(entries.push((key, entry.1.next_cell(cursors)?)))
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
