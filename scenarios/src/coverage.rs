//! Every step at which the library can let something go wrong: which kind of fault, at which call or to whom.
//!
//! The set is read off the scenarios' nemeses and crash points, so it holds neither a step that no run can reach nor
//! lacks one that some run can. It knows no run: who counts what struck asks [`FaultStep::of`] for the step of a fault
//! that did.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::plan::calls::{COMPACTOR, COORDINATOR, LAKE, MAINTENANCE, METASTORE, STORE, TIERING};
use crate::plan::{CLOCK_SKEW, CallAddress, rename_kind};
use crate::scenario::{Nemeses, OfHosts, Role, Scenario};
use crate::swarm::crash_points;

/// Everybody who is no part of the system: writers, readers, stories.
const CLIENT: &str = "client";

/// The kinds of fault that are jobs of maintenance.
const JOB_KINDS: [&str; 5] = ["compaction", "snapshot-expiry", "tag-creation", "tag-deletion", "orphan-clean-up"];

/// One kind of fault at one step of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FaultStep {
    /// The kind, as [`crate::fault_kinds::FAULT_KINDS`] spells it.
    pub kind: String,
    /// A call (`tiering.store.append`), a host (`store`) or a link (`tiering-store`); all workers are `tiering`, all
    /// sessions `client`.
    pub step: String,
}

impl FaultStep {
    /// The step of a fault that struck there: a call's address, a host's name, or two of these with an arrow between.
    pub fn of(kind: &str, target: &str) -> Self {
        let step = match (target.parse::<CallAddress>(), target.split_whitespace().collect::<Vec<_>>().as_slice()) {
            (Ok(address), _) => format!("{}.{}", class_of(&address.caller), address.call),
            (Err(_), [from, _arrow, to]) => link(class_of(from), class_of(to)),
            // A job is named by its table, and always maintenance's.
            (Err(_), _) if JOB_KINDS.contains(&kind) => MAINTENANCE.to_owned(),
            (Err(_), _) => class_of(target).to_owned(),
        };
        Self { kind: kind.to_owned(), step }
    }
}

/// All steps of the library's scenarios.
pub fn fault_steps() -> &'static BTreeSet<FaultStep> {
    static STEPS: LazyLock<BTreeSet<FaultStep>> = LazyLock::new(|| crate::library().iter().flat_map(steps).collect());
    &STEPS
}

/// The steps of one scenario: those of its nemeses, or those of its crash points. Pairs of points have no other steps
/// than the points.
fn steps(scenario: &Scenario) -> BTreeSet<FaultStep> {
    let points = scenario.crash_points.filter(|kind| !kind.pairs).map(crash_points).unwrap_or_default();
    let points = points.iter().flatten().map(|(at, what)| FaultStep::of(what.kind(), &at.to_string()));
    points.chain(steps_of_nemeses(&scenario.nemeses)).chain(steps_from_the_start(scenario)).collect()
}

/// What is wrong with clocks and storage from the start.
fn steps_from_the_start(scenario: &Scenario) -> Vec<FaultStep> {
    let renames = scenario.workload.iter().flat_map(|workload| &workload.renames);
    let mut steps: Vec<FaultStep> = renames.map(|drawn| at(rename_kind(drawn.rename), LAKE)).collect();
    if scenario.timings.skew_permille.0 > 0 {
        steps.extend([STORE, COORDINATOR, TIERING, CLIENT].map(|host| at(CLOCK_SKEW, host)));
    }
    steps
}

fn at(kind: &str, step: &str) -> FaultStep {
    FaultStep { kind: kind.to_owned(), step: step.to_owned() }
}

