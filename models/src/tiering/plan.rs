//! What a round is to read: per bucket, the log from the lake's offset to the log's end.
//!
//! A pure function of two facts. It must never know what the store believes to be tiered (L3).

use crate::contract::{BucketId, BucketOffsets, Failure, KeySnapshot, TieredOffsets};

/// A piece of one bucket's log that the lake lacks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SplitRange {
    /// The bucket.
    pub(super) bucket: BucketId,
    /// The end of the lake is the start of the log (L6).
    pub(super) start_offset_inclusive: u64,
    /// The end of the durable log when the plan was made.
    pub(super) end_offset_exclusive: u64,
    /// The state that stands for the beginning of the range: what lies below its end is read from there.
    pub(super) state: Option<KeySnapshot>,
}

/// The ranges that the lake lacks, none of them empty. Fails if the log does not continue where the lake ends: whatever
/// was done then, a row would be missing or there twice.
pub(super) fn missing_ranges(lake: &TieredOffsets, log: Vec<BucketOffsets>) -> Result<Vec<SplitRange>, Failure> {
    let mut ranges = Vec::new();
    for offsets in log {
        let start_offset_inclusive = lake.get(&offsets.bucket).copied().unwrap_or(0);
        let (log_start, log_end) = (offsets.log_start_offset_inclusive, offsets.log_end_offset_exclusive);
        if start_offset_inclusive < log_start || start_offset_inclusive > log_end {
            return Err(Failure::invalid(format!(
                "expected the log of bucket {} to contain offset {start_offset_inclusive}, where the lake ends, found \
                 [{log_start}, {log_end}); the store lost log that was not tiered, or log that was",
                offsets.bucket.bucket
            )));
        }
        if start_offset_inclusive < log_end {
            let (bucket, end_offset_exclusive) = (offsets.bucket, log_end);
            ranges.push(SplitRange { bucket, start_offset_inclusive, end_offset_exclusive, state: None });
        }
    }
    Ok(ranges)
}

/// Planted bug drain-leaves-tail: the ranges without the end that does not fill a batch of this many records, 4 at
/// most.
pub(super) fn whole_batches(mut ranges: Vec<SplitRange>, batch_records: u64) -> Vec<SplitRange> {
    let batch_records = batch_records.clamp(1, 4);
    for range in &mut ranges {
        range.end_offset_exclusive -= (range.end_offset_exclusive - range.start_offset_inclusive) % batch_records;
    }
    ranges.retain(|range| range.start_offset_inclusive < range.end_offset_exclusive);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(bucket: u32, start: u64, end: u64) -> BucketOffsets {
        BucketOffsets {
            bucket: BucketId::unpartitioned(bucket),
            log_start_offset_inclusive: start,
            log_end_offset_exclusive: end,
            has_expired: false,
        }
    }

    fn lake(offsets: &[(u32, u64)]) -> TieredOffsets {
        offsets.iter().map(|(bucket, offset)| (BucketId::unpartitioned(*bucket), *offset)).collect()
    }

    #[test]
    fn the_log_goes_on_where_the_lake_ends() {
        let ranges = missing_ranges(&lake(&[(0, 5), (1, 7)]), vec![log(0, 2, 9), log(1, 0, 7), log(2, 0, 3)]).unwrap();
        let found: Vec<_> =
            ranges.iter().map(|it| (it.bucket.bucket, it.start_offset_inclusive, it.end_offset_exclusive)).collect();
        assert_eq!(found, [(0, 5, 9), (2, 0, 3)], "bucket 1 is complete, bucket 2 is new");
    }

    #[test]
    fn drain_leaves_tail_plans_whole_batches_only() {
        let ranges = missing_ranges(&lake(&[(0, 5)]), vec![log(0, 0, 14), log(1, 0, 3)]).unwrap();
        let found: Vec<_> = whole_batches(ranges, 4).into_iter().map(|range| range.end_offset_exclusive).collect();
        assert_eq!(found, [13]);
    }

    #[test]
    fn a_gap_between_lake_and_log_fails_instead_of_being_skipped() {
        assert!(missing_ranges(&lake(&[(0, 5)]), vec![log(0, 6, 9)]).unwrap_err().message.contains("[6, 9)"));
        assert!(missing_ranges(&lake(&[(0, 5)]), vec![log(0, 0, 4)]).is_err());
    }
}
