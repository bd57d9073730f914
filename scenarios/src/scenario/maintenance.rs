//! The maintenance's part of the nemeses: jobs that an operator has done to the tables, in the middle of everything.

use serde::Deserialize;

use super::{Permille, Range};

/// Jobs on the lake-stream tables of the run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaintenanceNemesis {
    /// The group's name, unique within the scenario; part of the names of its tags.
    pub name: String,
    /// The share of runs in which the group is on.
    pub on_permille: Permille,
    /// How many jobs, before heat.
    pub count: Range,
    /// What is done, by weight.
    pub jobs: Vec<WeightedJob>,
}

/// One kind of job.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedJob {
    /// The kind.
    pub job: JobKind,
    /// How often, in proportion to the others.
    #[serde(default = "super::nemesis::once")]
    pub weight: u64,
}

/// The kinds of [`models::maintenance::Job`] that a scenario may draw; limits of time are drawn from the run's timings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobKind {
    /// Files are rewritten as far as it is worth while.
    Compact,
    /// All files are rewritten.
    CompactFully,
    /// Old snapshots go.
    ExpireSnapshots,
    /// The newest snapshot gets a name.
    CreateTag,
    /// One of the names that this group may have given goes.
    DeleteTag,
    /// The newest tiering snapshots are undone.
    RollBack,
    /// Files that nothing leads to go.
    RemoveOrphans,
}

impl JobKind {
    /// The kind of fault that it is, as `list faults` shows it.
    pub(crate) fn fault_kind(self) -> &'static str {
        match self {
            Self::Compact | Self::CompactFully => "compaction",
            Self::ExpireSnapshots => "snapshot-expiry",
            Self::CreateTag => "tag-creation",
            Self::DeleteTag => "tag-deletion",
            Self::RollBack => "rollback",
            Self::RemoveOrphans => "orphan-clean-up",
        }
    }
}

impl MaintenanceNemesis {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.jobs.is_empty() {
            return Err(format!("expected `jobs` in group {:?} of `nemeses.maintenance`, found none", self.name));
        }
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
        if self.name.is_empty() || !self.name.bytes().all(is_plain) {
            return Err(format!(
                "expected a name of lower-case letters and `-` for a group of `nemeses.maintenance`, for it names tags, \
                 found {:?}",
                self.name
            ));
        }
        Ok(())
    }
}
