//! What goes into a run and what comes out of it, whichever engine runs it. It must never know how a plan is run.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;

use models::contract::Statement;
use models::defects::Defects;

use super::trace::Trace;
use crate::coverage::Reached;
use crate::history::History;

/// How to run a plan.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The bugs to plant into the reference.
    pub defects: Defects,
    /// A byte to flip in the lake before it is read at the end: which object (an index into the sorted list of those
    /// that are selected) and which byte of it. For proving that lake reads decode real bytes (rule 10).
    pub damage: Option<Damage>,
}

/// One flipped byte.
#[derive(Clone, Debug)]
pub struct Damage {
    /// Whether an object may be damaged, by its path.
    pub selects: fn(&str) -> bool,
    /// Which of them, counted modulo their number.
    pub object: usize,
    /// Which byte, counted modulo the object's length, so that negative ones count from its end.
    pub byte: i64,
}

/// What a run leaves.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// A hash of the trace and the history: equal for equal runs.
    pub trace_hash: u128,
    /// What was observed.
    pub history: History,
    /// Every call between parts.
    pub trace: Trace,
    /// Counts.
    pub statistics: RunStatistics,
    /// Why the run did not come to its end, if it did not.
    pub trouble: Option<Trouble>,
}

/// Counts over one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunStatistics {
    /// Statements that sessions sent.
    pub statements: u64,
    /// Those that only read.
    pub reads: u64,
    /// Those that write rows.
    pub writes: u64,
    /// Writes that were acked.
    pub writes_acked: u64,
    /// Lake snapshots that tiering committed.
    pub rounds_committed: u64,
    /// Faults that struck.
    pub faults_fired: u64,
    /// The same by kind.
    pub fired_by_kind: BTreeMap<&'static str, u64>,
    /// Calls between parts.
    pub port_calls: u64,
    /// Data files written.
    pub data_files: u64,
    /// The points of the coverage catalogue that the run was at.
    pub reached: Reached,
    /// How long the run took by its own clock.
    pub simulated_ms: u64,
}

impl RunStatistics {
    /// Counts a statement that is about to be sent.
    pub fn count_statement(&mut self, statement: &Statement) {
        self.statements += 1;
        self.reads += u64::from(statement.is_read());
        self.writes += u64::from(statement.writes_rows());
    }
}

/// A failure of the harness or of code that it runs, as opposed to a violated property: exit status 3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing was left that could happen, or time went on without an end.
    Deadline {
        /// The simulated time at which the run was given up.
        at_ms: u64,
    },
    /// Something loops without letting time pass.
    EventBudget {
        /// When, in simulated time.
        at_ms: u64,
        /// The budget.
        events: u64,
    },
    /// The thread made no progress by the wall clock.
    Hung {
        /// The limit.
        limit_s: u64,
    },
    /// Code panicked.
    Panic {
        /// Its message.
        message: String,
    },
    /// A table of the plan could not be created.
    Setup {
        /// Which.
        table: String,
        /// Why.
        message: String,
    },
}

impl Trouble {
    /// From what a panic carries.
    pub fn panic(payload: &(dyn Any + Send)) -> Self {
        let message = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without a message".to_owned());
        Self::Panic { message }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline { at_ms } => write!(formatter, "the run did not end by {at_ms} simulated ms"),
            Self::EventBudget { at_ms, events } => {
                write!(formatter, "{events} events by {at_ms} simulated ms: something loops without letting time pass")
            }
            Self::Hung { limit_s } => {
                write!(formatter, "the run did not end within {limit_s} s: something spins without ever waiting")
            }
            Self::Panic { message } => write!(formatter, "the system under test panicked: {message}"),
            Self::Setup { table, message } => write!(formatter, "table {table} could not be created: {message}"),
        }
    }
}
