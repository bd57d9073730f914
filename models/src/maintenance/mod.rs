//! The maintenance of tables on the lake: what an operator's jobs do to them now and then, in the middle of whatever
//! readers and writers do.
//!
//! Jobs must be kept apart from each other on one table, as in Paimon, so one process does them all, one after the other.
//! Each can be done again after it was cut short, and then ends as if it had not been. This module must never know when a
//! job is due or who asked for it.

mod job;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::contract::{Failure, FailureCode, LakeSnapshot, Store, TIERING_COMMIT_USER, TablePath};
use crate::paimon::{
    CommitMode, CommitRequest, CompactionKind, LakeAccess, OrphansSeen, PaimonTable, Precondition, Retained, Retention,
    RollbackTarget,
};
use crate::points::Point;

pub use job::Job;

/// Whose commits those of compactions are.
pub const MAINTENANCE_COMMIT_USER: &str = "maintenance";

/// No more snapshots than this expire at once; Paimon's default.
const EXPIRE_LIMIT: u64 = 50;

/// How far a job came that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is done.
    Done,
    /// It is to go on after so many milliseconds.
    Later(u64),
}

/// The process that does the jobs.
pub struct Maintenance {
    lake: LakeAccess,
    store: Rc<dyn Store>,
    /// What nothing led to at the first look, until the second one. Lost in a crash.
    looks: RefCell<BTreeMap<TablePath, OrphansSeen>>,
}

impl Maintenance {
    /// Maintenance of the tables of this lake. The store is asked what it has registered, and for nothing else.
    pub fn new(lake: LakeAccess, store: Rc<dyn Store>) -> Self {
        Self { lake, store, looks: RefCell::default() }
    }

    /// Forgets what is volatile: how far a clean-up was.
    pub fn crash(&self) {
        self.looks.borrow_mut().clear();
    }

    /// Does a job, or goes on with it. `number` is another one at each call: it keys draws and names a commit (L11). A
    /// definite failure means that nothing has changed; after any other one the job has to be done again.
    pub async fn perform(&self, job: &Job, path: &TablePath, number: u64) -> Result<Progress, Failure> {
        let table = PaimonTable::open(&self.lake, path).await.map_err(Failure::made_definite)?;
        match job {
            Job::Compact { fully } => self.compact(&table, *fully, number).await,
            Job::ExpireSnapshots { at_least, keep_ms } => self.expire(&table, path, *at_least, *keep_ms).await,
            Job::CreateTag { name } => match table.latest_snapshot().await.map_err(Failure::made_definite)? {
                Some(newest) => table.create_tag(name, Some(newest.id), None, true).await.map(|()| Progress::Done),
                None => Ok(Progress::Done),
            },
            Job::DeleteTag { name } => {
                if table.delete_tag(name).await? {
                    self.lake.environment.reached(Point::TagDeleted);
                }
                Ok(Progress::Done)
            }
            Job::RollBack { commits } => self.roll_back(&table, *commits).await,
            Job::RemoveOrphans { older_than_ms } => self.remove_orphans(&table, path, *older_than_ms).await,
        }
    }

    async fn compact(&self, table: &PaimonTable, fully: bool, number: u64) -> Result<Progress, Failure> {
        let kind = if fully { CompactionKind::Full } else { CompactionKind::Automatic };
        let Some(base) = table.latest_snapshot().await.map_err(Failure::made_definite)? else {
            return Ok(Progress::Done);
        };
        let subject = format!("{}/compaction-{number}", base.id);
        let Some(committable) = table.compact(&subject, &base, kind).await? else { return Ok(Progress::Done) };
        let request = CommitRequest {
            subject,
            user: MAINTENANCE_COMMIT_USER.to_owned(),
            identifier: number,
            mode: CommitMode::Compact,
            properties: BTreeMap::new(),
            committable,
            precondition: Precondition::None,
        };
        if let Err(failure) = table.commit_or_delete(request).await {
            if failure.definite {
                self.lake.environment.reached(Point::CompactionLost);
            }
            return Err(failure);
        }
        self.lake.environment.reached(Point::CompactionCommitted);
        Ok(Progress::Done)
    }

