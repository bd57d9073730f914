//! A run is a function of its plan: not of what the process did before, not of what runs beside it, not of the process.
//! And luck is keyed: what one step draws does not depend on which other steps there are (rule 1).

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::thread;

use harness::engine::run::{RunOptions, RunResult};
use harness::engine::sim::run;
use scenarios::library;
use scenarios::plan::{Action, Phase, Plan, PlannedStatement};

/// Not a seed that other tests prefer, so that nothing is tuned to it.
const SEED: u64 = 7;

fn run_plain(plan: &Plan) -> RunResult {
    let result = run(plan, &RunOptions::default());
    assert_eq!(result.trouble, None, "{}@{}", plan.scenario, plan.seed);
    result
}

#[test]
fn a_seed_alone_after_others_and_beside_its_twin_is_the_same_run() {
    let plans: Vec<Plan> = library().iter().map(|scenario| scenario.plan(SEED)).collect();
    // The second time each plan comes after all the others.
    let first: Vec<RunResult> = plans.iter().map(run_plain).collect();
    for (plan, first) in plans.iter().zip(&first) {
        let twins = thread::scope(|scope| {
            let twins = [scope.spawn(|| run_plain(plan)), scope.spawn(|| run_plain(plan))];
            twins.map(|twin| twin.join().unwrap())
        });
        for again in &twins {
            let name = format!("{}@{SEED}", plan.scenario);
            assert_eq!(first.trace.first_difference(&again.trace), None, "{name}");
            assert!(first.history == again.history, "{name}: equal traces and different histories");
            assert_eq!(first.trace_hash, again.trace_hash, "{name}");
            assert_eq!(first.statistics, again.statistics, "{name}");
        }
    }
}

#[test]
fn another_process_makes_the_same_run() {
    let scenario = &library()[0];
    let name = format!("{}@{SEED}", scenario.name);
    let here = run_plain(&scenario.plan(SEED)).trace_hash;
    let there = Command::new(env!("CARGO_BIN_EXE_lakestream-certify"))
        .args(["run", &scenario.name, "--json", "--seed", &SEED.to_string()])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(there.stdout).unwrap();
    assert!(said.contains(&format!("{here:032x}")), "{name}: expected trace hash {here:032x} in {said}");
}

#[test]
fn another_seed_is_another_run() {
    for scenario in library() {
        let hashes = [SEED, SEED + 1].map(|seed| run_plain(&scenario.plan(seed)).trace_hash);
        assert_ne!(hashes[0], hashes[1], "{}: the seed decides nothing", scenario.name);
    }
}

/// The statements of a plan in plan order.
fn statements(plan: &Plan) -> impl Iterator<Item = (&str, &PlannedStatement)> {
    plan.steps.iter().filter_map(|step| match &step.action {
        Action::Run(planned) => Some((step.id.as_str(), planned)),
        Action::Close(_) | Action::Fault(_) => None,
    })
}

/// When a session's first call leaves and takes effect, in simulated milliseconds, by the call's name.
fn first_call(result: &RunResult, session: &str) -> Option<(String, Vec<u64>)> {
    let trace = &result.trace;
    let belongs = |site: u32| trace.sites[site as usize].split(['(', '.']).next() == Some(session);
    let first = trace.entries.iter().find(|entry| belongs(entry.site))?;
    let same_call = trace.entries.iter().filter(|entry| (entry.site, entry.nth) == (first.site, first.nth));
    Some((trace.sites[first.site as usize].clone(), same_call.map(|entry| entry.at_ms).collect()))
}

#[test]
fn without_one_statement_the_others_keep_their_luck() {
    let mut compared = 0;
    for scenario in library() {
        let mut plan = scenario.plan(SEED);
        // Faults tie statements together: whether one strikes depends on who called before.
        plan.steps.retain(|step| matches!(step.action, Action::Run(_)));
        let (removed, session) = statements(&plan)
            .filter(|(_, planned)| planned.phase == Phase::Chaos)
            .min_by_key(|(_, planned)| planned.at_ms)
            .map(|(id, planned)| (id.to_owned(), planned.session.clone()))
            .expect("a scenario has statements");
        let mut shorter = plan.clone();
        shorter.steps.retain(|step| step.id != removed);
        let (whole, without) = (run_plain(&plan), run_plain(&shorter));
        assert_ne!(whole.trace_hash, without.trace_hash, "{}: {removed} left no trace", scenario.name);
        // The later phases begin when the earlier ones have ended, whenever that is.
        let others: BTreeSet<&str> = statements(&plan)
            .filter(|(_, planned)| planned.phase == Phase::Chaos && planned.session != session)
            .map(|(_, planned)| planned.session.as_str())
            .collect();
        // A scenario may be one session's alone.
        compared += usize::from(!others.is_empty());
        for other in others {
            assert_eq!(
                first_call(&whole, other),
                first_call(&without, other),
                "{}: the first call of {other} changed when {removed} of {session} was removed",
                scenario.name
            );
        }
    }
    assert!(compared >= 8, "expected most scenarios to have several sessions, found {compared}");
}
