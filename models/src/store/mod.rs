//! The reference Lakestream Store, in memory: per bucket a log and, for key tables, a changelog and key-value state;
//! per table a registry of lake snapshots; retention of log and of partitions; snapshots of key-value state.
//!
//! How it is built: every part of the state knows what of it is durable, so a crash loses exactly the writes of
//! which nothing was acked or shown (L1). One sync makes a bucket's batches durable in order, then their acks leave. It
//! must never know the lake, who tiers, or how calls travel: it takes time from its [`Environment`] and answers
//! [`Store`] calls.

mod bucket;
mod changelog;
mod early_ack;
mod key_snapshots;
mod layout;
mod loading;
mod log;
mod observe;
mod partitions;
mod registry;
mod retention;
mod stale_replica;
mod state;
mod tables;
mod writers;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;

use self::bucket::{Admission, Bucket};
use self::early_ack::DiskImage;
pub(crate) use self::loading::is_promoted;
use self::retention::Guard;
use self::stale_replica::StaleReplica;
use self::tables::{Table, Tables};
use crate::config::StoreConfig;
use crate::contract::{
    AppendAck, AppendRequest, BucketId, BucketOffsets, Column, Environment, Failure, FailureCode, FetchedLog, Host,
    KeyRows, KeySnapshot, LakeRegistration, LakeSnapshot, LoadBegun, LoadSource, Observation, RegisteredSnapshots, Row,
    Store, StoreTable, TableId, TablePath, TableSchema, TieredOffsets,
};
use crate::defects::{Defect, Defects};
use crate::points::Point;

/// The reference store, one process.
pub struct InMemoryStore {
    environment: Rc<dyn Environment>,
    config: StoreConfig,
    defects: Defects,
    tables: RefCell<Tables>,
    /// How long an operator lets the log live for now, below what the configuration says. Durable.
    shortened_ttl_ms: Cell<Option<u64>>,
    /// Empty, and never looked at, in the reference.
    disk_image: RefCell<DiskImage>,
    /// As `disk_image`.
    stale_replica: RefCell<StaleReplica>,
    /// As `disk_image`; the names of dropped tables.
    former_names: RefCell<BTreeMap<TableId, TablePath>>,
}

impl InMemoryStore {
    /// A store without tables.
    pub fn new(environment: Rc<dyn Environment>, config: StoreConfig, defects: Defects) -> Self {
        Self {
            environment,
            config,
            defects,
            tables: RefCell::default(),
            shortened_ttl_ms: Cell::new(None),
            disk_image: RefCell::default(),
            stale_replica: RefCell::default(),
            former_names: RefCell::default(),
        }
    }

    /// What the store shows of a table, at once and without a remote call; all parts are absent where the store has
    /// no such table.
    pub fn observe(&self, path: &TablePath) -> Observation {
        self.tables.borrow().named(path).map(observe::observe).unwrap_or_default()
    }

    /// Waits for a sync that covers the bucket's log up to this offset. Whoever waits drives it, so it does not depend
    /// on the call that appended the batch. Indefinite if the table is dropped meanwhile: another waiter may have made
    /// the batch durable, and a reader may have seen it, before the drop.
    async fn sync(&self, table_id: TableId, bucket: &BucketId, up_to_offset_exclusive: u64) -> Result<(), Failure> {
        // Planted bug ack-before-durable: what is in memory passes for durable.
        if !self.defects.has(Defect::AckBeforeDurable) {
            let passed_ms = self.show_half_an_update(table_id, bucket, up_to_offset_exclusive).await;
            self.environment.sleep_ms(self.config.sync_ms - passed_ms).await;
        }
        let mut tables = self.tables.borrow_mut();
        let bucket = tables.get_mut(table_id).ok().and_then(|table| table.buckets.get_mut(bucket));
        match bucket {
            Some(bucket) => {
                bucket.make_durable(up_to_offset_exclusive);
                Ok(())
            }
            None => {
                self.environment.reached(Point::WriteLostWithTable);
                Err(Failure::internal(format!(
                    "the table with id {table_id} was dropped while a write to it was under way; the write is gone \
                     with it"
                )))
            }
        }
    }

