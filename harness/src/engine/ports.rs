//! The parts of the contract with a port in front: each method is one call of the [`Network`].
//!
//! A port adds nothing but the way. What it learns about table ids serves only to name calls by their table.

mod metastore;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;
use bytes::Bytes;
use models::contract::{
    AppendAck, AppendRequest, BucketId, BucketOffsets, Column, ColumnChange, Coordinator, Failure, FetchedLog,
    LakeSnapshot, LoadBegun, LoadSource, ObjectStore, RegisteredSnapshots, RoundEnd, Row, Store, StoreTable, TableId,
    TablePath, TableSchema, TieredOffsets, TieringAssignment,
};

use super::network::{Edge, Network};

pub use metastore::MetastorePort;

/// Which table an id belongs to, as far as any port has learnt it.
pub type TableNames = Rc<RefCell<BTreeMap<TableId, TablePath>>>;

/// The store behind a port.
pub struct StorePort {
    /// The way.
    pub network: Rc<Network>,
    /// From whom to whom.
    pub edge: Edge,
    /// The store.
    pub store: Rc<dyn Store>,
    /// For naming calls.
    pub names: TableNames,
}

impl StorePort {
    fn name_of(&self, table_id: TableId) -> Option<TablePath> {
        self.names.borrow().get(&table_id).cloned()
    }

    fn learn(&self, table: &StoreTable) {
        self.names.borrow_mut().insert(table.table_id, table.path.clone());
    }
}

#[async_trait(?Send)]
impl Store for StorePort {
    async fn create_table(&self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure> {
        let store = self.store.clone();
        let request = (path.clone(), schema.clone());
        let table = self
            .network
            .call(&self.edge, "store.create-table", Some(path.clone()), request, move |(path, schema)| {
                let store = store.clone();
                Box::pin(async move { store.create_table(&path, &schema).await })
            })
            .await?;
        self.learn(&table);
        Ok(table)
    }

    async fn drop_table(&self, path: &TablePath) -> Result<(), Failure> {
        let store = self.store.clone();
        self.network
            .call(&self.edge, "store.drop-table", Some(path.clone()), path.clone(), move |path| {
                let store = store.clone();
                Box::pin(async move { store.drop_table(&path).await })
            })
            .await
    }

    async fn table(&self, path: &TablePath) -> Result<StoreTable, Failure> {
        let store = self.store.clone();
        let table = self
            .network
            .call(&self.edge, "store.table", Some(path.clone()), path.clone(), move |path| {
                let store = store.clone();
                Box::pin(async move { store.table(&path).await })
            })
            .await?;
        self.learn(&table);
        Ok(table)
    }

    async fn tables(&self) -> Result<Vec<StoreTable>, Failure> {
        let store = self.store.clone();
        let tables = self
            .network
            .call(&self.edge, "store.tables", None, (), move |()| {
                let store = store.clone();
                Box::pin(async move { store.tables().await })
            })
            .await?;
        tables.iter().for_each(|table| self.learn(table));
        Ok(tables)
    }

    async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        let store = self.store.clone();
        let request = (path.clone(), set.clone(), reset.to_vec());
        self.network
            .call(&self.edge, "store.alter-options", Some(path.clone()), request, move |(path, set, reset)| {
                let store = store.clone();
                Box::pin(async move { store.alter_options(&path, &set, &reset).await })
            })
            .await
    }

    async fn add_columns(&self, path: &TablePath, columns: &[Column]) -> Result<(), Failure> {
        let store = self.store.clone();
        let request = (path.clone(), columns.to_vec());
        self.network
            .call(&self.edge, "store.add-columns", Some(path.clone()), request, move |(path, columns)| {
                let store = store.clone();
                Box::pin(async move { store.add_columns(&path, &columns).await })
            })
            .await
    }

    async fn append(&self, request: AppendRequest) -> Result<AppendAck, Failure> {
        let store = self.store.clone();
        let table = self.name_of(request.table_id);
        self.network
            .call(&self.edge, "store.append", table, request, move |request| {
                let store = store.clone();
                Box::pin(async move { store.append(request).await })
            })
            .await
    }

