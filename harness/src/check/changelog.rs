//! L14: a full changelog has −U before +U, +I only on absent keys, −D only on present ones, and its replay equals the
//! state.
//!
//! Judged by what `changes` showed of the log of each bucket from offset 0 on without a gap. A table that was promoted
//! has a state before its log begins, so nothing is said of it.

use std::collections::BTreeMap;

use models::contract::{RowKind, Statement};

use super::content::Content;
use super::index::{Fate, Index, Operation};
use super::known_log::{Bucket, BucketLog, LogEntry};
use super::table::{Read, Table, is_promotion};
use super::{Docket, prose};

/// Judges L14.
pub fn judge(index: &Index, docket: &mut Docket) {
    let keyed = |table: &&Table| table.has_key() && table.writes.id_position.is_some();
    for table in index.tables.iter().filter(keyed) {
        let mut operations = table.operations.iter().map(|position| &index.operations[*position]);
        if operations.any(|operation| is_promotion(operation.statement)) {
            continue;
        }
        let last_read = drained_read(index, table);
        for (bucket, log) in &table.log.buckets {
            let replay = Replay::of(index, table, *bucket, log, docket);
            if let Some((read, content)) = last_read {
                replay.equals_state(read, content, docket);
            }
        }
    }
}

/// The entries of one bucket's log from its start, put over each other.
struct Replay<'a, 'h> {
    index: &'a Index<'h>,
    table: &'a Table<'h>,
    bucket: Bucket<'h>,
    /// By key: the entry that was last, and its offset.
    last: BTreeMap<u32, (u64, LogEntry)>,
    /// All below this offset is known (exclusive).
    end: u64,
}

impl<'a, 'h> Replay<'a, 'h> {
    /// Walks along the known beginning of the log, and judges each step.
    fn of(
        index: &'a Index<'h>,
        table: &'a Table<'h>,
        bucket: Bucket<'h>,
        log: &BucketLog,
        docket: &mut Docket,
    ) -> Self {
        let mut replay = Self { index, table, bucket, last: BTreeMap::new(), end: 0 };
        let Some((0, known_end)) = log.complete.first().copied() else { return replay };
        let until_n = table.disturbance.structure_from_n;
        let mut before: Option<(u64, LogEntry)> = None;
        for (offset, entry) in log.entries.range(..known_end) {
            // Of the next table of this name, or a row of which nothing is known: all after it is open.
            let (true, Some(key)) = (entry.shown_n < until_n, entry.key) else { return replay };
            docket.judged("L14", 1);
            if let Some(wrong) = replay.wrong(before, *entry, key) {
                replay.violated(before, (*offset, *entry), &wrong, docket);
            }
            replay.last.insert(key, (*offset, *entry));
            before = Some((*offset, *entry));
            replay.end = offset + 1;
        }
        replay.end = known_end;
        replay
    }

    /// What is wrong with the next entry, in words that complete "is".
    fn wrong(&self, before: Option<(u64, LogEntry)>, entry: LogEntry, key: u32) -> Option<String> {
        let state = self.last.get(&key).filter(|(_, last)| last.kind.adds());
        let pair = before.filter(|(_, before)| before.kind == RowKind::UpdateBefore);
        if let Some((at, before)) = pair
            && (entry.kind != RowKind::UpdateAfter || before.key != Some(key))
        {
            return Some(format!("not the +U of the key whose −U is at offset {at}"));
        }
        match entry.kind {
            RowKind::UpdateAfter if pair.is_none() => Some("a +U without a −U before it".to_owned()),
            RowKind::Insert => state.map(|(at, _)| format!("a +I of a key that is present since offset {at}")),
            RowKind::UpdateBefore | RowKind::Delete => {
                let name = if entry.kind == RowKind::Delete { "−D" } else { "−U" };
                let Some((at, last)) = state else { return Some(format!("a {name} of a key that is absent")) };
                let differs = entry.write.is_some() && last.write.is_some() && entry.write != last.write;
                differs.then(|| format!("a {name} of another row than that of offset {at}"))
            }
            RowKind::UpdateAfter => None,
        }
    }

