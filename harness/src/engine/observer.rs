//! The observer: it looks at the system from outside, without cost in simulated time and without a port, and writes
//! down what the checkers may know besides the answers to statements.
//!
//! For the lake it reads the table's own files with our reader. The one thing that it changes is what nobody needs: after
//! a drain it runs the system's own clean-up (L18). It never judges.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use futures::FutureExt;
use models::contract::Store as _;
use models::contract::{
    BucketId, Change, Failure, Observation, ObservedOffset, RowKind, RowSet, TablePath, TableSchema, TieredOffsets,
    partition_name,
};
use models::paimon::integrity::Rule;
use models::paimon::{LakeAccess, OVERWRITE_BASE_PROPERTY, PaimonTable, Snapshot, TableDirectory, verify};
use models::store::InMemoryStore;
use models::tiering::offsets_of;

use super::network::Network;
use super::trace::fingerprint;
use crate::history::{BucketSeen, Event, FileFinding, Moment, SideState, SnapshotSeen};

/// Looks from outside.
pub struct Observer {
    network: Rc<Network>,
    lake: LakeAccess,
    store: Rc<InMemoryStore>,
    tables: Vec<TablePath>,
    seen: RefCell<BTreeMap<TablePath, Observation>>,
    /// The snapshots that were read before the run ended, since they were about to go.
    kept: RefCell<BTreeSet<(TablePath, u64)>>,
    /// The tables that were rolled back in the lake.
    rolled_back: RefCell<BTreeSet<TablePath>>,
}

impl Observer {
    /// An observer of these tables. `lake` has no port in front.
    pub fn new(network: &Rc<Network>, lake: LakeAccess, store: &Rc<InMemoryStore>, tables: Vec<TablePath>) -> Rc<Self> {
        Rc::new(Self {
            network: network.clone(),
            lake,
            store: store.clone(),
            tables,
            seen: RefCell::default(),
            kept: RefCell::default(),
            rolled_back: RefCell::default(),
        })
    }

    /// What the store says now, table by table: `registered` where it changed, `log` where its start changed, or
    /// everywhere with `whole_log`.
    pub fn sample(&self, whole_log: bool) {
        for table in &self.tables {
            let now = self.store.observe(table);
            let mut seen = self.seen.borrow_mut();
            let before = seen.entry(table.clone()).or_default();
            self.sample_registered(table, before, &now);
            self.sample_log(table, before, &now, whole_log);
            *before = now;
        }
    }

    fn sample_registered(&self, table: &TablePath, before: &Observation, now: &Observation) {
        let changed = before.lake_snapshot_id != now.lake_snapshot_id
            || before.tiered != now.tiered
            || before.readable != now.readable
            || before.readable_snapshot_id != now.readable_snapshot_id;
        if let (true, Some(snapshot_id), Some(table_id)) = (changed, now.lake_snapshot_id, &now.table_id) {
            self.network.observe(Event::Registered {
                table: table.clone(),
                table_id: table_id.clone(),
                snapshot_id,
                offsets: now.tiered.clone().unwrap_or_default(),
                readable: now.readable.clone().unwrap_or_default(),
            });
            if let Some(readable_id) = now.readable_snapshot_id.filter(|readable_id| *readable_id != snapshot_id) {
                self.network.observe(Event::Readable {
                    table: table.clone(),
                    table_id: table_id.clone(),
                    snapshot_id: readable_id,
                    offsets: now.readable.clone().unwrap_or_default(),
                });
            }
        }
    }

    fn sample_log(&self, table: &TablePath, before: &Observation, now: &Observation, whole_log: bool) {
        let starts = now.log_start.iter().flatten();
        let old_starts: BTreeMap<_, _> =
            before.log_start.iter().flatten().map(|start| ((&start.partition, start.bucket), start.offset)).collect();
        for (start, end) in starts.zip(now.log_end.iter().flatten()) {
            let moved = old_starts.get(&(&start.partition, start.bucket)).copied().unwrap_or(0) != start.offset;
            if moved || whole_log {
                self.network.observe(Event::Log {
                    table: table.clone(),
                    partition: start.partition.clone(),
                    bucket: start.bucket,
                    start_inclusive: start.offset,
                    end_exclusive: end.offset,
                });
            }
        }
    }

    /// A table was rolled back: what is registered may be what the lake no longer has.
    pub fn rolled_back(&self, table: &TablePath) {
        self.rolled_back.borrow_mut().insert(table.clone());
    }

