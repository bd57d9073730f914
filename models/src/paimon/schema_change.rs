//! Changes of a table's schema: the twelve that Paimon's catalogs know, and the schema that they make.
//!
//! A change is judged on the schema that the changes before it made; all of them happen or none. Nothing here reads or
//! writes, or knows whether the mode forbids a statement.

mod columns;
mod nested;
mod renames;

use crate::contract::{ColumnChange, DataType, Failure, FieldType, Value};

use self::columns::{add_column, drop_column, move_column, rename_column};
use self::nested::{edit_field, edit_type};
use super::casts::{can_cast, cast};
use super::schema_rules::{bucket_key_names, check_option_change, is_option_on};
use super::{DataField, SchemaFile};

/// Where a column is put among its siblings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ColumnPosition {
    /// Before all others.
    First,
    /// Behind all others.
    Last,
    /// At this position, from 0, as the columns are then.
    At(usize),
    /// Just behind this column.
    After(String),
    /// Just before this column.
    Before(String),
}

/// One change. A path names a column, or a field within it: the names from the outside to the inside, `element` for
/// what an array holds and `value` for the values of a map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SchemaChange {
    /// Sets a table option.
    SetOption {
        /// The option.
        key: String,
        /// Its value.
        value: String,
    },
    /// Removes a table option.
    RemoveOption {
        /// The option.
        key: String,
    },
    /// Changes the comment on the table.
    UpdateComment {
        /// The new comment; `None` removes it.
        comment: Option<String>,
    },
    /// Adds a nullable column, or a nullable field to a row.
    AddColumn {
        /// Its path; all but the last name exist.
        path: Vec<String>,
        /// Its type. The ids of fields within it are replaced.
        field_type: FieldType,
        /// A comment on it.
        comment: Option<String>,
        /// Where it goes; `None` is last, or before the partition columns where `add-column-before-partition` is on.
        position: Option<ColumnPosition>,
    },
    /// Renames a column or field; it keeps its identity and its values.
    RenameColumn {
        /// Its present path.
        path: Vec<String>,
        /// The new last name.
        to: String,
    },
    /// Drops a column or field.
    DropColumn {
        /// Its path.
        path: Vec<String>,
    },
    /// Changes the type of a column or field to one that its values can be cast to.
    UpdateColumnType {
        /// Its path.
        path: Vec<String>,
        /// The new type.
        field_type: FieldType,
        /// Whether NULL stays as it is, allowed or not, whatever the new type says.
        keep_nullability: bool,
    },
    /// Changes whether NULL is allowed.
    UpdateColumnNullability {
        /// The path.
        path: Vec<String>,
        /// Whether it is allowed from now on.
        nullable: bool,
    },
    /// Changes the comment on a column.
    UpdateColumnComment {
        /// The path: a column of the table.
        path: Vec<String>,
        /// The new comment; `None` removes it.
        comment: Option<String>,
    },
    /// Changes what writers put where a row says nothing. Rows that are there stay.
    UpdateColumnDefaultValue {
        /// The path: a column of the table.
        path: Vec<String>,
        /// The new default as text; `None` removes it.
        default_value: Option<String>,
    },
    /// Moves a column of the table.
    UpdateColumnPosition {
        /// The column.
        column: String,
        /// Where it goes.
        position: ColumnPosition,
    },
    /// Makes an append table of a key table that has no snapshots yet.
    DropPrimaryKey,
}

impl TryFrom<&ColumnChange> for SchemaChange {
    type Error = Failure;

    /// The change that a statement asks for; `invalid` if its position is none.
    fn try_from(change: &ColumnChange) -> Result<Self, Failure> {
        Ok(match change {
            ColumnChange::Add { column, position } => Self::AddColumn {
                path: vec![column.name.clone()],
                field_type: FieldType { data_type: column.data_type.clone(), nullable: column.nullable },
                comment: None,
                position: position.as_deref().map(parse_position).transpose()?,
            },
            ColumnChange::Drop(name) => Self::DropColumn { path: vec![name.clone()] },
            ColumnChange::Rename { from, to } => Self::RenameColumn { path: vec![from.clone()], to: to.clone() },
        })
    }
}

fn parse_position(text: &str) -> Result<ColumnPosition, Failure> {
    match text {
        "first" => Ok(ColumnPosition::First),
        "last" => Ok(ColumnPosition::Last),
        _ => text.parse().map(ColumnPosition::At).map_err(|_| {
            Failure::invalid(format!("expected a position `first`, `last` or a number from 0, found {text:?}"))
        }),
    }
}

/// The schema after these changes. The caller validates, numbers and dates it.
pub(super) fn apply_changes(
    schema: &SchemaFile,
    changes: &[SchemaChange],
    has_snapshots: bool,
) -> Result<SchemaFile, Failure> {
    let mut changed = schema.clone();
    for change in changes {
        apply(&mut changed, schema, change, has_snapshots)?;
    }
    Ok(changed)
}

