//! All parts of the reference on one lake, with a client that can be interrupted after any of its remote calls.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::LocalBoxFuture;
use models::config::{CatalogConfig, ClientConfig, CoordinatorConfig, StoreConfig, WorkerConfig};
use models::contract::{
    AppendAck, AppendRequest, BucketId, BucketOffsets, Column, ColumnChange, Coordinator, Environment, Failure,
    FetchedLog, Host, KeyRows, KeySnapshot, LakeRegistration, LakeSnapshot, LoadBegun, LoadSource, Output,
    RegisteredSnapshots, RoundEnd, Row, Statement, Store, StoreTable, TableId, TablePath, TableSchema, TieredOffsets,
    TieringAssignment, Value,
};
use models::defects::{Defect, Defects};
use models::paimon::object_stores::MemoryObjectStore;
use models::paimon::{Catalog, CatalogHooks, FilesystemCatalog, LakeAccess, PaimonTable};
use models::store::InMemoryStore;
use models::system::{Client, ClientParts, ReferenceStoreFactory};
use models::tiering::{TaskParts, TieringCoordinator, TieringWorker};
use serde_json::{Value as Json, json};

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

/// What happens behind one of the client's remote calls, once its effect is there.
type Interruption = Rc<dyn Fn() -> LocalBoxFuture<'static, ()>>;

/// The client's remote calls, counted.
#[derive(Default)]
pub struct Calls {
    made: Cell<u64>,
    interruption: RefCell<Option<(u64, Interruption)>>,
}

impl Calls {
    async fn passed(&self) {
        self.made.set(self.made.get() + 1);
        let due = self.interruption.borrow().clone().filter(|(at, _)| *at == self.made.get());
        if let Some((_, interruption)) = due {
            interruption().await;
        }
    }
}

/// A part as the client reaches it.
struct Interrupted<T> {
    inner: Rc<T>,
    calls: Rc<Calls>,
}

macro_rules! through {
    ($self:ident, $method:ident($($argument:expr),*)) => {{
        let answer = $self.inner.$method($($argument),*).await;
        $self.calls.passed().await;
        answer
    }};
}

#[async_trait(?Send)]
impl Store for Interrupted<InMemoryStore> {
    async fn create_table(&self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure> {
        through!(self, create_table(path, schema))
    }
    async fn drop_table(&self, path: &TablePath) -> Result<(), Failure> {
        through!(self, drop_table(path))
    }
    async fn table(&self, path: &TablePath) -> Result<StoreTable, Failure> {
        through!(self, table(path))
    }
    async fn tables(&self) -> Result<Vec<StoreTable>, Failure> {
        through!(self, tables())
    }
    async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        through!(self, alter_options(path, set, reset))
    }
    async fn add_columns(&self, path: &TablePath, columns: &[Column]) -> Result<(), Failure> {
        through!(self, add_columns(path, columns))
    }
    async fn append(&self, request: AppendRequest) -> Result<AppendAck, Failure> {
        through!(self, append(request))
    }
    async fn fetch_log(
        &self,
        table_id: TableId,
        bucket: &BucketId,
        start_offset_inclusive: u64,
        end_offset_exclusive: u64,
    ) -> Result<FetchedLog, Failure> {
        through!(self, fetch_log(table_id, bucket, start_offset_inclusive, end_offset_exclusive))
    }
    async fn bucket_offsets(&self, table_id: TableId) -> Result<Vec<BucketOffsets>, Failure> {
        through!(self, bucket_offsets(table_id))
    }
    async fn lookup(&self, table_id: TableId, bucket: &BucketId, key: &Row) -> Result<Option<Row>, Failure> {
        through!(self, lookup(table_id, bucket, key))
    }
    async fn take_key_snapshot(&self, table_id: TableId, bucket: &BucketId) -> Result<KeySnapshot, Failure> {
        through!(self, take_key_snapshot(table_id, bucket))
    }
    async fn read_key_snapshot(
        &self,
        table_id: TableId,
        snapshot_id: u64,
        rows_read: u64,
        max_rows: u64,
    ) -> Result<KeyRows, Failure> {
        through!(self, read_key_snapshot(table_id, snapshot_id, rows_read, max_rows))
    }
    async fn release_key_snapshot(&self, table_id: TableId, snapshot_id: u64) -> Result<(), Failure> {
        through!(self, release_key_snapshot(table_id, snapshot_id))
    }
    async fn register_lake_snapshot(&self, table_id: TableId, registration: LakeRegistration) -> Result<(), Failure> {
        through!(self, register_lake_snapshot(table_id, registration))
    }
    async fn begin_load(&self, table_id: TableId, source: LoadSource) -> Result<LoadBegun, Failure> {
        through!(self, begin_load(table_id, source))
    }
    async fn stage_load(
        &self,
        table_id: TableId,
        load_id: u64,
        bucket: &BucketId,
        rows: Vec<Row>,
    ) -> Result<(), Failure> {
        through!(self, stage_load(table_id, load_id, bucket, rows))
    }
    async fn publish_load(&self, table_id: TableId, load_id: u64) -> Result<TieredOffsets, Failure> {
        through!(self, publish_load(table_id, load_id))
    }
    async fn register_source_snapshot(&self, table_id: TableId, snapshot: LakeSnapshot) -> Result<(), Failure> {
        through!(self, register_source_snapshot(table_id, snapshot))
    }
    async fn registered_snapshots(&self, table_id: TableId) -> Result<RegisteredSnapshots, Failure> {
        through!(self, registered_snapshots(table_id))
    }
}

