//! Rows that were written under one version of the schema, seen under another.
//!
//! Columns, and the fields of nested rows, are matched by their id: a renamed one keeps its values, one that was added
//! later is NULL in older rows (a default value is for writers only), and one whose type has changed is cast (L13).
//! Nothing here knows about files.

use std::rc::Rc;
use std::sync::Arc;

use crate::contract::{DataType, Row, Value};

use super::casts::{can_cast, cast};
use super::{DataField, FormatError, FormatResult};

/// Where a cell of the present row comes from.
#[derive(Clone, Debug)]
enum CellSource {
    /// The column is younger than the row.
    Missing,
    /// The cell at this position, as it is.
    Kept(usize),
    /// The cell at this position, changed.
    Changed(usize, Change),
}

/// What becomes of a cell.
#[derive(Clone, Debug)]
enum Change {
    Cast { from: DataType, to: DataType },
    Elements(Box<Change>),
    MapValues(Box<Change>),
    Fields(Rc<[CellSource]>),
}

/// The way from rows of one version of the schema to rows of another.
#[derive(Clone, Debug)]
pub(super) struct RowEvolution {
    cells: Rc<[CellSource]>,
}

impl RowEvolution {
    /// The way from the written to the present columns; `None` if rows can stay as they are. An error names a column
    /// whose type cannot have been changed so.
    pub(super) fn between(written: &[DataField], present: &[DataField]) -> FormatResult<Option<Self>> {
        let written = written.iter().map(|field| (field.id, &field.field_type.data_type));
        let present: Vec<_> =
            present.iter().map(|field| (field.id, field.name.as_str(), &field.field_type.data_type)).collect();
        let cells = sources(&written.collect::<Vec<_>>(), &present)?;
        Ok(cells.map(|cells| Self { cells }))
    }

    /// The row in the present columns.
    pub(super) fn row(&self, written: &Row) -> FormatResult<Row> {
        arranged(&self.cells, written)
    }
}

/// The sources of all cells; `None` if each is kept in its place.
fn sources(written: &[(i32, &DataType)], present: &[(i32, &str, &DataType)]) -> FormatResult<Option<Rc<[CellSource]>>> {
    let source = |(id, name, to): &(i32, &str, &DataType)| -> FormatResult<CellSource> {
        let Some(position) = written.iter().position(|(candidate, _)| candidate == id) else {
            return Ok(CellSource::Missing);
        };
        let change = change(written[position].1, to).map_err(|error| error.within(format!("column `{name}`")))?;
        Ok(change.map_or(CellSource::Kept(position), |change| CellSource::Changed(position, change)))
    };
    let sources = present.iter().map(source).collect::<FormatResult<Vec<CellSource>>>()?;
    let in_place = |(position, source): (usize, &CellSource)| matches!(source, CellSource::Kept(at) if *at == position);
    let unchanged = written.len() == present.len() && sources.iter().enumerate().all(in_place);
    Ok((!unchanged).then(|| sources.into()))
}

/// What turns a value of one type into one of the other; `None` if nothing has to. Whether NULL is allowed does not
/// matter: the values that are there stay.
fn change(from: &DataType, to: &DataType) -> FormatResult<Option<Change>> {
    match (from, to) {
        _ if from == to => Ok(None),
        (DataType::Array(from), DataType::Array(to)) => {
            Ok(change(&from.data_type, &to.data_type)?.map(|change| Change::Elements(Box::new(change))))
        }
        (DataType::Map(from), DataType::Map(to)) => {
            if change(&from.0.data_type, &to.0.data_type)?.is_some() {
                return Err(FormatError::new(format!(
                    "expected the keys of a map to keep their type {}, found {}",
                    from.0.data_type, to.0.data_type
                )));
            }
            Ok(change(&from.1.data_type, &to.1.data_type)?.map(|change| Change::MapValues(Box::new(change))))
        }
        (DataType::Row(from), DataType::Row(to)) => {
            let written: Vec<_> = from.iter().map(|field| (field.id, &field.field_type.data_type)).collect();
            let present: Vec<_> =
                to.iter().map(|field| (field.id, field.name.as_str(), &field.field_type.data_type)).collect();
            Ok(sources(&written, &present)?.map(Change::Fields))
        }
        _ if can_cast(from, to, true) => Ok(Some(Change::Cast { from: from.clone(), to: to.clone() })),
        _ => Err(FormatError::new(format!("expected a type that {from} can be cast to, found {to}"))),
    }
}

fn arranged(sources: &[CellSource], row: &Row) -> FormatResult<Row> {
    let cell_at = |position: usize| {
        let missing = || FormatError::new(format!("expected a row of more than {position} cells, found {row:?}"));
        row.cells().get(position).ok_or_else(missing)
    };
    let cells = sources.iter().map(|source| match source {
        CellSource::Missing => Ok(Value::Null),
        CellSource::Kept(position) => cell_at(*position).cloned(),
        CellSource::Changed(position, change) => changed(change, cell_at(*position)?),
    });
    cells.collect::<FormatResult<Vec<Value>>>().map(Row::new)
}

