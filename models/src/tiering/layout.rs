//! How a row of the store becomes a row of the lake table.
//!
//! Column changes on the lake side touch only the lake table (C7), so the two may differ for a while. This module must
//! never know why they differ.

use crate::contract::{Failure, Row, TablePath, TableSchema, Value};

/// Where each cell of a lake row comes from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RowLayout {
    /// Both definitions have the same columns.
    Same,
    /// Per lake column its position in the store's row; `None` is a column that only the lake has, NULL in new rows.
    Mapped(Vec<Option<usize>>),
}

impl RowLayout {
    /// The layout of rows from `store` in `lake`. Fails, as a mistake of this table alone, if the lake lacks a column:
    /// its values would be lost (L13).
    pub(super) fn between(path: &TablePath, store: &TableSchema, lake: &TableSchema) -> Result<Self, Failure> {
        if store.has_columns_like(lake) {
            return Ok(Self::Same);
        }
        for column in &store.columns {
            let in_lake = lake.position(&column.name).map(|position| &lake.columns[position]);
            if in_lake.is_none_or(|in_lake| !in_lake.data_type.is_like(&column.data_type)) {
                return Err(Failure::invalid(format!(
                    "expected the lake table {path} to have column `{}` of type {}, found {}; change the lake table \
                     back, or the store's",
                    column.name,
                    column.data_type,
                    in_lake.map_or_else(|| "none".to_owned(), |in_lake| in_lake.data_type.to_string()),
                )));
            }
        }
        Ok(Self::Mapped(lake.columns.iter().map(|column| store.position(&column.name)).collect()))
    }

    /// The lake's row.
    pub(super) fn lake_row(&self, row: Row) -> Row {
        match self {
            Self::Same => row,
            Self::Mapped(sources) => {
                let cells = sources.iter().map(|source| source.map_or(Value::Null, |position| row[position].clone()));
                Row::new(cells.collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::contract::{Column, DataType};

    fn schema(columns: &[&str]) -> TableSchema {
        let columns =
            columns.iter().map(|name| Column { name: (*name).to_owned(), data_type: DataType::Int, nullable: true });
        TableSchema {
            columns: columns.collect(),
            primary_key: Vec::new(),
            partition_keys: Vec::new(),
            options: BTreeMap::new(),
        }
    }

    fn between(store: &[&str], lake: &[&str]) -> Result<RowLayout, Failure> {
        RowLayout::between(&TablePath::new("db", "t"), &schema(store), &schema(lake))
    }

    #[test]
    fn a_column_that_only_the_lake_has_is_null() {
        let layout = between(&["a", "b"], &["new", "b", "a"]).unwrap();
        let row = layout.lake_row(Row::new(vec![Value::Int(1), Value::Int(2)]));
        assert_eq!(row, Row::new(vec![Value::Null, Value::Int(2), Value::Int(1)]));
        assert_eq!(between(&["a"], &["a"]).unwrap(), RowLayout::Same);
    }

    #[test]
    fn a_column_that_the_lake_lacks_is_never_dropped_silently() {
        let failure = between(&["a", "b"], &["a", "renamed"]).unwrap_err();
        assert!(failure.message.contains("`b`"), "{failure}");
    }
}