fn steps_of_nemeses(nemeses: &Nemeses) -> BTreeSet<FaultStep> {
    let mut steps = BTreeSet::new();
    for group in &nemeses.calls {
        for call in &group.calls {
            let step = format!("{}.{call}", class_of_role(group.caller));
            let kinds = group.kinds.iter().map(|weighted| in_kebab_case(&format!("{:?}", weighted.kind)));
            steps.extend(kinds.map(|kind| FaultStep { kind, step: step.clone() }));
        }
    }
    for OfHosts(kind, groups, _) in nemeses.of_hosts() {
        let hosts = groups.iter().flat_map(|group| &group.hosts);
        steps.extend(hosts.map(|host| at(kind, class_of_role(*host))));
    }
    let jobs = nemeses.maintenance.iter().flat_map(|group| &group.jobs);
    steps.extend(jobs.map(|one| at(one.job.fault_kind(), MAINTENANCE)));
    for (kind, groups) in nemeses.of_links() {
        for group in groups {
            let ends = group.from.iter().flat_map(|from| group.to.iter().map(move |to| (*from, *to)));
            steps.extend(ends.map(|(from, to)| at(kind, &link(class_of_role(from), class_of_role(to)))));
        }
    }
    steps
}

fn link(from: &str, to: &str) -> String {
    format!("{from}-{to}")
}

/// The part that a host belongs to, or `client`.
fn class_of(host: &str) -> &str {
    match [STORE, COORDINATOR, LAKE, METASTORE, COMPACTOR, MAINTENANCE].iter().find(|part| **part == host) {
        Some(part) => part,
        None if host.starts_with(TIERING) => TIERING,
        None => CLIENT,
    }
}

fn class_of_role(role: Role) -> &'static str {
    match role {
        Role::Store => STORE,
        Role::Coordinator => COORDINATOR,
        Role::Lake => LAKE,
        Role::Metastore => METASTORE,
        Role::Tiering => TIERING,
        Role::Compactor => COMPACTOR,
        Role::Maintenance => MAINTENANCE,
        Role::Writer | Role::Reader | Role::Story => CLIENT,
    }
}

/// `CallerCrashesAfter` as plans and scenarios spell it.
fn in_kebab_case(variant: &str) -> String {
    let mut text = String::with_capacity(variant.len() + 4);
    for letter in variant.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault_kinds::FAULT_KINDS;
    use crate::plan::Fault;

    #[test]
    fn targets_are_steps() {
        for (kind, target, step) in [
            ("reply-lost", "tiering(db.t).store.register-lake-snapshot#3", "tiering.store.register-lake-snapshot"),
            ("delay", "w1(db.t).store.append#1", "client.store.append"),
            ("refuse", "coordinator.store.tables#2", "coordinator.store.tables"),
            ("pause", "tiering-2", "tiering"),
            ("outage", "lake", "lake"),
            ("compaction", "db.k1", "maintenance"),
            ("crash", "maintenance", "maintenance"),
            ("partition", "r1 <-> store", "client-store"),
            ("partition", "tiering-1 -> lake", "tiering-lake"),
        ] {
            let expected = FaultStep { kind: kind.to_owned(), step: step.to_owned() };
            assert_eq!(FaultStep::of(kind, target), expected);
        }
    }

    #[test]
    fn kinds_are_those_of_the_list() {
        for step in fault_steps() {
            assert!(FAULT_KINDS.iter().any(|(kind, _)| *kind == step.kind), "{step:?}");
        }
    }

    #[test]
    fn calls_that_go_wrong_in_plans_are_among_the_steps() {
        let mut drawn = BTreeSet::new();
        for plan in crate::library().iter().flat_map(|scenario| (0..20).map(|seed| scenario.plan(seed))) {
            drawn.extend(plan.faults().filter_map(|(_, fault)| match fault {
                Fault::Call { at, what } => Some(FaultStep::of(what.kind(), &at.to_string())),
                _ => None,
            }));
        }
        let unknown: Vec<_> = drawn.difference(fault_steps()).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        assert!(2 * drawn.len() > fault_steps().len(), "{} of {} were drawn", drawn.len(), fault_steps().len());
    }
}
