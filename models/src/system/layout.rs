//! The two definitions of one table, the lake's and the store's: where they must agree and how they may differ.
//!
//! Both sides compute buckets, and tiering copies bucket by bucket, so keys, partitions and buckets must agree. Columns
//! may differ for a while, because a column change on the lake side touches the lake table only (rule 12, C7). This
//! module must never look at option values other than the bucketing: they may be secrets (rule 44, C13).

use crate::contract::{BucketId, Failure, Row, StoreTable, TableSchema, Value};
use crate::paimon::PaimonTable;

/// The layout that both sides share, for placing rows of the store's definition.
pub(super) struct SharedLayout<'a> {
    table: &'a PaimonTable,
    mapping: ColumnMapping,
}

impl<'a> SharedLayout<'a> {
    /// `rejected` if a row would live elsewhere on the lake than in the store (rule 43).
    pub(super) fn new(table: &'a PaimonTable, store_table: &StoreTable) -> Result<Self, Failure> {
        let (lake, store) = (table.schema(), &store_table.schema);
        let refuse = |what: &str| {
            Err(Failure::rejected(format!(
                "expected the same {what} of `{}` on the lake and in the store, found different ones: a write planned \
                 with one would be misplaced by the other",
                store_table.path
            )))
        };
        let names = |schema: &TableSchema, positions: Vec<usize>| -> Vec<String> {
            positions.into_iter().map(|position| schema.columns[position].name.clone()).collect()
        };
        if lake.primary_key != store.primary_key {
            return refuse("primary key");
        }
        if lake.partition_keys != store.partition_keys {
            return refuse("partition keys");
        }
        if lake.bucket_count() != store.bucket_count() {
            return refuse("number of buckets");
        }
        let has_buckets = lake.bucket_count().is_some();
        if has_buckets && names(lake, lake.bucket_key_positions()) != names(store, store.bucket_key_positions()) {
            return refuse("bucket key");
        }
        Ok(Self { table, mapping: ColumnMapping::between(store, lake) })
    }

    /// The bucket of a row of the store's definition.
    pub(super) fn bucket_of(&self, row: &Row) -> BucketId {
        self.table.bucket_of(&self.mapping.map(row.clone()))
    }
}

/// Rows of one definition of a table in the columns of its other one: matched by name; a column that the first does not
/// have is NULL.
pub(super) struct ColumnMapping {
    /// Per column of the second its position in the first; `None` if both have the same columns.
    sources: Option<Vec<Option<usize>>>,
}

impl ColumnMapping {
    pub(super) fn between(from: &TableSchema, to: &TableSchema) -> Self {
        let same = from.columns.len() == to.columns.len()
            && from.columns.iter().zip(&to.columns).all(|(one, other)| one.name == other.name);
        let sources = (!same).then(|| to.columns.iter().map(|column| from.position(&column.name)).collect());
        Self { sources }
    }

    pub(super) fn map(&self, row: Row) -> Row {
        let Some(sources) = &self.sources else { return row };
        let cell = |source: &Option<usize>| source.map_or(Value::Null, |position| row[position].clone());
        Row::new(sources.iter().map(cell).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_the_store_lacks_is_null_and_the_others_are_found_by_name() {
        let store: TableSchema =
            serde_json::from_str(r#"{"columns":[{"name":"id","type":"BIGINT"},{"name":"v","type":"BIGINT"}]}"#)
                .unwrap();
        let lake: TableSchema = serde_json::from_str(
            r#"{"columns":[{"name":"new","type":"INT"},{"name":"id","type":"BIGINT"},{"name":"v","type":"BIGINT"}]}"#,
        )
        .unwrap();
        let row = Row::new(vec![Value::Int(1), Value::Int(2)]);
        let mapped = ColumnMapping::between(&store, &lake).map(row.clone());
        assert_eq!(mapped, Row::new(vec![Value::Null, Value::Int(1), Value::Int(2)]));
        assert_eq!(ColumnMapping::between(&store, &store).map(row.clone()), row);
    }
}
