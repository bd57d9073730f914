//! A store and an object store that misbehave on demand.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;
use bytes::Bytes;
use models::contract::{
    AppendAck, AppendRequest, BucketId, BucketOffsets, Column, Environment, Failure, FailureCode, FetchedLog, KeyRows,
    KeySnapshot, LakeRegistration, LakeSnapshot, LoadBegun, LoadSource, ObjectStore, RegisteredSnapshots, Row, Store,
    StoreTable, TableId, TablePath, TableSchema, TieredOffsets,
};

/// A store behind a network.
pub struct FaultyStore {
    pub inner: Rc<dyn Store>,
    pub environment: Rc<dyn Environment>,
    /// Every fetch of log, or of state, takes so long.
    pub fetch_ms: u64,
    /// Every call takes so long to arrive, and its answer as long to come back.
    pub distance_ms: u64,
    /// Registrations do not arrive.
    pub refuses_registration: bool,
    /// So many creates take effect without an answer.
    pub loses_create_acks: Cell<u32>,
    /// How many fetches took effect.
    pub fetches: Cell<u32>,
    /// How many snapshots of keys are leased.
    pub leased: Cell<u32>,
}

impl FaultyStore {
    pub fn of(inner: Rc<dyn Store>, environment: &Rc<dyn Environment>) -> Self {
        let environment = environment.clone();
        Self {
            inner,
            environment,
            fetch_ms: 0,
            distance_ms: 0,
            refuses_registration: false,
            loses_create_acks: Cell::new(0),
            fetches: Cell::new(0),
            leased: Cell::new(0),
        }
    }

    async fn travel<T>(&self, call: impl Future<Output = T>) -> T {
        travelling(&*self.environment, self.distance_ms, call).await
    }
}

/// Lets a call travel for so long each way, so that a caller can be cut off before and after its effect.
async fn travelling<T>(environment: &dyn Environment, distance_ms: u64, call: impl Future<Output = T>) -> T {
    if distance_ms == 0 {
        return call.await;
    }
    environment.sleep_ms(distance_ms).await;
    let answer = call.await;
    environment.sleep_ms(distance_ms).await;
    answer
}

#[async_trait(?Send)]
impl Store for FaultyStore {
    async fn create_table(&self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure> {
        let created = self.travel(self.inner.create_table(path, schema)).await;
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
        self.travel(self.inner.table(path)).await
    }

    async fn tables(&self) -> Result<Vec<StoreTable>, Failure> {
        self.travel(self.inner.tables()).await
    }

    async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        self.inner.alter_options(path, set, reset).await
    }

    async fn add_columns(&self, path: &TablePath, columns: &[Column]) -> Result<(), Failure> {
        self.inner.add_columns(path, columns).await
    }

    async fn begin_load(&self, table_id: TableId, source: LoadSource) -> Result<LoadBegun, Failure> {
        self.inner.begin_load(table_id, source).await
    }

    async fn stage_load(
        &self,
        table_id: TableId,
        load_id: u64,
        bucket: &BucketId,
        rows: Vec<Row>,
    ) -> Result<(), Failure> {
        self.inner.stage_load(table_id, load_id, bucket, rows).await
    }

    async fn publish_load(&self, table_id: TableId, load_id: u64) -> Result<TieredOffsets, Failure> {
        self.inner.publish_load(table_id, load_id).await
    }

    async fn register_source_snapshot(&self, table_id: TableId, snapshot: LakeSnapshot) -> Result<(), Failure> {
        self.inner.register_source_snapshot(table_id, snapshot).await
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
        self.travel(async {
            self.fetches.set(self.fetches.get() + 1);
            self.inner.fetch_log(table_id, bucket, start_offset_inclusive, end_offset_exclusive).await
        })
        .await
    }

    async fn bucket_offsets(&self, table_id: TableId) -> Result<Vec<BucketOffsets>, Failure> {
        self.travel(self.inner.bucket_offsets(table_id)).await
    }

    async fn lookup(&self, table_id: TableId, bucket: &BucketId, key: &Row) -> Result<Option<Row>, Failure> {
        self.inner.lookup(table_id, bucket, key).await
    }

    async fn take_key_snapshot(&self, table_id: TableId, bucket: &BucketId) -> Result<KeySnapshot, Failure> {
        let taken = self.inner.take_key_snapshot(table_id, bucket).await?;
        self.leased.set(self.leased.get() + 1);
        Ok(taken)
    }

    async fn read_key_snapshot(
        &self,
        table_id: TableId,
        snapshot_id: u64,
        rows_read: u64,
        max_rows: u64,
    ) -> Result<KeyRows, Failure> {
        self.environment.sleep_ms(self.fetch_ms).await;
        self.inner.read_key_snapshot(table_id, snapshot_id, rows_read, max_rows).await
    }

    async fn release_key_snapshot(&self, table_id: TableId, snapshot_id: u64) -> Result<(), Failure> {
        self.leased.set(self.leased.get() - 1);
        self.inner.release_key_snapshot(table_id, snapshot_id).await
    }

    async fn register_lake_snapshot(&self, table_id: TableId, registration: LakeRegistration) -> Result<(), Failure> {
        if self.refuses_registration {
            return Err(Failure::definite(FailureCode::Unavailable, "the store is down"));
        }
        self.travel(self.inner.register_lake_snapshot(table_id, registration)).await
    }

    async fn registered_snapshots(&self, table_id: TableId) -> Result<RegisteredSnapshots, Failure> {
        self.travel(self.inner.registered_snapshots(table_id)).await
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

/// An object store at a distance.
pub struct DistantObjects {
    pub inner: Rc<dyn ObjectStore>,
    pub environment: Rc<dyn Environment>,
    /// Every call takes so long to arrive, and its answer as long to come back.
    pub distance_ms: u64,
}

impl DistantObjects {
    async fn travel<T>(&self, call: impl Future<Output = T>) -> T {
        travelling(&*self.environment, self.distance_ms, call).await
    }
}

#[async_trait(?Send)]
impl ObjectStore for DistantObjects {
    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        self.travel(self.inner.get(path)).await
    }

    async fn exists(&self, path: &str) -> Result<bool, Failure> {
        self.travel(self.inner.exists(path)).await
    }

    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Failure> {
        self.travel(self.inner.put(path, bytes)).await
    }

    async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool, Failure> {
        self.travel(self.inner.put_if_absent(path, bytes)).await
    }

    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
        self.travel(self.inner.list(directory)).await
    }

    async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.travel(self.inner.delete(path)).await
    }

    async fn rename_directory(&self, from: &str, to: &str) -> Result<(), Failure> {
        self.travel(self.inner.rename_directory(from, to)).await
    }
}
