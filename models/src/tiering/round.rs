//! One tiering round: recover, plan, read, write, commit, register.
//!
//! The order of effects is the whole point: data files, which nobody sees; the snapshot, which shows rows and progress
//! at once; the registration, which only repeats it. A round can die between any two of them and the next one goes on
//! from what the lake says. A round must never know how tables are handed out.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::key_snapshot::take_key_snapshots;
use super::layout::RowLayout;
use super::offsets::encode_offsets;
use super::plan::{missing_ranges, whole_batches};
use super::read::{LogReader, ReadLog};
use super::readable::readable_snapshot;
use super::recover::{StartingPoint, starting_point};
use super::registration::register;
use crate::config::WorkerConfig;
use crate::contract::{
    Environment, Failure, FailureCode, LakeRegistration, LakeSnapshot, OFFSETS_PROPERTY, ReadableSnapshot, Store,
    TIERING_COMMIT_USER, TableId, TablePath, TieredOffsets, TieringAssignment,
};
use crate::defects::{Defect, Defects};
use crate::paimon::{CommitMode, CommitRequest, Committable, LakeAccess, PaimonTable, Precondition};
use crate::points::Point;

/// One round of one worker.
pub(super) struct Round<'a> {
    pub(super) assignment: &'a TieringAssignment,
    pub(super) store: &'a dyn Store,
    pub(super) lake: &'a LakeAccess,
    pub(super) environment: &'a dyn Environment,
    pub(super) config: &'a WorkerConfig,
    pub(super) defects: &'a Defects,
    /// Set once the coordinator says that somebody else may hold the table.
    pub(super) assignment_lost: &'a Cell<bool>,
}

/// How far a round that did not fail came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// All that was planned is in the lake and registered.
    Complete,
    /// The time ran out; what was read until then is in the lake and registered.
    CutShort,
}

