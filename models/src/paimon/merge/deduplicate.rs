//! The merge engine `deduplicate`: the newest change of a key stands (L5).

use super::KeyValue;

/// The engine of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deduplicate {
    /// Whether deletes are passed over (option `ignore-delete`).
    pub(super) ignores_deletes: bool,
}

impl Deduplicate {
    /// The newest change; `None` if there are deletes only and they are ignored.
    pub(super) fn merge(&self, changes: &[&KeyValue]) -> Option<KeyValue> {
        let newest = changes.iter().rev().find(|change| !self.ignores_deletes || change.kind.adds());
        newest.map(|change| (*change).clone())
    }
}
