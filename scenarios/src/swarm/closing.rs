//! What follows the chaos. Healed: a few more writes and a read of every kind, all of which must succeed (F8), while
//! the lake catches up (F5). Drained: a lone session takes stock of every table, tries what the mode forbids, and
//! looks whether all still works.

use models::contract::{Statement, TableView};

use super::attempts::back_into_the_mode;
use super::chaos::{REPLACE_VIAS, Read, overwrite, read_statement};
use super::session::Cast;
use super::tables::Table;
use super::{Run, guards, stories};
use crate::plan::{NEXT_POSITION, Phase, Step};
use crate::scenario::TableKind;

/// The deadline of statements after the chaos phase: generous, for they must not need it.
pub(super) const CLOSING_DEADLINE_MS: u64 = 10_000;

/// In how many of a thousand runs somebody waits for the lake's declared bound.
const PATIENT_PERMILLE: u64 = 200;

/// When the last rows are written in runs that watch the neighbours of a table, in milliseconds from the healing.
const LATE_WRITES_MS: u64 = 800;

/// Every kind of read, of both views.
const READS: [(Read, bool); 6] = [
    (Read::Select, false),
    (Read::Select, true),
    (Read::Filter, false),
    (Read::Filter, true),
    (Read::Lookup, false),
    (Read::Lookup, true),
];

/// The healed phase.
pub(super) fn healed(run: &Run<'_>, cast: &mut Cast) -> Vec<Step> {
    let place = run.draws.at("plan", "healed");
    let mut steps = Vec::new();
    for (number, statement) in
        run.tables.iter().filter(|_| run.switches).flat_map(|table| back_into_the_mode(&table.path)).enumerate()
    {
        steps.push(cast.catalog.turn(Phase::Healed).step(number as u64 * 5, CLOSING_DEADLINE_MS, statement));
    }
    // One of several tables may stay idle: what is left of it must reach the lake without a further write.
    let idle = (run.tables.len() > 1 && place.chance("idle", 0, 300))
        .then(|| place.below_exclusive("idle-table", 0, run.tables.len() as u64) as usize);
    let writers = cast.writers.len();
    // A writer may serve several tables, one after the other.
    let mut writer_at_ms = vec![0; writers];
    for (index, table) in run.tables.iter().enumerate().filter(|(index, _)| Some(*index) != idle) {
        let (writer, at_ms) = (&mut cast.writers[index % writers], &mut writer_at_ms[index % writers]);
        for _ in 0..place.between_inclusive("writes", index as u64, 1, 3) {
            let turn = writer.turn(Phase::Healed);
            *at_ms += turn.place.between_inclusive("pause", 0, 0, 100);
            let count = turn.place.between_inclusive("rows", 0, 1, 4);
            let statement = match table.kind {
                TableKind::Key if turn.place.chance("delete", 0, 250) => {
                    Statement::delete(table.base(), table.keys(turn.place, count, false))
                }
                _ => Statement::insert(table.base(), table.rows(&turn, count, false, None)),
            };
            steps.push(turn.step(*at_ms, CLOSING_DEADLINE_MS, statement));
        }
        if table.kind == TableKind::Key && place.chance("absent", index as u64, 500) {
            // An empty batch at the very end of a log must reach the lake's offsets too (F5, L6).
            let turn = writer.turn(Phase::Healed);
            let keys = table.absent_keys(turn.place, 2);
            steps.push(turn.step(*at_ms, CLOSING_DEADLINE_MS, Statement::delete(table.base(), keys)));
        }
    }
    let readers = cast.readers.len();
    let mut at_ms = 0;
    for (number, (table, (read, real_time))) in
        run.tables.iter().flat_map(|table| READS.iter().map(move |read| (table, read))).enumerate()
    {
        let turn = cast.readers[number % readers].turn(Phase::Healed);
        at_ms += turn.place.between_inclusive("pause", 0, 0, 60);
        let statement = read_statement(table, turn.place, *read, *real_time);
        steps.push(turn.step(at_ms, CLOSING_DEADLINE_MS, statement));
    }
    for (number, table) in run.tables.iter().enumerate() {
        let tailer = &mut cast.tailers[0];
        let turn = tailer.turn(Phase::Healed);
        steps.push(turn.step(number as u64 * 50, CLOSING_DEADLINE_MS, changes(table.real_time(), 400)));
    }
    if stories::watch_neighbours(&run.stories) {
        steps.extend(late_writes(run, cast));
        steps.extend(patient_reads(run, cast, neighbours_fresh_from_ms(run)));
    } else if place.chance("patient", 0, PATIENT_PERMILLE) {
        steps.extend(patient_reads(run, cast, fresh_from_ms(run)));
    }
    steps.extend(guards::healed(run, cast));
    steps
}

