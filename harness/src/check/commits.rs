//! L11: a lake commit is in the chain exactly once if acked, and its snapshot adds what it was to add.

use std::collections::BTreeMap;

use models::contract::{Output, Statement};

use super::index::{Index, NEVER, Operation};
use super::table::{LakeSnapshot, Registration, Table};
use super::{Docket, prose};

/// Commits of Paimon's batch writers all bear this identifier, so it tells none of them apart.
const BATCH: i64 = i64::MAX;

/// Judges L11.
pub fn judge(index: &Index, docket: &mut Docket) {
    for table in index.tables.iter().filter(|table| table.schema.is_some() && table.has_one_chain()) {
        in_chain_once(table, docket);
        not_again_as_another_kind(index, table, docket);
        acked_in_chain(index, table, docket);
        registered_in_chain(table, docket);
    }
}

/// No two snapshots are the same commit by user, identifier and kind.
fn in_chain_once(table: &Table, docket: &mut Docket) {
    let mut seen: BTreeMap<(&str, i64, &str), &LakeSnapshot> = BTreeMap::new();
    for snapshot in table.snapshots.iter().filter(|snapshot| snapshot.seen.identifier != BATCH) {
        docket.judged("L11", 1);
        let commit = (snapshot.seen.user.as_str(), snapshot.seen.identifier, snapshot.seen.kind.as_str());
        if let Some(before) = seen.insert(commit, snapshot) {
            docket.violated("L11", vec![before.n, snapshot.n], || {
                format!(
                    "Snapshots {} and {} of {} are both the commit {} of user {}, kind {} (events {} and {}). L11 demands \
                     that a commit is in the chain once.",
                    before.seen.snapshot_id,
                    snapshot.seen.snapshot_id,
                    table.path,
                    commit.1,
                    commit.0,
                    commit.2,
                    before.n,
                    snapshot.n
                )
            });
        }
    }
}

/// No two snapshots of one user and identifier add the same row: each row is written once, so the second is the first
/// commit again under another kind. A compaction rewrites rows, and adds none.
fn not_again_as_another_kind(index: &Index, table: &Table, docket: &mut Docket) {
    let mut added_by: BTreeMap<(&str, i64, u32), &LakeSnapshot> = BTreeMap::new();
    for snapshot in table.snapshots.iter().filter(|snapshot| snapshot.seen.kind != "COMPACT") {
        let commit = (snapshot.seen.user.as_str(), snapshot.seen.identifier);
        let mut told = false;
        for write in snapshot.added.iter().filter(|added| added.kind.adds()).filter_map(|added| added.write) {
            let before = *added_by.entry((commit.0, commit.1, write)).or_insert(snapshot);
            // The same kind again is the same commit, unless its identifier tells nothing.
            let is_another = before.n != snapshot.n && (before.seen.kind != snapshot.seen.kind || commit.1 == BATCH);
            if !is_another || std::mem::replace(&mut told, true) {
                continue;
            }
            let mut events = prose::events(index, table, &[write], &[]);
            events.extend([before.n, snapshot.n]);
            docket.violated("L11", events, || {
                format!(
                    "Snapshots {} ({}) and {} ({}) of {} are both by user {} with the commit identifier {}, and both add \
                     {}. L11 demands that a commit is in the chain once.",
                    before.seen.snapshot_id,
                    before.seen.kind,
                    snapshot.seen.snapshot_id,
                    snapshot.seen.kind,
                    table.path,
                    commit.0,
                    commit.1,
                    prose::write(index, table, write)
                )
            });
        }
    }
}

/// What was acked with a snapshot is that snapshot, and nothing else is.
fn acked_in_chain(index: &Index, table: &Table, docket: &mut Docket) {
    let (Some(first), Some(last)) = (table.snapshots.first(), table.snapshots.last()) else { return };
    let (first_id, last_id) = (first.seen.snapshot_id, last.seen.snapshot_id);
    let mut acked: BTreeMap<u64, &str> = BTreeMap::new();
    for position in &table.operations {
        let operation = &index.operations[*position];
        let (
            Statement::InsertOverwrite { rows, .. } | Statement::NativeInsert { rows, .. },
            Some(Output::Acked { snapshot_id: Some(id), .. }),
        ) = (operation.statement, operation.output())
        else {
            continue;
        };
        docket.judged("L11", 1);
        let other = acked.insert(*id, operation.id);
        let found = table.snapshot(*id);
        if other.is_some() || (*id >= first_id && found.is_none()) {
            docket.violated("L11", operation.events(), || {
                let what = match other {
                    Some(other) => format!("operation {other} was acked with the same snapshot"),
                    None => format!("the chain from {first_id} to {last_id} has no such snapshot"),
                };
                format!(
                    "The {} was acked with snapshot {id}, and {what}. L11 demands that each acked commit is in the chain \
                     exactly once.",
                    prose::statement(operation)
                )
            });
        } else if let Some(snapshot) = found.filter(|_| !rows.rows.is_empty()) {
            adds_its_rows(table, *position, operation, snapshot, docket);
        }
    }
}

/// The snapshot that an ack names adds rows of that statement, which has some: if it adds none of them, it is somebody else's.
fn adds_its_rows(table: &Table, position: usize, operation: &Operation, snapshot: &LakeSnapshot, docket: &mut Docket) {
    let of_statement = |write: &u32| table.writes.get(*write).operation == position;
    let is_told = snapshot.content.is_some() && snapshot.added_strays.is_empty() && table.writes.id_position.is_some();
    if !is_told {
        return;
    }
    docket.judged("L11", 1);
    let mut added = snapshot.added.iter().filter_map(|added| added.write);
    if added.any(|write| of_statement(&write)) {
        return;
    }
    docket.violated("L11", operation.events().into_iter().chain([snapshot.n]).collect(), || {
        format!(
            "The {} was acked with snapshot {}, and that snapshot (event {}, user {}, kind {}) adds none of its rows: it \
             is another commit. L11 demands that an acked commit is in the chain.",
            prose::statement(operation),
            snapshot.seen.snapshot_id,
            snapshot.n,
            snapshot.seen.user,
            snapshot.seen.kind
        )
    });
}

/// What was registered is in the chain, unless the chain was rolled back since.
fn registered_in_chain(table: &Table, docket: &mut Docket) {
    let (Some(first), Some(last)) = (table.snapshots.first(), table.snapshots.last()) else { return };
    let (first_id, last_id) = (first.seen.snapshot_id, last.seen.snapshot_id);
    let stands = |registration: &&Registration| {
        registration.snapshot_id >= first_id && !table.is_rolled_back_within(registration.at.n, NEVER)
    };
    for registration in table.registrations.iter().filter(stands) {
        docket.judged("L11", 1);
        if table.snapshot(registration.snapshot_id).is_none() {
            docket.violated("L11", vec![registration.at.n], || {
                format!(
                    "Event {} shows snapshot {} of {} registered, and the chain from {first_id} to {last_id} has no such \
                     snapshot. L11 demands that an acked commit is in the chain.",
                    registration.at.n, registration.snapshot_id, table.path
                )
            });
        }
    }
}
