//! The plan of one run: everything that will happen, as data. A seed becomes a plan; a person may edit one by hand.
//!
//! A plan stays valid when steps are removed: statements are bound to times and not to each other, and faults are
//! addressed by meaning ("the third registration of db.t"), never by event numbers (rule 2). It never knows what a run
//! of it did.

mod address;
pub mod calls;
mod json;
mod statements;
mod survivable;
mod upkeep;
mod validate;

use std::collections::{BTreeMap, BTreeSet};

use models::config::{CatalogConfig, SystemConfig};
use models::contract::{Bounds, Side, Statement, TablePath, TableSchema};
use models::maintenance::Job;
use models::paimon::deletion_vectors::batch_reads_skip_level_0;
use models::paimon::object_stores::RenameSemantics;
use serde::{Deserialize, Serialize};

pub use address::CallAddress;
pub(crate) use survivable::{Budget, Frame, MAY_BE_TORN, slowest_link_ms};
pub(crate) use upkeep::{least_kept_ms, least_orphan_age_ms, may_expire_snapshots};

/// The version of the plan format that this build writes.
pub const PLAN_VERSION: u32 = 1;

/// The `from` of a `changes` that goes on where the session's last answer for this table ended; `earliest` before the
/// first. A plan cannot spell positions: they are the system's.
pub const NEXT_POSITION: &str = "next";

/// The `layout` of an `insert` that was planned against what the session's last `describe` of the table showed; none
/// before the first. A plan cannot spell layouts: they are the system's.
pub const DESCRIBED_LAYOUT: &str = "described";

/// What the names of columns begin with that come into being on the way: nullable INTs. A row may have one though no
/// table of the plan does, so that a write stays valid when the step that adds the column is removed.
pub const ADDED_COLUMN: &str = "added";

/// The column that names each row that a plan writes, where a table has it: unique within the table. Reads are judged
/// by it.
pub const WRITE_ID: &str = "w";

/// One run, as data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`PLAN_VERSION`].
    pub version: u32,
    /// The scenario that it came from.
    pub scenario: String,
    /// The seed of every draw that the run itself makes (latencies, file names).
    pub seed: u64,
    /// The reference system's timings.
    pub system: SystemConfig,
    /// The least that one call between two parts takes; the most is `system.max_call_ms`.
    pub min_call_ms: u64,
    /// The Paimon catalog of the query side, as its user configured it.
    #[serde(default, skip_serializing_if = "CatalogConfig::is_default")]
    pub catalog: CatalogConfig,
    /// The storage under the lake.
    #[serde(default, skip_serializing_if = "LakeStorage::is_default")]
    pub lake: LakeStorage,
    /// By how much clocks are ahead of the true time when faults begin, in milliseconds by host. All others are right.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skew_ms: BTreeMap<String, u64>,
    /// The tables that exist before the run begins.
    pub tables: Vec<PlannedTable>,
    /// How long faults may strike. Then everything is healed.
    pub chaos_ms: u64,
    /// What is done and what goes wrong.
    pub steps: Vec<Step>,
}

impl Plan {
    /// What the reference system promises with this plan's timings and tables: those that the store has at first, and
    /// those that a statement may give it.
    pub fn bounds(&self) -> Bounds {
        let at_first = self.tables.iter().filter(|planned| planned.side == Side::Store).map(|planned| &planned.table);
        let given = self.statements().filter_map(|(_, planned)| match &planned.statement {
            Statement::CreateTable { table, side: Side::Store, .. }
            | Statement::CreateOnLake { table, .. }
            | Statement::Promote { table, .. } => Some(table),
            _ => None,
        });
        // What goes wrong leaves commits behind that tiering has to find, or to give way to; and the first round of a key
        // table reads snapshots of the store's keys, in as many calls as there are keys.
        let alone = self.faults().next().is_none()
            && self.lake.is_default()
            && self.skew_ms.is_empty()
            && self.tables.iter().all(|planned| planned.schema.primary_key.is_empty())
            && self.statements().all(|(_, planned)| leaves_the_lake_alone(&planned.statement));
        self.system.bounds(at_first.chain(given).collect::<BTreeSet<_>>().len() as u64, alone)
    }

