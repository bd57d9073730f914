//! L6, L8, L9 and L16: where the lake ends the log begins, nothing goes back, and nothing is removed too early.

use std::collections::BTreeMap;

use models::contract::ObservedOffset;

use super::index::{Index, NEVER};
use super::known_log::{Bucket, BucketLog, LogExtent};
use super::table::{LakeSnapshot, Registration, Table, offset_in};
use super::timeline::Known;
use super::{Docket, prose, rollback};

/// Judges L6, L8, L9 and L16.
pub fn judge(index: &Index, docket: &mut Docket) {
    for table in index.tables.iter().filter(|table| table.schema.is_some()) {
        lake_meets_log(index, table, docket);
        registered_as_committed(table, docket);
        offsets_grow(table, docket);
        rollback::judge(index, table, docket);
        log_kept(index, table, docket);
    }
}

/// L6, by each log entry that is known: below the snapshot's offset it is in the lake, from the offset on it is not.
fn lake_meets_log(index: &Index, table: &Table, docket: &mut Docket) {
    if table.writes.id_position.is_none() {
        return;
    }
    let comparable = table.buckets_with_offsets();
    let whole = table.snapshots.first().is_some_and(|snapshot| snapshot.seen.snapshot_id == 1);
    let mut ever_added = vec![false; table.writes.all.len()];
    let mut before: Option<&LakeSnapshot> = None;
    for snapshot in table.judged_snapshots() {
        for write in snapshot.added.iter().filter(|added| added.kind.adds()).filter_map(|added| added.write) {
            ever_added[write as usize] = true;
        }
        let (Some(offsets), Some(content)) = (&snapshot.seen.offsets, &snapshot.content) else { continue };
        if let Some(before) = before.replace(snapshot) {
            repeated_range(table, before, snapshot, docket);
        }
        for (bucket, log) in table.log.buckets.iter().filter(|(bucket, _)| comparable.contains(*bucket)) {
            let end = offset_in(offsets, *bucket);
            docket.judged("L6", u64::from(!log.entries.is_empty()));
            // Key tables: what the lake holds of a key is the last entry below the offset.
            let mut last_of_key: BTreeMap<u32, Option<(u64, u32)>> = BTreeMap::new();
            for (offset, entry) in &log.entries {
                if let (Some(key), true) = (entry.key, *offset < end) {
                    last_of_key.insert(key, entry.write.filter(|_| entry.kind.adds()).map(|write| (*offset, write)));
                }
                let Some(write) = entry.write.filter(|_| entry.kind.adds()) else { continue };
                let shown = content.shows[write as usize];
                let overlap = *offset >= end && shown;
                let may_be_gone = table.has_key() || table.writes.get(write).superseded_from_n != NEVER;
                let gap = *offset < end && !shown && !may_be_gone;
                if overlap || gap {
                    disagree(index, table, snapshot, (*bucket, *offset, end), write, docket);
                }
            }
            if whole && table.has_key() && log.knows(0, end) {
                // Whether what was added is merged rightly is L5's.
                for (offset, write) in last_of_key.into_values().flatten() {
                    if !ever_added[write as usize] && !content.shows[write as usize] {
                        disagree(index, table, snapshot, (*bucket, offset, end), write, docket);
                    }
                }
            }
        }
    }
}

fn disagree(
    index: &Index,
    table: &Table,
    snapshot: &LakeSnapshot,
    (bucket, offset, end): (Bucket, u64, u64),
    write: u32,
    docket: &mut Docket,
) {
    let mut events = prose::events(index, table, &[write], &[]);
    events.push(snapshot.n);
    docket.violated("L6", events, || {
        let (what, so) = if offset < end {
            ("does not hold it", "neither the lake nor the log after the snapshot has it: a gap")
        } else {
            ("holds it already", "the log after the snapshot repeats it: an overlap")
        };
        format!(
            "There is {} at offset {offset} of the log of bucket {}. Lake snapshot {} (event {}) says that it contains that \
             bucket's log up to {end} (exclusive), and {what}. So {so}, which L6 forbids.",
            prose::write(index, table, write),
            prose::bucket(bucket),
            snapshot.seen.snapshot_id,
            snapshot.n
        )
    });
}

