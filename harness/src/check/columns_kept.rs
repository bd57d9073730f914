//! L13: adding or renaming columns loses no column of any acked row, whichever schema its writer had.
//!
//! A row is compared by the columns that its own statement named: what it wrote there must still be there in whatever
//! is read after a column change. A column that was renamed or dropped is not followed.

use std::collections::{BTreeMap, BTreeSet};

use models::contract::{ColumnChange, RowSet, Statement, Value};

use super::index::{Fate, Index, Operation};
use super::table::Table;
use super::writes::{WRITE_ID, Written, identified, written_rows};
use super::{Docket, prose};

/// Judges L13.
pub fn judge(index: &Index, docket: &mut Docket) {
    for table in &index.tables {
        let operations: Vec<&Operation> =
            table.operations.iter().map(|position| &index.operations[*position]).collect();
        let Some(change) = operations.iter().find(|operation| changes_columns(operation)) else { continue };
        if operations.iter().any(|operation| may_replace(operation, table)) {
            continue;
        }
        let Some(written) = written_rows(operations.iter().copied()) else { continue };
        let moved = moved_columns(&operations);
        for read in operations.iter().filter(|read| read.acked_n() > change.invoked.n) {
            let Some(rows) = read.rows_of_today() else { continue };
            let shadowed =
                read.statement.view().is_some_and(|view| index.names.may_shadow(view, read.invoked.n, read.acked_n()));
            if !shadowed {
                compare(table, change, read, rows, &written, &moved, docket);
            }
        }
    }
}

fn changes_columns(operation: &Operation) -> bool {
    matches!(operation.statement, Statement::AlterColumns { .. }) && operation.fate() != Fate::Failed
}

/// Whether the statement may give rows other cells, or the name another table.
fn may_replace(operation: &Operation, table: &Table) -> bool {
    let replaces = matches!(
        operation.statement,
        Statement::Update { .. }
            | Statement::DropTable { .. }
            | Statement::RenameTable { .. }
            | Statement::ReplaceTable { .. }
    );
    replaces && operation.fate() != Fate::Failed && !table.timeline.refuses(operation)
}

/// The columns that a rename or drop may have moved.
fn moved_columns<'h>(operations: &[&'h Operation<'h>]) -> BTreeSet<&'h str> {
    let mut moved = BTreeSet::new();
    for operation in operations.iter().filter(|operation| changes_columns(operation)) {
        let Statement::AlterColumns { changes, .. } = operation.statement else { continue };
        for change in changes {
            match change {
                ColumnChange::Add { .. } => {}
                ColumnChange::Drop(name) => moved.extend([name.as_str()]),
                ColumnChange::Rename { from, to } => moved.extend([from.as_str(), to.as_str()]),
            }
        }
    }
    moved
}

fn compare(
    table: &Table,
    change: &Operation,
    read: &Operation,
    rows: &RowSet,
    written: &BTreeMap<i64, Written>,
    moved: &BTreeSet<&str>,
    docket: &mut Docket,
) {
    for (id, row) in identified(rows) {
        let Some(written) = written.get(&id).filter(|written| written.operation.fate() == Fate::Acked) else {
            continue;
        };
        let (write, cells) = (written.operation, written.row);
        docket.judged("L13", 1);
        let is_lost = |(position, column): &(usize, &std::sync::Arc<str>)| {
            let now = rows.position(column).map_or(&Value::Null, |position| &row[position]);
            !moved.contains(&***column) && !cells[*position].is_null() && now.is_null()
        };
        let Some((position, column)) = written.rows.columns.iter().enumerate().find(is_lost) else { continue };
        docket.violated("L13", [write.events(), change.events(), read.events()].concat(), || {
            format!(
                "The {} wrote the row {WRITE_ID}={id} with {column} = {:?}. The columns of {} were changed (event {}), and the \
                 {} shows that row without it. L13 demands that a column change loses no column of any acked row.",
                prose::statement(write),
                cells[position],
                table.path,
                change.invoked.n,
                prose::statement(read)
            )
        });
    }
}
