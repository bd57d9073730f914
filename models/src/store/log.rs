//! The log of one bucket: a prefix that everybody may see, and a tail that nobody may.
//!
//! What is lost or kept is the batch: it is on disk as a whole or not at all. What is shown is the record: the high
//! watermark, which ends what is shown, may lie inside a batch, between −U and +U too. It only enters a batch that is
//! on disk, so that what a reader has seen survives a crash (L1). This module must never know what a record means, who
//! waits for it, or how time passes.

use std::collections::VecDeque;

use crate::contract::{Failure, FetchedLog, LogRecord, Row};

/// One write to the bucket.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    /// The offset of its first record.
    pub base_offset_inclusive: u64,
    /// The log end just after it. At least one more than the base: a batch without records takes one offset too, so
    /// that the offset of the log, and with it the tiered offset, moves past every write.
    pub end_offset_exclusive: u64,
    /// What it changed, by offset; nothing where it changed nothing.
    pub records: Vec<LogRecord>,
    /// Who wrote it.
    pub writer_id: u64,
    /// The writer's number for it.
    pub batch_sequence: u64,
    /// When it arrived, in milliseconds since the run began.
    pub append_time_ms: u64,
}

/// The batches of one bucket, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    /// The batches that are shown as a whole and that retention has left.
    durable: VecDeque<Batch>,
    /// The batches behind them. A crash loses all but the first, and that too unless the watermark lies inside it.
    tail: VecDeque<Batch>,
    /// The first offset that is still in the log.
    start_offset_inclusive: u64,
    /// The end of what is shown: the high watermark.
    durable_end_offset_exclusive: u64,
}

impl Log {
    /// The first offset that is still in the log.
    pub fn start_offset_inclusive(&self) -> u64 {
        self.start_offset_inclusive
    }

    /// The end of what is durable and shown: the high watermark. Nothing at or beyond it is ever shown to anybody (L1:
    /// what a read returned once is never lost).
    pub fn durable_end_offset_exclusive(&self) -> u64 {
        self.durable_end_offset_exclusive
    }

    /// Where the next batch begins.
    pub fn end_offset_exclusive(&self) -> u64 {
        self.tail.back().map_or(self.durable_end_offset_exclusive, |batch| batch.end_offset_exclusive)
    }

    /// When the oldest durable batch that is left arrived.
    pub fn oldest_arrival_ms(&self) -> Option<u64> {
        self.durable.front().map(|batch| batch.append_time_ms)
    }

    /// The batches that are not shown as a whole yet, oldest first.
    pub fn tail(&self) -> impl Iterator<Item = &Batch> {
        self.tail.iter()
    }

    /// Adds a batch to the volatile tail. It begins at [`Log::end_offset_exclusive`].
    pub fn append(&mut self, batch: Batch) {
        self.tail.push_back(batch);
    }

    /// Makes the oldest volatile batch durable if it ends at or before the given offset, and returns it.
    pub fn make_next_durable(&mut self, up_to_offset_exclusive: u64) -> Option<&Batch> {
        let batch = self.tail.pop_front_if(|batch| batch.end_offset_exclusive <= up_to_offset_exclusive)?;
        self.durable_end_offset_exclusive = batch.end_offset_exclusive;
        self.durable.push_back(batch);
        self.durable.back()
    }

    /// Moves the watermark to this offset if it lies inside the oldest batch of the tail, which is on disk from then on.
    pub fn enter_next_batch(&mut self, up_to_offset_exclusive: u64) {
        let is_inside = |batch: &Batch| {
            (batch.base_offset_inclusive + 1..batch.end_offset_exclusive).contains(&up_to_offset_exclusive)
        };
        if self.tail.front().is_some_and(is_inside) {
            self.durable_end_offset_exclusive = self.durable_end_offset_exclusive.max(up_to_offset_exclusive);
        }
    }

    /// The end of the batch that the watermark lies inside of.
    pub fn entered_end_offset_exclusive(&self) -> Option<u64> {
        let first = self.tail.front()?;
        (first.base_offset_inclusive < self.durable_end_offset_exclusive).then_some(first.end_offset_exclusive)
    }

