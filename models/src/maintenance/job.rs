//! The jobs, as data.

use serde::{Deserialize, Serialize};

/// One thing to do to a table on the lake.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Job {
    /// Files are rewritten into fewer and larger ones; rows stay what they were (L15).
    Compact {
        /// Everything, or what the table's options find worth while.
        fully: bool,
    },
    /// Old snapshots go, and the files that nothing else needs (L10). The newest tiering snapshot stays, and with it all
    /// that came after it; so does what the store has registered, and all after that.
    ExpireSnapshots {
        /// So many of the newest are kept; at least 1.
        at_least: u64,
        /// One that was the newest within so many milliseconds is kept, for somebody may be reading it.
        keep_ms: u64,
    },
    /// The newest snapshot gets a name, and stays as long as the name does.
    CreateTag {
        /// The name.
        name: String,
    },
    /// A name goes, and with it what only it kept. If there is no such tag, nothing happens.
    DeleteTag {
        /// The name.
        name: String,
    },
    /// What came after an older tiering snapshot is undone (L8). Nobody may write to the table meanwhile, which is the
    /// business of whoever asks. If there are too few tiering snapshots, nothing happens.
    RollBack {
        /// So many of the newest tiering snapshots go, with all that came after the one before them; at least 1.
        commits: u64,
    },
    /// Files go that nothing led to for so long.
    RemoveOrphans {
        /// In milliseconds.
        older_than_ms: u64,
    },
}

impl Job {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Compact { .. } => "compaction",
            Self::ExpireSnapshots { .. } => "snapshot-expiry",
            Self::CreateTag { .. } => "tag-creation",
            Self::DeleteTag { .. } => "tag-deletion",
            Self::RollBack { .. } => "rollback",
            Self::RemoveOrphans { .. } => "orphan-clean-up",
        }
    }

    /// Whether snapshots may go by it.
    pub fn removes_snapshots(&self) -> bool {
        matches!(self, Self::ExpireSnapshots { .. })
    }
}
