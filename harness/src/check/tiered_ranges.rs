//! L7: the delta of each tiering snapshot is exactly the log range from the offsets of the tiering snapshot before it
//! (inclusive) to its own (exclusive), bucket by bucket.
//!
//! Every entry whose offset is known is judged for itself. What a whole range merges to per key is judged where the
//! whole range is known.

use std::collections::{BTreeMap, BTreeSet};

use models::contract::{RowKind, TIERING_COMMIT_USER};

use super::content::NOTHING;
use super::index::Index;
use super::known_log::{Bucket, BucketLog};
use super::table::{LakeSnapshot, Table};
use super::{Docket, prose};

/// Judges L7.
pub fn judge(index: &Index, docket: &mut Docket) {
    for table in &index.tables {
        tiering_states_offsets(table, docket);
    }
    for table in index.tables.iter().filter(|table| table.writes.id_position.is_some()) {
        let snapshots = table.judged_snapshots();
        let whole = snapshots.windows(2).all(|pair| pair[0].seen.snapshot_id + 1 == pair[1].seen.snapshot_id);
        if whole && snapshots.iter().all(|snapshot| snapshot.content.is_some()) {
            Ranges { index, table, comparable: table.buckets_with_offsets(), docket }.judge(snapshots);
        }
    }
}

/// What tiering adds comes from a range of the log, so its snapshot says which.
fn tiering_states_offsets(table: &Table, docket: &mut Docket) {
    let adds_rows = |snapshot: &LakeSnapshot| {
        let mut added = snapshot.seen.buckets.iter().flatten().flat_map(|bucket| &bucket.added);
        snapshot.seen.kind != "COMPACT" && added.any(|change| change.kind.adds())
    };
    let by_tiering = |snapshot: &&LakeSnapshot| snapshot.seen.user == TIERING_COMMIT_USER && adds_rows(snapshot);
    for snapshot in table.snapshots.iter().filter(by_tiering) {
        docket.judged("L7", 1);
        if snapshot.seen.offsets.is_none() {
            docket.violated("L7", vec![snapshot.n], || {
                format!(
                    "The tiering service committed {}, which adds rows and does not say which offsets it contains. L7 \
                     demands that the delta of each tiering snapshot is the log range up to its own offsets.",
                    name(snapshot)
                )
            });
        }
    }
}

/// One delta: a tiering snapshot and the one before it; `None` where the chain begins.
#[derive(Clone, Copy)]
struct Delta<'a> {
    before: Option<&'a LakeSnapshot<'a>>,
    snapshot: &'a LakeSnapshot<'a>,
}

impl Delta<'_> {
    fn range(&self, bucket: Bucket) -> (u64, u64) {
        (self.before.map_or(0, |before| before.offset(bucket)), self.snapshot.offset(bucket))
    }
}

struct Ranges<'j, 'h> {
    index: &'j Index<'h>,
    table: &'j Table<'h>,
    comparable: BTreeSet<Bucket<'h>>,
    docket: &'j mut Docket,
}