    async fn fetch_log(
        &self,
        table_id: TableId,
        bucket: &BucketId,
        start_offset_inclusive: u64,
        end_offset_exclusive: u64,
    ) -> Result<FetchedLog, Failure> {
        let store = self.store.clone();
        let request = (table_id, bucket.clone(), start_offset_inclusive, end_offset_exclusive);
        self.network
            .call(&self.edge, "store.fetch-log", self.name_of(table_id), request, move |request| {
                let store = store.clone();
                let (table_id, bucket, start, end) = request;
                Box::pin(async move { store.fetch_log(table_id, &bucket, start, end).await })
            })
            .await
    }

    async fn bucket_offsets(&self, table_id: TableId) -> Result<Vec<BucketOffsets>, Failure> {
        let store = self.store.clone();
        self.network
            .call(&self.edge, "store.bucket-offsets", self.name_of(table_id), table_id, move |table_id| {
                let store = store.clone();
                Box::pin(async move { store.bucket_offsets(table_id).await })
            })
            .await
    }

    async fn lookup(&self, table_id: TableId, bucket: &BucketId, key: &Row) -> Result<Option<Row>, Failure> {
        let store = self.store.clone();
        let request = (table_id, bucket.clone(), key.clone());
        self.network
            .call(&self.edge, "store.lookup", self.name_of(table_id), request, move |(table_id, bucket, key)| {
                let store = store.clone();
                Box::pin(async move { store.lookup(table_id, &bucket, &key).await })
            })
            .await
    }

    async fn register_lake_snapshot(&self, table_id: TableId, snapshot: LakeSnapshot) -> Result<(), Failure> {
        let store = self.store.clone();
        let (network, table) = (self.network.clone(), self.name_of(table_id));
        self.network
            .call(
                &self.edge,
                "store.register-lake-snapshot",
                table.clone(),
                (table_id, snapshot),
                move |(table_id, snapshot)| {
                    let (store, network, table) = (store.clone(), network.clone(), table.clone());
                    Box::pin(async move {
                        store.register_lake_snapshot(table_id, snapshot).await?;
                        if let Some(table) = &table {
                            network.snapshot_registered(table);
                        }
                        Ok(())
                    })
                },
            )
            .await
    }

    async fn begin_load(&self, table_id: TableId, source: LoadSource) -> Result<LoadBegun, Failure> {
        let store = self.store.clone();
        let request = (table_id, source);
        self.network
            .call(&self.edge, "store.begin-load", self.name_of(table_id), request, move |(table_id, source)| {
                let store = store.clone();
                Box::pin(async move { store.begin_load(table_id, source).await })
            })
            .await
    }

    async fn stage_load(
        &self,
        table_id: TableId,
        load_id: u64,
        bucket: &BucketId,
        rows: Vec<Row>,
    ) -> Result<(), Failure> {
        let store = self.store.clone();
        let request = (table_id, load_id, bucket.clone(), rows);
        self.network
            .call(&self.edge, "store.stage-load", self.name_of(table_id), request, move |request| {
                let store = store.clone();
                let (table_id, load_id, bucket, rows) = request;
                Box::pin(async move { store.stage_load(table_id, load_id, &bucket, rows).await })
            })
            .await
    }

    async fn publish_load(&self, table_id: TableId, load_id: u64) -> Result<TieredOffsets, Failure> {
        let store = self.store.clone();
        let request = (table_id, load_id);
        self.network
            .call(&self.edge, "store.publish-load", self.name_of(table_id), request, move |(table_id, load_id)| {
                let store = store.clone();
                Box::pin(async move { store.publish_load(table_id, load_id).await })
            })
            .await
    }

    async fn register_source_snapshot(&self, table_id: TableId, snapshot: LakeSnapshot) -> Result<(), Failure> {
        let store = self.store.clone();
        let (call, request) = ("store.register-source-snapshot", (table_id, snapshot));
        self.network
            .call(&self.edge, call, self.name_of(table_id), request, move |(table_id, snapshot)| {
                let store = store.clone();
                Box::pin(async move { store.register_source_snapshot(table_id, snapshot).await })
            })
            .await
    }

    async fn registered_snapshots(&self, table_id: TableId) -> Result<RegisteredSnapshots, Failure> {
        let store = self.store.clone();
        self.network
            .call(&self.edge, "store.registered-snapshots", self.name_of(table_id), table_id, move |table_id| {
                let store = store.clone();
                Box::pin(async move { store.registered_snapshots(table_id).await })
            })
            .await
    }
}

