//! The Lakestream Store as its peers see it: tables, a log per bucket, key-value state, and the registry of lake
//! snapshots. Every method is one remote call.
//!
//! Offsets count log positions of one bucket from 0. A range is always `[start inclusive, end exclusive)`; the end
//! offset of the lake is the start offset of the log (L6).

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;

use super::failure::Failure;
use super::names::{BucketId, PartitionValues, TableId, TablePath};
use super::schema::{Column, TableSchema};
use super::value::{Row, RowKind};

/// A table as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreTable {
    /// Its identity; never reused (L12).
    pub table_id: TableId,
    /// Its name.
    pub path: TablePath,
    /// Its definition.
    pub schema: Arc<TableSchema>,
    /// The lake snapshot that a promotion registered: all of it is this table's history, whoever committed it, and none
    /// of it came through this table's log. `None` for tables that begin with their log.
    pub source_snapshot_id: Option<u64>,
}

impl Hash for StoreTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { table_id, path, schema, source_snapshot_id } = self;
        (table_id, path, schema).hash(state);
        // A table without a source is the ordinary case, and hashes as one that cannot have any.
        if let Some(snapshot_id) = source_snapshot_id {
            snapshot_id.hash(state);
        }
    }
}

/// What a client asks to be done to one row of a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// Append to an append table; insert or replace by key in a key table.
    Put(Row),
    /// Delete the row with this key (the cells of the primary key, in its order). Key tables only.
    Delete(Row),
}

/// One write to one bucket. All of its mutations become durable, or none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AppendRequest {
    /// The table.
    pub table_id: TableId,
    /// The bucket; its partition comes into being with its first write.
    pub bucket: BucketId,
    /// What to do, in order.
    pub mutations: Vec<Mutation>,
    /// Who writes: unique per incarnation of a client.
    pub writer_id: u64,
    /// Grows by one with every new batch of this writer to this bucket, from 0; a retry repeats it, so that it is not
    /// applied twice (L3).
    pub batch_sequence: u64,
}

/// The answer to a durable append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AppendAck {
    /// The log end of the bucket just after the batch.
    pub end_offset_exclusive: u64,
}

/// One log entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogRecord {
    /// Its position.
    pub offset: u64,
    /// What it does; always [`RowKind::Insert`] in an append table.
    pub kind: RowKind,
    /// The whole row (for −U and −D the row before).
    pub row: Row,
}

/// A piece of one bucket's log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FetchedLog {
    /// The records, by offset. Offsets may have holes: a batch that changed nothing takes an offset and has no record.
    pub records: Vec<LogRecord>,
    /// Where to go on. It moves past empty batches too, and never beyond what was asked for.
    pub next_offset_inclusive: u64,
}

/// The offsets of one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketOffsets {
    /// Which bucket.
    pub bucket: BucketId,
    /// The first offset that is still in the log.
    pub log_start_offset_inclusive: u64,
    /// The end of the durable log, the high watermark; nothing at or beyond it is ever shown to anybody. It may lie
    /// between −U and +U of one update.
    pub log_end_offset_exclusive: u64,
    /// Whether the bucket's partition has left the store: its log is empty, and begins where it ended; its rows are in
    /// the lake alone, and nothing more is written to it.
    pub has_expired: bool,
}

impl Hash for BucketOffsets {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { bucket, log_start_offset_inclusive, log_end_offset_exclusive, has_expired } = self;
        (bucket, log_start_offset_inclusive, log_end_offset_exclusive).hash(state);
        // A bucket that is there is the ordinary case, and hashes as one that cannot leave.
        if *has_expired {
            has_expired.hash(state);
        }
    }
}

/// A snapshot of the key-value state of one bucket, as its reader knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeySnapshot {
    /// Names it, within its table.
    pub snapshot_id: u64,
    /// It is the state after all records below this offset of the bucket's log, and after none from there on.
    pub end_offset_exclusive: u64,
}

/// A piece of a snapshot of key-value state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyRows {
    /// Rows, by key.
    pub rows: Vec<Row>,
    /// Whether there are none behind them.
    pub is_end: bool,
}

/// Per bucket, the end (exclusive) of the log that a lake snapshot contains. Buckets that are absent count as 0.
pub type TieredOffsets = BTreeMap<BucketId, u64>;

/// A lake snapshot as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LakeSnapshot {
    /// The snapshot's id in the lake.
    pub snapshot_id: u64,
    /// What it contains of each bucket's log.
    pub offsets: TieredOffsets,
}

/// What tiering tells the store of a snapshot that it committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeRegistration {
    /// The snapshot.
    pub tiered: LakeSnapshot,
    /// What a union read may use from then on.
    pub readable: ReadableSnapshot,
    /// What is registered and no longer in the lake, because it was rolled back there: this takes its place, and then may
    /// be older and contain less. `None`: nothing goes back.
    pub instead_of: Option<LakeSnapshot>,
}

/// Which snapshot a union read may use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReadableSnapshot {
    /// The one that is registered: whatever it holds is seen.
    Tiered,
    /// The one that is known as such. Readers skip what is new in the registered one, and nobody knows of a later one.
    Unchanged,
    /// This one, a compaction's, with what its readers see of each bucket's log.
    Other(LakeSnapshot),
}

impl From<LakeSnapshot> for LakeRegistration {
    fn from(tiered: LakeSnapshot) -> Self {
        Self { tiered, readable: ReadableSnapshot::Tiered, instead_of: None }
    }
}

impl Hash for LakeRegistration {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { tiered, readable, instead_of } = self;
        tiered.hash(state);
        // In the ordinary case the two are one, and hash as one.
        if *readable != ReadableSnapshot::Tiered {
            readable.hash(state);
        }
        if instead_of.is_some() {
            instead_of.hash(state);
        }
    }
}

