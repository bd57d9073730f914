//! Every kind of fault strikes in some run, and a property notices whoever mishandles it.
//!
//! A row names a planted bug that shows where the kind strikes. The run has the kind and no other fault, but for tags,
//! which mean nothing by themselves. The property is violated with the kind and not without it, and the correct reference
//! holds all in the same run. Some kinds are searched for on the seeds of a scenario; others, that show only where they
//! strike at the right moment, are placed there.

use std::ops::RangeInclusive;

use harness::check::check;
use harness::engine::run::{RunOptions, RunResult};
use harness::engine::sim::run;
use models::config::CoordinatorConfig;
use models::contract::Side;
use models::defects::{Defect, Defects};
use models::paimon::object_stores::RenameSemantics;
use scenarios::fault_kinds::FAULT_KINDS;
use scenarios::plan::{
    Action, Bystander, CLOCK_SKEW, CallAddress, CallFault, Fault, LakeStorage, Plan, Step, rename_kind,
};

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
    ("compaction", "maintenance", Defect::DeleteDroppedEarly, "L5"),
    ("snapshot-expiry", "maintenance", Defect::ExpiryDeletesLive, "L10"),
    ("tag-creation", "maintenance", Defect::ExpiryIgnoresTag, "L10"),
    ("tag-deletion", "maintenance", Defect::TagTakesAll, "L10"),
    ("orphan-clean-up", "maintenance", Defect::OrphanCleanRaces, "L10"),
    ("rollback", "rollback", Defect::RollbackIdReuse, "L8"),
];

/// Lets a kind of fault strike in a plan without any.
type Placing = fn(&mut Plan);

/// Kind, scenario, planted bug, property, and where the kind strikes: in runs with the scenario's tables and statements in
/// which nothing else goes wrong, rounds are slow and claims short.
const PLACED: &[(&str, &str, Defect, &str, Placing)] = &[
    // The registration comes so late that the next round begins before it.
    ("delay", "append", Defect::AckLostRetier, "L3", |plan| {
        strike(plan, "store.register-lake-snapshot", 1..=6, CallFault::Delay { by_ms: 2_000 });
    }),
    // The registration is told to have failed, in all attempts.
    ("error-after", "append", Defect::AbortAfterSuccess, "L10", |plan| {
        strike(plan, "store.register-lake-snapshot", 1..=3, CallFault::ErrorAfter);
    }),
    // A coordinator that died gives out the table of a round that goes on.
    ("other-crashes-before", "append", Defect::TwoHolders, "L3", |plan| {
        let what = CallFault::OtherCrashesBefore { host: Bystander::Coordinator, restart_after_ms: 10 };
        strike(plan, "store.bucket-offsets", 2..=7, what);
    }),
    ("other-crashes-after", "append", Defect::TwoHolders, "L3", |plan| {
        let what = CallFault::OtherCrashesAfter { host: Bystander::Coordinator, restart_after_ms: 10 };
        strike(plan, "store.bucket-offsets", 2..=7, what);
    }),
    // A holder stands still for longer than its claim lasts, and goes on.
    ("pause", "append", Defect::TwoHolders, "L3", |plan| {
        now_and_then(plan, |at_ms| Fault::Pause { host: "tiering-1".to_owned(), at_ms, for_ms: 250 });
    }),
    // The coordinator does not hear of a holder that works.
    ("partition", "append", Defect::TwoHolders, "L3", |plan| {
        let (from, to) = ("tiering-1-planner".to_owned(), "coordinator".to_owned());
        now_and_then(plan, |at_ms| Fault::Partition {
            from: from.clone(),
            to: to.clone(),
            both_ways: false,
            at_ms,
            for_ms: 200,
        });
    }),
    ("heartbeat-loss", "append", Defect::TwoHolders, "L3", |plan| {
        now_and_then(plan, |at_ms| Fault::HeartbeatLoss { host: "tiering-1".to_owned(), at_ms, for_ms: 250 });
    }),
    // By the coordinator's clock every holder is silent all at once.
    ("clock-jump", "append", Defect::TwoHolders, "L3", |plan| {
        plan.system.max_skew_ms = 2_000;
        now_and_then(plan, |at_ms| Fault::ClockJump { host: "coordinator".to_owned(), by_ms: 200, at_ms });
    }),
    // Two committers come between each other's look and rename.
    ("rename-atomic", "lake-storage", Defect::RenameForced, "L11", |plan| renames(plan, RenameSemantics::Atomic)),
    ("rename-overwriting", "lake-storage", Defect::LockIgnored, "L11", |plan| {
        renames(plan, RenameSemantics::Overwriting);
    }),
    ("rename-copy-then-delete", "lake-storage", Defect::LockIgnored, "L11", |plan| {
        renames(plan, RenameSemantics::CopyThenDelete);
    }),
    // What a rename says of itself is believed.
    ("rename-false-but-done", "lake-storage", Defect::CleanupOnUnknown, "L10", |plan| {
        renames(plan, RenameSemantics::FalseButDone);
    }),
];

