//! The deterministic engine: one plan, one fresh thread, one paused tokio runtime, inside the madsim jail where the
//! build has it.
//!
//! Three watchdogs end a run that would not end: a simulated deadline that is always armed (a deadlock would park for
//! ever), an event budget (a loop that never lets time pass; see `engine/network.rs`), and the thread that waits outside
//! the jail (a spin between two awaits). It never judges what happened.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::{Once, mpsc};
use std::time::Duration;

use models::contract::Statement;
use models::defects::Defects;
use models::paimon::object_stores::MemoryObjectStore;
use scenarios::plan::{Action, Phase, Plan};

use super::network::Network;
use super::session::is_write;
use super::trace::Trace;
use super::world::World;
use crate::history::{Clock, HISTORY_VERSION, Header, History};

/// How long a run may take by the wall clock. A run takes milliseconds; a debug build on a busy machine, a second.
const WALL_CLOCK_LIMIT: Duration = Duration::from_secs(120);

/// The most calls and polls of one run; beyond it something loops without letting time pass.
const EVENT_BUDGET: u64 = 20_000_000;

/// What the reference system, run by this engine, can do.
pub const CAPABILITIES: &[&str] = &[
    "warehouse",
    "append",
    "primary-key",
    "partitions",
    "changes",
    "lookup",
    "overwrite",
    "native-insert",
    "observe",
    "concurrent",
];

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
    /// Whether a part crashed between a lake commit and its registration.
    pub crashed_between_commit_and_registration: bool,
    /// Calls between parts.
    pub port_calls: u64,
    /// Data files written.
    pub data_files: u64,
    /// How long the run took by its own clock.
    pub simulated_ms: u64,
}

impl RunStatistics {
    /// Counts a statement that is about to be sent.
    pub fn count_statement(&mut self, statement: &Statement) {
        self.statements += 1;
        self.reads += u64::from(statement.is_read());
        self.writes += u64::from(is_write(statement));
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

/// Whether the madsim jail is compiled in: then hidden entropy in code that we did not write is a function of the seed.
pub fn jail() -> bool {
    cfg!(madsim)
}

/// Runs a plan. Blocks until the run has ended or was given up.
pub fn run(plan: &Plan, options: &RunOptions) -> RunResult {
    warm_up();
    run_recorded(plan, options)
}

/// Statics of parquet and avro draw once a process. A short run through every codec, unrecorded, makes a process's
/// first seed equal to its own repeat.
pub fn warm_up() {
    static WARM: Once = Once::new();
    WARM.call_once(|| {
        for scenario in scenarios::library() {
            let mut plan = scenario.plan(0);
            let short_ms = plan.chaos_ms / 4;
            plan.chaos_ms = short_ms;
            plan.steps.retain(|step| match &step.action {
                Action::Run(planned) => planned.phase == Phase::Chaos && planned.at_ms < short_ms,
                Action::Fault(_) => false,
            });
            run_recorded(&plan, &RunOptions::default());
        }
    });
}

#[allow(
    clippy::disallowed_methods,
    reason = "one fresh thread a run: what a thread draws at its start depends on the seed alone"
)]
fn run_recorded(plan: &Plan, options: &RunOptions) -> RunResult {
    let (sender, receiver) = mpsc::channel();
    let (plan_there, options_there) = (plan.clone(), options.clone());
    std::thread::spawn(move || {
        let result = std::panic::catch_unwind(move || run_on_this_thread(plan_there, &options_there));
        // The other end is gone if the run was given up.
        let _ = sender.send(result.unwrap_or_else(|panic| Err(Trouble::panic(panic.as_ref()))));
    });
    let given_up = |trouble| RunResult {
        trace_hash: 0,
        history: History { header: header(plan), events: Vec::new() },
        trace: Trace::default(),
        statistics: RunStatistics::default(),
        trouble: Some(trouble),
    };
    match receiver.recv_timeout(WALL_CLOCK_LIMIT) {
        Ok(Ok(result)) => result,
        Ok(Err(trouble)) => given_up(trouble),
        Err(_) => given_up(Trouble::Hung { limit_s: WALL_CLOCK_LIMIT.as_secs() }),
    }
}