impl<'h> Ranges<'_, 'h> {
    fn judge(&mut self, snapshots: &[LakeSnapshot<'h>]) {
        let mut added_by: Vec<u32> = vec![NOTHING; self.table.writes.all.len()];
        let mut before: Option<&LakeSnapshot> = None;
        let from_the_start = snapshots.first().is_some_and(|snapshot| snapshot.seen.snapshot_id == 1);
        for (position, snapshot) in snapshots.iter().enumerate().filter(|(_, snapshot)| snapshot.is_tiering()) {
            self.docket.judged("L7", u64::from(!snapshot.added.is_empty()));
            self.added_once(snapshots, position, &mut added_by);
            if before.is_some() || from_the_start {
                let delta = Delta { before, snapshot };
                self.added_in_range(delta);
                for (bucket, log) in &self.table.log.buckets {
                    if self.comparable.contains(bucket) {
                        self.range_added(delta, *bucket, log, &added_by);
                    }
                }
            }
            before = Some(snapshot);
        }
    }

    /// Ranges do not overlap, so no row is in two deltas.
    fn added_once(&mut self, snapshots: &[LakeSnapshot<'h>], position: usize, added_by: &mut [u32]) {
        let snapshot = &snapshots[position];
        for write in snapshot.added.iter().filter(|added| added.kind.adds()).filter_map(|added| added.write) {
            let by = std::mem::replace(&mut added_by[write as usize], position as u32);
            if by != NOTHING && by != position as u32 {
                let before = &snapshots[by as usize];
                let (index, table) = (self.index, self.table);
                self.violated(&[write], &[before, snapshot], || {
                    format!(
                        "{} and {} both add {}. Their ranges of the log do not overlap, so L7 forbids that.",
                        name(before),
                        name(snapshot),
                        prose::write(index, table, write)
                    )
                });
            }
        }
    }

    /// Each added row whose offset is known lies within the range of its bucket.
    fn added_in_range(&mut self, delta: Delta) {
        let (index, table) = (self.index, self.table);
        for added in delta.snapshot.added.iter().filter(|added| added.kind.adds()) {
            let Some(write) = added.write else { continue };
            let Some((bucket, offset)) = table.log.position.get(&write) else { continue };
            if !self.comparable.contains(bucket) {
                continue;
            }
            let (start, end) = delta.range(*bucket);
            self.docket.judged("L7", 1);
            if *offset < start || *offset >= end {
                self.violated(&[write], &[delta.snapshot], || {
                    format!(
                        "{} adds {}, which is at offset {offset} of the log of bucket {}. The range of that snapshot is \
                         [{start}, {end}), and L7 demands that it adds exactly that.",
                        name(delta.snapshot),
                        prose::write(index, table, write),
                        prose::bucket(*bucket)
                    )
                });
            }
        }
    }

    /// Each known entry of the range is in the delta.
    fn range_added(&mut self, delta: Delta, bucket: Bucket<'h>, log: &BucketLog, added_by: &[u32]) {
        let (start, end) = delta.range(bucket);
        if start >= end {
            return;
        }
        if self.table.has_key() {
            if log.knows(start, end) {
                self.merged_range_added(delta, bucket, log);
            }
            return;
        }
        let (index, table) = (self.index, self.table);
        for (offset, entry) in log.entries.range(start..end).filter(|(_, entry)| entry.kind.adds()) {
            let Some(write) = entry.write else { continue };
            self.docket.judged("L7", 1);
            if added_by[write as usize] == NOTHING {
                self.violated(&[write], &[delta.snapshot], || {
                    format!(
                        "There is {} at offset {offset} of the log of bucket {}, and the range of {} is [{start}, {end}). \
                         The snapshot does not add it, and L7 demands that it adds exactly its range.",
                        prose::write(index, table, write),
                        prose::bucket(bucket),
                        name(delta.snapshot)
                    )
                });
            }
        }
    }

    /// Key tables: what the range merges to per key is what the delta merges to.
    fn merged_range_added(&mut self, delta: Delta, bucket: Bucket<'h>, log: &BucketLog) {
        let (start, end) = delta.range(bucket);
        let mut last_logged: BTreeMap<u32, (RowKind, Option<u32>)> = BTreeMap::new();
        for entry in log.entries.range(start..end).map(|(_, entry)| entry) {
            if let Some(key) = entry.key {
                last_logged.insert(key, (entry.kind, entry.write));
            }
        }
        let mut last_added: BTreeMap<u32, (RowKind, Option<u32>)> = BTreeMap::new();
        for added in delta.snapshot.added.iter().filter(|added| added.bucket == bucket) {
            if let Some(key) = added.key {
                last_added.insert(key, (added.kind, added.write));
            }
        }
        let (index, table) = (self.index, self.table);
        for (key, (kind, write)) in last_logged {
            let added = last_added.get(&key).copied();
            let agrees = match (kind, write, added) {
                // Between −U and +U a key has no certain state; a row that nobody wrote is L4's.
                (RowKind::UpdateBefore, ..) | (RowKind::Insert | RowKind::UpdateAfter, None, _) => continue,
                (RowKind::Delete, _, Some((kind, _))) => kind == RowKind::Delete,
                // A delete of what the lake does not have may be left out.
                (RowKind::Delete, _, None) => {
                    let content = delta.before.and_then(|before| before.content.as_ref());
                    content.is_none_or(|content| content.at_key(key).is_none())
                }
                (_, Some(write), Some((kind, added))) => kind.adds() && added == Some(write),
                (_, Some(_), None) => false,
            };
            self.docket.judged("L7", 1);
            if !agrees {
                let writes: Vec<u32> = write.into_iter().chain(added.and_then(|(_, write)| write)).collect();
                self.violated(&writes, &[delta.snapshot], || {
                    let told = |(kind, write): (RowKind, Option<u32>)| {
                        let row = write.map_or("a row".to_owned(), |write| prose::write(index, table, write));
                        format!("{kind:?} of {row}")
                    };
                    format!(
                        "The log of bucket {} in the range [{start}, {end}) of {} ends, for one key, with {}. The snapshot \
                         adds {} for that key, and L7 demands that it adds exactly its range.",
                        prose::bucket(bucket),
                        name(delta.snapshot),
                        told((kind, write)),
                        added.map_or("nothing".to_owned(), told)
                    )
                });
            }
        }
    }

    fn violated(&mut self, writes: &[u32], snapshots: &[&LakeSnapshot], argument: impl FnOnce() -> String) {
        let mut events = prose::events(self.index, self.table, writes, &[]);
        events.extend(snapshots.iter().map(|snapshot| snapshot.n));
        self.docket.violated("L7", events, argument);
    }
}

/// `lake snapshot 3 of db.t (event 210)`.
fn name(snapshot: &LakeSnapshot) -> String {
    format!("lake snapshot {} of {} (event {})", snapshot.seen.snapshot_id, snapshot.seen.table, snapshot.n)
}