/// What the registry says about one table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegisteredSnapshots {
    /// The newest snapshot that tiering registered.
    pub tiered: Option<LakeSnapshot>,
    /// The newest one that a union read may use. Its offsets are never beyond those of `tiered` (L8). Where readers of
    /// the table skip what is new it is a compaction's, and may have been committed before or after `tiered`.
    pub readable: Option<LakeSnapshot>,
}

/// What a bulk load of a key table's state is made from (P4, P6).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoadSource {
    /// The one lake snapshot that all rows come from.
    pub snapshot_id: u64,
    /// The partitions of that snapshot that are not loaded, in order. They stay readable from the lake, and the store
    /// takes no writes to them: it could not know the rows before.
    pub left_out: Vec<PartitionValues>,
}

/// What the store says to a load that is to begin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LoadBegun {
    /// A new, empty staging area. Whatever was staged before is gone.
    Staging {
        /// Names the staging area: calls of earlier loads are refused.
        load_id: u64,
    },
    /// This very source is loaded and published already, with these log ends (exclusive).
    Published(TieredOffsets),
}

/// The Lakestream Store.
#[async_trait(?Send)]
pub trait Store {
    /// Creates a table; `already-exists` if the name is taken.
    async fn create_table(&self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure>;

    /// Drops a table, its log, its state and its registered snapshots.
    async fn drop_table(&self, path: &TablePath) -> Result<(), Failure>;

    /// The table of this name; `not-found` if there is none.
    async fn table(&self, path: &TablePath) -> Result<StoreTable, Failure>;

    /// All tables, by id.
    async fn tables(&self) -> Result<Vec<StoreTable>, Failure>;

    /// Sets and removes table options of the store's own definition.
    async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure>;

    /// Adds nullable columns behind the others. Rows of earlier versions read as if they had NULL there, and a writer
    /// that still uses an earlier version is understood. Columns that are there already, alike, are left as they are.
    async fn add_columns(&self, path: &TablePath, columns: &[Column]) -> Result<(), Failure>;

    /// Writes one batch to one bucket and answers when it would survive a crash (L1). `not-found` if the table id is
    /// no longer current; `unsupported` if the partition has left the store.
    async fn append(&self, request: AppendRequest) -> Result<AppendAck, Failure>;

    /// Reads the durable log of one bucket from `start_offset_inclusive` up to `end_offset_exclusive` (or the log end,
    /// if that is less). `invalid` if the start lies before the log start.
    async fn fetch_log(
        &self,
        table_id: TableId,
        bucket: &BucketId,
        start_offset_inclusive: u64,
        end_offset_exclusive: u64,
    ) -> Result<FetchedLog, Failure>;

    /// The offsets of every bucket that was ever written, by bucket.
    async fn bucket_offsets(&self, table_id: TableId) -> Result<Vec<BucketOffsets>, Failure>;

    /// The newest durable row of a key, from the key-value state of a key table.
    async fn lookup(&self, table_id: TableId, bucket: &BucketId, key: &Row) -> Result<Option<Row>, Failure>;

    /// Takes a snapshot of the state of one bucket of a key table, and leases it to the caller. The lease runs out when
    /// nothing is read for a while; then the snapshot may be collected. `invalid` for an append table, `rejected` for a
    /// bucket without state.
    async fn take_key_snapshot(&self, table_id: TableId, bucket: &BucketId) -> Result<KeySnapshot, Failure>;

    /// At most `max_rows` rows of a snapshot, behind the first `rows_read`; renews the lease. `rejected` if the snapshot
    /// was collected.
    async fn read_key_snapshot(
        &self,
        table_id: TableId,
        snapshot_id: u64,
        rows_read: u64,
        max_rows: u64,
    ) -> Result<KeyRows, Failure>;

    /// Ends the lease. Repeating it is a success without effect.
    async fn release_key_snapshot(&self, table_id: TableId, snapshot_id: u64) -> Result<(), Failure>;

    /// Records that a lake snapshot contains the log up to these offsets, and which one can be read. An older snapshot
    /// id, any offset that would go back, and one that would be readable before it is tiered, is refused as `rejected`
    /// (L8); repeating the newest one is a success without effect, and an older readable snapshot changes nothing. Only
    /// who names what is registered now, because the lake no longer has it, may register less.
    async fn register_lake_snapshot(&self, table_id: TableId, registration: LakeRegistration) -> Result<(), Failure>;

    /// Opens a staging area for the state of a disabled key table that nobody has written to; `rejected` otherwise.
    async fn begin_load(&self, table_id: TableId, source: LoadSource) -> Result<LoadBegun, Failure>;

    /// Puts all rows of one bucket into the staging area, where nobody sees them; a repetition replaces them.
    /// `rejected` if the load is not the current one.
    async fn stage_load(
        &self,
        table_id: TableId,
        load_id: u64,
        bucket: &BucketId,
        rows: Vec<Row>,
    ) -> Result<(), Failure>;

    /// Makes the staged rows of all buckets the table's state, in one step, and answers the log ends (exclusive) of
    /// these buckets. Repeating it is a success without effect; `rejected` if the load is not the current one.
    async fn publish_load(&self, table_id: TableId, load_id: u64) -> Result<TieredOffsets, Failure>;

    /// Records the lake snapshot that a disabled table's history is (P3, P4). `rejected` if it is enabled or was
    /// written to, or if it is a key table and no load was published.
    async fn register_source_snapshot(&self, table_id: TableId, snapshot: LakeSnapshot) -> Result<(), Failure>;

    /// What is registered.
    async fn registered_snapshots(&self, table_id: TableId) -> Result<RegisteredSnapshots, Failure>;
}
