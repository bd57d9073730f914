//! What a read may show, by real time alone: the one rule behind F1, F2, L1 and L2.
//!
//! A row of an append table that binds a read must be shown unless it is superseded. A key must show a write that binds
//! the read or one that supersedes it: any write that was not, for certain, followed by a binding one.

use super::content::Content;
use super::table::{Read, Scope, Table};
use super::writes::Write;

/// A binding write that a read does not show, nor anything that supersedes it.
pub struct Missed {
    /// The write; for a key, the newest one that binds.
    pub write: u32,
    /// What the read shows of its key instead.
    pub shown: Option<u32>,
}

/// Compares a read with the writes that bind it, all of which are acked. Calls back for each miss and returns how many
/// comparisons were made.
pub fn compare(
    table: &Table,
    read: &Read,
    content: &Content,
    binds: impl Fn(&Write) -> bool,
    mut missed: impl FnMut(Missed),
) -> u64 {
    let mut judged = 0;
    if !table.has_key() {
        for (position, write) in table.writes.all.iter().enumerate() {
            let number = position as u32;
            if binds(write) && write.superseded_from_n >= read.answered.n && read.would_show(number) {
                judged += 1;
                if !content.shows[position] {
                    missed(Missed { write: number, shown: None });
                }
            }
        }
        return judged;
    }
    let mut at_key = |key: u32| {
        let writes = &table.writes.of_key[key as usize];
        // In order of invocation: the last one that binds was invoked last.
        let Some(newest) = writes.iter().copied().rfind(|write| binds(table.writes.get(*write))) else { return };
        judged += 1;
        let shown = content.at_key(key);
        if !is_permitted(table, read, key, newest, shown) {
            missed(Missed { write: newest, shown });
        }
    };
    match read.scope {
        Scope::All => (0..table.writes.of_key.len() as u32).for_each(&mut at_key),
        Scope::Key(key) => at_key(key),
        Scope::UnknownKey => {}
    }
    judged
}

/// Whether the read may show this of the key, when `newest` binds it.
fn is_permitted(table: &Table, read: &Read, key: u32, newest: u32, shown: Option<u32>) -> bool {
    let newest_invoked_n = table.writes.get(newest).invoked_n;
    let may_be_last = |write: &Write| write.invoked_n < read.answered.n && write.acked_n >= newest_invoked_n;
    match shown {
        Some(shown) => table.writes.get(shown).acked_n >= newest_invoked_n,
        None => table.writes.of_key[key as usize].iter().any(|number| {
            let write = table.writes.get(*number);
            may_be_last(write) && (write.row.is_none() || !read.would_show(*number))
        }),
    }
}
