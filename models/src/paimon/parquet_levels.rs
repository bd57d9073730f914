//! Nested cells as leaf columns with levels, for writing.
//!
//! A leaf's definition level says how much of the path to a place is there: one for each part that may be NULL and is
//! not, one for each repeated group that is not empty. Its repetition level says which repeated group on the path goes
//! on at the place; 0 begins a row.

use crate::contract::{DataType, Value};

use super::FormatResult;
use super::data_file::FileColumn;
use super::parquet_column::Levels;

/// One leaf of a nested column: its cells that are there, and its levels.
pub(super) struct Leaf<'a> {
    /// The leaf as a column of its own, named by its path; the cells that are there are not NULL.
    pub column: FileColumn,
    /// The names on the way from the row to the leaf.
    pub path: Vec<String>,
    /// The cells that are there.
    pub cells: Vec<&'a Value>,
    definition: Vec<i16>,
    repetition: Vec<i16>,
    steps: Vec<Step>,
}

/// The way from a nested cell to one of its parts.
#[derive(Clone, Copy, Debug)]
enum Step {
    Element,
    Key,
    Value,
    /// The field at this position.
    Field(usize),
}

/// A cell on the way to a leaf.
#[derive(Clone, Copy)]
struct Place<'a, 't> {
    cell: &'a Value,
    data_type: &'t DataType,
    nullable: bool,
    definition: i16,
    repetition: i16,
    /// How many repeated groups are around the cell.
    repeated_around: i16,
}

/// The leaves of a nested column, in the order of its declaration, with the cells of all rows.
pub(super) fn shred<'a>(column: &FileColumn, cells: &[&'a Value]) -> FormatResult<Vec<Leaf<'a>>> {
    let mut leaves = Vec::new();
    find_leaves(&column.data_type, &mut vec![column.name.clone()], &mut Vec::new(), &mut leaves);
    for leaf in &mut leaves {
        let steps = std::mem::take(&mut leaf.steps);
        for cell in cells {
            let (data_type, nullable) = (&column.data_type, column.nullable);
            let place = Place { cell, data_type, nullable, definition: 0, repetition: 0, repeated_around: 0 };
            leaf.descend(place, &steps).ok_or_else(|| column.cannot_hold(cell))?;
        }
    }
    Ok(leaves)
}

fn find_leaves(data_type: &DataType, path: &mut Vec<String>, steps: &mut Vec<Step>, leaves: &mut Vec<Leaf<'_>>) {
    let mut inner = |names: &[&str], step: Step, data_type: &DataType| {
        path.extend(names.iter().map(|name| (*name).to_owned()));
        steps.push(step);
        find_leaves(data_type, path, steps, leaves);
        steps.pop();
        path.truncate(path.len() - names.len());
    };
    match data_type {
        DataType::Array(element) => inner(&["list", "element"], Step::Element, &element.data_type),
        DataType::Map(entry) => {
            inner(&["key_value", "key"], Step::Key, &entry.0.data_type);
            inner(&["key_value", "value"], Step::Value, &entry.1.data_type);
        }
        DataType::Row(fields) => {
            for (position, field) in fields.iter().enumerate() {
                inner(&[&field.name], Step::Field(position), &field.field_type.data_type);
            }
        }
        simple => {
            let column = FileColumn { name: path.join("."), field_id: 0, data_type: simple.clone(), nullable: false };
            let (path, steps) = (path.clone(), steps.clone());
            let (cells, definition, repetition) = (Vec::new(), Vec::new(), Vec::new());
            leaves.push(Leaf { column, path, cells, definition, repetition, steps });
        }
    }
}