    /// The store's tables whose readers skip what no compaction has rewritten yet: the compactor's.
    pub fn compacted_tables(&self) -> impl Iterator<Item = &TablePath> {
        let of_the_store = self.tables.iter().filter(|planned| planned.side == Side::Store);
        of_the_store.filter(|planned| batch_reads_skip_level_0(&planned.schema)).map(|planned| &planned.table)
    }
}

/// Whether nothing but tiering commits to a lake-stream table, or changes it, because of this statement. What the mode
/// refuses does neither.
fn leaves_the_lake_alone(statement: &Statement) -> bool {
    !matches!(
        statement,
        Statement::InsertOverwrite { .. }
            | Statement::NativeInsert { .. }
            | Statement::AlterOptions { .. }
            | Statement::AlterColumns { .. }
            | Statement::CreateTable { .. }
            | Statement::DropTable { .. }
            | Statement::CreateOnLake { .. }
            | Statement::Enable { .. }
            | Statement::Promote { .. }
    )
}

/// What kind of storage is under the lake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LakeStorage {
    /// What its rename does, if it knows no better way to create a file that nobody else has created. Where a rename
    /// replaces what is there, committers hold a lock of the catalog (see [`RenameSemantics`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rename: Option<RenameSemantics>,
}

impl LakeStorage {
    /// Whether it creates files in one step, which is what a plan has that says nothing of it.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The kind of a rename's semantics, as `list faults` shows it.
pub fn rename_kind(semantics: RenameSemantics) -> &'static str {
    match semantics {
        RenameSemantics::Atomic => "rename-atomic",
        RenameSemantics::Overwriting => "rename-overwriting",
        RenameSemantics::FalseButDone => "rename-false-but-done",
        RenameSemantics::CopyThenDelete => "rename-copy-then-delete",
    }
}

/// The kind of a clock that is ahead from the start, as `list faults` shows it.
pub const CLOCK_SKEW: &str = "clock-skew";

/// A table that the run begins with. Statements may also name a table that comes into being on the way, if its name is
/// a planned one and a suffix that begins with `_`, like `db.t_renamed`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedTable {
    /// Its name.
    pub table: TablePath,
    /// Its definition.
    pub schema: TableSchema,
    /// `store`: a working lake-stream table. `lake`: a Paimon table, whatever its options declare.
    pub side: Side,
}

/// One statement or one fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Step {
    /// Stable and unique within the plan: every draw for this step is keyed by it (rule 1).
    pub id: String,
    /// What it is.
    #[serde(flatten)]
    pub action: Action,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// A session executes a statement.
    Run(PlannedStatement),
    /// A session closes its catalog (C17).
    Close(PlannedClose),
    /// Something goes wrong.
    Fault(Fault),
}

/// The part of the run that a statement belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Faults strike.
    Chaos,
    /// Faults have ended; the lake catches up.
    Healed,
    /// The lake has caught up; nothing else runs beside the statement.
    Drained,
}

/// A statement, by whom and when.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedStatement {
    /// The session. Its statements of one phase run one after the other, in plan order.
    pub session: String,
    /// The phase.
    pub phase: Phase,
    /// Not before so many milliseconds after the phase began (drained: ignored).
    pub at_ms: u64,
    /// After so long the harness stops waiting and the operation is indefinite.
    pub deadline_ms: u64,
    /// What is executed. `changes` may say `from`: [`NEXT_POSITION`].
    pub statement: Statement,
}

/// A session closes its catalog. Its next statement opens another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedClose {
    /// The session.
    pub session: String,
    /// The phase; the session closes after the statements that come before this step in the plan.
    pub phase: Phase,
    /// Not before so many milliseconds after the phase began (drained: ignored).
    pub at_ms: u64,
    /// Whether closing the Paimon side of the catalog fails. The store's side must be closed all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fails: bool,
}