/// L6: a snapshot that keeps the rows of the one before and states a lower offset hands rows over twice.
fn repeated_range(table: &Table, before: &LakeSnapshot, snapshot: &LakeSnapshot, docket: &mut Docket) {
    if before.seen.table_id != snapshot.seen.table_id {
        return;
    }
    docket.judged("L6", 1);
    for (bucket, from, to) in fallen(before.seen.offsets.as_deref(), snapshot.seen.offsets.as_deref()) {
        docket.violated("L6", vec![before.n, snapshot.n], || {
            format!(
                "Lake snapshot {} of {} (event {}) contains the log of bucket {} up to {from}. Snapshot {} (event {}) keeps \
                 those rows and says that it contains the log up to {to} only. A union read of it would repeat what lies \
                 between, which L6 forbids.",
                before.seen.snapshot_id,
                table.path,
                before.n,
                prose::bucket(bucket),
                snapshot.seen.snapshot_id,
                snapshot.n
            )
        });
    }
}

/// Buckets whose offset is lower in the later offsets: bucket, earlier and later offset. Absent counts as 0.
pub(super) fn fallen<'o>(
    earlier: Option<&'o [ObservedOffset]>,
    later: Option<&'o [ObservedOffset]>,
) -> impl Iterator<Item = (Bucket<'o>, u64, u64)> {
    let later = later.unwrap_or_default();
    earlier.unwrap_or_default().iter().filter_map(move |told| {
        let bucket = (told.partition.as_deref(), told.bucket);
        let now = offset_in(later, bucket);
        (now < told.offset).then_some((bucket, told.offset, now))
    })
}

/// L6: the offsets that are registered with a snapshot are those that the snapshot carries. Of a snapshot that may have
/// been rolled back since nothing is known but its id, which may be another's by now.
fn registered_as_committed(table: &Table, docket: &mut Docket) {
    if !table.has_one_chain() {
        return;
    }
    let stands = |registration: &&Registration| !table.is_rolled_back_within(registration.at.n, NEVER);
    for registration in table.registrations.iter().filter(stands) {
        let Some(snapshot) = table.snapshot(registration.snapshot_id) else { continue };
        let Some(carried) = snapshot.seen.offsets.as_deref() else { continue };
        docket.judged("L6", 1);
        let higher = fallen(Some(registration.offsets), Some(carried));
        let lower = fallen(Some(carried), Some(registration.offsets)).map(|(bucket, from, to)| (bucket, to, from));
        for (bucket, registered, carried) in higher.chain(lower) {
            docket.violated("L6", vec![registration.at.n, snapshot.n], || {
                format!(
                    "Snapshot {} of {} is registered (event {}) as containing the log of bucket {} up to {registered}, while \
                     the snapshot itself says {carried} (event {}). L6 demands that the end of the lake is the start of \
                     the log.",
                    registration.snapshot_id,
                    table.path,
                    registration.at.n,
                    prose::bucket(bucket),
                    snapshot.n
                )
            });
        }
    }
}

/// L8: between rollbacks, tiered offsets and registered snapshot ids never go back; readable never passes tiered. After a
/// rollback what is registered may be gone from the lake, so it may go back once, to what the rollback left: L6 and L11
/// hold it to that.
fn offsets_grow(table: &Table, docket: &mut Docket) {
    for registration in &table.registrations {
        docket.judged("L8", 1);
        for (bucket, readable, tiered) in fallen(Some(registration.readable), Some(registration.offsets)) {
            docket.violated("L8", vec![registration.at.n], || {
                format!(
                    "For {}, event {} shows the readable offset {readable} of bucket {} beyond the tiered offset {tiered}. \
                     L8 demands readable ≤ tiered.",
                    table.path,
                    registration.at.n,
                    prose::bucket(bucket)
                )
            });
        }
    }
    let mut explained: Option<u64> = None;
    for pair in table.registrations.windows(2).filter(|pair| pair[0].table_id == pair[1].table_id) {
        let (before, after) = (&pair[0], &pair[1]);
        let undone = table.rollbacks.iter().rev().find(|rollback| rollback.from.n < after.at.n);
        let goes_back = after.snapshot_id <= before.snapshot_id
            || fallen(Some(before.offsets), Some(after.offsets)).next().is_some();
        if let Some(undone) = undone.filter(|undone| goes_back && explained != Some(undone.from.n)) {
            explained = Some(undone.from.n);
            continue;
        }
        if after.snapshot_id < before.snapshot_id {
            docket.violated("L8", vec![before.at.n, after.at.n], || {
                format!(
                    "For {}, snapshot {} was registered in event {} and snapshot {} in event {}. L8 demands that registered \
                     snapshot ids never go back.",
                    table.path, before.snapshot_id, before.at.n, after.snapshot_id, after.at.n
                )
            });
        }
        for (what, earlier, later) in
            [("tiered", before.offsets, after.offsets), ("readable", before.readable, after.readable)]
        {
            for (bucket, from, to) in fallen(Some(earlier), Some(later)) {
                docket.violated("L8", vec![before.at.n, after.at.n], || {
                    format!(
                        "For {}, the {what} offset of bucket {} went from {from} (event {}) back to {to} (event {}). L8 \
                         demands that offsets never go back.",
                        table.path,
                        prose::bucket(bucket),
                        before.at.n,
                        after.at.n
                    )
                });
            }
        }
    }
    if !table.has_one_chain() {
        return;
    }
    let tiering: Vec<&LakeSnapshot> =
        table.snapshots.iter().filter(|snapshot| snapshot.seen.offsets.is_some()).collect();
    for pair in tiering.windows(2).filter(|pair| pair[0].seen.table_id == pair[1].seen.table_id) {
        let (before, after) = (pair[0], pair[1]);
        docket.judged("L8", 1);
        for (bucket, from, to) in fallen(before.seen.offsets.as_deref(), after.seen.offsets.as_deref()) {
            docket.violated("L8", vec![before.n, after.n], || {
                format!(
                    "Lake snapshot {} of {} carries the tiered offset {from} of bucket {} (event {}), and snapshot {} after \
                     it carries {to} (event {}). L8 demands that tiered offsets never go back.",
                    before.seen.snapshot_id,
                    table.path,
                    prose::bucket(bucket),
                    before.n,
                    after.seen.snapshot_id,
                    after.n
                )
            });
        }
    }
}

