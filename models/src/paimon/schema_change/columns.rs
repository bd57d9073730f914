//! Adding, dropping, renaming and moving columns, and fields of rows.

use crate::contract::{Failure, FieldType};

use super::super::schema_rules::{bucket_key_names, check_column_name, is_option_on};
use super::super::{DataField, SchemaFile};
use super::ColumnPosition;
use super::nested::{edit_field, edit_siblings, position_of};
use super::renames::rename_in_options;

/// Adds a column. Its ids, and those of fields within it, are ones that no field of this table ever had.
pub(super) fn add_column(
    schema: &mut SchemaFile,
    path: &[String],
    field_type: &FieldType,
    comment: Option<&str>,
    position: Option<&ColumnPosition>,
) -> Result<(), Failure> {
    if !field_type.nullable {
        // Rows that are there have no value for it.
        return Err(Failure::invalid(format!("expected the added column `{}` to be nullable", path.join("."))));
    }
    let before_partition = path.len() == 1 && is_option_on(&schema.options, "add-column-before-partition", false);
    let partition_keys = if before_partition { schema.partition_keys.as_slice() } else { &[] };
    let mut highest = schema.highest_field_id.checked_add(1).ok_or_else(out_of_ids)?;
    let id = highest;
    let data_type = field_type.data_type.with_new_field_ids(&mut highest);
    if highest == i32::MAX {
        return Err(out_of_ids());
    }
    edit_siblings(&mut schema.fields, path, &mut |siblings, name| {
        refuse_taken_name(siblings, name, path.len())?;
        let first_partition_column = siblings.iter().position(|field| partition_keys.contains(&field.name));
        let position = match position {
            None => first_partition_column.unwrap_or(siblings.len()),
            Some(position) => index_of(position, siblings)?,
        };
        let field = DataField {
            id,
            name: name.to_owned(),
            field_type: FieldType { data_type: data_type.clone(), nullable: true },
            description: comment.map(str::to_owned),
            default_value: None,
        };
        siblings.insert(position, field);
        Ok(())
    })?;
    schema.highest_field_id = highest;
    Ok(())
}

fn out_of_ids() -> Failure {
    Failure::invalid("expected a table with field ids left to give, found the highest one in use")
}

fn refuse_taken_name(siblings: &[DataField], name: &str, depth: usize) -> Result<(), Failure> {
    // Only columns stand beside the columns that data files add.
    if depth == 1 {
        check_column_name(name)?;
    }
    match position_of(siblings, name) {
        Ok(_) => Err(Failure::invalid(format!("expected a new column name, `{name}` exists"))),
        Err(_) => Ok(()),
    }
}

/// Where a new field goes among these.
fn index_of(position: &ColumnPosition, siblings: &[DataField]) -> Result<usize, Failure> {
    match position {
        ColumnPosition::First => Ok(0),
        ColumnPosition::Last => Ok(siblings.len()),
        ColumnPosition::At(index) if *index <= siblings.len() => Ok(*index),
        ColumnPosition::At(index) => Err(Failure::invalid(format!(
            "expected a position `first`, `last` or 0 to {}, found {index}",
            siblings.len()
        ))),
        ColumnPosition::After(name) => position_of(siblings, name).map(|position| position + 1),
        ColumnPosition::Before(name) => position_of(siblings, name),
    }
}

/// Drops a column. Keys and the last one stay.
pub(super) fn drop_column(schema: &mut SchemaFile, path: &[String]) -> Result<(), Failure> {
    if let [name] = path {
        let keys = schema.primary_keys.iter().chain(&schema.partition_keys).map(String::as_str);
        if keys.chain(bucket_key_names(&schema.options)).any(|key| key == name) {
            return Err(Failure::invalid(format!(
                "column `{name}` cannot be dropped: it is a key, a partition or a bucket column"
            )));
        }
    }
    edit_field(&mut schema.fields, path, &mut |siblings, position| {
        if siblings.len() == 1 {
            return Err(Failure::invalid(format!("column `{}` cannot be dropped: it is the last one", path.join("."))));
        }
        siblings.remove(position);
        Ok(())
    })
}

/// Renames a column. Keys and options that name it follow; partition directories cannot.
pub(super) fn rename_column(schema: &mut SchemaFile, path: &[String], to: &str) -> Result<(), Failure> {
    if let [from] = path
        && schema.partition_keys.contains(from)
    {
        return Err(Failure::invalid(format!("partition column `{from}` cannot be renamed")));
    }
    edit_field(&mut schema.fields, path, &mut |siblings, position| {
        refuse_taken_name(siblings, to, path.len())?;
        to.clone_into(&mut siblings[position].name);
        Ok(())
    })?;
    if let [from] = path {
        for key in schema.primary_keys.iter_mut().filter(|key| *key == from) {
            to.clone_into(key);
        }
        rename_in_options(&mut schema.options, from, to);
    }
    Ok(())
}

/// Moves a column to another position among the columns of the table.
pub(super) fn move_column(schema: &mut SchemaFile, column: &str, position: &ColumnPosition) -> Result<(), Failure> {
    let from = position_of(&schema.fields, column)?;
    let field = schema.fields[from].clone();
    if let ColumnPosition::After(other) | ColumnPosition::Before(other) = position
        && other == column
    {
        return Err(moved_to_itself(column));
    }
    let mut others = schema.fields.clone();
    others.remove(from);
    let to = index_of(position, &others)?;
    let names_a_place = matches!(position, ColumnPosition::First | ColumnPosition::Last | ColumnPosition::At(_));
    if names_a_place && to == from {
        return Err(moved_to_itself(column));
    }
    others.insert(to, field);
    schema.fields = others;
    Ok(())
}

fn moved_to_itself(column: &str) -> Failure {
    Failure::invalid(format!("expected another position for column `{column}`, found its own"))
}
