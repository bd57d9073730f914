//! The merge engine `partial-update`: a change writes the columns that it has a value for and leaves the others.
//!
//! Columns may belong to a sequence group. Then not the order of the changes but the group's own sequence columns say
//! which values are newer, and a newer change writes all of the group, NULLs included.

use std::cmp::Ordering;

use crate::contract::{Row, RowKind, Value};

use super::field_function::{FieldFunction, Progress};
use super::sequence_order::SequenceOrder;
use super::{
    FormatError, FormatResult, KeyValue, cells_after_delete, cells_of_required_columns, null_in_required_column,
};

/// The engine of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartialUpdate {
    /// The columns in their order.
    pub(super) columns: Vec<PartialColumn>,
    /// The sequence groups.
    pub(super) groups: Vec<SequenceGroup>,
    /// The columns that cannot be NULL.
    pub(super) required_columns: Vec<usize>,
    /// Whether deletes are passed over (option `ignore-delete`).
    pub(super) ignores_deletes: bool,
    /// Whether a `-D` removes the row (option `partial-update.remove-record-on-delete`).
    pub(super) removes_row_on_delete: bool,
}

/// How one column is updated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartialColumn {
    /// The group that it belongs to, by position; the columns of the group's sequence are not among them.
    pub(super) group: Option<usize>,
    /// Whether it is part of a group's sequence.
    pub(super) in_sequence: bool,
    /// How its values are aggregated; otherwise the newest stands.
    pub(super) function: Option<FieldFunction>,
}

/// Columns that are updated together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SequenceGroup {
    /// The columns that say which change is newer.
    pub(super) order: SequenceOrder,
    /// Whether a `-D` that is newest in this group removes the row (option
    /// `partial-update.remove-record-on-sequence-group`).
    pub(super) removes_row: bool,
}

/// What a change is to a sequence group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupChange {
    /// It has no sequence, so it does not concern the group.
    None,
    /// It is at least as new as what is there.
    Newer,
    /// It is older.
    Older,
}

/// The row as far as it was put together.
struct PartialRow {
    cells: Vec<Value>,
    progress: Vec<Progress>,
    /// Whether a change that counts was met.
    begun: bool,
}

impl PartialUpdate {
    /// The row that at least one change makes; a delete if none of them wrote the row or the last one removed it.
    pub(super) fn merge(&self, changes: &[&KeyValue]) -> FormatResult<KeyValue> {
        let mut row = PartialRow {
            cells: vec![Value::Null; self.columns.len()],
            progress: vec![Progress::default(); self.columns.len()],
            begun: false,
        };
        let (mut sequence, mut written, mut removed) = (0, false, false);
        for change in changes {
            removed = false;
            if change.kind.adds() {
                self.update(&mut row, &change.row)?;
                (sequence, written, row.begun) = (change.sequence, true, true);
                continue;
            }
            if self.ignores_deletes {
                if !row.begun {
                    row.cells = cells_of_required_columns(&self.required_columns, &change.row)?;
                }
                continue;
            }
            if !row.begun {
                row.cells = cells_after_delete(&self.required_columns, &change.row)?;
                row.begun = true;
            }
            sequence = change.sequence;
            removed = self.retract(&mut row, change)?;
        }
        let kind = if removed || !written { RowKind::Delete } else { RowKind::Insert };
        Ok(KeyValue { sequence, kind, row: Row::new(row.cells) })
    }

    fn update(&self, row: &mut PartialRow, input: &Row) -> FormatResult<()> {
        if self.groups.is_empty() {
            return self.update_values(row, input);
        }
        let group_changes = self.group_changes(row, input);
        for (position, column) in self.columns.iter().enumerate() {
            let value = &input[position];
            let group_change = column.group.map(|group| group_changes[group]);
            let (accumulated, progress) = (&row.cells[position], &mut row.progress[position]);
            row.cells[position] = match (&column.function, group_change) {
                _ if column.in_sequence => continue,
                (_, Some(GroupChange::None)) | (None, Some(GroupChange::Older)) => continue,
                (Some(function), Some(GroupChange::Older)) => function.add_older(progress, accumulated, value)?,
                (Some(function), _) => function.add(progress, accumulated, value)?,
                (None, None) if value.is_null() => continue,
                (None, _) => value.clone(),
            };
        }
        self.advance_sequences(row, input, &group_changes);
        Ok(())
    }

