//! From the index files of one snapshot to those of the next.
//!
//! What an index holds is not known here: entries come and go by name.

use std::collections::BTreeSet;

use crate::contract::Failure;
use crate::paimon::{FileKind, IndexChange, IndexManifestEntry};

/// The index files after these changes, those that stay first, in their order. `rejected` if a change takes away what
/// is not there, or brings what is there already.
pub(super) fn changed(
    before: &[IndexManifestEntry],
    changes: &[IndexChange],
) -> Result<Vec<IndexManifestEntry>, Failure> {
    let mut after = before.to_vec();
    // Those that go make room for those that come.
    for gone in changes.iter().filter(|change| change.kind == FileKind::Delete) {
        match after.iter().position(|entry| identity(entry) == identity(gone)) {
            Some(position) => drop(after.remove(position)),
            None => return Err(conflict("an index file of the newest snapshot to be replaced", gone)),
        }
    }
    let mut known: BTreeSet<String> = after.iter().map(|entry| entry.file_name.clone()).collect();
    for come in changes.iter().filter(|change| change.kind == FileKind::Add) {
        if !known.insert(come.file_name.clone()) {
            return Err(conflict("a new index file", come));
        }
        after.push(come.clone());
    }
    Ok(after)
}

fn identity(entry: &IndexManifestEntry) -> (&str, &str) {
    (&entry.index_type, &entry.file_name)
}

fn conflict(expected: &str, found: &IndexChange) -> Failure {
    Failure::rejected(format!("expected {expected}, found {} of type {}", found.file_name, found.index_type))
}