    /// The beginning of a sync of a batch with updates: the high watermark makes a stop inside it, between −U and +U, and
    /// what is shown ends there for the rest of the sync. Returns how many milliseconds it took.
    async fn show_half_an_update(&self, table_id: TableId, bucket: &BucketId, end_offset_exclusive: u64) -> u64 {
        let stop = |tables: &Tables| tables.get(table_id).ok()?.buckets.get(bucket)?.stop_within(end_offset_exclusive);
        let Some(stop) = stop(&self.tables.borrow()) else { return 0 };
        let beginning_ms = self.config.sync_ms / 4;
        self.environment.sleep_ms(beginning_ms).await;
        let mut tables = self.tables.borrow_mut();
        if let Some(bucket) = tables.get_mut(table_id).ok().and_then(|table| table.buckets.get_mut(bucket)) {
            bucket.show_up_to(stop);
            self.environment.reached(Point::WatermarkInUpdate);
        }
        beginning_ms
    }

    /// An operator lets the log live for at most so long from now on, or as long as is configured. What retention may
    /// remove stays the same: what is readable in the lake (L9).
    pub fn shorten_retention(&self, log_ttl_ms: Option<u64>) {
        self.shortened_ttl_ms.set(log_ttl_ms);
    }

    /// When what is old enough to go had arrived, exclusive, by the store's own clock; `None` if nothing is.
    fn expires_before_ms(&self) -> Option<u64> {
        let ttl_ms = [self.config.log_ttl_ms, self.shortened_ttl_ms.get()].into_iter().flatten().min()?;
        self.environment.now_ms().checked_sub(ttl_ms)
    }

    /// Retention's loop; it never ends.
    async fn expire_for_ever(&self) {
        loop {
            self.environment.sleep_ms(self.config.retention_interval_ms.max(1)).await;
            self.expire_log();
            self.expire_partitions();
        }
    }

    /// One look at all logs, if any log ever gets old.
    fn expire_log(&self) {
        let guard = match &self.defects {
            // Planted bug ttl-before-tier: age alone decides.
            defects if defects.has(Defect::TtlBeforeTier) => Guard::Nothing,
            // Planted bug retention-by-tiered: what is tiered passes for readable.
            defects if defects.has(Defect::RetentionByTiered) => Guard::Tiered,
            _ => Guard::Readable,
        };
        let Some(arrived_before_ms) = self.expires_before_ms() else { return };
        let expired = retention::expire_log(&mut self.tables.borrow_mut(), arrived_before_ms, guard);
        if expired.trimmed {
            self.environment.reached(Point::LogTrimmed);
        }
        if expired.held_back {
            self.environment.reached(Point::LogHeldBack);
        }
    }

    /// One look at the partitions of all tables.
    fn expire_partitions(&self) {
        // Planted bug partition-drop-before-tier: a partition goes with what the lake does not have yet.
        let guarded = !self.defects.has(Defect::PartitionDropBeforeTier);
        for table in self.tables.borrow_mut().iter_mut() {
            let left = table.expire_partitions(guarded);
            if left.gone > 0 {
                self.environment.reached(Point::PartitionExpired);
            }
            if left.held_back > 0 {
                self.environment.reached(Point::PartitionHeldBack);
            }
        }
    }

    /// Tells the points that a refused append has come to.
    fn tell_refusal(&self, failure: &Failure) {
        match failure.code {
            // That a later batch of its writer is durable is all that a batch is rejected for.
            FailureCode::Rejected => self.environment.reached(Point::AppendOvertaken),
            FailureCode::Unsupported => self.environment.reached(Point::PartitionClosed),
            _ => {}
        }
    }

    /// Answers a read of rows or offsets from the table as readers may see it.
    fn read<T>(&self, table_id: TableId, read: impl Fn(&Table) -> Result<T, Failure>) -> Result<T, Failure> {
        let tables = self.tables.borrow();
        let table = tables.get(table_id)?;
        // Planted bug rt-stale-replica: for a while after a restart an older copy answers.
        if let Some(older) = self.stale_replica.borrow().of(table, self.environment.now_ms()) {
            return read(older);
        }
        // Planted bug dirty-read-lost: the volatile tail is shown like the rest.
        if self.defects.has(Defect::DirtyReadLost) {
            let mut dirty = table.clone();
            dirty.buckets.values_mut().for_each(|bucket| bucket.make_durable(u64::MAX));
            return read(&dirty);
        }
        read(table)
    }

    /// Planted bug rt-stale-replica: takes the copy now and then.
    async fn copy_for_ever(&self) {
        if !self.defects.has(Defect::RtStaleReplica) {
            return std::future::pending().await;
        }
        loop {
            self.stale_replica.borrow_mut().copy(&self.tables.borrow());
            self.environment.sleep_ms(stale_replica::COPY_INTERVAL_MS).await;
        }
    }

