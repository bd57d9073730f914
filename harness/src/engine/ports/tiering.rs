//! The tasks of a tiering worker with a port in front. What they are busy with, for keyed draws, is the round that they
//! were last given something of.

use std::rc::Rc;

use async_trait::async_trait;
use models::contract::{Failure, TableId, TieringAssignment};
use models::tiering::{
    Progress, RoundPlan, SplitAssignment, SplitResult, TieringCommitter, TieringPlanner, TieringReader, TieringTask,
};

use super::super::network::{Edge, Network, Scope};
use super::TableNames;

/// What a task is busy with in a round.
fn round(assignment: &TieringAssignment) -> String {
    format!("{}/{}", assignment.table.path, assignment.epoch)
}

/// The planner behind a port.
pub struct TieringPlannerPort {
    /// The way.
    pub network: Rc<Network>,
    /// From whom to whom.
    pub edge: Edge,
    /// The planner's desk.
    pub planner: Rc<dyn TieringPlanner>,
    /// For naming calls.
    pub names: TableNames,
}

#[async_trait(?Send)]
impl TieringPlanner for TieringPlannerPort {
    async fn task_started(&self, task: TieringTask, life: u64) -> Result<(), Failure> {
        let planner = self.planner.clone();
        self.network
            .call(&self.edge, "tiering.task-started", None, (task, life), move |(task, life)| {
                let planner = planner.clone();
                Box::pin(async move { planner.task_started(task, life).await })
            })
            .await
    }

    async fn split_failed(&self, table_id: TableId, round: u64, failure: Failure) -> Result<(), Failure> {
        let planner = self.planner.clone();
        let (table, request) = (self.names.of(table_id), (table_id, round, failure));
        self.network
            .call(&self.edge, "tiering.split-failed", table, request, move |(table_id, round, failure)| {
                let planner = planner.clone();
                Box::pin(async move { planner.split_failed(table_id, round, failure).await })
            })
            .await
    }

    async fn round_finished(
        &self,
        table_id: TableId,
        round: u64,
        outcome: Result<Progress, Failure>,
    ) -> Result<(), Failure> {
        let planner = self.planner.clone();
        let (table, request) = (self.names.of(table_id), (table_id, round, outcome));
        self.network
            .call(&self.edge, "tiering.round-finished", table, request, move |(table_id, round, outcome)| {
                let planner = planner.clone();
                Box::pin(async move { planner.round_finished(table_id, round, outcome).await })
            })
            .await
    }
}

/// A reader behind a port.
pub struct TieringReaderPort {
    /// The way.
    pub network: Rc<Network>,
    /// From whom to whom.
    pub edge: Edge,
    /// The reader's desk.
    pub reader: Rc<dyn TieringReader>,
    /// What the reader is busy with.
    pub busy_with: Rc<Scope>,
}

#[async_trait(?Send)]
impl TieringReader for TieringReaderPort {
    async fn assign_split(&self, assignment: SplitAssignment) -> Result<u64, Failure> {
        let (reader, busy_with) = (self.reader.clone(), self.busy_with.clone());
        let table = Some(assignment.plan().path().clone());
        self.network
            .call(&self.edge, "tiering.assign-split", table, assignment, move |assignment| {
                let (reader, busy_with) = (reader.clone(), busy_with.clone());
                Box::pin(async move {
                    busy_with.enter(&round(assignment.plan().assignment()));
                    reader.assign_split(assignment).await
                })
            })
            .await
    }
}

/// The committer behind a port.
pub struct TieringCommitterPort {
    /// The way.
    pub network: Rc<Network>,
    /// From whom to whom.
    pub edge: Edge,
    /// The committer's desk.
    pub committer: Rc<dyn TieringCommitter>,
    /// What the committer is busy with.
    pub busy_with: Rc<Scope>,
    /// For naming calls.
    pub names: TableNames,
}

#[async_trait(?Send)]
impl TieringCommitter for TieringCommitterPort {
    async fn begin_round(&self, plan: Rc<RoundPlan>) -> Result<u64, Failure> {
        let (committer, busy_with) = (self.committer.clone(), self.busy_with.clone());
        let table = Some(plan.path().clone());
        self.network
            .call(&self.edge, "tiering.begin-round", table, plan, move |plan| {
                let (committer, busy_with) = (committer.clone(), busy_with.clone());
                Box::pin(async move {
                    busy_with.enter(&round(plan.assignment()));
                    committer.begin_round(plan).await
                })
            })
            .await
    }

    async fn split_finished(&self, result: SplitResult) -> Result<(), Failure> {
        let committer = self.committer.clone();
        let table = self.names.of(result.table_id());
        self.network
            .call(&self.edge, "tiering.split-finished", table, result, move |result| {
                let committer = committer.clone();
                Box::pin(async move { committer.split_finished(result).await })
            })
            .await
    }

    async fn abandon_round(&self, table_id: TableId, round: u64) -> Result<(), Failure> {
        let committer = self.committer.clone();
        self.network
            .call(
                &self.edge,
                "tiering.abandon-round",
                self.names.of(table_id),
                (table_id, round),
                move |(table_id, round)| {
                    let committer = committer.clone();
                    Box::pin(async move { committer.abandon_round(table_id, round).await })
                },
            )
            .await
    }
}
