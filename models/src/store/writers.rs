//! Which batches of which writers a bucket has applied, so that a retry is answered and never applied twice (L3).
//!
//! Only durable batches stand here. It is kept next to the durable log rather than read from it, because retention
//! removes batches that a late retry may still ask about. This module must never know what a batch contains.

use std::collections::{BTreeMap, VecDeque};

use crate::contract::AppendAck;

/// How many answers are remembered for each writer of a bucket, as in Kafka.
const REMEMBERED_BATCHES: usize = 5;

/// What is known about one batch of one writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It is durable, and this was the answer.
    Applied(AppendAck),
    /// It was never applied, and a later batch of its writer was: it came too late and never will be.
    Skipped,
    /// It is older than all that is remembered: it may have been applied.
    Forgotten,
    /// It is newer than all that the writer has made durable here.
    New,
}

/// The durable batches of one writer.
#[derive(Clone, Debug, Default)]
struct Writer {
    /// The newest ones, by sequence: the sequence, and the answer.
    recent: VecDeque<(u64, AppendAck)>,
    /// The newest sequence that is no longer remembered.
    forgotten_up_to_inclusive: Option<u64>,
}

/// The durable batches of every writer of one bucket.
#[derive(Clone, Debug, Default)]
pub(super) struct Writers(BTreeMap<u64, Writer>);

impl Writers {
    /// What is known about a batch.
    pub fn know(&self, writer_id: u64, batch_sequence: u64) -> Known {
        let Some(writer) = self.0.get(&writer_id) else { return Known::New };
        if let Some((_, ack)) = writer.recent.iter().find(|(sequence, _)| *sequence == batch_sequence) {
            return Known::Applied(*ack);
        }
        if writer.forgotten_up_to_inclusive.is_some_and(|forgotten| batch_sequence <= forgotten) {
            return Known::Forgotten;
        }
        match writer.recent.back() {
            Some((newest, _)) if batch_sequence < *newest => Known::Skipped,
            _ => Known::New,
        }
    }

    /// Remembers a batch that became durable; it is newer than all before it of the same writer.
    pub fn record(&mut self, writer_id: u64, batch_sequence: u64, ack: AppendAck) {
        let writer = self.0.entry(writer_id).or_default();
        writer.recent.push_back((batch_sequence, ack));
        if writer.recent.len() > REMEMBERED_BATCHES
            && let Some((forgotten, _)) = writer.recent.pop_front()
        {
            writer.forgotten_up_to_inclusive = Some(forgotten);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(end_offset_exclusive: u64) -> AppendAck {
        AppendAck { end_offset_exclusive }
    }

    #[test]
    fn a_retry_gets_the_answer_of_the_first_try() {
        let mut writers = Writers::default();
        writers.record(7, 0, ack(3));
        assert_eq!(writers.know(7, 0), Known::Applied(ack(3)));
        assert_eq!(writers.know(7, 1), Known::New);
        assert_eq!(writers.know(8, 0), Known::New, "another writer");
    }

    #[test]
    fn a_batch_that_a_later_one_overtook_is_known_to_be_absent() {
        let mut writers = Writers::default();
        writers.record(7, 2, ack(3));
        assert_eq!(writers.know(7, 1), Known::Skipped);
    }

    #[test]
    fn what_is_older_than_the_memory_is_not_known() {
        let mut writers = Writers::default();
        for sequence in [0, 2, 4, 6, 8, 10] {
            writers.record(7, sequence, ack(sequence + 1));
        }
        assert_eq!(writers.know(7, 0), Known::Forgotten);
        assert_eq!(writers.know(7, 1), Known::Skipped, "all of what came after 0 is remembered");
        assert_eq!(writers.know(7, 2), Known::Applied(ack(3)));
    }
}
