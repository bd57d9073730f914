//! The part of a scenario that runs the contract's table. Its plans enumerate: a seed names a combination of catalog,
//! state of the store and kind of table, and draws the order of what is tried.

use serde::Deserialize;

use super::Range;

/// How the contract's table is run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContractTable {
    /// The length of the chaos phase. At most a third of it can the store be away, and in that time a whole column of
    /// the table is tried.
    pub chaos_ms: Range,
    /// Rows of one insert.
    pub rows_per_write: Range,
}

impl Default for ContractTable {
    fn default() -> Self {
        Self { chaos_ms: Range::new(9_000, 9_000), rows_per_write: Range::new(1, 3) }
    }
}

impl ContractTable {
    pub(super) fn check(&self) -> Result<(), String> {
        self.chaos_ms.check_within("contract.chaos_ms", 6000, 60_000)?;
        self.rows_per_write.check_within("contract.rows_per_write", 1, 100)
    }
}
