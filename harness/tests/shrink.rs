//! Plans that show planted bugs, shrunk: what is left violates the same property, and nothing of it can be left out.

use harness::check::check;
use harness::engine::run::RunOptions;
use harness::engine::sim::run;
use harness::shrink::{ShrinkOptions, shrink};
use models::defects::{Defect, Defects};
use scenarios::plan::Plan;

/// So few seeds show each of these bugs.
const SEEDS: u64 = 40;

/// Whether a run of the plan violates the property.
fn violates(plan: &Plan, property: &str, defects: &Defects) -> bool {
    let result = run(plan, &RunOptions { defects: defects.clone(), damage: None });
    result.trouble.is_none() && check(&result.history).violated().any(|id| id == property)
}

/// A plan of the scenario that shows the bug by the property.
fn showing(scenario: &str, property: &str, defects: &Defects) -> Plan {
    let scenario = scenarios::find(scenario).unwrap();
    let mut plans = (0..SEEDS).map(|seed| scenario.plan(seed));
    plans.find(|plan| violates(plan, property, defects)).expect("a seed that shows the bug")
}

/// Shrinks to the end and checks every claim that is made of the result.
fn shrunk(defect: Defect, scenario: &str, property: &'static str, most_steps: usize) {
    let defects = Defects::from_iter([defect]);
    let plan = showing(scenario, property, &defects);
    let options = ShrinkOptions { property, defects: defects.clone(), jobs: 2, most_runs: None };
    let mut told = Vec::new();
    let small = shrink(&plan, &options, || true, |progress| told.push(progress.steps)).unwrap();
    assert_eq!(small.plan.validate(), Ok(()));
    assert!(violates(&small.plan, property, &defects), "{defect}: the same property");
    assert!(small.minimal && small.plan.steps.len() <= most_steps, "{defect}: {}", small.plan.to_json());
    assert!(told.is_sorted_by(|earlier, later| earlier >= later), "{defect}: it only gets smaller");
    for place in 0..small.plan.steps.len() {
        let mut shorter = small.plan.clone();
        let step = shorter.steps.remove(place);
        assert!(!violates(&shorter, property, &defects), "{defect}: step {} is not needed", step.id);
    }
    // What was written is what was found.
    assert!(violates(&Plan::from_json(&small.plan.to_json()).unwrap(), property, &defects), "{defect}");
}

#[test]
fn a_stale_read_needs_a_write_and_a_read() {
    shrunk(Defect::RtCached, "append", "F1", 4);
}

#[test]
fn an_unguarded_rename_needs_itself() {
    shrunk(Defect::RenameUnguarded, "append", "C1", 1);
}

#[test]
fn a_truncate_that_is_accepted_needs_itself() {
    shrunk(Defect::TruncateAccepted, "append", "C9", 2);
}

#[test]
fn an_overwrite_of_the_store_needs_few_steps() {
    shrunk(Defect::OverwriteToStore, "contract-table", "C15", 4);
}

#[test]
fn a_delete_that_is_ignored_needs_few_steps() {
    shrunk(Defect::DeleteIgnored, "key-upsert-delete", "L5", 6);
}

#[test]
fn the_result_does_not_depend_on_the_number_of_workers_and_time_ends_it_early() {
    let defects = Defects::from_iter([Defect::RenameUnguarded]);
    let plan = showing("append", "C1", &defects);
    let of = |jobs, most_runs| {
        let options = ShrinkOptions { property: "C1", defects: defects.clone(), jobs, most_runs };
        let small = shrink(&plan, &options, || true, |_| {}).unwrap();
        (small.plan, small.minimal, small.runs)
    };
    assert_eq!(of(1, None), of(3, None));
    let (early, minimal, _) = of(2, Some(1));
    assert!(!minimal && early.steps.len() < plan.steps.len() && violates(&early, "C1", &defects));
    let options = ShrinkOptions { property: "C1", defects: defects.clone(), jobs: 2, most_runs: None };
    let unshrunk = shrink(&plan, &options, || false, |_| {}).unwrap();
    assert_eq!((unshrunk.plan, unshrunk.minimal, unshrunk.runs), (plan.clone(), false, 0), "no time at all");
    let healthy = ShrinkOptions { defects: Defects::none(), ..options };
    assert!(shrink(&plan, &healthy, || true, |_| {}).is_none(), "there is nothing to shrink");
}
