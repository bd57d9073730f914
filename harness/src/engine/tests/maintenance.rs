//! Jobs that a plan asks for are done, in the middle of everything, and the history keeps what they take away.

use std::collections::BTreeSet;

use models::contract::TablePath;
use models::maintenance::Job;
use models::points::Point;
use scenarios::plan::{Action, Fault, Plan, Step};

use super::super::run::{RunOptions, RunResult};
use super::super::sim::run;
use crate::coverage::Catalogue;
use crate::history::{Event, FaultPhase};

/// A plan with these jobs on `db.k1` at these milliseconds and nothing wrong but these faults.
fn plan(jobs: &[(u64, Job)], faults: &[Fault]) -> Plan {
    let mut plan = scenarios::find("key-upsert-delete").unwrap().plan(1);
    plan.system.store.log_ttl_ms = None;
    // Nobody else compacts.
    plan.system.compactor = None;
    for planned in &mut plan.tables {
        planned.schema.options.remove("deletion-vectors.enabled");
    }
    plan.steps.retain(|step| !matches!(step.action, Action::Fault(_)));
    let table = TablePath::new("db", "k1");
    let jobs =
        jobs.iter().map(|(at_ms, job)| Fault::Maintain { table: table.clone(), job: job.clone(), at_ms: *at_ms });
    let faults = jobs.chain(faults.iter().cloned());
    plan.steps.extend(
        faults.enumerate().map(|(number, fault)| Step { id: format!("f{number}"), action: Action::Fault(fault) }),
    );
    plan.validate().unwrap();
    plan
}

fn outcome(jobs: &[(u64, Job)], faults: &[Fault]) -> RunResult {
    let result = run(&plan(jobs, faults), &RunOptions::default());
    assert_eq!(result.trouble, None);
    result
}

fn was_at(result: &RunResult, point: Point) -> bool {
    result.statistics.reached.contains(&Catalogue::of_system(point))
}

fn tag(name: &str) -> String {
    name.to_owned()
}

#[test]
fn each_kind_of_job_strikes_and_does_what_it_is_named_for() {
    let longest_ms = plan(&[], &[]).system.longest_round_ms();
    let older_than_ms = longest_ms + 2 * plan(&[], &[]).system.call_timeout_ms;
    let result = outcome(
        &[
            (500, Job::RemoveOrphans { older_than_ms }),
            (1_000, Job::CreateTag { name: tag("a") }),
            (1_500, Job::Compact { fully: true }),
            (3_400, Job::Compact { fully: false }),
            (3_600, Job::ExpireSnapshots { at_least: 1, keep_ms: longest_ms }),
            (3_800, Job::DeleteTag { name: tag("a") }),
        ],
        &[],
    );
    let kinds: BTreeSet<&str> = result.statistics.fired_by_kind.keys().copied().collect();
    let expected = ["compaction", "orphan-clean-up", "snapshot-expiry", "tag-creation", "tag-deletion"];
    assert_eq!(kinds, BTreeSet::from(expected));
    for point in [Point::CompactionCommitted, Point::SnapshotsExpired, Point::TagDeleted] {
        assert!(was_at(&result, point), "{point:?}");
    }
    // Each has an end.
    let phases = |phase| {
        let is =
            |event: &&crate::history::Entry| matches!(&event.event, Event::Fault { phase: of, .. } if *of == phase);
        result.history.events.iter().filter(is).count()
    };
    assert_eq!(phases(FaultPhase::Start), phases(FaultPhase::End));
}

#[test]
fn the_history_keeps_snapshots_that_expired() {
    let longest_ms = plan(&[], &[]).system.longest_round_ms();
    let expire = Job::ExpireSnapshots { at_least: 1, keep_ms: longest_ms };
    let result = outcome(&[(2_500, expire.clone()), (3_900, expire)], &[]);
    assert!(was_at(&result, Point::SnapshotsExpired));
    let seen = result.history.events.iter().filter_map(|entry| match &entry.event {
        Event::Snapshot(seen) if seen.table.table() == "k1" => Some(seen.snapshot_id),
        _ => None,
    });
    let ids: Vec<u64> = seen.collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>(), "each of them once, from the first on");
    assert!(ids.len() > 3, "{ids:?}");
}

#[test]
fn a_job_whose_host_dies_is_done_again() {
    let longest_ms = plan(&[], &[]).system.longest_round_ms();
    let expire = Job::ExpireSnapshots { at_least: 1, keep_ms: longest_ms };
    let dies = |call: &str| Fault::Call {
        at: format!("maintenance(db.k1).{call}#1").parse().unwrap(),
        what: scenarios::plan::CallFault::CallerCrashesAfter { restart_after_ms: 50 },
    };
    let jobs = [(1_500, Job::Compact { fully: true }), (3_600, expire)];
    let result = outcome(&jobs, &[dies("lake.delete-snapshot"), dies("lake.put-manifest")]);
    assert_eq!(result.statistics.fired_by_kind.get("crash"), Some(&2));
    for point in [Point::MaintenanceAgain, Point::CompactionCommitted, Point::SnapshotsExpired] {
        assert!(was_at(&result, point), "{point:?}");
    }
    assert_eq!(crate::check::check(&result.history).violated().collect::<Vec<_>>(), [""; 0]);
}
