//! The committer of a tiering worker: once all splits of a round are read it commits what was written, registers it, and
//! tells the planner how the round ended.
//!
//! The order of effects is the whole point: data files, which nobody sees; the snapshot, which shows rows and progress
//! at once; the registration, which only repeats it. A round can die between any two of them and the next one goes on
//! from what the lake says. The committer must never know how tables and splits are handed out.

use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;
use futures::future::join;

use super::announcement::announce;
use super::collection::{Collected, Collection, Order};
use super::messages::{Progress, RoundPlan, SplitResult, TieringPlanner, TieringTask};
use super::offsets::encode_offsets;
use super::parts::TaskParts;
use super::registration::Registrar;
use crate::contract::{
    Failure, FailureCode, Host, LakeRegistration, LakeSnapshot, OFFSETS_PROPERTY, TIERING_COMMIT_USER, TieredOffsets,
};
use crate::defects::Defect;
use crate::paimon::{CommitMode, CommitRequest, Committable, PaimonTable, Precondition};
use crate::points::Point;

/// The committer of one worker, one process.
pub struct Committer {
    collection: Rc<Collection>,
    planner: Rc<dyn TieringPlanner>,
    parts: TaskParts,
}

impl Committer {
    /// The committer at this desk.
    pub fn new(collection: Rc<Collection>, planner: Rc<dyn TieringPlanner>, parts: TaskParts) -> Self {
        Self { collection, planner, parts }
    }

    async fn work(&self) {
        loop {
            match self.collection.next_order().await {
                Order::Commit(collected) => {
                    let outcome = self.commit(&collected).await;
                    self.tell(&collected.plan, outcome).await;
                }
                Order::Discard(collected) => {
                    let files = files_of(&collected.results);
                    self.discard(&collected.plan.table.reached_through(&self.parts.lake), &files).await;
                }
            }
        }
    }

    /// Deletes files that are in no commit and never will be.
    async fn discard(&self, table: &PaimonTable, files: &Committable) {
        // Planted bug abort-leaves-files: nothing is deleted.
        if self.parts.defects.has(Defect::AbortLeavesFiles) {
            return;
        }
        self.parts.environment.reached(Point::RoundAborted);
        // Files that cannot be deleted now are orphans; no snapshot refers to them.
        let _ = table.abort(files).await;
    }

    /// Tells the planner until it answers, or another round has begun.
    async fn tell(&self, plan: &RoundPlan, outcome: Result<Progress, Failure>) {
        while self.collection.newest_round() <= plan.number
            && self.planner.round_finished(plan.table_id(), plan.number, outcome.clone()).await.is_err()
        {
            self.parts.environment.reached(Point::OutcomeRetried);
            self.parts.environment.sleep_ms(self.parts.config.poll_interval_ms).await;
        }
    }

    /// Makes the round's rows visible, all at once.
    async fn commit(&self, collected: &Collected) -> Result<Progress, Failure> {
        let Collected { plan, results } = collected;
        let progress =
            if results.iter().any(|result| result.cut_short) { Progress::CutShort } else { Progress::Complete };
        if progress == Progress::CutShort {
            self.parts.environment.reached(Point::RoundCutShort);
        }
        if results.iter().all(|result| result.end_offset_exclusive.is_none()) {
            return Ok(progress);
        }
        let table = plan.table.reached_through(&self.parts.lake);
        let committable = files_of(results);
        if let Err(failure) = self.publish(&table, plan, results, &committable).await {
            // Planted bug abort-after-success: any failure passes for "nothing was committed".
            if failure.definite || self.parts.defects.has(Defect::AbortAfterSuccess) {
                self.discard(&table, &committable).await;
            }
            // Otherwise the commit took effect, or may have, or will: its files are left alone (L10).
            return Err(failure);
        }
        Ok(progress)
    }

