//! The log of one table as far as `changes` showed it: entries by bucket and offset, and the ranges that are known
//! without a gap.
//!
//! A tail is a chain of answers in one session, each from the position that the one before returned. Offsets may have
//! holes (an empty batch takes one), so a range is known as a whole only between two entries of one tail, and up to the
//! log's end where the tail reached it after the drained phase began.

use std::collections::BTreeMap;

use models::contract::{Change, Output, RowKind, Statement};

use super::content::Recogniser;
use super::index::{Operation, Point};

/// A bucket as observations name it: `k=v/k=v` or null, and its number.
pub type Bucket<'h> = (Option<&'h str>, u32);

/// One entry of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// What it does.
    pub kind: RowKind,
    /// The write whose row it carries, if it is known.
    pub write: Option<u32>,
    /// Its key, in key tables.
    pub key: Option<u32>,
    /// The ordinal of the answer that showed it first.
    pub shown_n: u64,
}

/// What is known of one bucket.
#[derive(Clone, Debug, Default)]
pub struct BucketLog {
    /// By offset.
    pub entries: BTreeMap<u64, LogEntry>,
    /// Ranges `[start, end)` of which every entry is known, ascending and apart.
    pub complete: Vec<(u64, u64)>,
}

/// One answer that disagrees with what was known, or repeats within one tail.
#[derive(Clone, Debug)]
pub struct Oddity {
    /// The ordinal of the answer.
    pub shown_n: u64,
    /// The ordinal of the answer that it disagrees with.
    pub against_n: u64,
    /// What is odd, in a sentence without an end.
    pub what: String,
}

/// All that is known of the log of one table.
#[derive(Default)]
pub struct KnownLog<'h> {
    /// By bucket.
    pub buckets: BTreeMap<Bucket<'h>, BucketLog>,
    /// By write: where its row entered the log.
    pub position: BTreeMap<u32, (Bucket<'h>, u64)>,
    /// For each answer with rows: its ordinal.
    pub answers: Vec<u64>,
    /// Rows of changes that no write explains: ordinal of the answer, and why.
    pub strays: Vec<(u64, String)>,
    /// Answers that show another entry at an offset that was shown before (L5).
    pub rewritten: Vec<Oddity>,
    /// Answers that repeat what their tail has returned already (L3).
    pub repeated: Vec<Oddity>,
    /// Each write that an answer showed as present: write and ordinal of the answer.
    pub shown: Vec<(u32, u64)>,
}

/// One session's way through the log.
struct Tail<'h> {
    position: &'h str,
    /// First and last offset by bucket, both inclusive.
    reached: BTreeMap<Bucket<'h>, (u64, u64)>,
    /// By write: the answer that showed it, for append tables.
    seen: BTreeMap<u32, u64>,
}

/// What the engine saw of the extent of a bucket's log.
#[derive(Clone, Copy, Debug)]
pub struct LogExtent<'h> {
    /// When.
    pub at: Point,
    /// The bucket.
    pub bucket: Bucket<'h>,
    /// The first offset that is still there.
    pub start_inclusive: u64,
    /// The end of what is durable.
    pub end_exclusive: u64,
}

