//! F5 and F8: once faults have ended, the lake catches up and every allowed statement succeeds.

use std::collections::BTreeMap;

use models::contract::{ColumnChange, FailureCode, Side, Statement};

use super::catalog::Discovery;
use super::index::{End, Fate, Index, NEVER, Point};
use super::known_log::Bucket;
use super::table::{Table, offset_in};
use super::timeline::{Known, mode_switch};
use super::{Docket, prose};

/// Judges F5 and F8.
pub fn judge(index: &Index, docket: &mut Docket) {
    let Some(healed) = index.phases.healed else { return };
    for table in &index.tables {
        lake_catches_up(index, table, healed, docket);
        statements_succeed(index, table, healed, docket);
    }
}

/// F5: after healing, the lake reaches the store's end as it was at the moment of healing within `recovery`.
fn lake_catches_up(index: &Index, table: &Table, healed: Point, docket: &mut Docket) {
    // A mode that was off for a while leaves open what its return owes to the lake.
    if !table.has_one_chain() || table.timeline.mode.during(0, NEVER) != Known::Yes {
        return;
    }
    // Nor can a table be tiered that lost one of the store's columns in the lake (F7 is about the others).
    let mut of_table = table.operations.iter().map(|position| &index.operations[*position]);
    if of_table.any(|operation| operation.fate() != Fate::Failed && takes_a_column(operation.statement)) {
        return;
    }
    let mut ends: BTreeMap<Bucket, (u64, u64)> = BTreeMap::new();
    for extent in table.extents.iter().filter(|extent| extent.at.at_ms <= healed.at_ms) {
        let end = ends.entry(extent.bucket).or_insert((0, extent.at.n));
        if extent.end_exclusive > end.0 {
            *end = (extent.end_exclusive, extent.at.n);
        }
    }
    ends.retain(|_, (end, _)| *end > 0);
    let tiering: Vec<_> = table.snapshots.iter().filter(|snapshot| snapshot.seen.offsets.is_some()).collect();
    // A lake without any snapshot is one that never caught up, if it was read.
    let lake_is_seen = !table.snapshots.is_empty() || table.files_are_sound;
    if ends.is_empty() || (!lake_is_seen && table.registrations.is_empty()) {
        return;
    }
    let limit_ms = healed.at_ms.saturating_add(index.history.header.bounds.recovery_ms);
    // Tiered offsets only grow, so the first snapshot that covers all ends is where the lake caught up.
    let first =
        tiering.iter().position(|snapshot| ends.iter().all(|(bucket, (end, _))| snapshot.offset(*bucket) >= *end));
    let reached = match first {
        Some(position) => {
            let snapshot = tiering[position];
            // Earlier snapshots that are gone by now may have covered the ends before.
            let is_first = snapshot.seen.snapshot_id == 1
                || (position > 0
                    && whole_between(table, tiering[position - 1].seen.snapshot_id, snapshot.seen.snapshot_id))
                || (position == 0 && table.snapshots[0].seen.snapshot_id == 1);
            Some((snapshot.seen.committed_at_ms, snapshot.n, is_first))
        }
        None => {
            let covering = table.registrations.iter().find(|registration| {
                ends.iter().all(|(bucket, (end, _))| offset_in(registration.offsets, *bucket) >= *end)
            });
            covering.map(|registration| (registration.at.at_ms, registration.at.n, false))
        }
    };
    let mut events: Vec<u64> = ends.values().map(|(_, n)| *n).collect();
    events.push(healed.n);
    match reached {
        Some((at_ms, ..)) if at_ms <= healed.at_ms => {}
        Some((at_ms, ..)) if at_ms <= limit_ms => docket.judged("F5", 1),
        Some((_, _, false)) => docket.undecided("F5"),
        Some((at_ms, n, true)) => {
            docket.judged("F5", 1);
            events.push(n);
            docket.violated("F5", events, || {
                format!(
                    "Faults had ended at {} ms (event {}). The lake table of {} contained the log up to its ends of that \
                     moment only at {at_ms} ms (event {n}). F5 demands it by {limit_ms} ms, within `recovery`.",
                    healed.at_ms, healed.n, table.path
                )
            });
        }
        None if index.last_at_ms < limit_ms || !lake_is_seen => docket.undecided("F5"),
        None => {
            docket.judged("F5", 1);
            let missing: Vec<String> = ends
                .iter()
                .filter_map(|(bucket, (end, _))| {
                    let reached = tiering.iter().map(|snapshot| snapshot.offset(*bucket)).max().unwrap_or(0);
                    (reached < *end).then(|| format!("bucket {} reached {reached} of {end}", prose::bucket(*bucket)))
                })
                .collect();
            docket.violated("F5", events, || {
                format!(
                    "Faults had ended at {} ms (event {}). No lake snapshot of {} contains the log up to its ends of that \
                     moment: {}. F5 demands it by {limit_ms} ms, within `recovery`.",
                    healed.at_ms,
                    healed.n,
                    table.path,
                    missing.join(", ")
                )
            });
        }
    }
}

/// Whether the statement takes a column from the lake's definition and leaves it to the store.
pub fn takes_a_column(statement: &Statement) -> bool {
    let Statement::AlterColumns { changes, side: Side::Lake, .. } = statement else { return false };
    changes.iter().any(|change| matches!(change, ColumnChange::Drop(_) | ColumnChange::Rename { .. }))
}

