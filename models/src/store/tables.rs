//! The store's tables: names, identities, definitions, and what belongs to each.
//!
//! Definitions and registrations go through a metadata log that is durable at once, so a crash takes nothing from
//! here; it only passes through to the buckets. This module must never know how time passes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bucket::{Admission, Bucket, widen};
use super::key_snapshots::KeySnapshots;
use super::layout::Layout;
use super::loading::Loading;
use super::partitions::{self, Expired};
use super::registry::Registry;
use crate::contract::{
    AppendRequest, BUCKET, BUCKET_KEY, BucketId, Column, Failure, FailureCode, Mutation, StoreTable, TableId,
    TablePath, TableSchema,
};
use crate::defects::Defects;

/// One table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Its name, identity and schema.
    pub definition: StoreTable,
    /// What the schema says about rows and buckets.
    pub layout: Layout,
    /// Its buckets; one comes into being with its first write.
    pub buckets: BTreeMap<BucketId, Bucket>,
    /// What of its log the lake contains.
    pub registry: Registry,
    /// What became of bulk loads of its state.
    pub loading: Loading,
    /// The partitions that have left the store.
    pub expired: Expired,
    /// Its snapshots of key-value state.
    pub key_snapshots: KeySnapshots,
}

impl Table {
    /// Checks a batch and adds it to its bucket's volatile tail; see [`Bucket::append`].
    pub fn append(&mut self, mut request: AppendRequest, now_ms: u64, defects: &Defects) -> Result<Admission, Failure> {
        self.layout.check_bucket(&request.bucket)?;
        self.layout.check_mutations(&request.bucket, &request.mutations)?;
        if self.loading.left_out().contains(&request.bucket.partition) {
            return Err(Failure::definite(
                FailureCode::Unsupported,
                format!(
                    "expected a partition of {} that its promotion loaded or that came later, found one that was left \
                     out; it can be read, and not be written, through the store",
                    self.definition.path
                ),
            ));
        }
        if self.has_expired(&request.bucket) {
            return self.late_answer(&request);
        }
        if let Some(column_count) = self.layout.widened_column_count() {
            for mutation in &mut request.mutations {
                if let Mutation::Put(row) = mutation {
                    widen(row, column_count);
                }
            }
        }
        let bucket = self.buckets.entry(request.bucket.clone()).or_default();
        bucket.append(request, &self.layout, now_ms, defects)
    }

    /// Adds columns that are not there yet, and brings every row to the new version: a row that was logged before has
    /// NULL there whenever it is read, so it may as well have it from now on.
    fn add_columns(&mut self, columns: &[Column]) -> Result<(), Failure> {
        let mut schema = TableSchema::clone(&self.definition.schema);
        for column in columns {
            match schema.position(&column.name).map(|position| &schema.columns[position]) {
                None if column.nullable => schema.columns.push(column.clone()),
                Some(present)
                    if present.data_type.is_like(&column.data_type) && present.nullable == column.nullable => {}
                None => {
                    return Err(Failure::rejected(format!(
                        "expected a nullable column to add to {}, found `{}` NOT NULL, which rows that are there lack",
                        self.definition.path, column.name
                    )));
                }
                Some(present) => {
                    return Err(Failure::invalid(format!(
                        "expected no column `{}` in {}, found one of type {}",
                        column.name, self.definition.path, present.data_type
                    )));
                }
            }
        }
        if schema.columns.len() > self.definition.schema.columns.len() {
            self.layout.add_version(schema.columns.len());
            self.widen_rows();
            self.definition.schema = Arc::new(schema);
        }
        Ok(())
    }

    /// Brings all rows to the newest version.
    pub fn widen_rows(&mut self) {
        if let Some(column_count) = self.layout.widened_column_count() {
            self.buckets.values_mut().for_each(|bucket| bucket.widen(column_count));
            self.key_snapshots.rows_mut().for_each(|row| widen(row, column_count));
        }
    }

    /// The buckets that were ever written, in order.
    pub fn written_buckets(&self) -> impl Iterator<Item = (&BucketId, &Bucket)> {
        self.buckets.iter().filter(|(_, bucket)| bucket.is_written())
    }

    /// How many rows the state of each bucket serves; only buckets that have any.
    pub fn key_rows(&self) -> impl Iterator<Item = (&BucketId, u64)> {
        self.buckets.iter().map(|(id, bucket)| (id, bucket.key_count() as u64)).filter(|(_, rows)| *rows > 0)
    }

    /// Sets and removes options. The layout of buckets is fixed: every offset and every row's place depends on it.
    fn alter_options(&mut self, set: &BTreeMap<String, String>, reset: &[String]) -> Result<(), Failure> {
        let mut schema = TableSchema::clone(&self.definition.schema);
        for option in reset {
            schema.options.remove(option);
        }
        schema.options.extend(set.iter().map(|(option, value)| (option.clone(), value.clone())));
        for fixed in [BUCKET, BUCKET_KEY] {
            if schema.options.get(fixed) != self.definition.schema.options.get(fixed) {
                return Err(Failure::invalid(format!(
                    "expected option `{fixed}` of table {} to stay as it was when the table was created; create a new \
                     table for another layout",
                    self.definition.path
                )));
            }
        }
        partitions::kept(&schema)?;
        self.definition.schema = Arc::new(schema);
        Ok(())
    }
}

/// All tables.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    by_id: BTreeMap<TableId, Table>,
    ids: BTreeMap<TablePath, TableId>,
    /// How many identities were ever given; none is given twice (L12).
    ids_given: u64,
}