#[async_trait(?Send)]
impl Coordinator for Interrupted<TieringCoordinator> {
    async fn create_table(&self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure> {
        through!(self, create_table(path, schema))
    }
    async fn drop_table(&self, path: &TablePath) -> Result<(), Failure> {
        through!(self, drop_table(path))
    }
    async fn create_table_on_lake(
        &self,
        path: &TablePath,
        properties: &BTreeMap<String, String>,
    ) -> Result<StoreTable, Failure> {
        through!(self, create_table_on_lake(path, properties))
    }
    async fn alter_columns(&self, path: &TablePath, changes: &[ColumnChange]) -> Result<(), Failure> {
        through!(self, alter_columns(path, changes))
    }
    async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        through!(self, alter_options(path, set, reset))
    }
    async fn request_table(&self, worker: &str) -> Result<Option<TieringAssignment>, Failure> {
        through!(self, request_table(worker))
    }
    async fn heartbeat(&self, table_id: TableId, epoch: u64) -> Result<(), Failure> {
        through!(self, heartbeat(table_id, epoch))
    }
    async fn end_round(&self, table_id: TableId, epoch: u64, end: RoundEnd) -> Result<(), Failure> {
        through!(self, end_round(table_id, epoch, end))
    }
}

/// All parts. Cheap to clone: the parts are shared.
#[derive(Clone)]
pub struct World {
    pub store: Rc<InMemoryStore>,
    pub lake: LakeAccess,
    pub client: Rc<Client>,
    coordinator: Rc<TieringCoordinator>,
    worker: Rc<TieringWorker>,
    calls: Rc<Calls>,
    operations: Rc<Cell<u64>>,
}

impl World {
    /// The reference.
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// The reference with these planted bugs.
    pub fn with(defects: &[Defect]) -> Self {
        let environment: Rc<dyn Environment> = Rc::new(PausedClock(tokio::time::Instant::now()));
        let defects: Defects = defects.iter().copied().collect();
        let objects = Rc::new(MemoryObjectStore::new());
        let lake = LakeAccess { objects, environment: environment.clone(), defects: defects.clone() };
        let config = StoreConfig { sync_ms: 1, log_ttl_ms: None, retention_interval_ms: 1_000 };
        let store = Rc::new(InMemoryStore::new(environment.clone(), config, defects.clone()));
        let config = CoordinatorConfig { freshness_ms: 100, heartbeat_timeout_ms: 500, check_interval_ms: 10 };
        let catalog: Rc<dyn Catalog> = Rc::new(FilesystemCatalog::new(lake.clone()));
        let coordinator =
            TieringCoordinator::new(store.clone(), catalog.clone(), environment.clone(), config, defects.clone());
        let coordinator = Rc::new(coordinator);
        let config = WorkerConfig {
            poll_interval_ms: 10,
            heartbeat_interval_ms: 100,
            max_round_ms: 1_000,
            fetch_max_records: 100,
        };
        let parts = TaskParts { store: store.clone(), lake: lake.clone(), environment, config, defects };
        let worker = TieringWorker::new("tiering-1", coordinator.clone(), &parts, 2);
        let calls = Rc::new(Calls::default());
        let client = Client::new(ClientParts {
            session: "w1".to_owned(),
            incarnation: 0,
            store: Rc::new(Interrupted { inner: store.clone(), calls: calls.clone() }),
            coordinator: Rc::new(Interrupted { inner: coordinator.clone(), calls: calls.clone() }),
            lake: lake.clone(),
            catalog,
            catalog_options: CatalogConfig::default().options,
            store_factories: vec![Rc::new(ReferenceStoreFactory::new(store.clone()))],
            config: ClientConfig { retries: 2, retry_wait_ms: 10 },
        });
        let worker = Rc::new(worker);
        Self { store, lake, client: Rc::new(client), coordinator, worker, calls, operations: Rc::default() }
    }

    /// Executes a statement as the adapter protocol writes it.
    pub async fn execute(&self, statement: Json) -> Result<Output, Failure> {
        let operation = self.operations.replace(self.operations.get() + 1);
        let statement: Statement = serde_json::from_value(statement).unwrap();
        self.client.execute(&format!("operation-{operation}"), statement).await
    }

    /// Executes a statement that must succeed.
    pub async fn run(&self, statement: Json) -> Output {
        self.execute(statement.clone()).await.unwrap_or_else(|failure| panic!("{statement}: {failure}"))
    }