    async fn expire(
        &self,
        table: &PaimonTable,
        path: &TablePath,
        at_least: u64,
        keep_ms: u64,
    ) -> Result<Progress, Failure> {
        let Some(newest) = table.latest_snapshot().await.map_err(Failure::made_definite)? else {
            return Ok(Progress::Done);
        };
        let needed = table.newest_snapshot_of_user(&newest, TIERING_COMMIT_USER).await;
        let needed = needed.map_err(Failure::made_definite)?.map(|snapshot| snapshot.id);
        let registered = self.oldest_registered(path).await.map_err(Failure::made_definite)?;
        // L9: what a round begins from, and what a union read may use, must stay readable. Who commits or registers
        // meanwhile only makes these newer, so an old answer errs on the safe side.
        let oldest_needed = [needed, registered].into_iter().flatten().min().unwrap_or(newest.id);
        let ids = table.snapshot_ids().await.map_err(Failure::made_definite)?;
        let unneeded = ids.first().map_or(0, |earliest| oldest_needed.saturating_sub(*earliest));
        let snapshots = Retained { at_least, at_most: u64::MAX, time_ms: keep_ms };
        let retention = Retention { snapshots, changelogs: snapshots, limit: unneeded.min(EXPIRE_LIMIT) };
        let expired = table.expire_snapshots(&retention).await?;
        if expired > 0 {
            self.lake.environment.reached(Point::SnapshotsExpired);
        }
        Ok(Progress::Done)
    }

    /// The oldest snapshot that the store has registered for tiering or for reads, 0 if one of them is missing; `None` if it
    /// does not know the table.
    async fn oldest_registered(&self, path: &TablePath) -> Result<Option<u64>, Failure> {
        let table = match self.store.table(path).await {
            Err(failure) if failure.code == FailureCode::NotFound => return Ok(None),
            answer => answer?,
        };
        let registered = self.store.registered_snapshots(table.table_id).await?;
        // Where nothing can be read yet, what comes to be readable is worked out from the whole chain.
        let id = |snapshot: Option<LakeSnapshot>| snapshot.map_or(0, |snapshot| snapshot.snapshot_id);
        Ok(Some(id(registered.tiered).min(id(registered.readable))))
    }

    async fn roll_back(&self, table: &PaimonTable, commits: u64) -> Result<Progress, Failure> {
        let user = TIERING_COMMIT_USER;
        let Some(newest) = table.latest_snapshot().await.map_err(Failure::made_definite)? else {
            return Ok(Progress::Done);
        };
        let found = table.newest_snapshot_of_user(&newest, user).await.map_err(Failure::made_definite)?;
        let Some(mut target) = found else { return Ok(Progress::Done) };
        for _ in 0..commits {
            let before = match table.snapshot(target.id - 1).await {
                Err(failure) if failure.code == FailureCode::NotFound => return Ok(Progress::Done),
                before => before.map_err(Failure::made_definite)?,
            };
            let found = table.newest_snapshot_of_user(&before, user).await.map_err(Failure::made_definite)?;
            let Some(found) = found else { return Ok(Progress::Done) };
            target = found;
        }
        table.rollback_to(&RollbackTarget::Snapshot(target.id)).await?;
        self.lake.environment.reached(Point::LakeRolledBack);
        Ok(Progress::Done)
    }

    /// Looks twice: the time between the looks is the least age of what goes.
    async fn remove_orphans(
        &self,
        table: &PaimonTable,
        path: &TablePath,
        older_than_ms: u64,
    ) -> Result<Progress, Failure> {
        let earlier = self.looks.borrow().get(path).cloned();
        let Some(earlier) = earlier else {
            let seen = table.find_orphans().await.map_err(Failure::made_definite)?;
            self.looks.borrow_mut().insert(path.clone(), seen);
            return Ok(Progress::Later(older_than_ms));
        };
        let age_ms = self.lake.environment.now_ms().saturating_sub(earlier.seen_at_ms);
        if age_ms < older_than_ms {
            return Ok(Progress::Later(older_than_ms - age_ms));
        }
        if !table.remove_orphans(&earlier, older_than_ms).await?.is_empty() {
            self.lake.environment.reached(Point::OrphansRemoved);
        }
        self.looks.borrow_mut().remove(path);
        Ok(Progress::Done)
    }
}
