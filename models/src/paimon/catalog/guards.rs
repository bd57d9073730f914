//! The guard of lake-stream mode.

use crate::contract::{Failure, LAKESTREAM_ENABLED};
use crate::defects::Defect;
use crate::points::Point;

use crate::paimon::{LakeAccess, PaimonTable};

/// What is refused while the mode is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guarded {
    /// The store finds its table by name (C1).
    Rename,
    /// It would drop what is not tiered yet, or the option without the store's knowledge (C2).
    Replace,
    /// It would leave the store's copy (C9).
    Truncate,
}

impl Guarded {
    fn done(self) -> &'static str {
        match self {
            Self::Rename => "renamed",
            Self::Replace => "replaced",
            Self::Truncate => "truncated",
        }
    }

    /// The point that its refusal is.
    fn point(self) -> Point {
        match self {
            Self::Rename => Point::GuardRename,
            Self::Replace => Point::GuardReplace,
            Self::Truncate => Point::GuardTruncate,
        }
    }

    /// The planted bug by which this one is not guarded.
    fn unguarded(self) -> Defect {
        match self {
            Self::Rename => Defect::RenameUnguarded,
            Self::Replace => Defect::ReplaceUnguarded,
            Self::Truncate => Defect::TruncateLakeOnly,
        }
    }
}

/// The guard of the mode: `rejected` while it is on. The message says how to leave the mode (C3). Once the option is
/// removed or says anything but `true`, nothing is guarded any more (C5).
pub(super) fn refuse_while_enabled(lake: &LakeAccess, table: &PaimonTable, what: Guarded) -> Result<(), Failure> {
    let schema = table.schema();
    // Off is off in every spelling; the planted bug takes an option that is there for one that is on.
    let off_is_on = lake.defects.has(Defect::OffKeepsRejecting) && schema.options.contains_key(LAKESTREAM_ENABLED);
    if !(schema.lakestream_enabled() || off_is_on) || lake.defects.has(what.unguarded()) {
        return Ok(());
    }
    lake.environment.reached(what.point());
    let (path, done) = (table.path(), what.done());
    if lake.defects.has(Defect::RejectionWithoutAdvice) {
        return Err(Failure::rejected(format!("table {path} is a lake-stream table and cannot be {done}")));
    }
    Err(Failure::rejected(format!(
        "table {path} is a lake-stream table and cannot be {done}; turn {LAKESTREAM_ENABLED} off first, with ALTER \
         TABLE {path} RESET ('{LAKESTREAM_ENABLED}') or by setting it to 'false'"
    )))
}
