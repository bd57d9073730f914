//! The merge engine `aggregation`: each column is the aggregate of its values in all changes of the key.

use crate::contract::{Row, RowKind, Value};

use super::field_function::{FieldFunction, Progress};
use super::{FormatResult, KeyValue, cells_after_delete};

/// The engine of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Aggregation {
    /// The function of each column, in the order of the columns.
    pub(super) functions: Vec<FieldFunction>,
    /// The columns that cannot be NULL.
    pub(super) required_columns: Vec<usize>,
    /// Whether a `-D` removes the row, whatever was accumulated (option `aggregation.remove-record-on-delete`).
    pub(super) removes_row_on_delete: bool,
}

impl Aggregation {
    /// The aggregates of at least one change.
    pub(super) fn merge(&self, changes: &[&KeyValue]) -> FormatResult<KeyValue> {
        let mut cells = vec![Value::Null; self.functions.len()];
        let mut progress = vec![Progress::default(); self.functions.len()];
        let (mut sequence, mut removed) = (0, false);
        for change in changes {
            sequence = change.sequence;
            removed = self.removes_row_on_delete && change.kind == RowKind::Delete;
            if removed {
                // What comes later is added to the delete's own values. Which first value was met is not forgotten
                // either: what comes after the delete does not become the first. Both as in Paimon.
                cells = cells_after_delete(&self.required_columns, &change.row)?;
                continue;
            }
            for (position, function) in self.functions.iter().enumerate() {
                let (accumulated, input) = (&cells[position], &change.row[position]);
                cells[position] = if change.kind.adds() {
                    function.add(&mut progress[position], accumulated, input)?
                } else {
                    function.retract(accumulated, input)?
                };
            }
        }
        let kind = if removed { RowKind::Delete } else { RowKind::Insert };
        Ok(KeyValue { sequence, kind, row: Row::new(cells) })
    }

    /// Whether a `-U` or `-D` can be merged.
    pub(super) fn check_retraction(&self, kind: RowKind) -> FormatResult<()> {
        if self.removes_row_on_delete && kind == RowKind::Delete {
            return Ok(());
        }
        self.functions.iter().try_for_each(FieldFunction::check_retraction)
    }
}
