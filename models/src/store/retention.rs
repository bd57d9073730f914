//! Log retention: old log goes once it can be read in the lake.
//!
//! This module must never know why log is old; it only removes what is both older than the limit and below the
//! readable offset, which may be behind the tiered one, so that a union read never misses its start and no untiered row
//! is lost (L9, L16).

use super::registry::Registry;
use super::tables::Tables;
use crate::contract::BucketId;

/// What a look at all logs came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Expired {
    /// Some log was removed.
    pub(super) trimmed: bool,
    /// Some log is old enough and has to stay.
    pub(super) held_back: bool,
}

/// What holds old log back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Guard {
    /// It is not readable in the lake: so it is in the reference.
    Readable,
    /// It is not in the lake.
    Tiered,
    /// Nothing.
    Nothing,
}

impl Guard {
    /// Where log of the bucket begins that is held back.
    fn held_back_from(self, registry: &Registry, bucket_id: &BucketId) -> u64 {
        let registered = match self {
            Self::Readable => registry.readable(),
            Self::Tiered => registry.tiered(),
            Self::Nothing => return u64::MAX,
        };
        registered.and_then(|snapshot| snapshot.offsets.get(bucket_id)).copied().unwrap_or(0)
    }
}

/// Removes, bucket by bucket and batch by batch from the log start, what arrived before the given time and is not held
/// back. A bucket without a registered offset keeps everything.
pub(super) fn expire_log(tables: &mut Tables, arrived_before_ms: u64, guard: Guard) -> Expired {
    let mut expired = Expired::default();
    for table in tables.iter_mut() {
        for (bucket_id, bucket) in &mut table.buckets {
            let log_start = bucket.log_start_offset_inclusive();
            bucket.expire_log(arrived_before_ms, guard.held_back_from(&table.registry, bucket_id));
            expired.trimmed |= bucket.log_start_offset_inclusive() > log_start;
            expired.held_back |= bucket.has_log_before(arrived_before_ms);
        }
    }
    expired
}
