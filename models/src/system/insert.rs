//! Regular writes to a table in the mode: they go to the store's log, and make no lake snapshot (rule 36, C15).
//!
//! A statement becomes one batch per bucket. Each batch is all or nothing; the statement is not, so how it fails is
//! this module's main business. It must never know how the store recognises a repeated batch, only that it does.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::contract::{
    AppendRequest, BucketId, Failure, FailureCode, Mutation, Output, Row, RowSet, Store, StoreTable, TableId,
    TableSchema, Value,
};
use crate::defects::Defect;
use crate::paimon::PaimonTable;

use super::client::Client;
use super::layout::SharedLayout;
use super::partition_clause::{PartitionSpec, rows_to_insert};

/// Who this client is to the store: a writer id, and how many batches it has begun per bucket.
pub(super) struct StoreWriter {
    id: u64,
    next_sequence: RefCell<BTreeMap<(TableId, BucketId), u64>>,
}

impl StoreWriter {
    pub(super) fn new(id: u64) -> Self {
        Self { id, next_sequence: RefCell::new(BTreeMap::new()) }
    }

    /// Takes the bucket's next sequence. It is taken before anything is sent: a statement that is dropped in
    /// mid-flight must not leave a sequence to the next batch that the store may know already, or the store would
    /// take that batch for a repetition and drop it (L1).
    fn take_sequence(&self, table_id: TableId, bucket: &BucketId) -> u64 {
        let mut next_sequence = self.next_sequence.borrow_mut();
        let next = next_sequence.entry((table_id, bucket.clone())).or_insert(0);
        let taken = *next;
        *next += 1;
        taken
    }

    /// Gives back a sequence that the store certainly never saw. A session has one statement in flight, so nobody has
    /// taken the next one meanwhile.
    fn give_back_sequence(&self, table_id: TableId, bucket: &BucketId, sequence: u64) {
        self.next_sequence.borrow_mut().insert((table_id, bucket.clone()), sequence);
    }
}

impl Client {
    /// INSERT INTO a table in the mode; an upsert in a key table.
    pub(super) async fn insert_into_store(
        &self,
        table: &PaimonTable,
        store_table: &StoreTable,
        partition: Option<&PartitionSpec>,
        rows: &RowSet,
    ) -> Result<Output, Failure> {
        let rows = rows_to_insert(&store_table.schema, partition, rows)?;
        self.put_into_store(table, store_table, rows).await
    }

    /// Upserts rows of the store's definition, or appends them where there is no key.
    pub(super) async fn put_into_store(
        &self,
        table: &PaimonTable,
        store_table: &StoreTable,
        rows: Vec<Row>,
    ) -> Result<Output, Failure> {
        let layout = SharedLayout::new(table, store_table)?;
        let acked = rows.len() as u64;
        let mut batches: BTreeMap<BucketId, Vec<Mutation>> = BTreeMap::new();
        for row in rows {
            batches.entry(layout.bucket_of(&row)).or_default().push(Mutation::Put(row));
        }
        self.append_batches(store_table.table_id, batches).await?;
        Ok(Output::Acked { acked, snapshot_id: None })
    }

    /// DELETE by key from a table in the mode. What the store cannot do fails by its name and never runs on the lake
    /// instead (rule 40, C23).
    pub(super) async fn delete_from_store(
        &self,
        table: &PaimonTable,
        store_table: &StoreTable,
        keys: &RowSet,
    ) -> Result<Output, Failure> {
        self.require_key_in_store(store_table, "deletes")?;
        let rows = rows_of_keys(&store_table.schema, keys)?;
        self.delete_rows_from_store(table, store_table, rows).await
    }

    /// `unsupported`, naming the store, unless it can tell one row of the table from another.
    pub(super) fn require_key_in_store(&self, store_table: &StoreTable, what: &str) -> Result<(), Failure> {
        if store_table.schema.has_primary_key() {
            return Ok(());
        }
        let message = format!("it {what} by primary key, and `{}` has none", store_table.path);
        Err(self.of_the_store(Failure::definite(FailureCode::Unsupported, message)))
    }

