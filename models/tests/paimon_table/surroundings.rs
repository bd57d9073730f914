//! What the tests put around a table: a clock that moves only by sleeping, keyed luck, and storage that fails on
//! demand.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::LocalBoxFuture;
use models::contract::{
    BucketId, Column, DataType, Environment, Failure, FailureCode, Filter, ObjectStore, Row, RowKind, TablePath,
    TableSchema, Value,
};
use models::defects::Defects;
pub use models::paimon::Catalog;
pub use models::paimon::catalog::CatalogHooks;
use models::paimon::object_stores::MemoryObjectStore;
use models::paimon::{
    CommitMode, CommitOutcome, CommitRequest, CompactionKind, FilesystemCatalog, LakeAccess, PaimonTable, Precondition,
    SchemaFile, Snapshot,
};

/// Simulated time and draws that depend on nothing but their key.
#[derive(Default)]
pub struct KeyedEnvironment {
    now_ms: Cell<u64>,
}

#[async_trait(?Send)]
impl Environment for KeyedEnvironment {
    fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    async fn sleep_ms(&self, duration_ms: u64) {
        self.now_ms.set(self.now_ms.get() + duration_ms);
        tokio::task::yield_now().await;
    }

    fn draw(&self, site: &str, subject: &str, occurrence: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64(format!("{site}/{subject}/{occurrence}").as_bytes())
    }
}

/// What happens to one call that creates `snapshot-N`.
pub enum CreateFault {
    /// Refused before it had an effect.
    Refused,
    /// It takes effect and the answer is lost.
    AnswerLost,
    /// No answer and no effect.
    RequestLost,
    /// No answer now, and the effect just before the next call.
    Delayed,
    /// Something else happens first.
    After(LocalBoxFuture<'static, ()>),
}

/// Storage in memory; the next calls that create a file exclusively meet the faults that are lined up.
#[derive(Default)]
pub struct FaultyObjectStore {
    pub memory: MemoryObjectStore,
    faults: RefCell<Vec<CreateFault>>,
    delayed: RefCell<Option<(String, Bytes)>>,
}

impl FaultyObjectStore {
    /// Lines up faults for the next exclusive creates, first come first served.
    pub fn line_up(&self, faults: impl IntoIterator<Item = CreateFault>) {
        self.faults.borrow_mut().extend(faults);
    }

    async fn deliver_delayed(&self) {
        let delayed = self.delayed.borrow_mut().take();
        if let Some((path, bytes)) = delayed {
            let _ = self.memory.put_if_absent(&path, bytes).await;
        }
    }
}

#[async_trait(?Send)]
impl ObjectStore for FaultyObjectStore {
    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        self.memory.get(path).await
    }

    async fn exists(&self, path: &str) -> Result<bool, Failure> {
        self.memory.exists(path).await
    }

    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Failure> {
        self.memory.put(path, bytes).await
    }

    async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool, Failure> {
        self.deliver_delayed().await;
        let fault = {
            let mut faults = self.faults.borrow_mut();
            if faults.is_empty() { None } else { Some(faults.remove(0)) }
        };
        let no_answer = Err(Failure::indefinite(FailureCode::Timeout, "no answer"));
        match fault {
            None => self.memory.put_if_absent(path, bytes).await,
            Some(CreateFault::Refused) => Err(Failure::definite(FailureCode::Unavailable, "down")),
            Some(CreateFault::AnswerLost) => {
                self.memory.put_if_absent(path, bytes).await?;
                no_answer
            }
            Some(CreateFault::RequestLost) => no_answer,
            Some(CreateFault::Delayed) => {
                *self.delayed.borrow_mut() = Some((path.to_owned(), bytes));
                no_answer
            }
            Some(CreateFault::After(event)) => {
                event.await;
                self.memory.put_if_absent(path, bytes).await
            }
        }
    }

    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
        self.memory.list(directory).await
    }

    async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.memory.delete(path).await
    }

    async fn rename_directory(&self, from: &str, to: &str) -> Result<(), Failure> {
        self.memory.rename_directory(from, to).await
    }
}

/// A warehouse with its storage at hand.
#[derive(Clone)]
pub struct Warehouse {
    pub storage: Rc<FaultyObjectStore>,
    pub lake: LakeAccess,
    pub catalog: FilesystemCatalog,
}

/// An empty warehouse, of the correct reference.
pub fn warehouse() -> Warehouse {
    warehouse_with(Defects::none())
}

/// An empty warehouse, of a reference with planted bugs.
pub fn warehouse_with(defects: Defects) -> Warehouse {
    let storage = Rc::new(FaultyObjectStore::default());
    let lake = LakeAccess { objects: storage.clone(), environment: Rc::new(KeyedEnvironment::default()), defects };
    Warehouse { storage, catalog: FilesystemCatalog::new(lake.clone()), lake }
}

/// `db.t`.
pub fn path() -> TablePath {
    TablePath::new("db", "t")
}

