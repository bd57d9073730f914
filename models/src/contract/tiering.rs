//! The coordinator: it owns the store's DDL and says who tiers which table. Every method is one remote call.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::data_type::DataType;
use super::failure::Failure;
use super::names::{TableId, TablePath};
use super::schema::TableSchema;
use super::statement::ColumnChange;
use super::store::StoreTable;

/// The commit user of every lake snapshot that tiering makes. Only tiering commits under this name.
pub const TIERING_COMMIT_USER: &str = "__lakestream_tiering";
/// The snapshot property with the tiered offsets, inline JSON.
pub const OFFSETS_PROPERTY: &str = "lakestream-offsets";

/// The commit user of every compaction that the system's own compactor makes.
pub const COMPACTION_COMMIT_USER: &str = "__lakestream_compaction";

/// The store's own name for the mode, in its DDL: means there what `lakestream.enabled` means.
pub const DATALAKE_ENABLED: &str = "table.datalake.enabled";
/// The store's option for partitions that only the lake still has; set by the store alone.
pub const HISTORICAL_PARTITION_ENABLED: &str = "table.datalake.historical-partition.enabled";
/// The promotion's option to wait for the end of the load.
pub const DML_SYNC: &str = "table.dml-sync";

/// The columns behind the user's in a lake table of the legacy layout, in this order. No user column has such a name.
pub const SYSTEM_COLUMNS: [(&str, DataType); 3] =
    [("__bucket", DataType::Int), ("__offset", DataType::BigInt), ("__timestamp", DataType::TimestampLtz(6))];

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
    /// schedules tiering. With [`DATALAKE_ENABLED`] = `false` the key is absent on both sides and nothing is tiered.
    /// Repeating a create that was cut short completes it.
    async fn create_table(&self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure>;

    /// Store-side DROP TABLE. The lake table stays.
    async fn drop_table(&self, path: &TablePath) -> Result<(), Failure>;

    /// Makes disabled store metadata of an existing lake table, which is only read (P1, P7). `already-exists` if the
    /// store has the table, `not-found` if the lake lacks it, `rejected` for managed options and for definitions that
    /// cannot be mapped.
    async fn create_table_on_lake(
        &self,
        path: &TablePath,
        properties: &BTreeMap<String, String>,
    ) -> Result<StoreTable, Failure>;

    /// Store-side ALTER TABLE … columns: on the lake first, then in the store. Only nullable columns can be added, only
    /// last (`rejected` otherwise, C20); nothing can be dropped or renamed (`unsupported`).
    async fn alter_columns(&self, path: &TablePath, changes: &[ColumnChange]) -> Result<(), Failure>;

    /// Store-side ALTER TABLE … SET / RESET. Entering the mode is `rejected` unless lake and store agree (P2).
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
