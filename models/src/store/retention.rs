//! Log retention: old log goes once the lake has it.
//!
//! This module must never know why log is old; it only removes what is both older than the limit and below the
//! readable offset, so that a union read never misses its start and no untiered row is lost (L9, L16).

use super::tables::Tables;

/// What a look at all logs came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Expired {
    /// Some log was removed.
    pub(super) trimmed: bool,
    /// Some log is old enough and has to stay.
    pub(super) held_back: bool,
}

/// Removes, bucket by bucket and batch by batch from the log start, what arrived before the given time and is
/// readable in the lake. A bucket without a registered offset keeps everything. `guarded` is `true` in the reference.
pub(super) fn expire_log(tables: &mut Tables, arrived_before_ms: u64, guarded: bool) -> Expired {
    let mut expired = Expired::default();
    for table in tables.iter_mut() {
        let readable = table.registry.readable();
        for (bucket_id, bucket) in &mut table.buckets {
            let readable_offset_exclusive =
                readable.and_then(|snapshot| snapshot.offsets.get(bucket_id)).copied().unwrap_or(0);
            let log_start = bucket.log_start_offset_inclusive();
            bucket.expire_log(arrived_before_ms, if guarded { readable_offset_exclusive } else { u64::MAX });
            expired.trimmed |= bucket.log_start_offset_inclusive() > log_start;
            expired.held_back |= bucket.has_log_before(arrived_before_ms);
        }
    }
    expired
}
