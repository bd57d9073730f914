//! Every crash point of a tiering round, a commit and a promotion is tried: the lists of the scenarios name exactly the
//! effects that the protocols have, each point's fault strikes, and the correct reference survives it.

use std::collections::BTreeSet;

use harness::check::check;
use harness::engine::run::{RunOptions, RunResult};
use harness::engine::sim::run;
use harness::engine::trace::Moment;
use scenarios::plan::{Action, Plan};
use scenarios::scenario::{CrashPoints, CrashedProtocol, Scenario};
use scenarios::{CrashPoint, crash_places, crash_points};

/// The scenarios whose plans have one point.
const SINGLES: [&str; 3] = ["crash-round", "crash-commit", "crash-promotion"];
const PAIRS: &str = "crash-pairs";

/// Calls that only look.
const READS: [&str; 9] = [
    "store.table",
    "store.tables",
    "store.fetch-log",
    "store.bucket-offsets",
    "store.lookup",
    "store.registered-snapshots",
    "lake.get-",
    "lake.list-",
    "lake.exists-",
];

fn scenario(name: &str) -> &'static Scenario {
    scenarios::find(name).unwrap()
}

fn kind(name: &str) -> CrashPoints {
    scenario(name).crash_points.unwrap()
}

fn run_plain(plan: &Plan) -> RunResult {
    let result = run(plan, &RunOptions::default());
    assert_eq!(result.trouble, None, "{}@{}", plan.scenario, plan.seed);
    result
}

/// The calls of the protocol in the scenario's plan without its point, in order.
fn calls_of_protocol(name: &str, seed: u64) -> Vec<String> {
    let mut plan = scenario(name).plan(seed);
    plan.steps.retain(|step| !matches!(step.action, Action::Fault(_)));
    let result = run_plain(&plan);
    let sent = result.trace.entries.iter().filter(|entry| entry.moment == Moment::Sent);
    let named = sent.map(|entry| (entry.at_ms, format!("{}#{}", result.trace.sites[entry.site as usize], entry.nth)));
    match kind(name).of {
        // From the question for the table to the next one.
        CrashedProtocol::TieringRound => {
            let tiering = named.map(|(_, call)| call).filter(|call| call.starts_with("tiering"));
            let from_here = tiering.skip_while(|call| call != "tiering.coordinator.request-table#11");
            from_here.take_while(|call| call != "tiering.coordinator.request-table#12").collect()
        }
        // Between the statement before and the one after, both of which are long over and far away.
        CrashedProtocol::Commit => {
            let of_statement = named.filter(|(at_ms, call)| (100..900).contains(at_ms) && call.starts_with("n1"));
            of_statement.map(|(_, call)| call).collect()
        }
        CrashedProtocol::Promotion => {
            let of_statement = named.filter(|(at_ms, call)| {
                (200..800).contains(at_ms) && (call.starts_with("s1") || call.starts_with("coordinator(db.promo)"))
            });
            of_statement.map(|(_, call)| call).collect()
        }
    }
}

fn has_effect(call: &str) -> bool {
    let (_, call) = call.rsplit_once(").").or_else(|| call.split_once('.')).unwrap();
    let method = call.split('#').next().unwrap();
    !READS.iter().any(|read| method == *read || (read.ends_with('-') && method.starts_with(read)))
}

#[test]
fn the_lists_name_every_effect_of_the_protocols_and_no_call_that_they_do_not_make() {
    for name in SINGLES {
        let count = crash_points(kind(name)).len() as u64;
        // Of both kinds of table, where there are two.
        for seed in [0, count] {
            let made = calls_of_protocol(name, seed);
            let listed: Vec<String> = crash_places(kind(name).of).iter().map(ToString::to_string).collect();
            let forgotten: Vec<&String> =
                made.iter().filter(|call| has_effect(call) && !listed.contains(*call)).collect();
            assert!(forgotten.is_empty(), "{name}@{seed}: expected the list to name {forgotten:?}");
            let unheard_of: Vec<&String> = listed.iter().filter(|call| !made.contains(*call)).collect();
            assert!(unheard_of.is_empty(), "{name}@{seed}: expected the protocol to call {unheard_of:?} in {made:?}");
        }
    }
}

#[test]
fn each_point_strikes_and_is_survived() {
    let mut tried = 0;
    for name in SINGLES {
        for (seed, point) in crash_points(kind(name)).iter().enumerate() {
            let [(at, what)] = &point[..] else { panic!("expected one call, found {point:?}") };
            let result = run_plain(&scenario(name).plan(seed as u64));
            let told = format!("{name}@{seed} {at}: {}", what.kind());
            assert_eq!(result.statistics.fired_by_kind.get(what.kind()), Some(&1), "{told} did not strike");
            let violated: Vec<&str> = check(&result.history).violated().collect();
            assert!(violated.is_empty(), "{told}: {violated:?}");
            tried += 1;
        }
    }
    println!("{tried} crash points tried");
    assert_eq!(tried, 234 + 40 + 75);
}

#[test]
fn descriptions_tell_how_many_points_there_are() {
    for (name, written) in SINGLES.iter().zip(["234", "40", "75"]).chain([(&PAIRS, "2,916")]) {
        let count: usize = written.replace(',', "").parse().unwrap();
        assert_eq!(crash_points(kind(name)).len(), count, "{name}");
        assert!(scenario(name).description.contains(&format!(" {written} ")), "{}", scenario(name).description);
    }
}

#[test]
fn the_second_of_a_pair_strikes_what_goes_on_after_the_first() {
    let pairs = crash_points(kind(PAIRS));
    let (data, snapshot) = ("tiering(db.t).lake.put-data", "tiering(db.t).lake.put-snapshot");
    let after = |first: &str, second: &str| -> BTreeSet<String> {
        let calls = pairs.iter().map(|pair| (pair[0].0.to_string(), pair[1].0.to_string()));
        calls
            .filter(|(one, other)| one.starts_with(first) && other.starts_with(second))
            .map(|(_, other)| other)
            .collect()
    };
    assert_eq!(after(data, snapshot), BTreeSet::from([format!("{snapshot}#2")]));
    assert_eq!(after(snapshot, data), BTreeSet::from([format!("{data}#3")]));
    assert_eq!(after(data, data), BTreeSet::from([format!("{data}#3")]));
    // Two calls in the order in which they are made: the second manifest list after the first one, too.
    assert!(pairs.iter().all(|pair| pair.len() == 2 && pair[0].0 != pair[1].0));
    let lists = after("tiering(db.t).lake.put-manifest-list#3", "tiering(db.t).lake.put-manifest-list");
    let list = |nth: u64| format!("tiering(db.t).lake.put-manifest-list#{nth}");
    assert_eq!(lists, BTreeSet::from([list(4), list(5)]));
    let lists = after("tiering(db.t).lake.put-manifest-list#4", "tiering(db.t).lake.put-manifest-list");
    assert_eq!(lists, BTreeSet::from([list(5), list(6)]));
    let of_two_lists = |pair: &CrashPoint| pair.iter().all(|(at, _)| at.call == "lake.put-manifest-list");
    let seeds = pairs.iter().enumerate().filter(|(_, pair)| of_two_lists(pair)).map(|(seed, _)| seed as u64);
    for seed in seeds.chain([0]) {
        let plan = scenario(PAIRS).plan(seed);
        assert_eq!((plan.faults().count(), plan.validate()), (2, Ok(())), "{PAIRS}@{seed}");
    }
}
