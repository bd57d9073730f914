//! One bucket: its log, its key-value state and its memory of writers, which move together.
//!
//! A batch enters all three at once, becomes durable in all three at once, and is lost from all three at once. Log and
//! state are shown up to the same record, the high watermark, which may lie inside a batch for a while; its writer's ack
//! waits for the whole. This module must never know how long a sync takes.

use std::collections::BTreeMap;

use super::changelog;
use super::layout::Layout;
use super::log::{Batch, Log};
use super::state::KeyState;
use super::writers::{Known, Writers};
use crate::contract::{AppendAck, AppendRequest, Failure, FetchedLog, LogRecord, Row, RowKind, Value};
use crate::defects::{Defect, Defects};

/// What becomes of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// An earlier try is durable: its answer.
    Durable(AppendAck),
    /// It is in the volatile tail, by this try or an earlier one: the answer once the log is durable up to there.
    Volatile(AppendAck),
    /// A later batch of the same writer is in the volatile tail. Only when that one is durable is it certain that this
    /// one is never applied: a crash could still lose the later one, and a copy of this request come again.
    Overtaken {
        /// The end of the later batch.
        end_offset_exclusive: u64,
    },
}

/// One bucket of one table.
#[derive(Clone, Debug, Default)]
pub(super) struct Bucket {
    log: Log,
    state: KeyState,
    writers: Writers,
}

impl Bucket {
    /// Adds a checked batch to the volatile tail, unless it is there already or may not be applied any more (L3). The
    /// failures: `rejected` where the batch was certainly never applied, `internal` and indefinite where nobody
    /// remembers.
    pub fn append(
        &mut self,
        request: AppendRequest,
        layout: &Layout,
        now_ms: u64,
        defects: &Defects,
    ) -> Result<Admission, Failure> {
        // Planted bug retry-applied-twice: every request is a new batch.
        if !defects.has(Defect::RetryAppliedTwice)
            && let Some(admission) = self.earlier_try(request.writer_id, request.batch_sequence)?
        {
            return Ok(admission);
        }
        let AppendRequest { writer_id, batch_sequence, mutations, .. } = request;
        let base_offset_inclusive = self.log.end_offset_exclusive();
        let records = match layout.key_positions() {
            Some(key_positions) => {
                changelog::key_records(mutations, key_positions, base_offset_inclusive, &mut self.state, defects)
            }
            None => changelog::append_records(mutations, base_offset_inclusive),
        };
        let end_offset_exclusive = base_offset_inclusive + records.len().max(1) as u64;
        self.log.append(Batch {
            base_offset_inclusive,
            end_offset_exclusive,
            records,
            writer_id,
            batch_sequence,
            append_time_ms: now_ms,
        });
        Ok(Admission::Volatile(AppendAck { end_offset_exclusive }))
    }

    /// What becomes of a batch because of what its writer sent before; `None` if it is new.
    pub fn earlier_try(&self, writer_id: u64, batch_sequence: u64) -> Result<Option<Admission>, Failure> {
        match self.writers.know(writer_id, batch_sequence) {
            Known::Applied(ack) => return Ok(Some(Admission::Durable(ack))),
            Known::Skipped => return Err(overtaken(writer_id, batch_sequence)),
            Known::Forgotten => {
                return Err(Failure::internal(format!(
                    "batch {batch_sequence} of writer {writer_id} is older than the batches that the bucket remembers, \
                     so it may have been applied; read the table to find out"
                )));
            }
            Known::New => {}
        }
        let mut newest_in_tail = None;
        for batch in self.log.tail().filter(|batch| batch.writer_id == writer_id) {
            let end_offset_exclusive = batch.end_offset_exclusive;
            if batch.batch_sequence == batch_sequence {
                return Ok(Some(Admission::Volatile(AppendAck { end_offset_exclusive })));
            }
            newest_in_tail = Some((batch.batch_sequence, end_offset_exclusive));
        }
        if let Some((newest, end_offset_exclusive)) = newest_in_tail
            && batch_sequence < newest
        {
            return Ok(Some(Admission::Overtaken { end_offset_exclusive }));
        }
        Ok(None)
    }

