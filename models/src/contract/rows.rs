//! Rows with their column names: what statements carry and reads return.

use std::sync::Arc;

use super::coercion::coerce;
use super::failure::Failure;
use super::schema::TableSchema;
use super::value::{Row, Value};

/// Column names and rows of those columns. In JSON: an array of objects by column name, as in the adapter protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowSet {
    /// The columns, in the order of each row's cells.
    pub columns: Arc<[Arc<str>]>,
    /// The rows.
    pub rows: Vec<Row>,
}

impl Default for RowSet {
    fn default() -> Self {
        Self::empty(Arc::from([]))
    }
}

impl RowSet {
    /// No rows of these columns.
    pub fn empty(columns: Arc<[Arc<str>]>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Whether it has no columns, and so can have no rows that say anything.
    pub fn is_without_columns(&self) -> bool {
        self.columns.is_empty()
    }

    /// The position of a column.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|candidate| &**candidate == column)
    }

    /// The rows as rows of the schema: cells in schema order, missing columns NULL, each cell of its column's type.
    /// `invalid` if a column is unknown, a cell does not fit, or a NOT NULL column is missing.
    pub fn conform(&self, schema: &TableSchema) -> Result<Vec<Row>, Failure> {
        for column in self.columns.iter() {
            if schema.position(column).is_none() {
                let known: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
                return Err(Failure::invalid(format!(
                    "expected columns among [{}], found `{column}`",
                    known.join(", ")
                )));
            }
        }
        let sources: Vec<Option<usize>> = schema.columns.iter().map(|column| self.position(&column.name)).collect();
        let conform_row = |row: &Row| -> Result<Row, Failure> {
            let cells = schema.columns.iter().zip(&sources).map(|(column, source)| {
                let cell = source.map_or(Value::Null, |position| row[position].clone());
                if cell.is_null() && !column.nullable {
                    return Err(Failure::invalid(format!("column `{}` is NOT NULL but has no value", column.name)));
                }
                coerce(cell, &column.data_type)
                    .map_err(|found| Failure::invalid(format!("column `{}`: {found}", column.name)))
            });
            Ok(Row::new(cells.collect::<Result<Vec<_>, _>>()?))
        };
        self.rows.iter().map(conform_row).collect()
    }
}
