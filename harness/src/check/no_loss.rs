//! L1 to L5: nothing that was acked or shown is lost, doubled, invented or undone.

use super::content::Content;
use super::index::{Fate, Index, NEVER, Point};
use super::permitted;
use super::table::{LakeSnapshot, Read, Table};
use super::timeline::Known;
use super::writes::{Route, Write};
use super::{Docket, prose};

mod hidden;
mod merge_order;

/// Judges L1, L2, L3, L4 and L5.
pub fn judge(index: &Index, docket: &mut Docket) {
    for table in index.tables.iter().filter(|table| table.writes.id_position.is_some()) {
        nothing_lost(index, table, docket);
        drained_base(index, table, docket);
        contents(index, table, docket);
        tails(index, table, docket);
        merge_order::judge(index, table, docket);
    }
}

/// L1: a write acked, or once returned by any completed read, is never lost: not superseded and yet absent from all
/// later `t$rt` reads.
fn nothing_lost(index: &Index, table: &Table, docket: &mut Docket) {
    let reads: Vec<(&Read, &Content)> = table.judged_reads(true).collect();
    if reads.is_empty() {
        return;
    }
    let shown = Shown::of(table);
    for (position, write) in table.writes.all.iter().enumerate().filter(|(_, write)| write.row.is_some()) {
        let number = position as u32;
        if write.fate == Fate::Failed {
            continue;
        }
        let acked_n = binding_ack(table, write);
        let (first_n, last_n) = (acked_n.min(shown.first_n[position]), shown.last_n[position]);
        if first_n == NEVER {
            continue;
        }
        // The last moment at which it was certainly there.
        let known_n = if acked_n == NEVER { last_n } else { last_n.max(acked_n) };
        let later = |after_n: u64| {
            let binds = move |(read, _): &&(&Read, &Content)| {
                read.invoked.n > after_n
                    && write.superseded_from_n >= read.answered.n
                    && read.covers(write)
                    && read.would_show(number)
            };
            reads.iter().find(binds)
        };
        if later(first_n).is_none() {
            continue;
        }
        docket.judged("L1", 1);
        let Some((read, _)) = later(known_n) else { continue };
        let mut events = prose::events(index, table, &[number], &[read]);
        let known = if acked_n != NEVER && acked_n >= last_n {
            "It was acked".to_owned()
        } else {
            events.push(last_n);
            format!("It was returned to a reader, last in event {last_n}")
        };
        docket.violated("L1", events, || {
            format!(
                "There was {}. {known}, nothing superseded it, and yet it is absent from the {} and from every later \
                 $rt read. L1 forbids that such a write is lost.",
                prose::write(index, table, number),
                prose::read(index, read)
            )
        });
    }
}

/// The ordinal from which on an acked write must be in `t$rt` reads. What went straight into the lake is there once a
/// snapshot with it is registered and readable.
fn binding_ack(table: &Table, write: &Write) -> u64 {
    match (write.route, write.fate) {
        (_, Fate::Indefinite | Fate::Failed) | (Route::Unknown, _) => NEVER,
        (Route::Store, Fate::Acked) => write.acked_n,
        (Route::Lake, Fate::Acked) => {
            let readable = write.snapshot_id.and_then(|snapshot_id| table.readable_from(snapshot_id));
            readable.map_or(NEVER, |at| at.n.max(write.acked_n))
        }
    }
}

/// When writes were returned to readers: by write, the ordinals of the first and last answers; 0 and [`NEVER`] if never.
struct Shown {
    first_n: Vec<u64>,
    last_n: Vec<u64>,
}

impl Shown {
    fn of(table: &Table) -> Self {
        let count = table.writes.all.len();
        let mut shown = Self { first_n: vec![NEVER; count], last_n: vec![0; count] };
        for read in table.reads.iter().filter(|read| read.answered.n < table.disturbance.content_from_n) {
            for write in read.content.iter().flat_map(|content| &content.writes) {
                // The lake shows what went straight into it before a union read may.
                if read.real_time || table.writes.get(*write).route == Route::Store {
                    shown.add(*write, read.answered.n);
                }
            }
        }
        for (write, n) in table.log.shown.iter().filter(|(_, n)| *n < table.disturbance.content_from_n) {
            shown.add(*write, *n);
        }
        shown
    }

    fn add(&mut self, write: u32, n: u64) {
        let position = write as usize;
        self.first_n[position] = self.first_n[position].min(n);
        self.last_n[position] = self.last_n[position].max(n);
    }
}

/// L2: after drain the base table is what was acked: for append tables every row that is not superseded, for key tables
/// per key a permitted last state. Judged by the last base select of the drained phase; that no other row is in it is
/// L3's and L4's to judge.
fn drained_base(index: &Index, table: &Table, docket: &mut Docket) {
    let Some((drained, gave_up)) = drain(index, table) else { return };
    let whole = |read: &Read| read.invoked.n > drained.n && read.snapshot.is_some() && !read.is_filtered();
    let Some((read, content)) = table.judged_reads(false).rfind(|(read, _)| whole(read)) else { return };
    // What is written after the drain has not reached the lake yet.
    let binds = |write: &Write| write.acked_n < drained.n && write.route != Route::Unknown;
    let judged = permitted::compare(table, read, content, binds, |missed| {
        docket.violated("L2", missed.events(index, table, read), || {
            let demand = if gave_up {
                "The lake never came to rest: the drain was given up after the declared bounds in event"
            } else {
                "All was drained since event"
            };
            format!(
                "{} {demand} {}, so L2 demands that the base table holds it.",
                missed.sentence(index, table, read),
                drained.n
            )
        });
    });
    docket.judged("L2", judged);
}