    /// `db.t` on the lake alone: (id, v), two buckets by id.
    pub async fn lake_table(&self, primary_key: Json) {
        let columns = json!([{"name": "id", "type": "BIGINT", "nullable": false}, {"name": "v", "type": "BIGINT"}]);
        let options = json!({"bucket": "2", "bucket-key": "id"});
        let table = json!({"table": "db.t", "columns": columns, "primary_key": primary_key, "options": options});
        self.run(json!({"create_table": table})).await;
    }

    /// INSERT INTO db.t.
    pub async fn insert(&self, rows: &[(i64, i64)]) -> Output {
        let rows: Json = rows.iter().map(|(id, v)| json!({"id": id, "v": v})).collect();
        self.run(json!({"insert": {"table": "db.t", "rows": rows}})).await
    }

    /// A commit of another writer, behind the store's back.
    pub async fn native_insert(&self, id: i64, v: i64) {
        self.run(json!({"native_insert": {"table": "db.t", "rows": [{"id": id, "v": v}]}})).await;
    }

    /// CALL of the procedure, without partitions.
    pub async fn promote(&self) -> Result<Output, Failure> {
        self.execute(json!({"promote": {"table": "db.t"}})).await
    }

    /// CALL of the procedure; `interruption` happens behind its `at`-th remote call (1 is the first). `None` if the
    /// procedure never came back.
    pub async fn promote_interrupted(&self, at: u64, interruption: Interruption) -> Option<Result<Output, Failure>> {
        self.interrupted(json!({"promote": {"table": "db.t"}}), at, interruption).await
    }

    /// A statement; `interruption` happens behind its `at`-th remote call (1 is the first). `None` if it never came back.
    pub async fn interrupted(
        &self,
        statement: Json,
        at: u64,
        interruption: Interruption,
    ) -> Option<Result<Output, Failure>> {
        self.calls.made.set(0);
        self.calls.interruption.replace(Some((at, interruption)));
        let answer = tokio::time::timeout(Duration::from_secs(60), self.execute(statement)).await.ok();
        self.calls.interruption.replace(None);
        answer
    }

    /// How many remote calls the last interrupted procedure made.
    pub fn calls_made(&self) -> u64 {
        self.calls.made.get()
    }

    /// SELECT, sorted.
    pub async fn select(&self, table: &str) -> Vec<(i64, i64)> {
        pairs(self.run(json!({"select": {"table": table}})).await)
    }

    /// The row of a key in `$rt`, by point lookup.
    pub async fn lookup(&self, id: i64) -> Option<i64> {
        let found = pairs(self.run(json!({"lookup": {"table": "db.t$rt", "key": {"id": id}}})).await);
        found.first().map(|(_, v)| *v)
    }

    /// The store's table; `None` if it has none.
    pub async fn store_table(&self) -> Option<StoreTable> {
        self.store.table(&path()).await.ok()
    }

    /// Whether the table is in the mode: on the lake, and in the store.
    pub async fn enabled(&self) -> (bool, bool) {
        let in_store = self.store_table().await.is_some_and(|table| table.schema.lakestream_enabled());
        (self.lake_schema().await.lakestream_enabled(), in_store)
    }

    /// The lake table's definition.
    pub async fn lake_schema(&self) -> TableSchema {
        let table = FilesystemCatalog::new(self.lake.clone()).table(&path()).await.unwrap();
        TableSchema::clone(table.schema())
    }

    /// The id of the lake's newest snapshot; 0 if there is none.
    pub async fn newest_id(&self) -> u64 {
        let table = PaimonTable::open(&self.lake, &path()).await.unwrap();
        table.latest_snapshot().await.unwrap().map_or(0, |newest| newest.id)
    }

    /// Lets the coordinator and the worker run until all is tiered.
    pub async fn tier(&self) {
        let parts = futures::future::join(self.coordinator.run(), self.worker.run());
        let _ = tokio::time::timeout(Duration::from_millis(2_000), parts).await;
    }
}

/// `db.t`.
pub fn path() -> TablePath {
    TablePath::new("db", "t")
}

/// An interruption after which the client is never heard of again.
pub fn crash() -> Interruption {
    Rc::new(|| Box::pin(std::future::pending()))
}

/// The sentence of a promotion.
pub fn message(answer: Result<Output, Failure>) -> String {
    match answer {
        Ok(Output::Promoted { message }) => message,
        other => panic!("expected a promotion, found {other:?}"),
    }
}

/// The (id, v) rows of an answer, sorted.
pub fn pairs(output: Output) -> Vec<(i64, i64)> {
    let (Output::Rows { rows, .. } | Output::Found { row: rows }) = output else {
        panic!("expected rows, found {output:?}")
    };
    let number = |row: &Row, column: &str| match row[rows.position(column).unwrap()] {
        Value::Int(number) => number,
        ref other => panic!("expected a number, found {other:?}"),
    };
    let mut pairs: Vec<(i64, i64)> = rows.rows.iter().map(|row| (number(row, "id"), number(row, "v"))).collect();
    pairs.sort_unstable();
    pairs
}
