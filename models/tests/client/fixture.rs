//! A small world around one client: a store that can be told to fail, a lake in memory, tiering rounds by hand.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use models::config::{CatalogConfig, ClientConfig, STORE_IDENTIFIER, StoreConfig};
use models::contract::{
    AppendAck, AppendRequest, BucketId, BucketOffsets, Column, ColumnChange, Coordinator, Environment, Failure,
    FailureCode, FetchedLog, KeyRows, KeySnapshot, LAKESTREAM_ENABLED, LakeRegistration, LakeSnapshot, LoadBegun,
    LoadSource, Output, RegisteredSnapshots, RoundEnd, Row, RowKind, RowSet, Statement, Store, StoreTable,
    TIERING_COMMIT_USER, TableId, TablePath, TableSchema, TieredOffsets, TieringAssignment,
};
use models::contract::{Host, OFFSETS_PROPERTY};
use models::defects::{Defect, Defects};
use models::paimon::object_stores::MemoryObjectStore;
use models::paimon::{
    Catalog, CatalogHooks, CommitMode, CommitRequest, FilesystemCatalog, LakeAccess, PaimonTable, Precondition,
};
use models::store::InMemoryStore;
use models::system::{Client, ClientParts, ReferenceStoreFactory, ReferenceSystem, StoreFactory};
use models::tiering::{encode_offsets, offsets_of};
use serde_json::json;

/// Log older than this may go, once it is tiered.
pub const LOG_TTL_MS: u64 = 1_000;
/// How often a client tries again.
pub const RETRIES: u32 = 2;

/// Tokio's clock, and luck that is a hash of what it is for.
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
        let mut hasher = DefaultHasher::new();
        (site, subject, occurrence).hash(&mut hasher);
        hasher.finish()
    }
}

/// What happens to one append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendFault {
    /// None.
    Works,
    /// The store is down: refused before any effect.
    Refused,
    /// The request is lost on its way.
    RequestLost,
    /// It takes effect and the answer is lost.
    AckLost,
}

/// The store, as a client reaches it: it counts calls, and fails as it is told.
pub struct FaultyStore {
    inner: Rc<InMemoryStore>,
    /// How many calls of any kind came.
    pub calls: Cell<u64>,
    /// What happens to the next appends, in order; all others work.
    pub append_faults: RefCell<VecDeque<AppendFault>>,
    /// The batches that came, whatever became of them: bucket and sequence.
    pub appends: RefCell<Vec<(u32, u64)>>,
}

impl FaultyStore {
    fn reached(&self) -> &InMemoryStore {
        self.calls.set(self.calls.get() + 1);
        &self.inner
    }
}

#[async_trait(?Send)]
impl Store for FaultyStore {
    async fn create_table(&self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure> {
        self.reached().create_table(path, schema).await
    }

    async fn drop_table(&self, path: &TablePath) -> Result<(), Failure> {
        self.reached().drop_table(path).await
    }

    async fn table(&self, path: &TablePath) -> Result<StoreTable, Failure> {
        self.reached().table(path).await
    }

    async fn tables(&self) -> Result<Vec<StoreTable>, Failure> {
        self.reached().tables().await
    }

    async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        self.reached().alter_options(path, set, reset).await
    }

    async fn add_columns(&self, path: &TablePath, columns: &[Column]) -> Result<(), Failure> {
        self.reached().add_columns(path, columns).await
    }

    async fn begin_load(&self, table_id: TableId, source: LoadSource) -> Result<LoadBegun, Failure> {
        self.reached().begin_load(table_id, source).await
    }

    async fn stage_load(
        &self,
        table_id: TableId,
        load_id: u64,
        bucket: &BucketId,
        rows: Vec<Row>,
    ) -> Result<(), Failure> {
        self.reached().stage_load(table_id, load_id, bucket, rows).await
    }

    async fn publish_load(&self, table_id: TableId, load_id: u64) -> Result<TieredOffsets, Failure> {
        self.reached().publish_load(table_id, load_id).await
    }

