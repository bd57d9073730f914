//! L5 of a table whose readers see nothing of a commit until a compaction has rewritten it.
//!
//! A commit changes nothing of what they see. A compaction may show less than all commits before it, because it began
//! before the last of them; but of each key it shows some state that the key has had since the one that was shown before.

use crate::check::Docket;
use crate::check::content::NOTHING;
use crate::check::index::Index;
use crate::check::table::{LakeSnapshot, Table};

use super::merge_order::{UNCLEAR, put_over, wrong_merge};

/// Each snapshot shows what the one before did; a compaction, what was added meanwhile.
pub fn judge(index: &Index, table: &Table, docket: &mut Docket) {
    let snapshots = table.judged_snapshots();
    let is_chain = (1..).zip(snapshots).all(|(id, snapshot)| snapshot.seen.snapshot_id == id);
    if !is_chain {
        return;
    }
    // The newest state of each key, and all since the one that is shown, which is the first.
    let mut newest = vec![NOTHING; table.writes.of_key.len()];
    let mut since_shown = vec![vec![NOTHING]; newest.len()];
    for snapshot in snapshots {
        let Some(content) = &snapshot.content else { return };
        let is_compaction = match snapshot.seen.kind.as_str() {
            "APPEND" => {
                put_over(&mut newest, snapshot);
                for (states, newest) in since_shown.iter_mut().zip(&newest).filter(|(s, n)| s.last() != Some(n)) {
                    states.push(*newest);
                }
                false
            }
            "COMPACT" => true,
            // What it took away is not told.
            _ => return,
        };
        for (key, states) in since_shown.iter_mut().enumerate() {
            let of_key = OfKey { index, table, snapshot, key: key as u32 };
            of_key.judge(states, content.of_key[key], is_compaction, docket);
        }
    }
}

struct OfKey<'a, 'h> {
    index: &'a Index<'h>,
    table: &'a Table<'h>,
    snapshot: &'a LakeSnapshot<'h>,
    key: u32,
}

impl OfKey<'_, '_> {
    fn judge(&self, states: &mut Vec<u32>, shown: u32, is_compaction: bool, docket: &mut Docket) {
        if states.contains(&UNCLEAR) || (shown == NOTHING && states.iter().all(|state| *state == NOTHING)) {
            return;
        }
        docket.judged("L5", 1);
        let allowed = if is_compaction { states.len() } else { 1 };
        // A state that came twice counts as the earlier one, so that the later ones stay allowed.
        match states[..allowed].iter().position(|state| *state == shown) {
            Some(position) => drop(states.drain(..position)),
            None => {
                let expected = states[allowed - 1];
                wrong_merge(self.index, self.table, self.snapshot, (expected, shown), self.key, docket);
                states.insert(0, shown);
            }
        }
    }
}
