//! P3 and P4: what a promotion registers. An append table registers the lake's snapshot with empty offsets; a key table
//! registers the snapshot that was loaded, only if it is the newest still, and shows all of it at once.

use models::contract::Statement;

use crate::check::index::{End, Index, Operation};
use crate::check::sides;
use crate::check::table::{LakeSnapshot, Registration, Table};
use crate::check::timeline::goes_on;
use crate::check::{Docket, prose};

/// Judges P3 and P4 of one table.
pub fn judge(index: &Index, table: &Table, docket: &mut Docket) {
    if table.schema.is_none() {
        return;
    }
    for operation in table.operations.iter().map(|position| &index.operations[*position]) {
        let (Statement::Promote { .. }, End::Ok(answered, _)) = (operation.statement, operation.end) else { continue };
        if goes_on(operation) {
            continue;
        }
        // The first that was seen of this promotion; what tiering registered later is not its.
        let registered = table.registrations.iter().find(|registration| registration.at.n > operation.invoked.n);
        if table.has_key() {
            shown_at_once(index, table, operation, docket);
            if let Some(registered) = registered {
                of_the_newest_snapshot(table, operation, answered.at_ms, registered, docket);
            }
        } else if let Some(registered) = registered {
            with_empty_offsets(index, operation, registered, docket);
        }
    }
}

/// P3.
fn with_empty_offsets(index: &Index, operation: &Operation, registered: &Registration, docket: &mut Docket) {
    let source = sides::around(index, operation).before.and_then(|before| before.lake?.snapshot_id);
    if source != Some(registered.snapshot_id) {
        return;
    }
    docket.judged("P3", 1);
    if registered.offsets.iter().any(|offset| offset.offset > 0) {
        docket.violated("P3", [operation.events(), vec![registered.at.n]].concat(), || {
            format!(
                "After the {} lake snapshot {} is registered with offsets above 0 (event {}). P3 demands that a promoted \
                 append table registers its snapshot with empty offsets and loads nothing.",
                prose::statement(operation),
                registered.snapshot_id,
                registered.at.n
            )
        });
    }
}

/// P4: no commit came between the snapshot that was loaded and its registration.
fn of_the_newest_snapshot(
    table: &Table,
    operation: &Operation,
    answered_ms: u64,
    registered: &Registration,
    docket: &mut Docket,
) {
    docket.judged("P4", 1);
    let is_newer = |snapshot: &&LakeSnapshot| {
        snapshot.seen.snapshot_id > registered.snapshot_id
            && snapshot.seen.offsets.is_none()
            // Of the same millisecond either may have been first.
            && snapshot.seen.committed_at_ms < answered_ms.min(registered.at.at_ms)
    };
    if let Some(newer) = table.snapshots.iter().find(is_newer) {
        docket.violated("P4", [operation.events(), vec![registered.at.n, newer.n]].concat(), || {
            format!(
                "The {} registered lake snapshot {} (event {}). Snapshot {} (event {}) had been committed at {} ms, before it \
                 was answered. P4 demands that a promotion loads one snapshot, checks that it is the newest still, and \
                 fails if it is not.",
                prose::statement(operation),
                registered.snapshot_id,
                registered.at.n,
                newer.seen.snapshot_id,
                newer.n,
                newer.seen.committed_at_ms
            )
        });
    }
}

/// P4: while the load goes on `t$rt` shows all of the history or nothing of it.
fn shown_at_once(index: &Index, table: &Table, operation: &Operation, docket: &mut Docket) {
    let answered_n = operation.acked_n();
    let history = table.writes.of_key.iter().filter_map(|writes| {
        let last = writes.iter().rfind(|write| table.writes.get(**write).invoked_n < operation.invoked.n)?;
        let write = table.writes.get(*last);
        (write.row.is_some() && write.acked_n < operation.invoked.n).then_some((*last, write))
    });
    let history: Vec<_> = history.collect();
    if history.is_empty() {
        return;
    }
    for read in table.reads.iter().filter(|read| read.real_time && !read.historic && !read.is_filtered()) {
        let during = read.invoked.n > operation.invoked.n && read.answered.n < answered_n;
        let (Some(content), true) = (&read.content, during && read.snapshot.is_some()) else { continue };
        let missing = history
            .iter()
            .find(|(number, write)| write.superseded_from_n > read.answered.n && !content.shows[*number as usize]);
        docket.judged("P4", 1);
        if let (Some((missing, _)), false) = (missing, content.writes.is_empty()) {
            docket.violated("P4", [operation.events(), vec![read.invoked.n, read.answered.n]].concat(), || {
                format!(
                    "While the {} ran, the {} showed a part of the history, without {}. P4 demands that all buckets are \
                     published at once.",
                    prose::statement(operation),
                    prose::read(index, read),
                    prose::write(index, table, *missing)
                )
            });
        }
    }
}
