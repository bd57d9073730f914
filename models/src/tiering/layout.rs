//! How a row of the store becomes a row of the lake table.
//!
//! Column changes on the lake side touch only the lake table (C7), so the two may differ for a while. A lake table of
//! the legacy layout has system columns too, which are filled here. This module must never know why columns differ.

use super::lake_columns::first_system_column;
use crate::contract::{BucketId, Failure, LogRecord, Row, SYSTEM_COLUMNS, TablePath, TableSchema, Value};

/// Where each cell of a lake row comes from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RowLayout {
    /// Both definitions have the same columns.
    Same,
    /// Where each cell of the lake's row comes from, column by column.
    Mapped(Vec<Source>),
}

/// Where one cell comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// This cell of the store's row.
    Store(usize),
    /// Nowhere: only the lake has the column, and new rows have NULL there.
    Nothing,
    /// The number of the record's bucket.
    Bucket,
    /// The record's offset.
    Offset,
    /// When the record was tiered. It was written before; when, the log does not say.
    Timestamp,
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
        let first_system = first_system_column(path, &lake.columns)?.unwrap_or(lake.columns.len());
        let (user, system) = lake.columns.split_at(first_system);
        let user = user.iter().map(|column| store.position(&column.name).map_or(Source::Nothing, Source::Store));
        let system = system.iter().zip(Source::SYSTEM).map(|(_, source)| source);
        Ok(Self::Mapped(user.chain(system).collect()))
    }

    /// The lake's row of a record of this bucket that is tiered now, in milliseconds since the epoch.
    pub(super) fn lake_row(&self, bucket: &BucketId, record: LogRecord, now_ms: u64) -> Row {
        let Self::Mapped(sources) = self else { return record.row };
        let cell = |source: &Source| match source {
            Source::Store(position) => record.row[*position].clone(),
            Source::Nothing => Value::Null,
            Source::Bucket => Value::Int(i64::from(bucket.bucket)),
            Source::Offset => Value::Int(i64::try_from(record.offset).unwrap_or(i64::MAX)),
            Source::Timestamp => {
                Value::Timestamp { millis: i64::try_from(now_ms).unwrap_or(i64::MAX), nanos_of_milli: 0 }
            }
        };
        Row::new(sources.iter().map(cell).collect())
    }
}

impl Source {
    /// Of the system columns, in their order.
    const SYSTEM: [Self; SYSTEM_COLUMNS.len()] = [Self::Bucket, Self::Offset, Self::Timestamp];
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::contract::{Column, DataType, RowKind};

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
        let row = lake_row(&layout, vec![Value::Int(1), Value::Int(2)]);
        assert_eq!(row, Row::new(vec![Value::Null, Value::Int(2), Value::Int(1)]));
        assert_eq!(between(&["a"], &["a"]).unwrap(), RowLayout::Same);
    }

    fn lake_row(layout: &RowLayout, cells: Vec<Value>) -> Row {
        let record = LogRecord { offset: 8, kind: RowKind::Insert, row: Row::new(cells) };
        layout.lake_row(&BucketId::unpartitioned(3), record, 70)
    }

    #[test]
    fn the_system_columns_of_a_legacy_table_are_filled() {
        let mut lake = schema(&["a"]);
        let system =
            SYSTEM_COLUMNS.map(|(name, data_type)| Column { name: name.to_owned(), data_type, nullable: true });
        lake.columns.extend(system);
        let layout = RowLayout::between(&TablePath::new("db", "t"), &schema(&["a"]), &lake).unwrap();
        let timestamp = Value::Timestamp { millis: 70, nanos_of_milli: 0 };
        let expected = vec![Value::Int(1), Value::Int(3), Value::Int(8), timestamp];
        assert_eq!(lake_row(&layout, vec![Value::Int(1)]), Row::new(expected));
    }

    #[test]
    fn a_column_that_the_lake_lacks_is_never_dropped_silently() {
        let failure = between(&["a", "b"], &["a", "renamed"]).unwrap_err();
        assert!(failure.message.contains("`b`"), "{failure}");
    }

    #[test]
    fn system_columns_that_are_not_as_they_must_be_are_no_columns_of_a_user() {
        let failure = between(&["a"], &["a", "__offset"]).unwrap_err();
        assert!(failure.message.contains("`__offset`"), "{failure}");
    }
}
