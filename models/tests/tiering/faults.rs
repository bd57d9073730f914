//! A store and an object store that misbehave on demand.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;
use bytes::Bytes;
use models::contract::{
    AppendAck, AppendRequest, BucketId, BucketOffsets, Environment, Failure, FailureCode, FetchedLog, LakeSnapshot,
    ObjectStore, RegisteredSnapshots, Row, Store, StoreTable, TableId, TablePath, TableSchema,
};

/// A store behind a network.
pub struct FaultyStore {
    pub inner: Rc<dyn Store>,
    pub environment: Rc<dyn Environment>,
    /// Every fetch takes so long.
    pub fetch_ms: u64,
    /// Registrations do not arrive.
    pub refuses_registration: bool,
    /// So many creates take effect without an answer.
    pub loses_create_acks: Cell<u32>,
}

impl FaultyStore {
    pub fn of(inner: Rc<dyn Store>, environment: &Rc<dyn Environment>) -> Self {
        let environment = environment.clone();
        Self { inner, environment, fetch_ms: 0, refuses_registration: false, loses_create_acks: Cell::new(0) }
    }
}

#[async_trait(?Send)]
impl Store for FaultyStore {
    async fn create_table(&self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure> {
        let created = self.inner.create_table(path, schema).await;
        if let Some(left) = self.loses_create_acks.get().checked_sub(1) {
            self.loses_create_acks.set(left);
            return Err(Failure::indefinite(FailureCode::Timeout, "no answer"));
        }
        created
    }

    async fn drop_table(&self, path: &TablePath) -> Result<(), Failure> {
        self.inner.drop_table(path).await
    }

    async fn table(&self, path: &TablePath) -> Result<StoreTable, Failure> {
        self.inner.table(path).await
    }

    async fn tables(&self) -> Result<Vec<StoreTable>, Failure> {
        self.inner.tables().await
    }

    async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        self.inner.alter_options(path, set, reset).await
    }

    async fn append(&self, request: AppendRequest) -> Result<AppendAck, Failure> {
        self.inner.append(request).await
    }

    async fn fetch_log(
        &self,
        table_id: TableId,
        bucket: &BucketId,
        start_offset_inclusive: u64,
        end_offset_exclusive: u64,
    ) -> Result<FetchedLog, Failure> {
        if self.fetch_ms > 0 {
            self.environment.sleep_ms(self.fetch_ms).await;
        }
        self.inner.fetch_log(table_id, bucket, start_offset_inclusive, end_offset_exclusive).await
    }

    async fn bucket_offsets(&self, table_id: TableId) -> Result<Vec<BucketOffsets>, Failure> {
        self.inner.bucket_offsets(table_id).await
    }

    async fn lookup(&self, table_id: TableId, bucket: &BucketId, key: &Row) -> Result<Option<Row>, Failure> {
        self.inner.lookup(table_id, bucket, key).await
    }

    async fn register_lake_snapshot(&self, table_id: TableId, snapshot: LakeSnapshot) -> Result<(), Failure> {
        if self.refuses_registration {
            return Err(Failure::definite(FailureCode::Unavailable, "the store is down"));
        }
        self.inner.register_lake_snapshot(table_id, snapshot).await
    }

    async fn registered_snapshots(&self, table_id: TableId) -> Result<RegisteredSnapshots, Failure> {
        self.inner.registered_snapshots(table_id).await
    }
}

/// An object store that is cut off right after the first snapshot arrived: its answer is lost, and so is everything
/// about snapshots that is asked for later.
pub struct CutOffAfterCommit {
    pub inner: Rc<dyn ObjectStore>,
    pub cut_off: Cell<bool>,
}

impl CutOffAfterCommit {
    fn answer_for(&self, path: &str) -> Result<(), Failure> {
        if self.cut_off.get() && path.contains("/snapshot") {
            return Err(Failure::indefinite(FailureCode::Timeout, "no answer"));
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl ObjectStore for CutOffAfterCommit {
    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        self.answer_for(path)?;
        self.inner.get(path).await
    }

    async fn exists(&self, path: &str) -> Result<bool, Failure> {
        self.answer_for(path)?;
        self.inner.exists(path).await
    }

    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Failure> {
        self.inner.put(path, bytes).await
    }

    async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool, Failure> {
        let created = self.inner.put_if_absent(path, bytes).await?;
        self.cut_off.set(self.cut_off.get() || path.contains("/snapshot-"));
        self.answer_for(path)?;
        Ok(created)
    }

    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
        self.answer_for(directory)?;
        self.inner.list(directory).await
    }

    async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.inner.delete(path).await
    }

    async fn rename_directory(&self, from: &str, to: &str) -> Result<(), Failure> {
        self.inner.rename_directory(from, to).await
    }
}