    async fn register_source_snapshot(&self, table_id: TableId, snapshot: LakeSnapshot) -> Result<(), Failure> {
        self.reached().register_source_snapshot(table_id, snapshot).await
    }

    async fn append(&self, request: AppendRequest) -> Result<AppendAck, Failure> {
        self.appends.borrow_mut().push((request.bucket.bucket, request.batch_sequence));
        let fault = self.append_faults.borrow_mut().pop_front().unwrap_or(AppendFault::Works);
        match fault {
            AppendFault::Works => self.reached().append(request).await,
            AppendFault::Refused => Err(Failure::definite(FailureCode::Unavailable, "the store is down")),
            AppendFault::RequestLost => Err(Failure::indefinite(FailureCode::Timeout, "no answer")),
            AppendFault::AckLost => {
                self.reached().append(request).await?;
                Err(Failure::indefinite(FailureCode::Timeout, "no answer"))
            }
        }
    }

    async fn fetch_log(
        &self,
        table_id: TableId,
        bucket: &BucketId,
        start_offset_inclusive: u64,
        end_offset_exclusive: u64,
    ) -> Result<FetchedLog, Failure> {
        self.reached().fetch_log(table_id, bucket, start_offset_inclusive, end_offset_exclusive).await
    }

    async fn bucket_offsets(&self, table_id: TableId) -> Result<Vec<BucketOffsets>, Failure> {
        self.reached().bucket_offsets(table_id).await
    }

    async fn lookup(&self, table_id: TableId, bucket: &BucketId, key: &Row) -> Result<Option<Row>, Failure> {
        self.reached().lookup(table_id, bucket, key).await
    }

    async fn take_key_snapshot(&self, table_id: TableId, bucket: &BucketId) -> Result<KeySnapshot, Failure> {
        self.reached().take_key_snapshot(table_id, bucket).await
    }

    async fn read_key_snapshot(
        &self,
        table_id: TableId,
        snapshot_id: u64,
        rows_read: u64,
        max_rows: u64,
    ) -> Result<KeyRows, Failure> {
        self.reached().read_key_snapshot(table_id, snapshot_id, rows_read, max_rows).await
    }

    async fn release_key_snapshot(&self, table_id: TableId, snapshot_id: u64) -> Result<(), Failure> {
        self.reached().release_key_snapshot(table_id, snapshot_id).await
    }

    async fn register_lake_snapshot(&self, table_id: TableId, registration: LakeRegistration) -> Result<(), Failure> {
        self.reached().register_lake_snapshot(table_id, registration).await
    }

    async fn registered_snapshots(&self, table_id: TableId) -> Result<RegisteredSnapshots, Failure> {
        self.reached().registered_snapshots(table_id).await
    }
}

/// The store's DDL, without rounds: tests tier by hand.
struct HandTiering {
    catalog: FilesystemCatalog,
    store: Rc<InMemoryStore>,
}

#[async_trait(?Send)]
impl Coordinator for HandTiering {
    async fn create_table(&self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure> {
        let mut schema = schema.clone();
        schema.options.insert(LAKESTREAM_ENABLED.to_owned(), "true".to_owned());
        self.catalog.create_table(path, &schema, true).await?;
        self.store.create_table(path, &schema).await
    }

    async fn drop_table(&self, path: &TablePath) -> Result<(), Failure> {
        self.store.drop_table(path).await
    }

    async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        self.store.alter_options(path, set, reset).await
    }

    async fn create_table_on_lake(
        &self,
        path: &TablePath,
        _properties: &BTreeMap<String, String>,
    ) -> Result<StoreTable, Failure> {
        self.store.create_table(path, self.catalog.table(path).await?.schema()).await
    }

    async fn alter_columns(&self, _path: &TablePath, _changes: &[ColumnChange]) -> Result<(), Failure> {
        Err(Failure::definite(FailureCode::Unsupported, "columns are changed with the real coordinator"))
    }

    async fn request_table(&self, _worker: &str) -> Result<Option<TieringAssignment>, Failure> {
        Ok(None)
    }

