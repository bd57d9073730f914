//! Snapshots of key-value state, and the leases that keep them.
//!
//! Whoever wants the rows of a bucket of a key table rather than its log takes a snapshot: the rows as they are after
//! all records below an offset, which it is told. Every read of it renews its lease. A snapshot whose lease has run out
//! is collected when the next one of its table is taken; one that a reader still needs never is (F5).
//! Snapshots and leases are durable. This module must never know what the rows are read for.

use std::collections::BTreeMap;

use super::tables::Table;
use crate::contract::{BucketId, Failure, KeyRows, KeySnapshot, Row};
use crate::defects::{Defect, Defects};

/// How long a snapshot is kept for a reader that is silent, in milliseconds.
const LEASE_MS: u64 = 5_000;

/// The snapshots of one table.
#[derive(Clone, Debug, Default)]
pub(super) struct KeySnapshots {
    /// How many were ever taken; the newest one's id.
    taken: u64,
    held: BTreeMap<u64, Held>,
}

#[derive(Clone, Debug)]
struct Held {
    rows: BTreeMap<Row, Row>,
    leased_until_ms_exclusive: u64,
}

impl KeySnapshots {
    /// Removes what no lease keeps, and says whether there was any.
    fn collect(&mut self, now_ms: u64, defects: &Defects) -> bool {
        let before = self.held.len();
        // Planted bug pinned-snapshot-collected: whatever is not the newest goes, leased or not.
        if defects.has(Defect::PinnedSnapshotCollected) {
            self.held.clear();
        }
        self.held.retain(|_, held| now_ms < held.leased_until_ms_exclusive);
        self.held.len() < before
    }

    /// The rows of all snapshots, to change them; their keys stay.
    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        self.held.values_mut().flat_map(|held| held.rows.values_mut())
    }

    /// Gives up the lease of a snapshot; one that is gone is nobody's concern.
    pub(super) fn release(&mut self, snapshot_id: u64) {
        self.held.remove(&snapshot_id);
    }
}

impl Table {
    /// Takes a snapshot of a bucket; see [`crate::contract::Store::take_key_snapshot`]. Also whether an older one was
    /// collected.
    pub(super) fn take_key_snapshot(
        &mut self,
        bucket_id: &BucketId,
        now_ms: u64,
        defects: &Defects,
    ) -> Result<(KeySnapshot, bool), Failure> {
        self.layout.check_bucket(bucket_id)?;
        if self.layout.key_positions().is_none() {
            return Err(Failure::invalid(format!(
                "expected a table with a primary key to take a snapshot of, found the append table {}; read its log",
                self.definition.path
            )));
        }
        let collected = self.key_snapshots.collect(now_ms, defects);
        let bucket = self.buckets.get(bucket_id).filter(|_| !self.has_expired(bucket_id)).ok_or_else(|| {
            Failure::rejected(format!(
                "expected a bucket of {} with state, found bucket {}, which was never written or has left the store",
                self.definition.path, bucket_id.bucket
            ))
        })?;
        self.key_snapshots.taken += 1;
        let snapshot_id = self.key_snapshots.taken;
        let held = Held { rows: bucket.key_rows().clone(), leased_until_ms_exclusive: now_ms + LEASE_MS };
        let end_offset_exclusive = bucket.log_end_offset_exclusive();
        self.key_snapshots.held.insert(snapshot_id, held);
        Ok((KeySnapshot { snapshot_id, end_offset_exclusive }, collected))
    }

    /// A piece of a snapshot; see [`crate::contract::Store::read_key_snapshot`].
    pub(super) fn read_key_snapshot(
        &mut self,
        snapshot_id: u64,
        rows_read: u64,
        max_rows: u64,
        now_ms: u64,
    ) -> Result<KeyRows, Failure> {
        let held = self.key_snapshots.held.get_mut(&snapshot_id).ok_or_else(|| {
            Failure::rejected(format!(
                "expected key snapshot {snapshot_id} of {} to be leased, found it collected; take another one",
                self.definition.path
            ))
        })?;
        held.leased_until_ms_exclusive = now_ms + LEASE_MS;
        let (skipped, taken) = (usize::try_from(rows_read), usize::try_from(max_rows.max(1)));
        let mut rest = held.rows.values().skip(skipped.unwrap_or(usize::MAX));
        let rows = rest.by_ref().take(taken.unwrap_or(usize::MAX)).cloned().collect();
        Ok(KeyRows { rows, is_end: rest.next().is_none() })
    }
}
