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
/// The planner of any tiering worker.
const PLANNER: &str = "planner";
/// Any reader of any tiering worker.
const TIERING_READER: &str = "tiering-reader";
/// The committer of any tiering worker.
const COMMITTER: &str = "committer";

/// The kinds of fault that are jobs of maintenance.
const JOB_KINDS: [&str; 6] =
    ["compaction", "snapshot-expiry", "tag-creation", "tag-deletion", "rollback", "orphan-clean-up"];

/// One kind of fault at one step of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FaultStep {
    /// The kind, as [`crate::fault_kinds::FAULT_KINDS`] spells it.
    pub kind: String,
    /// A call (`tiering.store.append`), a host (`store`, `planner`) or a link (`committer-lake`). All tasks of all
    /// workers are `tiering` where they call; all sessions are `client`.
    pub step: String,
}

impl FaultStep {
    /// The step of a fault that struck there: a call's address, a host's name, or two of these with an arrow between.
    pub fn of(kind: &str, target: &str) -> Self {
        let step = match (target.parse::<CallAddress>(), target.split_whitespace().collect::<Vec<_>>().as_slice()) {
            (Ok(address), _) if address.caller == TIERING => format!("{TIERING}.{}", address.call),
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
            let caller = if group.caller == Role::Tiering { TIERING } else { classes_of_role(group.caller)[0] };
            let step = format!("{caller}.{call}");
            let kinds = group.kinds.iter().map(|weighted| in_kebab_case(&format!("{:?}", weighted.kind)));
            steps.extend(kinds.map(|kind| FaultStep { kind, step: step.clone() }));
        }
    }
    for OfHosts(kind, groups, _) in nemeses.of_hosts() {
        let hosts = groups.iter().flat_map(|group| &group.hosts);
        let hosts = hosts.flat_map(|host| classes_of_role(*host));
        steps.extend(hosts.map(|host| at(kind, host)));
    }
    let jobs = nemeses.maintenance.iter().flat_map(|group| &group.jobs);
    steps.extend(jobs.map(|one| at(one.job.fault_kind(), MAINTENANCE)));
    for (kind, groups) in nemeses.of_links() {
        for group in groups {
            let classes = |roles: &[Role]| roles.iter().flat_map(|role| classes_of_role(*role)).collect::<Vec<_>>();
            let (from, to) = (classes(&group.from), classes(&group.to));
            let links = from.iter().flat_map(|from| to.iter().map(move |to| link(from, to)));
            steps.extend(links.map(|step| at(kind, &step)));
        }
    }
    steps
}

fn link(from: &str, to: &str) -> String {
    format!("{from}-{to}")
}

/// The part or task that a host is, or `client`.
fn class_of(host: &str) -> &str {
    match [STORE, COORDINATOR, LAKE, METASTORE, COMPACTOR, MAINTENANCE].iter().find(|part| **part == host) {
        Some(part) => part,
        None if !host.starts_with(TIERING) => CLIENT,
        None if host.ends_with("-planner") => PLANNER,
        None if host.ends_with("-committer") => COMMITTER,
        None => TIERING_READER,
    }
}

/// Everything that the role can stand for.
fn classes_of_role(role: Role) -> &'static [&'static str] {
    match role {
        Role::Store => &[STORE],
        Role::Coordinator => &[COORDINATOR],
        Role::Lake => &[LAKE],
        Role::Metastore => &[METASTORE],
        Role::Tiering | Role::Worker => &[PLANNER, TIERING_READER, COMMITTER],
        Role::Compactor => &[COMPACTOR],
        Role::Maintenance => &[MAINTENANCE],
        Role::Planner => &[PLANNER],
        Role::TieringReader => &[TIERING_READER],
        Role::Committer => &[COMMITTER],
        Role::Writer | Role::Reader | Role::Story => &[CLIENT],
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
            ("refuse", "tiering(db.t).tiering.assign-split#1", "tiering.tiering.assign-split"),
            ("pause", "tiering-2-planner", "planner"),
            ("crash", "tiering-1-reader-3", "tiering-reader"),
            ("outage", "lake", "lake"),
            ("compaction", "db.k1", "maintenance"),
            ("crash", "maintenance", "maintenance"),
            ("partition", "r1 <-> store", "client-store"),
            ("partition", "tiering-1-committer -> lake", "committer-lake"),
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
