//! What is certain about a table over time: whether it exists, and whether its mode is on.
//!
//! A fact is *yes*, *no* or *unknown*. It is unknown while a statement that changes it is in flight, and for ever after
//! one whose effect is unknown. Time is counted in event ordinals.

use models::contract::{LAKESTREAM_ENABLED, Side, Statement};

use super::index::{Fate, Operation};

/// How sure a fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Certainly so.
    Yes,
    /// Certainly not so.
    No,
    /// Either.
    Unknown,
}

impl From<bool> for Known {
    fn from(value: bool) -> Self {
        if value { Self::Yes } else { Self::No }
    }
}

/// One fact over time.
#[derive(Clone, Debug)]
pub struct Fact {
    /// From this ordinal (inclusive) on, until the next step.
    steps: Vec<(u64, Known)>,
    /// What the statements that overlap now make of it.
    overlapping: Vec<Known>,
    /// How many of them have not answered; the indefinite ones never do.
    unanswered: usize,
}

impl Fact {
    /// A fact that stands from the beginning.
    pub fn from_the_start(value: Known) -> Self {
        Self { steps: vec![(0, value)], overlapping: Vec::new(), unanswered: 0 }
    }

    fn begin(&mut self, n: u64) {
        self.unanswered += 1;
        self.steps.push((n, Known::Unknown));
    }

    fn finish(&mut self, n: u64, result: Known) {
        self.unanswered -= 1;
        self.overlapping.push(result);
        if self.unanswered == 0 {
            // Statements that overlapped took effect in an unknown order: only if all agree is the result certain.
            let agreed = self.overlapping.iter().all(|other| *other == result);
            self.steps.push((n, if agreed { result } else { Known::Unknown }));
            self.overlapping.clear();
        }
    }

    /// The fact between two ordinals (both exclusive), if it was the same all the time; else unknown. With the ordinals
    /// of a statement's invocation and end, the statement's own effect does not count.
    pub fn during(&self, from_n: u64, to_n: u64) -> Known {
        let after = self.steps.partition_point(|(n, _)| *n < from_n).max(1);
        let first = self.steps[after - 1].1;
        let within = self.steps[after..].iter().skip_while(|(n, _)| *n <= from_n).take_while(|(n, _)| *n < to_n);
        if within.into_iter().all(|(_, value)| *value == first) { first } else { Known::Unknown }
    }

    /// Whether it was certainly not so, all the time.
    pub fn was_never_so(&self) -> bool {
        self.steps.iter().all(|(_, value)| *value == Known::No)
    }

    /// Whether it was certainly so at some moment before the statement that was invoked at this ordinal.
    pub fn was_yes_before(&self, n: u64) -> bool {
        self.steps.iter().any(|(from, value)| *from <= n && *value == Known::Yes)
    }
}

/// What is known of one table over time.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Whether the lake has a table of this name.
    pub exists: Fact,
    /// Whether the mode is declared on.
    pub mode: Fact,
}

/// What one statement makes of one table, once it has succeeded.
pub struct Change {
    /// Whether the table exists afterwards; `None`: untouched.
    exists: Option<Known>,
    /// Whether the mode is on afterwards; `None`: untouched.
    mode: Option<Known>,
}

impl Timeline {
    /// Notes that an operation with this change was invoked. Operations that certainly failed are never applied.
    pub fn begin(&mut self, change: &Change, n: u64) {
        if change.exists.is_some() {
            self.exists.begin(n);
        }
        if change.mode.is_some() {
            self.mode.begin(n);
        }
    }

    /// Notes that it succeeded.
    pub fn finish(&mut self, change: &Change, n: u64) {
        if let Some(exists) = change.exists {
            self.exists.finish(n, exists);
        }
        if let Some(mode) = change.mode {
            self.mode.finish(n, mode);
        }
    }
}

/// Whether the statement sets or resets the mode, and to what.
pub fn mode_switch(statement: &Statement) -> Option<Known> {
    let Statement::AlterOptions { set, reset, side, .. } = statement else { return None };
    let value = match set.get(LAKESTREAM_ENABLED) {
        Some(text) => Known::from(text.trim().eq_ignore_ascii_case("true")),
        None if reset.iter().any(|key| key == LAKESTREAM_ENABLED) => Known::No,
        None => return None,
    };
    // What the store's own DDL makes of the lake's declaration is the store's business (C19).
    Some(if *side == Side::Lake { value } else { Known::Unknown })
}

/// What the operation makes of the table that it names.
pub fn change_of_table(operation: &Operation) -> Option<Change> {
    if operation.fate() == Fate::Failed {
        return None;
    }
    let change = |exists, mode| Some(Change { exists, mode });
    match operation.statement {
        Statement::AlterOptions { .. } => mode_switch(operation.statement).and_then(|mode| change(None, Some(mode))),
        Statement::RenameTable { .. } => change(Some(Known::No), Some(Known::No)),
        Statement::ReplaceTable { schema, .. } => change(Some(Known::Yes), Some(schema.lakestream_enabled().into())),
        Statement::CreateTable { if_not_exists: true, .. } => change(Some(Known::Yes), Some(Known::Unknown)),
        Statement::CreateTable { schema, side, .. } => {
            change(Some(Known::Yes), Some((*side == Side::Store || schema.lakestream_enabled()).into()))
        }
        Statement::DropTable { side: Side::Lake, .. } => change(Some(Known::No), Some(Known::No)),
        Statement::DropTable { side: Side::Store, .. } => change(None, Some(Known::Unknown)),
        _ => None,
    }
}

/// Whether an operation without an answer is one that the contract refuses: in the mode it has no effect, now or later.
pub fn is_guarded_without_ack(operation: &Operation) -> bool {
    let guarded = matches!(
        operation.statement,
        Statement::RenameTable { .. } | Statement::ReplaceTable { .. } | Statement::TruncateTable { .. }
    );
    guarded && operation.fate() == Fate::Indefinite
}

/// What the operation makes of the table that a rename creates.
pub fn change_of_target(operation: &Operation) -> Option<Change> {
    match operation.statement {
        Statement::RenameTable { .. } if operation.fate() != Fate::Failed => {
            Some(Change { exists: Some(Known::Yes), mode: Some(Known::Unknown) })
        }
        _ => None,
    }
}
