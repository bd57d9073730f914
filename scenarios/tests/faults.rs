//! What goes wrong in the plans of the library: everybody is struck who can be, and few weak places are hit again and
//! again.

use std::collections::{BTreeMap, BTreeSet};

use models::config::CatalogKind;
use scenarios::plan::{Fault, Plan};

const SEEDS: u64 = 40;

fn plans(scenario: &str) -> Vec<Plan> {
    let scenario = scenarios::find(scenario).unwrap();
    (0..SEEDS).map(|seed| scenario.plan(seed)).collect()
}

/// In how many of the plans there is such a fault.
fn having(plans: &[Plan], is: impl Fn(&Fault) -> bool) -> usize {
    plans.iter().filter(|plan| plan.faults().any(|(_, fault)| is(fault))).count()
}

#[test]
fn the_metastore_is_struck_where_there_is_one() {
    let plans = plans("ddl-races");
    let strikes = |plan: &Plan, kind: &str| {
        plan.faults().any(|(_, fault)| {
            let (Fault::Crash { host, .. } | Fault::Pause { host, .. } | Fault::Outage { part: host, .. }) = fault
            else {
                return false;
            };
            host == "metastore" && fault.kind() == kind
        })
    };
    for kind in ["crash", "pause", "outage"] {
        let (with, without): (Vec<&Plan>, Vec<&Plan>) =
            plans.iter().partition(|plan| plan.catalog.kind == CatalogKind::Jdbc);
        assert!(without.iter().all(|plan| !strikes(plan, kind)), "{kind}");
        assert!(with.iter().filter(|plan| strikes(plan, kind)).count() >= 4, "{kind}");
    }
}

#[test]
fn parts_and_clients_stand_still_and_clients_die() {
    for scenario in ["network", "store-crash"] {
        let plans = plans(scenario);
        let dies = |letter: char| {
            having(
                &plans,
                |fault| matches!(fault, Fault::Crash { host, .. } if host.starts_with(letter) && host.len() == 2),
            )
        };
        assert!(dies('w') >= 6 && dies('r') >= 6, "{scenario}: {} {}", dies('w'), dies('r'));
        let stands = having(&plans, |fault| matches!(fault, Fault::Pause { host, .. } if host == "store"));
        assert!(stands >= 6, "{scenario}: {stands}");
    }
    let plans = plans("network");
    let stands = having(&plans, |fault| matches!(fault, Fault::Pause { host, .. } if host == "coordinator"));
    assert!(stands >= 4, "{stands}");
}

#[test]
fn writes_are_torn_links_are_slow_and_the_storage_is_full() {
    let lake_storage = plans("lake-storage");
    let call =
        |wanted: &'static str| move |fault: &Fault| matches!(fault, Fault::Call { what, .. } if what.kind() == wanted);
    let counts = [
        having(&lake_storage, call("torn-write")),
        having(&lake_storage, call("error-after")),
        having(&lake_storage, |fault| matches!(fault, Fault::Full { .. })),
        having(&plans("network"), |fault| matches!(fault, Fault::SlowLink { .. })),
        having(&plans("append"), call("error-after")),
    ];
    assert!(counts.iter().all(|count| *count >= 8), "{counts:?}");
}

/// There and back over a slow link, the healthy call and the sync of an append: all within the timeout.
#[test]
fn an_append_over_the_slowest_link_is_answered_in_time() {
    for plan in plans("network") {
        let system = &plan.system;
        for (_, fault) in plan.faults() {
            let Fault::SlowLink { by_ms, .. } = fault else { continue };
            let takes_ms = 2 * by_ms + 2 * system.max_call_ms + system.store.sync_ms;
            assert!(takes_ms < system.call_timeout_ms, "{takes_ms} {}", system.call_timeout_ms);
        }
    }
}

#[test]
fn tables_are_looked_after_in_every_way_and_whoever_does_it_is_struck() {
    let plans = plans("maintenance");
    for kind in ["compaction", "snapshot-expiry", "tag-creation", "tag-deletion", "orphan-clean-up"] {
        let count = having(&plans, |fault| fault.kind() == kind);
        assert!(count >= 8, "{kind}: {count}");
    }
    let dies = having(&plans, |fault| matches!(fault, Fault::Crash { host, .. } if host == "maintenance"));
    let call = having(&plans, |fault| matches!(fault, Fault::Call { at, .. } if at.caller == "maintenance"));
    assert!(dies >= 4 && call >= 12, "{dies} {call}");
    // Elsewhere in some of the runs.
    let beside = having(&self::plans("key-upsert-delete"), |fault| matches!(fault, Fault::Maintain { .. }));
    assert!((4..=24).contains(&beside), "{beside}");
}

/// Two levels: a call is armed in a run or not, and then struck or not.
#[test]
fn a_group_strikes_some_calls_in_one_run_and_others_in_another() {
    let mut struck: BTreeMap<BTreeSet<String>, usize> = BTreeMap::new();
    for plan in plans("network") {
        let calls = plan.faults().filter_map(|(id, fault)| match fault {
            Fault::Call { at, .. } if id.starts_with("worker-calls-") => Some(at.call.clone()),
            _ => None,
        });
        *struck.entry(calls.collect()).or_default() += 1;
    }
    let all: BTreeSet<&String> = struck.keys().flatten().collect();
    assert_eq!(all.len(), 6, "{all:?}");
    // Of a group of six calls a run seldom strikes more than four, and runs differ.
    let few: usize = struck.iter().filter(|(calls, _)| calls.len() <= 4).map(|(_, count)| count).sum();
    assert!(few >= 36 && struck.len() >= 8, "{few} {}", struck.len());
}