/// Base reads after a healthy window of the whole declared bound, before which a base view promises nothing (F2). Not
/// in every run: the wait is long.
fn patient_reads(run: &Run<'_>, cast: &mut Cast, at_ms: u64) -> Vec<Step> {
    let reader = &mut cast.readers[0];
    let read = |table: &Table| reader.turn(Phase::Healed).step(at_ms, CLOSING_DEADLINE_MS, select_base(table));
    run.tables.iter().map(read).collect()
}

/// From when on a base view must be fresh, in milliseconds from the healing.
pub(super) fn fresh_from_ms(run: &Run<'_>) -> u64 {
    // What strikes at the last moment of the chaos may still be on its way for a call's patience.
    let slack_ms = 2 * run.system.call_timeout_ms;
    let bounds = run.system.bounds((run.tables.len() + run.stories.len()) as u64, false);
    bounds.lake_freshness_ms + bounds.recovery_ms + slack_ms
}

/// From when on a base view must be fresh beside tables that cannot be tiered, whatever became of them within
/// [`LATE_WRITES_MS`] (F7).
pub(super) fn neighbours_fresh_from_ms(run: &Run<'_>) -> u64 {
    let bounds = run.system.bounds((run.tables.len() + run.stories.len()) as u64, false);
    fresh_from_ms(run) + bounds.lake_freshness_ms + LATE_WRITES_MS
}

/// One more row for each table, once the stories have done what may keep the others waiting.
fn late_writes(run: &Run<'_>, cast: &mut Cast) -> Vec<Step> {
    let writers = cast.writers.len();
    let write = |(index, table): (usize, &Table)| {
        let turn = cast.writers[index % writers].turn(Phase::Healed);
        let statement = Statement::insert(table.base(), table.rows(&turn, 1, false, None));
        turn.step(LATE_WRITES_MS, CLOSING_DEADLINE_MS, statement)
    };
    run.tables.iter().enumerate().map(write).collect()
}

/// The drained phase.
pub(super) fn drained(run: &Run<'_>, cast: &mut Cast) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut then = |make: &dyn Fn(&super::session::Turn) -> Statement| {
        let turn = cast.last.turn(Phase::Drained);
        let statement = make(&turn);
        steps.push(turn.step(0, CLOSING_DEADLINE_MS, statement));
    };
    for table in &run.tables {
        for (read, real_time) in READS {
            then(&|turn| read_statement(table, turn.place, read, real_time));
        }
        if table.kind == TableKind::Key {
            then(&|turn| read_statement(table, turn.place, Read::Lookup, false));
            then(&|turn| read_statement(table, turn.place, Read::Lookup, true));
        }
        // Certainly to the end: no run writes as much as this reads.
        for _ in 0..6 {
            then(&|_| changes(table.real_time(), 1000));
        }
    }
    for table in &run.tables {
        let path = || table.path.clone();
        then(&|_| Statement::RenameTable { table: path(), to: table.derived("renamed"), if_exists: false });
        for via in REPLACE_VIAS {
            then(&|_| Statement::ReplaceTable { table: path(), schema: table.schema.clone(), via });
        }
        then(&|_| Statement::TruncateTable { table: path() });
        then(&|turn| Statement::insert(table.base(), table.rows(turn, 2, false, None)));
        then(&|turn| read_statement(table, turn.place, Read::Select, true));
        if run.overwrites && table.kind == TableKind::Append {
            then(&|turn| overwrite(table, turn));
            then(&|turn| read_statement(table, turn.place, Read::Select, false));
            then(&|turn| read_statement(table, turn.place, Read::Select, true));
        }
    }
    steps
}

fn changes(table: TableView, max: u64) -> Statement {
    Statement::Changes { table, from: NEXT_POSITION.to_owned(), max }
}

/// A select of a table's whole base view.
pub(super) fn select_base(table: &Table) -> Statement {
    Statement::select(table.base(), Default::default())
}