/// Applies one change. `before` is the schema before the first of them: options are compared with what readers and
/// writers have lived with so far.
fn apply(
    schema: &mut SchemaFile,
    before: &SchemaFile,
    change: &SchemaChange,
    has_snapshots: bool,
) -> Result<(), Failure> {
    match change {
        SchemaChange::SetOption { key, value } => {
            if check_option_change(before, key, Some(value), has_snapshots)? {
                schema.options.insert(key.clone(), value.clone());
            }
        }
        SchemaChange::RemoveOption { key } => {
            if check_option_change(before, key, None, has_snapshots)? {
                schema.options.remove(key);
            }
        }
        SchemaChange::UpdateComment { comment } => schema.comment.clone_from(comment),
        SchemaChange::AddColumn { path, field_type, comment, position } => {
            add_column(schema, path, field_type, comment.as_deref(), position.as_ref())?;
        }
        SchemaChange::RenameColumn { path, to } => rename_column(schema, path, to)?,
        SchemaChange::DropColumn { path } => drop_column(schema, path)?,
        SchemaChange::UpdateColumnType { path, field_type, keep_nullability } => {
            update_type(schema, path, field_type, *keep_nullability)?;
        }
        SchemaChange::UpdateColumnNullability { path, nullable } => update_nullability(schema, path, *nullable)?,
        SchemaChange::UpdateColumnComment { path, comment } => {
            edit_field(&mut schema.fields, &[column_of(path, "a comment")?], &mut |fields, position| {
                fields[position].description.clone_from(comment);
                Ok(())
            })?;
        }
        SchemaChange::UpdateColumnDefaultValue { path, default_value } => {
            edit_field(&mut schema.fields, &[column_of(path, "a default value")?], &mut |fields, position| {
                check_default_value(&fields[position], default_value.as_deref())?;
                fields[position].default_value.clone_from(default_value);
                Ok(())
            })?;
        }
        SchemaChange::UpdateColumnPosition { column, position } => move_column(schema, column, position)?,
        SchemaChange::DropPrimaryKey => {
            if has_snapshots {
                return Err(Failure::invalid("expected a table without snapshots to drop the primary key of"));
            }
            schema.primary_keys.clear();
        }
    }
    Ok(())
}

/// The column that the path is. Schema files have room for this of columns of the table only.
fn column_of(path: &[String], what: &str) -> Result<String, Failure> {
    match path {
        [column] => Ok(column.clone()),
        _ => Err(Failure::invalid(format!("expected a column of the table for {what}, found `{}`", path.join(".")))),
    }
}

fn update_type(
    schema: &mut SchemaFile,
    path: &[String],
    field_type: &FieldType,
    keep_nullability: bool,
) -> Result<(), Failure> {
    refuse_layout_column(schema, path, "changed in type")?;
    let explicit = !is_option_on(&schema.options, "disable-explicit-type-casting", false);
    let refuses_not_null = refuses_not_null(schema);
    edit_type(&mut schema.fields, path, &mut |present| {
        let mut changed = field_type.clone();
        if keep_nullability {
            changed.nullable = present.nullable;
        }
        check_nullability(path, present.nullable, changed.nullable, refuses_not_null)?;
        if can_cast(&present.data_type, &changed.data_type, explicit) {
            return Ok(changed);
        }
        Err(Failure::invalid(format!(
            "expected a type that {} values of column `{}` can be cast to, found {}",
            present.data_type,
            path.join("."),
            changed.data_type
        )))
    })
}

fn update_nullability(schema: &mut SchemaFile, path: &[String], nullable: bool) -> Result<(), Failure> {
    if let ([column], true) = (path, nullable)
        && schema.primary_keys.contains(column)
    {
        return Err(Failure::invalid(format!("expected the primary key to stay NOT NULL, found `{column}` nullable")));
    }
    let refuses_not_null = refuses_not_null(schema);
    edit_type(&mut schema.fields, path, &mut |present| {
        check_nullability(path, present.nullable, nullable, refuses_not_null)?;
        Ok(FieldType { nullable, ..present.clone() })
    })
}

/// The option that allows a nullable column to become NOT NULL if it is `false`.
const NULL_TO_NOT_NULL_DISABLED: &str = "alter-column-null-to-not-null.disabled";

fn refuses_not_null(schema: &SchemaFile) -> bool {
    is_option_on(&schema.options, NULL_TO_NOT_NULL_DISABLED, true)
}

fn check_nullability(path: &[String], was_nullable: bool, nullable: bool, refuses: bool) -> Result<(), Failure> {
    if !refuses || !was_nullable || nullable {
        return Ok(());
    }
    // Rows that are there may have no value for it.
    Err(Failure::invalid(format!(
        "expected the nullable column `{}` to stay so, found NOT NULL; option `{NULL_TO_NOT_NULL_DISABLED}` = 'false' \
         allows it",
        path.join(".")
    )))
}

/// Files are placed and found by these columns' values, so their types are what they were (L10, L17).
fn refuse_layout_column(schema: &SchemaFile, path: &[String], what: &str) -> Result<(), Failure> {
    let [column] = path else {
        return Ok(());
    };
    let kind = if schema.partition_keys.contains(column) {
        "partition"
    } else if schema.primary_keys.contains(column) {
        "primary-key"
    } else if bucket_key_names(&schema.options).any(|name| name == column) {
        "bucket-key"
    } else {
        return Ok(());
    };
    Err(Failure::invalid(format!("{kind} column `{column}` cannot be {what}")))
}

/// A default is text that a cast makes a value of the column's type.
fn check_default_value(field: &DataField, default_value: Option<&str>) -> Result<(), Failure> {
    let Some(text) = default_value else {
        return Ok(());
    };
    let data_type = &field.field_type.data_type;
    match cast(&Value::string(text), &DataType::STRING, data_type) {
        Ok(_) => Ok(()),
        Err(_) => Err(Failure::invalid(format!(
            "expected a default value of type {data_type} for column `{}`, found {text:?}",
            field.name
        ))),
    }
}

#[cfg(test)]
mod tests;
