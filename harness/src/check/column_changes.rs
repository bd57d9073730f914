//! C7: on the lake side column changes are allowed, and touch the lake's table only.

use models::contract::{FailureCode, Side, Statement};

use super::index::{End, Fate, Index, NEVER, Operation};
use super::sides;
use super::timeline::Known;
use super::weather::Weather;
use super::{Docket, prose};

/// Judges C7.
pub fn judge(index: &Index, docket: &mut Docket) {
    for operation in &index.operations {
        let Statement::AlterColumns { table, side: Side::Lake, .. } = operation.statement else { continue };
        let Some(table) = index.table(table) else { continue };
        let answered_n = operation.answered().map_or(NEVER, |at| at.n);
        let certain = |fact: &super::timeline::Fact| fact.during(operation.invoked.n, answered_n) == Known::Yes;
        if !certain(&table.timeline.exists) || !certain(&table.timeline.mode) {
            continue;
        }
        is_allowed(index, operation, docket);
        leaves_the_store_alone(index, operation, docket);
    }
}

fn is_allowed(index: &Index, operation: &Operation, docket: &mut Docket) {
    let refused = match operation.end {
        End::Ok(..) => {
            docket.judged("C7", 1);
            return;
        }
        End::Failed { code: code @ (FailureCode::Rejected | FailureCode::Misconfigured), message, .. } => {
            format!("failed as {code:?}: {message}")
        }
        End::Failed { code: FailureCode::Unavailable, message, .. }
            if index.forecast.during(operation) == Weather::StoreDown =>
        {
            format!("failed while nothing but the store was down: {message}")
        }
        // What makes no sense for these columns is the plan's fault; what a part that was down answered proves nothing.
        End::Failed { .. } | End::Open => return,
    };
    docket.judged("C7", 1);
    docket.violated("C7", operation.events(), || {
        format!(
            "The table was in the mode, and the {} {refused}. C7 demands that column changes on the lake side are allowed.",
            prose::statement(operation)
        )
    });
}

fn leaves_the_store_alone(index: &Index, operation: &Operation, docket: &mut Docket) {
    if operation.fate() != Fate::Acked {
        return;
    }
    let Some((before, after)) = sides::undisturbed(index, operation) else { return };
    let Some(known) = before.store else { return };
    docket.judged("C7", 1);
    let change = match after.store {
        None => "the store's table is gone",
        Some(now) if now.table_id != known.table_id => "the store has another table",
        Some(now) if now.schema.columns != known.schema.columns => "the store's columns changed",
        Some(_) => return,
    };
    docket.violated("C7", [operation.events(), vec![before.n, after.n]].concat(), || {
        format!(
            "The {} changed columns on the lake side. Between events {} and {} {change}. C7 demands that such a change \
             touches only the lake's table.",
            prose::statement(operation),
            before.n,
            after.n
        )
    });
}