/// So many seeds are looked at where a kind is placed.
const PLACED_SEEDS: u64 = 24;

/// So many seeds of a scenario are looked at, from 0.
const SEEDS: u64 = 600;
/// So many of them are run, at most, because the kind strikes there.
const RUNS: usize = 40;

#[test]
fn every_kind_has_its_row() {
    let mut rows: Vec<&str> = NOTICED.iter().map(|(kind, ..)| *kind).collect();
    rows.extend(PLACED.iter().map(|(kind, ..)| *kind));
    rows.sort_unstable();
    let mut kinds: Vec<&str> = FAULT_KINDS.iter().map(|(kind, _)| *kind).collect();
    kinds.sort_unstable();
    assert_eq!(rows, kinds);
}

/// Nothing goes wrong in it, two workers have slow rounds and short claims.
fn quiet(scenario: &str, seed: u64) -> Plan {
    let mut plan = scenarios::find(scenario).unwrap().plan(seed);
    plan.steps.retain(|step| !matches!(&step.action, Action::Fault(_)));
    plan.skew_ms.clear();
    plan.lake = LakeStorage::default();
    plan.min_call_ms = 25;
    let system = &mut plan.system;
    (system.max_call_ms, system.call_timeout_ms, system.tiering_workers) = (60, 300, 2);
    (system.store.sync_ms, system.store.log_ttl_ms) = (5, None);
    system.coordinator = CoordinatorConfig { freshness_ms: 300, heartbeat_timeout_ms: 160, check_interval_ms: 10 };
    (system.worker.heartbeat_interval_ms, system.worker.poll_interval_ms) = (30, 20);
    plan
}

/// Each table's calls with these numbers go wrong.
fn strike(plan: &mut Plan, call: &str, nths: RangeInclusive<u64>, what: CallFault) {
    let tables: Vec<_> = plan.tables.iter().filter(|table| table.side == Side::Store).cloned().collect();
    for table in tables {
        for nth in nths.clone() {
            let (caller, call) = ("tiering".to_owned(), call.to_owned());
            let at = CallAddress { caller, table: Some(table.table.clone()), call, nth };
            place(plan, Fault::Call { at, what });
        }
    }
}

/// Strikes a few times, about a round apart.
fn now_and_then(plan: &mut Plan, fault: impl Fn(u64) -> Fault) {
    for at_ms in (400..plan.chaos_ms - 300).step_by(340).take(10) {
        place(plan, fault(at_ms));
    }
}

/// The lake's storage creates files by renaming them. A table that the coordinator makes there takes many calls.
fn renames(plan: &mut Plan, semantics: RenameSemantics) {
    plan.lake = LakeStorage { rename: Some(semantics) };
    plan.system.call_timeout_ms = 1_500;
}

fn place(plan: &mut Plan, fault: Fault) {
    let id = format!("placed-{}", plan.steps.len());
    plan.steps.push(Step { id, action: Action::Fault(fault) });
}