/// Whether every snapshot between two ids is there.
fn whole_between(table: &Table, from_id: u64, to_id: u64) -> bool {
    let between = table.snapshots.iter().filter(|snapshot| (from_id..=to_id).contains(&snapshot.seen.snapshot_id));
    between.count() as u64 == to_id - from_id + 1
}

/// F8: in the healed phase every allowed statement succeeds within its deadline.
fn statements_succeed(index: &Index, table: &Table, healed: Point, docket: &mut Docket) {
    let mut served = false;
    // A table that left the store's care meanwhile may have lost what was not tiered; the texts are silent.
    let mut left_the_store = false;
    let finds_store = index.catalogs.discovery.is_none_or(|found| found == Discovery::Found);
    for operation in table.operations.iter().map(|position| &index.operations[*position]) {
        let answered_n = operation.answered().map_or(NEVER, |at| at.n);
        let in_mode = table.timeline.mode.during(operation.invoked.n, answered_n);
        let store_answered = served || !table.extents.is_empty() || !table.registrations.is_empty();
        let uses_store = uses_store(operation.statement);
        left_the_store |= operation.fate() != Fate::Failed && leaves_the_store(operation.statement);
        served |= uses_store && in_mode == Known::Yes && matches!(operation.end, End::Ok(..));
        if operation.invoked.n < healed.n
            || table.schema.is_none()
            || table.timeline.exists.during(operation.invoked.n, answered_n) != Known::Yes
            || table.disturbance.columns_from_n < answered_n
        {
            continue;
        }
        // A view that bears the name answers instead (C18).
        let shadowed = operation
            .statement
            .view()
            .is_some_and(|view| index.names.may_shadow(view, operation.invoked.n, answered_n));
        let allowed = if shadowed {
            false
        } else if uses_store {
            // Nor is a lake table that took the name of another the one that the store knows.
            let left_the_store = left_the_store || table.disturbance.structure_from_n < operation.invoked.n;
            let in_care = in_mode == Known::Yes && finds_store && store_answered && !left_the_store;
            in_care && is_plain_use(operation.statement, table)
        } else {
            is_plain_use(operation.statement, table) || (in_mode == Known::Yes && turns_off(operation.statement))
        };
        if !allowed {
            continue;
        }
        let refused = match operation.end {
            End::Ok(..) => {
                docket.judged("F8", 1);
                continue;
            }
            End::Open if index.phases.end.is_none() => {
                docket.undecided("F8");
                continue;
            }
            End::Open => "was never answered".to_owned(),
            // What the system cannot do at all is told as not tested; what makes no sense is the plan's fault.
            End::Failed { code: FailureCode::Unsupported | FailureCode::Invalid, .. } => continue,
            End::Failed { code, message, .. } => format!("failed as {code:?}: {message}"),
        };
        docket.judged("F8", 1);
        docket.violated("F8", operation.events().into_iter().chain([healed.n]).collect(), || {
            format!(
                "Faults had ended in event {}. The {}, which the contract allows, {refused}. F8 demands that every \
                 allowed statement of the healed phase succeeds within its deadline.",
                healed.n,
                prose::statement(operation)
            )
        });
    }
}

/// Whether the statement may leave a table, or a part of it, out of the store's care.
fn leaves_the_store(statement: &Statement) -> bool {
    match statement {
        Statement::AlterOptions { side: Side::Store, .. } => mode_switch(statement).is_some(),
        Statement::DropTable { side: Side::Store, .. } => true,
        // What was left out may be read only.
        Statement::Promote { partitions, .. } => partitions.is_some(),
        _ => false,
    }
}

/// Whether the statement needs the store of a table in the mode.
fn uses_store(statement: &Statement) -> bool {
    match statement {
        Statement::Insert { table, .. } | Statement::Update { table, .. } | Statement::Delete { table, .. } => {
            !table.real_time
        }
        Statement::Select { table, .. } | Statement::Lookup { table, .. } | Statement::Changes { table, .. } => {
            table.real_time
        }
        _ => false,
    }
}

/// Whether the statement is one that any table of this kind must serve.
pub fn is_plain_use(statement: &Statement, table: &Table) -> bool {
    let Some(schema) = table.schema else { return false };
    match statement {
        // What else may be asked of a write or read is judged by the contract's own properties.
        Statement::Insert { table, branch: None, layout: None, partition: None, .. } => !table.real_time,
        Statement::Delete { table: view, filter: None, .. } => !view.real_time && table.has_key(),
        Statement::Select { filter, at_snapshot: None, at_timestamp_ms: None, .. } => {
            filter.keys().all(|column| schema.position(column).is_some())
        }
        Statement::Lookup { key, .. } => {
            table.has_key()
                && key.len() == schema.primary_key.len()
                && schema.primary_key.iter().all(|k| key.contains_key(k))
        }
        // A later position may point at what retention has removed since.
        Statement::Changes { table, from, .. } => table.real_time && from == "earliest",
        Statement::Describe { side: Side::Lake, .. } => true,
        _ => false,
    }
}

/// Whether it leaves the mode on the lake's side, and does nothing else (C6).
fn turns_off(statement: &Statement) -> bool {
    match statement {
        Statement::AlterOptions { set, reset, side: Side::Lake, .. } => {
            set.len() + reset.len() == 1 && mode_switch(statement) == Some(Known::No)
        }
        _ => false,
    }
}