    /// Without groups, values are overwritten by values.
    fn update_values(&self, row: &mut PartialRow, input: &Row) -> FormatResult<()> {
        if let Some(position) = self.required_columns.iter().find(|position| input[**position].is_null()) {
            return Err(null_in_required_column(*position));
        }
        for (cell, value) in row.cells.iter_mut().zip(input.cells()).filter(|(_, value)| !value.is_null()) {
            cell.clone_from(value);
        }
        Ok(())
    }

    /// Takes a `-U` or `-D` in; whether it removes the row.
    fn retract(&self, row: &mut PartialRow, change: &KeyValue) -> FormatResult<bool> {
        if self.groups.is_empty() {
            self.check_retraction(change.kind)?;
            let removes = change.kind == RowKind::Delete;
            if removes {
                row.cells = cells_after_delete(&self.required_columns, &change.row)?;
            }
            return Ok(removes);
        }
        let group_changes = self.group_changes(row, &change.row);
        let removing = |(group, group_change): (&SequenceGroup, &GroupChange)| {
            group.removes_row && *group_change == GroupChange::Newer
        };
        if change.kind == RowKind::Delete && self.groups.iter().zip(&group_changes).any(removing) {
            row.cells = cells_after_delete(&self.required_columns, &change.row)?;
            return Ok(true);
        }
        for (position, column) in self.columns.iter().enumerate() {
            let group_change = column.group.map_or(GroupChange::None, |group| group_changes[group]);
            row.cells[position] = match (&column.function, group_change) {
                (_, GroupChange::None) | (None, GroupChange::Older) => continue,
                (Some(function), _) => function.retract(&row.cells[position], &change.row[position])?,
                (None, GroupChange::Newer) => Value::Null,
            };
        }
        self.advance_sequences(row, &change.row, &group_changes);
        Ok(false)
    }

    /// What the input is to each group.
    fn group_changes(&self, row: &PartialRow, input: &Row) -> Vec<GroupChange> {
        let present = Row::new(row.cells.clone());
        let group_change = |group: &SequenceGroup| {
            if group.order.positions.iter().all(|position| input[*position].is_null()) {
                return GroupChange::None;
            }
            match group.order.compare(input, &present) {
                Ordering::Less => GroupChange::Older,
                Ordering::Equal | Ordering::Greater => GroupChange::Newer,
            }
        };
        self.groups.iter().map(group_change).collect()
    }

    fn advance_sequences(&self, row: &mut PartialRow, input: &Row, group_changes: &[GroupChange]) {
        for (group, _) in self.groups.iter().zip(group_changes).filter(|(_, change)| **change == GroupChange::Newer) {
            for position in &group.order.positions {
                row.cells[*position] = input[*position].clone();
            }
        }
    }

    /// Whether a `-U` or `-D` can be merged.
    pub(super) fn check_retraction(&self, kind: RowKind) -> FormatResult<()> {
        if self.ignores_deletes || self.removes_row_on_delete {
            return Ok(());
        }
        if self.groups.is_empty() {
            return Err(FormatError::new(format!(
                "expected only inserts and updates into a table of merge engine partial-update, found {kind:?}; set \
                 `ignore-delete`, `partial-update.remove-record-on-delete` or a `sequence-group`"
            )));
        }
        let grouped = self.columns.iter().filter(|column| column.group.is_some());
        grouped.filter_map(|column| column.function.as_ref()).try_for_each(FieldFunction::check_retraction)
    }
}