    /// Whether what the store has registered is a snapshot of the lake, with its own offsets.
    fn is_in_lake(&self, path: &TablePath) -> bool {
        let now = self.store.observe(path);
        let found = at_once(async {
            let table = PaimonTable::open(&self.lake, path).await?;
            let snapshot = table.snapshot(now.lake_snapshot_id.unwrap_or_default()).await?;
            Ok(offsets_of(&snapshot, table.schema())?.map(|(_, offsets)| observed(&offsets, table.schema())))
        });
        found.is_ok_and(|offsets| offsets == now.tiered)
    }

    /// Whether everything in every log is in the lake, can be read there, and is registered as such.
    pub fn all_readable(&self) -> bool {
        if !self.rolled_back.borrow().iter().all(|table| self.is_in_lake(table)) {
            return false;
        }
        self.tables.iter().all(|table| {
            let now = self.store.observe(table);
            let readable: BTreeMap<_, _> =
                now.readable.iter().flatten().map(|at| ((&at.partition, at.bucket), at.offset)).collect();
            let mut ends = now.log_end.iter().flatten();
            ends.all(|end| readable.get(&(&end.partition, end.bucket)).copied().unwrap_or(0) >= end.offset)
        })
    }

    /// What a table is on both sides at this instant.
    pub fn state(&self, op: &str, table: &TablePath, moment: Moment) {
        // What is registered is told as of the same instant (P2 to P4).
        self.sample(false);
        let store = at_once(self.store.table(table)).ok().map(|known| {
            let observed = self.store.observe(table);
            SideState {
                table_id: known.table_id.to_string(),
                schema: (*known.schema).clone(),
                snapshot_id: None,
                files: None,
                offsets: observed.log_end,
                key_rows: observed.key_rows,
            }
        });
        let lake = at_once(self.lake_state(table)).ok();
        self.network.observe(Event::State { op: op.to_owned(), table: table.clone(), moment, lake, store });
    }

    async fn lake_state(&self, path: &TablePath) -> Result<SideState, Failure> {
        let table = PaimonTable::open(&self.lake, path).await?;
        let latest = table.latest_snapshot().await?;
        let files = self.lake.objects.list(TableDirectory::of(path).root()).await?;
        Ok(SideState {
            table_id: table.table_uuid().to_owned(),
            schema: (**table.schema()).clone(),
            snapshot_id: latest.map(|snapshot| snapshot.id),
            files: Some(files.len() as u64),
            offsets: None,
            key_rows: None,
        })
    }

    /// Runs the system's own clean-up over every table, as at a time when no writer is alive: `lake` is the system's own,
    /// without a port. Returns the tables that it went through to the end.
    pub fn clean_up(&self, lake: &LakeAccess) -> BTreeSet<TablePath> {
        let clean = |table: &&TablePath| {
            let cleaning = async {
                let table = PaimonTable::open(lake, table).await?;
                let seen = table.find_orphans().await?;
                table.remove_orphans(&seen, 0).await
            };
            at_once(cleaning).is_ok()
        };
        self.tables.iter().filter(clean).cloned().collect()
    }

    /// Reads every snapshot of every table from its files, then looks for what is wrong in them. `cleaned`: the tables
    /// that were cleaned up.
    pub fn read_lake(&self, cleaned: &BTreeSet<TablePath>) {
        for table in &self.tables {
            let mut findings = Vec::new();
            if let Err(failure) = at_once(self.read_snapshots(table)) {
                findings.push(FileFinding {
                    file: table.to_string(),
                    rule: Rule::FileReadable.statement().to_owned(),
                    consequence: format!("our reader cannot read the table: {failure}"),
                });
            }
            let verification = at_once(async { Ok(verify(&*self.lake.objects, table).await) }).unwrap_or_default();
            findings.extend(verification.findings.into_iter().map(|finding| FileFinding {
                rule: finding.rule.statement().to_owned(),
                consequence: format!("{}; {}", finding.found, finding.rule.consequence()),
                file: finding.file,
            }));
            let (orphans, cleaned) = (verification.orphans, cleaned.contains(table));
            self.network.observe(Event::Files { table: table.clone(), findings, orphans, cleaned });
        }
    }

    /// Reads the snapshots of a table that were not read yet, before some of them go. What cannot be read is told at the
    /// end, if it is still there.
    pub fn keep_snapshots(&self, table: &TablePath) {
        let _ = at_once(self.read_snapshots(table));
    }

