//! L5: per key the value is the merge of its writes in log order; a delete is never undone.
//!
//! Three kinds of evidence: the lake's own snapshots, each of which must follow from the one before and what was added;
//! log positions that `changes` showed before a read; and, without either, real time.

use std::collections::BTreeMap;

use models::contract::RowKind;

use crate::check::content::{Content, NOTHING};
use crate::check::index::{Fate, Index};
use crate::check::known_log::Bucket;
use crate::check::table::{LakeSnapshot, Read, Scope, Table};
use crate::check::{Docket, prose};

/// The state of a key that the evidence leaves open.
pub(super) const UNCLEAR: u32 = NOTHING - 1;

/// Judges L5.
pub fn judge(index: &Index, table: &Table, docket: &mut Docket) {
    for oddity in table.log.rewritten.iter().filter(|oddity| oddity.shown_n < table.disturbance.content_from_n) {
        docket.judged("L5", 1);
        docket.violated("L5", vec![oddity.against_n, oddity.shown_n], || {
            format!(
                "The changes of {} in event {} show {}, where event {} had shown a different one. L5 takes the order of \
                 writes from the log, so what it holds at an offset never changes.",
                table.path, oddity.shown_n, oddity.what, oddity.against_n
            )
        });
    }
    if table.has_key() {
        if table.hides_what_is_new() {
            super::hidden::judge(index, table, docket);
        } else {
            lake_merges(index, table, docket);
        }
        reads_follow_log(index, table, docket);
        deletes_stay(index, table, docket);
    }
}

/// Each snapshot is the one before, with what it added put over it in sequence order.
fn lake_merges(index: &Index, table: &Table, docket: &mut Docket) {
    let mut state: Option<(u64, Vec<u32>)> = None;
    for snapshot in table.judged_snapshots() {
        let id = snapshot.seen.snapshot_id;
        let Some(content) = &snapshot.content else {
            state = None;
            continue;
        };
        let before = match state.take() {
            Some((before_id, before)) if before_id + 1 == id => Some(before),
            // The chain begins with nothing.
            _ if id == 1 => Some(vec![NOTHING; table.writes.of_key.len()]),
            _ => None,
        };
        let Some(mut merged) = before else {
            state = Some((id, content.of_key.clone()));
            continue;
        };
        put_over(&mut merged, snapshot);
        let mut judged = 0;
        for (key, (expected, shown)) in merged.iter_mut().zip(&content.of_key).enumerate() {
            if *expected == UNCLEAR || (*expected, *shown) == (NOTHING, NOTHING) {
                continue;
            }
            judged += 1;
            if expected != shown {
                wrong_merge(index, table, snapshot, (*expected, *shown), key as u32, docket);
                *expected = *shown;
            }
        }
        docket.judged("L5", judged);
        state = Some((id, merged));
    }
}

pub(super) fn put_over(state: &mut [u32], snapshot: &LakeSnapshot) {
    if snapshot.seen.kind == "COMPACT" {
        return;
    }
    for added in &snapshot.added {
        let Some(key) = added.key else { continue };
        state[key as usize] = match (added.kind, added.write) {
            (RowKind::Insert | RowKind::UpdateAfter, Some(write)) => write,
            (RowKind::Delete, _) => NOTHING,
            // A row that nobody wrote is L4's; between −U and +U a key has no certain state.
            (RowKind::Insert | RowKind::UpdateAfter, None) | (RowKind::UpdateBefore, _) => UNCLEAR,
        };
    }
}

pub(super) fn wrong_merge(
    index: &Index,
    table: &Table,
    snapshot: &LakeSnapshot,
    (expected, shown): (u32, u32),
    key: u32,
    docket: &mut Docket,
) {
    let some: Vec<u32> = [expected, shown].into_iter().filter(|write| *write != NOTHING).collect();
    let mut events = prose::events(index, table, &some, &[]);
    events.push(snapshot.n);
    docket.violated("L5", events, || {
        let name = |write: u32| match write {
            NOTHING => "no row".to_owned(),
            write => prose::write(index, table, write),
        };
        format!(
            "Of key number {key} of {}, lake snapshot {} (event {}) shows {}. Putting over the snapshot before it what it \
             added itself, in sequence order, gives {}. L5 demands the merge of the writes in log order.",
            table.path,
            snapshot.seen.snapshot_id,
            snapshot.n,
            name(shown),
            name(expected)
        )
    });
}