    /// Planted bug ack-before-durable: the sync that runs in the background instead of before the acks.
    async fn sync_in_background_for_ever(&self) {
        if !self.defects.has(Defect::AckBeforeDurable) {
            return std::future::pending().await;
        }
        loop {
            self.environment.sleep_ms((early_ack::SYNC_FACTOR * self.config.sync_ms).max(1)).await;
            *self.disk_image.borrow_mut() = DiskImage::of(&self.tables.borrow());
        }
    }
}

#[async_trait(?Send)]
impl Store for InMemoryStore {
    async fn create_table(&self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure> {
        self.tables.borrow_mut().create(path, schema)
    }

    async fn drop_table(&self, path: &TablePath) -> Result<(), Failure> {
        let table_id = self.tables.borrow_mut().drop(path)?;
        // Planted bug late-registration: see `register_lake_snapshot`.
        if self.defects.has(Defect::LateRegistration) {
            self.former_names.borrow_mut().insert(table_id, path.clone());
        }
        Ok(())
    }

    async fn table(&self, path: &TablePath) -> Result<StoreTable, Failure> {
        self.tables.borrow().named(path).map(|table| table.definition.clone())
    }

    async fn tables(&self) -> Result<Vec<StoreTable>, Failure> {
        Ok(self.tables.borrow().iter().map(|table| table.definition.clone()).collect())
    }

    async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        self.tables.borrow_mut().alter_options(path, set, reset)
    }

    async fn add_columns(&self, path: &TablePath, columns: &[Column]) -> Result<(), Failure> {
        self.tables.borrow_mut().add_columns(path, columns)
    }

