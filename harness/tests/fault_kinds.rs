//! Every kind of fault strikes in some run, and a property notices whoever mishandles it.
//!
//! A row names a planted bug that shows where the kind strikes. The run has the kind and, but for what a rename does, no
//! other fault; the property is violated with it and not without it, and the correct reference holds all on that seed.

use harness::check::check;
use harness::engine::run::{RunOptions, RunResult};
use harness::engine::sim::run;
use models::defects::{Defect, Defects};
use scenarios::fault_kinds::FAULT_KINDS;
use scenarios::plan::{Action, CLOCK_SKEW, Plan, rename_kind};

/// Kind, scenario, planted bug, property.
const NOTICED: &[(&str, &str, Defect, &str)] = &[
    ("reply-delay", "network", Defect::ForceFinishLosesRest, "L6"),
    ("refuse", "lake-storage", Defect::PartialManifest, "L10"),
    ("request-lost", "lake-storage", Defect::PartialManifest, "L10"),
    ("reply-lost", "network", Defect::RetryAppliedTwice, "L3"),
    ("torn-write", "lake-storage", Defect::PartialManifest, "L10"),
    ("duplicate", "network", Defect::RetryAppliedTwice, "L3"),
    ("reorder", "network", Defect::RetryAppliedTwice, "L3"),
    ("caller-crashes-before", "tiering-crash", Defect::AckLostRetier, "L3"),
    ("caller-crashes-after", "tiering-crash", Defect::AckLostRetier, "L3"),
    ("callee-crashes-before", "store-crash", Defect::AckBeforeDurable, "L1"),
    ("callee-crashes-after", "store-crash", Defect::AckBeforeDurable, "L1"),
    ("crash", "store-crash", Defect::AckBeforeDurable, "L1"),
    ("outage", "store-crash", Defect::RefusesAfterHeal, "F8"),
    ("slow-link", "network", Defect::ForceFinishLosesRest, "L6"),
    ("capacity-full", "lake-storage", Defect::PartialManifest, "L10"),
    ("stale-list", "lake-storage", Defect::GoneForGood, "F4"),
    ("stale-exists", "lake-storage", Defect::GoneForGood, "F4"),
    ("retention-pressure", "append", Defect::TtlBeforeTier, "L9"),
    ("clock-skew", "network", Defect::SequenceByClock, "L5"),
    ("rename-atomic", "lake-storage", Defect::RenameForced, "L11"),
    ("rename-false-but-done", "lake-storage", Defect::CleanupOnUnknown, "L10"),
    ("rename-copy-then-delete", "lake-storage", Defect::LockIgnored, "L11"),
];

/// Kind and scenario: no planted bug shows these kinds where nothing else goes wrong. They strike all the same.
const NOT_NOTICED_ALONE: &[(&str, &str)] = &[
    ("delay", "network"),
    ("error-after", "append"),
    ("other-crashes-before", "crash-round"),
    ("other-crashes-after", "crash-round"),
    ("pause", "network"),
    ("partition", "network"),
    ("clock-jump", "network"),
    ("heartbeat-loss", "network"),
    ("rename-overwriting", "lake-storage"),
];

/// So many seeds of a scenario are looked at, from 0.
const SEEDS: u64 = 600;
/// So many of them are run, at most, because the kind strikes there.
const RUNS: usize = 40;

#[test]
fn every_kind_has_its_row() {
    let mut rows: Vec<&str> = NOTICED.iter().map(|(kind, ..)| *kind).collect();
    rows.extend(NOT_NOTICED_ALONE.iter().map(|(kind, _)| *kind));
    rows.sort_unstable();
    let mut kinds: Vec<&str> = FAULT_KINDS.iter().map(|(kind, _)| *kind).collect();
    kinds.sort_unstable();
    assert_eq!(rows, kinds);
}

#[test]
fn kinds_that_no_bug_shows_alone_strike_and_the_reference_survives_them() {
    for (kind, scenario) in NOT_NOTICED_ALONE {
        let scenario = scenarios::find(scenario).unwrap();
        let mut plans = (0..SEEDS).map(|seed| scenario.plan(seed)).filter(|plan| has(plan, kind)).take(RUNS);
        let struck = plans.find_map(|plan| {
            let (result, violated) = run_with(&alone(plan, kind), Defects::none());
            result.statistics.fired_by_kind.contains_key(kind).then_some(violated)
        });
        assert_eq!(struck, Some(vec![]), "{kind}");
    }
}

fn has(plan: &Plan, kind: &str) -> bool {
    plan.faults().any(|(_, fault)| fault.kind() == kind)
        || (kind == CLOCK_SKEW && !plan.skew_ms.is_empty())
        || plan.lake.rename.is_some_and(|semantics| rename_kind(semantics) == kind)
}

/// The plan with nothing but this kind of fault. A rename shows what it does where something else is late, so the others
/// stay then; a clock jumps from where it was.
fn alone(plan: Plan, kind: &str) -> Plan {
    if plan.lake.rename.is_some_and(|semantics| rename_kind(semantics) == kind) {
        return plan;
    }
    let mut plan = plan;
    plan.steps.retain(|step| !matches!(&step.action, Action::Fault(fault) if fault.kind() != kind));
    plan.lake = Default::default();
    if ![CLOCK_SKEW, "clock-jump"].contains(&kind) {
        plan.skew_ms.clear();
    }
    plan
}

/// The plan without this kind of fault.
fn without(plan: &Plan, kind: &str) -> Plan {
    let mut plan = plan.clone();
    plan.steps.retain(|step| !matches!(&step.action, Action::Fault(fault) if fault.kind() == kind));
    if plan.lake.rename.is_some_and(|semantics| rename_kind(semantics) == kind) {
        plan.lake = Default::default();
    }
    if kind == CLOCK_SKEW {
        plan.skew_ms.clear();
    }
    plan
}

fn run_with(plan: &Plan, defects: Defects) -> (RunResult, Vec<&'static str>) {
    let result = run(plan, &RunOptions { defects, damage: None });
    assert_eq!(result.trouble, None, "{}@{}", plan.scenario, plan.seed);
    let violated = check(&result.history).violated().collect();
    (result, violated)
}

/// What is wrong with one row of the table, if anything is.
fn problem(kind: &str, scenario: &str, defect: Defect, property: &str) -> Option<String> {
    let planted = || Defects::from_iter([defect]);
    let scenario = scenarios::find(scenario).unwrap();
    let plans = (0..SEEDS).map(|seed| scenario.plan(seed)).filter(|plan| has(plan, kind));
    for plan in plans.map(|plan| alone(plan, kind)).take(RUNS) {
        let (result, violated) = run_with(&plan, planted());
        let fired = result.statistics.fired_by_kind.get(kind).copied().unwrap_or(0);
        if fired == 0
            || !violated.contains(&property)
            || run_with(&without(&plan, kind), planted()).1.contains(&property)
        {
            continue;
        }
        let (_, of_reference) = run_with(&plan, Defects::none());
        return (!of_reference.is_empty())
            .then(|| format!("{kind}: {}@{} violates {of_reference:?} on the reference", scenario.name, plan.seed));
    }
    Some(format!("{kind}: no seed of {} shows {defect} by {property}, and only with the kind", scenario.name))
}

#[test]
fn every_kind_strikes_and_a_property_notices_who_mishandles_it() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let problems_of = |first: usize| {
        let dealt = NOTICED.iter().skip(first).step_by(threads);
        dealt.filter_map(|(kind, scenario, defect, property)| problem(kind, scenario, *defect, property)).collect()
    };
    let problems: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|first| scope.spawn(move || -> Vec<String> { problems_of(first) })).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
