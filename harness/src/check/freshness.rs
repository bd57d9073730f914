//! F1 to F4: how old a read may be, and that reads never go back.

use std::collections::BTreeMap;

use super::index::{Fate, Index, NEVER};
use super::permitted::{self, Missed};
use super::table::{Read, Scope, Table};
use super::timeline::Known;
use super::writes::{Route, Write};
use super::{Docket, FreshnessSamples, prose};

/// Judges F1, F2, F3 and F4.
pub fn judge(index: &Index, docket: &mut Docket) {
    for table in index.tables.iter().filter(|table| table.schema.is_some()) {
        real_time(index, table, docket);
        lake(index, table, docket);
        sessions_go_forward(index, table, docket);
        snapshots_go_forward(index, table, docket);
    }
}

/// F1: a completed `t$rt` read invoked at least `rt_staleness` after an ack shows that write or one that supersedes it.
fn real_time(index: &Index, table: &Table, docket: &mut Docket) {
    let staleness_ms = index.history.header.bounds.rt_staleness_ms;
    for (read, content) in table.judged_reads(true) {
        let binds = |write: &Write| {
            write.route == Route::Store
                && write.acked_n < read.invoked.n
                && write.acked_at_ms.saturating_add(staleness_ms) <= read.invoked.at_ms
        };
        let judged = permitted::compare(table, read, content, binds, |missed| {
            docket.violated("F1", missed.events(index, table, read), || {
                format!(
                    "{} It was invoked at {} ms, at least {staleness_ms} ms after the ack, so F1 demands that write or \
                     one that supersedes it.",
                    missed.sentence(index, table, read),
                    read.invoked.at_ms
                )
            });
        });
        docket.judged("F1", judged);
    }
}

/// F2: a base read shows a write, or one that supersedes it, whose ack binds it: see [`bound_by_acks_until`].
fn lake(index: &Index, table: &Table, docket: &mut Docket) {
    let bounds = index.history.header.bounds;
    for (read, content) in table.judged_reads(false) {
        if table.timeline.mode.during(0, read.answered.n) != Known::Yes {
            continue;
        }
        // A rollback takes rows back that tiering brings again: for them all begins anew.
        let undone = table.rollbacks.iter().rev().find(|rollback| rollback.from.n < read.answered.n);
        let since_ms = undone.map_or(0, |rollback| rollback.to.at_ms);
        let Some(bound_ms) = bound_by_acks_until(index, read).filter(|bound_ms| since_ms <= *bound_ms) else {
            continue;
        };
        let binds = |write: &Write| {
            write.route != Route::Unknown && write.acked_n < read.invoked.n && write.acked_at_ms <= bound_ms
        };
        let judged = permitted::compare(table, read, content, binds, |missed| {
            docket.violated("F2", missed.events(index, table, read), || {
                format!(
                    "{} The ack came by {bound_ms} ms. From then on there was no fault for the lake freshness of {} ms, and \
                     whatever had disturbed the system before was over for more than its recovery of {} ms. So F2 demands \
                     that write or one that supersedes it.",
                    missed.sentence(index, table, read),
                    bounds.lake_freshness_ms,
                    bounds.recovery_ms
                )
            });
        });
        docket.judged("F2", judged);
    }
}

/// The latest moment of an ack that binds a base read: one lake freshness before the read, or before the end of an earlier
/// healthy time, that had then lasted longer than `recovery`. A system that was never disturbed has nothing to recover
/// from.
fn bound_by_acks_until(index: &Index, read: &Read) -> Option<u64> {
    let bounds = index.history.header.bounds;
    let latest = index.healthy.iter().enumerate().filter_map(|(position, healthy)| {
        let recovered_ms = match position {
            0 => 0,
            // A fault at the very moment of the beginning still costs.
            _ => healthy.from_ms.saturating_add(bounds.recovery_ms).saturating_add(1),
        };
        let over_ms = healthy.to_ms.min(read.invoked.at_ms);
        over_ms.checked_sub(bounds.lake_freshness_ms).filter(|acked_ms| *acked_ms >= recovered_ms)
    });
    latest.max()
}

/// The latest moment at which a healthy window of this length began that was over when the read was invoked.
pub fn healthy_window_start(index: &Index, read: &Read, window_ms: u64) -> Option<u64> {
    let starts = index.healthy.iter().enumerate().filter_map(|(position, healthy)| {
        let over_ms = healthy.to_ms.min(read.invoked.at_ms);
        over_ms.checked_sub(window_ms).filter(|start_ms| *start_ms > healthy.from_ms || position == 0)
    });
    starts.max()
}