/// L9: the log starts at or before the readable offset while the mode is on.
fn log_kept(index: &Index, table: &Table, docket: &mut Docket) {
    let mut registrations = table.registrations.iter().peekable();
    let mut latest = None;
    for extent in &table.extents {
        while let Some(registration) = registrations.next_if(|registration| registration.at.n < extent.at.n) {
            latest = Some(registration);
        }
        let in_mode = table.timeline.mode.during(0, extent.at.n) == Known::Yes;
        if !in_mode || extent.start_inclusive == 0 || table.disturbance.structure_from_n < extent.at.n {
            continue;
        }
        docket.judged("L9", 1);
        untiered_rows_kept(index, table, extent, latest, docket);
        let readable = latest.map_or(0, |registration| offset_in(registration.readable, extent.bucket));
        if extent.start_inclusive > readable {
            let events = std::iter::once(extent.at.n).chain(latest.map(|registration| registration.at.n)).collect();
            docket.violated("L9", events, || {
                format!(
                    "In event {} the log of bucket {} of {} starts at offset {}. The readable offset of that bucket was \
                     {readable} then, so a union read needs entries that are gone. L9 demands log start ≤ readable offset.",
                    extent.at.n,
                    prose::bucket(extent.bucket),
                    table.path,
                    extent.start_inclusive
                )
            });
        }
    }
}

/// L16: what retention removed from the log had been tiered.
fn untiered_rows_kept(
    index: &Index,
    table: &Table,
    extent: &LogExtent,
    latest: Option<&Registration>,
    docket: &mut Docket,
) {
    docket.judged("L16", 1);
    let tiered = latest.map_or(0, |registration| offset_in(registration.offsets, extent.bucket));
    if extent.start_inclusive <= tiered {
        return;
    }
    let known = table.log.buckets.get(&extent.bucket);
    let range = tiered..extent.start_inclusive;
    let lost: Vec<u32> = known
        .into_iter()
        .flat_map(|log| log.entries.range(range.clone()))
        .filter_map(|(_, entry)| entry.write.filter(|_| entry.kind.adds()))
        .collect();
    // Empty batches take offsets, and have no rows.
    let is_empty =
        |log: &BucketLog| log.knows(range.start, range.end) && log.entries.range(range.clone()).next().is_none();
    if known.is_some_and(is_empty) {
        return;
    }
    let mut events = prose::events(index, table, &lost, &[]);
    events.extend(std::iter::once(extent.at.n).chain(latest.map(|registration| registration.at.n)));
    docket.violated("L16", events, || {
        let among = lost.first().map_or(String::new(), |write| format!(", among them {}", prose::write(index, table, *write)));
        format!(
            "In event {} the log of bucket {} of {} starts at offset {}, and the lake contained that log up to {tiered} \
             only. What lies between was removed before it was tiered{among}. L16 forbids that retention loses it.",
            extent.at.n,
            prose::bucket(extent.bucket),
            table.path,
            extent.start_inclusive
        )
    });
}
