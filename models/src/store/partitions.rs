//! Partitions that leave the store: of a table that keeps so many partitions, the oldest go once the lake has all of
//! them.
//!
//! What goes is log and key-value state. Nothing is lost by it: a partition only goes when every row of it is readable
//! in the lake and no write to it is under way; an untiered tail waits (L16). From then on its rows live in the lake
//! alone. The store says so to whoever asks for its offsets, and takes no more writes to it, as it could not know the
//! rows before; only what a writer sent earlier is still answered as it was (L3). That a partition is gone is durable at
//! once. This module must never know how time passes.

use std::collections::{BTreeMap, BTreeSet};

use super::bucket::{Admission, Bucket};
use super::tables::Table;
use crate::contract::{
    AppendRequest, BucketId, Failure, FailureCode, PARTITION_RETENTION, PartitionValues, TableSchema,
};

/// What a look at the partitions of one table came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// How many partitions went.
    pub(super) gone: usize,
    /// How many are old enough and have to stay.
    pub(super) held_back: usize,
}

/// How many partitions the definition keeps; `None` for all. `invalid` if it cannot keep so many.
pub(super) fn kept(schema: &TableSchema) -> Result<Option<usize>, Failure> {
    let Some(text) = schema.options.get(PARTITION_RETENTION) else { return Ok(None) };
    let kept = text.parse::<usize>().ok().filter(|kept| *kept > 0 && !schema.partition_keys.is_empty());
    kept.map(Some).ok_or_else(|| {
        Failure::invalid(format!(
            "expected option `{PARTITION_RETENTION}` to be a positive number of partitions of a partitioned table, found \
             {text:?}; correct it or leave it out"
        ))
    })
}

impl Table {
    /// Lets the oldest partitions go: those before the newest that the table keeps, by their values. Only of a table in
    /// the mode, and, where `guarded`, which it is in the reference, only what the lake has for readers.
    pub(super) fn expire_partitions(&mut self, guarded: bool) -> Left {
        let mut left = Left::default();
        let Ok(Some(kept)) = kept(&self.definition.schema) else { return left };
        if !self.definition.schema.lakestream_enabled() {
            return left;
        }
        let mut partitions: BTreeMap<PartitionValues, bool> = BTreeMap::new();
        for (bucket_id, bucket) in self.buckets.iter().filter(|(bucket_id, _)| !self.has_expired(bucket_id)) {
            let may_leave = self.may_leave(bucket_id, bucket, guarded);
            *partitions.entry(bucket_id.partition.clone()).or_insert(true) &= may_leave;
        }
        let old = partitions.len().saturating_sub(kept);
        for (partition, may_leave) in partitions.into_iter().take(old) {
            if !may_leave {
                left.held_back += 1;
                continue;
            }
            for (_, bucket) in self.buckets.iter_mut().filter(|(bucket_id, _)| bucket_id.partition == partition) {
                bucket.empty();
            }
            self.expired.insert(partition);
            left.gone += 1;
        }
        left
    }

    /// Whether nothing of the bucket is under way and, where `guarded`, all of it is readable in the lake.
    fn may_leave(&self, bucket_id: &BucketId, bucket: &Bucket, guarded: bool) -> bool {
        let in_lake = self.registry.readable().is_some_and(|readable| {
            readable.offsets.get(bucket_id).copied().unwrap_or(0) >= bucket.log_end_offset_exclusive()
        });
        bucket.is_settled() && (in_lake || !guarded)
    }

    /// Whether the bucket's partition has left the store.
    pub(super) fn has_expired(&self, bucket_id: &BucketId) -> bool {
        self.expired.contains(&bucket_id.partition)
    }

    /// The answer to a write into a partition that has left: that of an earlier try of the same batch, or
    /// `unsupported`, for certain: nothing is ever applied there again.
    pub(super) fn late_answer(&self, request: &AppendRequest) -> Result<Admission, Failure> {
        let earlier = match self.buckets.get(&request.bucket) {
            Some(bucket) => bucket.earlier_try(request.writer_id, request.batch_sequence)?,
            None => None,
        };
        earlier.ok_or_else(|| {
            Failure::definite(
                FailureCode::Unsupported,
                format!(
                    "expected a partition of {} that the store still has, found one that it gave to the lake, as \
                     `{PARTITION_RETENTION}` says; it can be read, and not be written, through the store",
                    self.definition.path
                ),
            )
        })
    }
}

/// The partitions of one table that have left.
pub(super) type Expired = BTreeSet<PartitionValues>;