/// A read shows no state of a key that is older than what `changes` had shown of it before.
fn reads_follow_log(index: &Index, table: &Table, docket: &mut Docket) {
    // By key, in log order: offset, answer that showed it, bucket.
    let mut of_key: BTreeMap<u32, Vec<(u64, u64, Bucket)>> = BTreeMap::new();
    for (bucket, log) in &table.log.buckets {
        for (offset, entry) in log.entries.iter().filter(|(_, entry)| entry.kind != RowKind::UpdateBefore) {
            if let Some(key) = entry.key {
                of_key.entry(key).or_default().push((*offset, entry.shown_n, *bucket));
            }
        }
    }
    for (read, content) in table.judged_reads(true) {
        let mut judged = 0;
        for shown in &content.writes {
            let Some((bucket, offset)) = table.log.position.get(shown) else { continue };
            let Some(entries) = table.writes.get(*shown).key.and_then(|key| of_key.get(&key)) else { continue };
            let known = entries.iter().rfind(|(_, shown_n, other)| *shown_n < read.invoked.n && other == bucket);
            let Some((newest, shown_n, _)) = known else { continue };
            judged += 1;
            if offset < newest {
                let mut events = prose::events(index, table, &[*shown], &[read]);
                events.push(*shown_n);
                docket.violated("L5", events, || {
                    format!(
                        "The {} shows {}, which is at offset {offset} of the log of bucket {}. The changes of event {shown_n}, \
                         answered before that read began, had shown a later state of that key at offset {newest}. L5 \
                         demands the merge of the writes in log order.",
                        prose::read(index, read),
                        prose::write(index, table, *shown),
                        prose::bucket(*bucket)
                    )
                });
            }
        }
        docket.judged("L5", judged);
    }
}

/// A delete that was acked last stays: the last `t$rt` read of each key, and the last base read after the drain.
fn deletes_stay(index: &Index, table: &Table, docket: &mut Docket) {
    let mut done = vec![false; table.writes.of_key.len()];
    for (read, content) in table.judged_reads(true).rev().filter(|(read, _)| !read.is_filtered()) {
        match read.scope {
            Scope::All => {
                for (key, done) in done.iter_mut().enumerate().filter(|(_, done)| !**done) {
                    *done = true;
                    delete_stays(index, table, read, content, (key as u32, read.invoked.n), docket);
                }
            }
            Scope::Key(key) => {
                if !std::mem::replace(&mut done[key as usize], true) {
                    delete_stays(index, table, read, content, (key, read.invoked.n), docket);
                }
            }
            Scope::UnknownKey => {}
        }
    }
    let Some(drained) = index.phases.drained else { return };
    let whole = |read: &Read| read.invoked.n > drained.n && read.scope == Scope::All && !read.is_filtered();
    if let Some((read, content)) = table.judged_reads(false).rfind(|(read, _)| whole(read)) {
        for key in 0..table.writes.of_key.len() as u32 {
            delete_stays(index, table, read, content, (key, drained.n), docket);
        }
    }
}

/// `before_n`: only deletes that were acked before this ordinal bind.
fn delete_stays(
    index: &Index,
    table: &Table,
    read: &Read,
    content: &Content,
    (key, before_n): (u32, u64),
    docket: &mut Docket,
) {
    let acked = |number: &u32| {
        let write = table.writes.get(*number);
        write.fate == Fate::Acked && write.acked_n < before_n
    };
    let Some(last) = table.writes.of_key[key as usize].iter().copied().rfind(acked) else { return };
    let delete = table.writes.get(last);
    if delete.row.is_some() {
        return;
    }
    docket.judged("L5", 1);
    let Some(shown) = content.at_key(key) else { return };
    if table.writes.get(shown).acked_n < delete.invoked_n {
        docket.violated("L5", prose::events(index, table, &[shown, last], &[read]), || {
            format!(
                "There was {}, and after it {} of its key. The {} shows the row all the same. L5 demands that a delete is \
                 never undone.",
                prose::write(index, table, shown),
                prose::write(index, table, last),
                prose::read(index, read)
            )
        });
    }
}