/// Something that goes wrong. Faults strike in the chaos phase only.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fault {
    /// One call between two parts goes wrong.
    Call {
        /// Which call.
        at: CallAddress,
        /// What happens to it.
        what: CallFault,
    },
    /// A host dies and comes back.
    Crash {
        /// `store`, `coordinator`, `tiering-1` … or a session.
        host: String,
        /// When.
        at_ms: u64,
        /// How long it is down.
        restart_after_ms: u64,
    },
    /// A host stands still: it neither sends nor receives, then goes on where it was.
    Pause {
        /// As in `crash`.
        host: String,
        /// When.
        at_ms: u64,
        /// How long.
        for_ms: u64,
    },
    /// Nothing gets from `from` to `to` (and back, if `both_ways`).
    Partition {
        /// The caller's side.
        from: String,
        /// The called side: a host, or `lake`.
        to: String,
        /// Whether the other direction is cut as well.
        both_ways: bool,
        /// When.
        at_ms: u64,
        /// How long.
        for_ms: u64,
    },
    /// Everything between two hosts takes longer, both ways.
    SlowLink {
        /// The caller's side.
        from: String,
        /// The called side: a host, or `lake`.
        to: String,
        /// How much longer one way takes: less than half of the call timeout, so that answers still come.
        by_ms: u64,
        /// When.
        at_ms: u64,
        /// How long.
        for_ms: u64,
    },
    /// The storage under the lake takes no object any more; what is there can be read, listed and deleted.
    #[serde(rename = "capacity-full")]
    Full {
        /// When.
        at_ms: u64,
        /// How long.
        for_ms: u64,
    },
    /// The host `maintenance` does a job, beside whatever else happens. It takes the jobs of all tables one after the
    /// other, and one that was cut short again.
    Maintain {
        /// The table on whose files it works.
        table: TablePath,
        /// What.
        job: Job,
        /// When it is asked to.
        at_ms: u64,
    },
    /// A host's clock jumps: forward, or back if `by_ms` is negative. What it was ahead stays in force after healing.
    ClockJump {
        /// As in `crash`.
        host: String,
        /// By how much.
        by_ms: i64,
        /// When.
        at_ms: u64,
    },
    /// A session's lists of the lake show what was there when this began.
    StaleList {
        /// A session that only reads.
        host: String,
        /// When.
        at_ms: u64,
        /// How long.
        for_ms: u64,
    },
    /// Whether an object exists in the lake, a session is told as it was when this began.
    StaleExists {
        /// A session that only reads.
        host: String,
        /// When.
        at_ms: u64,
        /// How long.
        for_ms: u64,
    },
    /// The store keeps its log for a shorter time than it is configured to.
    RetentionPressure {
        /// For how long.
        ttl_ms: u64,
        /// When.
        at_ms: u64,
        /// How long.
        for_ms: u64,
    },
    /// The coordinator hears no heartbeat of a worker; whatever else it sends arrives.
    HeartbeatLoss {
        /// `tiering-1` …
        host: String,
        /// When.
        at_ms: u64,
        /// How long.
        for_ms: u64,
    },
    /// Every call to a part is refused before it has an effect.
    Outage {
        /// `store`, `coordinator`, `lake` or, with a JDBC catalog, `metastore`.
        part: String,
        /// When.
        at_ms: u64,
        /// How long.
        for_ms: u64,
    },
}