    async fn append(&self, request: AppendRequest) -> Result<AppendAck, Failure> {
        let (table_id, bucket) = (request.table_id, request.bucket.clone());
        let (writer_id, batch_sequence) = (request.writer_id, request.batch_sequence);
        let now_ms = self.environment.now_ms();
        let admission = self.tables.borrow_mut().get_mut(table_id)?.append(request, now_ms, &self.defects);
        match admission.inspect_err(|failure| self.tell_refusal(failure))? {
            Admission::Durable(ack) => {
                self.environment.reached(Point::AppendRepeated);
                Ok(ack)
            }
            Admission::Volatile(ack) => {
                self.sync(table_id, &bucket, ack.end_offset_exclusive).await?;
                Ok(ack)
            }
            Admission::Overtaken { end_offset_exclusive } => {
                self.environment.reached(Point::AppendOvertaken);
                self.sync(table_id, &bucket, end_offset_exclusive).await?;
                Err(bucket::overtaken(writer_id, batch_sequence))
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
        self.read(table_id, |table| {
            table.layout.check_bucket(bucket)?;
            let start_is_known = |bucket: &Bucket| start_offset_inclusive >= bucket.log_start_offset_inclusive();
            if table.has_expired(bucket) && !table.buckets.get(bucket).is_some_and(start_is_known) {
                self.environment.reached(Point::ExpiredPartitionRead);
            }
            match table.buckets.get(bucket) {
                Some(bucket) => bucket.fetch_log(start_offset_inclusive, end_offset_exclusive),
                None => Ok(FetchedLog { records: Vec::new(), next_offset_inclusive: start_offset_inclusive }),
            }
        })
    }

    async fn bucket_offsets(&self, table_id: TableId) -> Result<Vec<BucketOffsets>, Failure> {
        self.read(table_id, |table| {
            let offsets = table.written_buckets().map(|(bucket_id, bucket)| BucketOffsets {
                bucket: bucket_id.clone(),
                log_start_offset_inclusive: bucket.log_start_offset_inclusive(),
                log_end_offset_exclusive: bucket.log_end_offset_exclusive(),
                has_expired: table.has_expired(bucket_id),
            });
            Ok(offsets.collect())
        })
    }

    async fn lookup(&self, table_id: TableId, bucket: &BucketId, key: &Row) -> Result<Option<Row>, Failure> {
        self.read(table_id, |table| {
            table.layout.check_bucket(bucket)?;
            table.layout.check_key(key)?;
            if table.has_expired(bucket) {
                self.environment.reached(Point::ExpiredPartitionRead);
            }
            let Some(bucket) = table.buckets.get(bucket) else { return Ok(None) };
            let row = match table.layout.key_positions() {
                Some(key_positions) if self.defects.has(Defect::LookupBehindScan) => {
                    bucket.lookup_behind(key, key_positions)
                }
                _ => bucket.lookup(key),
            };
            Ok(row.cloned())
        })
    }

    async fn take_key_snapshot(&self, table_id: TableId, bucket: &BucketId) -> Result<KeySnapshot, Failure> {
        let (mut tables, now_ms) = (self.tables.borrow_mut(), self.environment.now_ms());
        let (snapshot, collected) = tables.get_mut(table_id)?.take_key_snapshot(bucket, now_ms, &self.defects)?;
        if collected {
            self.environment.reached(Point::KeySnapshotCollected);
        }
        Ok(snapshot)
    }

    async fn read_key_snapshot(
        &self,
        table_id: TableId,
        snapshot_id: u64,
        rows_read: u64,
        max_rows: u64,
    ) -> Result<KeyRows, Failure> {
        let now_ms = self.environment.now_ms();
        self.tables.borrow_mut().get_mut(table_id)?.read_key_snapshot(snapshot_id, rows_read, max_rows, now_ms)
    }

    async fn release_key_snapshot(&self, table_id: TableId, snapshot_id: u64) -> Result<(), Failure> {
        self.tables.borrow_mut().get_mut(table_id)?.key_snapshots.release(snapshot_id);
        Ok(())
    }

    async fn register_lake_snapshot(&self, table_id: TableId, registration: LakeRegistration) -> Result<(), Failure> {
        // L12: a late registration finds the identity that it was made for, or nothing.
        let mut tables = self.tables.borrow_mut();
        // Planted bug late-registration: the registration of a dropped table goes to whatever has its name now.
        let former_names = self.former_names.borrow();
        let successor = former_names.get(&table_id).and_then(|path| tables.named(path).ok());
        let table_id = successor.map_or(table_id, |table| table.definition.table_id);
        let table = tables.get_mut(table_id)?;
        registration.tiered.offsets.keys().try_for_each(|bucket| table.layout.check_bucket(bucket))?;
        if table.registry.tiered() == Some(&registration.tiered) {
            self.environment.reached(Point::RegistrationRepeated);
        }
        let registered = table.registry.register(registration, &self.defects);
        registered.inspect_err(|_| self.environment.reached(Point::RegistrationRefused))
    }

    async fn begin_load(&self, table_id: TableId, source: LoadSource) -> Result<LoadBegun, Failure> {
        self.tables.borrow_mut().get_mut(table_id)?.begin_load(source, &self.defects)
    }

    async fn stage_load(
        &self,
        table_id: TableId,
        load_id: u64,
        bucket: &BucketId,
        rows: Vec<Row>,
    ) -> Result<(), Failure> {
        self.tables.borrow_mut().get_mut(table_id)?.stage_load(load_id, bucket, rows, &self.defects)
    }

    async fn publish_load(&self, table_id: TableId, load_id: u64) -> Result<TieredOffsets, Failure> {
        self.tables.borrow_mut().get_mut(table_id)?.publish_load(load_id, &self.defects)
    }

    async fn register_source_snapshot(&self, table_id: TableId, snapshot: LakeSnapshot) -> Result<(), Failure> {
        let mut tables = self.tables.borrow_mut();
        let table = tables.get_mut(table_id)?;
        if table.registry.readable().is_some_and(|registered| registered.snapshot_id == snapshot.snapshot_id) {
            self.environment.reached(Point::PromotionWasRegistered);
        }
        table.register_source(snapshot, &self.defects)
    }

    async fn registered_snapshots(&self, table_id: TableId) -> Result<RegisteredSnapshots, Failure> {
        Ok(self.tables.borrow().get(table_id)?.registry.snapshots())
    }
}

#[async_trait(?Send)]
impl Host for InMemoryStore {
    fn crash(&self) {
        let mut tables = self.tables.borrow_mut();
        for table in tables.iter_mut() {
            for bucket in table.buckets.values_mut() {
                if bucket.has_tail() {
                    self.environment.reached(Point::TailLost);
                }
                bucket.crash();
            }
            table.buckets.retain(|_, bucket| !bucket.is_empty());
            table.loading.crash();
        }
        // Planted bug ack-before-durable: what was acked since the last background sync is gone too.
        if self.defects.has(Defect::AckBeforeDurable) {
            self.disk_image.borrow().restore(&mut tables);
        }
        // Planted bug rt-stale-replica: an older copy answers for a while.
        if self.defects.has(Defect::RtStaleReplica) {
            self.stale_replica.borrow_mut().serve(&tables, self.environment.now_ms());
        }
    }

    async fn run(&self) {
        futures::join!(self.expire_for_ever(), self.sync_in_background_for_ever(), self.copy_for_ever());
    }
}
