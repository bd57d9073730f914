//! C1 to C5, C9 and C22: what the mode forbids is rejected, with advice and without any effect; out of the mode it
//! is allowed.

use models::contract::{FailureCode, LAKESTREAM_ENABLED, PARTITION_RETENTION, Statement, TablePath};

use crate::history::SideState;

use super::catalog;
use super::index::{End, Fate, Index, NEVER, Operation};
use super::sides::{self, Around};
use super::table::Table;
use super::timeline::{Known, mode_switch};
use super::{Docket, prose};

/// Judges C1 to C5, C9 and C22.
pub fn judge(index: &Index, docket: &mut Docket) {
    for operation in &index.operations {
        let Some((guard, what)) = guarded(operation.statement) else { continue };
        let Some(table) = index.table(operation.statement.table()) else { continue };
        let answered_n = operation.answered().map_or(NEVER, |at| at.n);
        if table.timeline.exists.during(operation.invoked.n, answered_n) != Known::Yes {
            continue;
        }
        match table.timeline.mode.during(operation.invoked.n, answered_n) {
            Known::Yes => in_mode(index, operation, guard, what, docket),
            Known::No if guard != "C9" => out_of_mode(index, table, operation, what, docket),
            Known::No | Known::Unknown => {}
        }
    }
    failures_change_nothing(index, docket);
}

/// The property that forbids a statement in the mode, and what the statement does.
fn guarded(statement: &Statement) -> Option<(&'static str, &'static str)> {
    match statement {
        Statement::RenameTable { table, to, .. } if table != to => Some(("C1", "rename")),
        Statement::ReplaceTable { .. } => Some(("C2", "replace")),
        Statement::TruncateTable { .. } => Some(("C9", "truncate")),
        _ => None,
    }
}

/// C1, C2, C9: the statement is rejected; C3: with advice.
fn in_mode(index: &Index, operation: &Operation, guard: &'static str, what: &str, docket: &mut Docket) {
    let overrides = catalog::overrides(index.history);
    let fault = match operation.end {
        End::Ok(..) => "it succeeded".to_owned(),
        End::Failed { code: FailureCode::Rejected, definite: true, message, .. } => {
            docket.judged(guard, 1);
            docket.judged("C4", u64::from(overrides));
            advice(operation, message, docket);
            return;
        }
        End::Failed { code: code @ (FailureCode::NotFound | FailureCode::Misconfigured), message, .. } => {
            format!("it failed as {code:?} ({message}), which is no rejection")
        }
        // The new name is taken: there was more than one reason to refuse.
        End::Failed { code: FailureCode::AlreadyExists, .. } if target_may_exist(index, operation) => return,
        // A part was down, or nobody knows: that proves nothing.
        End::Failed { code: FailureCode::Unavailable | FailureCode::Timeout | FailureCode::Internal, .. }
        | End::Open => {
            return;
        }
        End::Failed { .. } => {
            docket.undecided(guard);
            return;
        }
    };
    docket.judged(guard, 1);
    docket.violated(guard, operation.events(), || {
        format!(
            "`{LAKESTREAM_ENABLED}` of {} was on for as long as the {} lasted, and {fault}. {guard} demands that {what} of \
             a lake-stream table is rejected.",
            operation.statement.table(),
            prose::statement(operation)
        )
    });
    if overrides {
        docket.judged("C4", 1);
        docket.violated("C4", operation.events(), || {
            format!(
                "The catalog of this run overrides the guarded operations by itself. In the mode, the {} should have been \
                 rejected, and {fault}. C4 demands that the guards hold in such a catalog as in one that inherits them.",
                prose::statement(operation)
            )
        });
    }
}

/// Whether the table that a rename would create may exist already.
pub fn target_may_exist(index: &Index, operation: &Operation) -> bool {
    let Statement::RenameTable { to, .. } = operation.statement else { return false };
    let exists = |table: &Table| table.timeline.exists.during(operation.invoked.n, operation.invoked.n + 1);
    index.table(to).is_some_and(|table| exists(table) != Known::No)
}

/// C3: the message names the option and a way to turn it off.
fn advice(operation: &Operation, message: &str, docket: &mut Docket) {
    docket.judged("C3", 1);
    let lower = message.to_lowercase();
    let says_how = ["disable", "false", "reset", "unset", "remove"].iter().any(|word| lower.contains(word))
        // A word of its own: `offset` is no advice.
        || lower.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "off");
    let missing = match (message.contains(LAKESTREAM_ENABLED), says_how) {
        (true, true) => return,
        (false, true) => "does not name the option `lakestream.enabled`",
        (true, false) => "does not say how to turn it off",
        (false, false) => "neither names the option `lakestream.enabled` nor says how to turn it off",
    };
    docket.violated("C3", operation.events(), || {
        format!(
            "The {} was rejected with the message {message:?}, which {missing}. C3 demands the advice: \
             `lakestream.enabled` and one of off, disable, false, reset, unset, remove.",
            prose::statement(operation)
        )
    });
}

