//! The merge engine `first-row`: the first row of a key stands.

use crate::contract::RowKind;

use super::{FormatError, FormatResult, KeyValue};

/// The engine of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FirstRow {
    /// Whether deletes are passed over (option `ignore-delete`); otherwise they are refused.
    pub(super) ignores_deletes: bool,
}

impl FirstRow {
    /// The first row; `None` if there are only deletes that are ignored.
    pub(super) fn merge(&self, changes: &[&KeyValue]) -> FormatResult<Option<KeyValue>> {
        for change in changes.iter().filter(|change| !change.kind.adds()) {
            self.check_retraction(change.kind)?;
        }
        Ok(changes.iter().find(|change| change.kind.adds()).map(|change| (*change).clone()))
    }

    /// Whether a `-U` or `-D` can be merged.
    pub(super) fn check_retraction(&self, kind: RowKind) -> FormatResult<()> {
        if self.ignores_deletes {
            return Ok(());
        }
        Err(FormatError::new(format!(
            "expected only inserts into a table of merge engine first-row, found {kind:?}; \
             set `ignore-delete` to pass deletes over"
        )))
    }
}
