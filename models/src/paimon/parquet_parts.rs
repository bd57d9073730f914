//! Where the parts of a nested column are in a file's declaration, and at which levels they are there.
//!
//! Writers spell lists in several ways; all that the format's rules know are understood, and maps and rows whatever
//! their groups are called. Fields of rows are found by name.

use std::sync::Arc;

use parquet::basic::Repetition;
use parquet::schema::types::{SchemaDescriptor, Type};

use crate::contract::{DataType, FieldType};

use super::data_file::FileColumn;
use super::{FormatError, FormatResult};

/// A leaf of the file.
pub(super) struct LeafSource {
    /// Its position among all leaves of the file.
    pub position: usize,
    /// The leaf as a column of its own.
    pub column: FileColumn,
}

/// A part of the column: what its cells are, and at which levels they are there.
pub(super) struct Node {
    /// Whether its cells may be NULL.
    pub nullable: bool,
    /// From this definition level on the cell is there.
    pub definition: i16,
    /// The first of the part's leaves, counted within the column.
    pub first_leaf: usize,
    /// What it is made of.
    pub shape: Shape,
}

/// What a part is made of.
pub(super) enum Shape {
    /// The leaf itself.
    Leaf,
    /// The fields of a row.
    Row(Vec<Node>),
    /// The elements of an array.
    Array(Repeated, Box<Node>),
    /// The keys and values of a map.
    Map(Repeated, Box<(Node, Node)>),
}

/// The group of a list's elements or a map's entries.
#[derive(Clone, Copy)]
pub(super) struct Repeated {
    /// From this definition level on there is an element.
    pub definition: i16,
    /// The repetition level of all elements but the first.
    pub repetition: i16,
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

/// The column of this name in a file: the whole of it, and its leaves.
pub(super) fn find_parts(column: &FileColumn, schema: &SchemaDescriptor) -> FormatResult<(Node, Vec<LeafSource>)> {
    let root = Stored { declared: schema.root_schema(), position: 0, definition: 0, repetition: 0 };
    let fields = root.fields();
    let stored = fields.iter().find(|field| field.declared.name() == column.name);
    let mut finder = Finder { column, leaves: Vec::new() };
    let field_type = FieldType { data_type: column.data_type.clone(), nullable: column.nullable };
    let root = finder.part(&field_type, *stored.ok_or_else(|| column.missing())?)?;
    Ok((root, finder.leaves))
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
