//! The way along a path to a column, or to a field within one.
//!
//! Types are shared and never changed in place: each type on the way is built anew around the changed one.

use std::sync::Arc;

use crate::contract::{DataType, Failure, FieldType, NestedField};

use super::super::DataField;

/// What an array's path continues with.
const ELEMENT: &str = "element";
/// What a map's path continues with.
const VALUE: &str = "value";

/// A change of one list of fields: all columns of a table, or all fields of a row.
pub(super) type FieldsEdit<'a> = &'a mut dyn FnMut(&mut Vec<DataField>, &str) -> Result<(), Failure>;

/// Changes the fields among which the path's last name is, or would be.
pub(super) fn edit_siblings(fields: &mut Vec<DataField>, path: &[String], edit: FieldsEdit<'_>) -> Result<(), Failure> {
    match path {
        [] => Err(Failure::invalid("expected the path of a column, found an empty one")),
        [name] => edit(fields, name),
        [name, rest @ ..] => {
            let position = position_of(fields, name)?;
            let field_type = within(&fields[position].field_type, rest, edit)?;
            fields[position].field_type = field_type;
            Ok(())
        }
    }
}

fn within(field_type: &FieldType, path: &[String], edit: FieldsEdit<'_>) -> Result<FieldType, Failure> {
    let data_type = match (&field_type.data_type, path) {
        (DataType::Row(fields), _) => {
            let mut fields: Vec<DataField> = fields.iter().map(to_data_field).collect();
            edit_siblings(&mut fields, path, edit)?;
            DataType::Row(fields.into_iter().map(to_nested_field).collect())
        }
        (DataType::Array(element), [name, rest @ ..]) if name == ELEMENT && !rest.is_empty() => {
            DataType::Array(Arc::new(within(element, rest, edit)?))
        }
        (DataType::Map(entry), [name, rest @ ..]) if name == VALUE && !rest.is_empty() => {
            DataType::Map(Arc::new((entry.0.clone(), within(&entry.1, rest, edit)?)))
        }
        (other, _) => return Err(no_field(other, path)),
    };
    Ok(FieldType { data_type, nullable: field_type.nullable })
}

/// Changes the field at a position among its siblings.
pub(super) type FieldEdit<'a> = dyn FnMut(&mut Vec<DataField>, usize) -> Result<(), Failure> + 'a;

/// Changes the field at the end of the path, which exists.
pub(super) fn edit_field(
    fields: &mut Vec<DataField>,
    path: &[String],
    edit: &mut FieldEdit<'_>,
) -> Result<(), Failure> {
    edit_siblings(fields, path, &mut |siblings, name| {
        let position = position_of(siblings, name)?;
        edit(siblings, position)
    })
}

/// Changes the type at the end of the path: a column's, a field's, or that of an array's elements or a map's values.
pub(super) fn edit_type(
    fields: &mut [DataField],
    path: &[String],
    edit: &mut dyn FnMut(&FieldType) -> Result<FieldType, Failure>,
) -> Result<(), Failure> {
    let [name, rest @ ..] = path else {
        return Err(Failure::invalid("expected the path of a column, found an empty one"));
    };
    let position = position_of(fields, name)?;
    let field_type = type_within(&fields[position].field_type, rest, edit)?;
    fields[position].field_type = field_type;
    Ok(())
}

fn type_within(
    field_type: &FieldType,
    path: &[String],
    edit: &mut dyn FnMut(&FieldType) -> Result<FieldType, Failure>,
) -> Result<FieldType, Failure> {
    let [name, rest @ ..] = path else {
        return edit(field_type);
    };
    let data_type = match &field_type.data_type {
        DataType::Row(fields) => {
            let mut fields: Vec<DataField> = fields.iter().map(to_data_field).collect();
            edit_type(&mut fields, path, edit)?;
            DataType::Row(fields.into_iter().map(to_nested_field).collect())
        }
        DataType::Array(element) if name == ELEMENT => DataType::Array(Arc::new(type_within(element, rest, edit)?)),
        DataType::Map(entry) if name == VALUE => {
            DataType::Map(Arc::new((entry.0.clone(), type_within(&entry.1, rest, edit)?)))
        }
        other => return Err(no_field(other, path)),
    };
    Ok(FieldType { data_type, nullable: field_type.nullable })
}

/// The position of a field; `invalid` if there is none of this name.
pub(super) fn position_of(fields: &[DataField], name: &str) -> Result<usize, Failure> {
    fields.iter().position(|field| field.name == name).ok_or_else(|| {
        let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        Failure::invalid(format!("expected a column of the table among [{}], found `{name}`", known.join(", ")))
    })
}

fn no_field(data_type: &DataType, path: &[String]) -> Failure {
    Failure::invalid(format!("expected a type with fields before `{}`, found {data_type}", path.join(".")))
}

fn to_data_field(field: &NestedField) -> DataField {
    DataField {
        id: field.id,
        name: field.name.clone(),
        field_type: field.field_type.clone(),
        description: None,
        default_value: None,
    }
}

fn to_nested_field(field: DataField) -> NestedField {
    NestedField { id: field.id, name: field.name, field_type: field.field_type }
}