    /// What a crash does to a log whose watermark is at the end of a batch: the tail is gone, and its offsets are free
    /// again, as nobody has seen them.
    pub fn lose_tail(&mut self) {
        self.tail.clear();
    }

    /// Removes all of a log without a tail. Its end stays where it is, and is its start from then on.
    pub fn empty(&mut self) {
        self.durable.clear();
        self.start_offset_inclusive = self.durable_end_offset_exclusive;
    }

    /// The durable records of `[start inclusive, end exclusive)`. A range that begins at or beyond the durable end is
    /// empty; one that begins before the log start is `invalid`, because the records that were there are gone.
    pub fn fetch(&self, start_offset_inclusive: u64, end_offset_exclusive: u64) -> Result<FetchedLog, Failure> {
        if start_offset_inclusive < self.start_offset_inclusive {
            return Err(Failure::invalid(format!(
                "expected a start offset of at least {}, the log start, found {start_offset_inclusive}; read what lies \
                 before it from the lake",
                self.start_offset_inclusive
            )));
        }
        let stop_offset_exclusive = end_offset_exclusive.min(self.durable_end_offset_exclusive);
        if start_offset_inclusive >= stop_offset_exclusive {
            return Ok(FetchedLog { records: Vec::new(), next_offset_inclusive: start_offset_inclusive });
        }
        let first = self.durable.partition_point(|batch| batch.end_offset_exclusive <= start_offset_inclusive);
        let mut records = Vec::new();
        // The watermark may lie inside the batch behind them.
        for batch in self.durable.range(first..).chain(self.tail.front()) {
            if batch.base_offset_inclusive >= stop_offset_exclusive {
                break;
            }
            let from = batch.records.partition_point(|record| record.offset < start_offset_inclusive);
            let to = batch.records.partition_point(|record| record.offset < stop_offset_exclusive);
            records.extend_from_slice(&batch.records[from..to]);
        }
        Ok(FetchedLog { records, next_offset_inclusive: stop_offset_exclusive })
    }

    /// The records of the newest durable batch; none where retention has removed it.
    pub fn newest_durable_records(&self) -> &[LogRecord] {
        self.durable.back().map_or(&[], |batch| &batch.records)
    }

