//! The coordinator: it owns the store's DDL and says who tiers which table. Every method is one remote call.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::failure::Failure;
use super::names::{TableId, TablePath};
use super::schema::TableSchema;
use super::store::StoreTable;

/// The commit user of every lake snapshot that tiering makes. Only tiering commits under this name.
pub const TIERING_COMMIT_USER: &str = "__lakestream_tiering";
/// The snapshot property with the tiered offsets, inline JSON.
pub const OFFSETS_PROPERTY: &str = "lakestream-offsets";

/// The right to tier one table for one round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TieringAssignment {
    /// The table.
    pub table: StoreTable,
    /// Unique per table and for ever, coordinator restarts included; also the round's commit identifier (L11).
    pub epoch: u64,
}

/// How a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoundEnd {
    /// All that was planned is in the lake and registered.
    Finished,
    /// It was given up; the table is due again at once.
    Failed,
}

/// The coordinator.
#[async_trait(?Send)]
pub trait Coordinator {
    /// Store-side CREATE TABLE: makes the lake table (with `lakestream.enabled` = `true`), then the store's table, and
    /// schedules tiering. Repeating a create that was cut short completes it.
    async fn create_table(&self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure>;

    /// Store-side DROP TABLE. The lake table stays.
    async fn drop_table(&self, path: &TablePath) -> Result<(), Failure>;

    /// Store-side ALTER TABLE … SET / RESET.
    async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure>;

    /// A table that is due, for this worker; `None` if there is none.
    async fn request_table(&self, worker: &str) -> Result<Option<TieringAssignment>, Failure>;

    /// The holder is alive. `rejected` if the epoch is no longer the current one: the round must stop.
    async fn heartbeat(&self, table_id: TableId, epoch: u64) -> Result<(), Failure>;

    /// The holder's round ended. `rejected` if the epoch is no longer the current one.
    async fn end_round(&self, table_id: TableId, epoch: u64, end: RoundEnd) -> Result<(), Failure>;
}