impl Missed {
    /// Who wrote, who read, and what was shown.
    pub fn sentence(&self, index: &Index, table: &Table, read: &Read) -> String {
        let instead = match self.shown {
            Some(shown) => format!("shows {} of that key instead", prose::write(index, table, shown)),
            None if table.has_key() => "shows no row of that key, and no delete explains it".to_owned(),
            None => "does not show it, and nothing superseded it".to_owned(),
        };
        format!("There was {}. The {} {instead}.", prose::write(index, table, self.write), prose::read(index, read))
    }

    /// The events that prove it.
    pub fn events(&self, index: &Index, table: &Table, read: &Read) -> Vec<u64> {
        let writes: Vec<u32> = std::iter::once(self.write).chain(self.shown).collect();
        prose::events(index, table, &writes, &[read])
    }
}

/// What one session saw last.
struct Seen<'r> {
    /// By write, the last read of the session that showed it.
    shown_by: Vec<Option<&'r Read>>,
    /// By key, the write that it showed last.
    of_key: BTreeMap<u32, u32>,
}

/// F3: `t$rt` reads of one session never go backwards; versions are ordered by log offsets where `changes` showed them,
/// else by real time.
fn sessions_go_forward(index: &Index, table: &Table, docket: &mut Docket) {
    let mut sessions: BTreeMap<&str, Seen> = BTreeMap::new();
    for (read, content) in table.judged_reads(true) {
        let seen = sessions
            .entry(index.operations[read.operation].session)
            .or_insert_with(|| Seen { shown_by: vec![None; table.writes.all.len()], of_key: BTreeMap::new() });
        let mut went_back = |write: u32, earlier: &Read, how: String| {
            docket.violated("F3", prose::events(index, table, &[write], &[earlier, read]), || {
                format!(
                    "The {} showed {}. Later the {} of the same session {how}. F3 forbids that a session goes back.",
                    prose::read(index, earlier),
                    prose::write(index, table, write),
                    prose::read(index, read)
                )
            });
        };
        let mut judged = 0;
        if table.has_key() {
            let keys: Vec<u32> = match read.scope {
                Scope::All => (0..table.writes.of_key.len() as u32).collect(),
                Scope::Key(key) => vec![key],
                Scope::UnknownKey => Vec::new(),
            };
            for key in keys {
                let (now, before) = (content.at_key(key), seen.of_key.get(&key).copied());
                let returned = now.filter(|now| Some(*now) != before).and_then(|now| seen.shown_by[now as usize]);
                judged += u64::from(before.is_some() && (now.is_some() || !read.is_filtered()));
                match (before, now) {
                    (_, Some(now)) if returned.is_some() => {
                        let earlier = returned.unwrap_or(read);
                        went_back(now, earlier, "shows it again, after another state of its key".to_owned());
                    }
                    (Some(before), Some(now)) if is_before(table, now, before) => {
                        let how = format!("shows {}, which is older", prose::write(index, table, now));
                        went_back(before, seen.shown_by[before as usize].unwrap_or(read), how);
                    }
                    (Some(before), None) if !read.is_filtered() && !may_be_deleted(table, before, read) => {
                        let how = "shows no row of its key, though no delete can have come after it".to_owned();
                        went_back(before, seen.shown_by[before as usize].unwrap_or(read), how);
                    }
                    _ => {}
                }
                match now {
                    Some(now) => {
                        seen.of_key.insert(key, now);
                        seen.shown_by[now as usize] = Some(read);
                    }
                    None if !read.is_filtered() => {
                        seen.of_key.remove(&key);
                    }
                    None => {}
                }
            }
        } else {
            for (write, earlier) in (0..).zip(&seen.shown_by) {
                let Some(earlier) = earlier else { continue };
                if table.writes.get(write).superseded_from_n < read.answered.n || !read.would_show(write) {
                    continue;
                }
                judged += 1;
                if !content.shows[write as usize] {
                    went_back(write, earlier, "does not show it, and nothing superseded it".to_owned());
                }
            }
            for write in &content.writes {
                seen.shown_by[*write as usize] = Some(read);
            }
        }
        docket.judged("F3", judged);
    }
}

/// Whether a write certainly came before another of its key: by offsets where both are known, else by real time.
fn is_before(table: &Table, earlier: u32, later: u32) -> bool {
    match (table.log.position.get(&earlier), table.log.position.get(&later)) {
        (Some((bucket, offset)), Some((other_bucket, other_offset))) if bucket == other_bucket => offset < other_offset,
        _ => table.writes.get(earlier).acked_n < table.writes.get(later).invoked_n,
    }
}

