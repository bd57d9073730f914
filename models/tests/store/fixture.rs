//! A store on tokio's paused clock, and short words for its tests.

use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use models::config::StoreConfig;
use models::contract::{
    AppendAck, AppendRequest, BucketId, Environment, Failure, LakeSnapshot, Mutation, Row, RowKind, Store, TableId,
    TablePath, TableSchema, Value,
};
use models::defects::{Defect, Defects};
use models::store::InMemoryStore;

/// From append to durable.
pub const SYNC_MS: u64 = 5;
/// Log older than this may go.
pub const LOG_TTL_MS: u64 = 1_000;
/// How often retention looks.
pub const RETENTION_INTERVAL_MS: u64 = 100;

/// Tokio's clock, without luck.
struct PausedClock(tokio::time::Instant);

#[async_trait(?Send)]
impl Environment for PausedClock {
    fn now_ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }

    async fn sleep_ms(&self, duration_ms: u64) {
        tokio::time::sleep(Duration::from_millis(duration_ms)).await;
    }

    fn draw(&self, _site: &str, _subject: &str, _occurrence: u64) -> u64 {
        0
    }
}

/// A store with these planted bugs.
pub fn store_with(defects: &[Defect]) -> Rc<InMemoryStore> {
    let config =
        StoreConfig { sync_ms: SYNC_MS, log_ttl_ms: Some(LOG_TTL_MS), retention_interval_ms: RETENTION_INTERVAL_MS };
    let clock = Rc::new(PausedClock(tokio::time::Instant::now()));
    Rc::new(InMemoryStore::new(clock, config, defects.iter().copied().collect::<Defects>()))
}

/// The reference.
pub fn store() -> Rc<InMemoryStore> {
    store_with(&[])
}

/// `db.t`.
pub fn path() -> TablePath {
    TablePath::new("db", "t")
}

/// `db.t` as a key table of (id, v) with two buckets.
pub async fn key_table(store: &InMemoryStore) -> TableId {
    create(
        store,
        r#"{"columns":[{"name":"id","type":"BIGINT","nullable":false},{"name":"v","type":"BIGINT"}],
            "primary_key":["id"],"options":{"bucket":"2"}}"#,
    )
    .await
}

/// `db.t` as an append table of (id, v) with two buckets.
pub async fn append_table(store: &InMemoryStore) -> TableId {
    create(
        store,
        r#"{"columns":[{"name":"id","type":"BIGINT"},{"name":"v","type":"BIGINT"}],"options":{"bucket":"2"}}"#,
    )
    .await
}

/// `db.t` with this schema.
pub async fn create(store: &InMemoryStore, schema: &str) -> TableId {
    let schema: TableSchema = serde_json::from_str(schema).unwrap();
    store.create_table(&path(), &schema).await.unwrap().table_id
}

/// The bucket that most tests write to.
pub fn bucket() -> BucketId {
    BucketId::unpartitioned(0)
}

/// A row of either table.
pub fn row(id: i64, v: i64) -> Row {
    Row::new(vec![Value::Int(id), Value::Int(v)])
}

/// A key of the key table.
pub fn key(id: i64) -> Row {
    Row::new(vec![Value::Int(id)])
}

/// Writes a row.
pub fn put(id: i64, v: i64) -> Mutation {
    Mutation::Put(row(id, v))
}

/// Deletes a key.
pub fn delete(id: i64) -> Mutation {
    Mutation::Delete(key(id))
}

/// Writer 1's batch with this number, to [`bucket`].
pub fn batch(table_id: TableId, batch_sequence: u64, mutations: &[Mutation]) -> AppendRequest {
    AppendRequest { table_id, bucket: bucket(), mutations: mutations.to_vec(), writer_id: 1, batch_sequence }
}

/// The answer that names this log end.
pub fn ack(end_offset_exclusive: u64) -> Result<AppendAck, Failure> {
    Ok(AppendAck { end_offset_exclusive })
}

/// Runs it for so long at most; a crash of its host, or a caller that is gone, ends it there.
pub async fn cut_after<T>(duration_ms: u64, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(duration_ms), future).await.ok()
}

/// The whole log of [`bucket`] that is still there: offset, kind and row.
pub async fn log(store: &InMemoryStore, table_id: TableId) -> Vec<(u64, RowKind, Row)> {
    let offsets = store.bucket_offsets(table_id).await.unwrap();
    let start = offsets.iter().find(|offsets| offsets.bucket == bucket());
    let start = start.map_or(0, |offsets| offsets.log_start_offset_inclusive);
    let fetched = store.fetch_log(table_id, &bucket(), start, u64::MAX).await.unwrap();
    fetched.records.into_iter().map(|record| (record.offset, record.kind, record.row)).collect()
}

/// Log start and log end of [`bucket`]; `None` if it was never written.
pub async fn ends(store: &InMemoryStore, table_id: TableId) -> Option<(u64, u64)> {
    let offsets = store.bucket_offsets(table_id).await.unwrap();
    let offsets = offsets.iter().find(|offsets| offsets.bucket == bucket())?;
    Some((offsets.log_start_offset_inclusive, offsets.log_end_offset_exclusive))
}

/// A snapshot that contains buckets up to these offsets.
pub fn snapshot(snapshot_id: u64, offsets: &[(u32, u64)]) -> LakeSnapshot {
    let offsets = offsets.iter().map(|(bucket, offset)| (BucketId::unpartitioned(*bucket), *offset));
    LakeSnapshot { snapshot_id, offsets: offsets.collect() }
}
