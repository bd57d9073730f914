//! What the tasks of one tiering worker say to each other: who is to read what, what was read, how a round ended.
//!
//! Each method is one remote call: it can be lost, late or doubled, and whoever is called may be dead. So every message
//! says which round it is of and, where that matters, which life of the called task it is meant for; what is of another
//! round or life is refused and changes nothing. The messages carry files of the reference's lake table, so they are
//! the reference's own and no part of the contract.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use async_trait::async_trait;

use super::plan::SplitRange;
use crate::contract::{BucketId, Failure, ReadableSnapshot, TableId, TablePath, TieredOffsets, TieringAssignment};
use crate::defects::{Defect, Defects};
use crate::paimon::{Committable, PaimonTable, Precondition, Snapshot};

/// What one round is to bring into the lake, and from where. Every task of the round has the same plan.
#[derive(Clone)]
pub struct RoundPlan {
    /// The how-manieth round of its worker it is, from 1. A planner that restarts counts on, as one that draws its
    /// numbers from something durable does.
    pub(super) number: u64,
    /// The right to this round.
    pub(super) assignment: TieringAssignment,
    /// Names the round in draws.
    pub(super) subject: String,
    /// The lake table as the planner opened it.
    pub(super) table: PaimonTable,
    /// The newest snapshot when the plan was made, whoever made it.
    pub(super) base: Option<Snapshot>,
    /// The highest sequence number of each bucket in it: new files go on behind (L5).
    pub(super) highest_sequences: BTreeMap<BucketId, i64>,
    /// What the lake contains of each bucket's log.
    pub(super) offsets: TieredOffsets,
    /// What must still hold when the round commits.
    pub(super) precondition: Precondition,
    /// What can be read once it has. It is known before, so that nothing can go wrong between commit and registration.
    pub(super) readable: ReadableSnapshot,
    /// How much longer the log is read, from when a reader has its first split.
    pub(super) read_for_ms: u64,
    /// What the lake lacks, at most one range a bucket and none empty.
    pub(super) splits: Vec<SplitRange>,
}

impl RoundPlan {
    /// The how-manieth round of its worker it is.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The right to this round, with the table.
    pub fn assignment(&self) -> &TieringAssignment {
        &self.assignment
    }

    /// The table's identity.
    pub fn table_id(&self) -> TableId {
        self.assignment.table.table_id
    }

    /// The table's name.
    pub fn path(&self) -> &TablePath {
        &self.assignment.table.path
    }

    /// Whether this round gives way to another one of the same table.
    pub(super) fn is_fenced(&self, defects: &Defects) -> bool {
        is_fenced(&self.assignment, defects)
    }
}

/// Whether a round under this assignment gives way to another one of the same table.
pub(super) fn is_fenced(assignment: &TieringAssignment, defects: &Defects) -> bool {
    // Planted bug two-holders: who once held the table commits, whatever happened since.
    let two_holders = defects.has(Defect::TwoHolders);
    // Planted bug epoch-zero: epoch 0 is that of a table that nobody else has.
    let epoch_zero = defects.has(Defect::EpochZero) && assignment.epoch == 0;
    !two_holders && !epoch_zero
}

impl Hash for RoundPlan {
    /// By what the planner decided; the rest follows from the lake.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let base_id = self.base.as_ref().map(|base| base.id);
        (self.number, &self.assignment, &self.subject, base_id, &self.offsets).hash(state);
        for split in &self.splits {
            split.hash(state);
        }
    }
}

/// One bucket's part of a round, for one reader.
#[derive(Clone, Hash)]
pub struct SplitAssignment {
    /// The round.
    pub(super) plan: Rc<RoundPlan>,
    /// Which life of the committer collects the round's results.
    pub(super) committer_life: u64,
    /// What is to be read.
    pub(super) split: SplitRange,
    /// The how-manieth hand-out of this split in its round, from 1.
    pub(super) attempt: u32,
}

impl SplitAssignment {
    /// The round of which it is a part.
    pub fn plan(&self) -> &RoundPlan {
        &self.plan
    }
}

/// What became of one split.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SplitResult {
    /// The round's number.
    pub(super) round: u64,
    /// The round's table.
    pub(super) table_id: TableId,
    /// Which life of the committer it is meant for.
    pub(super) committer_life: u64,
    /// The bucket that was read.
    pub(super) bucket: BucketId,
    /// How far it was read, exclusive; `None` if not at all.
    pub(super) end_offset_exclusive: Option<u64>,
    /// Whether the time ran out before all of it was read.
    pub(super) cut_short: bool,
    /// Where the rows are. Nobody sees them before a commit names them.
    pub(super) files: Committable,
}

impl SplitResult {
    /// The table's identity.
    pub fn table_id(&self) -> TableId {
        self.table_id
    }
}

/// How far a round that did not fail came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Progress {
    /// All that was planned is in the lake and registered.
    Complete,
    /// The time ran out; what was read until then is in the lake and registered.
    CutShort,
}

/// A task that takes orders from a planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TieringTask {
    /// The reader with this number, from 0.
    Reader(u32),
    /// The committer.
    Committer,
}

/// The planner, as the other tasks of its worker reach it. It takes every message; what says nothing of its round is
/// forgotten.
#[async_trait(?Send)]
pub trait TieringPlanner {
    /// A task began its life number `life`. Whatever an earlier life was given is lost.
    async fn task_started(&self, task: TieringTask, life: u64) -> Result<(), Failure>;

    /// A split of this round of the table cannot be read, or its rows not be written.
    async fn split_failed(&self, table_id: TableId, round: u64, failure: Failure) -> Result<(), Failure>;

    /// This round of the table came to an end at the committer.
    async fn round_finished(
        &self,
        table_id: TableId,
        round: u64,
        outcome: Result<Progress, Failure>,
    ) -> Result<(), Failure>;
}

/// A reader, as its planner reaches it.
#[async_trait(?Send)]
pub trait TieringReader {
    /// Gives it a split to read, write and report; returns which life of the reader has it now. `rejected` if it knows
    /// of a newer round.
    async fn assign_split(&self, assignment: SplitAssignment) -> Result<u64, Failure>;
}

/// The committer, as the other tasks of its worker reach it.
#[async_trait(?Send)]
pub trait TieringCommitter {
    /// Begins to collect the results of a round, and forgets any other; returns which life of the committer does.
    /// `rejected` if it knows of a newer round.
    async fn begin_round(&self, plan: Rc<RoundPlan>) -> Result<u64, Failure>;

    /// A split was read and its rows are written. With the last one of its round the commit begins. `rejected` if the
    /// round is not being collected, by this life, or has a result of that bucket: then these files are in no commit
    /// because of this message, and never will be.
    async fn split_finished(&self, result: SplitResult) -> Result<(), Failure>;

    /// Gives up a round, unless it is being committed already.
    async fn abandon_round(&self, table_id: TableId, round: u64) -> Result<(), Failure>;
}
