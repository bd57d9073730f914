//! L12: a table that was dropped and created again holds nothing of its predecessor, and no late commit or registration
//! of the predecessor touches it.
//!
//! A predecessor is gone once DROP was acked on every side that had it. Rows are told by their write ids alone, so the
//! new table may have any definition. Where only the store's side was dropped, the lake's table stays what it is: then
//! `t$rt` alone is judged, and only once the store has acked that the new table is in the mode.

use std::collections::BTreeSet;

use models::contract::{ObservedOffset, Output, Side, Statement};

use super::index::{Fate, Index, Operation, Point};
use super::table::{Registration, Table};
use super::timeline::{DATALAKE_ENABLED, Known, mode_switch};
use super::writes::{WRITE_ID, id_in, identified, written_rows};
use super::{Docket, prose, sides};

/// Judges L12.
pub fn judge(index: &Index, docket: &mut Docket) {
    for table in &index.tables {
        let operations = || table.operations.iter().map(|position| &index.operations[*position]);
        let may_move = |operation: &Operation| {
            let moves = matches!(operation.statement, Statement::RenameTable { .. } | Statement::ReplaceTable { .. });
            moves && operation.fate() != Fate::Failed && !table.timeline.refuses(operation)
        };
        // What takes a name along may bring rows along.
        if !operations().any(|operation| is_drop(operation, None)) || operations().any(may_move) {
            continue;
        }
        let rebirths: Vec<Rebirth> = operations().filter_map(|create| Rebirth::of(index, table, create)).collect();
        reads_show_no_predecessor(index, table, &rebirths, docket);
        for rebirth in &rebirths {
            registrations_are_its_own_until_the_next_drop(index, table, rebirth, docket);
        }
        if let Some(last) = rebirths.iter().rfind(|rebirth| rebirth.is_whole) {
            let former = former_ids(index, table, last.dropped_n);
            lake_is_untouched(table, last, &former, docket);
            registrations_are_its_own(index, table, last, &former, docket);
        }
    }
}

/// A table dropped and created again.
struct Rebirth {
    /// What was acked before this is of the predecessor: the invocation of the first DROP.
    dropped_n: u64,
    /// The ordinals of the drops' events.
    drops: Vec<u64>,
    /// The ack of CREATE.
    created: Point,
    /// Whether the predecessor was dropped wherever it was; else only in the store.
    is_whole: bool,
    /// Reads of `t$rt` that are sent after this are judged.
    real_time_from_n: u64,
}

impl Rebirth {
    /// What an acked CREATE of this table began, if a predecessor was certainly dropped before.
    fn of(index: &Index, table: &Table, create: &Operation) -> Option<Self> {
        let Statement::CreateTable { table: path, schema, if_not_exists: false, side } = create.statement else {
            return None;
        };
        let (true, Some(created)) = (path == table.path && create.fate() == Fate::Acked, create.answered()) else {
            return None;
        };
        let operations = || table.operations.iter().map(|position| &index.operations[*position]);
        let creates = || operations().filter(|operation| is_create(operation) && operation.fate() != Fate::Failed);
        let drop_on = |side: Side| {
            let gone =
                |operation: &&Operation| is_drop(operation, Some(side)) && operation.acked_n() < create.invoked.n;
            let drop = operations().filter(gone).max_by_key(|operation| operation.acked_n())?;
            // What another statement may have created since was not dropped.
            let between = |other: &Operation| other.id != create.id && other.invoked.n > drop.invoked.n;
            let since = creates().any(|other| between(other) && other.invoked.n < create.invoked.n);
            (!since).then_some(drop)
        };
        let (lake, store) = (drop_on(Side::Lake), drop_on(Side::Store));
        let drops = match (lake, store) {
            (Some(lake), Some(store)) => vec![lake, store],
            (Some(lake), None) if table.in_store == Known::No => vec![lake],
            (None, Some(store)) if *side == Side::Store => vec![store],
            _ => return None,
        };
        let is_whole = lake.is_some();
        let dropped_n = drops.iter().map(|drop| drop.invoked.n).min()?;
        let real_time_from_n = if is_whole {
            created.n
        } else {
            let brings_history = |operation: &Operation| match operation.statement {
                Statement::CreateOnLake { .. } | Statement::Promote { .. } => true,
                // Over a table that has rows the texts are silent.
                Statement::AlterOptions { side: Side::Lake, .. } => mode_switch(operation.statement).is_some(),
                _ => false,
            };
            if operations().any(|operation| operation.fate() != Fate::Failed && brings_history(operation)) {
                return None;
            }
            if schema.lakestream_enabled() && !schema.options.contains_key(DATALAKE_ENABLED) {
                created.n
            } else {
                let later = operations().filter(|operation| operation.invoked.n > created.n && turns_on(operation));
                later.map(Operation::acked_n).min()?
            }
        };
        let drops = drops.into_iter().flat_map(Operation::events).collect();
        Some(Self { dropped_n, drops, created, is_whole, real_time_from_n })
    }