    async fn heartbeat(&self, _table_id: TableId, _epoch: u64) -> Result<(), Failure> {
        Err(Failure::rejected("nobody holds a table"))
    }

    async fn end_round(&self, _table_id: TableId, _epoch: u64, _end: RoundEnd) -> Result<(), Failure> {
        Err(Failure::rejected("nobody holds a table"))
    }
}

/// The reference store as catalogs find it: it counts, remembers what it was given, and can fail to close.
pub struct CountingFactory {
    reference: ReferenceStoreFactory,
    /// What each opening was given, whether it succeeded or not.
    pub given: RefCell<Vec<BTreeMap<String, String>>>,
    /// How many connections were closed.
    pub closed: Cell<u64>,
    /// Whether closing fails.
    pub close_fails: Cell<bool>,
}

impl StoreFactory for CountingFactory {
    fn identifier(&self) -> &str {
        STORE_IDENTIFIER
    }

    fn open(&self, options: &BTreeMap<String, String>) -> Result<Rc<dyn Store>, Failure> {
        self.given.borrow_mut().push(options.clone());
        self.reference.open(options)
    }

    fn close(&self, store: Rc<dyn Store>) -> Result<(), Failure> {
        self.closed.set(self.closed.get() + 1);
        if self.close_fails.get() {
            return Err(Failure::internal("the store's side does not close"));
        }
        self.reference.close(store)
    }
}

/// What every client of a world shares.
#[derive(Clone)]
struct Surroundings {
    store: Rc<FaultyStore>,
    factory: Rc<CountingFactory>,
    catalog_options: BTreeMap<String, String>,
    coordinator: Rc<dyn Coordinator>,
    lake: LakeAccess,
}

impl Surroundings {
    fn client(&self, session: &str, incarnation: u64) -> Rc<Client> {
        Rc::new(Client::new(ClientParts {
            session: session.to_owned(),
            incarnation,
            catalog_options: self.catalog_options.clone(),
            store_factories: vec![self.factory.clone()],
            store: self.store.clone(),
            coordinator: self.coordinator.clone(),
            lake: self.lake.clone(),
            catalog: Rc::new(FilesystemCatalog::new(self.lake.clone())),
            config: ClientConfig { retries: RETRIES, retry_wait_ms: 10 },
        }))
    }
}

/// One client and its surroundings.
pub struct World {
    /// The client under test.
    pub client: Rc<Client>,
    /// The store as the client reaches it.
    pub store: Rc<FaultyStore>,
    /// The lake, for tests that look at it themselves.
    pub lake: LakeAccess,
    /// The store as the client's catalog finds it.
    pub factory: Rc<CountingFactory>,
    surroundings: Surroundings,
    operations: Cell<u64>,
    rounds: Cell<u64>,
}

impl World {
    /// The reference.
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// The reference with these planted bugs.
    pub fn with(defects: &[Defect]) -> Self {
        Self::with_catalog(defects, CatalogConfig::default().options)
    }

    /// The reference with these planted bugs and these options of its catalog.
    pub fn with_catalog(defects: &[Defect], catalog_options: BTreeMap<String, String>) -> Self {
        let environment: Rc<dyn Environment> = Rc::new(PausedClock(tokio::time::Instant::now()));
        let defects: Defects = defects.iter().copied().collect();
        let lake = LakeAccess {
            objects: Rc::new(MemoryObjectStore::new()),
            environment: environment.clone(),
            defects: defects.clone(),
        };
        let config = StoreConfig { sync_ms: 1, log_ttl_ms: Some(LOG_TTL_MS), retention_interval_ms: 100 };
        let inner = Rc::new(InMemoryStore::new(environment, config, defects));
        let store = Rc::new(FaultyStore {
            inner: inner.clone(),
            calls: Cell::new(0),
            append_faults: RefCell::default(),
            appends: RefCell::default(),
        });
        let coordinator: Rc<dyn Coordinator> =
            Rc::new(HandTiering { catalog: FilesystemCatalog::new(lake.clone()), store: inner });
        let factory = Rc::new(CountingFactory {
            reference: ReferenceStoreFactory::new(store.clone()),
            given: RefCell::default(),
            closed: Cell::new(0),
            close_fails: Cell::new(false),
        });
        let surroundings = Surroundings {
            store: store.clone(),
            factory: factory.clone(),
            catalog_options,
            coordinator,
            lake: lake.clone(),
        };
        Self {
            client: surroundings.client("w1", 0),
            store,
            lake,
            factory,
            surroundings,
            operations: Cell::new(0),
            rounds: Cell::new(0),
        }
    }

