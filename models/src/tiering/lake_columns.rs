//! The two layouts of a lake table: user columns only, or, from older versions, three system columns behind them.
//!
//! The layout is what the columns say; no option tells it. A legacy table keeps its layout for ever, and its options are
//! nobody's to touch (C19). This module must never know what a row holds.

use crate::contract::{Column, Failure, SYSTEM_COLUMNS, TablePath};
use crate::defects::{Defect, Defects};

/// Where the system columns of a legacy table begin; `None` for a table of user columns only. `invalid` if there are
/// only some of them, in another order, of other types, or not at the end: who wrote that is unknown.
pub(super) fn first_system_column(path: &TablePath, columns: &[Column]) -> Result<Option<usize>, Failure> {
    if !columns.iter().any(|column| is_system_name(&column.name)) {
        return Ok(None);
    }
    let first = columns.len().saturating_sub(SYSTEM_COLUMNS.len());
    let (user, system) = columns.split_at(first);
    let expected = SYSTEM_COLUMNS.iter().map(|(name, data_type)| (*name, data_type));
    let found = system.iter().map(|column| (column.name.as_str(), &column.data_type));
    if expected.eq(found) && !user.iter().any(|column| is_system_name(&column.name)) {
        return Ok(Some(first));
    }
    let expected: Vec<String> =
        SYSTEM_COLUMNS.iter().map(|(name, data_type)| format!("`{name}` {data_type}")).collect();
    let found: Vec<String> = columns.iter().map(|column| format!("`{}` {}", column.name, column.data_type)).collect();
    Err(Failure::invalid(format!(
        "expected the lake table {path} to end with all of [{}], or to have none of them, found [{}]",
        expected.join(", "),
        found.join(", ")
    )))
}

/// `invalid` if a user's column has the name of a system column (C20).
pub(super) fn refuse_system_names<'a>(
    columns: impl IntoIterator<Item = &'a Column>,
    defects: &Defects,
) -> Result<(), Failure> {
    // Planted bug system-column-accepted: any name will do.
    let guarded = !defects.has(Defect::SystemColumnAccepted);
    match columns.into_iter().find(|column| guarded && is_system_name(&column.name)) {
        None => Ok(()),
        Some(column) => Err(Failure::invalid(format!(
            "expected column names other than those of the store's system columns, found `{}`",
            column.name
        ))),
    }
}

/// Whether this is the name of a system column.
pub(super) fn is_system_name(name: &str) -> bool {
    SYSTEM_COLUMNS.iter().any(|(system, _)| *system == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{DataType, FailureCode};

    fn first(columns: &[(&str, DataType)]) -> Result<Option<usize>, FailureCode> {
        let columns: Vec<Column> = columns
            .iter()
            .map(|(name, data_type)| Column { name: (*name).to_owned(), data_type: data_type.clone(), nullable: true })
            .collect();
        first_system_column(&TablePath::new("db", "t"), &columns).map_err(|failure| failure.code)
    }

    #[test]
    fn a_layout_is_clean_or_legacy_or_invalid() {
        let user = ("id", DataType::BigInt);
        let [bucket, offset, timestamp] = SYSTEM_COLUMNS;
        let invalid = Err(FailureCode::Invalid);
        assert_eq!(first(std::slice::from_ref(&user)), Ok(None));
        assert_eq!(first(&[user.clone(), bucket.clone(), offset.clone(), timestamp.clone()]), Ok(Some(1)));
        assert_eq!(first(&[user.clone(), bucket.clone(), offset.clone()]), invalid, "one is missing");
        assert_eq!(first(std::slice::from_ref(&timestamp)), invalid, "two are missing");
        assert_eq!(first(&[user.clone(), offset.clone(), bucket.clone(), timestamp.clone()]), invalid, "the order");
        assert_eq!(first(&[bucket.clone(), offset.clone(), timestamp.clone(), user.clone()]), invalid, "the place");
        let wrong = ("__offset", DataType::Int);
        assert_eq!(first(&[user, bucket, wrong, timestamp]), invalid, "the type");
    }
}