    fn events(&self) -> Vec<u64> {
        self.drops.iter().copied().chain([self.created.n]).collect()
    }
}

fn is_create(operation: &Operation) -> bool {
    matches!(operation.statement, Statement::CreateTable { .. } | Statement::CreateOnLake { .. })
}

/// Whether it is an acked DROP, on this side if one is given.
fn is_drop(operation: &Operation, on: Option<Side>) -> bool {
    match operation.statement {
        Statement::DropTable { side, .. } => operation.fate() == Fate::Acked && on.is_none_or(|on| on == *side),
        _ => false,
    }
}

/// Whether the store acked that the table is in the mode from here on.
fn turns_on(operation: &Operation) -> bool {
    let switches = match operation.statement {
        Statement::AlterOptions { side: Side::Store, set, .. } => {
            set.get(DATALAKE_ENABLED).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
        }
        Statement::Enable { .. } => true,
        _ => false,
    };
    switches && operation.fate() == Fate::Acked
}

/// The write ids that an answer shows as rows of the table today.
fn shown_ids(operation: &Operation) -> Option<Vec<i64>> {
    if let (Statement::Changes { .. }, Some(Output::Changes { changes, .. })) =
        (operation.statement, operation.output())
    {
        let added = changes.iter().filter(|change| change.kind.adds());
        return Some(added.filter_map(|change| id_in(change.row.get(WRITE_ID)?)).collect());
    }
    Some(identified(operation.rows_of_today()?).map(|(id, _)| id).collect())
}

/// No read that was sent after the new table's ack shows what was acked before the old one's DROP.
fn reads_show_no_predecessor(index: &Index, table: &Table, rebirths: &[Rebirth], docket: &mut Docket) {
    if rebirths.is_empty() {
        return;
    }
    let operations = || table.operations.iter().map(|position| &index.operations[*position]);
    let Some(written) = written_rows(operations()) else { return };
    for operation in operations() {
        let (Some(view), Some(answered), Some(ids)) =
            (operation.statement.view(), operation.answered(), shown_ids(operation))
        else {
            continue;
        };
        let binds = |rebirth: &&Rebirth| {
            let sent_after = if view.real_time { rebirth.real_time_from_n } else { rebirth.created.n };
            (view.real_time || rebirth.is_whole) && sent_after < operation.invoked.n
        };
        // A view of the catalog that bears the name answers instead (C18).
        let shadowed = index.names.may_shadow(view, operation.invoked.n, answered.n);
        let Some(rebirth) = rebirths.iter().rfind(binds).filter(|_| !shadowed) else { continue };
        docket.judged("L12", 1);
        let of_predecessor = |id: i64| {
            let write = written.get(&id)?.operation;
            (write.acked_n() < rebirth.dropped_n).then_some((id, write))
        };
        let Some((id, write)) = ids.into_iter().find_map(of_predecessor) else { continue };
        docket.violated("L12", [operation.events(), write.events(), rebirth.events()].concat(), || {
            format!(
                "There was the row {WRITE_ID}={id} of the {}. {} was dropped after that ack (event {}), and created again \
                 (acked in event {}). The {} shows that row, though L12 demands that the new table holds nothing of its \
                 predecessor.",
                prose::statement(write),
                table.path,
                rebirth.dropped_n,
                rebirth.created.n,
                prose::statement(operation)
            )
        });
    }
}