/// Whether a delete of the write's key may have come after it and before the read's end.
fn may_be_deleted(table: &Table, write: u32, read: &Read) -> bool {
    let write = table.writes.get(write);
    let writes = write.key.map(|key| table.writes.of_key[key as usize].as_slice()).unwrap_or_default();
    writes
        .iter()
        .map(|other| table.writes.get(*other))
        .any(|other| other.row.is_none() && other.invoked_n < read.answered.n && other.acked_n >= write.invoked_n)
}

/// F4: base reads never go back in snapshot order, in real time. A rollback lets them begin anew.
fn snapshots_go_forward(index: &Index, table: &Table, docket: &mut Docket) {
    let until_n = table.disturbance.structure_from_n;
    let chosen = |read: &&Read| !read.real_time && !read.historic && read.answered.n < until_n;
    let in_stale_window = |read: &Read| {
        let mut windows = index.stale_windows.iter();
        windows.any(|(from_ms, to_ms)| read.invoked.at_ms <= *to_ms && read.answered.at_ms >= *from_ms)
    };
    let reads: Vec<(&Read, Option<u64>)> = table
        .reads
        .iter()
        .filter(chosen)
        .filter(|read| !in_stale_window(read))
        .filter_map(|read| Some((read, read.snapshot?)))
        .collect();
    let mut by_answer = reads.clone();
    by_answer.sort_by_key(|(read, _)| read.answered.n);
    let mut answered = by_answer.into_iter().peekable();
    let mut newest: Option<(&Read, Option<u64>)> = None;
    for (read, snapshot_id) in reads {
        newest = newest.filter(|(earlier, _)| !table.is_rolled_back_within(earlier.invoked.n, read.answered.n));
        while let Some((earlier, seen)) = answered.next_if(|(earlier, _)| earlier.answered.n < read.invoked.n) {
            let is_undone = table.is_rolled_back_within(earlier.invoked.n, read.answered.n);
            if !is_undone && newest.is_none_or(|(_, newest)| seen > newest) {
                newest = Some((earlier, seen));
            }
        }
        let Some((earlier, seen)) = newest else { continue };
        docket.judged("F4", u64::from(seen.is_some()));
        if snapshot_id < seen {
            let name = |id: Option<u64>| id.map_or("no snapshot".to_owned(), |id| format!("snapshot {id}"));
            docket.violated("F4", prose::events(index, table, &[], &[earlier, read]), || {
                format!(
                    "The {} read {}. The {}, invoked after that answer, read {}. F4 demands that base reads never go \
                     back in snapshot order.",
                    prose::read(index, earlier),
                    name(seen),
                    prose::read(index, read),
                    name(snapshot_id)
                )
            });
        }
    }
}

/// How fresh the reads were.
pub fn samples(index: &Index) -> FreshnessSamples {
    let mut samples = FreshnessSamples::default();
    for table in &index.tables {
        let mut committed_at_ms: Vec<Option<u64>> = vec![None; table.writes.all.len()];
        for snapshot in &table.snapshots {
            let added = snapshot.added.iter().filter(|added| added.kind.adds()).filter_map(|added| added.write);
            let shown = snapshot.content.iter().flat_map(|content| content.writes.iter().copied());
            for write in added.chain(shown) {
                committed_at_ms[write as usize].get_or_insert(snapshot.seen.committed_at_ms);
            }
        }
        for (position, write) in table.writes.all.iter().enumerate() {
            if write.fate != Fate::Acked {
                continue;
            }
            if let Some(missed_for_ms) = real_time_sample(table, write, position as u32) {
                samples.real_time_ms.push(missed_for_ms);
            }
            if let Some(committed_at_ms) = committed_at_ms[position] {
                samples.lake_ms.push(committed_at_ms.saturating_sub(write.acked_at_ms));
            }
        }
    }
    samples
}

/// For how long after its ack some `t$rt` read still missed the write; `None` if no read could have shown it.
fn real_time_sample(table: &Table, write: &Write, number: u32) -> Option<u64> {
    if write.route != Route::Store || write.acked_n == NEVER {
        return None;
    }
    let could_show = |read: &Read| {
        write.acked_n < read.invoked.n
            && write.superseded_from_n >= read.answered.n
            && read.covers(write)
            && read.would_show(number)
    };
    let mut sample = None;
    for (read, content) in table.judged_reads(true).filter(|(read, _)| could_show(read)) {
        let shown = match (write.key, &write.row) {
            (Some(key), None) => content.at_key(key).is_none(),
            _ => content.shows[number as usize],
        };
        let missed_for_ms = if shown { 0 } else { read.invoked.at_ms - write.acked_at_ms };
        sample = Some(sample.unwrap_or(0).max(missed_for_ms));
    }
    sample
}