    /// Makes the data files visible, and with them how far the lake is now; then tells the store. A definite failure
    /// means that no snapshot has these files or ever will.
    async fn publish(
        &self,
        table: &PaimonTable,
        plan: &RoundPlan,
        results: &[SplitResult],
        committable: &Committable,
    ) -> Result<(), Failure> {
        let TaskParts { store, environment, config, defects, .. } = &self.parts;
        // Cumulative: one snapshot says everything, so no older one is ever needed.
        let mut offsets = plan.offsets.clone();
        for (bucket, end) in results.iter().filter_map(|result| Some((&result.bucket, result.end_offset_exclusive?))) {
            let furthest = offsets.entry(bucket.clone()).or_insert(end);
            *furthest = end.max(*furthest);
        }
        let mut properties =
            BTreeMap::from([(OFFSETS_PROPERTY.to_owned(), self.offsets_property(table, plan, &offsets, results)?)]);
        // Planted bug offsets-property-missing: now and then the snapshot does not say how far it is.
        if defects.has(Defect::OffsetsPropertyMissing) && plan.assignment.epoch.is_multiple_of(3) {
            properties.clear();
        }
        self.expect_still_there(plan).await?;
        let request = CommitRequest {
            subject: plan.subject.clone(),
            user: TIERING_COMMIT_USER.to_owned(),
            identifier: plan.assignment.epoch,
            mode: CommitMode::Append,
            properties,
            committable: committable.clone(),
            precondition: self.precondition(table, plan).await?,
        };
        let snapshot_id = table.commit(request).await?.snapshot_id;
        // Even of a round that lost its table what is committed is registered: it is in the lake for good.
        let registrar =
            Registrar { store: &**store, environment: &**environment, poll_interval_ms: config.poll_interval_ms };
        let tiered = LakeSnapshot { snapshot_id, offsets };
        let registration = LakeRegistration { tiered, readable: plan.readable.clone(), instead_of: None };
        let registered = registrar.register(plan.table_id(), registration).await;
        registered.map_err(Failure::made_indefinite)
    }

    /// What the lake must still be like when the round commits.
    async fn precondition(&self, table: &PaimonTable, plan: &RoundPlan) -> Result<Precondition, Failure> {
        // Planted bug stale-plan-commit: the lake is compared with what is registered by now, not with the plan.
        if self.parts.defects.has(Defect::StalePlanCommit) {
            let registered = self.parts.store.registered_snapshots(plan.table_id()).await;
            let registered = registered.map_err(Failure::made_definite)?.tiered;
            let newest = match table.latest_snapshot().await.map_err(Failure::made_definite)? {
                Some(latest) => table.newest_snapshot_of_user(&latest, TIERING_COMMIT_USER).await,
                None => Ok(None),
            };
            let newest_id = newest.map_err(Failure::made_definite)?.map(|newest| newest.id);
            if newest_id > registered.map(|registered| registered.snapshot_id) {
                return Err(Failure::rejected("expected every tiering snapshot to be registered, found a newer one"));
            }
            return Ok(Precondition::None);
        }
        Ok(if plan.is_fenced(&self.parts.defects) { plan.precondition.clone() } else { Precondition::None })
    }

    fn offsets_property(
        &self,
        table: &PaimonTable,
        plan: &RoundPlan,
        offsets: &TieredOffsets,
        results: &[SplitResult],
    ) -> Result<String, Failure> {
        // Planted bug zero-row-offset-dropped: a bucket that has no rows in this round is left out.
        if self.parts.defects.has(Defect::ZeroRowOffsetDropped) {
            let mut with_rows = offsets.clone();
            let has_rows = |result: &SplitResult| !result.files.is_empty();
            with_rows.retain(|bucket, _| results.iter().any(|it| it.bucket == *bucket && has_rows(it)));
            return encode_offsets(plan.table_id(), &with_rows, table.schema());
        }
        encode_offsets(plan.table_id(), offsets, table.schema())
    }

    /// Fails, for certain before the commit, if the table was dropped or created again meanwhile. It saves the lake
    /// table of a dropped table from most late rounds; a create that takes over a lake table fences out the rest (L12).
    async fn expect_still_there(&self, plan: &RoundPlan) -> Result<(), Failure> {
        // Planted bug commit-into-recreated: the name is enough.
        if self.parts.defects.has(Defect::CommitIntoRecreated) {
            return Ok(());
        }
        let current = self.parts.store.table(plan.path()).await.map_err(Failure::made_definite)?;
        if current.table_id == plan.table_id() {
            return Ok(());
        }
        self.parts.environment.reached(Point::RoundOfDroppedTable);
        Err(Failure::definite(
            FailureCode::NotFound,
            format!(
                "expected {} to have table id {}, found {}; it was created again",
                plan.path(),
                plan.table_id(),
                current.table_id
            ),
        ))
    }
}

fn files_of(results: &[SplitResult]) -> Committable {
    Committable::merged(results.iter().map(|result| result.files.clone()))
}

#[async_trait(?Send)]
impl Host for Committer {
    fn crash(&self) {
        self.collection.begin_life();
    }

    async fn run(&self) {
        let life = self.collection.life();
        join(self.work(), announce(&*self.planner, TieringTask::Committer, life, &self.parts)).await;
    }
}
