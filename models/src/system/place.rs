//! What a name asks for: a table, the freshest view of it, a branch of it, what Paimon tells about it (rules 31–33;
//! C18, C24).
//!
//! Names only: this module must never look whether anything of that name exists.

use crate::contract::{Statement, TablePath, real_time_base};
use crate::paimon::ObjectName;

use super::route::Refusal;

/// What of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Its rows.
    Whole,
    /// The freshest union: `t$rt`.
    RealTime,
    /// The rows of a branch: `t$branch_b`.
    Branch(String),
    /// What Paimon tells about it, or about a branch of it: `t$snapshots`.
    SystemTable(String),
    /// A name that means nothing, like `$rt` or `t$rt$rt`.
    Nothing,
}

impl Part {
    /// What a name within its database asks for.
    pub(super) fn of_name(name: &str) -> Self {
        Self::of(name).1
    }

    /// The table's own name, and what of it.
    fn of(name: &str) -> (String, Self) {
        if let Some(base) = real_time_base(name) {
            return (base.to_owned(), Self::RealTime);
        }
        match ObjectName::parse(name) {
            Ok(ObjectName { table, branch: None, system_table: None }) => (table, Self::Whole),
            Ok(ObjectName { table, branch: Some(branch), system_table: None }) => (table, Self::Branch(branch)),
            Ok(ObjectName { table, system_table: Some(system_table), .. }) => (table, Self::SystemTable(system_table)),
            Err(_) => (name.to_owned(), Self::Nothing),
        }
    }
}

/// Where a statement's rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The name as the statement spells it: what a view would be called.
    pub(super) spelled: TablePath,
    /// The table.
    pub(super) table: TablePath,
    /// What of it.
    pub(super) part: Part,
    /// The branch whose system table is meant, or the branch itself.
    pub(super) branch: Option<String>,
}

impl Place {
    /// The table that a name leads to, and what of it.
    pub(super) fn of_path(path: &TablePath) -> (TablePath, Part) {
        let (table, part) = Part::of(path.table());
        (TablePath::new(path.database(), &table), part)
    }

    /// The place that a statement names.
    pub(super) fn of(statement: &Statement) -> Result<Self, Refusal> {
        let path = statement.table();
        if let Some(view) = statement.view().filter(|view| view.real_time) {
            return Ok(Self { spelled: view.spelled(), table: path.clone(), part: Part::RealTime, branch: None });
        }
        let beside = match statement {
            Statement::Insert { branch, .. } => branch.as_deref(),
            _ => None,
        };
        if beside.is_none() && !path.table().contains('$') {
            return Ok(Self { spelled: path.clone(), table: path.clone(), part: Part::Whole, branch: None });
        }
        let (table, part) = Part::of(path.table());
        let part = match (part, beside) {
            (Part::Whole, Some(branch)) => Part::Branch(branch.to_owned()),
            (Part::Branch(named), Some(branch)) if named != branch => return Err(Refusal::TwoBranches),
            (part, _) => part,
        };
        let branch = match &part {
            Part::Branch(branch) => Some(branch.clone()),
            Part::SystemTable(_) => ObjectName::parse(path.table()).ok().and_then(|name| name.branch),
            Part::Whole | Part::RealTime | Part::Nothing => None,
        };
        Ok(Self { spelled: path.clone(), table: TablePath::new(path.database(), &table), part, branch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rt_is_an_alias_only_as_the_one_suffix_of_a_table() {
        for (name, part) in [
            ("t", Part::Whole),
            ("t$rt", Part::RealTime),
            ("t$branch_b", Part::Branch("b".to_owned())),
            ("t$snapshots", Part::SystemTable("snapshots".to_owned())),
            ("t$branch_b$rt", Part::SystemTable("rt".to_owned())),
            ("t$rt$rt", Part::Nothing),
            ("$rt", Part::Nothing),
        ] {
            assert_eq!(Part::of_name(name), part, "{name}");
        }
    }
}
