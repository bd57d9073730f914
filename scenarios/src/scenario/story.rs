//! The stories of a workload: what single sessions do with tables of their own.

use serde::Deserialize;

use super::{Permille, Range};

/// Stories of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoryGroup {
    /// The kind.
    pub kind: StoryKind,
    /// How many.
    pub count: Range,
    /// The share that is told while faults strike; the others are told when all is healed.
    pub chaos_permille: Permille,
}

/// What stories are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoryKind {
    /// Writes that were planned against an older layout (C13).
    Layouts,
    /// Tables made, enabled, disabled and reset on the store's side (C19, C20).
    Lifecycle,
    /// Lake tables that become lake-stream tables, history included (P1–P8).
    Promotion,
    /// Tables dropped and made again under the same name while tiering goes on (L12).
    Recreate,
    /// A table that no round can tier, beside healthy ones (F7).
    BadTable,
    /// Columns added while rounds go on that were planned without them (L13).
    Columns,
    /// The mode switched off and on again with rows that no round has taken yet (L3).
    Switches,
}

impl StoryGroup {
    pub(super) fn check(&self) -> Result<(), String> {
        self.count.check_within("workload.stories.count", 0, 4)
    }
}
