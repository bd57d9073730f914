//! P4 and P8: the store's key-value state of a promoted table is one lake snapshot, the registered one: all of it or,
//! until it is published, nothing.
//!
//! A lookup shows that of any system. Of one that shows its state (the reference does) the rows of each bucket are
//! counted as well, also while nobody may read the table yet.

use std::collections::BTreeMap;

use models::contract::{Statement, TableSchema};

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
    // The files are read at the end: they are those of one table only where no other ever took its name.
    if table.disturbance.replaced_from_n != NEVER || !table.has_key() {
        return;
    }
    let statements = || table.operations.iter().map(|position| &index.operations[*position]);
    if !statements().any(|operation| is_promotion(operation.statement)) {
        return;
    }
    let touched = Touched::of(index, table);
    for operation in statements() {
        let around = sides::around(index, operation);
        for seen in [around.before, around.after].into_iter().flatten() {
            let Some(store) = seen.store else { continue };
            let Some(state) = rows_of_state(store) else { continue };
            let served = Served { table, touched: &touched, operation, seen, store, state };
            if is_enabled(&store.schema) {
                served.is_the_registered_snapshot(docket);
            } else {
                served.is_published_at_once(docket);
            }
        }
    }
    for read in &table.reads {
        finds_the_registered_snapshot(index, table, &touched, read, docket);
    }
}

/// From when on the state may be another than that of a snapshot: ordinals of invocations; [`NEVER`] where nothing makes
/// it so.
struct Touched {
    /// Rows may have come, or gone, on another way than a native commit.
    written_from_n: u64,
    /// Rows may have changed that no statement's text names.
    rewritten_from_n: u64,
    /// Only a part of the history may be in the state.
    selected_from_n: u64,
}

impl Touched {
    fn of(index: &Index, table: &Table) -> Self {
        let first = |is_such: fn(&Operation) -> bool| {
            let mut operations = table.operations.iter().map(|position| &index.operations[*position]);
            operations.find(|operation| is_such(operation)).map_or(NEVER, |operation| operation.invoked.n)
        };
        Self {
            written_from_n: first(|operation| operation.fate() != Fate::Failed && writes(operation.statement)),
            rewritten_from_n: first(|operation| operation.fate() != Fate::Failed && rewrites(operation.statement)),
            selected_from_n: first(|operation| {
                matches!(operation.statement, Statement::Promote { partitions: Some(_), .. })
            }),
        }
    }
}

fn writes(statement: &Statement) -> bool {
    match statement {
        Statement::NativeInsert { .. } => false,
        Statement::TruncateTable { .. } => true,
        other => other.writes_rows(),
    }
}

fn rewrites(statement: &Statement) -> bool {
    match statement {
        Statement::Update { .. } | Statement::InsertOverwrite { .. } | Statement::TruncateTable { .. } => true,
        Statement::Delete { filter, .. } => filter.is_some(),
        _ => false,
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

/// The snapshot that the promotion registered, if it was seen before this: the newest registered one that is not tiering's.
fn registered_before<'t, 'h>(table: &'t Table<'h>, n: u64) -> Option<(&'t Registration<'h>, &'t LakeSnapshot<'h>)> {
    let earlier = table.registrations.iter().rev().filter(|registration| registration.at.n < n);
    let mut found = earlier.filter_map(|registration| Some((registration, table.snapshot(registration.snapshot_id)?)));
    found.find(|(_, snapshot)| snapshot.seen.offsets.is_none())
}

/// The state that the store served beside one statement.
struct Served<'a, 'h> {
    table: &'a Table<'h>,
    touched: &'a Touched,
    operation: &'a Operation<'h>,
    seen: Sides<'h>,
    store: &'h SideState,
    state: Rows<'h>,
}

impl Served<'_, '_> {
    /// P4: a disabled table, to which nobody could write yet, has nothing or all of a snapshot.
    fn is_published_at_once(&self, docket: &mut Docket) {
        let newest = self.seen.lake.and_then(|lake| lake.snapshot_id).unwrap_or(0);
        let until_then = self.table.snapshots.iter().filter(|snapshot| snapshot.seen.snapshot_id <= newest);
        let snapshots: Option<Vec<Rows>> = until_then.map(rows_of_snapshot).collect();
        let Some(snapshots) = snapshots.filter(|snapshots| snapshots.len() as u64 == newest) else { return };
        let is_written = self.store.offsets.iter().flatten().any(|end| end.offset > 0);
        if is_written || self.touched.selected_from_n < self.seen.n {
            return;
        }
        docket.judged("P4", 1);
        if !self.state.is_empty() && !snapshots.contains(&self.state) {
            docket.violated("P4", [self.operation.events(), vec![self.seen.n]].concat(), || {
                format!(
                    "Beside the {} the table was disabled and nobody had written to the store, and the store served {} \
                     (event {}), which is all of no lake snapshot up to {newest}. P4 demands that all buckets are published \
                     at once.",
                    prose::statement(self.operation),
                    told(&self.state),
                    self.seen.n
                )
            });
        }
    }

    /// P4 and P8: an enabled table, to which nobody has written, has all of the snapshot that is registered.
    fn is_the_registered_snapshot(&self, docket: &mut Docket) {
        if self.touched.written_from_n.min(self.touched.selected_from_n) < self.seen.n {
            return;
        }
        let Some((registered, snapshot)) = registered_before(self.table, self.seen.n) else { return };
        let Some(expected) = rows_of_snapshot(snapshot) else { return };
        if registered.table_id != self.store.table_id {
            return;
        }
        // Buckets of which nothing is there were not loaded; others were, of another snapshot.
        let is_half = expected.keys().any(|bucket| !self.state.contains_key(bucket));
        let (property, demand) = match is_half {
            true => ("P8", "a half-loaded table is never enabled"),
            false => ("P4", "a promotion loads the snapshot that it registers"),
        };
        docket.judged("P4", 1);
        docket.judged("P8", 1);
        if self.state != expected {
            docket.violated(property, [self.operation.events(), vec![registered.at.n, self.seen.n]].concat(), || {
                format!(
                    "Beside the {} the table was enabled with lake snapshot {} registered (event {}), which has {}. Nobody \
                     had written to the store, and it served {} (event {}). {property} demands that {demand}.",
                    prose::statement(self.operation),
                    registered.snapshot_id,
                    registered.at.n,
                    told(&expected),
                    told(&self.state),
                    self.seen.n
                )
            });
        }
    }
}

/// P4, of any system: a key that only native commits wrote, all of them in the registered snapshot, is found as the last
/// of them left it.
fn finds_the_registered_snapshot(index: &Index, table: &Table, touched: &Touched, read: &Read, docket: &mut Docket) {
    let (Scope::Key(key), Some(content)) = (read.scope, &read.content) else { return };
    let is_current = read.real_time && !read.historic && !read.is_filtered();
    if !is_current || !table.schema.is_some_and(keeps_the_last) {
        return;
    }
    let Some((registered, _)) = registered_before(table, read.invoked.n) else { return };
    if touched.rewritten_from_n < read.answered.n {
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

/// Whether of a key's versions the one that came last is kept, whatever stands in it.
fn keeps_the_last(schema: &TableSchema) -> bool {
    let deduplicates = schema.options.get("merge-engine").is_none_or(|engine| engine.trim() == "deduplicate");
    deduplicates && !schema.options.contains_key("sequence.field")
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
