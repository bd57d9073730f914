//! The durable part of the coordinator: which epochs were ever given out.
//!
//! It must never know who holds a table. An epoch is on disk before anybody learns of it, so a restart cannot give the
//! epoch of a holder that is still alive to somebody else.

use std::collections::BTreeMap;

use crate::contract::TablePath;

/// The newest epoch of every table name.
///
/// It counts per name and not per table id, because an epoch is also a commit identifier in the lake, and the lake
/// table of a name may outlive the store's (L11).
#[derive(Debug, Default)]
pub(super) struct EpochLedger {
    newest: BTreeMap<TablePath, u64>,
}

impl EpochLedger {
    /// An epoch of this table that was never used before; the first is 1.
    pub(super) fn next(&mut self, path: &TablePath) -> u64 {
        if let Some(newest) = self.newest.get_mut(path) {
            *newest += 1;
            return *newest;
        }
        self.newest.insert(path.clone(), 1);
        1
    }
}