/// The coordinator behind a port.
pub struct CoordinatorPort {
    /// The way.
    pub network: Rc<Network>,
    /// From whom to whom.
    pub edge: Edge,
    /// The coordinator.
    pub coordinator: Rc<dyn Coordinator>,
    /// For naming calls.
    pub names: TableNames,
}

impl CoordinatorPort {
    fn learn(&self, table: &StoreTable) {
        self.names.borrow_mut().insert(table.table_id, table.path.clone());
    }

    fn name_of(&self, table_id: TableId) -> Option<TablePath> {
        self.names.borrow().get(&table_id).cloned()
    }
}

#[async_trait(?Send)]
impl Coordinator for CoordinatorPort {
    async fn create_table(&self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure> {
        let coordinator = self.coordinator.clone();
        let request = (path.clone(), schema.clone());
        let table = self
            .network
            .call(&self.edge, "coordinator.create-table", Some(path.clone()), request, move |(path, schema)| {
                let coordinator = coordinator.clone();
                Box::pin(async move { coordinator.create_table(&path, &schema).await })
            })
            .await?;
        self.learn(&table);
        Ok(table)
    }

    async fn drop_table(&self, path: &TablePath) -> Result<(), Failure> {
        let coordinator = self.coordinator.clone();
        self.network
            .call(&self.edge, "coordinator.drop-table", Some(path.clone()), path.clone(), move |path| {
                let coordinator = coordinator.clone();
                Box::pin(async move { coordinator.drop_table(&path).await })
            })
            .await
    }

    async fn create_table_on_lake(
        &self,
        path: &TablePath,
        properties: &BTreeMap<String, String>,
    ) -> Result<StoreTable, Failure> {
        let coordinator = self.coordinator.clone();
        let (call, request) = ("coordinator.create-table-on-lake", (path.clone(), properties.clone()));
        let table = self
            .network
            .call(&self.edge, call, Some(path.clone()), request, move |(path, properties)| {
                let coordinator = coordinator.clone();
                Box::pin(async move { coordinator.create_table_on_lake(&path, &properties).await })
            })
            .await?;
        self.learn(&table);
        Ok(table)
    }

    async fn alter_columns(&self, path: &TablePath, changes: &[ColumnChange]) -> Result<(), Failure> {
        let coordinator = self.coordinator.clone();
        let request = (path.clone(), changes.to_vec());
        self.network
            .call(&self.edge, "coordinator.alter-columns", Some(path.clone()), request, move |(path, changes)| {
                let coordinator = coordinator.clone();
                Box::pin(async move { coordinator.alter_columns(&path, &changes).await })
            })
            .await
    }

    async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        let coordinator = self.coordinator.clone();
        let request = (path.clone(), set.clone(), reset.to_vec());
        self.network
            .call(&self.edge, "coordinator.alter-options", Some(path.clone()), request, move |(path, set, reset)| {
                let coordinator = coordinator.clone();
                Box::pin(async move { coordinator.alter_options(&path, &set, &reset).await })
            })
            .await
    }

    async fn request_table(&self, worker: &str) -> Result<Option<TieringAssignment>, Failure> {
        let coordinator = self.coordinator.clone();
        let assignment = self
            .network
            .call(&self.edge, "coordinator.request-table", None, worker.to_owned(), move |worker| {
                let coordinator = coordinator.clone();
                Box::pin(async move { coordinator.request_table(&worker).await })
            })
            .await?;
        if let Some(assignment) = &assignment {
            self.learn(&assignment.table);
            // From here on the worker's luck is that of this table's round.
            self.edge.scope.enter(&format!("{}/{}", assignment.table.path, assignment.epoch));
        }
        Ok(assignment)
    }

    async fn heartbeat(&self, table_id: TableId, epoch: u64) -> Result<(), Failure> {
        let coordinator = self.coordinator.clone();
        self.network
            .call(
                &self.edge,
                "coordinator.heartbeat",
                self.name_of(table_id),
                (table_id, epoch),
                move |(table_id, epoch)| {
                    let coordinator = coordinator.clone();
                    Box::pin(async move { coordinator.heartbeat(table_id, epoch).await })
                },
            )
            .await
    }