impl<'a> Leaf<'a> {
    /// Where the cells stand.
    pub fn levels(&self) -> Levels<'_> {
        Levels { definition: &self.definition, repetition: &self.repetition }
    }

    fn put_place(&mut self, definition: i16, repetition: i16) {
        self.definition.push(definition);
        self.repetition.push(repetition);
    }

    /// Follows the steps from each part of a repeated group.
    fn descend_all<'t>(
        &mut self,
        group: Place<'a, 't>,
        parts: impl ExactSizeIterator<Item = Place<'a, 't>>,
        steps: &[Step],
    ) -> Option<()> {
        if parts.len() == 0 {
            self.put_place(group.definition, group.repetition);
        }
        let repeated_around = group.repeated_around + 1;
        let mut repetition = group.repetition;
        for part in parts {
            self.descend(Place { definition: part.definition + 1, repetition, repeated_around, ..part }, steps)?;
            repetition = repeated_around;
        }
        Some(())
    }

    /// Follows the steps from a cell to the leaf's places in it; `None` if a cell does not fit its type.
    fn descend(&mut self, place: Place<'a, '_>, steps: &[Step]) -> Option<()> {
        if place.cell.is_null() {
            return place.nullable.then(|| self.put_place(place.definition, place.repetition));
        }
        let present = Place { definition: place.definition + i16::from(place.nullable), ..place };
        let Some((step, steps)) = steps.split_first() else {
            self.cells.push(place.cell);
            self.put_place(present.definition, place.repetition);
            return Some(());
        };
        let part = |cell, data_type, nullable| Place { cell, data_type, nullable, ..present };
        match (step, place.data_type, place.cell) {
            (Step::Field(position), DataType::Row(fields), Value::Row(row)) if row.cells().len() == fields.len() => {
                let field_type = &fields.get(*position)?.field_type;
                self.descend(part(&row[*position], &field_type.data_type, field_type.nullable), steps)
            }
            (Step::Element, DataType::Array(element), Value::Array(cells)) => {
                let parts = cells.iter().map(|cell| part(cell, &element.data_type, element.nullable));
                self.descend_all(present, parts, steps)
            }
            (Step::Key, DataType::Map(entry), Value::Map(entries)) => {
                let parts = entries.iter().map(|(key, _)| part(key, &entry.0.data_type, false));
                self.descend_all(present, parts, steps)
            }
            (Step::Value, DataType::Map(entry), Value::Map(entries)) => {
                let parts = entries.iter().map(|(_, value)| part(value, &entry.1.data_type, entry.1.nullable));
                self.descend_all(present, parts, steps)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::coerce;

    /// The levels and cells of each leaf of a nullable column that holds these cells.
    fn shredded(data_type: &str, cells: serde_json::Value) -> Vec<(String, Vec<i16>, Vec<i16>, usize)> {
        let data_type: DataType = data_type.parse().unwrap();
        let cells: Vec<Value> = serde_json::from_value(cells).unwrap();
        let cells: Vec<Value> = cells.into_iter().map(|cell| coerce(cell, &data_type).unwrap()).collect();
        let column = FileColumn { name: "c".to_owned(), field_id: 0, data_type, nullable: true };
        let leaves = shred(&column, &cells.iter().collect::<Vec<_>>()).unwrap();
        leaves.into_iter().map(|leaf| (leaf.column.name, leaf.definition, leaf.repetition, leaf.cells.len())).collect()
    }

    #[test]
    fn a_list_that_is_null_or_empty_has_one_place_without_a_cell() {
        let leaves = shredded("ARRAY<INT>", serde_json::json!([null, [], [null], [1, 2]]));
        assert_eq!(leaves, [("c.list.element".to_owned(), vec![0, 1, 2, 3, 3], vec![0, 0, 0, 0, 1], 2)]);
    }

    #[test]
    fn each_leaf_has_a_place_for_each_part_of_its_own_path() {
        let cells = serde_json::json!([{"m": [["a", [1, 2]], ["b", null]], "n": 7}]);
        let leaves = shredded("ROW<m MAP<STRING, ARRAY<INT NOT NULL>>, n INT NOT NULL>", cells);
        let expected = [
            ("c.m.key_value.key".to_owned(), vec![3, 3], vec![0, 1], 2),
            ("c.m.key_value.value.list.element".to_owned(), vec![5, 5, 3], vec![0, 2, 1], 2),
            ("c.n".to_owned(), vec![1], vec![0], 1),
        ];
        assert_eq!(leaves, expected);
    }
}
