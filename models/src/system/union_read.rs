//! Reads of `$rt`: the newest lake snapshot, and of each bucket's log what that snapshot does not contain (rule 25; F1,
//! L3, L6).
//!
//! The hand-off is the whole art. The lake's part ends exactly where the log's part begins, because the offsets are
//! read from the lake itself: from the newest tiering snapshot at or before the one that is read. What the store has
//! registered may be older, and is not asked. Where readers skip what is new in a snapshot, the snapshot does not say
//! how much of the log they see: then the read is pinned to the one that is registered as readable, with its offsets.
//! This module must never know who tiers or compacts, or when.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use futures::future::join;

use crate::concurrently;
use crate::contract::{
    BucketId, BucketOffsets, Failure, FailureCode, Filter, LakeSnapshot, LogRecord, Output, PartitionValues, Row,
    RowSet, StoreTable, TIERING_COMMIT_USER, TablePath, TieredOffsets, Value,
};
use crate::defects::Defect;
use crate::paimon::{PaimonTable, Snapshot};
use crate::points::Point;
use crate::tiering::offsets_of;

use super::client::Client;
use super::filter::BoundFilter;
use super::layout::ColumnMapping;
use super::merge::{LakeRows, LogTail, drop_beyond_lake, union};

/// How often a read is planned before it gives up. A plan is overtaken when retention trims the log that it needs;
/// retention only trims what a newer snapshot contains, so the next plan finds that one.
pub(super) const PLANS: u32 = 4;

impl Client {
    /// SELECT from `$rt`.
    pub(super) async fn select_union(
        &self,
        path: &TablePath,
        table: &PaimonTable,
        filter: &Filter,
    ) -> Result<Output, Failure> {
        let filter = BoundFilter::bind(filter, table.schema())?;
        // Planted bug rt-cached: full scans are answered from a copy that is refreshed only now and then.
        let from_copy = self.lake.defects.has(Defect::RtCached) && filter.is_everything();
        if from_copy && let Some(answer) = self.stale_copies.answer(path) {
            return Ok(answer);
        }
        let store_table = self.store_table(path).await?;
        let read = UnionSource::new(self, table, &store_table).read(&filter, None).await?;
        let rows = RowSet { columns: table.schema().column_names(), rows: read.rows };
        let answer = Output::Rows { rows, snapshot_id: read.snapshot_id };
        if from_copy {
            self.stale_copies.keep(path, &answer);
        }
        Ok(answer)
    }

    /// A point lookup in `$rt`, from the store's key-value state. That state knows what went through the store; a key
    /// that it lacks may still be in the lake only, so a miss is answered by the union itself (L17).
    pub(super) async fn look_up_union(
        &self,
        path: &TablePath,
        table: &PaimonTable,
        key: &BTreeMap<String, Value>,
    ) -> Result<Output, Failure> {
        let schema = table.schema();
        let filter = BoundFilter::bind_key(key, schema)?;
        let store_table = self.store_table(path).await?;
        let source = UnionSource::new(self, table, &store_table);
        let row = filter.row(schema);
        let (bucket, key) = (table.bucket_of(&row), row.project(&schema.key_positions()));
        let look_up = async || self.store()?.lookup(store_table.table_id, &bucket, &key).await;
        let rows = match self.patience.read(look_up).await.map_err(|failure| self.of_the_store(failure))? {
            Some(row) => vec![source.mapping.map(row)],
            // Planted bug lake-only-lookup-empty: what the key-value state lacks is not there.
            None if self.lake.defects.has(Defect::LakeOnlyLookupEmpty) => Vec::new(),
            None => {
                self.lake.environment.reached(Point::LookupMissed);
                source.read(&filter, Some(&bucket)).await?.rows
            }
        };
        Ok(Output::Found { row: RowSet { columns: schema.column_names(), rows } })
    }
}

/// The lake's part of a union.
pub(super) struct LakePart {
    /// The snapshot to read; `None` where the lake has nothing that belongs to the table.
    pub snapshot: Option<Snapshot>,
    /// Where each bucket's log goes on: the exclusive end of the lake is the inclusive start of the log.
    pub offsets: TieredOffsets,
}

impl LakePart {
    const NOTHING: Self = Self { snapshot: None, offsets: TieredOffsets::new() };

    /// The first offset of this bucket's log that the lake does not contain. A bucket that was never tiered begins at
    /// 0, whatever else the lake holds.
    pub(super) fn start_offset_inclusive(&self, bucket: &BucketId) -> u64 {
        self.offsets.get(bucket).copied().unwrap_or(0)
    }
}

