//! C8, by content: a table that was never in the mode behaves as Paimon does without any store. What is acked is in the
//! lake at once, and nothing of it arrives by tiering.
//!
//! That its statements succeed and never touch the store is judged with the contract's table.

use super::index::{Index, NEVER};
use super::permitted;
use super::table::Table;
use super::writes::{Route, Write};
use super::{Docket, prose};

/// Judges the contents of plain tables.
pub fn judge(index: &Index, docket: &mut Docket) {
    let never_marked = |table: &&Table| table.timeline.mode.was_never_so() && table.writes.id_position.is_some();
    for table in index.tables.iter().filter(never_marked) {
        reads_show_what_was_acked(index, table, docket);
        nothing_is_tiered(table, docket);
    }
}

fn reads_show_what_was_acked(index: &Index, table: &Table, docket: &mut Docket) {
    if table.disturbance.columns_from_n != NEVER {
        return;
    }
    let stale =
        |from_ms: u64, to_ms: u64| index.stale_windows.iter().any(|(start, end)| *start <= to_ms && *end >= from_ms);
    for (read, content) in table.judged_reads(false) {
        if stale(read.invoked.at_ms, read.answered.at_ms) {
            continue;
        }
        let binds = |write: &Write| write.route == Route::Lake && write.acked_n < read.invoked.n;
        let judged = permitted::compare(table, read, content, binds, |missed| {
            docket.violated("C8", prose::events(index, table, &[missed.write], &[read]), || {
                format!(
                    "{} was never in the mode. There was {}, and the {} shows neither it nor what supersedes it. C8 demands \
                     that such a table behaves as it did without any store: what is acked is in the lake.",
                    table.path,
                    prose::write(index, table, missed.write),
                    prose::read(index, read)
                )
            });
        });
        docket.judged("C8", judged);
    }
}

fn nothing_is_tiered(table: &Table, docket: &mut Docket) {
    for snapshot in &table.snapshots {
        docket.judged("C8", 1);
        if snapshot.seen.offsets.is_some() {
            docket.violated("C8", vec![snapshot.n], || {
                format!(
                    "{} was never in the mode, and lake snapshot {} (event {}) carries tiered offsets. C8 demands that such \
                     a table behaves as it did without any store.",
                    table.path, snapshot.seen.snapshot_id, snapshot.n
                )
            });
        }
    }
}
