//! The sessions of a run, and the turns that they take. A turn has a stable id, and all that is drawn for it is keyed
//! by session and id.

use models::contract::Statement;

use super::within;
use crate::draw::{Draws, Place};
use crate::plan::{Action, Phase, PlannedClose, PlannedStatement, Step};
use crate::scenario::Sessions;

/// One session.
pub(super) struct Session {
    /// Its name.
    pub name: String,
    /// Unique within the plan; the millions of its write ids.
    number: u64,
    /// Turns taken, by phase.
    turns: [u64; 3],
    draws: Draws,
}

/// One turn of one session: the statement is still to be chosen.
pub(super) struct Turn {
    /// The step's id.
    id: String,
    session: String,
    phase: Phase,
    /// What is drawn for the statement.
    pub place: Place,
    /// The write id of the statement's first row. Write ids are unique within the plan: session × 1,000,000 +
    /// statement × 1,000 + row.
    pub first_write_id: i64,
}

impl Session {
    pub(super) fn new(name: &str, number: u64, draws: Draws) -> Self {
        Self { name: name.to_owned(), number, turns: [0; 3], draws }
    }

    /// The session's next turn in this phase.
    pub(super) fn turn(&mut self, phase: Phase) -> Turn {
        // Each phase counts from 1 of its own, so that its ids do not depend on how long the one before was. Write ids
        // keep 600 statements for the chaos phase and 200 for each other one. (`final` may take more: no session has the
        // number after its own.)
        let (index, mark, first_statement) = match phase {
            Phase::Chaos => (0, "", 0),
            Phase::Healed => (1, "healed-", 600),
            Phase::Drained => (2, "drained-", 800),
        };
        self.turns[index] += 1;
        let turn = self.turns[index];
        let id = format!("{}-{mark}{turn}", self.name);
        Turn {
            place: self.draws.at(&self.name, &id),
            id,
            session: self.name.clone(),
            phase,
            first_write_id: (self.number * 1_000_000 + (first_statement + turn) * 1000) as i64,
        }
    }
}

impl Turn {
    /// The step that this statement makes of the turn.
    pub(super) fn step(self, at_ms: u64, deadline_ms: u64, statement: Statement) -> Step {
        let Self { id, session, phase, .. } = self;
        Step { id, action: Action::Run(PlannedStatement { session, phase, at_ms, deadline_ms, statement }) }
    }

    /// The session closes its catalog; `fails` says whether closing the Paimon side of it fails.
    pub(super) fn close(self, at_ms: u64, fails: bool) -> Step {
        let Self { id, session, phase, .. } = self;
        Step { id, action: Action::Close(PlannedClose { session, phase, at_ms, fails }) }
    }
}

/// All sessions of a run, by what they do.
pub(super) struct Cast {
    /// `w1` …
    pub writers: Vec<Session>,
    /// `r1` …
    pub readers: Vec<Session>,
    /// `t1` …
    pub tailers: Vec<Session>,
    /// Tries what the catalog must refuse.
    pub catalog: Session,
    /// Adds columns in the middle of the work.
    pub columns: Session,
    /// Overwrites in the lake.
    pub overwriter: Session,
    /// Works with a table without the mode.
    pub plain: Session,
    /// Take one guard table each out of the mode.
    pub guards: Vec<Session>,
    /// Takes stock when all is drained.
    pub last: Session,
}

impl Cast {
    pub(super) fn new(sessions: &Sessions, draws: Draws) -> Self {
        let place = draws.at("plan", "sessions");
        let several = |letter: &str, first_number: u64, count: u64| {
            (1..=count).map(|n| Session::new(&format!("{letter}{n}"), first_number + n, draws)).collect()
        };
        Self {
            writers: several("w", 0, within(place, "writers", 0, sessions.writers)),
            readers: several("r", 20, within(place, "readers", 0, sessions.readers)),
            tailers: several("t", 30, within(place, "tailers", 0, sessions.tailers)),
            catalog: Session::new("c1", 40, draws),
            columns: Session::new("c2", 43, draws),
            overwriter: Session::new("o1", 41, draws),
            plain: Session::new("p1", 42, draws),
            guards: several("g", 50, 3),
            last: Session::new("final", 60, draws),
        }
    }
}
