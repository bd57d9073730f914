//! The chaos phase: writers, readers and tailers side by side.

use models::contract::{ReplaceVia, Statement, TableView};

use super::session::{Cast, Session, Turn};
use super::tables::Table;
use super::{Run, attempts, columns, within};
use crate::draw::Place;
use crate::plan::{NEXT_POSITION, Phase, Step};
use crate::scenario::TableKind;

/// What a writer does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Write {
    Insert,
    Delete,
    DeleteAbsent,
}

/// What a reader does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    Select,
    Filter,
    Lookup,
}

/// What the catalog session tries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    Rename,
    Replace,
    Truncate,
    WriteRealTime,
    AlterOptions,
    CreateExisting,
    Describe,
    AddColumn,
    Branch,
    View,
    TimeTravel,
    Update,
    Switch,
}

/// The ways to a replace (C2).
pub(super) const REPLACE_VIAS: [ReplaceVia; 3] = [ReplaceVia::Catalog, ReplaceVia::CreateOrReplace, ReplaceVia::Rtas];

/// So many statements of the chaos phase, as the scenario's mix shares them out.
pub(super) fn statements(run: &Run<'_>, cast: &mut Cast, count: u64) -> Vec<Step> {
    let place = run.draws.at("plan", "chaos");
    let workload = run.workload;
    let reads = count * within(place, "reads-percent", 0, workload.reads_percent) / 100;
    let attempts =
        workload.catalog.as_ref().map_or(0, |mix| count * within(place, "catalog-percent", 0, mix.percent) / 100);
    let overwrites = if run.overwrites { within(place, "overwrites", 0, workload.overwrites) } else { 0 };
    let writes = count.saturating_sub(reads + attempts + overwrites);
    let tails = reads / 4;
    let pace = Pace { chaos_ms: run.chaos_ms, bursts: bursts(run, place) };
    let mut steps = Vec::with_capacity(count as usize);

    let mix = Mixes::draw(run, place);
    share(&mut cast.writers, writes, |session, number, of| {
        let turn = session.turn(Phase::Chaos);
        let at_ms = pace.at_ms(turn.place, number, of);
        let table = mix.table(turn.place, run);
        let statement = write(run, table, &turn, &mix, at_ms);
        steps.push(turn.step(at_ms, run.deadline_ms, statement));
    });
    share(&mut cast.readers, reads - tails, |session, number, of| {
        let turn = session.turn(Phase::Chaos);
        let at_ms = pace.at_ms(turn.place, number, of);
        let table = mix.table(turn.place, run);
        let (read, real_time) =
            turn.place.pick_weighted("read", 0, &mix.reads).copied().unwrap_or((Read::Select, true));
        let statement = read_statement(table, turn.place, read, real_time);
        steps.push(turn.step(at_ms, run.deadline_ms, statement));
    });
    share(&mut cast.tailers, tails, |session, number, of| {
        let turn = session.turn(Phase::Chaos);
        let at_ms = pace.at_ms(turn.place, number, of);
        // Table after table: the first round begins at the earliest change.
        let tables = run.tables.len() as u64;
        let table = &run.tables[(number % tables) as usize];
        let from = if number < tables { "earliest" } else { NEXT_POSITION };
        let max = turn.place.between_inclusive("max", 0, 20, 400);
        let statement = Statement::Changes { table: table.real_time(), from: from.to_owned(), max };
        steps.push(turn.step(at_ms, run.deadline_ms, statement));
    });
    for number in 0..attempts {
        let turn = cast.catalog.turn(Phase::Chaos);
        let mut at_ms = pace.at_ms(turn.place, number, attempts);
        let kind = turn.place.pick_weighted("attempt", 0, &mix.attempts).copied().unwrap_or(Attempt::Rename);
        let pause_ms = turn.place.between_inclusive("pause", 0, 1, run.chaos_ms / 12);
        let mut statements = attempts::attempt(kind, mix.table(turn.place, run), &turn).into_iter();
        let first = statements.next().expect("an attempt has a statement");
        steps.push(turn.step(at_ms, run.deadline_ms, first));
        for statement in statements {
            at_ms = (at_ms + pause_ms).min(run.chaos_ms);
            steps.push(cast.catalog.turn(Phase::Chaos).step(at_ms, run.deadline_ms, statement));
        }
    }
    let append: Vec<&Table> = run.tables.iter().filter(|table| table.kind == TableKind::Append).collect();
    for number in 0..overwrites {
        let turn = cast.overwriter.turn(Phase::Chaos);
        if let Some(table) = turn.place.pick("table", 0, &append) {
            let at_ms = pace.at_ms(turn.place, number, overwrites);
            let statement = overwrite(table, &turn);
            steps.push(turn.step(at_ms, run.deadline_ms, statement));
        }
    }
    steps
}

