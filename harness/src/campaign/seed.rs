//! One seed: its plan is run, judged, and run again to prove that nothing but the seed decides.
//!
//! It never knows which other seeds there are.

use std::panic::{AssertUnwindSafe, catch_unwind};

use models::defects::{Defect, Defects};
use scenarios::plan::Plan;

use crate::check::{Findings, Judgement, check};
use crate::engine::run::{RunOptions, RunResult, RunStatistics, Trouble};
use crate::engine::sim::run;
use crate::history::History;
use crate::replay::first_difference;

/// What one seed came to.
#[derive(Debug)]
pub struct SeedOutcome {
    /// The scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// How often it was run: once, or twice to compare.
    pub runs: u64,
    /// The hash of everything that happened in the first run.
    pub trace_hash: u128,
    /// What the first run did.
    pub statistics: RunStatistics,
    /// What the judges say about the first run.
    pub findings: Findings,
    /// What the system says that it can do.
    pub capabilities: Vec<String>,
    /// Why the seed says nothing about the system: the harness failed, or the second run differed.
    pub trouble: Option<String>,
    /// The bug that was planted to see whether it is found; `None` for a seed of the campaign's own.
    pub canary: Option<Defect>,
    /// The run itself; absent where trouble left none.
    pub evidence: Option<Box<Evidence>>,
}

/// What any fault of the seam comes to in the end. Which step went wrong the other properties tell, so they are named
/// before these. Among these, rows that are gone for good come before reads that miss rows and statements that fail,
/// which they explain.
const CONSEQUENCES: [&[&str]; 2] = [&["L1", "L2"], &["F1", "F2", "F3", "F5", "F8"]];

/// What a bundle keeps of a run.
#[derive(Debug)]
pub struct Evidence {
    /// What was to happen.
    pub plan: Plan,
    /// What happened.
    pub history: History,
}

impl SeedOutcome {
    /// `scenario@seed`.
    pub fn name(&self) -> String {
        format!("{}@{}", self.scenario, self.seed)
    }

    /// The violated properties.
    pub fn violated(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.findings.violated()
    }

    /// The violated properties: causes before consequences, and each in the order in which the run shows them, by the
    /// event that completes the first proof.
    pub fn causes_first(&self) -> Vec<&'static str> {
        let shown_at = |judgement: &Judgement| {
            let complete = judgement.violations.iter().map(|violation| violation.events.last().copied().unwrap_or(0));
            complete.min()
        };
        let violated = self.findings.judgements.iter().filter_map(|(id, judgement)| Some((shown_at(judgement)?, *id)));
        let remoteness = |id| CONSEQUENCES.iter().position(|group| group.contains(&id)).map_or(0, |group| group + 1);
        let mut violated: Vec<(usize, u64, &'static str)> = violated.map(|(at, id)| (remoteness(id), at, id)).collect();
        violated.sort_unstable();
        violated.into_iter().map(|(_, _, id)| id).collect()
    }

    /// The outcome of a seed whose run or judgement broke down.
    fn broken(scenario: String, seed: u64, trouble: String) -> Self {
        Self {
            scenario,
            seed,
            runs: 1,
            trace_hash: 0,
            statistics: RunStatistics::default(),
            findings: Findings::default(),
            capabilities: Vec::new(),
            trouble: Some(trouble),
            canary: None,
            evidence: None,
        }
    }
}

/// Runs a plan once, or twice if `double`, and judges it. `plan` makes the plan, so that a generator that fails costs
/// this seed only.
pub fn run_seed(
    scenario: &str,
    seed: u64,
    plan: impl FnOnce() -> Plan,
    defects: &Defects,
    double: bool,
) -> SeedOutcome {
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        let plan = plan();
        let first = run(&plan, &RunOptions { defects: defects.clone(), ..RunOptions::default() });
        judge(scenario, seed, plan, first, defects, double)
    }));
    attempt.unwrap_or_else(|panic| {
        let trouble = format!("while planning or judging, {}", Trouble::panic(panic.as_ref()));
        SeedOutcome::broken(scenario.to_owned(), seed, trouble)
    })
}

/// Judges a run and compares it with a second one.
fn judge(scenario: &str, seed: u64, plan: Plan, first: RunResult, defects: &Defects, double: bool) -> SeedOutcome {
    if let Some(trouble) = first.trouble {
        return SeedOutcome::broken(scenario.to_owned(), seed, trouble.to_string());
    }
    let trouble = double.then(|| difference_of_second_run(&plan, &first, defects)).flatten();
    SeedOutcome {
        scenario: scenario.to_owned(),
        seed,
        runs: if double { 2 } else { 1 },
        trace_hash: first.trace_hash,
        statistics: first.statistics,
        findings: check(&first.history),
        capabilities: first.history.header.capabilities.clone(),
        trouble,
        canary: None,
        evidence: Some(Box::new(Evidence { plan, history: first.history })),
    }
}

/// Runs the plan again. `None` if everything was the same.
fn difference_of_second_run(plan: &Plan, first: &RunResult, defects: &Defects) -> Option<String> {
    let second = run(plan, &RunOptions { defects: defects.clone(), ..RunOptions::default() });
    if let Some(trouble) = second.trouble {
        return Some(format!("the second run failed and the first did not: {trouble}"));
    }
    if second.trace_hash == first.trace_hash {
        return None;
    }
    let place = first
        .trace
        .first_difference(&second.trace)
        .or_else(|| first_difference(&first.history, &second.history).map(|difference| difference.to_string()));
    Some(format!(
        "not deterministic: trace hash {:032x}, then {:032x}; {}",
        first.trace_hash,
        second.trace_hash,
        place.unwrap_or_else(|| "no event differs".to_owned())
    ))
}
