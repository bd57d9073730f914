//! The crash points: every call of a protocol, each with everything that may cut it short there.
//!
//! The lists name calls by meaning. Which calls there are is the engine's to say: a test runs each protocol undisturbed
//! and holds the lists equal to what it did.

use crate::plan::calls::{COORDINATOR, LAKE, STORE};
use crate::plan::{Bystander, CallAddress, CallFault};
use crate::scenario::CrashedProtocol;

/// How long who dies is down, in milliseconds.
const DOWN_MS: u64 = 60;

/// The second round of the table, which has a first one to go on from: the calls of its planner, of the reader that its
/// one split has, and of its committer. What they only read may be their last call as well.
const TIERING_ROUND: &[&str] = &[
    "tiering.coordinator.request-table#11",
    "tiering(db.t).store.registered-snapshots#2",
    "tiering(db.t).store.bucket-offsets#2",
    "tiering(db.t).tiering.begin-round#2",
    "tiering(db.t).tiering.assign-split#2",
    "tiering(db.t).store.fetch-log#2",
    "tiering(db.t).lake.put-data#2",
    "tiering(db.t).tiering.split-finished#2",
    "tiering(db.t).store.table#2",
    "tiering(db.t).coordinator.heartbeat#2",
    "tiering(db.t).lake.put-manifest-list#3",
    "tiering(db.t).lake.put-manifest#2",
    "tiering(db.t).lake.put-manifest-list#4",
    "tiering(db.t).lake.put-snapshot#2",
    "tiering(db.t).lake.put-hint#2",
    "tiering(db.t).store.register-lake-snapshot#2",
    "tiering(db.t).tiering.round-finished#2",
    "tiering(db.t).coordinator.end-round#2",
];

/// The second commit of the table.
const COMMIT: &[&str] = &[
    "n1(db.plain).lake.get-snapshot#1",
    "n1(db.plain).lake.put-data#2",
    "n1(db.plain).lake.get-snapshot#3",
    "n1(db.plain).lake.put-manifest-list#3",
    "n1(db.plain).lake.put-manifest#2",
    "n1(db.plain).lake.put-manifest-list#4",
    "n1(db.plain).lake.put-snapshot#2",
    "n1(db.plain).lake.put-hint#2",
];

/// The promotion: the calls of the session that asks for it, and those that the coordinator makes for it.
const PROMOTION: &[&str] = &[
    "s1(db.promo).coordinator.create-table-on-lake#1",
    "coordinator(db.promo).store.create-table#1",
    "s1(db.promo).store.begin-load#1",
    "s1(db.promo).store.stage-load#1",
    "s1(db.promo).store.publish-load#1",
    "s1(db.promo).store.register-source-snapshot#1",
    "s1(db.promo).coordinator.alter-options#1",
    "coordinator(db.promo).lake.put-schema#1",
    "coordinator(db.promo).store.alter-options#1",
];

/// The calls of a protocol that may be its last, in the order in which they are made.
pub(super) fn places(of: CrashedProtocol) -> Vec<CallAddress> {
    let places = match of {
        CrashedProtocol::TieringRound => TIERING_ROUND,
        CrashedProtocol::Commit => COMMIT,
        CrashedProtocol::Promotion => PROMOTION,
    };
    places.iter().map(|place| place.parse().unwrap_or_else(|found| panic!("{found}"))).collect()
}

/// What may cut a protocol short at this call: before the effect, after it, with the answer lost; by the caller, by the
/// called, by a third; a commit past the store has none.
pub(super) fn cuts(of: CrashedProtocol, place: &CallAddress) -> Vec<CallFault> {
    let restart_after_ms = DOWN_MS;
    let called = place.call.split_once('.').map_or("", |(part, _)| part);
    let mut cuts = vec![
        CallFault::Refuse,
        CallFault::ReplyLost,
        CallFault::ErrorAfter,
        CallFault::CallerCrashesBefore { restart_after_ms },
        CallFault::CallerCrashesAfter { restart_after_ms },
    ];
    if called != LAKE {
        cuts.push(CallFault::CalleeCrashesBefore { restart_after_ms });
        cuts.push(CallFault::CalleeCrashesAfter { restart_after_ms });
    }
    for host in bystanders(of, place) {
        cuts.push(CallFault::OtherCrashesBefore { host, restart_after_ms });
        cuts.push(CallFault::OtherCrashesAfter { host, restart_after_ms });
    }
    cuts
}

/// Who of those that the protocol needs neither makes this call nor answers it.
fn bystanders(of: CrashedProtocol, place: &CallAddress) -> Vec<Bystander> {
    let called = place.call.split_once('.').map_or("", |(part, _)| part);
    let parts = [(Bystander::Store, STORE), (Bystander::Coordinator, COORDINATOR)];
    let parts = parts.into_iter().filter(|(_, name)| *name != called && *name != place.caller);
    match of {
        CrashedProtocol::Commit => Vec::new(),
        CrashedProtocol::Promotion => parts.map(|(part, _)| part).collect(),
        CrashedProtocol::TieringRound => {
            let tasks = [Bystander::TieringPlanner, Bystander::TieringReader, Bystander::TieringCommitter];
            let (caller, called) = tasks_of(&place.call);
            let tasks = tasks.into_iter().filter(|task| *task != caller && Some(*task) != called);
            parts.map(|(part, _)| part).chain(tasks).collect()
        }
    }
}

/// The task of a worker that makes this call of a round, and the one that answers it, if one does.
fn tasks_of(call: &str) -> (Bystander, Option<Bystander>) {
    use Bystander::{TieringCommitter, TieringPlanner, TieringReader};
    match call {
        "tiering.begin-round" => (TieringPlanner, Some(TieringCommitter)),
        "tiering.assign-split" => (TieringPlanner, Some(TieringReader)),
        "tiering.split-finished" => (TieringReader, Some(TieringCommitter)),
        "tiering.round-finished" => (TieringCommitter, Some(TieringPlanner)),
        "store.fetch-log" | "lake.put-data" => (TieringReader, None),
        "store.registered-snapshots" | "store.bucket-offsets" => (TieringPlanner, None),
        _ if call.starts_with("coordinator.") => (TieringPlanner, None),
        _ => (TieringCommitter, None),
    }
}

/// The cuts of pairs: before the effect, after it, the answer lost.
pub(super) const PAIRED: [CallFault; 3] = [
    CallFault::CallerCrashesBefore { restart_after_ms: DOWN_MS },
    CallFault::CallerCrashesAfter { restart_after_ms: DOWN_MS },
    CallFault::ReplyLost,
];