    /// A system whose sessions share this world.
    pub fn system(&self) -> ReferenceSystem {
        let surroundings = self.surroundings.clone();
        ReferenceSystem::new(move |session, incarnation| surroundings.client(session, incarnation))
    }

    /// Executes a statement as the adapter protocol writes it.
    pub async fn execute(&self, statement: serde_json::Value) -> Result<Output, Failure> {
        let operation = self.operations.replace(self.operations.get() + 1);
        let statement: Statement = serde_json::from_value(statement).unwrap();
        self.client.execute(&format!("operation-{operation}"), statement).await
    }

    /// `db.t` as a lake-stream key table of (id, v) with two buckets.
    pub async fn key_table(&self) {
        self.create("store", json!(["id"])).await;
    }

    /// `db.t` as a lake-stream append table of (id, v) with two buckets by id.
    pub async fn append_table(&self) {
        self.create("store", json!([])).await;
    }

    /// `db.t` as a key table outside the mode.
    pub async fn plain_key_table(&self) {
        self.create("lake", json!(["id"])).await;
    }

    /// `db.t` as a lake-stream key table of (id, v, d), partitioned by d.
    pub async fn partitioned_table(&self, side: &str) {
        let columns = json!([
            {"name": "id", "type": "BIGINT", "nullable": false}, {"name": "v", "type": "BIGINT"},
            {"name": "d", "type": "STRING", "nullable": false},
        ]);
        let statement = json!({"create_table": {
            "table": "db.t", "columns": columns, "primary_key": ["id", "d"], "partition_keys": ["d"],
            "options": {"bucket": "1"}, "side": side,
        }});
        assert_eq!(self.execute(statement).await, Ok(Output::Done));
    }

    async fn create(&self, side: &str, primary_key: serde_json::Value) {
        let columns = json!([{"name": "id", "type": "BIGINT", "nullable": false}, {"name": "v", "type": "BIGINT"}]);
        let options = json!({"bucket": "2", "bucket-key": "id"});
        let statement = json!({"create_table": {
            "table": "db.t", "columns": columns, "primary_key": primary_key, "options": options, "side": side,
        }});
        assert_eq!(self.execute(statement).await, Ok(Output::Done));
    }

    /// INSERT INTO db.t.
    pub async fn insert(&self, rows: &[(i64, i64)]) -> Result<Output, Failure> {
        self.execute(json!({"insert": {"table": "db.t", "rows": objects(rows)}})).await
    }

    /// DELETE from db.t.
    pub async fn delete(&self, id: i64) -> Result<Output, Failure> {
        self.execute(json!({"delete": {"table": "db.t", "keys": [{"id": id}]}})).await
    }

    /// SELECT, sorted.
    pub async fn select(&self, table: &str) -> Vec<(i64, i64)> {
        pairs(self.execute(json!({"select": {"table": table}})).await.unwrap())
    }

    /// The row of a key, by point lookup.
    pub async fn lookup(&self, table: &str, id: i64) -> Vec<(i64, i64)> {
        pairs(self.execute(json!({"lookup": {"table": table, "key": {"id": id}}})).await.unwrap())
    }

    /// The rows of a key, by a scan with a filter.
    pub async fn filter(&self, table: &str, column: &str, value: i64) -> Vec<(i64, i64)> {
        pairs(self.execute(json!({"select": {"table": table, "filter": {column: value}}})).await.unwrap())
    }

    /// The table `db.t` on the lake.
    pub async fn lake_table(&self) -> PaimonTable {
        PaimonTable::open(&self.lake, &TablePath::new("db", "t")).await.unwrap()
    }