fn has(plan: &Plan, kind: &str) -> bool {
    plan.faults().any(|(_, fault)| fault.kind() == kind) || (kind == CLOCK_SKEW && !plan.skew_ms.is_empty())
}

/// The plan with nothing but this kind of fault. A tag that is made shows where its snapshot expires, and one is deleted
/// where it was made.
fn alone(plan: Plan, kind: &str) -> Plan {
    let beside = match kind {
        "tag-creation" => "snapshot-expiry",
        "tag-deletion" => "tag-creation",
        kind => kind,
    };
    let mut plan = plan;
    plan.steps.retain(|step| match &step.action {
        Action::Fault(fault) => [kind, beside].contains(&fault.kind()),
        Action::Run(_) | Action::Close(_) => true,
    });
    plan.lake = LakeStorage::default();
    if kind != CLOCK_SKEW {
        plan.skew_ms.clear();
    }
    plan
}

/// The plan without this kind of fault.
fn without(plan: &Plan, kind: &str) -> Plan {
    let mut plan = plan.clone();
    plan.steps.retain(|step| !matches!(&step.action, Action::Fault(fault) if fault.kind() == kind));
    if plan.lake.rename.is_some_and(|semantics| rename_kind(semantics) == kind) {
        plan.lake = LakeStorage::default();
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

/// Whether the property is violated with the kind and not without it; an error if the correct reference violates
/// something in the same run.
fn is_noticed(plan: &Plan, kind: &str, defect: Defect, property: &str) -> Result<bool, String> {
    let planted = || Defects::from_iter([defect]);
    let (result, violated) = run_with(plan, planted());
    let fired = result.statistics.fired_by_kind.get(kind).copied().unwrap_or(0);
    let is_there = |violated: &[&str]| violated.contains(&property);
    if fired == 0 || !is_there(&violated) || is_there(&run_with(&without(plan, kind), planted()).1) {
        return Ok(false);
    }
    let (_, of_reference) = run_with(plan, Defects::none());
    if of_reference.is_empty() {
        return Ok(true);
    }
    Err(format!("{kind}: {}@{} violates {of_reference:?} on the reference", plan.scenario, plan.seed))
}

/// What is wrong with one row, if anything is.
fn problem(kind: &str, plans: impl Iterator<Item = Plan>, defect: Defect, property: &str) -> Option<String> {
    for plan in plans {
        match is_noticed(&plan, kind, defect, property) {
            Ok(true) => return None,
            Ok(false) => {}
            Err(problem) => return Some(problem),
        }
    }
    Some(format!("{kind}: no run shows {defect} by {property}, and only with the kind"))
}

/// The problems of all rows, which are dealt to as many threads as help.
fn problems<Row: Sync>(rows: &[Row], problem: impl Fn(&Row) -> Option<String> + Sync) -> Vec<String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let problems_of = |first: usize| rows.iter().skip(first).step_by(threads).filter_map(&problem).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || problems_of(first))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

#[test]
fn every_kind_that_seeds_show_is_noticed_where_it_is_mishandled() {
    let problems = problems(NOTICED, |(kind, scenario, defect, property)| {
        let scenario = scenarios::find(scenario).unwrap();
        let plans = (0..SEEDS).map(|seed| scenario.plan(seed)).filter(|plan| has(plan, kind));
        problem(kind, plans.map(|plan| alone(plan, kind)).take(RUNS), *defect, property)
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_kind_that_is_placed_is_noticed_where_it_is_mishandled() {
    let problems = problems(PLACED, |(kind, scenario, defect, property, place)| {
        let plans = (0..PLACED_SEEDS).map(|seed| {
            let mut plan = quiet(scenario, seed);
            place(&mut plan);
            plan.validate().unwrap_or_else(|found| panic!("{kind}: {found}"));
            plan
        });
        problem(kind, plans, *defect, property)
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