fn header(plan: &Plan) -> Header {
    Header {
        history: HISTORY_VERSION,
        tables: plan.tables.iter().map(|planned| (planned.table.clone(), planned.schema.clone())).collect(),
        bounds: plan.bounds(),
        capabilities: CAPABILITIES.iter().map(|capability| (*capability).to_owned()).collect(),
        clock: Clock::Virtual,
    }
}

#[cfg(madsim)]
fn run_on_this_thread(plan: Plan, options: &RunOptions) -> Result<RunResult, Trouble> {
    let jail = madsim::runtime::Runtime::with_seed_and_config(plan.seed, madsim::Config::default());
    jail.block_on(async { simulate(plan, options) })
}

#[cfg(not(madsim))]
fn run_on_this_thread(plan: Plan, options: &RunOptions) -> Result<RunResult, Trouble> {
    simulate(plan, options)
}

/// A runtime whose clock moves only when nothing can run.
fn paused_runtime(seed: u64) -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true);
    #[cfg(tokio_unstable)]
    builder.rng_seed(tokio::runtime::RngSeed::from_bytes(&seed.to_le_bytes()));
    #[cfg(not(tokio_unstable))]
    let _ = seed;
    #[cfg(madsim)]
    keep_clocks_equal(&mut builder);
    builder.build()
}

/// `std` clocks agree with tokio's before any woken task runs.
#[cfg(madsim)]
fn keep_clocks_equal(builder: &mut tokio::runtime::Builder) {
    let passed = std::sync::Mutex::new(None);
    builder.on_thread_unpark(move || {
        let now = tokio::time::Instant::now();
        let mut passed = passed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let step = now - passed.replace(now).unwrap_or(now);
        if !step.is_zero() {
            madsim::time::advance(step);
        }
    });
}

fn simulate(plan: Plan, options: &RunOptions) -> Result<RunResult, Trouble> {
    let runtime = paused_runtime(plan.seed).map_err(|error| Trouble::Panic { message: error.to_string() })?;
    let tasks = tokio::task::LocalSet::new();
    let plan = Rc::new(plan);
    let objects = Rc::new(MemoryObjectStore::new());
    let (network, trouble) = tasks.block_on(&runtime, async {
        let network = Network::new(&plan, EVENT_BUDGET);
        let world = World::build(plan.clone(), &network, &objects, options);
        let ended = watched(&network, world.run(), deadline_ms(&plan)).await;
        network.count(|statistics| statistics.simulated_ms = network.now_ms());
        (network, ended.err())
    });
    // The tasks first: some hold parts.
    drop(tasks);
    network.dismantle();
    let (events, trace, statistics) = network.take_results();
    let history = History { header: header(&plan), events };
    Ok(RunResult { trace_hash: trace.hash(&history.events), history, trace, statistics, trouble })
}

/// Waits for the end of a run, or for what ends it early: trouble in any task, or the deadline.
pub(super) async fn watched(
    network: &Network,
    run: impl Future<Output = Result<(), Trouble>>,
    limit_ms: u64,
) -> Result<(), Trouble> {
    tokio::select! {
        biased;
        trouble = network.trouble() => Err(trouble),
        ended = run => ended,
        () = tokio::time::sleep(Duration::from_millis(limit_ms)) => Err(Trouble::Deadline { at_ms: limit_ms }),
    }
}

/// When a run is given up, in simulated time: after everything in it has had several times its longest.
fn deadline_ms(plan: &Plan) -> u64 {
    let bounds = plan.bounds();
    let longest_statement_ms = plan.statements().map(|(_, planned)| planned.deadline_ms).max().unwrap_or(0);
    let statements = plan.statements().count() as u64;
    let restarts = plan.steps.len() as u64 * 10_000;
    600_000
        + plan.chaos_ms
        + 4 * (bounds.recovery_ms + bounds.lake_freshness_ms)
        + restarts
        + statements * longest_statement_ms
}