fn changed(change: &Change, value: &Value) -> FormatResult<Value> {
    Ok(match (change, value) {
        (_, Value::Null) => Value::Null,
        (Change::Cast { from, to }, _) => cast(value, from, to)?,
        (Change::Elements(change), Value::Array(elements)) => {
            Value::Array(elements.iter().map(|element| changed(change, element)).collect::<FormatResult<Arc<_>>>()?)
        }
        (Change::MapValues(change), Value::Map(entries)) => {
            let entry = |(key, value): &(Value, Value)| Ok((key.clone(), changed(change, value)?));
            Value::Map(entries.iter().map(entry).collect::<FormatResult<Arc<_>>>()?)
        }
        (Change::Fields(sources), Value::Row(row)) => Value::Row(arranged(sources, row)?),
        _ => return Err(FormatError::new(format!("expected a nested value of the column's type, found {value:?}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{FieldType, NestedField};

    fn typed(data_type: DataType) -> FieldType {
        FieldType { data_type, nullable: true }
    }

    fn field(id: i32, name: &str, data_type: DataType) -> DataField {
        let name = name.to_owned();
        DataField { id, name, field_type: typed(data_type), description: None, default_value: None }
    }

    fn nested(id: i32, name: &str, data_type: DataType) -> NestedField {
        NestedField { id, name: name.to_owned(), field_type: typed(data_type) }
    }

    fn evolved(written: &[DataField], present: &[DataField], cells: Vec<Value>) -> Vec<Value> {
        let evolution = RowEvolution::between(written, present).unwrap().unwrap();
        evolution.row(&Row::new(cells)).unwrap().cells().to_vec()
    }

    #[test]
    fn columns_are_matched_by_id_and_cast_to_their_present_type() {
        let written = [field(0, "id", DataType::Int), field(1, "v", DataType::STRING), field(2, "n", DataType::Int)];
        let present =
            [field(2, "n", DataType::STRING), field(0, "key", DataType::BigInt), field(3, "v", DataType::Int)];
        assert_eq!(
            evolved(&written, &present, vec![Value::Int(1), Value::string("a"), Value::Int(-10)]),
            [Value::string("-10"), Value::Int(1), Value::Null]
        );
    }

    #[test]
    fn nothing_is_done_where_only_names_and_nullability_differ() {
        let mut renamed = field(0, "key", DataType::Int);
        renamed.field_type.nullable = false;
        assert!(RowEvolution::between(&[field(0, "id", DataType::Int)], &[renamed]).unwrap().is_none());
        let point = |name: &str| DataType::Row(Arc::from([nested(1, name, DataType::Int)]));
        let (written, present) = (field(0, "p", point("x")), field(0, "p", point("y")));
        assert!(RowEvolution::between(&[written], &[present]).unwrap().is_none());
    }

    #[test]
    fn fields_within_arrays_and_maps_are_matched_too() {
        let points = |fields: Vec<NestedField>| {
            let point = typed(DataType::Row(fields.into()));
            DataType::Array(Arc::new(typed(DataType::Map(Arc::new((typed(DataType::STRING), point))))))
        };
        let written = field(0, "points", points(vec![nested(1, "x", DataType::Int), nested(2, "y", DataType::Date)]));
        let present = points(vec![
            nested(3, "z", DataType::Int),
            nested(2, "day", DataType::STRING),
            nested(1, "x", DataType::Int),
        ]);
        let array_of = |point: Vec<Value>| {
            let entries = [(Value::string("k"), Value::Row(Row::new(point))), (Value::string("l"), Value::Null)];
            Value::Array(Arc::from([Value::Map(Arc::from(entries)), Value::Null]))
        };
        assert_eq!(
            evolved(&[written], &[field(0, "points", present)], vec![array_of(vec![Value::Int(1), Value::Date(0)])]),
            [array_of(vec![Value::Null, Value::string("1970-01-01"), Value::Int(1)])]
        );
    }

    #[test]
    fn types_that_nobody_can_have_changed_so_are_refused_by_name() {
        let map = |key: DataType| DataType::Map(Arc::new((typed(key), typed(DataType::Int))));
        for (from, to) in [(DataType::Date, DataType::Int), (map(DataType::Int), map(DataType::STRING))] {
            let failure = RowEvolution::between(&[field(0, "c", from)], &[field(0, "c", to)]).unwrap_err();
            assert!(failure.to_string().contains("column `c`"), "{failure}");
        }
        let evolution =
            RowEvolution::between(&[field(0, "n", DataType::STRING)], &[field(0, "n", DataType::Int)]).unwrap();
        assert!(evolution.unwrap().row(&Row::new(vec![Value::string("many")])).is_err());
    }
}