/// The store's identities that a table of this name had before its DROP.
fn former_ids<'i>(index: &'i Index, table: &'i Table, before_n: u64) -> BTreeSet<&'i str> {
    let registered = table.registrations.iter().filter(|registration| registration.at.n < before_n);
    let around = index.sides.iter().filter(|((_, path), _)| *path == table.path);
    let seen = around.flat_map(|(_, around)| [around.before, around.after]).flatten();
    let seen = seen.filter(|sides| sides.n < before_n).filter_map(|sides| sides.store);
    registered.map(|registration| registration.table_id).chain(seen.map(|store| store.table_id.as_str())).collect()
}

/// The chain that our reader found is of the new lake table: nothing in it was tiered from the old one.
fn lake_is_untouched(table: &Table, rebirth: &Rebirth, former: &BTreeSet<&str>, docket: &mut Docket) {
    for snapshot in &table.snapshots {
        let Some(table_id) = &snapshot.seen.table_id else { continue };
        docket.judged("L12", 1);
        if former.contains(table_id.as_str()) {
            docket.violated("L12", [rebirth.events(), vec![snapshot.n]].concat(), || {
                format!(
                    "{} was dropped on both sides (event {}) and created again (acked in event {}). Lake snapshot {} of the \
                     new table (event {}) was tiered from the store's table {table_id}, which is the dropped one. L12 \
                     forbids that a late commit of the predecessor touches the new table.",
                    table.path, rebirth.dropped_n, rebirth.created.n, snapshot.seen.snapshot_id, snapshot.n
                )
            });
        }
    }
}

/// What is registered for the new table is a snapshot of the new lake table, with offsets of the new log.
fn registrations_are_its_own(
    index: &Index,
    table: &Table,
    rebirth: &Rebirth,
    former: &BTreeSet<&str>,
    docket: &mut Docket,
) {
    let operations = || table.operations.iter().map(|position| &index.operations[*position]);
    let ends_it = |operation: &Operation| {
        let drops = matches!(operation.statement, Statement::DropTable { .. });
        drops
            && operation.fate() != Fate::Failed
            && operation.invoked.n > rebirth.dropped_n
            && !rebirth.drops.contains(&operation.invoked.n)
    };
    if operations().any(ends_it) {
        return;
    }
    for registration in table.registrations.iter().filter(|registration| registration.at.n > rebirth.created.n) {
        docket.judged("L12", 1);
        let Some(foreign) = foreign(table, registration, former) else { continue };
        docket.violated("L12", [rebirth.events(), vec![registration.at.n]].concat(), || {
            format!(
                "{} was dropped on both sides (event {}) and created again (acked in event {}). Event {} shows snapshot {} \
                 registered for the store's table {}, and {foreign}. L12 forbids that a late registration of the \
                 predecessor touches the new table.",
                table.path,
                rebirth.dropped_n,
                rebirth.created.n,
                registration.at.n,
                registration.snapshot_id,
                registration.table_id
            )
        });
    }
}