    /// The id of the newest lake snapshot of `db.t`; 0 if there is none.
    pub async fn snapshot_id(&self) -> u64 {
        self.lake_table().await.latest_snapshot().await.unwrap().map_or(0, |snapshot| snapshot.id)
    }

    /// One tiering round: brings at most `max_offsets` offsets of each bucket's log into the lake, and registers it if
    /// asked to.
    pub async fn tier(&self, max_offsets: u64, register: bool) {
        let table = self.lake_table().await;
        let store = &self.store.inner;
        let store_table = store.table(&TablePath::new("db", "t")).await.unwrap();
        let table_id = store_table.table_id;
        let base = table.latest_snapshot().await.unwrap();
        let mut offsets = TieredOffsets::new();
        if let Some(base) = &base
            && let Some(tiering) = table.newest_snapshot_of_user(base, TIERING_COMMIT_USER).await.unwrap()
        {
            offsets = offsets_of(&tiering, table.schema()).unwrap().unwrap().1;
        }
        let mut changes: BTreeMap<BucketId, Vec<(RowKind, Row)>> = BTreeMap::new();
        for bucket in store.bucket_offsets(table_id).await.unwrap() {
            let start = offsets.get(&bucket.bucket).copied().unwrap_or(0);
            let end = bucket.log_end_offset_exclusive.min(start + max_offsets);
            let fetched = store.fetch_log(table_id, &bucket.bucket, start, end).await.unwrap();
            let records = fetched.records.into_iter().map(|record| (record.kind, record.row)).collect();
            changes.insert(bucket.bucket.clone(), records);
            offsets.insert(bucket.bucket, end);
        }
        let round = self.rounds.replace(self.rounds.get() + 1);
        let subject = format!("db.t/round-{round}");
        let property = encode_offsets(table_id, &offsets, table.schema()).unwrap();
        let committable = table.write(&subject, base.as_ref(), &changes).await.unwrap();
        let request = CommitRequest {
            subject,
            user: TIERING_COMMIT_USER.to_owned(),
            identifier: round,
            mode: CommitMode::Append,
            properties: BTreeMap::from([(OFFSETS_PROPERTY.to_owned(), property)]),
            committable,
            precondition: Precondition::None,
        };
        let snapshot_id = table.commit(request).await.unwrap().snapshot_id;
        if register {
            store.register_lake_snapshot(table_id, LakeSnapshot { snapshot_id, offsets }.into()).await.unwrap();
        }
    }

    /// Lets the log's retention pass: what is tiered, registered and old enough goes.
    pub async fn retention(&self) {
        let _ = tokio::time::timeout(Duration::from_millis(2 * LOG_TTL_MS), self.store.inner.run()).await;
    }

    /// The rows of the store's log, from the first offset that is left.
    pub async fn log_length(&self) -> u64 {
        let store = &self.store.inner;
        let table = store.table(&TablePath::new("db", "t")).await.unwrap();
        let offsets = store.bucket_offsets(table.table_id).await.unwrap();
        offsets.iter().map(|bucket| bucket.log_end_offset_exclusive - bucket.log_start_offset_inclusive).sum()
    }
}

/// Rows as the adapter protocol writes them.
pub fn objects(rows: &[(i64, i64)]) -> serde_json::Value {
    rows.iter().map(|(id, v)| json!({"id": id, "v": v})).collect()
}

/// The rows of an answer, sorted.
fn pairs(output: Output) -> Vec<(i64, i64)> {
    let rows: RowSet = match output {
        Output::Rows { rows, .. } | Output::Found { row: rows } => rows,
        other => panic!("expected rows, found {other:?}"),
    };
    let mut pairs: Vec<(i64, i64)> =
        rows.rows.iter().map(|row| (row[0].as_int().unwrap(), row[1].as_int().unwrap())).collect();
    pairs.sort_unstable();
    pairs
}

/// The answer of a write that made no lake snapshot.
pub fn acked(rows: u64) -> Result<Output, Failure> {
    Ok(Output::Acked { acked: rows, snapshot_id: None })
}