impl<'h> KnownLog<'h> {
    /// Collects all `changes` answers about `t$rt`, in the order in which they were given.
    pub fn of(
        operations: &[Operation<'h>],
        of_table: &[usize],
        recogniser: &Recogniser,
        extents: &[LogExtent<'h>],
        drained_n: u64,
    ) -> Self {
        let mut known = Self::default();
        let mut tails: BTreeMap<&'h str, Tail<'h>> = BTreeMap::new();
        for operation in of_table.iter().map(|position| &operations[*position]) {
            let (Statement::Changes { table, from, max }, Some(Output::Changes { changes, position })) =
                (operation.statement, operation.output())
            else {
                continue;
            };
            if !table.real_time {
                continue;
            }
            let continued = tails.remove(operation.session).filter(|tail| tail.position == from.as_str());
            let mut tail = match continued {
                Some(tail) => tail,
                // Whatever it has not seen from its beginning is not known: it starts in the middle.
                None => Tail { position: from, reached: BTreeMap::new(), seen: BTreeMap::new() },
            };
            known.take(changes, operation.acked_n(), &mut tail, recogniser);
            tail.position = position;
            if operation.invoked.n > drained_n && (changes.len() as u64) < *max {
                known.reaches_end(&tail, extents, operation.invoked.n);
            }
            for (bucket, (first, last)) in &tail.reached {
                known.buckets.entry(*bucket).or_default().complete.push((*first, *last + 1));
            }
            tails.insert(operation.session, tail);
        }
        for log in known.buckets.values_mut() {
            log.join_ranges();
        }
        known
    }

    fn take(&mut self, changes: &'h [Change], n: u64, tail: &mut Tail<'h>, recogniser: &Recogniser) {
        if !changes.is_empty() {
            self.answers.push(n);
        }
        for change in changes {
            let write = match recogniser.named_row(&change.row) {
                Ok(write) => write,
                Err(why) => {
                    // What is taken back may be told by its key alone.
                    if change.kind.adds() {
                        self.strays.push((n, why));
                    }
                    None
                }
            };
            if let (Some(write), true) = (write, change.kind.adds()) {
                self.shown.push((write, n));
                if recogniser.writes.get(write).key.is_none()
                    && let Some(before_n) = tail.seen.insert(write, n)
                {
                    self.repeated.push(Oddity {
                        shown_n: n,
                        against_n: before_n,
                        what: format!("{} again", recogniser.writes.name(write)),
                    });
                }
            }
            let (Some(bucket), Some(offset)) = (change.bucket, change.offset) else { continue };
            let bucket = (change.partition.as_deref(), bucket);
            let entry = LogEntry { kind: change.kind, write, key: recogniser.named_key(&change.row), shown_n: n };
            self.enter(bucket, offset, entry, tail);
        }
    }

    fn enter(&mut self, bucket: Bucket<'h>, offset: u64, entry: LogEntry, tail: &mut Tail<'h>) {
        let n = entry.shown_n;
        match tail.reached.get_mut(&bucket) {
            None => {
                tail.reached.insert(bucket, (offset, offset));
            }
            Some(reached) if offset <= reached.1 => self.repeated.push(Oddity {
                shown_n: n,
                against_n: n,
                what: format!("offset {offset} of bucket {} after offset {}", bucket.1, reached.1),
            }),
            Some(reached) => reached.1 = offset,
        }
        if let (Some(write), true) = (entry.write, entry.kind.adds()) {
            self.position.entry(write).or_insert((bucket, offset));
        }
        let before = *self.buckets.entry(bucket).or_default().entries.entry(offset).or_insert(entry);
        if (before.kind, before.write) != (entry.kind, entry.write) {
            self.rewritten.push(Oddity {
                shown_n: n,
                against_n: before.shown_n,
                what: format!("another entry at offset {offset} of bucket {}", bucket.1),
            });
        }
    }

    /// The tail has returned everything up to the log's end as it was before the statement was sent.
    fn reaches_end(&mut self, tail: &Tail<'h>, extents: &[LogExtent<'h>], invoked_n: u64) {
        for (bucket, (first, last)) in &tail.reached {
            let seen = extents.iter().filter(|extent| extent.bucket == *bucket && extent.at.n < invoked_n);
            let end = seen.map(|extent| extent.end_exclusive).max().unwrap_or(0);
            let range = (*first, end.max(*last + 1));
            self.buckets.entry(*bucket).or_default().complete.push(range);
        }
    }
}

impl BucketLog {
    fn join_ranges(&mut self) {
        self.complete.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (start, end) in self.complete.drain(..) {
            match joined.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((start, end)),
            }
        }
        self.complete = joined;
    }

    /// Whether every entry of `[start, end)` is known.
    pub fn knows(&self, start: u64, end: u64) -> bool {
        start >= end || self.complete.iter().any(|range| range.0 <= start && end <= range.1)
    }
}