    async fn end_round(&self, table_id: TableId, epoch: u64, end: RoundEnd) -> Result<(), Failure> {
        let coordinator = self.coordinator.clone();
        let request = (table_id, epoch, end);
        self.network
            .call(
                &self.edge,
                "coordinator.end-round",
                self.name_of(table_id),
                request,
                move |(table_id, epoch, end)| {
                    let coordinator = coordinator.clone();
                    Box::pin(async move { coordinator.end_round(table_id, epoch, end).await })
                },
            )
            .await
    }
}

/// The lake's storage behind a port.
pub struct LakePort {
    /// The way.
    pub network: Rc<Network>,
    /// From whom to the lake.
    pub edge: Edge,
    /// The storage.
    pub objects: Rc<dyn ObjectStore>,
}

/// What an object is, by its place in the table's directory.
enum ObjectKind {
    Snapshot,
    Schema,
    ManifestList,
    Manifest,
    Hint,
    Data,
    Other,
}

/// Where a database's views are, beside its tables.
const VIEWS: &str = ".views";

/// The table of a path and what the object is to it.
fn classify(path: &str) -> (Option<TablePath>, ObjectKind) {
    let mut parts = path.split('/');
    let database = parts.next().unwrap_or_default();
    let table = parts.next().unwrap_or_default();
    let folder = parts.next().unwrap_or_default();
    let file = path.rsplit('/').next().unwrap_or_default();
    if table == VIEWS {
        // A view is named by what stands before its `$`: `t$rt` is looked for whenever that of `t` is read.
        let view = file.split(['$', '.']).next().unwrap_or_default();
        let owner = database.strip_suffix(".db").filter(|_| !view.is_empty());
        return (owner.map(|database| TablePath::new(database, view)), ObjectKind::Other);
    }
    let kind = match folder {
        "snapshot" if file == "LATEST" || file == "EARLIEST" => ObjectKind::Hint,
        "snapshot" => ObjectKind::Snapshot,
        "schema" => ObjectKind::Schema,
        "manifest" if file.starts_with("manifest-list") => ObjectKind::ManifestList,
        "manifest" => ObjectKind::Manifest,
        _ => ObjectKind::Data,
    };
    let owner = database.strip_suffix(".db").filter(|_| !table.is_empty());
    (owner.map(|database| TablePath::new(database, table)), kind)
}

/// The call's name: a literal for each pair of verb and kind of object, so that none is built at run time.
macro_rules! lake_call {
    ($verb:literal, $kind:expr) => {
        match $kind {
            ObjectKind::Snapshot => concat!("lake.", $verb, "-snapshot"),
            ObjectKind::Schema => concat!("lake.", $verb, "-schema"),
            ObjectKind::ManifestList => concat!("lake.", $verb, "-manifest-list"),
            ObjectKind::Manifest => concat!("lake.", $verb, "-manifest"),
            ObjectKind::Hint => concat!("lake.", $verb, "-hint"),
            ObjectKind::Data => concat!("lake.", $verb, "-data"),
            ObjectKind::Other => concat!("lake.", $verb, "-other"),
        }
    };
}

impl LakePort {
    /// Leaves the beginning of an object, and an error that does not say so.
    async fn tear(objects: &dyn ObjectStore, path: &str, beginning: Bytes) -> Result<(), Failure> {
        objects.put(path, beginning).await?;
        Err(Failure::internal(format!("{path}: the connection broke while the object was written")))
    }

    /// Tells the books what a successful write was.
    fn written(network: &Network, worker: &Rc<str>, role_is_tiering: bool, path: &str) {
        match classify(path) {
            (_, ObjectKind::Data) => network.data_file_written(),
            (Some(table), ObjectKind::Snapshot) if role_is_tiering => network.round_committed(&table, worker),
            _ => {}
        }
    }
}

