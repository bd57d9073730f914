//! Rollbacks of the lake: when they were, and the part of L8 that is about what comes after one.
//!
//! A rollback undoes snapshots, and their ids are used again. So an id alone says nothing of a snapshot from before; who
//! compares ids asks here whether a rollback lies between.

use models::contract::TablePath;

use super::Docket;
use super::hand_off::fallen;
use super::index::{Index, NEVER, Point};
use super::table::Table;
use crate::history::{Event, FaultPhase, History};

/// A rollback of the lake, which undoes snapshots; their ids are used again.
#[derive(Clone, Copy, Debug)]
pub struct Rollback {
    /// Not a moment earlier did anything go.
    pub from: Point,
    /// All was over; never, if nobody told.
    pub to: Point,
}

/// The rollbacks of a table, as whoever made them told it.
pub fn rollbacks(history: &History, path: &TablePath) -> Vec<Rollback> {
    let name = path.to_string();
    let mut found: Vec<Rollback> = Vec::new();
    for entry in &history.events {
        let Event::Fault { kind, target, phase } = &entry.event else { continue };
        if kind != "rollback" || *target != name {
            continue;
        }
        let at = Point { n: entry.n, at_ms: entry.at_ms };
        match (phase, found.last_mut()) {
            (FaultPhase::Start, _) => found.push(Rollback { from: at, to: Point { n: NEVER, at_ms: NEVER } }),
            (FaultPhase::End, Some(rollback)) => rollback.to = at,
            (FaultPhase::End, None) | (FaultPhase::Instant, _) => found.push(Rollback { from: at, to: at }),
        }
    }
    found
}

/// L8, of a table that was rolled back: once tiering has committed again, what is registered is a snapshot of the chain,
/// with the offsets that it carries. Otherwise an id that was used again passes for the snapshot that had it before.
/// Judged at the end of a run that had its time to recover.
pub fn judge(index: &Index, table: &Table, docket: &mut Docket) {
    let (Some(undone), Some(registration)) = (table.rollbacks.last(), table.registrations.last()) else { return };
    let mut of_tiering = table.snapshots.iter().rev().filter(|snapshot| snapshot.seen.offsets.is_some());
    let again = of_tiering.find(|snapshot| snapshot.seen.committed_at_ms > undone.to.at_ms);
    let (Some(again), true) = (again, table.has_one_chain() && index.phases.healed.is_some()) else { return };
    docket.judged("L8", 1);
    let named = table.snapshot(registration.snapshot_id);
    let carried = named.map(|snapshot| snapshot.seen.offsets.as_deref().unwrap_or_default());
    let agrees = carried.is_some_and(|carried| {
        fallen(Some(carried), Some(registration.offsets))
            .chain(fallen(Some(registration.offsets), Some(carried)))
            .next()
            .is_none()
    });
    if !agrees {
        let mut events = vec![undone.from.n, registration.at.n, again.n];
        events.sort_unstable();
        docket.violated("L8", events, || {
            let what = match named {
                None => "the chain has no snapshot of that id any more".to_owned(),
                Some(_) => "the snapshot that has that id now carries other offsets".to_owned(),
            };
            format!(
                "{} was rolled back (event {}), and tiering has committed snapshot {} since (event {}). To the end snapshot \
                 {} stays registered (event {}), though {what}: the commit is hidden. L8 lets what is registered go back \
                 with a rollback, and then forward again.",
                table.path, undone.from.n, again.seen.snapshot_id, again.n, registration.snapshot_id, registration.at.n
            )
        });
    }
}
