//! F6: a base read, its metadata and its capabilities work with the store down, as fast as ever.
//!
//! Judged are reads of the base name, and looks at the lake's definition, that were sent while the store was down or
//! paused, if nothing else was wrong until the answer came. How long one may take is measured, not declared: the same
//! table was read with nothing wrong, too. A call takes longer or shorter by luck, and a table grows, so one that waits
//! for nobody may still take longer than those; three times the longest of them is a wait.
//!
//! Where time is the wall clock's, the median stands for the longest, and a read that takes longer decides nothing.

use std::collections::BTreeMap;

use models::contract::{FailureCode, Side, Statement};

use super::healing::is_plain_use;
use super::index::{End, Index, Operation};
use super::table::Table;
use super::timeline::{Fact, Known};
use super::weather::Weather;
use super::{Docket, prose};
use crate::history::Clock;

/// How often a table must have been read with nothing wrong before it is known how long that takes.
const FEWEST_MEASURED: usize = 3;

/// So many times as long as usual is a wait.
const TIMES: u64 = 3;

/// What takes equally long: a lookup is a read that needs fewer files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Rows,
    Definition,
}

/// How long such a read takes with nothing wrong, in milliseconds, as far as it was measured: a table that grew since
/// takes longer.
struct Usual {
    took_ms: u64,
    /// When the last one that was measured was invoked.
    last_n: u64,
}

/// Judges F6.
pub fn judge(index: &Index, docket: &mut Docket) {
    for table in index.tables.iter().filter(|table| table.schema.is_some()) {
        let allowed = || {
            table
                .operations
                .iter()
                .map(|position| &index.operations[*position])
                .filter(|operation| is_allowed(index, table, operation))
        };
        let mut measured: BTreeMap<Form, (Vec<u64>, u64)> = BTreeMap::new();
        for operation in allowed().filter(|operation| index.forecast.during(operation) == Weather::Calm) {
            if let (Some(form), Some(took_ms), End::Ok(..)) =
                (form(operation.statement), took_ms(operation), operation.end)
            {
                let (of_form, last_n) = measured.entry(form).or_default();
                of_form.push(took_ms);
                *last_n = operation.invoked.n;
            }
        }
        let usual: BTreeMap<Form, Usual> = (measured.into_iter())
            .filter_map(|(form, (took_ms, last_n))| Some((form, Usual { took_ms: usual(index, took_ms)?, last_n })))
            .collect();
        for operation in allowed().filter(|operation| index.forecast.begins_without_store(operation)) {
            works(index, operation, &usual, docket);
        }
    }
}

/// What of a table's base view the statement reads; `None`: it is no such read.
fn form(statement: &Statement) -> Option<Form> {
    match statement {
        Statement::Select { table, .. } | Statement::Lookup { table, .. } => (!table.real_time).then_some(Form::Rows),
        Statement::Describe { side: Side::Lake, .. } => Some(Form::Definition),
        _ => None,
    }
}

/// Whether it is a read of the base view that the table must certainly serve.
fn is_allowed(index: &Index, table: &Table, operation: &Operation) -> bool {
    let Some(answered) = operation.answered() else { return false };
    let in_force = |fact: &Fact| fact.during(operation.invoked.n, answered.n) == Known::Yes;
    let shadowed =
        operation.statement.view().is_some_and(|view| index.names.may_shadow(view, operation.invoked.n, answered.n));
    form(operation.statement).is_some()
        && is_plain_use(operation.statement, table)
        && in_force(&table.timeline.mode)
        && in_force(&table.timeline.exists)
        && table.disturbance.columns_from_n >= answered.n
        && !shadowed
}

fn took_ms(operation: &Operation) -> Option<u64> {
    Some(operation.answered()?.at_ms - operation.invoked.at_ms)
}

/// How long it usually takes, of these measurements; `None` if they are too few to tell.
fn usual(index: &Index, mut measured: Vec<u64>) -> Option<u64> {
    if measured.len() < FEWEST_MEASURED {
        return None;
    }
    measured.sort_unstable();
    match index.history.header.clock {
        Clock::Virtual => measured.last().copied(),
        Clock::Wall => Some(measured[measured.len() / 2]),
    }
}

/// The read succeeds, and in the usual time.
fn works(index: &Index, operation: &Operation, usual: &BTreeMap<Form, Usual>, docket: &mut Docket) {
    let (Some(form), Some(took_ms)) = (form(operation.statement), took_ms(operation)) else { return };
    let found = match operation.end {
        // What the system cannot do at all is told as not tested; what makes no sense is the plan's fault.
        End::Open | End::Failed { code: FailureCode::Unsupported | FailureCode::Invalid, .. } => return,
        End::Failed { code, message, .. } => format!("It failed as {code:?}: {message}."),
        End::Ok(..) => {
            // Where the usual time is not known, that it works is all that is judged.
            let usual = usual.get(&form).filter(|usual| operation.invoked.n < usual.last_n);
            let Some(usual_ms) = usual.map(|usual| usual.took_ms).filter(|ms| took_ms > TIMES * (*ms).max(1)) else {
                return docket.judged("F6", 1);
            };
            if index.history.header.clock == Clock::Wall {
                return docket.undecided("F6");
            }
            format!("It took {took_ms} ms, and with nothing wrong none of that table took more than {usual_ms} ms.")
        }
    };
    docket.judged("F6", 1);
    docket.violated("F6", operation.events(), || {
        format!(
            "The {} was sent while the store was down, and nothing else was wrong until it ended. {found} F6 demands that \
             a base read and its metadata work without the store, and wait for nobody.",
            prose::statement(operation)
        )
    });
}