/// C5: with the option off on the lake side, rename and replace succeed.
fn out_of_mode(index: &Index, table: &Table, operation: &Operation, what: &str, docket: &mut Docket) {
    let turned_off = table
        .operations
        .iter()
        .map(|position| &index.operations[*position])
        .rfind(|other| other.acked_n() < operation.invoked.n && mode_switch(other.statement) == Some(Known::No));
    let Some(turned_off) = turned_off.filter(|other| table.timeline.mode.was_yes_before(other.invoked.n)) else {
        return;
    };
    match operation.end {
        End::Ok(..) => docket.judged("C5", 1),
        End::Failed { code: FailureCode::Rejected, message, .. } => {
            docket.judged("C5", 1);
            let events = operation.events().into_iter().chain(turned_off.events()).collect();
            docket.violated("C5", events, || {
                format!(
                    "The {} turned `{LAKESTREAM_ENABLED}` off on the lake side. After that the {} was rejected all the \
                     same: {message}. C5 demands that {what} then succeeds as for any table.",
                    prose::statement(turned_off),
                    prose::statement(operation)
                )
            });
        }
        End::Failed { .. } | End::Open => {}
    }
}

/// C22: every definitely failed statement leaves both sides as they were.
fn failures_change_nothing(index: &Index, docket: &mut Docket) {
    for operation in index.operations.iter().filter(|operation| operation.fate() == Fate::Failed) {
        // A statement names at most two tables.
        let mut tables = vec![operation.statement.table()];
        if let Statement::RenameTable { to, .. } = operation.statement {
            tables.push(to);
        }
        for path in tables {
            let Some((before, after)) = index.sides.get(&(operation.id, path)).and_then(Around::both) else { continue };
            let Some(table) = index.table(path) else { continue };
            if sides::defined_meanwhile(index, table, operation, before.n, after.n) {
                continue;
            }
            docket.judged("C22", 1);
            let alone = is_alone(index, table, operation);
            let each = [("lake", before.lake, after.lake), ("store", before.store, after.store)];
            for (side, before_side, after_side) in each {
                let Some(change) = change(before_side, after_side, alone) else { continue };
                let events = operation.events().into_iter().chain([before.n, after.n]).collect();
                docket.violated("C22", events, || {
                    format!(
                        "The {} changed nothing, by its own answer. Yet {change} of {path} on the side of the {side} between \
                         events {} and {}. C22 demands that a statement that failed for certain leaves both sides as they \
                         were.",
                        prose::statement(operation),
                        before.n,
                        after.n
                    )
                });
                replaced_after_all(operation, path, before_side, after_side, docket);
            }
        }
    }
}

/// C2: a replace that is refused never becomes drop and create.
fn replaced_after_all(
    operation: &Operation,
    path: &TablePath,
    before: Option<&SideState>,
    after: Option<&SideState>,
    docket: &mut Docket,
) {
    let identity = |state: Option<&SideState>| state.map(|state| state.table_id.clone());
    if !matches!(operation.statement, Statement::ReplaceTable { .. }) || identity(before) == identity(after) {
        return;
    }
    docket.violated("C2", operation.events(), || {
        format!(
            "The {} was refused, and yet {path} has another table id afterwards ({:?}, before {:?}). C2 demands that a \
             refused replace never becomes drop and create.",
            prose::statement(operation),
            identity(after),
            identity(before)
        )
    });
}

/// Whether nothing else works on the table: the run is drained, and nothing was written since.
fn is_alone(index: &Index, table: &Table, operation: &Operation) -> bool {
    let Some(drained) = index.phases.drained.filter(|drained| drained.n < operation.invoked.n) else { return false };
    let answered_n = operation.answered().map_or(NEVER, |at| at.n);
    !table.operations.iter().map(|position| &index.operations[*position]).any(|other| {
        other.id != operation.id
            && !other.statement.is_read()
            && other.fate() != Fate::Failed
            && other.invoked.n < answered_n
            && other.invoked.n > drained.n
    })
}

/// What differs. Under concurrency only identity, columns and options are compared.
fn change(before: Option<&SideState>, after: Option<&SideState>, alone: bool) -> Option<String> {
    let (before, after) = match (before, after) {
        (None, None) => return None,
        (Some(_), None) => return Some("the table vanished".to_owned()),
        (None, Some(_)) => return Some("the table appeared".to_owned()),
        (Some(before), Some(after)) => (before, after),
    };
    if before.table_id != after.table_id {
        return Some(format!("the table id went from {} to {}", before.table_id, after.table_id));
    }
    if before.schema.options != after.schema.options {
        return Some(format!("the options went from {:?} to {:?}", before.schema.options, after.schema.options));
    }
    if before.schema != after.schema {
        return Some("the columns or keys changed".to_owned());
    }
    if !alone {
        return None;
    }
    if before.snapshot_id != after.snapshot_id {
        return Some(format!("the newest snapshot went from {:?} to {:?}", before.snapshot_id, after.snapshot_id));
    }
    if before.files != after.files {
        return Some(format!("the number of files went from {:?} to {:?}", before.files, after.files));
    }
    // A partition may leave the store at any time, and its state with it.
    let may_shrink = before.schema.options.contains_key(PARTITION_RETENTION);
    if before.key_rows != after.key_rows && !may_shrink {
        return Some("the key-value state changed".to_owned());
    }
    (before.offsets != after.offsets).then(|| "the log ends changed".to_owned())
}