    /// Makes every batch durable that ends at or before this offset: one sync covers all that arrived before it began.
    pub fn make_durable(&mut self, up_to_offset_exclusive: u64) {
        while let Some(batch) = self.log.make_next_durable(up_to_offset_exclusive) {
            let ack = AppendAck { end_offset_exclusive: batch.end_offset_exclusive };
            self.writers.record(batch.writer_id, batch.batch_sequence, ack);
            self.state.make_durable(batch.end_offset_exclusive);
        }
    }

    /// Where the watermark stops on its way to the end of the batch that ends at this offset: between −U and +U of an
    /// update, of one in the middle if there is any. Nowhere if the batch updates nothing, or is not in the tail.
    pub fn stop_within(&self, end_offset_exclusive: u64) -> Option<u64> {
        let batch = self.log.tail().find(|batch| batch.end_offset_exclusive == end_offset_exclusive)?;
        let (first_half, second_half) = batch.records.split_at(batch.records.len() / 2);
        let is_after = |record: &&LogRecord| record.kind == RowKind::UpdateAfter;
        let after = second_half.iter().find(is_after).or_else(|| first_half.iter().rfind(is_after));
        after.map(|record| record.offset).filter(|offset| *offset > batch.base_offset_inclusive)
    }

    /// Shows the log and the state up to this offset, which may lie inside a batch.
    pub fn show_up_to(&mut self, offset_exclusive: u64) {
        self.make_durable(offset_exclusive);
        self.log.enter_next_batch(offset_exclusive);
        self.state.make_durable(self.log.durable_end_offset_exclusive());
    }

    /// What a crash does: the volatile tail was never there. A batch that was shown in part is on disk as a whole.
    pub fn crash(&mut self) {
        if let Some(end_offset_exclusive) = self.log.entered_end_offset_exclusive() {
            self.make_durable(end_offset_exclusive);
        }
        self.log.lose_tail();
        self.state.lose_volatile();
    }

    /// Makes these rows, by key, the whole state; the log is left alone.
    pub fn load(&mut self, rows: BTreeMap<Row, Row>) {
        self.state = KeyState::loaded(rows);
    }

    /// Brings rows of earlier versions of the table to this number of columns.
    pub fn widen(&mut self, column_count: usize) {
        self.log.rows_mut().for_each(|row| widen(row, column_count));
        self.state.rows_mut().for_each(|row| widen(row, column_count));
    }

    /// Whether a crash would lose something now.
    pub fn has_tail(&self) -> bool {
        let kept_end = self.log.entered_end_offset_exclusive().unwrap_or(self.log_end_offset_exclusive());
        self.log.end_offset_exclusive() > kept_end
    }

    /// Whether all that ever came is durable and shown.
    pub fn is_settled(&self) -> bool {
        self.log.end_offset_exclusive() == self.log_end_offset_exclusive()
    }

    /// Removes log and state, whose rows only the lake has from now on. Where the log ended and what writers sent is
    /// remembered.
    pub fn empty(&mut self) {
        self.log.empty();
        self.state = KeyState::default();
    }

    /// The durable rows of a key table, by key.
    pub fn key_rows(&self) -> &BTreeMap<Row, Row> {
        self.state.durable_rows()
    }

    /// Whether something durable arrived before this time and is in the log still.
    pub fn has_log_before(&self, arrived_before_ms: u64) -> bool {
        self.log.oldest_arrival_ms().is_some_and(|oldest_ms| oldest_ms < arrived_before_ms)
    }

    /// Whether anything was ever put into the log, durable or not.
    pub fn has_log(&self) -> bool {
        self.log.end_offset_exclusive() > 0
    }

    /// Whether nothing durable was ever here, neither written nor loaded.
    pub fn is_empty(&self) -> bool {
        !self.is_written() && self.key_count() == 0
    }

    /// How many keys have a row that a reader may see.
    pub fn key_count(&self) -> usize {
        self.state.key_count()
    }

    /// Whether the bucket was ever written, as far as anybody can know.
    pub fn is_written(&self) -> bool {
        self.log_end_offset_exclusive() > 0
    }

    /// The first offset that is still in the log.
    pub fn log_start_offset_inclusive(&self) -> u64 {
        self.log.start_offset_inclusive()
    }

    /// The end of the durable log.
    pub fn log_end_offset_exclusive(&self) -> u64 {
        self.log.durable_end_offset_exclusive()
    }

