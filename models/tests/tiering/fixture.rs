//! A store and a lake in memory, under tokio's paused clock.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use models::config::{CoordinatorConfig, StoreConfig, WorkerConfig};
use models::contract::{
    AppendRequest, BucketId, Coordinator, Environment, Filter, Mutation, ObjectStore, Row, Store, StoreTable,
    TIERING_COMMIT_USER, TablePath, TableSchema, TieredOffsets, Value,
};
use models::defects::{Defect, Defects};
use models::paimon::object_stores::MemoryObjectStore;
use models::paimon::{FilesystemCatalog, LakeAccess, PaimonTable, Snapshot};
use models::store::InMemoryStore;
use models::tiering::{TieringCoordinator, offsets_of};

/// A round reads for so long at most.
pub const MAX_ROUND_MS: u64 = 1_000;
/// A busy worker's sign of life.
pub const HEARTBEAT_INTERVAL_MS: u64 = 50;
/// A holder that is silent for so long has lost its table.
pub const HEARTBEAT_TIMEOUT_MS: u64 = 300;
/// A table is due so long after its last round began.
pub const FRESHNESS_MS: u64 = 500;
/// How often the coordinator looks.
pub const CHECK_INTERVAL_MS: u64 = 10;

/// Tokio's clock; luck is a hash of what it is for.
struct PausedClock(tokio::time::Instant);

#[async_trait(?Send)]
impl Environment for PausedClock {
    fn now_ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }

    async fn sleep_ms(&self, duration_ms: u64) {
        tokio::time::sleep(Duration::from_millis(duration_ms)).await;
    }

    fn draw(&self, site: &str, subject: &str, occurrence: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64(format!("{site}\n{subject}\n{occurrence}").as_bytes())
    }
}

/// The parts around tiering.
pub struct World {
    pub environment: Rc<dyn Environment>,
    pub objects: MemoryObjectStore,
    pub lake: LakeAccess,
    pub store: Rc<InMemoryStore>,
    pub coordinator: Rc<TieringCoordinator>,
    next_batch: Cell<u64>,
}

impl World {
    pub fn new() -> Self {
        Self::with(Defects::none())
    }

    /// With a coordinator that has these bugs.
    pub fn with(defects: Defects) -> Self {
        let environment: Rc<dyn Environment> = Rc::new(PausedClock(tokio::time::Instant::now()));
        let objects = MemoryObjectStore::new();
        let lake = lake_of(Rc::new(objects.clone()), &environment);
        let config = StoreConfig { sync_ms: 1, log_ttl_ms: None, retention_interval_ms: 1_000 };
        let store = Rc::new(InMemoryStore::new(environment.clone(), config, Defects::none()));
        let coordinator = Rc::new(coordinator_with(store.clone(), lake.clone(), &environment, defects));
        Self { environment, objects, lake, store, coordinator, next_batch: Cell::new(0) }
    }

    /// Creates `db.t` through the coordinator.
    pub async fn create(&self, schema: &TableSchema) -> StoreTable {
        self.coordinator.create_table(&path(), schema).await.unwrap()
    }

    /// Writes one batch to one bucket.
    pub async fn append_to(&self, table: &StoreTable, bucket: BucketId, mutations: Vec<Mutation>) {
        let batch_sequence = 0;
        // Each batch comes from a writer of its own, so that batches of several buckets need no counters.
        let writer_id = self.next_batch.replace(self.next_batch.get() + 1);
        let table_id = table.table_id;
        self.store.append(AppendRequest { table_id, bucket, mutations, writer_id, batch_sequence }).await.unwrap();
    }

    /// Writes each row, as a batch of its own, to the bucket that it belongs to.
    pub async fn put(&self, table: &StoreTable, rows: &[Row]) {
        let lake_table = self.lake_table().await;
        for row in rows {
            self.append_to(table, lake_table.bucket_of(row), vec![Mutation::Put(row.clone())]).await;
        }
    }

    pub async fn lake_table(&self) -> PaimonTable {
        PaimonTable::open(&self.lake, &path()).await.unwrap()
    }

    /// The newest snapshot; there must be one.
    pub async fn newest(&self) -> Snapshot {
        self.lake_table().await.latest_snapshot().await.unwrap().expect("the lake has a snapshot")
    }

    /// The number of snapshots.
    pub async fn snapshots(&self) -> u64 {
        self.lake_table().await.latest_snapshot().await.unwrap().map_or(0, |snapshot| snapshot.id)
    }

    /// All rows of the lake table, sorted.
    pub async fn lake_rows(&self) -> Vec<Row> {
        let table = self.lake_table().await;
        let Some(newest) = table.latest_snapshot().await.unwrap() else { return Vec::new() };
        let mut rows: Vec<Row> = table.scan(&newest, &Filter::new()).await.unwrap().into_values().flatten().collect();
        rows.sort();
        rows
    }

