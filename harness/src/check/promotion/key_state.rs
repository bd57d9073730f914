//! P4 and P8: the store's key-value state of a promoted table is one lake snapshot, the registered one: all of it or,
//! until it is published, nothing.
//!
//! A lookup shows that of any system. Of one that shows its state (the reference does) the rows of each bucket are
//! counted as well, also while nobody may read the table yet.

use std::collections::BTreeMap;

use models::contract::Statement;

use super::definition::is_enabled;
use crate::check::index::{Fate, Index, NEVER, Operation};
use crate::check::known_log::Bucket;
use crate::check::sides::{self, Sides};
use crate::check::table::{LakeSnapshot, Read, Registration, Scope, Table, is_promotion};
use crate::check::writes::Write;
use crate::check::{Docket, prose};
use crate::history::SideState;

/// Judges the state of one table.
pub fn judge(index: &Index, table: &Table, docket: &mut Docket) {
    let statements = || table.operations.iter().map(|position| &index.operations[*position]);
    // The files are read at the end: they are those of one table only where no other ever took its name.
    if table.disturbance.replaced_from_n != NEVER {
        return;
    }
    if !table.has_key() || !statements().any(|operation| is_promotion(operation.statement)) {
        return;
    }
    for operation in statements() {
        let around = sides::around(index, operation);
        for seen in [around.before, around.after].into_iter().flatten() {
            let Some(store) = seen.store else { continue };
            let Some(state) = rows_of_state(store) else { continue };
            if is_enabled(&store.schema) {
                is_the_registered_snapshot(index, table, operation, seen, store, &state, docket);
            } else {
                is_published_at_once(index, table, operation, seen, store, &state, docket);
            }
        }
    }
    for read in &table.reads {
        finds_the_registered_snapshot(index, table, read, docket);
    }
}

/// By bucket, how many rows. Buckets without any are left out.
type Rows<'h> = BTreeMap<Bucket<'h>, u64>;

fn rows_of_state(store: &SideState) -> Option<Rows<'_>> {
    let rows = store.key_rows.as_ref()?;
    Some(rows.iter().map(|of_bucket| ((of_bucket.partition.as_deref(), of_bucket.bucket), of_bucket.rows)).collect())
}

fn rows_of_snapshot<'h>(snapshot: &LakeSnapshot<'h>) -> Option<Rows<'h>> {
    let counted = snapshot.seen.buckets.as_ref()?.iter().map(|seen| {
        let rows = seen.rows.rows.len() as u64;
        ((seen.partition.as_deref(), seen.bucket), rows)
    });
    Some(counted.filter(|(_, rows)| *rows > 0).collect())
}

/// Whether a statement may have brought rows into the table, or taken some out of it, on another way than a native
/// commit, before this.
fn is_written_before(index: &Index, table: &Table, n: u64) -> bool {
    table.operations.iter().map(|position| &index.operations[*position]).any(|operation| {
        let rewrites = match operation.statement {
            Statement::NativeInsert { .. } => false,
            Statement::TruncateTable { .. } => true,
            other => other.writes_rows(),
        };
        rewrites && operation.invoked.n < n && operation.fate() != Fate::Failed
    })
}

/// Whether only a part of the history may be in the state.
fn is_selected_before(index: &Index, table: &Table, n: u64) -> bool {
    table.operations.iter().map(|position| &index.operations[*position]).any(|operation| {
        matches!(operation.statement, Statement::Promote { partitions: Some(_), .. }) && operation.invoked.n < n
    })
}

/// The snapshot that the promotion registered, if it was seen before this: the newest registered one that is not tiering's.
fn registered_before<'t, 'h>(table: &'t Table<'h>, n: u64) -> Option<&'t Registration<'h>> {
    let is_history = |id: u64| {
        let seen = table.snapshots.iter().find(|snapshot| snapshot.seen.snapshot_id == id);
        seen.is_some_and(|snapshot| snapshot.seen.offsets.is_none())
    };
    table.registrations.iter().rfind(|registration| registration.at.n < n && is_history(registration.snapshot_id))
}

/// P4: a disabled table, to which nobody could write yet, has nothing or all of a snapshot.
fn is_published_at_once(
    index: &Index,
    table: &Table,
    operation: &Operation,
    seen: Sides,
    store: &SideState,
    state: &Rows,
    docket: &mut Docket,
) {
    let newest = seen.lake.and_then(|lake| lake.snapshot_id).unwrap_or(0);
    let until_then = table.snapshots.iter().filter(|snapshot| snapshot.seen.snapshot_id <= newest);
    let snapshots: Option<Vec<Rows>> = until_then.map(rows_of_snapshot).collect();
    let Some(snapshots) = snapshots.filter(|snapshots| snapshots.len() as u64 == newest) else { return };
    let is_written = store.offsets.iter().flatten().any(|end| end.offset > 0);
    if is_written || is_selected_before(index, table, seen.n) {
        return;
    }
    docket.judged("P4", 1);
    if !state.is_empty() && !snapshots.contains(state) {
        docket.violated("P4", [operation.events(), vec![seen.n]].concat(), || {
            format!(
                "Beside the {} the table was disabled and nobody had written to the store, and the store served {} (event \
                 {}), which is all of no lake snapshot up to {newest}. P4 demands that all buckets are published at once.",
                prose::statement(operation),
                told(state),
                seen.n
            )
        });
    }
}