/// The same of a table that was dropped in turn: what both sides were just before that DROP says how far the new table
/// ever was. Nothing is judged where a DROP or CREATE of the name is in doubt, which may have come at any time.
fn registrations_are_its_own_until_the_next_drop(index: &Index, table: &Table, rebirth: &Rebirth, docket: &mut Docket) {
    let operations = || table.operations.iter().map(|position| &index.operations[*position]);
    let remakes =
        |operation: &&Operation| matches!(operation.statement, Statement::DropTable { .. }) || is_create(operation);
    if operations().filter(remakes).any(|operation| !matches!(operation.fate(), Fate::Acked | Fate::Failed)) {
        return;
    }
    let is_next = |operation: &&Operation| is_drop(operation, None) && operation.invoked.n > rebirth.created.n;
    let Some(next) = operations().find(is_next) else { return };
    let Some(before) = sides::around(index, next).before else { return };
    let Some(store) = before.store else { return };
    // The lake's own chain tells nothing where it is the old one.
    let newest_id = before.lake.filter(|_| rebirth.is_whole).map(|lake| lake.snapshot_id.unwrap_or(0));
    let ends = store.offsets.iter().flatten();
    let end_of = |told: &ObservedOffset| {
        let of_bucket = |end: &&ObservedOffset| (&end.partition, end.bucket) == (&told.partition, told.bucket);
        // A bucket that nobody wrote to is empty; partitions may have gone.
        ends.clone().find(of_bucket).map(|end| end.offset).or(told.partition.is_none().then_some(0))
    };
    let within = rebirth.created.n..before.n;
    let own = table.registrations.iter().filter(|registration| within.contains(&registration.at.n));
    for registration in own.filter(|registration| registration.table_id == store.table_id) {
        docket.judged("L12", 1);
        let id = registration.snapshot_id;
        let foreign = match newest_id.filter(|newest_id| id > *newest_id) {
            Some(newest_id) => Some(format!("the new lake table had no snapshot after {newest_id}")),
            None => registration.offsets.iter().find_map(|told| {
                let end = end_of(told).filter(|end| told.offset > *end)?;
                Some(beyond_the_end(told, end))
            }),
        };
        let Some(foreign) = foreign else { continue };
        docket.violated("L12", [rebirth.events(), vec![registration.at.n, before.n]].concat(), || {
            format!(
                "{} was dropped (event {}) and created again (acked in event {}). Event {} shows snapshot {id} registered for \
                 the store's table {}, and {foreign} (event {}). L12 forbids that a registration of the predecessor touches \
                 the new table.",
                table.path,
                rebirth.dropped_n,
                rebirth.created.n,
                registration.at.n,
                registration.table_id,
                before.n
            )
        });
    }
}

fn beyond_the_end(told: &ObservedOffset, end: u64) -> String {
    let bucket = prose::bucket((told.partition.as_deref(), told.bucket));
    format!("its offset {} of bucket {bucket} is beyond the end {end} that the new log ever had", told.offset)
}

/// What shows that a registration is not of the new table, if anything does.
fn foreign(table: &Table, registration: &Registration, former: &BTreeSet<&str>) -> Option<String> {
    if former.contains(registration.table_id) {
        return Some("that table is the dropped one".to_owned());
    }
    let id = registration.snapshot_id;
    let last_id = table.snapshots.last().map_or(0, |snapshot| snapshot.seen.snapshot_id);
    if table.files_are_sound && id > last_id {
        return Some(format!("the new lake table has no snapshot after {last_id}"));
    }
    let carried = table.snapshot(id).and_then(|snapshot| snapshot.seen.table_id.as_deref());
    if let Some(other) = carried.filter(|carried| *carried != registration.table_id) {
        return Some(format!("that snapshot was tiered from the store's table {other}"));
    }
    registration.offsets.iter().find_map(|told| {
        let bucket = (told.partition.as_deref(), told.bucket);
        let later = table.extents.iter().filter(|extent| extent.bucket == bucket && extent.at.n > registration.at.n);
        let end = later.map(|extent| extent.end_exclusive).max()?;
        (told.offset > end).then(|| beyond_the_end(told, end))
    })
}
