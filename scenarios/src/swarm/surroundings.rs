//! What is wrong from the start of a run, and is no step of its plan: whose clocks are ahead, and what a rename does in
//! the storage under the lake.

use std::collections::BTreeMap;

use models::config::SystemConfig;
use models::paimon::object_stores::RenameSemantics;

use super::session::Cast;
use crate::draw::{Draws, Place};
use crate::plan::calls::{COORDINATOR, STORE, tiering_worker};
use crate::scenario::Workload;

/// The share of hosts whose clock is ahead, in thousandths, where clocks are wrong at all.
const AHEAD_PERMILLE: u64 = 600;

/// What the storage's rename does; `None` for one that creates files in one step.
pub(super) fn rename(workload: &Workload, place: Place) -> Option<RenameSemantics> {
    if !place.chance("renames", 0, workload.renames_permille.0) {
        return None;
    }
    let kinds: Vec<_> = workload.renames.iter().map(|drawn| (drawn.weight, drawn.rename)).collect();
    place.pick_weighted("rename", 0, &kinds).copied()
}

/// By how much clocks are ahead, by host: within what the system's bounds allow for.
pub(super) fn skew(system: &SystemConfig, cast: &Cast, draws: Draws) -> BTreeMap<String, u64> {
    if system.max_skew_ms == 0 {
        return BTreeMap::new();
    }
    let workers = (1..=system.tiering_workers).map(tiering_worker);
    let sessions = cast.writers.iter().chain(&cast.readers).map(|session| session.name.clone());
    let hosts = [STORE, COORDINATOR].map(str::to_owned).into_iter().chain(workers).chain(sessions);
    let drawn = hosts.filter_map(|host| {
        let place = draws.at("clock", &host);
        let ahead_ms = place.between_inclusive("ahead", 0, 1, system.max_skew_ms);
        place.chance("is-ahead", 0, AHEAD_PERMILLE).then_some((host, ahead_ms))
    });
    drawn.collect()
}
