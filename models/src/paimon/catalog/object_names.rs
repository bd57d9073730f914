//! What a name in a database can mean: `t`, `t$branch_b`, `t$snapshots`, `t$branch_b$snapshots`.

use crate::contract::{Failure, TablePath};

const SEPARATOR: char = '$';
const BRANCH_PREFIX: &str = "branch_";

/// A name taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectName {
    /// The table.
    pub table: String,
    /// The branch of it; `None` is the main one.
    pub branch: Option<String>,
    /// What of it: `snapshots`, `files`, `rt` and so on, read-only; `None` is its rows.
    pub system_table: Option<String>,
}

impl ObjectName {
    /// Takes a name apart; `invalid` if it has too many parts or an empty one.
    pub fn parse(name: &str) -> Result<Self, Failure> {
        let parts: Vec<&str> = name.split(SEPARATOR).collect();
        let (table, branch, system_table) = match parts.as_slice() {
            [table] => (table, None, None),
            [table, part] => match part.strip_prefix(BRANCH_PREFIX) {
                Some(branch) => (table, Some(branch), None),
                None => (table, None, Some(*part)),
            },
            [table, branch, system_table] if branch.starts_with(BRANCH_PREFIX) => {
                (table, branch.strip_prefix(BRANCH_PREFIX), Some(*system_table))
            }
            _ => return Err(malformed(name)),
        };
        if table.is_empty() || branch.is_some_and(str::is_empty) || system_table.is_some_and(str::is_empty) {
            return Err(malformed(name));
        }
        Ok(Self {
            table: (*table).to_owned(),
            branch: branch.map(str::to_owned),
            system_table: system_table.map(str::to_owned),
        })
    }
}

fn malformed(name: &str) -> Failure {
    Failure::invalid(format!("expected a name `table`, with `$branch_…` or a system table behind it, found `{name}`"))
}

/// `invalid` unless the name is that of a table as a whole, as everything must be that is created, altered or dropped.
pub(super) fn require_plain(path: &TablePath, what: &str) -> Result<(), Failure> {
    if !path.table().contains(SEPARATOR) {
        return Ok(());
    }
    let name = ObjectName::parse(path.table())?;
    let found = match (&name.system_table, &name.branch) {
        (Some(system_table), _) => format!("the system table `{system_table}` of {}", name.table),
        (None, branch) => format!("the branch `{}` of {}", branch.as_deref().unwrap_or_default(), name.table),
    };
    Err(Failure::invalid(format!("expected a table to be {what}, found {found}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_table_a_branch_of_it_and_what_of_it() {
        let parsed = |name: &str| {
            let name = ObjectName::parse(name).unwrap();
            (name.table, name.branch, name.system_table)
        };
        let owned = |text: &str| Some(text.to_owned());
        assert_eq!(parsed("t"), ("t".to_owned(), None, None));
        assert_eq!(parsed("t$snapshots"), ("t".to_owned(), None, owned("snapshots")));
        assert_eq!(parsed("t$branch_b"), ("t".to_owned(), owned("b"), None));
        assert_eq!(parsed("t$branch_b$rt"), ("t".to_owned(), owned("b"), owned("rt")));
        for malformed in ["", "$rt", "t$", "t$branch_", "t$rt$rt", "t$branch_b$rt$rt", "t$branch_b$"] {
            assert!(ObjectName::parse(malformed).is_err(), "{malformed}");
        }
    }
}