#[async_trait(?Send)]
impl ObjectStore for LakePort {
    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        let (table, kind) = classify(path);
        let objects = self.objects.clone();
        self.network
            .call(&self.edge, lake_call!("get", kind), table, Rc::<str>::from(path), move |path| {
                let objects = objects.clone();
                Box::pin(async move { objects.get(&path).await })
            })
            .await
    }

    async fn exists(&self, path: &str) -> Result<bool, Failure> {
        let (table, kind) = classify(path);
        let objects = self.objects.clone();
        self.network
            .call(&self.edge, lake_call!("exists", kind), table, Rc::<str>::from(path), move |path| {
                let objects = objects.clone();
                Box::pin(async move { objects.exists(&path).await })
            })
            .await
    }

    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Failure> {
        let (table, kind) = classify(path);
        let (objects, network, worker) = (self.objects.clone(), self.network.clone(), self.edge.caller.name.clone());
        let is_tiering = &*self.edge.role == "tiering";
        let request = (Rc::<str>::from(path), bytes);
        self.network
            .call(&self.edge, lake_call!("put", kind), table, request, move |(path, bytes)| {
                let (objects, network, worker) = (objects.clone(), network.clone(), worker.clone());
                let torn = network.faults.torn(&bytes);
                Box::pin(async move {
                    if let Some(beginning) = torn {
                        return Self::tear(&*objects, &path, beginning).await;
                    }
                    objects.put(&path, bytes).await?;
                    Self::written(&network, &worker, is_tiering, &path);
                    Ok(())
                })
            })
            .await
    }

    async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool, Failure> {
        let (table, kind) = classify(path);
        let (objects, network, worker) = (self.objects.clone(), self.network.clone(), self.edge.caller.name.clone());
        let is_tiering = &*self.edge.role == "tiering";
        let request = (Rc::<str>::from(path), bytes);
        self.network
            .call(&self.edge, lake_call!("put", kind), table, request, move |(path, bytes)| {
                let (objects, network, worker) = (objects.clone(), network.clone(), worker.clone());
                let torn = network.faults.torn(&bytes);
                Box::pin(async move {
                    if let Some(beginning) = torn {
                        // What is there already stays as it is.
                        return match objects.exists(&path).await? {
                            true => Ok(false),
                            false => Self::tear(&*objects, &path, beginning).await.map(|()| true),
                        };
                    }
                    let created = objects.put_if_absent(&path, bytes).await?;
                    if created {
                        Self::written(&network, &worker, is_tiering, &path);
                    }
                    Ok(created)
                })
            })
            .await
    }

    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
        // A directory is named like a file in it, so that listing `snapshot/` is `lake.list-snapshot`.
        let (table, kind) = classify(&format!("{}/", directory.trim_end_matches('/')));
        let objects = self.objects.clone();
        self.network
            .call(&self.edge, lake_call!("list", kind), table, Rc::<str>::from(directory), move |directory| {
                let objects = objects.clone();
                Box::pin(async move { objects.list(&directory).await })
            })
            .await
    }

    async fn delete(&self, path: &str) -> Result<(), Failure> {
        let (table, kind) = classify(path);
        let objects = self.objects.clone();
        self.network
            .call(&self.edge, lake_call!("delete", kind), table, Rc::<str>::from(path), move |path| {
                let objects = objects.clone();
                Box::pin(async move { objects.delete(&path).await })
            })
            .await
    }

    async fn rename_directory(&self, from: &str, to: &str) -> Result<(), Failure> {
        let (table, _) = classify(&format!("{}/", from.trim_end_matches('/')));
        let objects = self.objects.clone();
        let request = (Rc::<str>::from(from), Rc::<str>::from(to));
        self.network
            .call(&self.edge, "lake.rename-directory", table, request, move |(from, to)| {
                let objects = objects.clone();
                Box::pin(async move { objects.rename_directory(&from, &to).await })
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lake_calls_are_named_by_what_they_touch() {
        let name = |path| {
            let (table, kind) = classify(path);
            format!("{}: {}", table.map(|table| table.to_string()).unwrap_or_default(), lake_call!("put", kind))
        };
        assert_eq!(name("db.db/t/snapshot/snapshot-7"), "db.t: lake.put-snapshot");
        assert_eq!(name("db.db/t/snapshot/LATEST"), "db.t: lake.put-hint");
        assert_eq!(name("db.db/t/manifest/manifest-list-1-0"), "db.t: lake.put-manifest-list");
        assert_eq!(name("db.db/t/manifest/manifest-1-0"), "db.t: lake.put-manifest");
        assert_eq!(name("db.db/t/dt=a/bucket-0/data-1-0.parquet"), "db.t: lake.put-data");
        assert_eq!(name("db.db/t/schema/schema-0"), "db.t: lake.put-schema");
        assert_eq!(name("db.db/.views/t$rt.json"), "db.t: lake.put-other");
    }
}
