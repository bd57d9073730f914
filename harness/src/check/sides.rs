//! Both sides of a table just before and just after a statement, as the engine looked at them from outside.

use std::collections::BTreeMap;

use models::contract::TablePath;

use crate::history::{Event, History, Moment, SideState};

use super::index::{Index, Operation};
use super::table::Table;

/// Both sides at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'h> {
    /// The ordinal of the observation.
    pub n: u64,
    /// The lake's table.
    pub lake: Option<&'h SideState>,
    /// The store's table.
    pub store: Option<&'h SideState>,
}

/// The two observations around one statement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Around<'h> {
    /// Just before it was sent.
    pub before: Option<Sides<'h>>,
    /// Just after its answer.
    pub after: Option<Sides<'h>>,
}

impl<'h> Around<'h> {
    /// Both, if both were made.
    pub fn both(&self) -> Option<(Sides<'h>, Sides<'h>)> {
        Some((self.before?, self.after?))
    }
}

/// All observations of a history, by operation and table.
pub type Observations<'h> = BTreeMap<(&'h str, &'h TablePath), Around<'h>>;

/// Collects the observations.
pub fn observations(history: &History) -> Observations<'_> {
    let mut observed = Observations::new();
    for entry in &history.events {
        let Event::State { op, table, moment, lake, store } = &entry.event else { continue };
        let around = observed.entry((op, table)).or_default();
        let seen = Some(Sides { n: entry.n, lake: lake.as_ref(), store: store.as_ref() });
        match moment {
            Moment::Before => around.before = seen,
            Moment::After => around.after = seen,
        }
    }
    observed
}

/// What was seen around an operation of the table that it names.
pub fn around<'h>(index: &Index<'h>, operation: &Operation<'h>) -> Around<'h> {
    index.sides.get(&(operation.id, operation.statement.table())).copied().unwrap_or_default()
}

/// Both observations around an operation, if no other statement may have changed the definition of its table between
/// them: then all that differs is this operation's doing.
pub fn undisturbed<'h>(index: &Index<'h>, operation: &Operation<'h>) -> Option<(Sides<'h>, Sides<'h>)> {
    let (before, after) = around(index, operation).both()?;
    let table = index.table(operation.statement.table())?;
    (!defined_meanwhile(index, table, operation, before.n, after.n)).then_some((before, after))
}

/// Whether another statement may have changed the definition of the table between the two observations.
pub fn defined_meanwhile(index: &Index, table: &Table, operation: &Operation, before_n: u64, after_n: u64) -> bool {
    let definers = table.definers.iter().map(|position| &index.operations[*position]);
    definers
        .take_while(|other| other.invoked.n < after_n)
        .any(|other| other.id != operation.id && other.acked_n() >= before_n)
}