    /// A piece of the durable log; see [`crate::contract::Store::fetch_log`].
    pub fn fetch_log(&self, start_offset_inclusive: u64, end_offset_exclusive: u64) -> Result<FetchedLog, Failure> {
        self.log.fetch(start_offset_inclusive, end_offset_exclusive)
    }

    /// The durable row of a key.
    pub fn lookup(&self, key: &Row) -> Option<&Row> {
        self.state.durable(key)
    }

    /// Planted bug lookup-behind-scan: the row of a key as it was before the last durable batch.
    pub fn lookup_behind(&self, key: &Row, key_positions: &[usize]) -> Option<&Row> {
        let of_key = self.log.newest_durable_records().iter().find(|record| record.row.project(key_positions) == *key);
        match of_key {
            Some(record) if record.kind == RowKind::Insert => None,
            Some(record) => Some(&record.row),
            None => self.lookup(key),
        }
    }

    /// Removes old log; the key-value state keeps every row (L16, L17).
    pub fn expire_log(&mut self, arrived_before_ms: u64, up_to_offset_exclusive: u64) {
        self.log.expire(arrived_before_ms, up_to_offset_exclusive);
    }
}

/// NULL in the columns that the row's version did not have.
pub(super) fn widen(row: &mut Row, column_count: usize) {
    if row.cells().len() < column_count {
        let mut cells = row.cells().to_vec();
        cells.resize(column_count, Value::Null);
        *row = Row::new(cells);
    }
}

/// The answer to a batch that was certainly never applied and never will be.
pub(super) fn overtaken(writer_id: u64, batch_sequence: u64) -> Failure {
    Failure::rejected(format!(
        "batch {batch_sequence} of writer {writer_id} was never applied and a later batch of that writer was; write \
         its rows again as a new batch"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{BucketId, FailureCode, Mutation, TableId, TableSchema};

    const WRITER: u64 = 7;

    fn append_layout() -> Layout {
        let schema: TableSchema = serde_json::from_str(r#"{"columns":[{"name":"v","type":"BIGINT"}]}"#).unwrap();
        Layout::new(&schema).unwrap()
    }

    fn append(bucket: &mut Bucket, batch_sequence: u64) -> Result<Admission, Failure> {
        let request = AppendRequest {
            table_id: TableId(1),
            bucket: BucketId::unpartitioned(0),
            mutations: vec![Mutation::Put(Row::new(vec![Value::Int(batch_sequence as i64)]))],
            writer_id: WRITER,
            batch_sequence,
        };
        bucket.append(request, &append_layout(), 0, &Defects::none())
    }

    fn ack(end_offset_exclusive: u64) -> AppendAck {
        AppendAck { end_offset_exclusive }
    }

    #[test]
    fn a_retry_of_a_batch_in_flight_waits_for_the_same_offset() {
        let mut bucket = Bucket::default();
        assert_eq!(append(&mut bucket, 0), Ok(Admission::Volatile(ack(1))));
        assert_eq!(append(&mut bucket, 0), Ok(Admission::Volatile(ack(1))));
        bucket.make_durable(1);
        assert_eq!(append(&mut bucket, 0), Ok(Admission::Durable(ack(1))));
        assert_eq!(bucket.log_end_offset_exclusive(), 1);
    }

    #[test]
    fn a_batch_that_a_crash_lost_is_applied_when_it_comes_again() {
        let mut bucket = Bucket::default();
        append(&mut bucket, 0).unwrap();
        bucket.crash();
        assert_eq!(append(&mut bucket, 0), Ok(Admission::Volatile(ack(1))));
    }

    #[test]
    fn a_late_batch_is_refused_for_certain_only_when_the_later_one_is_durable() {
        let mut bucket = Bucket::default();
        append(&mut bucket, 1).unwrap();
        assert_eq!(append(&mut bucket, 0), Ok(Admission::Overtaken { end_offset_exclusive: 1 }));
        bucket.make_durable(1);
        let failure = append(&mut bucket, 0).unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));
    }

    #[test]
    fn an_answer_that_is_forgotten_leaves_the_effect_open() {
        let mut bucket = Bucket::default();
        for sequence in 0..6 {
            append(&mut bucket, sequence).unwrap();
        }
        bucket.make_durable(6);
        assert_eq!(append(&mut bucket, 1), Ok(Admission::Durable(ack(2))));
        assert!(!append(&mut bucket, 0).unwrap_err().definite);
    }
}
