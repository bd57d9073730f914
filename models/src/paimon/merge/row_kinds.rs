//! What a written change does, before anything is merged: Paimon's options `rowkind.field`, `ignore-delete` and
//! `ignore-update-before`.

use crate::contract::{Row, RowKind, Value};

use super::{FormatError, FormatResult};

/// The rules of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowKindRules {
    /// The column that says what a change does, as `+I`, `-U`, `+U` or `-D`; if there is one, what the writer says does
    /// not count.
    pub(super) kind_position: Option<usize>,
    /// Whether `-U` and `-D` are not written.
    pub(super) ignores_deletes: bool,
    /// Whether `-U` is not written.
    pub(super) ignores_update_before: bool,
}

impl RowKindRules {
    /// Whether every change is written as it comes.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// What the change is written as; `None` if it is not written.
    pub fn kind_of(&self, kind: RowKind, row: &Row) -> FormatResult<Option<RowKind>> {
        let kind = match self.kind_position {
            None => kind,
            Some(position) => kind_of_cell(&row[position])?,
        };
        let ignored = match kind {
            RowKind::Insert | RowKind::UpdateAfter => false,
            RowKind::UpdateBefore => self.ignores_deletes || self.ignores_update_before,
            RowKind::Delete => self.ignores_deletes,
        };
        Ok((!ignored).then_some(kind))
    }
}

fn kind_of_cell(cell: &Value) -> FormatResult<RowKind> {
    match cell.as_str() {
        Some("+I") => Ok(RowKind::Insert),
        Some("-U") => Ok(RowKind::UpdateBefore),
        Some("+U") => Ok(RowKind::UpdateAfter),
        Some("-D") => Ok(RowKind::Delete),
        _ => {
            Err(FormatError::new(format!("expected +I, -U, +U or -D in the column of `rowkind.field`, found {cell:?}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_kinds_are_not_written() {
        use RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};
        let written = |ignores_deletes, ignores_update_before| {
            let rules = RowKindRules { kind_position: None, ignores_deletes, ignores_update_before };
            let row = Row::new(Vec::new());
            let kinds = [Insert, UpdateBefore, UpdateAfter, Delete];
            kinds.into_iter().filter_map(|kind| rules.kind_of(kind, &row).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(written(false, false), [Insert, UpdateBefore, UpdateAfter, Delete]);
        assert_eq!(written(false, true), [Insert, UpdateAfter, Delete]);
        assert_eq!(written(true, false), [Insert, UpdateAfter]);
    }

    #[test]
    fn a_column_may_say_what_a_change_does() {
        let rules = RowKindRules { kind_position: Some(0), ..RowKindRules::default() };
        let row = |cell: Value| Row::new(vec![cell]);
        assert_eq!(rules.kind_of(RowKind::Insert, &row(Value::string("-D"))), Ok(Some(RowKind::Delete)));
        assert!(rules.kind_of(RowKind::Insert, &row(Value::string("D"))).is_err());
        assert!(rules.kind_of(RowKind::Insert, &row(Value::Null)).is_err());
    }
}