    /// Deletes the keys of these rows, which are of the store's definition; other cells do not matter.
    pub(super) async fn delete_rows_from_store(
        &self,
        table: &PaimonTable,
        store_table: &StoreTable,
        rows: Vec<Row>,
    ) -> Result<Output, Failure> {
        let layout = SharedLayout::new(table, store_table)?;
        let key_positions = store_table.schema.key_positions();
        let acked = rows.len() as u64;
        let mut batches: BTreeMap<BucketId, Vec<Mutation>> = BTreeMap::new();
        for row in rows {
            let key = row.project(&key_positions);
            batches.entry(layout.bucket_of(&row)).or_default().push(Mutation::Delete(key));
        }
        self.append_batches(store_table.table_id, batches).await?;
        Ok(Output::Acked { acked, snapshot_id: None })
    }

    /// One append per bucket, in bucket order. The statement failed for certain only if no bucket took anything: after
    /// the first batch that may be durable, every failure is indefinite (rule 5 of the architecture).
    async fn append_batches(
        &self,
        table_id: TableId,
        batches: BTreeMap<BucketId, Vec<Mutation>>,
    ) -> Result<(), Failure> {
        let store = self.store_for_writes()?;
        let mut is_partly_durable = false;
        for (bucket, mutations) in batches {
            match self.append_batch(&*store, table_id, bucket, mutations).await {
                Ok(()) => is_partly_durable = true,
                // Planted bug batch-half-applied: what became of the buckets before is forgotten.
                Err(failure) if is_partly_durable && !self.lake.defects.has(Defect::BatchHalfApplied) => {
                    return Err(self.of_the_store(failure).made_indefinite());
                }
                Err(failure) => return Err(self.of_the_store(failure)),
            }
        }
        Ok(())
    }

    /// One batch, until it is durable or patience ends. Every attempt carries the same sequence, so that the store
    /// applies it once (L3). A definite refusal says nothing about an earlier attempt that got no answer.
    async fn append_batch(
        &self,
        store: &dyn Store,
        table_id: TableId,
        bucket: BucketId,
        mutations: Vec<Mutation>,
    ) -> Result<(), Failure> {
        let batch_sequence = self.store_writer.take_sequence(table_id, &bucket);
        let request = AppendRequest { table_id, bucket, mutations, writer_id: self.store_writer.id, batch_sequence };
        let appended = self.patience.repeated(async || store.append(request.clone()).await).await;
        if appended.as_ref().is_err_and(|failure| failure.definite) {
            self.store_writer.give_back_sequence(table_id, &request.bucket, batch_sequence);
        }
        appended.map(|_| ())
    }
}

/// Rows with the given keys and NULL in all other columns. `invalid` unless the columns are exactly the primary key.
pub(super) fn rows_of_keys(schema: &TableSchema, keys: &RowSet) -> Result<Vec<Row>, Failure> {
    let key_schema = TableSchema {
        columns: schema.key_positions().into_iter().map(|position| schema.columns[position].clone()).collect(),
        primary_key: schema.primary_key.clone(),
        partition_keys: Vec::new(),
        options: BTreeMap::new(),
    };
    let absent = key_schema.columns.iter().find(|column| keys.position(&column.name).is_none());
    if let (Some(absent), false) = (absent, keys.rows.is_empty()) {
        return Err(Failure::invalid(format!(
            "expected keys with all columns of the primary key [{}], found none for `{}`",
            schema.primary_key.join(", "),
            absent.name
        )));
    }
    let key_positions = schema.key_positions();
    let widen = |key: Row| {
        let mut cells = vec![Value::Null; schema.columns.len()];
        for (cell, position) in key.cells().iter().zip(&key_positions) {
            cells[*position] = cell.clone();
        }
        Row::new(cells)
    };
    Ok(keys.conform(&key_schema)?.into_iter().map(widen).collect())
}
