//! Which form a statement has: any statement of any plan, not only the generated ones.

use models::contract::{ColumnChange, LAKESTREAM_ENABLED, ReplaceVia, Side, Statement, TableView};

use super::{Form, form};

/// What the name in a statement stands for when the statement begins: for `t$rt`, `t$branch_b` and `t$snapshots` that
/// is `t`, unless a view has the whole name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A table without a primary key.
    AppendTable,
    /// A table with one.
    KeyTable,
    /// A view.
    View,
    /// Nothing.
    Nothing,
}

/// How a name asks for a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// `t`
    Base,
    /// `t$rt`
    RealTime,
    /// `t$branch_b`
    Branch,
    /// `t$branch_b$rt`
    BranchRealTime,
    /// `t$rt$rt`
    Twice,
    /// `$rt`
    Bare,
    /// `t$snapshots` and the like.
    System,
}

impl Asked {
    fn of(view: &TableView) -> Self {
        if view.real_time {
            return Self::RealTime;
        }
        let name = view.path.table();
        match name.split_once('$') {
            None => Self::Base,
            Some(("", "rt")) => Self::Bare,
            Some((_, "rt$rt")) => Self::Twice,
            Some((_, rest)) if rest.starts_with("branch_") && rest.ends_with("$rt") => Self::BranchRealTime,
            Some((_, rest)) if rest.starts_with("branch_") && !rest.contains('$') => Self::Branch,
            Some(_) => Self::System,
        }
    }
}

/// The form of the statement; `None` for what the table has no row for: the store's own DDL, promotion, combinations
/// that no text speaks of.
pub fn form_of(statement: &Statement, subject: Subject) -> Option<&'static Form> {
    name_of(statement, subject).and_then(form)
}

fn name_of(statement: &Statement, subject: Subject) -> Option<&'static str> {
    let asked = match statement.view() {
        Some(view) => Asked::of(view),
        // A definition names a path, and what `$rt` means in it is the same.
        None => Asked::of(&TableView::try_from(statement.table().to_string()).ok()?),
    };
    match subject {
        // Its own name is the new view's, and `v$rt` in it is no alias.
        _ if matches!(statement, Statement::CreateView { .. }) => (subject != Subject::View).then_some("create-view"),
        Subject::View => of_view(statement),
        Subject::Nothing => of_nothing(statement, asked),
        Subject::AppendTable | Subject::KeyTable => match asked {
            Asked::Base => of_table(statement, subject == Subject::KeyTable),
            Asked::RealTime => of_real_time(statement),
            Asked::Branch | Asked::BranchRealTime | Asked::Twice | Asked::Bare | Asked::System => {
                of_other_name(statement, asked)
            }
        },
    }
}

fn of_view(statement: &Statement) -> Option<&'static str> {
    match statement {
        Statement::Select { at_timestamp_ms: None, at_snapshot: None, .. } => Some("select-view"),
        Statement::Insert { .. } => Some("insert-view"),
        _ => None,
    }
}

fn of_nothing(statement: &Statement, asked: Asked) -> Option<&'static str> {
    match statement {
        Statement::Select { .. } if asked == Asked::Bare => Some("select-bare-rt"),
        _ if asked != Asked::Base => None,
        Statement::CreateTable { side: Side::Lake, .. } => Some("create"),
        Statement::RenameTable { if_exists: true, .. } => Some("rename-missing-if-exists"),
        Statement::RenameTable { if_exists: false, .. } => Some("rename-missing"),
        Statement::DropTable { if_exists: true, side: Side::Lake, .. } => Some("drop-missing-if-exists"),
        _ => None,
    }
}