    async fn read_snapshots(&self, path: &TablePath) -> Result<(), Failure> {
        let table = match PaimonTable::open(&self.lake, path).await {
            Ok(table) => table,
            // A table that was dropped or renamed away has no files to read.
            Err(failure) if failure.code == models::contract::FailureCode::NotFound => return Ok(()),
            Err(failure) => return Err(failure),
        };
        for snapshot_id in self.snapshot_ids(path).await? {
            if self.kept.borrow().contains(&(path.clone(), snapshot_id)) {
                continue;
            }
            let snapshot = table.snapshot(snapshot_id).await?;
            let seen = self.read_snapshot(path, &table, &snapshot).await?;
            self.network.observe(Event::Snapshot(Box::new(seen)));
            self.kept.borrow_mut().insert((path.clone(), snapshot_id));
        }
        Ok(())
    }

    /// All snapshots that there are, ascending: by listing, whatever the hints say.
    async fn snapshot_ids(&self, path: &TablePath) -> Result<Vec<u64>, Failure> {
        let files = self.lake.objects.list(&TableDirectory::of(path).snapshot_directory()).await?;
        let mut ids: Vec<u64> = files.iter().filter_map(|file| file.rsplit_once("snapshot-")?.1.parse().ok()).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    async fn read_snapshot(
        &self,
        path: &TablePath,
        table: &PaimonTable,
        snapshot: &Snapshot,
    ) -> Result<SnapshotSeen, Failure> {
        let schema = table.schema();
        let columns = schema.column_names();
        let mut rows = table.scan(snapshot, &BTreeMap::new()).await?;
        let mut added = table.delta(snapshot).await?;
        let tiered = offsets_of(snapshot, schema)?;
        let digest = fingerprint(&rows);
        let buckets: BTreeSet<BucketId> = rows.keys().chain(added.keys()).cloned().collect();
        let names: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
        let buckets = buckets.into_iter().map(|bucket| {
            let partition = partition_name(&schema.partition_keys, &bucket.partition);
            BucketSeen {
                bucket: bucket.bucket,
                rows: RowSet { columns: columns.clone(), rows: rows.remove(&bucket).unwrap_or_default() },
                added: added
                    .remove(&bucket)
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(kind, row)| change(&names, &partition, bucket.bucket, kind, &row))
                    .collect(),
                partition,
            }
        });
        Ok(SnapshotSeen {
            table: path.clone(),
            table_id: tiered.as_ref().map(|(table_id, _)| table_id.to_string()),
            snapshot_id: snapshot.id,
            user: snapshot.commit_user.clone(),
            identifier: snapshot.commit_identifier,
            kind: format!("{:?}", snapshot.commit_kind).to_uppercase(),
            // The snapshot tells the time of its writer's clock.
            committed_at_ms: (self.network.arrivals().of(&TableDirectory::of(path).snapshot(snapshot.id)))
                .unwrap_or(snapshot.time_millis),
            overwrite_base: overwrite_base(snapshot),
            digest: format!("{digest:016x}"),
            buckets: Some(buckets.collect()),
            offsets: tiered.map(|(_, offsets)| observed(&offsets, schema)),
        })
    }
}

fn change(
    names: &[&str],
    partition: &Option<String>,
    bucket: u32,
    kind: RowKind,
    row: &models::contract::Row,
) -> Change {
    Change {
        kind,
        row: names.iter().zip(row.cells()).map(|(name, cell)| ((*name).to_owned(), cell.clone())).collect(),
        partition: partition.clone(),
        bucket: Some(bucket),
        offset: None,
    }
}

/// The snapshot that an overwrite began on, as its writer told.
fn overwrite_base(snapshot: &Snapshot) -> Option<u64> {
    snapshot.properties.as_ref()?.get(OVERWRITE_BASE_PROPERTY)?.parse().ok()
}

fn observed(offsets: &TieredOffsets, schema: &TableSchema) -> Vec<ObservedOffset> {
    let offsets = offsets.iter().map(|(bucket, offset)| ObservedOffset {
        partition: partition_name(&schema.partition_keys, &bucket.partition),
        bucket: bucket.bucket,
        offset: *offset,
    });
    offsets.collect()
}

/// Runs what never waits: behind the observer's lake there is no port.
fn at_once<T>(reading: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    reading.now_or_never().unwrap_or_else(|| Err(Failure::internal("the lake without a port made its reader wait")))
}
