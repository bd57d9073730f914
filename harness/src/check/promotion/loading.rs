//! P3 and P4: what a promotion registers. An append table registers the lake's snapshot with empty offsets; a key table
//! registers the snapshot that was loaded, only if it is the newest still, and shows all of it at once.

use models::contract::Statement;

use super::definition::is_enabled;
use crate::check::index::{End, Index, Operation};
use crate::check::sides;
use crate::check::table::{Registration, Table};
use crate::check::timeline::goes_on;
use crate::check::{Docket, prose};

/// Judges P3 and P4 of one table.
pub fn judge(index: &Index, table: &Table, docket: &mut Docket) {
    if table.schema.is_none() {
        return;
    }
    for operation in table.operations.iter().map(|position| &index.operations[*position]) {
        let (Statement::Promote { .. }, End::Ok(..)) = (operation.statement, operation.end) else { continue };
        // What is enabled already is registered already: what came later is tiering's.
        let store_before = sides::around(index, operation).before.and_then(|before| before.store);
        if goes_on(operation) || store_before.is_some_and(|store| is_enabled(&store.schema)) {
            continue;
        }
        // The first that was seen of this promotion; what tiering registered later is not its.
        let registered = table.registrations.iter().find(|registration| registration.at.n > operation.invoked.n);
        if table.has_key() {
            shown_at_once(index, table, operation, docket);
            if let Some(registered) = registered {
                of_the_newest_snapshot(index, operation, registered, docket);
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

/// P4: what is registered is not older than the lake was when the promotion began. Between its last look at the lake and
/// its answer somebody may still commit, so no more than that is certain.
fn of_the_newest_snapshot(index: &Index, operation: &Operation, registered: &Registration, docket: &mut Docket) {
    // What an earlier call in doubt sent to the store may come late, and be what is seen registered first.
    let Some((before, _)) = sides::undisturbed(index, operation) else { return };
    let Some(newest) = before.lake.and_then(|lake| lake.snapshot_id) else { return };
    docket.judged("P4", 1);
    if registered.snapshot_id < newest {
        docket.violated("P4", [operation.events(), vec![before.n, registered.at.n]].concat(), || {
            format!(
                "When the {} began, the lake's newest snapshot was {newest} (event {}). It registered snapshot {} (event \
                 {}). P4 demands that a promotion loads one snapshot, checks that it is the newest still, and fails if it \
                 is not.",
                prose::statement(operation),
                before.n,
                registered.snapshot_id,
                registered.at.n
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