    fn violated(
        &self,
        before: Option<(u64, LogEntry)>,
        (offset, entry): (u64, LogEntry),
        wrong: &str,
        docket: &mut Docket,
    ) {
        let earlier = entry.key.and_then(|key| self.last.get(&key)).map(|(_, last)| *last);
        let shown = [before.map(|(_, before)| before), earlier, Some(entry)];
        let events = shown.into_iter().flatten().map(|entry| entry.shown_n).collect();
        docket.violated("L14", events, || {
            let row = entry.write.map_or("a row".to_owned(), |write| prose::write(self.index, self.table, write));
            format!(
                "The changes of {} show at offset {offset} of bucket {} (event {}) {row}, which is {wrong}. L14 demands −U \
                 before +U, +I only on absent keys and −D only on present ones.",
                self.table.path,
                prose::bucket(self.bucket),
                entry.shown_n
            )
        });
    }

    /// The state of each key that nobody wrote after the drain is what the replay says, if the whole log is known.
    fn equals_state(&self, read: &Read, content: &Content, docket: &mut Docket) {
        let Some(drained) = self.index.phases.drained else { return };
        let known_then = self.table.extents.iter().filter(|extent| extent.at.at_ms <= drained.at_ms);
        let ends = known_then.filter(|extent| extent.bucket == self.bucket).map(|extent| extent.end_exclusive);
        if ends.max().is_none_or(|end| end > self.end) {
            return;
        }
        let staleness_ms = self.index.history.header.bounds.rt_staleness_ms;
        for (key, (_, entry)) in &self.last {
            let writes = self.table.writes.of_key[*key as usize].iter().map(|write| self.table.writes.get(*write));
            // Acked before the drain, and for so long that `t$rt` shows it (F1).
            let settled = writes.into_iter().all(|write| {
                write.fate == Fate::Acked
                    && write.acked_n < drained.n
                    && write.acked_at_ms.saturating_add(staleness_ms) <= read.invoked.at_ms
            });
            let replayed = if entry.kind.adds() { entry.write } else { None };
            // Between −U and +U a key has no certain state; nor has a row that an UPDATE left.
            let is_open = entry.kind == RowKind::UpdateBefore || (entry.kind.adds() && entry.write.is_none());
            if !settled || is_open {
                continue;
            }
            docket.judged("L14", 1);
            let shown = content.at_key(*key);
            if shown == replayed {
                continue;
            }
            let writes: Vec<u32> = replayed.into_iter().chain(shown).collect();
            let mut events = prose::events(self.index, self.table, &writes, &[read]);
            events.push(entry.shown_n);
            docket.violated("L14", events, || {
                let told = |write: Option<u32>| {
                    write.map_or("no row".to_owned(), |write| prose::write(self.index, self.table, write))
                };
                format!(
                    "Replayed from its start to its end, the log of bucket {} of {} leaves of one key {}. The {} shows {} of \
                     it, and nobody wrote that key since the drain. L14 demands that the replay equals the state.",
                    prose::bucket(self.bucket),
                    self.table.path,
                    told(replayed),
                    prose::read(self.index, read),
                    told(shown)
                )
            });
        }
    }
}

/// The last whole `t$rt` read after the drain, of a table whose rows come from inserts and deletes of keys alone.
fn drained_read<'t>(index: &Index, table: &'t Table) -> Option<(&'t Read, &'t Content)> {
    let drained = index.phases.drained?;
    let mut operations = table.operations.iter().map(|position| &index.operations[*position]);
    let is_open = |operation: &Operation| {
        matches!(operation.statement, Statement::Update { .. } | Statement::Delete { filter: Some(_), .. })
            && operation.fate() != Fate::Failed
    };
    if operations.any(is_open) {
        return None;
    }
    let whole = |read: &Read| read.invoked.n > drained.n && read.snapshot.is_some() && !read.is_filtered();
    table.judged_reads(true).rfind(|(read, content)| whole(read) && content.strays.is_empty())
}
