//! The deterministic engine: one plan, one fresh thread, one paused tokio runtime, inside the madsim jail where the
//! build has it.
//!
//! Three watchdogs end a run that would not end: a simulated deadline that is always armed (a deadlock would park for
//! ever), an event budget (a loop that never lets time pass; see `engine/network.rs`), and the thread that waits outside
//! the jail (a spin between two awaits). It never judges what happened.

use std::rc::Rc;
use std::sync::{Once, mpsc};
use std::time::Duration;

use models::contract::{LAKESTREAM_ENABLED, Side, TableSchema};
use models::paimon::object_stores::MemoryObjectStore;
use scenarios::plan::{Action, Phase, Plan, PlannedTable};

use super::network::Network;
use super::run::{RunOptions, RunResult, RunStatistics, Trouble};
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
    "branches",
    "views",
    "alter-columns",
    "update",
    "native-insert",
    "layouts",
    "observe",
    "concurrent",
    "store-lifecycle",
    "legacy-layout",
    "promotion",
    "fault.store-down",
];

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
                Action::Close(_) | Action::Fault(_) => false,
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

/// The definition that a table begins with: one of the store's is in the mode, whether its plan says so or not.
fn begun_with(planned: &PlannedTable) -> TableSchema {
    let mut schema = planned.schema.clone();
    if planned.side == Side::Store {
        schema.options.entry(LAKESTREAM_ENABLED.to_owned()).or_insert_with(|| true.to_string());
    }
    schema
}

fn header(plan: &Plan) -> Header {
    Header {
        history: HISTORY_VERSION,
        tables: plan.tables.iter().map(|planned| (planned.table.clone(), begun_with(planned))).collect(),
        bounds: plan.bounds(),
        capabilities: CAPABILITIES.iter().map(|capability| (*capability).to_owned()).collect(),
        clock: Clock::Virtual,
        catalog: Some(plan.catalog.clone()),
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
