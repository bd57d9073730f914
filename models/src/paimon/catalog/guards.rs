//! The guard of lake-stream mode.

use crate::contract::{Failure, LAKESTREAM_ENABLED};
use crate::defects::Defect;

use crate::paimon::{LakeAccess, PaimonTable};

/// The guard of the mode. Its message says how to leave the mode (C3).
pub(super) fn refuse_while_enabled(lake: &LakeAccess, table: &PaimonTable, what: &str) -> Result<(), Failure> {
    if !table.schema().lakestream_enabled() {
        return Ok(());
    }
    let path = table.path();
    if lake.defects.has(Defect::RejectionWithoutAdvice) {
        return Err(Failure::rejected(format!("table {path} is a lake-stream table and cannot be {what}")));
    }
    Err(Failure::rejected(format!(
        "table {path} is a lake-stream table and cannot be {what}; turn {LAKESTREAM_ENABLED} off first, with ALTER \
         TABLE {path} RESET ('{LAKESTREAM_ENABLED}') or by setting it to 'false'"
    )))
}