    /// The offsets that the newest tiering snapshot carries.
    pub async fn lake_offsets(&self) -> TieredOffsets {
        let table = self.lake_table().await;
        let newest = table.newest_snapshot_of_user(&self.newest().await, TIERING_COMMIT_USER).await.unwrap().unwrap();
        offsets_of(&newest, table.schema()).unwrap().unwrap().1
    }

    /// The log end of every bucket.
    pub async fn log_ends(&self, table: &StoreTable) -> TieredOffsets {
        let offsets = self.store.bucket_offsets(table.table_id).await.unwrap();
        offsets.into_iter().map(|it| (it.bucket, it.log_end_offset_exclusive)).collect()
    }

    /// What the store has registered: snapshot id and offsets.
    pub async fn registered(&self, table: &StoreTable) -> Option<(u64, TieredOffsets)> {
        let registered = self.store.registered_snapshots(table.table_id).await.unwrap().tiered;
        registered.map(|snapshot| (snapshot.snapshot_id, snapshot.offsets))
    }

    /// The number of data files in the object store, live or not.
    pub fn data_files(&self) -> usize {
        self.objects.snapshot_all().keys().filter(|path| path.contains("/bucket-")).count()
    }
}

/// A lake on these objects.
pub fn lake_of(objects: Rc<dyn ObjectStore>, environment: &Rc<dyn Environment>) -> LakeAccess {
    LakeAccess { objects, environment: environment.clone(), defects: Defects::none() }
}

/// A coordinator on this store and lake.
pub fn coordinator_of(store: Rc<dyn Store>, lake: LakeAccess, environment: &Rc<dyn Environment>) -> TieringCoordinator {
    coordinator_with(store, lake, environment, Defects::none())
}

fn coordinator_with(
    store: Rc<dyn Store>,
    lake: LakeAccess,
    environment: &Rc<dyn Environment>,
    defects: Defects,
) -> TieringCoordinator {
    let config = CoordinatorConfig {
        freshness_ms: FRESHNESS_MS,
        heartbeat_timeout_ms: HEARTBEAT_TIMEOUT_MS,
        check_interval_ms: CHECK_INTERVAL_MS,
    };
    TieringCoordinator::new(store, Rc::new(FilesystemCatalog::new(lake)), environment.clone(), config, defects)
}

/// A worker's timings.
pub fn worker_config() -> WorkerConfig {
    WorkerConfig {
        poll_interval_ms: 20,
        heartbeat_interval_ms: HEARTBEAT_INTERVAL_MS,
        max_round_ms: MAX_ROUND_MS,
        fetch_max_records: 2,
    }
}

/// `db.t`.
pub fn path() -> TablePath {
    TablePath::new("db", "t")
}

fn schema(text: &str) -> TableSchema {
    serde_json::from_str(text).unwrap()
}

/// An append table of (id, v) with two buckets.
pub fn append_schema() -> TableSchema {
    schema(
        r#"{"columns":[{"name":"id","type":"BIGINT"},{"name":"v","type":"BIGINT"}],
            "options":{"bucket":"2","bucket-key":"id"}}"#,
    )
}

/// A key table of (id, v) with one bucket.
pub fn key_schema() -> TableSchema {
    schema(
        r#"{"columns":[{"name":"id","type":"BIGINT","nullable":false},{"name":"v","type":"BIGINT"}],
            "primary_key":["id"],"options":{"bucket":"1"}}"#,
    )
}

/// An append table of (id, day) with one bucket a day.
pub fn partitioned_schema() -> TableSchema {
    schema(
        r#"{"columns":[{"name":"id","type":"BIGINT"},{"name":"day","type":"DATE"}],"partition_keys":["day"],
            "options":{"bucket":"1","bucket-key":"id"}}"#,
    )
}

/// A row of the first two tables.
pub fn row(id: i64, v: i64) -> Row {
    Row::new(vec![Value::Int(id), Value::Int(v)])
}

/// Rows (id, id) for these ids.
pub fn rows(ids: std::ops::Range<i64>) -> Vec<Row> {
    ids.map(|id| row(id, id)).collect()
}

/// The only bucket of the key table.
pub fn bucket() -> BucketId {
    BucketId::unpartitioned(0)
}

/// Writes or replaces a row.
pub fn put(id: i64, v: i64) -> Mutation {
    Mutation::Put(row(id, v))
}

/// Deletes a key.
pub fn delete(id: i64) -> Mutation {
    Mutation::Delete(Row::new(vec![Value::Int(id)]))
}

/// Exactly this bug.
pub fn only(defect: Defect) -> Defects {
    [defect].into_iter().collect()
}

/// No options.
pub fn no_options() -> BTreeMap<String, String> {
    BTreeMap::new()
}

/// Runs it for so long at most.
pub async fn run_for<T>(duration_ms: u64, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(duration_ms), future).await.ok()
}