impl Tables {
    /// Creates a table with a new identity; `already-exists` if the name is taken.
    pub fn create(&mut self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure> {
        if self.ids.contains_key(path) {
            let message = format!("the store already has a table {path}; drop it first or use it as it is");
            return Err(Failure::definite(FailureCode::AlreadyExists, message));
        }
        let layout = Layout::new(schema)?;
        partitions::kept(schema)?;
        self.ids_given += 1;
        let table_id = TableId(self.ids_given);
        let schema = Arc::new(schema.clone());
        let definition = StoreTable { table_id, path: path.clone(), schema, source_snapshot_id: None };
        let table = Table {
            definition: definition.clone(),
            layout,
            buckets: BTreeMap::new(),
            registry: Registry::default(),
            loading: Loading::default(),
            expired: Expired::default(),
            key_snapshots: KeySnapshots::default(),
        };
        self.ids.insert(path.clone(), table_id);
        self.by_id.insert(table_id, table);
        Ok(definition)
    }

    /// Drops a table and all that belongs to it, and returns the identity that it had; `not-found` if there is none.
    pub fn drop(&mut self, path: &TablePath) -> Result<TableId, Failure> {
        let table_id = self.ids.remove(path).ok_or_else(|| no_table(path))?;
        self.by_id.remove(&table_id);
        Ok(table_id)
    }

    /// Sets and removes options of a table; `not-found` if there is none, `invalid` for options that are fixed.
    pub fn alter_options(
        &mut self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        self.named_mut(path)?.alter_options(set, reset)
    }

    /// Adds columns to a table; see [`crate::contract::Store::add_columns`].
    pub fn add_columns(&mut self, path: &TablePath, columns: &[Column]) -> Result<(), Failure> {
        self.named_mut(path)?.add_columns(columns)
    }

    /// The table of this name; `not-found` if there is none.
    pub fn named(&self, path: &TablePath) -> Result<&Table, Failure> {
        self.ids.get(path).and_then(|table_id| self.by_id.get(table_id)).ok_or_else(|| no_table(path))
    }

    /// As [`Tables::named`], to change it.
    fn named_mut(&mut self, path: &TablePath) -> Result<&mut Table, Failure> {
        self.ids.get(path).and_then(|table_id| self.by_id.get_mut(table_id)).ok_or_else(|| no_table(path))
    }

    /// The table of this identity; `not-found` if it was dropped, whatever has its name now (L12).
    pub fn get(&self, table_id: TableId) -> Result<&Table, Failure> {
        self.by_id.get(&table_id).ok_or_else(|| no_id(table_id))
    }

    /// As [`Tables::get`], to change it.
    pub fn get_mut(&mut self, table_id: TableId) -> Result<&mut Table, Failure> {
        self.by_id.get_mut(&table_id).ok_or_else(|| no_id(table_id))
    }

    /// All tables, by identity.
    pub fn iter(&self) -> impl Iterator<Item = &Table> {
        self.by_id.values()
    }

    /// All tables, by identity, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        self.by_id.values_mut()
    }
}

fn no_table(path: &TablePath) -> Failure {
    Failure::not_found(format!("the store has no table {path}"))
}

fn no_id(table_id: TableId) -> Failure {
    Failure::not_found(format!("the store has no table with id {table_id}; it was dropped, so look its name up again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> TableSchema {
        let text = r#"{"columns":[{"name":"v","type":"BIGINT"}],"options":{"bucket":"2","a":"1"}}"#;
        serde_json::from_str(text).unwrap()
    }

    fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(option, value)| ((*option).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn identities_begin_at_1_and_are_never_given_again() {
        let path = TablePath::new("db", "t");
        let mut tables = Tables::default();
        assert_eq!(tables.create(&path, &schema()).unwrap().table_id, TableId(1));
        assert_eq!(tables.create(&path, &schema()).unwrap_err().code, FailureCode::AlreadyExists);
        tables.drop(&path).unwrap();
        assert_eq!(tables.named(&path).unwrap_err().code, FailureCode::NotFound);
        assert_eq!(tables.create(&path, &schema()).unwrap().table_id, TableId(2));
        assert_eq!(tables.get(TableId(1)).unwrap_err().code, FailureCode::NotFound);
    }

    #[test]
    fn options_change_and_the_layout_does_not() {
        let path = TablePath::new("db", "t");
        let mut tables = Tables::default();
        tables.create(&path, &schema()).unwrap();
        tables.alter_options(&path, &options(&[("b", "2"), ("bucket", "2")]), &["a".to_owned()]).unwrap();
        let expected = options(&[("b", "2"), ("bucket", "2")]);
        assert_eq!(tables.named(&path).unwrap().definition.schema.options, expected);
        for (set, reset) in [(options(&[("bucket", "3")]), vec![]), (options(&[]), vec!["bucket".to_owned()])] {
            assert_eq!(tables.alter_options(&path, &set, &reset).unwrap_err().code, FailureCode::Invalid);
        }
        assert_eq!(tables.named(&path).unwrap().definition.schema.options, expected);
    }

    #[test]
    fn a_key_that_is_not_a_column_is_refused() {
        let schema = TableSchema { primary_key: vec!["id".to_owned()], ..schema() };
        let failure = Tables::default().create(&TablePath::new("db", "t"), &schema).unwrap_err();
        assert_eq!(failure.code, FailureCode::Invalid);
    }
}
