//! The planted bug `ack-before-durable`: acks that leave when a batch is in memory.
//!
//! The batch is shown at once and written to disk much later, by a sync in the background; a crash brings back what
//! the last such sync wrote. Nothing here runs in the reference.

use std::collections::BTreeMap;

use super::bucket::Bucket;
use super::tables::Tables;
use crate::contract::{BucketId, TableId};

/// How many times longer the background sync waits than an honest one takes.
pub(super) const SYNC_FACTOR: u64 = 20;

/// All buckets as the last background sync wrote them.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskImage(BTreeMap<TableId, BTreeMap<BucketId, Bucket>>);

impl DiskImage {
    /// What a sync writes now.
    pub fn of(tables: &Tables) -> Self {
        Self(tables.iter().map(|table| (table.definition.table_id, table.buckets.clone())).collect())
    }

    /// What a crash leaves: the buckets of the last sync.
    pub fn restore(&self, tables: &mut Tables) {
        for table in tables.iter_mut() {
            table.buckets = self.0.get(&table.definition.table_id).cloned().unwrap_or_default();
            // The image may be older than a column.
            table.widen_rows();
        }
    }
}
