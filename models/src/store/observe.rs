//! What the store shows of itself to whoever certifies it, outside simulated time.
//!
//! Only what a peer could read by remote calls: this module must never show the volatile tail.

use super::tables::Table;
use crate::contract::{BucketId, LakeSnapshot, Observation, ObservedOffset, ObservedRows, partition_name};

/// The observation of a table. Every list is explicit: one that is empty says that there are no such buckets.
pub(super) fn observe(table: &Table) -> Observation {
    let partition = |bucket: &BucketId| partition_name(&table.definition.schema.partition_keys, &bucket.partition);
    let observed =
        |bucket: &BucketId, offset: u64| ObservedOffset { partition: partition(bucket), bucket: bucket.bucket, offset };
    let registered = |snapshot: Option<&LakeSnapshot>| {
        let offsets = snapshot.into_iter().flat_map(|snapshot| &snapshot.offsets);
        offsets.map(|(bucket, offset)| observed(bucket, *offset)).collect()
    };
    let (mut log_start, mut log_end) = (Vec::new(), Vec::new());
    for (bucket_id, bucket) in table.written_buckets() {
        log_start.push(observed(bucket_id, bucket.log_start_offset_inclusive()));
        log_end.push(observed(bucket_id, bucket.log_end_offset_exclusive()));
    }
    let key_rows = table.key_rows().map(|(bucket, rows)| ObservedRows {
        partition: partition(bucket),
        bucket: bucket.bucket,
        rows,
    });
    let snapshots = table.registry.snapshots();
    Observation {
        tiered: Some(registered(snapshots.tiered.as_ref())),
        readable: Some(registered(snapshots.readable.as_ref())),
        log_end: Some(log_end),
        log_start: Some(log_start),
        key_rows: Some(key_rows.collect()),
        lake_snapshot_id: snapshots.tiered.map(|snapshot| snapshot.snapshot_id),
        readable_snapshot_id: snapshots.readable.map(|snapshot| snapshot.snapshot_id),
        table_id: Some(table.definition.table_id.to_string()),
    }
}