/// Shares out `count` turns among the sessions, as evenly as can be; calls `take(session, number, of)`, where `number`
/// counts the session's own turns from 0 up to `of`, exclusive.
fn share(sessions: &mut [Session], count: u64, mut take: impl FnMut(&mut Session, u64, u64)) {
    let sharers = sessions.len() as u64;
    for (index, session) in sessions.iter_mut().enumerate() {
        let of = count / sharers + u64::from((index as u64) < count % sharers);
        for number in 0..of {
            take(session, number, of);
        }
    }
}

/// How the statements of a session are spread over the chaos phase.
struct Pace {
    chaos_ms: u64,
    /// The number of bursts; `None`: evenly.
    bursts: Option<u64>,
}

fn bursts(run: &Run<'_>, place: Place) -> Option<u64> {
    place.chance("bursty", 0, run.workload.bursty_permille.0).then(|| place.between_inclusive("bursts", 0, 3, 8))
}

impl Pace {
    /// When the session's turn with this number begins; it ascends with the number.
    fn at_ms(&self, place: Place, number: u64, of: u64) -> u64 {
        let slots = self.bursts.unwrap_or(of).clamp(1, of.max(1));
        let slot = number * slots / of.max(1);
        let slot_ms = self.chaos_ms / slots;
        // The first turn of this slot, so that turns within one burst keep their order.
        let first = (slot * of.max(1)).div_ceil(slots);
        let in_slot = of.max(1).div_ceil(slots);
        let within_ms = if self.bursts.is_some() { slot_ms.min(in_slot * 12) } else { slot_ms };
        let step_ms = within_ms / in_slot;
        slot * slot_ms + (number - first) * step_ms + place.below_exclusive("at", 0, step_ms.max(1))
    }
}

/// The weights of a run: the scenario's, each made lighter or heavier for this run.
struct Mixes {
    tables: Vec<(u64, usize)>,
    writes: Vec<(u64, Write)>,
    reads: Vec<(u64, (Read, bool))>,
    attempts: Vec<(u64, Attempt)>,
}

impl Mixes {
    fn draw(run: &Run<'_>, place: Place) -> Self {
        let workload = run.workload;
        let reweigh = |site: &str, index: usize, weight: u64| {
            weight * place.pick(site, index as u64, &[1, 2, 2, 4, 8]).copied().unwrap_or(1)
        };
        let writes = &workload.writes;
        let writes = [
            (writes.insert, Write::Insert),
            (writes.delete, Write::Delete),
            (writes.delete_absent, Write::DeleteAbsent),
        ];
        let reads = &workload.reads;
        let reads = [
            (reads.select, (Read::Select, false)),
            (reads.select_rt, (Read::Select, true)),
            (reads.filter, (Read::Filter, false)),
            (reads.filter_rt, (Read::Filter, true)),
            (reads.lookup, (Read::Lookup, false)),
            (reads.lookup_rt, (Read::Lookup, true)),
        ];
        let attempts = workload.catalog.as_ref().map_or(Vec::new(), |mix| {
            vec![
                (mix.rename, Attempt::Rename),
                (mix.replace, Attempt::Replace),
                (mix.truncate, Attempt::Truncate),
                (mix.write_rt, Attempt::WriteRealTime),
                (mix.alter_options, Attempt::AlterOptions),
                (mix.create_existing, Attempt::CreateExisting),
                (mix.describe, Attempt::Describe),
                (mix.add_column, Attempt::AddColumn),
                (mix.branch, Attempt::Branch),
                (mix.view, Attempt::View),
                (mix.time_travel, Attempt::TimeTravel),
                (mix.update, Attempt::Update),
                (if run.switches { mix.switch } else { 0 }, Attempt::Switch),
            ]
        });
        Self {
            tables: (0..run.tables.len()).map(|index| (reweigh("table-weight", index, 1), index)).collect(),
            // Inserts keep a middling weight: a run that hardly inserts proves nothing.
            writes: reweighed(&writes, |index, weight| match writes[index].1 {
                Write::Insert => weight * 4,
                _ => reweigh("write-weight", index, weight),
            }),
            reads: reweighed(&reads, |index, weight| reweigh("read-weight", index, weight)),
            attempts: reweighed(&attempts, |index, weight| reweigh("attempt-weight", index, weight)),
        }
    }