/// P4 and P8: an enabled table, to which nobody has written, has all of the snapshot that is registered.
fn is_the_registered_snapshot(
    index: &Index,
    table: &Table,
    operation: &Operation,
    seen: Sides,
    store: &SideState,
    state: &Rows,
    docket: &mut Docket,
) {
    if is_written_before(index, table, seen.n) || is_selected_before(index, table, seen.n) {
        return;
    }
    let registered = registered_before(table, seen.n).filter(|registered| registered.table_id == store.table_id);
    let Some(registered) = registered else { return };
    let of_id = |snapshot: &&LakeSnapshot| snapshot.seen.snapshot_id == registered.snapshot_id;
    let Some(expected) = table.snapshots.iter().find(of_id).and_then(rows_of_snapshot) else { return };
    // Buckets of which nothing is there were not loaded; others were, of another snapshot.
    let is_half = expected.keys().any(|bucket| !state.contains_key(bucket));
    let (property, demand) = match is_half {
        true => ("P8", "a half-loaded table is never enabled"),
        false => ("P4", "a promotion loads the snapshot that it registers"),
    };
    docket.judged("P4", 1);
    docket.judged("P8", 1);
    if *state != expected {
        docket.violated(property, [operation.events(), vec![registered.at.n, seen.n]].concat(), || {
            format!(
                "Beside the {} the table was enabled with lake snapshot {} registered (event {}), which has {}. Nobody had \
                 written to the store, and it served {} (event {}). {property} demands that {demand}.",
                prose::statement(operation),
                registered.snapshot_id,
                registered.at.n,
                told(&expected),
                told(state),
                seen.n
            )
        });
    }
}

/// P4, of any system: a key that only native commits wrote, all of them in the registered snapshot, is found as the last
/// of them left it.
fn finds_the_registered_snapshot(index: &Index, table: &Table, read: &Read, docket: &mut Docket) {
    let (Scope::Key(key), Some(content)) = (read.scope, &read.content) else { return };
    let is_current = read.real_time && !read.historic && !read.is_filtered();
    if !is_current {
        return;
    }
    let Some(registered) = registered_before(table, read.invoked.n) else { return };
    if is_rewritten_before(index, table, read.answered.n) {
        return;
    }
    let writes = table.writes.of_key[key as usize].iter().map(|number| (*number, table.writes.get(*number)));
    let writes: Vec<(u32, &Write)> = writes.filter(|(_, write)| write.invoked_n < read.answered.n).collect();
    let snapshot_of = |write: &Write| {
        let native = matches!(index.operations[write.operation].statement, Statement::NativeInsert { .. });
        write.snapshot_id.filter(|id| native && *id <= registered.snapshot_id)
    };
    if writes.is_empty() || !writes.iter().all(|(_, write)| snapshot_of(write).is_some()) {
        return;
    }
    let Some((expected, _)) = writes.iter().max_by_key(|(number, write)| (snapshot_of(write), *number)) else { return };
    docket.judged("P4", 1);
    let shown = content.at_key(key);
    if shown != Some(*expected) {
        let events = prose::events(index, table, &[*expected], &[read]);
        docket.violated("P4", [events, vec![registered.at.n]].concat(), || {
            let found = match shown {
                Some(shown) => format!("the older {}", prose::write(index, table, shown)),
                None => "nothing".to_owned(),
            };
            format!(
                "Lake snapshot {} was registered for the promoted table (event {}), and contains {}. Nobody wrote its key \
                 through the store, and the {} finds {found}. P4 demands that a promotion loads the snapshot that it \
                 registers.",
                registered.snapshot_id,
                registered.at.n,
                prose::write(index, table, *expected),
                prose::read(index, read)
            )
        });
    }
}

/// Whether a statement before this may have changed rows that its text does not name.
fn is_rewritten_before(index: &Index, table: &Table, n: u64) -> bool {
    table.operations.iter().map(|position| &index.operations[*position]).any(|operation| {
        let rewrites = match operation.statement {
            Statement::Update { .. } | Statement::InsertOverwrite { .. } | Statement::TruncateTable { .. } => true,
            Statement::Delete { filter, .. } => filter.is_some(),
            _ => false,
        };
        rewrites && operation.invoked.n < n && operation.fate() != Fate::Failed
    })
}

fn told(rows: &Rows) -> String {
    if rows.is_empty() {
        return "no rows".to_owned();
    }
    let told = rows.iter().map(|((partition, bucket), rows)| match partition {
        Some(partition) => format!("{rows} in bucket {bucket} of {partition}"),
        None => format!("{rows} in bucket {bucket}"),
    });
    format!("rows: {}", told.collect::<Vec<_>>().join(", "))
}