    /// The rows of all records, durable or not, to change them.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        let batches = self.durable.iter_mut().chain(&mut self.tail);
        batches.flat_map(|batch| batch.records.iter_mut().map(|record| &mut record.row))
    }

    /// Removes whole durable batches from the log start while they arrived before the given time and end at or before
    /// the given offset.
    pub fn expire(&mut self, arrived_before_ms: u64, up_to_offset_exclusive: u64) {
        while let Some(batch) = self.durable.pop_front_if(|batch| {
            batch.append_time_ms < arrived_before_ms && batch.end_offset_exclusive <= up_to_offset_exclusive
        }) {
            self.start_offset_inclusive = batch.end_offset_exclusive;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Row, RowKind, Value};

    /// Appends a batch of so many records; none makes it an empty batch.
    fn append(log: &mut Log, records: u64, append_time_ms: u64) {
        let base = log.end_offset_exclusive();
        let record = |index| LogRecord {
            offset: base + index,
            kind: RowKind::Insert,
            row: Row::new(vec![Value::Int((base + index) as i64)]),
        };
        log.append(Batch {
            base_offset_inclusive: base,
            end_offset_exclusive: base + records.max(1),
            records: (0..records).map(record).collect(),
            writer_id: 1,
            batch_sequence: base,
            append_time_ms,
        });
    }

    fn make_durable(log: &mut Log, up_to_offset_exclusive: u64) {
        while log.make_next_durable(up_to_offset_exclusive).is_some() {}
    }

    fn offsets(log: &Log, start: u64, end: u64) -> (Vec<u64>, u64) {
        let fetched = log.fetch(start, end).unwrap();
        (fetched.records.iter().map(|record| record.offset).collect(), fetched.next_offset_inclusive)
    }

    #[test]
    fn the_volatile_tail_is_never_shown() {
        let mut log = Log::default();
        append(&mut log, 2, 0);
        append(&mut log, 1, 0);
        assert_eq!(offsets(&log, 0, u64::MAX), (vec![], 0));
        make_durable(&mut log, 2);
        assert_eq!(offsets(&log, 0, u64::MAX), (vec![0, 1], 2));
        assert_eq!(log.durable_end_offset_exclusive(), 2);
        assert_eq!(log.end_offset_exclusive(), 3);
    }

    #[test]
    fn a_batch_becomes_durable_as_a_whole() {
        let mut log = Log::default();
        append(&mut log, 3, 0);
        make_durable(&mut log, 2);
        assert_eq!(log.durable_end_offset_exclusive(), 0);
    }

    #[test]
    fn the_watermark_shows_the_beginning_of_the_next_batch_and_of_no_other() {
        let mut log = Log::default();
        append(&mut log, 3, 0);
        append(&mut log, 2, 0);
        log.enter_next_batch(4);
        assert_eq!((offsets(&log, 0, u64::MAX), log.entered_end_offset_exclusive()), ((vec![], 0), None));
        log.enter_next_batch(2);
        assert_eq!((offsets(&log, 0, u64::MAX), log.entered_end_offset_exclusive()), ((vec![0, 1], 2), Some(3)));
        assert_eq!(offsets(&log, 1, 2), (vec![1], 2));
        log.enter_next_batch(1);
        assert_eq!(log.durable_end_offset_exclusive(), 2, "it never goes back");
        make_durable(&mut log, 3);
        assert_eq!((offsets(&log, 0, u64::MAX), log.entered_end_offset_exclusive()), ((vec![0, 1, 2], 3), None));
        assert_eq!(log.end_offset_exclusive(), 5);
    }

    #[test]
    fn a_crash_frees_the_offsets_of_the_tail() {
        let mut log = Log::default();
        append(&mut log, 1, 0);
        make_durable(&mut log, 1);
        append(&mut log, 4, 0);
        log.lose_tail();
        assert_eq!(log.end_offset_exclusive(), 1);
    }

    #[test]
    fn a_fetch_moves_past_empty_batches_and_not_beyond_what_was_asked_for() {
        let mut log = Log::default();
        append(&mut log, 2, 0);
        append(&mut log, 0, 0);
        append(&mut log, 2, 0);
        append(&mut log, 0, 0);
        make_durable(&mut log, u64::MAX);
        assert_eq!(offsets(&log, 0, u64::MAX), (vec![0, 1, 3, 4], 6));
        assert_eq!(offsets(&log, 2, 3), (vec![], 3));
        assert_eq!(offsets(&log, 1, 4), (vec![1, 3], 4));
        assert_eq!(offsets(&log, 5, 6), (vec![], 6));
        assert_eq!(offsets(&log, 6, 9), (vec![], 6));
        assert_eq!(offsets(&log, 4, 2), (vec![], 4));
    }

    #[test]
    fn expiry_takes_whole_old_batches_below_the_limit_and_a_fetch_before_the_start_is_invalid() {
        let mut log = Log::default();
        append(&mut log, 2, 10);
        append(&mut log, 2, 20);
        append(&mut log, 2, 30);
        make_durable(&mut log, u64::MAX);
        log.expire(25, 3);
        assert_eq!(log.start_offset_inclusive(), 2, "the second batch ends at 4, beyond the limit");
        log.expire(25, 6);
        assert_eq!(log.start_offset_inclusive(), 4, "the third batch is too young");
        let failure = log.fetch(3, 6).unwrap_err();
        assert_eq!(failure.code, crate::contract::FailureCode::Invalid);
        assert!(failure.message.contains("at least 4"), "{failure}");
        assert_eq!(offsets(&log, 4, 6), (vec![4, 5], 6));
    }
}