    fn table<'a>(&self, place: Place, run: &'a Run<'_>) -> &'a Table {
        &run.tables[place.pick_weighted("table", 0, &self.tables).copied().unwrap_or(0)]
    }
}

fn reweighed<T: Copy>(items: &[(u64, T)], reweigh: impl Fn(usize, u64) -> u64) -> Vec<(u64, T)> {
    items.iter().enumerate().map(|(index, (weight, item))| (reweigh(index, *weight), *item)).collect()
}

fn write(run: &Run<'_>, table: &Table, turn: &Turn, mix: &Mixes, at_ms: u64) -> Statement {
    let early = at_ms < run.chaos_ms / 2;
    let count = within(turn.place, "rows", 0, run.workload.rows_per_write);
    let write = match table.kind {
        TableKind::Append => Write::Insert,
        TableKind::Key => turn.place.pick_weighted("write", 0, &mix.writes).copied().unwrap_or(Write::Insert),
    };
    // Now and then somebody is late, and the partition may be gone.
    let leaving = table.leaving_partition().filter(|_| !early && turn.place.chance("late", 0, 60));
    match write {
        Write::Insert => {
            let rows = table.rows(turn, count, early, leaving);
            Statement::insert(table.base(), columns::written(run, &table.path, rows, turn.place, at_ms))
        }
        Write::Delete => Statement::delete(table.base(), table.keys(turn.place, count, early)),
        Write::DeleteAbsent => Statement::delete(table.base(), table.absent_keys(turn.place, count)),
    }
}

/// A read of a table. Where the table has no keys a lookup becomes a select by filter.
pub(super) fn read_statement(table: &Table, place: Place, read: Read, real_time: bool) -> Statement {
    let view: TableView = if real_time { table.real_time() } else { table.base() };
    match (read, table.kind) {
        (Read::Select, _) => Statement::select(view, Default::default()),
        (Read::Lookup, TableKind::Key) => Statement::Lookup { table: view, key: table.key(place) },
        (Read::Filter | Read::Lookup, _) => Statement::select(view, table.filter(place)),
    }
}

/// In so many of a thousand overwrites of a partitioned table it is of a partition that lives in the lake alone.
const LAKE_ONLY_PERMILLE: u64 = 250;

/// An overwrite in the lake (C15): of one partition, of those that the rows name, or of the whole table.
pub(super) fn overwrite(table: &Table, turn: &Turn) -> Statement {
    let lake_only = table.lake_only_partition().filter(|_| turn.place.chance("lake-only", 0, LAKE_ONLY_PERMILLE));
    let count = turn.place.between_inclusive("rows", 0, u64::from(lake_only.is_some()), 4);
    // The rows of a static overwrite all lie in its partition.
    let one_of_its_own = || table.partition(turn.place, 100).filter(|_| turn.place.chance("static", 0, 500));
    let partition = lake_only.as_ref().or_else(one_of_its_own);
    let rows = table.rows(turn, count, false, partition);
    Statement::InsertOverwrite {
        table: table.path.clone(),
        partition: partition.map(|value| [("dt".to_owned(), value.clone())].into()),
        rows,
    }
}
