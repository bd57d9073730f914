//! One pass over a history: operations with their ends, phases, times without a fault, and the tables.
//!
//! The index orders and pairs what was observed. It knows what statements mean, never what is right.

use std::collections::BTreeMap;

use models::contract::{FailureCode, Output, RowSet, Statement, TablePath};

use crate::history::{Event, FaultPhase, History, RunPhase};

use super::catalog::Catalogs;
use super::names::Names;
use super::sides::{self, Observations};
use super::table::Table;
use super::weather::Forecast;

/// The ordinal of what never happens.
pub const NEVER: u64 = u64::MAX;

/// An event's place and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The ordinal of the event.
    pub n: u64,
    /// When.
    pub at_ms: u64,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug)]
pub enum End<'h> {
    /// It succeeded.
    Ok(Point, &'h Output),
    /// It failed.
    Failed {
        /// When.
        at: Point,
        /// How.
        code: FailureCode,
        /// Whether it certainly had no effect.
        definite: bool,
        /// In words.
        message: &'h str,
    },
    /// The history does not tell.
    Open,
}

/// What is certain about an operation's effect (rule 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It took effect.
    Acked,
    /// It may take effect, once, at any time after its invocation.
    Indefinite,
    /// It has no effect.
    Failed,
}

/// One statement of one session.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'h> {
    /// Its id.
    pub id: &'h str,
    /// Who.
    pub session: &'h str,
    /// What.
    pub statement: &'h Statement,
    /// When it was sent.
    pub invoked: Point,
    /// How it ended.
    pub end: End<'h>,
}

impl<'h> Operation<'h> {
    /// What is certain about its effect.
    pub fn fate(&self) -> Fate {
        match self.end {
            End::Ok(..) => Fate::Acked,
            End::Failed { definite: true, .. } => Fate::Failed,
            End::Failed { .. } | End::Open => Fate::Indefinite,
        }
    }

    /// The answer's place and time, whatever it was.
    pub fn answered(&self) -> Option<Point> {
        match self.end {
            End::Ok(at, _) | End::Failed { at, .. } => Some(at),
            End::Open => None,
        }
    }

    /// The ordinal of its ack; [`NEVER`] if there is none.
    pub fn acked_n(&self) -> u64 {
        match self.end {
            End::Ok(at, _) => at.n,
            _ => NEVER,
        }
    }

    /// The ordinals of the events that it consists of.
    pub fn events(&self) -> Vec<u64> {
        std::iter::once(self.invoked.n).chain(self.answered().map(|at| at.n)).collect()
    }

    /// The rows of today that it returned; `None` if it is no read of them, or did not succeed.
    pub fn rows_of_today(&self) -> Option<&'h RowSet> {
        match (self.statement, self.output()?) {
            (Statement::Select { at_snapshot: None, at_timestamp_ms: None, .. }, Output::Rows { rows, .. }) => {
                Some(rows)
            }
            (Statement::Lookup { .. }, Output::Found { row }) => Some(row),
            _ => None,
        }
    }

    /// What it returned, if it succeeded.
    pub fn output(&self) -> Option<&'h Output> {
        match self.end {
            End::Ok(_, output) => Some(output),
            _ => None,
        }
    }
}

/// When the phases of the run began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Phases {
    /// Faults have ended.
    pub healed: Option<Point>,
    /// The lake has caught up.
    pub drained: Option<Point>,
    /// The lake did not catch up within the declared bounds.
    pub gave_up: Option<Point>,
    /// All is done.
    pub end: Option<Point>,
}

/// A time without any fault in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Healthy {
    /// From here (exclusive: a fault at this very moment still costs).
    pub from_ms: u64,
    /// Up to here (exclusive).
    pub to_ms: u64,
}

/// A history, indexed.
pub struct Index<'h> {
    /// The history.
    pub history: &'h History,
    /// In order of invocation.
    pub operations: Vec<Operation<'h>>,
    /// The tables, by path.
    pub tables: Vec<Table<'h>>,
    /// The phases.
    pub phases: Phases,
    /// The times without a fault, ascending.
    pub healthy: Vec<Healthy>,
    /// Windows in which lists and existence checks of the lake may answer from the past, `[start, end]` in milliseconds.
    pub stale_windows: Vec<(u64, u64)>,
    /// When the last event was observed.
    pub last_at_ms: u64,
    /// What was going wrong, by ordinal.
    pub forecast: Forecast,
    /// What each session's catalog did with the store.
    pub catalogs: Catalogs<'h>,
    /// Both sides around statements.
    pub sides: Observations<'h>,
    /// What names stand for.
    pub names: Names<'h>,
}

