//! The coordinator with a port in front.

use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;
use models::contract::{
    ColumnChange, Coordinator, Failure, RoundEnd, StoreTable, TableId, TablePath, TableSchema, TieringAssignment,
};

use super::super::network::{Edge, Network};
use super::TableNames;

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
        self.names.learn(&table);
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
        self.names.learn(&table);
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
            self.names.learn(&assignment.table);
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
                self.names.of(table_id),
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
                self.names.of(table_id),
                request,
                move |(table_id, epoch, end)| {
                    let coordinator = coordinator.clone();
                    Box::pin(async move { coordinator.end_round(table_id, epoch, end).await })
                },
            )
            .await
    }
}
