//! F7: one table that cannot be tiered does not delay the others beyond F2 plus one longest round.
//!
//! A table cannot be tiered once it was dropped on one side, or lost a column on the lake's side that the store has. How
//! long a round is at most is not declared by itself; the declared lake freshness contains it.

use models::contract::Statement;

use super::freshness::healthy_window_start;
use super::healing::takes_a_column;
use super::index::{Fate, Index, Operation};
use super::permitted;
use super::table::Table;
use super::timeline::Known;
use super::writes::{Route, Write};
use super::{Docket, prose};

/// Judges F7.
pub fn judge(index: &Index, docket: &mut Docket) {
    let mut stopping: Vec<&Operation> = index.operations.iter().filter(|operation| stops_tiering(operation)).collect();
    stopping.sort_by_key(|operation| operation.acked_n());
    if stopping.is_empty() {
        return;
    }
    let bounds = index.history.header.bounds;
    let window_ms = bounds.lake_freshness_ms.saturating_mul(2).saturating_add(bounds.recovery_ms);
    for table in index.tables.iter().filter(|table| table.schema.is_some()) {
        for (read, content) in table.judged_reads(false) {
            if table.timeline.mode.during(0, read.answered.n) != Known::Yes {
                continue;
            }
            let Some(bound_ms) = healthy_window_start(index, read, window_ms) else { continue };
            let Some(cause) = before(&stopping, table, bound_ms) else { continue };
            let binds = |write: &Write| {
                write.route != Route::Unknown && write.acked_n < read.invoked.n && write.acked_at_ms <= bound_ms
            };
            let judged = permitted::compare(table, read, content, binds, |missed| {
                let events = [missed.events(index, table, read), cause.events()].concat();
                docket.violated("F7", events, || {
                    format!(
                        "{} Since the {} another table could not be tiered. There was no fault for {window_ms} ms before the \
                         read, which is what F2 allows and one longest round. F7 demands that such a table delays no other \
                         beyond that.",
                        missed.sentence(index, table, read),
                        prose::statement(cause)
                    )
                });
            });
            docket.judged("F7", judged);
        }
    }
}

/// Whether the statement certainly made an end of a table's tiering.
fn stops_tiering(operation: &Operation) -> bool {
    let stops = matches!(operation.statement, Statement::DropTable { .. }) || takes_a_column(operation.statement);
    stops && operation.fate() == Fate::Acked
}

/// The last statement that stopped another table's tiering before this moment.
fn before<'o, 'h>(stopping: &[&'o Operation<'h>], table: &Table, at_ms: u64) -> Option<&'o Operation<'h>> {
    let of_another = |operation: &&&Operation| {
        operation.statement.table() != table.path && operation.answered().is_some_and(|at| at.at_ms <= at_ms)
    };
    stopping.iter().rfind(of_another).copied()
}
