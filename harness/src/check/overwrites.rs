//! L15: files that others added after an overwrite's base snapshot stay live, or the commit fails; compaction and append
//! never remove each other's rows.
//!
//! Judged by the rows of the snapshots. An overwrite tells the snapshot that it began on. Where nothing but appends came
//! between that and the overwrite, all its files were still there when it was committed, so it had no reason to begin
//! anew: what those appends added must stay. What is acked after an overwrite is L1's and L2's.

use std::collections::BTreeSet;

use super::content::Content;
use super::index::Index;
use super::table::{LakeSnapshot, Table};
use super::{Docket, prose};

/// Judges L15.
pub fn judge(index: &Index, docket: &mut Docket) {
    for table in index.tables.iter().filter(|table| table.writes.id_position.is_some()) {
        let snapshots = table.judged_snapshots();
        for (position, snapshot) in snapshots.iter().enumerate().skip(1) {
            let before = &snapshots[position - 1];
            let (Some(had), Some(has)) = (&before.content, &snapshot.content) else { continue };
            if before.seen.snapshot_id + 1 != snapshot.seen.snapshot_id {
                continue;
            }
            let step = Step { index, table, before, snapshot, had, has };
            match snapshot.seen.kind.as_str() {
                "OVERWRITE" => step.overwrite(&snapshots[..position], docket),
                // How versions of a key are merged is L5's.
                "APPEND" | "COMPACT" if !table.has_key() => step.rewrite(docket),
                _ => {}
            }
        }
    }
}

/// A snapshot and the one before it.
struct Step<'a, 'h> {
    index: &'a Index<'h>,
    table: &'a Table<'h>,
    before: &'a LakeSnapshot<'h>,
    snapshot: &'a LakeSnapshot<'h>,
    had: &'a Content,
    has: &'a Content,
}

impl Step<'_, '_> {
    /// What was appended since the overwrite's base is still there.
    fn overwrite(&self, earlier: &[LakeSnapshot], docket: &mut Docket) {
        let Some(base_id) = self.snapshot.seen.overwrite_base else { return };
        let since: Vec<&LakeSnapshot> = earlier.iter().filter(|snapshot| snapshot.seen.snapshot_id > base_id).collect();
        let is_whole = since.first().is_some_and(|first| first.seen.snapshot_id == base_id + 1);
        if !is_whole || self.has_untold_rows() || since.iter().any(|snapshot| snapshot.seen.kind != "APPEND") {
            return;
        }
        let own: BTreeSet<u32> = self.snapshot.added.iter().filter_map(|own| own.key).collect();
        for appended in since {
            for added in appended.added.iter().filter(|added| added.kind.adds()) {
                let Some(write) = added.write else { continue };
                let is_replaced = added.key.is_some_and(|key| own.contains(&key));
                if !self.had.shows[write as usize] || is_replaced {
                    continue;
                }
                docket.judged("L15", 1);
                if !self.has.shows[write as usize] {
                    self.lost(write, Some((base_id, appended)), docket);
                }
            }
        }
    }

    /// Whether there are rows that nobody wrote (L4): each may be one that seems to miss.
    fn has_untold_rows(&self) -> bool {
        !self.has.strays.is_empty()
    }

    /// An append and a compaction leave all rows where they are.
    fn rewrite(&self, docket: &mut Docket) {
        if self.has_untold_rows() {
            return;
        }
        docket.judged("L15", u64::from(!self.had.writes.is_empty()));
        for write in &self.had.writes {
            if !self.has.shows[*write as usize] {
                self.lost(*write, None, docket);
            }
        }
    }

    fn lost(&self, write: u32, overwritten: Option<(u64, &LakeSnapshot)>, docket: &mut Docket) {
        let mut events = prose::events(self.index, self.table, &[write], &[]);
        events.extend([self.before.n, self.snapshot.n]);
        events.extend(overwritten.map(|(_, appended)| appended.n));
        docket.violated("L15", events, || {
            let why = match overwritten {
                Some((base_id, appended)) => format!(
                    "It began on snapshot {base_id}, and snapshot {} (event {}) added that row after it. L15 demands that what \
                     was added after an overwrite's base stays, or that the commit fails.",
                    appended.seen.snapshot_id, appended.n
                ),
                None => "L15 demands that compaction and append never remove each other's rows.".to_owned(),
            };
            format!(
                "Snapshot {} of {} (event {}) has {}, and snapshot {} (event {}, kind {}) has it no more. {why}",
                self.before.seen.snapshot_id,
                self.table.path,
                self.before.n,
                prose::write(self.index, self.table, write),
                self.snapshot.seen.snapshot_id,
                self.snapshot.n,
                self.snapshot.seen.kind
            )
        });
    }
}