fn schema(primary_key: &[&str], partition_keys: &[&str], options: &[(&str, &str)]) -> TableSchema {
    let column =
        |name: &str, data_type| Column { name: name.to_owned(), data_type, nullable: !primary_key.contains(&name) };
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    TableSchema {
        columns: vec![column("id", DataType::BigInt), column("v", DataType::STRING), column("dt", DataType::STRING)],
        primary_key: owned(primary_key),
        partition_keys: owned(partition_keys),
        options: options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    }
}

/// An append table without buckets.
pub fn append_schema() -> TableSchema {
    schema(&[], &[], &[])
}

/// An append table, partitioned by `dt`.
pub fn partitioned_schema() -> TableSchema {
    schema(&[], &["dt"], &[])
}

/// A key table of two buckets.
pub fn key_schema() -> TableSchema {
    schema(&["id"], &[], &[("bucket", "2")])
}

/// The same definition with an option.
pub fn with_option(mut schema: TableSchema, key: &str, value: &str) -> TableSchema {
    schema.options.insert(key.to_owned(), value.to_owned());
    schema
}

/// A row of the test tables.
pub fn row(id: i64, value: &str, dt: &str) -> Row {
    Row::new(vec![Value::Int(id), Value::string(value), Value::string(dt)])
}

impl Warehouse {
    /// Creates and opens `db.t`.
    pub async fn create(&self, schema: &TableSchema) -> PaimonTable {
        self.catalog.create_table(&path(), schema, false).await.unwrap();
        self.open().await
    }

    /// Creates and opens `db.t` as another catalog may have: nobody checks the definition.
    pub async fn create_unchecked(&self, schema: &TableSchema) -> PaimonTable {
        let schema_file = SchemaFile::first(schema, 0).encode().unwrap();
        self.storage.memory.put("db.db/t/schema/schema-0", schema_file).await.unwrap();
        PaimonTable::open(&self.lake, &path()).await.unwrap()
    }

    /// Opens `db.t`.
    pub async fn open(&self) -> PaimonTable {
        self.catalog.table(&path()).await.unwrap()
    }
}

/// Changes by the bucket that each row belongs to.
pub fn by_bucket(table: &PaimonTable, changes: &[(RowKind, Row)]) -> BTreeMap<BucketId, Vec<(RowKind, Row)>> {
    let mut buckets: BTreeMap<BucketId, Vec<(RowKind, Row)>> = BTreeMap::new();
    for change in changes {
        buckets.entry(table.bucket_of(&change.1)).or_default().push(change.clone());
    }
    buckets
}

/// Inserts of these rows.
pub fn inserts(rows: &[Row]) -> Vec<(RowKind, Row)> {
    rows.iter().map(|row| (RowKind::Insert, row.clone())).collect()
}

/// Writes changes on the newest snapshot; the request is ready to be committed. `subject` is also the commit's user.
pub async fn request(
    table: &PaimonTable,
    subject: &str,
    mode: CommitMode,
    changes: &[(RowKind, Row)],
) -> CommitRequest {
    let base = table.latest_snapshot().await.unwrap();
    let committable = table.write(subject, base.as_ref(), &by_bucket(table, changes)).await.unwrap();
    CommitRequest {
        subject: subject.to_owned(),
        user: subject.to_owned(),
        identifier: 1,
        mode,
        properties: BTreeMap::new(),
        committable,
        precondition: Precondition::None,
    }
}

/// Writes and commits an append.
pub async fn append(table: &PaimonTable, subject: &str, changes: &[(RowKind, Row)]) -> CommitOutcome {
    table.commit(request(table, subject, CommitMode::Append, changes).await).await.unwrap()
}

/// Plans a compaction of the newest snapshot; the request is ready to be committed, if there is anything to do.
pub async fn compaction(table: &PaimonTable, subject: &str, kind: CompactionKind) -> Option<CommitRequest> {
    let base = table.latest_snapshot().await.unwrap()?;
    let committable = table.compact(subject, &base, kind).await.unwrap()?;
    Some(CommitRequest {
        subject: subject.to_owned(),
        user: subject.to_owned(),
        identifier: 1,
        mode: CommitMode::Compact,
        properties: BTreeMap::new(),
        committable,
        precondition: Precondition::None,
    })
}

/// Compacts and commits; whether there was anything to do.
pub async fn compact(table: &PaimonTable, subject: &str, kind: CompactionKind) -> bool {
    match compaction(table, subject, kind).await {
        None => false,
        Some(request) => {
            table.commit(request).await.unwrap();
            true
        }
    }
}

/// The newest snapshot.
pub async fn latest(table: &PaimonTable) -> Snapshot {
    table.latest_snapshot().await.unwrap().expect("the table has a snapshot")
}

/// All rows of the newest snapshot, sorted.
pub async fn rows(table: &PaimonTable) -> Vec<Row> {
    let Some(snapshot) = table.latest_snapshot().await.unwrap() else {
        return Vec::new();
    };
    let buckets = table.scan(&snapshot, &Filter::new()).await.unwrap();
    let mut rows: Vec<Row> = buckets.into_values().flatten().collect();
    rows.sort();
    rows
}
