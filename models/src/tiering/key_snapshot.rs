//! The beginning of a key table: a bucket that the lake has nothing of yet, and whose log is longer than one fetch, is
//! read as the state that its log has come to, and from there on as log.
//!
//! The state after all records below an offset merges to the same rows as these records, so the lake is told the range
//! up to that offset, as ever (L7). A snapshot of the state is read to its end or not at all: half of it is the state at
//! no offset. It is leased while it is read; if it is collected all the same, the round fails and the next one takes
//! another. This module must never know where the ranges come from.

use super::plan::SplitRange;
use super::read::{LogReader, ReadLog};
use crate::contract::{BucketId, Failure, KeySnapshot, LogRecord, Row, RowKind};
use crate::points::Point;

impl LogReader<'_> {
    /// Reads the state of each bucket that the lake has nothing of, and moves its range to where the state ends.
    pub(super) async fn read_key_snapshots(&self, ranges: &mut Vec<SplitRange>) -> Result<ReadLog, Failure> {
        let mut read = ReadLog::default();
        if !self.begins_with_state {
            return Ok(read);
        }
        let one_fetch = self.config.fetch_max_records.max(1);
        let is_long =
            |range: &&mut SplitRange| range.start_offset_inclusive == 0 && range.end_offset_exclusive > one_fetch;
        let mut taken = Vec::new();
        for range in ranges.iter_mut().filter(is_long) {
            let snapshot = self.store.take_key_snapshot(self.table_id, &range.bucket).await?;
            range.start_offset_inclusive = snapshot.end_offset_exclusive;
            taken.push((range.bucket.clone(), snapshot));
        }
        for (bucket, snapshot) in taken {
            let rows = self.key_rows(&snapshot).await?;
            self.environment.reached(Point::RoundFromKeySnapshot);
            self.take_rows(bucket, snapshot, rows, &mut read);
            // A lease that cannot be given up runs out.
            let _ = self.store.release_key_snapshot(self.table_id, snapshot.snapshot_id).await;
        }
        ranges.retain(|range| range.start_offset_inclusive < range.end_offset_exclusive);
        Ok(read)
    }

    /// All rows of a snapshot.
    async fn key_rows(&self, snapshot: &KeySnapshot) -> Result<Vec<Row>, Failure> {
        let mut rows: Vec<Row> = Vec::new();
        loop {
            let (rows_read, max_rows) = (rows.len() as u64, self.config.fetch_max_records);
            let read = self.store.read_key_snapshot(self.table_id, snapshot.snapshot_id, rows_read, max_rows).await;
            let piece = read.inspect_err(|failure| {
                if failure.definite {
                    self.environment.reached(Point::KeySnapshotLost);
                }
            })?;
            rows.extend(piece.rows);
            if piece.is_end {
                break;
            }
        }
        rows.iter().try_for_each(|row| self.expect_known_columns(row))?;
        Ok(rows)
    }

    /// The state is one insert of each of its rows.
    fn take_rows(&self, bucket: BucketId, snapshot: KeySnapshot, rows: Vec<Row>, read: &mut ReadLog) {
        let now_ms = self.environment.now_ms();
        // No row has an offset of its own any more; that of the newest is the only one that is certain.
        let offset = snapshot.end_offset_exclusive.saturating_sub(1);
        let insert = |row| {
            let record = LogRecord { offset, kind: RowKind::Insert, row };
            (record.kind, self.layout.lake_row(&bucket, record, now_ms))
        };
        let changes: Vec<(RowKind, Row)> = rows.into_iter().map(insert).collect();
        if !changes.is_empty() {
            read.changes.insert(bucket.clone(), changes);
        }
        read.advanced.insert(bucket, snapshot.end_offset_exclusive);
    }
}
