//! The beginning of a key table: a bucket that the lake has nothing of yet, and whose log is longer than one fetch, is
//! read as the state that its log has come to, and from there on as log.
//!
//! The state after all records below an offset merges to the same rows as these records, so the lake is told the range
//! up to that offset, as ever (L7). The snapshot is read to its end or not at all: half of it is the state at no offset.
//! The planner takes it, and keeps it leased until the round is over, because whoever reads it may die and another one
//! reads it again. A planner that dies lets the lease run out. If the snapshot is collected all the same, the round fails
//! and the next one takes another. This module must never know who reads.

use futures::future::join_all;

use super::plan::SplitRange;
use super::read::LogReader;
use crate::config::WorkerConfig;
use crate::contract::{Failure, KeySnapshot, LogRecord, Row, RowKind, Store, StoreTable, TableId};
use crate::points::Point;

/// Takes a snapshot for each range that begins with state. After a failure none is leased.
pub(super) async fn take_key_snapshots(
    store: &dyn Store,
    table: &StoreTable,
    config: &WorkerConfig,
    ranges: &mut [SplitRange],
) -> Result<(), Failure> {
    // The history of a promoted table is in its state, and in the lake already.
    if !table.schema.has_primary_key() || table.source_snapshot_id.is_some() {
        return Ok(());
    }
    let one_fetch = config.fetch_max_records.max(1);
    for range in ranges.iter_mut().filter(|range| range.start_offset_inclusive == 0) {
        if range.end_offset_exclusive > one_fetch {
            match store.take_key_snapshot(table.table_id, &range.bucket).await {
                Ok(snapshot) => range.state = Some(snapshot),
                Err(failure) => {
                    release_key_snapshots(store, table.table_id, ranges).await;
                    return Err(failure);
                }
            }
        }
    }
    Ok(())
}

/// Gives up the leases of these ranges; one that cannot be given up runs out.
pub(super) async fn release_key_snapshots(store: &dyn Store, table_id: TableId, ranges: &[SplitRange]) {
    let leased = ranges.iter().filter_map(|range| range.state);
    join_all(leased.map(|snapshot| store.release_key_snapshot(table_id, snapshot.snapshot_id))).await;
}

impl LogReader<'_> {
    /// The rows that the range begins with, if it begins with state; it goes on behind it.
    pub(super) async fn read_key_snapshot(
        &self,
        range: &mut SplitRange,
    ) -> Result<Option<Vec<(RowKind, Row)>>, Failure> {
        let Some(snapshot) = range.state.take() else { return Ok(None) };
        let rows = self.key_rows(&snapshot).await?;
        self.environment.reached(Point::RoundFromKeySnapshot);
        range.start_offset_inclusive = snapshot.end_offset_exclusive;
        let now_ms = self.environment.now_ms();
        // No row has an offset of its own any more; that of the newest record is the only one that is certain.
        let offset = snapshot.end_offset_exclusive.saturating_sub(1);
        let insert = |row| {
            let record = LogRecord { offset, kind: RowKind::Insert, row };
            (record.kind, self.layout.lake_row(&range.bucket, record, now_ms))
        };
        Ok(Some(rows.into_iter().map(insert).collect()))
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
}