impl<'h> Index<'h> {
    /// Indexes a history.
    pub fn of(history: &'h History) -> Self {
        let operations = pair(history);
        let mut paths: BTreeMap<&'h TablePath, ()> = history.header.tables.keys().map(|path| (path, ())).collect();
        for operation in &operations {
            paths.insert(operation.statement.table(), ());
            if let Statement::RenameTable { to, .. } = operation.statement {
                paths.insert(to, ());
            }
        }
        for entry in &history.events {
            if let Some(path) = table_of(&entry.event) {
                paths.insert(path, ());
            }
        }
        let names = Names::of(&operations);
        let mut index = Self {
            history,
            operations,
            tables: Vec::new(),
            phases: phases(history),
            healthy: Vec::new(),
            stale_windows: Vec::new(),
            last_at_ms: history.events.last().map_or(0, |entry| entry.at_ms),
            forecast: Forecast::of(history),
            catalogs: Catalogs::of(history),
            sides: sides::observations(history),
            names,
        };
        (index.healthy, index.stale_windows) = fault_windows(history, index.last_at_ms);
        index.tables = Table::all(&index, paths.into_keys());
        index
    }

    /// The table of this name.
    pub fn table(&self, path: &TablePath) -> Option<&Table<'h>> {
        self.tables.binary_search_by(|table| table.path.cmp(path)).ok().map(|position| &self.tables[position])
    }
}

/// The table that an observation is about.
pub fn table_of(event: &Event) -> Option<&TablePath> {
    match event {
        Event::Snapshot(seen) => Some(&seen.table),
        Event::Registered { table, .. }
        | Event::Readable { table, .. }
        | Event::Log { table, .. }
        | Event::State { table, .. }
        | Event::Files { table, .. } => Some(table),
        Event::Invoke { .. }
        | Event::Ok { .. }
        | Event::Fail { .. }
        | Event::Fault { .. }
        | Event::Phase { .. }
        | Event::Catalog { .. } => None,
    }
}

fn pair(history: &History) -> Vec<Operation<'_>> {
    let mut operations: Vec<Operation> = Vec::new();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in &history.events {
        let at = Point { n: entry.n, at_ms: entry.at_ms };
        match &entry.event {
            Event::Invoke { op, session, statement } => {
                open.insert(op, operations.len());
                operations.push(Operation { id: op, session, statement, invoked: at, end: End::Open });
            }
            Event::Ok { op, output } => {
                if let Some(position) = open.remove(op.as_str()) {
                    operations[position].end = End::Ok(at, output);
                }
            }
            Event::Fail { op, code, definite, message } => {
                if let Some(position) = open.remove(op.as_str()) {
                    operations[position].end = End::Failed { at, code: *code, definite: *definite, message };
                }
            }
            _ => {}
        }
    }
    operations
}

fn phases(history: &History) -> Phases {
    let mut phases = Phases::default();
    for entry in &history.events {
        if let Event::Phase { phase } = entry.event {
            let at = Some(Point { n: entry.n, at_ms: entry.at_ms });
            match phase {
                RunPhase::Chaos => {}
                RunPhase::Healed => phases.healed = at,
                RunPhase::Drained => phases.drained = at,
                RunPhase::GaveUp => phases.gave_up = at,
                RunPhase::End => phases.end = at,
            }
        }
    }
    phases
}

/// The times without a fault, and the windows of stale answers. A window that never ends lasts for ever.
fn fault_windows(history: &History, last_at_ms: u64) -> (Vec<Healthy>, Vec<(u64, u64)>) {
    let mut healthy = Vec::new();
    let mut stale = Vec::new();
    let mut open: Vec<(&str, &str, u64)> = Vec::new();
    let mut quiet_since = Some(0);
    for entry in &history.events {
        let Event::Fault { kind, target, phase } = &entry.event else { continue };
        if let Some(from_ms) = quiet_since.take() {
            healthy.push(Healthy { from_ms, to_ms: entry.at_ms });
        }
        match phase {
            FaultPhase::Instant => {}
            FaultPhase::Start => open.push((kind, target, entry.at_ms)),
            FaultPhase::End => {
                if let Some(position) = open.iter().position(|(a, b, _)| (*a, *b) == (kind.as_str(), target.as_str())) {
                    let (_, _, from_ms) = open.remove(position);
                    if kind.starts_with("stale") {
                        stale.push((from_ms, entry.at_ms));
                    }
                }
            }
        }
        if open.is_empty() {
            quiet_since = Some(entry.at_ms);
        }
    }
    stale.extend(
        open.iter().filter(|(kind, ..)| kind.starts_with("stale")).map(|(_, _, from_ms)| (*from_ms, last_at_ms)),
    );
    if let Some(from_ms) = quiet_since {
        healthy.push(Healthy { from_ms, to_ms: NEVER });
    }
    (healthy, stale)
}
