//! The database of a JDBC catalog with a port in front.

use std::rc::Rc;

use async_trait::async_trait;
use bytes::Bytes;
use models::contract::{EntryChange, Failure, Metastore, TableEntry, TablePath};

use super::super::network::{Edge, Network};

/// The catalog's database behind a port.
pub struct MetastorePort {
    /// The way.
    pub network: Rc<Network>,
    /// From whom to whom.
    pub edge: Edge,
    /// The database.
    pub metastore: Rc<dyn Metastore>,
}

#[async_trait(?Send)]
impl Metastore for MetastorePort {
    async fn entry(&self, path: &TablePath) -> Result<Option<TableEntry>, Failure> {
        let metastore = self.metastore.clone();
        self.network
            .call(&self.edge, "metastore.entry", Some(path.clone()), path.clone(), move |path| {
                let metastore = metastore.clone();
                Box::pin(async move { metastore.entry(&path).await })
            })
            .await
    }

    async fn insert_table(&self, path: &TablePath, schema: &Bytes) -> Result<EntryChange, Failure> {
        let metastore = self.metastore.clone();
        let request = (path.clone(), schema.clone());
        self.network
            .call(&self.edge, "metastore.insert-table", Some(path.clone()), request, move |(path, schema)| {
                let metastore = metastore.clone();
                Box::pin(async move { metastore.insert_table(&path, &schema).await })
            })
            .await
    }

    async fn rename_table(&self, entry: &TableEntry, to: &TablePath) -> Result<EntryChange, Failure> {
        let metastore = self.metastore.clone();
        let request = (entry.clone(), to.clone());
        self.network
            .call(&self.edge, "metastore.rename-table", Some(entry.path.clone()), request, move |(entry, to)| {
                let metastore = metastore.clone();
                Box::pin(async move { metastore.rename_table(&entry, &to).await })
            })
            .await
    }

    async fn drop_table(&self, entry: &TableEntry) -> Result<EntryChange, Failure> {
        let metastore = self.metastore.clone();
        self.network
            .call(&self.edge, "metastore.drop-table", Some(entry.path.clone()), entry.clone(), move |entry| {
                let metastore = metastore.clone();
                Box::pin(async move { metastore.drop_table(&entry).await })
            })
            .await
    }

    async fn settle(&self, entry: &TableEntry) -> Result<(), Failure> {
        let metastore = self.metastore.clone();
        self.network
            .call(&self.edge, "metastore.settle", Some(entry.path.clone()), entry.clone(), move |entry| {
                let metastore = metastore.clone();
                Box::pin(async move { metastore.settle(&entry).await })
            })
            .await
    }

    async fn view(&self, path: &TablePath) -> Result<Option<String>, Failure> {
        let metastore = self.metastore.clone();
        self.network
            .call(&self.edge, "metastore.view", Some(path.clone()), path.clone(), move |path| {
                let metastore = metastore.clone();
                Box::pin(async move { metastore.view(&path).await })
            })
            .await
    }

    async fn insert_view(&self, path: &TablePath, definition: &str) -> Result<bool, Failure> {
        let metastore = self.metastore.clone();
        let request = (path.clone(), definition.to_owned());
        self.network
            .call(&self.edge, "metastore.insert-view", Some(path.clone()), request, move |(path, definition)| {
                let metastore = metastore.clone();
                Box::pin(async move { metastore.insert_view(&path, &definition).await })
            })
            .await
    }
}
