//! What is certain about a table over time: whether it exists, and whether its mode is on.
//!
//! A fact is *yes*, *no* or *unknown*. It is unknown while a statement that changes it is in flight, and for ever after
//! one whose effect is unknown. Time is counted in event ordinals.

use models::contract::{LAKESTREAM_ENABLED, Output, Side, Statement};

use super::index::{Fate, NEVER, Operation};

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

    /// Someone looked from outside: the fact is certain from here on, unless a statement that changes it is in flight
    /// or in doubt.
    pub fn observe(&mut self, n: u64, value: bool) {
        if self.unanswered == 0 {
            self.steps.push((n, value.into()));
        }
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
    /// Whether the operation, without an answer, is one that the contract refuses, and the mode stayed on ever after.
    pub fn refuses(&self, operation: &Operation) -> bool {
        is_guarded_without_ack(operation) && self.mode.during(operation.invoked.n, NEVER) == Known::Yes
    }

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

/// The options that switch the mode on the store's side: the lake's own key, and the store's.
pub const STORE_SWITCHES: [&str; 2] = [LAKESTREAM_ENABLED, DATALAKE_ENABLED];
/// The store's own switch (rules 50–53).
pub const DATALAKE_ENABLED: &str = "table.datalake.enabled";

/// Whether the statement sets or resets the mode, and to what.
pub fn mode_switch(statement: &Statement) -> Option<Known> {
    let Statement::AlterOptions { set, reset, side, .. } = statement else { return None };
    if *side == Side::Store && STORE_SWITCHES.iter().any(|key| set.contains_key(*key) || reset.iter().any(|r| r == key))
    {
        // What the store's own DDL makes of the lake's declaration is the store's business (C19).
        return Some(Known::Unknown);
    }
    let value = match set.get(LAKESTREAM_ENABLED) {
        Some(text) => Known::from(text.trim().eq_ignore_ascii_case("true")),
        None if reset.iter().any(|key| key == LAKESTREAM_ENABLED) => Known::No,
        None => return None,
    };
    Some(value)
}

/// Whether a promotion was answered before its load had ended.
pub fn goes_on(operation: &Operation) -> bool {
    matches!(operation.output(), Some(Output::Promoted { message }) if message.starts_with("JobID="))
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
        Statement::Enable { .. } => change(None, Some(Known::Yes)),
        // A promotion that goes on enables the table at a moment of its own.
        Statement::Promote { .. } => change(None, Some(if goes_on(operation) { Known::Unknown } else { Known::Yes })),
        Statement::ReplaceTable { schema, .. } => change(Some(Known::Yes), Some(schema.lakestream_enabled().into())),
        Statement::CreateTable { if_not_exists: true, .. } => change(Some(Known::Yes), Some(Known::Unknown)),
        Statement::CreateTable { schema, side, .. } => {
            let mode = match side {
                Side::Lake => schema.lakestream_enabled().into(),
                // Unless the user wants it off, a table of the store's own DDL begins in the mode.
                Side::Store if schema.options.contains_key(DATALAKE_ENABLED) => Known::Unknown,
                Side::Store => Known::Yes,
            };
            change(Some(Known::Yes), Some(mode))
        }
        Statement::DropTable { side: Side::Lake, .. } => change(Some(Known::No), Some(Known::No)),
        Statement::DropTable { side: Side::Store, .. } => change(None, Some(Known::Unknown)),
        _ => None,
    }
}

/// Whether the statement may change what a table is: its existence, its definition or its whole content.
pub fn defines(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::CreateTable { .. }
            | Statement::ReplaceTable { .. }
            | Statement::AlterOptions { .. }
            | Statement::AlterColumns { .. }
            | Statement::RenameTable { .. }
            | Statement::DropTable { .. }
            | Statement::TruncateTable { .. }
            | Statement::CreateOnLake { .. }
            | Statement::Enable { .. }
            | Statement::Promote { .. }
    )
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
        // With IF EXISTS a success need not have moved anything.
        Statement::RenameTable { if_exists, .. } if operation.fate() != Fate::Failed => {
            let exists = if *if_exists { Known::Unknown } else { Known::Yes };
            Some(Change { exists: Some(exists), mode: Some(Known::Unknown) })
        }
        _ => None,
    }
}
