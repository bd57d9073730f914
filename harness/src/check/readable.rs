//! L6 where the readable snapshot is another than the newest registered one: what its readers see of it, and the log from
//! its offsets on, is the table.
//!
//! Readers of such a table see nothing of a snapshot but what was compacted, so the offsets are the system's word alone.
//! Each log entry that is known holds it to it: of each key the snapshot shows the last entry below the offset.

use std::collections::BTreeMap;

use models::contract::RowKind;

use super::content::Content;
use super::index::Index;
use super::known_log::{Bucket, BucketLog, LogEntry};
use super::table::{LakeSnapshot, Readable, Table, offset_in};
use super::{Docket, prose};

/// Judges L6 of readable snapshots.
pub fn judge(index: &Index, docket: &mut Docket) {
    for table in index.tables.iter().filter(|table| table.has_key() && table.writes.id_position.is_some()) {
        let comparable = table.buckets_with_offsets();
        for readable in &table.readable {
            let mut judged = table.judged_snapshots().iter();
            let Some(snapshot) = judged.find(|judged| judged.seen.snapshot_id == readable.snapshot_id) else {
                continue;
            };
            let Some(content) = &snapshot.content else { continue };
            for (bucket, log) in table.log.buckets.iter().filter(|(bucket, _)| comparable.contains(*bucket)) {
                Held { index, table, readable, snapshot, content, bucket: *bucket }.by(log, docket);
            }
        }
    }
}

/// A readable snapshot, held against the log of one bucket.
struct Held<'a, 'h> {
    index: &'a Index<'h>,
    table: &'a Table<'h>,
    readable: &'a Readable<'h>,
    snapshot: &'a LakeSnapshot<'h>,
    content: &'a Content,
    bucket: Bucket<'h>,
}

impl Held<'_, '_> {
    fn by(&self, log: &BucketLog, docket: &mut Docket) {
        let end = offset_in(self.readable.offsets, self.bucket);
        let mut last_of_key: BTreeMap<u32, Option<(u64, &LogEntry)>> = BTreeMap::new();
        // The first half of an update changes nothing by itself: an offset between the halves leaves the key as it was.
        for (offset, entry) in log.entries.iter().filter(|(_, entry)| entry.kind != RowKind::UpdateBefore) {
            let Some(key) = entry.key else { continue };
            let last = last_of_key.entry(key).or_default();
            if *offset < end {
                *last = Some((*offset, entry));
            }
        }
        docket.judged("L6", last_of_key.len() as u64);
        for (key, last) in last_of_key {
            let shown = self.content.at_key(key);
            let shown_offset = shown.and_then(|write| self.table.log.position.get(&write));
            let shown_offset = shown_offset.filter(|(bucket, _)| *bucket == self.bucket).map(|(_, offset)| *offset);
            match (shown, shown_offset, last) {
                (Some(shown), Some(offset), _) if offset >= end => self.disagree(end, (shown, offset), true, docket),
                (Some(_), Some(offset), Some((last, entry))) if offset < last => {
                    // What came after the row that is shown is not in the snapshot, nor in the log behind it.
                    let write = entry.write.or(shown).unwrap_or_default();
                    self.disagree(end, (write, last), false, docket);
                }
                (None, _, Some((last, entry))) if entry.kind.adds() && log.knows(0, end) => {
                    if let Some(write) = entry.write {
                        self.disagree(end, (write, last), false, docket);
                    }
                }
                _ => {}
            }
        }
    }

    fn disagree(&self, end: u64, (write, offset): (u32, u64), overlaps: bool, docket: &mut Docket) {
        let mut events = prose::events(self.index, self.table, &[write], &[]);
        events.extend([self.readable.at.n, self.snapshot.n]);
        docket.violated("L6", events, || {
            let (what, so) = if overlaps {
                ("shows what is logged", "the log after the snapshot repeats it: an overlap")
            } else {
                ("does not show what is logged last", "neither its readers nor those of the log after it see it: a gap")
            };
            format!(
                "Snapshot {} of {} is registered as readable (event {}) with the log of bucket {} up to {end} (exclusive). \
                 As its readers see it (event {}), it {what} at offset {offset} about the key of {}. So {so}, which L6 \
                 forbids.",
                self.readable.snapshot_id,
                self.table.path,
                self.readable.at.n,
                prose::bucket(self.bucket),
                self.snapshot.n,
                prose::write(self.index, self.table, write)
            )
        });
    }
}