fn of_table(statement: &Statement, keyed: bool) -> Option<&'static str> {
    Some(match statement {
        Statement::Select { at_timestamp_ms: Some(_), .. } => "select-at-timestamp",
        Statement::Select { at_snapshot: Some(_), .. } => "select-at-snapshot",
        Statement::Select { filter, .. } if filter.is_empty() => "select",
        Statement::Select { .. } => "select-filter",
        Statement::Lookup { .. } => "lookup",
        Statement::Changes { .. } => "changes",
        Statement::Describe { side: Side::Lake, .. } => "describe",
        Statement::Insert { branch: Some(_), .. } => "insert-branch",
        Statement::Insert { partition: Some(_), .. } => "insert-partition",
        Statement::Insert { .. } => "insert",
        Statement::Update { .. } => "update",
        Statement::Delete { filter: Some(_), .. } => "delete-filter",
        Statement::Delete { .. } => "delete-keys",
        Statement::InsertOverwrite { .. } if keyed => "overwrite-keys",
        Statement::InsertOverwrite { partition: Some(_), .. } => "overwrite-partition",
        Statement::InsertOverwrite { .. } => "overwrite",
        Statement::NativeInsert { .. } => "native-insert",
        Statement::TruncateTable { .. } => "truncate",
        Statement::RenameTable { .. } => "rename",
        Statement::ReplaceTable { via: ReplaceVia::Catalog, .. } => "replace-catalog",
        Statement::ReplaceTable { via: ReplaceVia::CreateOrReplace, .. } => "replace-create-or-replace",
        Statement::ReplaceTable { via: ReplaceVia::Rtas, .. } => "replace-rtas",
        Statement::DropTable { side: Side::Lake, .. } => "drop",
        Statement::AlterOptions { side: Side::Lake, set, reset, .. } => of_options(set.get(LAKESTREAM_ENABLED), reset),
        Statement::AlterColumns { side: Side::Lake, changes, .. } => match changes.first()? {
            ColumnChange::Add { .. } => "add-column",
            ColumnChange::Rename { .. } => "rename-column",
            ColumnChange::Drop(_) => "drop-column",
        },
        Statement::CreateBranch { .. } => "create-branch",
        Statement::CreateTable { side: Side::Lake, if_not_exists: true, .. } => "create-if-not-exists",
        Statement::CreateTable { side: Side::Lake, .. } => "create-existing",
        Statement::CreateTable { side: Side::Store, .. }
        | Statement::DropTable { side: Side::Store, .. }
        | Statement::AlterOptions { side: Side::Store, .. }
        | Statement::AlterColumns { side: Side::Store, .. }
        | Statement::Describe { side: Side::Store, .. }
        | Statement::CreateView { .. }
        | Statement::CreateOnLake { .. }
        | Statement::Enable { .. }
        | Statement::Promote { .. } => return None,
    })
}

fn of_options(enabled: Option<&String>, reset: &[String]) -> &'static str {
    match enabled {
        Some(value) if value.trim().eq_ignore_ascii_case("true") => "mode-on",
        Some(_) => "mode-off-by-false",
        None if reset.iter().any(|key| key == LAKESTREAM_ENABLED) => "mode-off-by-reset",
        None => "alter-options",
    }
}

fn of_real_time(statement: &Statement) -> Option<&'static str> {
    Some(match statement {
        Statement::Select { at_timestamp_ms: Some(_), .. } => "select-rt-at-timestamp",
        Statement::Select { at_snapshot: Some(_), .. } => "select-rt-at-snapshot",
        Statement::Select { filter, .. } if filter.is_empty() => "select-rt",
        Statement::Select { .. } => "select-rt-filter",
        Statement::Lookup { .. } => "lookup-rt",
        Statement::Changes { .. } => "changes-rt",
        Statement::Describe { side: Side::Lake, .. } => "describe-rt",
        Statement::Insert { .. } => "insert-rt",
        Statement::Update { .. } => "update-rt",
        Statement::Delete { filter: Some(_), .. } => "delete-filter-rt",
        Statement::Delete { .. } => "delete-keys-rt",
        Statement::InsertOverwrite { .. } => "overwrite-rt",
        Statement::NativeInsert { .. } => "native-insert-rt",
        Statement::TruncateTable { .. } => "truncate-rt",
        Statement::RenameTable { .. } => "rename-rt",
        Statement::ReplaceTable { .. } => "replace-rt",
        Statement::AlterOptions { side: Side::Lake, set, reset, .. } => {
            let mode = set.contains_key(LAKESTREAM_ENABLED) || reset.iter().any(|key| key == LAKESTREAM_ENABLED);
            if mode { "mode-off-rt" } else { "alter-options-rt" }
        }
        Statement::AlterColumns { side: Side::Lake, .. } => "alter-columns-rt",
        Statement::CreateBranch { .. } => "create-branch-rt",
        Statement::DropTable { side: Side::Lake, .. } => "drop-rt",
        _ => return None,
    })
}

fn of_other_name(statement: &Statement, asked: Asked) -> Option<&'static str> {
    Some(match (asked, statement) {
        (Asked::Branch, Statement::Select { .. }) => "select-branch",
        (Asked::Branch, Statement::Insert { .. }) => "insert-branch-name",
        (Asked::BranchRealTime, Statement::Select { .. }) => "select-branch-rt",
        (Asked::Twice, Statement::Select { .. }) => "select-rt-rt",
        (Asked::Bare, Statement::Select { .. }) => "select-bare-rt",
        (Asked::System, Statement::Select { .. }) => "select-system-table",
        (Asked::System, Statement::Insert { .. }) => "insert-system-table",
        _ => return None,
    })
}