/// What happens to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum CallFault {
    /// The request arrives later than any healthy one, and so perhaps after requests that were sent after it.
    Delay {
        /// By how much.
        by_ms: u64,
    },
    /// The effect happens in time, the answer comes late.
    ReplyDelay {
        /// By how much.
        by_ms: u64,
    },
    /// Refused before it has an effect: definite.
    Refuse,
    /// The request never arrives.
    RequestLost,
    /// The effect happens, the answer never arrives.
    ReplyLost,
    /// The request arrives twice.
    Duplicate {
        /// The second arrival is so much later.
        after_ms: u64,
    },
    /// The request is overtaken: it arrives only after the next request from the same caller to the same part, or
    /// after the time limit.
    Reorder {
        /// The time limit.
        at_most_ms: u64,
    },
    /// The caller dies just before it sends.
    CallerCrashesBefore {
        /// How long it is down.
        restart_after_ms: u64,
    },
    /// The caller dies after the effect and before it learns of it.
    CallerCrashesAfter {
        /// How long it is down.
        restart_after_ms: u64,
    },
    /// The effect happens and the part answers at once that something broke: the caller cannot know.
    ErrorAfter,
    /// Only the beginning of what was to be written arrives, and the caller cannot know.
    TornWrite {
        /// How many thousandths of the bytes arrive; less than all.
        permille: u16,
    },
    /// A host that is neither caller nor called dies just before the effect.
    OtherCrashesBefore {
        /// Who dies.
        host: Bystander,
        /// How long it is down.
        restart_after_ms: u64,
    },
    /// A host that is neither caller nor called dies just after the effect.
    OtherCrashesAfter {
        /// Who dies.
        host: Bystander,
        /// How long it is down.
        restart_after_ms: u64,
    },
    /// The called host dies as the request arrives, without an effect.
    CalleeCrashesBefore {
        /// How long it is down.
        restart_after_ms: u64,
    },
    /// The called host dies after the effect and before it answers.
    CalleeCrashesAfter {
        /// How long it is down.
        restart_after_ms: u64,
    },
}

/// A host that may die while two others talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bystander {
    /// The store.
    Store,
    /// The coordinator.
    Coordinator,
    /// The planner of the first tiering worker.
    TieringPlanner,
    /// The first reader of the first tiering worker.
    TieringReader,
    /// The committer of the first tiering worker.
    TieringCommitter,
}

impl Bystander {
    /// The host's name.
    pub fn host(self) -> &'static str {
        match self {
            Self::Store => calls::STORE,
            Self::Coordinator => calls::COORDINATOR,
            Self::TieringPlanner => "tiering-1-planner",
            Self::TieringReader => "tiering-1-reader-1",
            Self::TieringCommitter => "tiering-1-committer",
        }
    }
}

impl Fault {
    /// The fault's kind, as `list faults` shows it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Call { what, .. } => what.kind(),
            Self::Crash { .. } => "crash",
            Self::Pause { .. } => "pause",
            Self::Partition { .. } => "partition",
            Self::Outage { .. } => "outage",
            Self::SlowLink { .. } => "slow-link",
            Self::Full { .. } => "capacity-full",
            Self::Maintain { job, .. } => job.name(),
            Self::ClockJump { .. } => "clock-jump",
            Self::StaleList { .. } => "stale-list",
            Self::StaleExists { .. } => "stale-exists",
            Self::RetentionPressure { .. } => "retention-pressure",
            Self::HeartbeatLoss { .. } => "heartbeat-loss",
        }
    }
}

impl CallFault {
    /// The fault's kind, as `list faults` shows it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Delay { .. } => "delay",
            Self::ReplyDelay { .. } => "reply-delay",
            Self::Refuse => "refuse",
            Self::RequestLost => "request-lost",
            Self::ReplyLost => "reply-lost",
            Self::ErrorAfter => "error-after",
            Self::TornWrite { .. } => "torn-write",
            Self::OtherCrashesBefore { .. } => "other-crashes-before",
            Self::OtherCrashesAfter { .. } => "other-crashes-after",
            Self::Duplicate { .. } => "duplicate",
            Self::Reorder { .. } => "reorder",
            Self::CallerCrashesBefore { .. } => "caller-crashes-before",
            Self::CallerCrashesAfter { .. } => "caller-crashes-after",
            Self::CalleeCrashesBefore { .. } => "callee-crashes-before",
            Self::CalleeCrashesAfter { .. } => "callee-crashes-after",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_readable_json() {
        let text = r#"{"id":"f1","fault":{"call":{"at":"tiering(db.t).lake.put-snapshot#2","what":"reply-lost"}}}"#;
        let step: Step = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&step).unwrap(), text);
    }
}
