//! Log retention: old log goes once the lake has it.
//!
//! This module must never know why log is old; it only removes what is both older than the limit and below the
//! readable offset, so that a union read never misses its start and no untiered row is lost (L9, L16).

use super::tables::Tables;

/// Removes, bucket by bucket and batch by batch from the log start, what arrived before the given time and is
/// readable in the lake. A bucket without a registered offset keeps everything. `guarded` is `true` in the reference.
pub(super) fn expire_log(tables: &mut Tables, arrived_before_ms: u64, guarded: bool) {
    for table in tables.iter_mut() {
        let readable = table.registry.readable();
        for (bucket_id, bucket) in &mut table.buckets {
            let readable_offset_exclusive =
                readable.and_then(|snapshot| snapshot.offsets.get(bucket_id)).copied().unwrap_or(0);
            bucket.expire_log(arrived_before_ms, if guarded { readable_offset_exclusive } else { u64::MAX });
        }
    }
}
