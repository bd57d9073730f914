//! What a name stands for: a table, the `$rt` of a table, a branch or system table of it, or a view.

use std::collections::BTreeMap;

use models::contract::{RT_SUFFIX, Statement, TablePath, TableView};

use super::index::{Fate, NEVER, Operation};
use super::timeline::Known;

/// A view that may have been made.
#[derive(Clone, Copy, Debug)]
pub struct ViewMade<'h> {
    /// When it was asked for.
    pub invoked_n: u64,
    /// When that was acked; [`NEVER`] if it was not.
    pub acked_n: u64,
    /// The table that it shows.
    pub query_table: &'h TablePath,
}

/// The views of a run.
#[derive(Default)]
pub struct Names<'h> {
    /// By name: every statement that may have made it, in order.
    views: BTreeMap<&'h TablePath, Vec<ViewMade<'h>>>,
    /// By name: the first statement that may have removed, replaced or hidden what has it.
    removed_from_n: BTreeMap<&'h TablePath, u64>,
}

impl<'h> Names<'h> {
    /// Collects the views.
    pub fn of(operations: &[Operation<'h>]) -> Self {
        let mut names = Self::default();
        for operation in operations.iter().filter(|operation| operation.fate() != Fate::Failed) {
            match operation.statement {
                // A system table of the name comes first (rule 31): which of the two shows, no text demands.
                Statement::CreateView { view, .. } if is_system_table(view) => {}
                Statement::CreateView { view, query_table } => names.views.entry(view).or_default().push(ViewMade {
                    invoked_n: operation.invoked.n,
                    acked_n: operation.acked_n(),
                    query_table,
                }),
                Statement::RenameTable { table, to, .. } => {
                    names.removed_from_n.entry(table).or_insert(operation.invoked.n);
                    names.removed_from_n.entry(to).or_insert(operation.invoked.n);
                }
                // A table that takes a view's name hides it.
                Statement::DropTable { table, .. }
                | Statement::CreateTable { table, .. }
                | Statement::ReplaceTable { table, .. } => {
                    names.removed_from_n.entry(table).or_insert(operation.invoked.n);
                }
                _ => {}
            }
        }
        names
    }

    /// Whether there is a view of this name, from one ordinal to another.
    pub fn is_view(&self, name: &TablePath, from_n: u64, to_n: u64) -> Known {
        let Some(made) = self.views.get(name) else { return Known::No };
        let removed_from_n = self.removed_from_n.get(name).copied().unwrap_or(NEVER);
        if made.iter().all(|view| view.invoked_n > to_n) {
            Known::No
        } else if removed_from_n > to_n && made.iter().any(|view| view.acked_n < from_n) {
            Known::Yes
        } else {
            Known::Unknown
        }
    }

    /// The table that a view shows, where that is certain.
    pub fn shown_by(&self, view: &TablePath) -> Option<&'h TablePath> {
        match self.views.get(view)?.as_slice() {
            [only] => Some(only.query_table),
            _ => None,
        }
    }

    /// Whether a statement that names a view of a table, `t$rt` or `t`, may have met a view of the catalog instead.
    pub fn may_shadow(&self, named: &TableView, from_n: u64, to_n: u64) -> bool {
        !self.views.is_empty() && self.is_view(&named.spelled(), from_n, to_n) != Known::No
    }
}

/// Whether the name is that of what Paimon tells about a table: `t$snapshots`, and not `t$rt`.
fn is_system_table(name: &TablePath) -> bool {
    name.table().contains('$') && !name.table().ends_with(RT_SUFFIX)
}

/// The table that stands before the first `$` of a name; the name itself where there is none.
pub fn base(path: &TablePath) -> TablePath {
    match path.table().split_once('$') {
        Some((base, _)) if !base.is_empty() => TablePath::new(path.database(), base),
        _ => path.clone(),
    }
}
