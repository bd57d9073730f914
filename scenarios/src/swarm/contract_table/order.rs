//! Which forms are tried on which tables, and in which order. What changes a table for good comes last, or has a table
//! of its own.

use super::super::tables::Table;
use crate::contract::{Form, Named, Need, Verdict, expected, forms};
use crate::draw::Place;
use crate::scenario::TableKind;

/// Forms that change a table's definition for good where they succeed, each tried on a table of its own.
const DEFINITIONS: [&str; 13] = [
    "add-column",
    "rename-column",
    "drop-column",
    "mode-on",
    "mode-off-by-false",
    "mode-off-by-reset",
    "rename",
    "replace-catalog",
    "replace-create-or-replace",
    "replace-rtas",
    "truncate",
    "drop",
    "create",
];

/// What the other forms need before they mean anything.
const FIRST: [&str; 2] = ["create-branch", "create-view"];

/// The forms that make sense on the table, those that are tried on a table of their own left out where they succeed.
fn fitting<'a>(table: &'a Table, in_the_mode: bool) -> impl Iterator<Item = &'static Form> + 'a {
    forms().iter().filter(move |form| {
        let fits = form.needs.iter().all(|need| match need {
            Need::Key => table.kind == TableKind::Key,
            Need::NoKey => table.kind == TableKind::Append,
            Need::Partitions => !table.schema.partition_keys.is_empty(),
        });
        fits && !(DEFINITIONS.contains(&form.name.as_str()) && succeeds(form, in_the_mode))
    })
}

/// Whether it may change something.
fn succeeds(form: &'static Form, in_the_mode: bool) -> bool {
    // Who refuses where the store is found refuses everywhere.
    let verdict = expected(form, in_the_mode, crate::contract::StoreState::Working).verdict;
    !matches!(verdict, Verdict::Rejected | Verdict::RejectedWithAdvice | Verdict::Refused | Verdict::Missing)
}

/// Whether it is a read, or nothing can come of it.
fn leaves_alone(form: &'static Form, in_the_mode: bool) -> bool {
    let reads = ["select", "lookup", "changes", "describe"].iter().any(|word| form.name.starts_with(word));
    let verdict = expected(form, in_the_mode, crate::contract::StoreState::Working).verdict;
    reads || verdict == Verdict::Unchanged || !succeeds(form, in_the_mode)
}

/// What is tried on one table: first what leaves it alone, then what changes it with reads in between, then the former
/// once more. Each part in a drawn order.
pub(super) fn on_one_table(table: &Table, in_the_mode: bool, place: Place) -> Vec<&'static Form> {
    let (alone, changes): (Vec<_>, Vec<_>) = fitting(table, in_the_mode)
        .filter(|form| !FIRST.contains(&form.name.as_str()))
        .partition(|form| leaves_alone(form, in_the_mode));
    let mut order: Vec<&'static Form> = FIRST.iter().map(|name| super::named(name)).collect();
    order.extend(shuffled(&alone, "before", place));
    for (number, form) in shuffled(&changes, "changes", place).into_iter().enumerate() {
        order.push(form);
        let reads: Vec<&'static Form> = alone
            .iter()
            .filter(|form| form.subject == Named::Table && form.name.starts_with("select"))
            .copied()
            .collect();
        order.extend(place.pick("read-between", number as u64, &reads));
    }
    // What a write or an overwrite leaves behind in a session would show now (C15).
    order.extend(shuffled(&changes, "again", place).into_iter().take(changes.len().div_ceil(2)));
    let again = shuffled(&alone, "after", place);
    order.extend(again.into_iter().take(alone.len() / 3));
    order
}

fn shuffled(forms: &[&'static Form], site: &str, place: Place) -> Vec<&'static Form> {
    let mut keyed: Vec<(u64, &'static Form)> =
        forms.iter().enumerate().map(|(number, form)| (place.draw(site, number as u64), *form)).collect();
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, form)| form).collect()
}

/// What happens to the tables that have one kind of change each, by the table's name.
pub(super) const STORIES: &[(&str, &[&str])] = &[
    // Columns, in the mode and out of it.
    (
        "columns",
        &["add-column", "describe", "insert", "select", "rename-column", "drop-column", "describe", "select-rt"],
    ),
    (
        "plaincolumns",
        &["add-column", "describe", "insert", "select", "rename-column", "drop-column", "describe", "select"],
    ),
    // Out of the mode by `false`: like any other table.
    (
        "left",
        &[
            "rename",
            "select",
            "mode-off-by-false",
            "describe",
            "select",
            "select-rt",
            "replace-catalog",
            "insert",
            "select",
            "truncate",
            "select",
            "rename",
        ],
    ),
    // Out of the mode by reset, in again, out again.
    (
        "back",
        &[
            "mode-off-by-reset",
            "describe",
            "select-rt",
            "mode-on",
            "describe",
            "rename",
            "replace-create-or-replace",
            "truncate",
            "select",
            "mode-off-by-reset",
            "replace-rtas",
            "drop",
            "drop-missing-if-exists",
        ],
    ),
    ("dropped", &["create", "drop", "drop-missing-if-exists", "rename-missing-if-exists", "rename-missing"]),
    // A table that never knew the mode.
    (
        "plainchanged",
        &[
            "mode-off-by-reset",
            "mode-off-by-false",
            "truncate",
            "insert",
            "replace-catalog",
            "insert",
            "replace-create-or-replace",
            "insert",
            "select",
            "replace-rtas",
            "select",
            "create",
            "rename",
        ],
    ),
    ("plaindropped", &["drop", "drop-missing-if-exists"]),
    // One that has no rows when it is declared.
    (
        "plainempty",
        &[
            "mode-on",
            "describe",
            "rename",
            "replace-rtas",
            "truncate",
            "select",
            "select-rt",
            "insert",
            "mode-off-by-false",
            "rename",
        ],
    ),
];
