//! One planned round, from the planner's side: it gives every split to a reader, gives it to another one where a reader
//! died with it, and waits for the committer to say how the round ended.
//!
//! It must never know what is in a split or in a commit.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;

use super::inbox::Inbox;
use super::messages::{
    Progress, RoundPlan, SplitAssignment, TieringCommitter, TieringPlanner, TieringReader, TieringTask,
};
use super::plan::SplitRange;
use crate::concurrently;
use crate::contract::{BucketId, Environment, Failure, FailureCode, TableId};
use crate::defects::{Defect, Defects};
use crate::points::Point;

/// What a planner hears while a round is under way.
pub(super) enum News {
    /// A task began a life.
    Started(TieringTask, u64),
    /// A split of this round failed.
    SplitFailed(u64, Failure),
    /// This round ended at the committer.
    RoundFinished(u64, Result<Progress, Failure>),
    /// The coordinator says that somebody else may hold the table.
    AssignmentLost,
}

/// What a planner was told: its desk.
#[derive(Default)]
pub struct Reports {
    pub(super) news: Inbox<News>,
}

#[async_trait(?Send)]
impl TieringPlanner for Reports {
    async fn task_started(&self, task: TieringTask, life: u64) -> Result<(), Failure> {
        self.news.post(News::Started(task, life));
        Ok(())
    }

    async fn split_failed(&self, _table_id: TableId, round: u64, failure: Failure) -> Result<(), Failure> {
        self.news.post(News::SplitFailed(round, failure));
        Ok(())
    }

    async fn round_finished(
        &self,
        _table_id: TableId,
        round: u64,
        outcome: Result<Progress, Failure>,
    ) -> Result<(), Failure> {
        self.news.post(News::RoundFinished(round, outcome));
        Ok(())
    }
}

/// The tasks of one worker, as its planner reaches them.
pub struct Crew {
    /// The readers, by number; at least one.
    pub readers: Vec<Rc<dyn TieringReader>>,
    /// The committer.
    pub committer: Rc<dyn TieringCommitter>,
}

/// Who has a split.
struct Holder {
    reader: usize,
    life: u64,
}

/// One round under way.
pub(super) struct Supervision<'a> {
    pub(super) plan: Rc<RoundPlan>,
    pub(super) crew: &'a Crew,
    pub(super) reports: &'a Reports,
    pub(super) environment: &'a dyn Environment,
    pub(super) defects: &'a Defects,
    /// Set once the coordinator says that somebody else may hold the table.
    pub(super) assignment_lost: &'a Cell<bool>,
}

impl Supervision<'_> {
    /// Sees the round to its end. After a failure the lake may or may not have a new snapshot; the next round finds
    /// out.
    pub(super) async fn run(&self) -> Result<Progress, Failure> {
        // What came before is of rounds that are over: a task that started since then will say so in its answers.
        self.reports.news.clear();
        self.expect_assignment()?;
        let committer_life = self.crew.committer.begin_round(self.plan.clone()).await?;
        match self.hand_out_and_wait(committer_life).await {
            Ok(outcome) => outcome,
            Err(given_up) => {
                // This only saves work: nothing but the precondition of the commit keeps two rounds apart.
                let _ = self.crew.committer.abandon_round(self.plan.table_id(), self.plan.number).await;
                Err(given_up)
            }
        }
    }

    /// What the committer says; an error if the round is given up without it.
    async fn hand_out_and_wait(&self, committer_life: u64) -> Result<Result<Progress, Failure>, Failure> {
        let mut held = BTreeMap::new();
        let splits = self.plan.splits.iter().enumerate().map(|(turn, split)| (turn, split, 1));
        self.hand_out(splits.collect(), committer_life, &mut held).await?;
        let mut attempt = 1;
        loop {
            match self.reports.news.next().await {
                News::RoundFinished(round, outcome) if round == self.plan.number => return Ok(outcome),
                News::SplitFailed(round, failure) if round == self.plan.number => return Err(failure),
                News::Started(TieringTask::Committer, life) if life > committer_life => {
                    self.environment.reached(Point::RoundLostWithCommitter);
                    return Err(Failure::indefinite(
                        FailureCode::Unavailable,
                        "the committer started anew; what it had collected is lost, and what it committed is not told",
                    ));
                }
                News::Started(TieringTask::Reader(number), life) => {
                    let lost = |split: &&SplitRange| {
                        let holder: Option<&Holder> = held.get(&split.bucket);
                        holder.is_some_and(|holder| holder.reader == number as usize && holder.life < life)
                    };
                    let lost: Vec<&SplitRange> = self.plan.splits.iter().filter(lost).collect();
                    // Planted bug reader-restart-loses-split: what a reader once took counts as read.
                    if lost.is_empty() || self.defects.has(Defect::ReaderRestartLosesSplit) {
                        continue;
                    }
                    self.environment.reached(Point::SplitHandedOutAgain);
                    attempt += 1;
                    let again = lost.into_iter().map(|split| ((number + attempt - 1) as usize, split, attempt));
                    self.hand_out(again.collect(), committer_life, &mut held).await?;
                }
                News::AssignmentLost => self.expect_assignment()?,
                News::RoundFinished(..) | News::SplitFailed(..) | News::Started(TieringTask::Committer, _) => {
                    self.environment.reached(Point::OldNewsIgnored);
                }
            }
        }
    }

    /// Gives each of these splits to the reader whose turn it is, or to the next one that takes it. Fails if nobody
    /// does.
    async fn hand_out(
        &self,
        splits: Vec<(usize, &SplitRange, u32)>,
        committer_life: u64,
        held: &mut BTreeMap<BucketId, Holder>,
    ) -> Result<(), Failure> {
        let calls = splits.iter().map(|(turn, split, attempt)| async move {
            let taken = self.offer(*turn, split, *attempt, committer_life).await?;
            Ok::<_, Failure>((split.bucket.clone(), taken))
        });
        held.extend(concurrently::all_or_first_failure(calls).await?);
        Ok(())
    }

    async fn offer(
        &self,
        turn: usize,
        split: &SplitRange,
        attempt: u32,
        committer_life: u64,
    ) -> Result<Holder, Failure> {
        let readers = &self.crew.readers;
        let mut last_failure = None;
        for reader in (0..readers.len()).map(|offset| (turn + offset) % readers.len()) {
            let (plan, split) = (self.plan.clone(), split.clone());
            let assignment = SplitAssignment { plan, committer_life, split, attempt };
            match readers[reader].assign_split(assignment).await {
                Ok(life) => return Ok(Holder { reader, life }),
                // Whoever did not answer may have it all the same. Then two read it, and the committer takes one.
                Err(failure) => last_failure = Some(failure),
            }
            self.environment.reached(Point::SplitOfferedToAnother);
        }
        Err(last_failure.unwrap_or_else(|| Failure::internal("expected a worker with at least one reader")))
    }

    /// Fails once the table was taken away.
    fn expect_assignment(&self) -> Result<(), Failure> {
        if self.assignment_lost.get() && self.plan.is_fenced(self.defects) {
            self.environment.reached(Point::AssignmentLost);
            return Err(Failure::rejected(format!(
                "epoch {} of {} is no longer the current one; the round is given up",
                self.plan.assignment.epoch,
                self.plan.path()
            )));
        }
        Ok(())
    }
}
