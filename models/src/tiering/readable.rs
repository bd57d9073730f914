//! Which snapshot of a table can be read, and how much of the log its readers see.
//!
//! Of most tables every snapshot can be read as it is. Readers of a key table with deletion vectors skip level 0, where
//! tiering writes, so they see what was committed only after a compaction. What they see of a compaction's snapshot
//! follows from its files alone, bucket by bucket: all commits but those that still have files at level 0. So the offset
//! of a bucket is that of the newest tiering snapshot before the oldest commit which has. What was registered when, or by
//! whom, must never decide: a compaction may be older than what was registered last (L6).
//!
//! This module must never know who compacts, or how often.

use super::offsets::own_lake_snapshot;
use super::recover::{Inquiry, StartingPoint};
use crate::contract::{Failure, LakeSnapshot, ReadableSnapshot, TIERING_COMMIT_USER, TieredOffsets};
use crate::defects::Defect;
use crate::paimon::{PaimonTable, Snapshot};
use crate::points::Point;

/// The snapshot before it is the first of every chain of which nothing has expired.
const SECOND_SNAPSHOT: u64 = 2;

/// What a tiering snapshot makes readable by itself.
pub(super) fn readable_as_it_is(table: &PaimonTable) -> ReadableSnapshot {
    if table.readers_skip_level_0() { ReadableSnapshot::Unchanged } else { ReadableSnapshot::Tiered }
}

/// What can be read once the round has committed: of a table with deletion vectors the newest compaction that the round
/// began on, unless the store knows it already.
pub(super) async fn readable_snapshot(
    inquiry: &Inquiry<'_>,
    table: &PaimonTable,
    start: &StartingPoint,
) -> Result<ReadableSnapshot, Failure> {
    let as_it_is = readable_as_it_is(table);
    let Some(base) = start.base.as_ref().filter(|_| as_it_is != ReadableSnapshot::Tiered) else { return Ok(as_it_is) };
    let known_id = start.readable.as_ref().map_or(0, |readable| readable.snapshot_id);
    let Some(compaction) = table.newest_compaction(base, known_id).await? else { return Ok(as_it_is) };
    let seen = seen_of(inquiry, table, &compaction).await?;
    // Planted bug offsets-of-another-snapshot: what was tiered last passes for what the compaction has seen.
    let seen = match &start.newest {
        Some(newest) if inquiry.defects.has(Defect::OffsetsOfAnotherSnapshot) => {
            Some(LakeSnapshot { snapshot_id: compaction.id, offsets: newest.offsets.clone() })
        }
        _ => seen,
    };
    match seen.filter(|seen| is_all_of(start.readable.as_ref(), seen)) {
        Some(seen) => {
            inquiry.environment.reached(Point::ReadableFound);
            Ok(ReadableSnapshot::Other(seen))
        }
        None => {
            inquiry.environment.reached(Point::ReadableUnknown);
            Ok(as_it_is)
        }
    }
}

/// What readers of a compaction's snapshot see of the table's log; `None` if too much of the chain has expired to say,
/// or if nothing of this table's log was tiered before.
async fn seen_of(
    inquiry: &Inquiry<'_>,
    table: &PaimonTable,
    compaction: &Snapshot,
) -> Result<Option<LakeSnapshot>, Failure> {
    let Some(mut tiering) = own_before(inquiry, table, compaction.id).await? else { return Ok(None) };
    let Some(hidden_since) = table.level_0_since(compaction).await? else { return Ok(None) };
    let mut seen = LakeSnapshot { snapshot_id: compaction.id, offsets: tiering.offsets.clone() };
    // From the youngest to the oldest, so that the chain is walked once.
    let mut hidden_since: Vec<_> = hidden_since.into_iter().collect();
    hidden_since.sort_by(|(_, a), (_, b)| b.cmp(a));
    if !hidden_since.is_empty() {
        inquiry.environment.reached(Point::ReadableBehindItself);
    }
    for (bucket, since_id) in hidden_since {
        if tiering.snapshot_id >= since_id {
            match own_before(inquiry, table, since_id).await? {
                Some(before) => tiering = before,
                // Whatever was tiered of the buckets that are left is hidden still, if the chain begins here.
                None if table.snapshot_before(SECOND_SNAPSHOT).await?.is_some() => {
                    tiering = LakeSnapshot { snapshot_id: 0, offsets: TieredOffsets::new() };
                }
                None => return Ok(None),
            }
        }
        match tiering.offsets.get(&bucket) {
            Some(offset) => seen.offsets.insert(bucket, *offset),
            None => seen.offsets.remove(&bucket),
        };
    }
    Ok(Some(seen))
}

/// The newest tiering snapshot of this table before the one with this id.
async fn own_before(
    inquiry: &Inquiry<'_>,
    table: &PaimonTable,
    id_exclusive: u64,
) -> Result<Option<LakeSnapshot>, Failure> {
    let Some(before) = table.snapshot_before(id_exclusive).await? else { return Ok(None) };
    let tiering = table.newest_snapshot_of_user(&before, TIERING_COMMIT_USER).await?;
    own_lake_snapshot(tiering.as_ref(), inquiry.table_id(), table.schema(), inquiry.defects)
}

/// Whether nothing that could be read is hidden again, as it would be after a rollback.
fn is_all_of(known: Option<&LakeSnapshot>, seen: &LakeSnapshot) -> bool {
    let mut offsets = known.into_iter().flat_map(|known| &known.offsets);
    offsets.all(|(bucket, offset)| seen.offsets.get(bucket).is_some_and(|seen| seen >= offset))
}
