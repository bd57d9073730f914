//! C15: regular writes reach the store and make no lake snapshot by themselves; INSERT OVERWRITE (and a native write)
//! reaches the lake and not the store. The side is chosen statement by statement.

use models::contract::Statement;

use super::content::NOTHING;
use super::index::{Fate, Index, NEVER};
use super::table::{LakeSnapshot, Table};
use super::timeline::Known;
use super::writes::Route;
use super::{Docket, prose};

/// Judges C15.
pub fn judge(index: &Index, docket: &mut Docket) {
    for table in index.tables.iter().filter(|table| table.writes.id_position.is_some() && table.has_one_chain()) {
        rows_arrive_by_their_side(index, table, docket);
        overwrites_stay_out_of_the_log(index, table, docket);
    }
}

/// Each row first reaches the lake in a snapshot of the side that its statement chose.
fn rows_arrive_by_their_side(index: &Index, table: &Table, docket: &mut Docket) {
    let mut arrived: Vec<u32> = vec![NOTHING; table.writes.all.len()];
    for (position, snapshot) in
        table.snapshots.iter().enumerate().filter(|(_, snapshot)| snapshot.seen.kind != "COMPACT")
    {
        for write in snapshot.added.iter().filter(|added| added.kind.adds()).filter_map(|added| added.write) {
            let first = &mut arrived[write as usize];
            if *first == NOTHING {
                *first = position as u32;
            }
        }
    }
    for (number, write) in table.writes.all.iter().enumerate() {
        let statement = index.operations[write.operation].statement;
        if write.row.is_none() || write.fate == Fate::Failed || !in_mode(index, table, write.operation) {
            continue;
        }
        let number = number as u32;
        let snapshot = arrived.get(number as usize).and_then(|position| table.snapshots.get(*position as usize));
        match (write.route, snapshot) {
            (Route::Store, Some(snapshot)) => {
                docket.judged("C15", 1);
                if snapshot.seen.offsets.is_none() {
                    wrong_side(
                        index,
                        table,
                        number,
                        snapshot,
                        "a regular write reaches the store, and the lake only by \
                        tiering",
                        docket,
                    );
                }
            }
            (Route::Lake, Some(snapshot)) => {
                docket.judged("C15", 1);
                if snapshot.seen.offsets.is_some() {
                    let rule = match statement {
                        Statement::InsertOverwrite { .. } => "INSERT OVERWRITE reaches the lake and not the store",
                        _ => "a native write reaches the lake and not the store",
                    };
                    wrong_side(index, table, number, snapshot, rule, docket);
                }
            }
            (Route::Unknown, _) | (_, None) => {}
        }
    }
}

/// Whether the mode was certainly on for as long as the operation lasted.
fn in_mode(index: &Index, table: &Table, operation: usize) -> bool {
    let operation = &index.operations[operation];
    let answered_n = operation.answered().map_or(NEVER, |at| at.n);
    table.timeline.mode.during(operation.invoked.n, answered_n) == Known::Yes
}

fn wrong_side(index: &Index, table: &Table, write: u32, snapshot: &LakeSnapshot, rule: &str, docket: &mut Docket) {
    let mut events = prose::events(index, table, &[write], &[]);
    events.push(snapshot.n);
    docket.violated("C15", events, || {
        let kind = if snapshot.seen.offsets.is_some() { "a tiering snapshot" } else { "not a tiering snapshot" };
        format!(
            "There was {}. It first reached the lake in snapshot {} (event {}) of user {}, which is {kind}. C15 demands \
             that {rule}.",
            prose::write(index, table, write),
            snapshot.seen.snapshot_id,
            snapshot.n,
            snapshot.seen.user
        )
    });
}

/// No row of an overwrite or native write has an offset in the log.
fn overwrites_stay_out_of_the_log(index: &Index, table: &Table, docket: &mut Docket) {
    for (write, (bucket, offset)) in &table.log.position {
        let found = table.writes.get(*write);
        if found.route != Route::Lake || !in_mode(index, table, found.operation) {
            continue;
        }
        docket.judged("C15", 1);
        let shown_n = table.log.buckets[bucket].entries[offset].shown_n;
        let mut events = prose::events(index, table, &[*write], &[]);
        events.push(shown_n);
        docket.violated("C15", events, || {
            format!(
                "There was {}. The changes of event {shown_n} show it at offset {offset} of the log of bucket {}. C15 demands \
                 that such a write reaches the lake and not the store.",
                prose::write(index, table, *write),
                prose::bucket(*bucket)
            )
        });
    }
}
