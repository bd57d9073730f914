//! The jobs that maintenance does in a run: which, on which table, when, and within which limits of time.
//!
//! They are drawn beside the faults and do not count among them: an operator looks after tables whatever goes wrong.

use models::maintenance::Job;

use super::{Run, within};
use crate::draw::Place;
use crate::plan::{Action, Fault, Step, least_kept_ms, least_orphan_age_ms, may_expire_snapshots};
use crate::scenario::{JobKind, MaintenanceNemesis};

/// The most snapshots that an expiry keeps at least.
const MOST_KEPT: u64 = 3;
/// The most tiering commits that one rollback undoes.
const MOST_UNDONE: u64 = 5;
/// Limits of time are up to so much longer than they must be.
const SPARE_MS: u64 = 400;

/// The groups of jobs that are on in this run.
fn groups_on<'a>(run: &'a Run<'_>) -> impl Iterator<Item = &'a MaintenanceNemesis> {
    let is_on = |group: &&MaintenanceNemesis| run.draws.at("nemesis", &group.name).chance("on", 0, group.on_permille.0);
    run.nemeses.maintenance.iter().filter(is_on)
}

/// Whether tables are looked after in this run.
pub(super) fn is_on(run: &Run<'_>) -> bool {
    !run.tables.is_empty() && groups_on(run).next().is_some()
}

/// The jobs of the run, beside these faults.
pub(super) fn jobs(run: &Run<'_>, faults: &[Step]) -> Vec<Step> {
    let faults: Vec<&Fault> = faults
        .iter()
        .filter_map(|step| match &step.action {
            Action::Fault(fault) => Some(fault),
            Action::Run(_) | Action::Close(_) => None,
        })
        .collect();
    let heat_percent = run.draws.at("plan", "maintenance").between_inclusive("heat", 0, 50, 160);
    let mut steps = Vec::new();
    for group in groups_on(run) {
        let count = within(run.draws.at("nemesis", &group.name), "count", 0, group.count) * heat_percent / 100;
        for number in 1..=count.max(1) {
            let id = format!("{}-{number}", group.name);
            let fault = job(run, group, &id, run.draws.at("nemesis", &id), &faults);
            steps.extend(fault.map(|fault| Step { id, action: Action::Fault(fault) }));
        }
    }
    steps
}

/// One job of a group, the step `id`; `None` in a run without tables.
fn job(run: &Run<'_>, group: &MaintenanceNemesis, id: &str, place: Place, faults: &[&Fault]) -> Option<Fault> {
    let table = place.pick("table", 0, &run.tables)?.path.clone();
    let may_expire = may_expire_snapshots(&run.system, faults.iter().copied());
    let allowed = |job: JobKind| ![JobKind::ExpireSnapshots, JobKind::RollBack].contains(&job) || may_expire;
    let kinds: Vec<_> = group.jobs.iter().filter(|one| allowed(one.job)).map(|one| (one.weight, one.job)).collect();
    let spare_ms = place.between_inclusive("spare", 0, 0, SPARE_MS);
    let job = match place.pick_weighted("job", 0, &kinds).copied().unwrap_or(JobKind::Compact) {
        JobKind::Compact => Job::Compact { fully: false },
        JobKind::CompactFully => Job::Compact { fully: true },
        JobKind::ExpireSnapshots => Job::ExpireSnapshots {
            at_least: place.between_inclusive("at-least", 0, 1, MOST_KEPT),
            keep_ms: least_kept_ms(&run.system) + spare_ms,
        },
        JobKind::CreateTag => Job::CreateTag { name: id.to_owned() },
        JobKind::DeleteTag => {
            let number = place.between_inclusive("tag", 0, 1, group.count.most.max(1));
            Job::DeleteTag { name: format!("{}-{number}", group.name) }
        }
        JobKind::RollBack => Job::RollBack { commits: place.between_inclusive("commits", 0, 1, MOST_UNDONE) },
        JobKind::RemoveOrphans => {
            let least_ms = least_orphan_age_ms(&run.system, &table, faults.iter().copied());
            Job::RemoveOrphans { older_than_ms: least_ms + spare_ms }
        }
    };
    // Clean-up comes to what it does only after a while.
    let waits_ms = if let Job::RemoveOrphans { older_than_ms } = job { older_than_ms } else { 0 };
    let (first_ms, last_ms) = (run.chaos_ms / 20, run.chaos_ms.saturating_sub(waits_ms));
    let at_ms = place.between_inclusive("at", 0, first_ms, last_ms.max(run.chaos_ms / 5));
    Some(Fault::Maintain { table, job, at_ms })
}
