//! P2: enabling needs a compatible schema, and the store's registered snapshot to be the lake's newest, or none on both
//! sides. Enabling twice changes nothing.

use models::contract::{FailureCode, Side, Statement, TIERING_COMMIT_USER};

use super::definition::{incompatibility, is_enabled};
use crate::check::index::{End, Index, Operation};
use crate::check::sides;
use crate::check::table::{LakeSnapshot, Table, is_promotion};
use crate::check::timeline::STORE_SWITCHES;
use crate::check::weather::Weather;
use crate::check::{Docket, prose};

/// Judges P2.
pub fn judge(index: &Index, operation: &Operation, docket: &mut Docket) {
    let Some(table) = index.table(operation.statement.table()) else { return };
    if !enables(index, table, operation.statement) {
        return;
    }
    let Some((before, after)) = sides::undisturbed(index, operation) else { return };
    let (Some(lake), Some(store)) = (before.lake, before.store) else { return };
    let registered = table
        .registrations
        .iter()
        .rfind(|registration| registration.at.n < before.n && registration.table_id == store.table_id)
        .map(|registration| registration.snapshot_id);
    let made_by_tiering = |id: u64| {
        let is_its = |snapshot: &LakeSnapshot| snapshot.is_tiering() || snapshot.seen.user == TIERING_COMMIT_USER;
        table.snapshot(id).is_some_and(is_its)
    };
    // What is registered is observed of the tables that a run begins with; of others it is not known. And no text speaks
    // of the store's own commit, whose registration was lost or which fences an earlier table off.
    let observed = table.schema.is_some();
    if registered != lake.snapshot_id && (!observed || lake.snapshot_id.is_some_and(made_by_tiering)) {
        return;
    }
    let reason = if is_enabled(&store.schema) {
        None
    } else if let Some(what) = incompatibility(&lake.schema, &store.schema) {
        Some(format!("its {what} on the two sides differ"))
    } else if registered != lake.snapshot_id {
        Some(format!(
            "the store has registered snapshot {} and the lake's newest is {}",
            told(registered),
            told(lake.snapshot_id)
        ))
    } else {
        None
    };
    let events = || [operation.events(), vec![before.n, after.n]].concat();
    match (reason, operation.end) {
        (Some(reason), End::Ok(..)) => {
            docket.judged("P2", 1);
            docket.violated("P2", events(), || {
                format!(
                    "Before the {} the table was disabled and {reason} (event {}). P2 demands that enabling is refused then.",
                    prose::statement(operation),
                    before.n
                )
            });
        }
        (Some(_), End::Failed { code, definite: true, .. }) if code.is_always_definite() => {
            docket.judged("P2", 1);
            if after.store.is_some_and(|store| is_enabled(&store.schema)) {
                docket.violated("P2", events(), || {
                    format!(
                        "The {} was refused, and yet the table is enabled afterwards (event {}). P2 demands that it stays \
                         disabled.",
                        prose::statement(operation),
                        after.n
                    )
                });
            }
        }
        (None, End::Ok(..)) => docket.judged("P2", 1),
        (None, End::Failed { code: FailureCode::Rejected, message, .. })
            if index.forecast.during(operation) == Weather::Calm
                // Nobody committed to the lake meanwhile.
                && after.lake.is_some_and(|later| later.snapshot_id == lake.snapshot_id) =>
        {
            docket.judged("P2", 1);
            docket.violated("P2", events(), || {
                format!(
                    "Before the {} both sides agreed in schema and snapshot, or the table was enabled already (event {}). It \
                     was refused: {message}. P2 refuses nothing else, and enabling twice changes nothing.",
                    prose::statement(operation),
                    before.n
                )
            });
        }
        _ => {}
    }
}

/// Whether the statement turns on a table that came from the lake.
fn enables(index: &Index, table: &Table, statement: &Statement) -> bool {
    match statement {
        Statement::Enable { .. } => true,
        // A plain ALTER is held to the same, but only of a table that came from the lake do the texts speak.
        Statement::AlterOptions { set, side: Side::Store, .. } => {
            let on = |key: &&str| set.get(*key).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
            STORE_SWITCHES.iter().any(on)
                && table.operations.iter().any(|position| is_promotion(index.operations[*position].statement))
        }
        _ => false,
    }
}

fn told(snapshot_id: Option<u64>) -> String {
    snapshot_id.map_or_else(|| "none".to_owned(), |id| id.to_string())
}
