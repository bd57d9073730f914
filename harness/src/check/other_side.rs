//! C23: UPDATE, DELETE and writes with a partition clause reach the store or fail naming it; they never run on the lake.
//!
//! That such a statement may also fail, and how, is judged with the contract's table; here its traces on the lake are.

use models::contract::{Output, Statement};

use super::index::{Fate, Index, NEVER, Operation};
use super::table::{LakeSnapshot, Table};
use super::timeline::Known;
use super::{Docket, prose};

/// Judges the half of C23 that forbids the other side.
pub fn judge(index: &Index, docket: &mut Docket) {
    for table in &index.tables {
        // Few snapshots are not the tiering's, so each statement looks through them.
        let foreign = |snapshot: &&LakeSnapshot| snapshot.seen.offsets.is_none() && snapshot.seen.kind != "COMPACT";
        let foreign: Vec<&LakeSnapshot> = table.snapshots.iter().filter(foreign).collect();
        for operation in table.operations.iter().map(|position| &index.operations[*position]) {
            let answered_n = operation.answered().map_or(NEVER, |at| at.n);
            if is_row_level(operation.statement)
                && operation.fate() != Fate::Failed
                && table.timeline.mode.during(operation.invoked.n, answered_n) == Known::Yes
            {
                stays_off_the_lake(index, table, &foreign, operation, docket);
            }
        }
    }
}

/// Whether C23 speaks of the statement.
pub fn is_row_level(statement: &Statement) -> bool {
    match statement {
        Statement::Update { table, .. } | Statement::Delete { table, .. } => !table.real_time,
        Statement::Insert { table, branch: None, partition: Some(_), .. } => !table.real_time,
        _ => false,
    }
}

fn stays_off_the_lake(
    index: &Index,
    table: &Table,
    foreign: &[&LakeSnapshot],
    operation: &Operation,
    docket: &mut Docket,
) {
    docket.judged("C23", 1);
    let named = match operation.output() {
        Some(Output::Acked { snapshot_id, .. }) => *snapshot_id,
        _ => None,
    };
    let (trace, events) = match (named, made_snapshot(index, table, foreign, operation)) {
        (Some(id), _) => (format!("its ack names lake snapshot {id}"), Vec::new()),
        (None, Some(snapshot)) => (
            format!(
                "lake snapshot {} (event {}) of user {}, which is not a tiering snapshot and no other statement's, was \
                 committed while it ran",
                snapshot.seen.snapshot_id, snapshot.n, snapshot.seen.user
            ),
            vec![snapshot.n],
        ),
        (None, None) => return,
    };
    docket.violated("C23", [operation.events(), events].concat(), || {
        format!(
            "The table was in the mode for as long as the {} lasted, and {trace}. C23 demands that such a statement reaches \
             the store or fails, and never runs on the other side.",
            prose::statement(operation)
        )
    });
}

/// A snapshot without offsets that can only be this operation's.
fn made_snapshot<'t, 'h>(
    index: &Index<'h>,
    table: &Table<'h>,
    foreign: &[&'t LakeSnapshot<'h>],
    operation: &Operation,
) -> Option<&'t LakeSnapshot<'h>> {
    let answered = operation.answered()?;
    let overlaps = |other: &Operation| {
        other.id != operation.id
            && !other.statement.is_read()
            && other.fate() != Fate::Failed
            && other.invoked.n < answered.n
            && other.answered().is_none_or(|at| at.at_ms >= operation.invoked.at_ms)
    };
    let during = operation.invoked.at_ms..=answered.at_ms;
    let found = foreign.iter().find(|snapshot| during.contains(&snapshot.seen.committed_at_ms))?;
    let alone = !table.operations.iter().any(|position| overlaps(&index.operations[*position]));
    alone.then_some(*found)
}
