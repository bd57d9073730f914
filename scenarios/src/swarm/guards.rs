//! Tables that are no working lake-stream tables. A guard table declares the mode on the lake side only: all that the
//! mode forbids is refused, with no store behind it (C1–C4, C9); what needs the store fails by naming it (C14); then the
//! mode is turned off, and rename and replace succeed (C5, C6). A plain table never knew the mode (C8).

use std::collections::BTreeMap;

use models::contract::{
    Column, ColumnChange, DataType, LAKESTREAM_ENABLED, ReplaceVia, Side, Statement, TablePath, TableSchema, TableView,
};

use super::Run;
use super::chaos::REPLACE_VIAS;
use super::closing::{CLOSING_DEADLINE_MS, select_base};
use super::session::{Cast, Turn};
use super::tables::Table;
use crate::plan::{Phase, Step};

/// Further tables in the chaos phase: every second guard's story, side by side with the faults.
pub(super) fn chaos(run: &Run<'_>, cast: &mut Cast) -> Vec<Step> {
    tell(run, cast, Phase::Chaos, 1)
}

/// Further tables in the healed phase: the other guards' stories, and those of the plain tables.
pub(super) fn healed(run: &Run<'_>, cast: &mut Cast) -> Vec<Step> {
    let mut steps = tell(run, cast, Phase::Healed, 0);
    for table in &run.plain {
        for make in plain_story() {
            let turn = cast.plain.turn(Phase::Healed);
            let statement = make(table, &turn);
            steps.push(turn.step(0, CLOSING_DEADLINE_MS, statement));
        }
    }
    steps
}

fn tell(run: &Run<'_>, cast: &mut Cast, phase: Phase, remainder: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    let stories = run.guards.iter().zip(&mut cast.guards).enumerate().filter(|(index, _)| index % 2 == remainder);
    for (_, (table, session)) in stories {
        let story = guard_story();
        let pause_ms = if phase == Phase::Chaos { run.chaos_ms / (story.len() as u64 + 1) } else { 20 };
        let deadline_ms = if phase == Phase::Chaos { run.deadline_ms } else { CLOSING_DEADLINE_MS };
        for (number, make) in story.iter().enumerate() {
            let turn = session.turn(phase);
            let statement = make(table, &turn);
            steps.push(turn.step(number as u64 * pause_ms, deadline_ms, statement));
        }
    }
    steps
}

type Make = fn(&Table, &Turn) -> Statement;

/// A guard's story, statement by statement.
fn guard_story() -> Vec<Make> {
    vec![
        // With the mode on: refused.
        |table, _| rename(&table.path, table.derived("renamed")),
        |table, turn| replace(table, turn, REPLACE_VIAS[0]),
        |table, turn| replace(table, turn, REPLACE_VIAS[1]),
        |table, turn| replace(table, turn, REPLACE_VIAS[2]),
        |table, _| Statement::TruncateTable { table: table.path.clone() },
        // The base view needs no store; `$rt` and a write do, and the store has no such table.
        |table, _| select_base(table),
        |table, _| Statement::select(table.real_time(), Default::default()),
        |table, turn| Statement::insert(table.base(), table.rows(turn, 1, false, None)),
        // Column changes stay allowed (C7); a missing table is no guard error (C21).
        |table, _| add_column(table),
        |table, _| Statement::RenameTable {
            table: table.derived("missing"),
            to: table.derived("found"),
            if_exists: true,
        },
        // The mode goes off, by either spelling, and the table is like any other.
        |table, turn| leave_mode(table, turn),
        |table, _| rename(&table.path, table.derived("renamed")),
        |table, turn| {
            let via = turn.place.pick("via", 0, &REPLACE_VIAS).copied().unwrap_or_default();
            Statement::ReplaceTable { table: table.derived("renamed"), schema: without_mode(table), via }
        },
        |table, _| Statement::TruncateTable { table: table.derived("renamed") },
        |table, _| Statement::Describe { table: table.derived("renamed"), side: Side::Lake },
        // The mode comes back (C6), and so does the guard.
        |table, _| Statement::AlterOptions {
            table: table.derived("renamed"),
            set: BTreeMap::from([(LAKESTREAM_ENABLED.to_owned(), "true".to_owned())]),
            reset: Vec::new(),
            side: Side::Lake,
        },
        |table, _| rename(&table.derived("renamed"), table.derived("again")),
    ]
}

/// A plain table's story.
fn plain_story() -> Vec<Make> {
    vec![
        |table, turn| Statement::insert(table.base(), table.rows(turn, 3, false, None)),
        |table, _| select_base(table),
        |table, _| Statement::TruncateTable { table: table.path.clone() },
        |table, turn| Statement::insert(table.base(), table.rows(turn, 2, false, None)),
        |table, _| select_base(table),
        |table, turn| replace(table, turn, REPLACE_VIAS[0]),
        |table, _| rename(&table.path, table.derived("renamed")),
        |table, turn| Statement::insert(TableView::base(&table.derived("renamed")), table.rows(turn, 1, false, None)),
        |table, _| Statement::select(TableView::base(&table.derived("renamed")), Default::default()),
    ]
}

fn rename(table: &TablePath, to: TablePath) -> Statement {
    Statement::RenameTable { table: table.clone(), to, if_exists: false }
}

/// A replace whose new definition keeps the mode or drops it: neither may get through while the mode is on.
fn replace(table: &Table, turn: &Turn, via: ReplaceVia) -> Statement {
    let schema = if turn.place.chance("drop-mode", 0, 500) { without_mode(table) } else { table.schema.clone() };
    Statement::ReplaceTable { table: table.path.clone(), schema, via }
}

fn without_mode(table: &Table) -> TableSchema {
    let mut schema = table.schema.clone();
    schema.options.remove(LAKESTREAM_ENABLED);
    schema
}

fn add_column(table: &Table) -> Statement {
    let column = Column { name: "added".to_owned(), data_type: DataType::Int, nullable: true };
    Statement::AlterColumns {
        table: table.path.clone(),
        changes: vec![ColumnChange::Add { column, position: None }],
        side: Side::Lake,
    }
}

fn leave_mode(table: &Table, turn: &Turn) -> Statement {
    let (mut set, mut reset) = (BTreeMap::new(), Vec::new());
    if turn.place.chance("reset", 0, 500) {
        reset.push(LAKESTREAM_ENABLED.to_owned());
    } else {
        set.insert(LAKESTREAM_ENABLED.to_owned(), "false".to_owned());
    }
    Statement::AlterOptions { table: table.path.clone(), set, reset, side: Side::Lake }
}
