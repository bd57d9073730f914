//! C16 and C17: when a session's catalog opens the store, what it hands to it, and that it closes it.
//!
//! Where a history shows no catalog at all, nothing is judged: that none opened a store then means nothing.

use std::collections::BTreeSet;

use models::contract::{Side, Statement};

use super::catalog::{Sight, forwarded};
use super::index::{End, Index, NEVER, Operation};
use super::{Docket, prose};

/// Judges C16 and C17.
pub fn judge(index: &Index, docket: &mut Docket) {
    if !index.catalogs.are_observed() {
        return;
    }
    base_reads_leave_it_closed(index, docket);
    for (session, sights) in &index.catalogs.of_session {
        for (position, sight) in sights.iter().enumerate() {
            opened_on_use_and_once(index, session, sight, docket);
            options_as_configured(index, session, sight, docket);
            // Each close is judged once, whatever is seen of the catalog afterwards.
            let closes = sight.closed && position.checked_sub(1).is_none_or(|last| !sights[last].closed);
            if closes {
                closed_with_the_catalog(session, sight, docket);
            }
        }
    }
}

/// Whether the statement reads the lake's snapshots, or what is known of them, and nothing else.
pub fn is_base_read(statement: &Statement) -> bool {
    match statement {
        Statement::Select { table, .. } | Statement::Lookup { table, .. } => !table.real_time,
        Statement::Describe { side, .. } => *side == Side::Lake,
        _ => false,
    }
}

/// C16: judged only where the store was not open yet, for only then would it show.
fn base_reads_leave_it_closed(index: &Index, docket: &mut Docket) {
    for operation in index.operations.iter().filter(|operation| is_base_read(operation.statement)) {
        if matches!(operation.end, End::Open) || !index.catalogs.was_without_store(operation) {
            continue;
        }
        docket.judged("C16", 1);
        if let Some(sight) = index.catalogs.opened_during(operation) {
            docket.violated("C16", [operation.events(), vec![sight.n]].concat(), || {
                format!(
                    "The {} reads the lake's snapshots only. Yet the session's catalog opened the store for it (event {}). \
                     C16 demands that base reads never open the store.",
                    prose::statement(operation),
                    sight.n
                )
            });
        }
    }
}

/// C17: the store is opened by a statement that needs it, and at most once for a catalog.
fn opened_on_use_and_once(index: &Index, session: &str, sight: &Sight, docket: &mut Docket) {
    if sight.opened <= sight.opened_before {
        return;
    }
    docket.judged("C17", 1);
    if sight.opened > 1 {
        docket.violated("C17", vec![sight.n], || {
            format!(
                "Event {} shows that the catalog of session {session} has opened the store {} times since it was made. C17 \
                 demands that the store is created once.",
                sight.n, sight.opened
            )
        });
    }
    let user = in_flight(index, session, sight.n);
    let needless = match user {
        None => "no statement of the session was in flight".to_owned(),
        // A base read is C16's.
        Some(operation) if is_base_read(operation.statement) || may_need_store(operation.statement) => return,
        Some(operation) => format!("only the {} was in flight, which does not need it", prose::statement(operation)),
    };
    docket.violated("C17", vec![sight.n], || {
        format!(
            "Event {} shows that the catalog of session {session} opened the store while {needless}. C17 demands that the \
             store is created on first use.",
            sight.n
        )
    });
}

/// The session's statement that was in flight at an ordinal.
fn in_flight<'i, 'h>(index: &'i Index<'h>, session: &str, n: u64) -> Option<&'i Operation<'h>> {
    let begun = index.operations.partition_point(|operation| operation.invoked.n < n);
    let last = index.operations[..begun].iter().rfind(|operation| operation.session == session)?;
    (last.answered().map_or(NEVER, |at| at.n) > n).then_some(last)
}

/// Whether a statement may need the store, whatever its table is.
fn may_need_store(statement: &Statement) -> bool {
    match statement {
        Statement::Insert { .. }
        | Statement::Update { .. }
        | Statement::Delete { .. }
        | Statement::Select { .. }
        | Statement::Lookup { .. }
        | Statement::Changes { .. }
        | Statement::CreateOnLake { .. }
        | Statement::Enable { .. }
        | Statement::Promote { .. } => true,
        Statement::CreateTable { side, .. }
        | Statement::AlterOptions { side, .. }
        | Statement::AlterColumns { side, .. }
        | Statement::DropTable { side, .. }
        | Statement::Describe { side, .. } => *side == Side::Store,
        Statement::ReplaceTable { .. }
        | Statement::RenameTable { .. }
        | Statement::TruncateTable { .. }
        | Statement::CreateBranch { .. }
        | Statement::CreateView { .. }
        | Statement::InsertOverwrite { .. }
        | Statement::NativeInsert { .. } => false,
    }
}

/// C17: the store gets the options with its prefix, without the prefix, and no others.
fn options_as_configured(index: &Index, session: &str, sight: &Sight, docket: &mut Docket) {
    // They are handed over before the store is open, and also where it then cannot be opened.
    let handed_over = sight.opened > sight.opened_before || !sight.keys.is_empty();
    let Some(config) = index.history.header.catalog.as_ref().filter(|_| handed_over && !sight.closed) else { return };
    let (expected, found) = (forwarded(config), sight.keys.iter().map(String::as_str).collect::<BTreeSet<_>>());
    docket.judged("C17", 1);
    if expected != found {
        docket.violated("C17", vec![sight.n], || {
            format!(
                "The catalog of session {session} handed the store the options {found:?} (event {}), by name. Of what it was \
                 configured with, {expected:?} bear the store's prefix. C17 demands those, with the prefix stripped, and \
                 no others.",
                sight.n
            )
        });
    }
}

/// C17: with the catalog the store is closed, even if one close fails.
fn closed_with_the_catalog(session: &str, sight: &Sight, docket: &mut Docket) {
    if sight.opened == 0 {
        return;
    }
    docket.judged("C17", 1);
    if sight.store_closed != sight.opened {
        docket.violated("C17", vec![sight.n], || {
            format!(
                "Session {session} closed its catalog (event {}). It had opened the store {} times and closed it {} times. \
                 C17 demands that the store is closed with the catalog, even if one close fails.",
                sight.n, sight.opened, sight.store_closed
            )
        });
    }
}
