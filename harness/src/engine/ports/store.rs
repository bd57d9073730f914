//! The store with a port in front.

use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;
use models::contract::{
    AppendAck, AppendRequest, BucketId, BucketOffsets, Column, Failure, FetchedLog, KeyRows, KeySnapshot,
    LakeRegistration, LakeSnapshot, LoadBegun, LoadSource, RegisteredSnapshots, Row, Store, StoreTable, TableId,
    TablePath, TableSchema, TieredOffsets,
};

use super::super::network::{Edge, Network};
use super::TableNames;

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
        self.names.learn(&table);
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
        self.names.learn(&table);
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
        tables.iter().for_each(|table| self.names.learn(table));
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
        let table = self.names.of(request.table_id);
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
            .call(&self.edge, "store.fetch-log", self.names.of(table_id), request, move |request| {
                let store = store.clone();
                let (table_id, bucket, start, end) = request;
                Box::pin(async move { store.fetch_log(table_id, &bucket, start, end).await })
            })
            .await
    }

    async fn bucket_offsets(&self, table_id: TableId) -> Result<Vec<BucketOffsets>, Failure> {
        let store = self.store.clone();
        self.network
            .call(&self.edge, "store.bucket-offsets", self.names.of(table_id), table_id, move |table_id| {
                let store = store.clone();
                Box::pin(async move { store.bucket_offsets(table_id).await })
            })
            .await
    }

    async fn lookup(&self, table_id: TableId, bucket: &BucketId, key: &Row) -> Result<Option<Row>, Failure> {
        let store = self.store.clone();
        let request = (table_id, bucket.clone(), key.clone());
        self.network
            .call(&self.edge, "store.lookup", self.names.of(table_id), request, move |(table_id, bucket, key)| {
                let store = store.clone();
                Box::pin(async move { store.lookup(table_id, &bucket, &key).await })
            })
            .await
    }

    async fn take_key_snapshot(&self, table_id: TableId, bucket: &BucketId) -> Result<KeySnapshot, Failure> {
        let store = self.store.clone();
        let request = (table_id, bucket.clone());
        self.network
            .call(&self.edge, "store.take-key-snapshot", self.names.of(table_id), request, move |(table_id, bucket)| {
                let store = store.clone();
                Box::pin(async move { store.take_key_snapshot(table_id, &bucket).await })
            })
            .await
    }

    async fn read_key_snapshot(
        &self,
        table_id: TableId,
        snapshot_id: u64,
        rows_read: u64,
        max_rows: u64,
    ) -> Result<KeyRows, Failure> {
        let store = self.store.clone();
        let request = (table_id, snapshot_id, rows_read, max_rows);
        self.network
            .call(&self.edge, "store.read-key-snapshot", self.names.of(table_id), request, move |request| {
                let store = store.clone();
                let (table_id, snapshot_id, rows_read, max_rows) = request;
                Box::pin(async move { store.read_key_snapshot(table_id, snapshot_id, rows_read, max_rows).await })
            })
            .await
    }

    async fn release_key_snapshot(&self, table_id: TableId, snapshot_id: u64) -> Result<(), Failure> {
        let store = self.store.clone();
        let (call, request) = ("store.release-key-snapshot", (table_id, snapshot_id));
        self.network
            .call(&self.edge, call, self.names.of(table_id), request, move |(table_id, snapshot_id)| {
                let store = store.clone();
                Box::pin(async move { store.release_key_snapshot(table_id, snapshot_id).await })
            })
            .await
    }

    async fn register_lake_snapshot(&self, table_id: TableId, registration: LakeRegistration) -> Result<(), Failure> {
        let store = self.store.clone();
        let (network, table) = (self.network.clone(), self.names.of(table_id));
        self.network
            .call(
                &self.edge,
                "store.register-lake-snapshot",
                table.clone(),
                (table_id, registration),
                move |(table_id, registration)| {
                    let (store, network, table) = (store.clone(), network.clone(), table.clone());
                    Box::pin(async move {
                        store.register_lake_snapshot(table_id, registration).await?;
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
            .call(&self.edge, "store.begin-load", self.names.of(table_id), request, move |(table_id, source)| {
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
            .call(&self.edge, "store.stage-load", self.names.of(table_id), request, move |request| {
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
            .call(&self.edge, "store.publish-load", self.names.of(table_id), request, move |(table_id, load_id)| {
                let store = store.clone();
                Box::pin(async move { store.publish_load(table_id, load_id).await })
            })
            .await
    }

    async fn register_source_snapshot(&self, table_id: TableId, snapshot: LakeSnapshot) -> Result<(), Failure> {
        let store = self.store.clone();
        let (call, request) = ("store.register-source-snapshot", (table_id, snapshot));
        self.network
            .call(&self.edge, call, self.names.of(table_id), request, move |(table_id, snapshot)| {
                let store = store.clone();
                Box::pin(async move { store.register_source_snapshot(table_id, snapshot).await })
            })
            .await
    }

    async fn registered_snapshots(&self, table_id: TableId) -> Result<RegisteredSnapshots, Failure> {
        let store = self.store.clone();
        self.network
            .call(&self.edge, "store.registered-snapshots", self.names.of(table_id), table_id, move |table_id| {
                let store = store.clone();
                Box::pin(async move { store.registered_snapshots(table_id).await })
            })
            .await
    }
}