/// What a union read returns.
pub(super) struct UnionRows {
    pub rows: Vec<Row>,
    /// The lake snapshot that was read.
    pub snapshot_id: Option<u64>,
}

/// Both sides of one table, for one statement.
pub(super) struct UnionSource<'a> {
    pub(super) client: &'a Client,
    pub(super) table: &'a PaimonTable,
    pub(super) store_table: &'a StoreTable,
    pub(super) mapping: ColumnMapping,
}

impl<'a> UnionSource<'a> {
    pub(super) fn new(client: &'a Client, table: &'a PaimonTable, store_table: &'a StoreTable) -> Self {
        let mapping = ColumnMapping::between(&store_table.schema, table.schema());
        Self { client, table, store_table, mapping }
    }

    /// The rows that match; of one bucket only, if the caller knows that no other can match.
    pub(super) async fn read(
        &self,
        filter: &BoundFilter,
        only_bucket: Option<&BucketId>,
    ) -> Result<UnionRows, Failure> {
        for _ in 0..PLANS {
            if let Some(rows) = self.try_read(filter, only_bucket).await? {
                return Ok(rows);
            }
            self.client.lake.environment.reached(Point::UnionReplanned);
        }
        Err(self.trimmed_too_far())
    }

    /// One plan and its execution; `None` if the log was trimmed meanwhile.
    async fn try_read(
        &self,
        filter: &BoundFilter,
        only_bucket: Option<&BucketId>,
    ) -> Result<Option<UnionRows>, Failure> {
        // The lake first: a write that was acked before this statement is in the log's end below, or in this snapshot,
        // or in both, and then the offsets leave it to the snapshot.
        let mut lake = self.lake_part().await?;
        let buckets = self.bucket_offsets().await?;
        self.plant_moved_start(&mut lake, &buckets, filter).await?;
        // Start offsets do not depend on the filter: a bucket whose lake files are all pruned is as tiered as before.
        let needed = buckets.into_iter().filter(|offsets| only_bucket.is_none_or(|bucket| *bucket == offsets.bucket));
        let needed: Vec<BucketOffsets> = needed.collect();
        let in_store = needed.iter().filter(|offsets| !offsets.has_expired);
        let in_store: BTreeSet<PartitionValues> = in_store.map(|offsets| offsets.bucket.partition.clone()).collect();
        let is_trimmed =
            |offsets: &BucketOffsets| lake.start_offset_inclusive(&offsets.bucket) < offsets.log_start_offset_inclusive;
        if needed.iter().any(is_trimmed) {
            return Ok(None);
        }
        let fetches = needed.into_iter().map(async |offsets| {
            let start = lake.start_offset_inclusive(&offsets.bucket);
            let records = self.fetch(&offsets.bucket, start, offsets.log_end_offset_exclusive).await;
            records.map(|records| (offsets.bucket, records))
        });
        let (lake_rows, tail) = join(self.scan(lake.snapshot.as_ref(), filter), concurrently::all(fetches)).await;
        let mut tail = match tail.into_iter().collect::<Result<LogTail, Failure>>() {
            Ok(tail) => tail,
            Err(failure) if failure.code == FailureCode::Invalid => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let mut lake_rows = lake_rows?;
        let is_in_lake = lake_rows.values().any(|rows| !rows.is_empty());
        if is_in_lake && tail.iter().any(|(_, records)| !records.is_empty()) {
            self.client.lake.environment.reached(Point::UnionOfBoth);
        }
        let defects = &self.client.lake.defects;
        // Planted bug lake-only-partition-missing: only partitions that the store has are returned.
        if defects.has(Defect::LakeOnlyPartitionMissing) {
            lake_rows.retain(|bucket, _| in_store.contains(&bucket.partition));
        }
        // Planted bug merge-drops-tail: the merge stops when the lake's side ends.
        if defects.has(Defect::MergeDropsTail) && self.table.schema().has_primary_key() {
            drop_beyond_lake(self.table.schema(), &lake_rows, &mut tail);
        }
        let rows = union(self.table.schema(), filter, lake_rows, tail);
        Ok(Some(UnionRows { rows, snapshot_id: lake.snapshot.map(|snapshot| snapshot.id) }))
    }

    /// Planted bug filter-moves-start: where a filter leaves a tiered bucket without lake rows, the table passes for one
    /// that was not tiered yet.
    async fn plant_moved_start(
        &self,
        lake: &mut LakePart,
        buckets: &[BucketOffsets],
        filter: &BoundFilter,
    ) -> Result<(), Failure> {
        if !self.client.lake.defects.has(Defect::FilterMovesStart) || filter.is_everything() {
            return Ok(());
        }
        let matching = self.scan(lake.snapshot.as_ref(), filter).await?;
        if lake.offsets.keys().any(|bucket| !matching.contains_key(bucket)) {
            let starts = buckets.iter().map(|offsets| (offsets.bucket.clone(), offsets.log_start_offset_inclusive));
            lake.offsets = starts.collect();
        }
        Ok(())
    }

    /// The newest lake snapshot, tiering's or not: an overwrite shows at once. Its hand-off offsets are those of the
    /// newest tiering snapshot at or before it, because nobody else moves rows out of the log.
    pub(super) async fn lake_part(&self) -> Result<LakePart, Failure> {
        let (patience, table) = (&self.client.patience, self.table);
        if table.readers_skip_level_0() {
            return self.readable_part().await;
        }
        let Some(newest) = patience.read(async || table.latest_snapshot().await).await? else {
            // Planted bug never-tiered-fails: a table without a snapshot cannot be read.
            if self.client.lake.defects.has(Defect::NeverTieredFails) {
                return Err(Failure::internal(format!("expected a snapshot of {}, found none", table.path())));
            }
            return Ok(LakePart::NOTHING);
        };
        let newest_tiering = async || table.newest_snapshot_of_user(&newest, TIERING_COMMIT_USER).await;
        let Some(tiering) = patience.read(newest_tiering).await? else {
            // Planted bug history-shadowed-by-store: what did not come through a log is not looked for.
            if self.client.lake.defects.has(Defect::HistoryShadowedByStore) {
                return Ok(LakePart::NOTHING);
            }
            return Ok(LakePart { snapshot: Some(newest), offsets: TieredOffsets::new() });
        };
        match offsets_of(&tiering, table.schema()).map_err(Failure::made_definite)? {
            Some((table_id, mut offsets)) if table_id == self.store_table.table_id => {
                // Planted bug partition-name-mismatch: lake and log spell partitions differently.
                if self.client.lake.defects.has(Defect::PartitionNameMismatch) {
                    offsets = spelled_as_text(offsets);
                }
                Ok(LakePart { snapshot: Some(newest), offsets })
            }
            // P5: the table was promoted, and what its predecessor left is its history.
            Some(_) if self.store_table.source_snapshot_id >= Some(tiering.id) => {
                Ok(LakePart { snapshot: Some(newest), offsets: TieredOffsets::new() })
            }
            // L12: the store's table was created again, and what the lake holds came from its predecessor's log.
            Some(_) => Ok(LakePart::NOTHING),
            // A tiering snapshot without offsets fences off an earlier table: nothing of this one's log is tiered yet.
            None => Ok(LakePart { snapshot: Some(newest), offsets: TieredOffsets::new() }),
        }
    }

    /// The snapshot that is registered as readable, and its offsets; before there is one, the log has everything.
    async fn readable_part(&self) -> Result<LakePart, Failure> {
        let (client, table) = (self.client, self.table);
        let mut pinned_before = None;
        loop {
            let Some(pinned) = self.readable_snapshot().await? else { return Ok(LakePart::NOTHING) };
            match client.patience.read(async || table.snapshot(pinned.snapshot_id).await).await {
                Ok(snapshot) => return Ok(LakePart { snapshot: Some(snapshot), offsets: pinned.offsets }),
                // It may have expired since it was asked for, but then there is a newer one.
                Err(failure) if failure.code == FailureCode::NotFound && pinned_before != Some(pinned.snapshot_id) => {
                    pinned_before = Some(pinned.snapshot_id);
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// What the store has registered as readable.
    async fn readable_snapshot(&self) -> Result<Option<LakeSnapshot>, Failure> {
        let client = self.client;
        let read = async || client.store()?.registered_snapshots(self.store_table.table_id).await;
        let registered = client.patience.read(read).await.map_err(|failure| client.of_the_store(failure))?;
        if registered.readable.as_ref().map(|readable| &readable.offsets)
            != registered.tiered.as_ref().map(|tiered| &tiered.offsets)
        {
            client.lake.environment.reached(Point::UnionBehindTiered);
        }
        // Planted bug unreadable-level0: what is tiered passes for readable.
        let tiered_passes = client.lake.defects.has(Defect::UnreadableLevel0);
        Ok(if tiered_passes { registered.tiered } else { registered.readable })
    }

    /// The log's extent, bucket by bucket, as it is now.
    pub(super) async fn bucket_offsets(&self) -> Result<Vec<BucketOffsets>, Failure> {
        let client = self.client;
        let read = async || client.store()?.bucket_offsets(self.store_table.table_id).await;
        client.patience.read(read).await.map_err(|failure| client.of_the_store(failure))
    }

    /// The lake's rows that match.
    pub(super) async fn scan(&self, snapshot: Option<&Snapshot>, filter: &BoundFilter) -> Result<LakeRows, Failure> {
        match snapshot {
            Some(snapshot) => {
                let scan = async || self.table.scan(snapshot, filter.by_name()).await;
                self.client.patience.read(scan).await
            }
            None => Ok(LakeRows::new()),
        }
    }

    /// The records of one bucket in `[start, end)`, in the lake's columns. `invalid` if the log was trimmed beyond the
    /// start.
    pub(super) async fn fetch(
        &self,
        bucket: &BucketId,
        start_offset_inclusive: u64,
        end_offset_exclusive: u64,
    ) -> Result<Vec<LogRecord>, Failure> {
        let client = self.client;
        let mut records: Vec<LogRecord> = Vec::new();
        let mut next = start_offset_inclusive;
        while next < end_offset_exclusive {
            let table_id = self.store_table.table_id;
            let fetch = async || client.store()?.fetch_log(table_id, bucket, next, end_offset_exclusive).await;
            let fetched = client.patience.read(fetch).await.map_err(|failure| client.of_the_store(failure))?;
            // What counts is how far the store has come, not the last record: the range may end with empty batches.
            if fetched.next_offset_inclusive <= next {
                return Err(Failure::definite(
                    FailureCode::Internal,
                    format!("expected durable log from offset {next} to {end_offset_exclusive}, found none at {next}"),
                ));
            }
            next = fetched.next_offset_inclusive;
            let mapped =
                fetched.records.into_iter().map(|record| LogRecord { row: self.mapping.map(record.row), ..record });
            records.extend(mapped);
        }
        Ok(records)
    }

    /// No plan came through: the log lost what no snapshot contains, or retention is faster than this reader.
    pub(super) fn trimmed_too_far(&self) -> Failure {
        Failure::definite(
            FailureCode::Internal,
            format!(
                "expected the log of `{}` to begin where the newest lake snapshot ends, found it trimmed beyond that \
                 in {PLANS} plans",
                self.store_table.path
            ),
        )
    }
}

/// Copies of full `$rt` scans: always empty, but for the planted bug rt-cached.
#[derive(Default)]
pub(super) struct StaleCopies(RefCell<BTreeMap<TablePath, StaleCopy>>);

struct StaleCopy {
    answer: Output,
    answers_left: u32,
}

impl StaleCopies {
    /// How many reads a copy answers before it is refreshed.
    const ANSWERS: u32 = 4;

    fn answer(&self, path: &TablePath) -> Option<Output> {
        let mut copies = self.0.borrow_mut();
        let copy = copies.get_mut(path)?;
        copy.answers_left = copy.answers_left.checked_sub(1)?;
        Some(copy.answer.clone())
    }

    fn keep(&self, path: &TablePath, answer: &Output) {
        let copy = StaleCopy { answer: answer.clone(), answers_left: Self::ANSWERS };
        self.0.borrow_mut().insert(path.clone(), copy);
    }
}

/// Planted bug partition-name-mismatch: the offsets with partition values as text. A partition of the log whose values
/// are no strings is not found among them.
fn spelled_as_text(offsets: TieredOffsets) -> TieredOffsets {
    let text = |value: &Value| match value {
        Value::String(_) | Value::Null => value.clone(),
        other => Value::string(&format!("{other:?}")),
    };
    let spelled = |bucket: BucketId| BucketId {
        partition: Row::new(bucket.partition.cells().iter().map(text).collect()),
        bucket: bucket.bucket,
    };
    offsets.into_iter().map(|(bucket, end)| (spelled(bucket), end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_name_mismatch_loses_partitions_that_are_no_strings() {
        let of = |value: Value| BucketId { partition: Row::new(vec![value]), bucket: 0 };
        let (text, day) = (of(Value::string("mon")), of(Value::Date(3)));
        let spelled = spelled_as_text(TieredOffsets::from([(text.clone(), 4), (day.clone(), 5)]));
        assert_eq!((spelled.get(&text), spelled.get(&day)), (Some(&4), None));
    }
}
