//! Reads one planned range of the log, as far as the time goes.
//!
//! It must never know the lake's files or offsets; it turns a range into changes and says how far it came.

use std::collections::BTreeMap;

use super::layout::RowLayout;
use super::plan::SplitRange;
use crate::config::WorkerConfig;
use crate::contract::{BucketId, Environment, Failure, FetchedLog, LogRecord, Row, RowKind, Store, TableId};
use crate::defects::{Defect, Defects};
use crate::points::Point;

/// Where a range is read from, and how.
pub(super) struct LogReader<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) environment: &'a dyn Environment,
    pub(super) config: &'a WorkerConfig,
    pub(super) defects: &'a Defects,
    pub(super) table_id: TableId,
    /// Whether the table has a primary key.
    pub(super) keyed: bool,
    /// Whether rows of a bucket of the log may lie anywhere in the lake.
    pub(super) bucket_unaware: bool,
    pub(super) layout: RowLayout,
    /// How many cells a row has in the definition that the layout was made from.
    pub(super) column_count: usize,
}

/// What was read.
#[derive(Default)]
pub(super) struct ReadLog {
    /// In log order, by the bucket of the lake in which they go; only buckets that have any.
    pub(super) changes: BTreeMap<BucketId, Vec<(RowKind, Row)>>,
    /// The end (exclusive) of what was read; `None` if the bucket got no further.
    pub(super) end_offset_exclusive: Option<u64>,
    /// Whether the time ran out before all of the range was read.
    pub(super) cut_short: bool,
}

impl LogReader<'_> {
    /// Reads the range piece by piece, until all is read or it is `end_ms`. The first piece is read at any time if
    /// `at_least_one` says so.
    pub(super) async fn read(
        &self,
        mut range: SplitRange,
        end_ms: u64,
        at_least_one: bool,
    ) -> Result<ReadLog, Failure> {
        let mut read = ReadLog::default();
        if let Some(rows) = self.read_key_snapshot(&mut range).await? {
            read.end_offset_exclusive = Some(range.start_offset_inclusive);
            if !rows.is_empty() {
                read.changes.insert(range.bucket.clone(), rows);
            }
        }
        let mut is_due = at_least_one && read.end_offset_exclusive.is_none();
        while range.start_offset_inclusive < range.end_offset_exclusive {
            if !is_due && self.environment.now_ms() >= end_ms {
                read.cut_short = true;
                // Planted bug force-finish-loses-rest: what was planned passes for what was read.
                if self.defects.has(Defect::ForceFinishLosesRest) {
                    read.end_offset_exclusive = Some(range.end_offset_exclusive);
                }
                break;
            }
            is_due = false;
            let fetched = self.fetch(&range).await?;
            range.start_offset_inclusive = fetched.next_offset_inclusive;
            self.take(&range.bucket, fetched, &mut read);
        }
        Ok(read)
    }

    /// One piece from the start of the range. Fails if the log does not move on, because waiting for it could take for
    /// ever.
    async fn fetch(&self, range: &SplitRange) -> Result<FetchedLog, Failure> {
        let start = range.start_offset_inclusive;
        let end = range.end_offset_exclusive.min(start.saturating_add(self.config.fetch_max_records.max(1)));
        // Planted bug stop-offset-overrun: the stop offset is taken for the last one to read.
        let overrun = u64::from(self.defects.has(Defect::StopOffsetOverrun) && end == range.end_offset_exclusive);
        let mut fetched = self.store.fetch_log(self.table_id, &range.bucket, start, end + overrun).await?;
        fetched.next_offset_inclusive -= overrun.min(fetched.next_offset_inclusive.saturating_sub(end));
        // Planted bug empty-batch-hang: records are waited for, whatever the store says of where it is.
        while self.defects.has(Defect::EmptyBatchHang) && fetched.records.is_empty() {
            self.environment.sleep_ms(self.config.poll_interval_ms).await;
            fetched = self.store.fetch_log(self.table_id, &range.bucket, start, end).await?;
        }
        if fetched.next_offset_inclusive <= start || fetched.next_offset_inclusive > end {
            return Err(Failure::invalid(format!(
                "expected a fetch of bucket {} from [{start}, {end}) to move on within it, found it at {}",
                range.bucket.bucket, fetched.next_offset_inclusive
            )));
        }
        // Planted bug old-schema-truncates: cells that the round's definition does not know are dropped.
        if self.defects.has(Defect::OldSchemaTruncates) {
            for record in fetched.records.iter_mut().filter(|record| record.row.cells().len() > self.column_count) {
                record.row = record.row.project(&Vec::from_iter(0..self.column_count));
            }
        }
        fetched.records.iter().try_for_each(|record| self.expect_known_columns(&record.row))?;
        Ok(fetched)
    }

    /// The store answers in its newest version. A row that is wider than the layout knows would lose cells (L13).
    pub(super) fn expect_known_columns(&self, row: &Row) -> Result<(), Failure> {
        if row.cells().len() == self.column_count {
            return Ok(());
        }
        self.environment.reached(Point::RowsOutgrewRound);
        Err(Failure::invalid(format!(
            "expected rows of {} cells, found one of {}; the table got columns since the round began",
            self.column_count,
            row.cells().len()
        )))
    }

    fn take(&self, bucket: &BucketId, mut fetched: FetchedLog, read: &mut ReadLog) {
        // Planted bug empty-batch-stuck: progress is taken from the records, so batches without any are no progress.
        if self.defects.has(Defect::EmptyBatchStuck) && fetched.records.is_empty() {
            return;
        }
        if fetched.records.is_empty() {
            self.environment.reached(Point::EmptyBatchesRead);
        }
        // Planted bug update-pair-split: an update happens at its −U, so a range that begins with +U has had it.
        if self.defects.has(Defect::UpdatePairSplit) && self.keyed {
            split_pairs(&mut fetched.records, read.end_offset_exclusive.is_none());
        }
        // A fetch without records is progress all the same: its batches changed nothing (F5).
        read.end_offset_exclusive = Some(fetched.next_offset_inclusive);
        // −U only says what +U replaces; in the lake the key does that.
        let records = fetched.records.into_iter().filter(|record| !self.keyed || record.kind != RowKind::UpdateBefore);
        let now_ms = self.environment.now_ms();
        let lake_row = |record: LogRecord| (record.kind, self.layout.lake_row(bucket, record, now_ms));
        // Planted bug bucket-unaware-spread: the rows of such a table are dealt out to buckets of the lake.
        if self.defects.has(Defect::BucketUnawareSpread) && self.bucket_unaware {
            for record in records {
                let dealt = BucketId { bucket: (record.offset % 3) as u32, ..bucket.clone() };
                read.changes.entry(dealt).or_default().push(lake_row(record));
            }
            return;
        }
        let mut changes = records.map(lake_row).peekable();
        if changes.peek().is_some() {
            read.changes.entry(bucket.clone()).or_default().extend(changes);
        }
    }
}

/// Planted bug update-pair-split: a −U that ends a piece is a delete, and a +U that begins a range is left out.
fn split_pairs(records: &mut Vec<LogRecord>, begins_range: bool) {
    if begins_range && records.first().is_some_and(|first| first.kind == RowKind::UpdateAfter) {
        records.remove(0);
    }
    if let Some(last) = records.last_mut().filter(|last| last.kind == RowKind::UpdateBefore) {
        last.kind = RowKind::Delete;
    }
}