impl Round<'_> {
    /// The table's identity.
    pub(super) fn table_id(&self) -> TableId {
        self.assignment.table.table_id
    }

    fn path(&self) -> &TablePath {
        &self.assignment.table.path
    }

    /// Runs the round to its end. After a failure the lake may or may not have a new snapshot; the next round finds
    /// out.
    pub(super) async fn run(&self) -> Result<Progress, Failure> {
        let began_ms = self.environment.now_ms();
        let table = PaimonTable::open(self.lake, self.path()).await?;
        let start = starting_point(self, &table).await?;
        self.expect_assignment()?;
        let read = self.read(&table, &start, began_ms).await?;
        let progress = if read.cut_short { Progress::CutShort } else { Progress::Complete };
        if read.cut_short {
            self.environment.reached(Point::RoundCutShort);
        }
        // Before the commit, so that nothing can go wrong between the commit and its registration.
        let readable = readable_snapshot(self, &table, &start).await?;
        // Nothing new: an empty snapshot would say nothing either.
        if read.advanced.is_empty() {
            self.environment.reached(Point::RoundEmpty);
            self.register_readable(start.newest, readable).await?;
            return Ok(progress);
        }
        self.expect_assignment()?;
        let committable = table.write(&self.subject(), start.base.as_ref(), &read.changes).await?;
        if let Err(failure) = self.publish(&table, start, readable, &read, &committable).await {
            // Planted bug abort-after-success: any failure passes for "nothing was committed".
            // Planted bug abort-leaves-files: nothing is deleted.
            let deletes = !self.defects.has(Defect::AbortLeavesFiles);
            if deletes && (failure.definite || self.defects.has(Defect::AbortAfterSuccess)) {
                self.environment.reached(Point::RoundAborted);
                // Files that cannot be deleted now are orphans; no snapshot refers to them.
                let _ = table.abort(&committable).await;
            }
            // Otherwise the commit took effect, or may have, or will: its files are left alone (L10).
            return Err(failure);
        }
        Ok(progress)
    }

    async fn read(&self, table: &PaimonTable, start: &StartingPoint, began_ms: u64) -> Result<ReadLog, Failure> {
        let definition = &self.assignment.table.schema;
        let log = self.store.bucket_offsets(self.table_id()).await?;
        let ranges = missing_ranges(&start.offsets, log);
        let mut ranges = ranges.inspect_err(|_| self.environment.reached(Point::RoundGap))?;
        // Planted bug drain-leaves-tail: what does not fill a batch waits for more.
        if self.defects.has(Defect::DrainLeavesTail) {
            ranges = whole_batches(ranges, self.config.fetch_max_records);
        }
        take_key_snapshots(self.store, &self.assignment.table, self.config, &mut ranges).await?;
        if !ranges.is_empty() {
            // Rounds that are cut short begin with another bucket each time, so that none is left out for ever.
            let first = self.assignment.epoch % ranges.len() as u64;
            ranges.rotate_left(first as usize);
        }
        let reader = LogReader {
            store: self.store,
            environment: self.environment,
            config: self.config,
            defects: self.defects,
            table_id: self.table_id(),
            keyed: definition.has_primary_key(),
            bucket_unaware: definition.bucket_count().is_none(),
            column_count: definition.columns.len(),
            layout: RowLayout::between(self.path(), definition, table.schema())?,
        };
        reader.read(ranges, began_ms).await
    }

    /// Makes the data files visible, and with them how far the lake is now; then tells the store. A definite failure
    /// means that no snapshot has these files or ever will.
    async fn publish(
        &self,
        table: &PaimonTable,
        start: StartingPoint,
        readable: ReadableSnapshot,
        read: &ReadLog,
        committable: &Committable,
    ) -> Result<(), Failure> {
        // Cumulative: one snapshot says everything, so no older one is ever needed.
        let mut offsets = start.offsets;
        offsets.extend(read.advanced.iter().map(|(bucket, end)| (bucket.clone(), *end)));
        let mut properties =
            BTreeMap::from([(OFFSETS_PROPERTY.to_owned(), self.offsets_property(table, &offsets, read)?)]);
        // Planted bug offsets-property-missing: now and then the snapshot does not say how far it is.
        if self.defects.has(Defect::OffsetsPropertyMissing) && self.assignment.epoch.is_multiple_of(3) {
            properties.clear();
        }
        self.expect_still_there().await?;
        let request = CommitRequest {
            subject: self.subject(),
            user: TIERING_COMMIT_USER.to_owned(),
            identifier: self.assignment.epoch,
            mode: CommitMode::Append,
            properties,
            committable: committable.clone(),
            precondition: self.precondition(table, start.precondition).await?,
        };
        let replayed = self.defects.has(Defect::ReplayNotFiltered).then(|| request.clone());
        let mut committed = table.commit(request).await;
        // Planted bug replay-not-filtered: a commit without an answer is made once more, with files of its own.
        if let Some(request) = replayed
            && committed.as_ref().is_err_and(|failure| !failure.definite)
        {
            let subject = format!("{}/replay", self.subject());
            let committable = table.write(&subject, start.base.as_ref(), &read.changes).await?;
            let precondition = Precondition::None;
            committed = table.commit(CommitRequest { subject, committable, precondition, ..request }).await;
        }
        let snapshot_id = committed?.snapshot_id;
        // Even a holder that lost its table registers what it has committed: it is in the lake for good.
        let registration = LakeRegistration { tiered: LakeSnapshot { snapshot_id, offsets }, readable };
        register(self, registration).await.map_err(Failure::made_indefinite)
    }

    /// Tells the store what became readable, where nothing else is new: `tiered` is what it knows already.
    async fn register_readable(&self, tiered: Option<LakeSnapshot>, readable: ReadableSnapshot) -> Result<(), Failure> {
        match (tiered, readable) {
            (Some(tiered), ReadableSnapshot::Other(snapshot)) => {
                let readable = ReadableSnapshot::Other(snapshot);
                register(self, LakeRegistration { tiered, readable }).await?;
                self.environment.reached(Point::ReadableAlone);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What the lake must still be like when the round commits.
    async fn precondition(&self, table: &PaimonTable, planned: Precondition) -> Result<Precondition, Failure> {
        // Planted bug stale-plan-commit: the lake is compared with what is registered by now, not with the plan.
        if self.defects.has(Defect::StalePlanCommit) {
            let registered = self.store.registered_snapshots(self.table_id()).await;
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
        Ok(if self.is_fenced() { planned } else { Precondition::None })
    }

    fn offsets_property(
        &self,
        table: &PaimonTable,
        offsets: &TieredOffsets,
        read: &ReadLog,
    ) -> Result<String, Failure> {
        // Planted bug zero-row-offset-dropped: a bucket that has no rows in this round is left out.
        if self.defects.has(Defect::ZeroRowOffsetDropped) {
            let mut with_rows = offsets.clone();
            with_rows.retain(|bucket, _| read.changes.contains_key(bucket));
            return encode_offsets(self.table_id(), &with_rows, table.schema());
        }
        encode_offsets(self.table_id(), offsets, table.schema())
    }

    /// Whether this round gives way to another one of the same table.
    fn is_fenced(&self) -> bool {
        // Planted bug two-holders: who once held the table commits, whatever happened since.
        let two_holders = self.defects.has(Defect::TwoHolders);
        // Planted bug epoch-zero: epoch 0 is that of a table that nobody else has.
        let epoch_zero = self.defects.has(Defect::EpochZero) && self.assignment.epoch == 0;
        !two_holders && !epoch_zero
    }

    /// Fails once the table was taken away. This only saves work: the precondition of the commit is what keeps two
    /// rounds apart.
    fn expect_assignment(&self) -> Result<(), Failure> {
        if self.assignment_lost.get() && self.is_fenced() {
            self.environment.reached(Point::AssignmentLost);
            return Err(Failure::rejected(format!(
                "epoch {} of {} is no longer the current one; the round is given up",
                self.assignment.epoch,
                self.path()
            )));
        }
        Ok(())
    }

    /// Fails, for certain before the commit, if the assignment is lost or the table was dropped or created again
    /// meanwhile. It saves the lake table of a dropped table from most late rounds; a create that takes over a lake
    /// table fences out the rest (L12).
    async fn expect_still_there(&self) -> Result<(), Failure> {
        // Planted bug commit-into-recreated: the name is enough.
        if self.defects.has(Defect::CommitIntoRecreated) {
            return Ok(());
        }
        let current = self.store.table(self.path()).await.map_err(Failure::made_definite)?;
        if current.table_id != self.table_id() {
            self.environment.reached(Point::RoundOfDroppedTable);
            return Err(Failure::definite(
                FailureCode::NotFound,
                format!(
                    "expected {} to have table id {}, found {}; it was created again",
                    self.path(),
                    self.table_id(),
                    current.table_id
                ),
            ));
        }
        self.expect_assignment()
    }

    /// Names the round in draws.
    fn subject(&self) -> String {
        format!("{}/epoch-{}", self.path(), self.assignment.epoch)
    }
}