/// Since when the base table must hold what was acked before, and whether the drain had to be given up: a table that was
/// in the mode all the time has had all the time that the system declares to need.
fn drain(index: &Index, table: &Table) -> Option<(Point, bool)> {
    let gave_up = || {
        let at = index.phases.gave_up?;
        let in_mode = table.has_one_chain() && table.timeline.mode.during(0, NEVER) == Known::Yes;
        in_mode.then_some((at, true))
    };
    index.phases.drained.map(|at| (at, false)).or_else(gave_up)
}

/// L3 and L4 for every read and every snapshot.
fn contents(index: &Index, table: &Table, docket: &mut Docket) {
    for read in table.reads.iter().filter(|read| read.answered.n < table.disturbance.structure_from_n) {
        let Some(content) = &read.content else { continue };
        let events = [read.invoked.n, read.answered.n];
        rows_once(index, table, content, &events, || format!("The {}", prose::read(index, read)), docket);
        rows_written(index, table, content, &events, || format!("The {}", prose::read(index, read)), docket);
        for write in &content.writes {
            if table.writes.get(*write).invoked_n > read.answered.n {
                docket.violated("L4", prose::events(index, table, &[*write], &[read]), || {
                    format!(
                        "The {} shows {}, which was invoked only later. L4 forbids rows that nobody has written.",
                        prose::read(index, read),
                        prose::write(index, table, *write)
                    )
                });
            }
        }
    }
    if !table.has_one_chain() {
        return;
    }
    for snapshot in &table.snapshots {
        let Some(content) = &snapshot.content else { continue };
        let who = || snapshot_name(table, snapshot);
        rows_once(index, table, content, &[snapshot.n], who, docket);
        rows_written(index, table, content, &[snapshot.n], who, docket);
        if let (Some(why), true) = (snapshot.added_strays.first(), content.strays.is_empty()) {
            docket.violated("L4", vec![snapshot.n], || {
                format!("{} adds {why}. L4 forbids rows that nobody wrote.", snapshot_name(table, snapshot))
            });
        }
    }
}

/// `Lake snapshot 3 of db.t (event 210)`.
fn snapshot_name(table: &Table, snapshot: &LakeSnapshot) -> String {
    format!("Lake snapshot {} of {} (event {})", snapshot.seen.snapshot_id, table.path, snapshot.n)
}

/// L3: no row appears twice.
fn rows_once(
    index: &Index,
    table: &Table,
    content: &Content,
    events: &[u64],
    who: impl Fn() -> String,
    docket: &mut Docket,
) {
    docket.judged("L3", u64::from(!content.writes.is_empty()));
    for write in &content.repeated {
        let mut all = prose::events(index, table, &[*write], &[]);
        all.extend(events);
        docket.violated("L3", all, || {
            let what = if table.has_key() { "a second row of the key of" } else { "twice" };
            format!(
                "{} shows {what} {}. It was written once, and L3 forbids that a row appears twice.",
                who(),
                prose::write(index, table, *write)
            )
        });
    }
}

/// L4: no row appears that nobody wrote; no definitely failed write ever appears, nor part of one.
fn rows_written(
    index: &Index,
    table: &Table,
    content: &Content,
    events: &[u64],
    who: impl Fn() -> String,
    docket: &mut Docket,
) {
    docket.judged("L4", u64::from(!content.writes.is_empty() || !content.strays.is_empty()));
    for why in &content.strays {
        docket.violated("L4", events.to_vec(), || format!("{} shows {why}. L4 forbids rows that nobody wrote.", who()));
    }
    for write in &content.writes {
        if table.writes.get(*write).fate == Fate::Failed {
            let mut all = prose::events(index, table, &[*write], &[]);
            all.extend(events);
            docket.violated("L4", all, || {
                format!(
                    "{} shows {}. That write failed for certain, so L4 forbids that it, or a part of it, ever appears.",
                    who(),
                    prose::write(index, table, *write)
                )
            });
        }
    }
}

/// L3 and L4 for the changelog: a tail never repeats what it returned, and returns only what was written.
fn tails(index: &Index, table: &Table, docket: &mut Docket) {
    let until_n = table.disturbance.structure_from_n;
    let answers = table.log.answers.iter().filter(|n| **n < until_n).count() as u64;
    docket.judged("L3", answers);
    docket.judged("L4", answers);
    for oddity in table.log.repeated.iter().filter(|oddity| oddity.shown_n < until_n) {
        docket.violated("L3", vec![oddity.against_n, oddity.shown_n], || {
            format!(
                "The changes of {} that one session reads, each answer from where the last one ended, show {} (event {}, \
                 after event {}). L3 forbids that a row appears twice across the hand-off.",
                table.path, oddity.what, oddity.shown_n, oddity.against_n
            )
        });
    }
    for (n, why) in table.log.strays.iter().filter(|(n, _)| *n < until_n) {
        docket.violated("L4", vec![*n], || {
            format!("The changes of {} in event {n} show {why}. L4 forbids rows that nobody wrote.", table.path)
        });
    }
    for (write, n) in table.log.shown.iter().filter(|(_, n)| *n < until_n) {
        if table.writes.get(*write).fate == Fate::Failed {
            let mut events = prose::events(index, table, &[*write], &[]);
            events.push(*n);
            docket.violated("L4", events, || {
                format!(
                    "The changes of {} in event {n} show {}. That write failed for certain, so L4 forbids that it ever \
                     appears.",
                    table.path,
                    prose::write(index, table, *write)
                )
            });
        }
    }
}
