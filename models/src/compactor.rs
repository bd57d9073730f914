//! The compactor: a job beside the system that rewrites what tiering has written, for readers who do not merge.
//!
//! It has a list of tables, and looks at one after the other, again and again. It keeps nothing: what there is to do it
//! reads off the newest snapshot, so a crash loses the compaction in flight and leaves files that nobody refers to. It
//! must never know the store, nor what was tiered or can be read: it changes files, and no rows.

use std::cell::Cell;

use async_trait::async_trait;

use crate::config::CompactorConfig;
use crate::contract::{COMPACTION_COMMIT_USER, Failure, Host, TablePath};
use crate::paimon::{
    CommitMode, CommitRequest, Committable, CompactionKind, LakeAccess, PaimonTable, Precondition, Snapshot,
};
use crate::points::Point;

/// One of so many compactions rewrites everything.
const FULL_ONE_IN: u64 = 4;

/// The reference compactor, one process.
pub struct Compactor {
    tables: Vec<TablePath>,
    lake: LakeAccess,
    config: CompactorConfig,
    /// Whether files are being written or committed.
    at_work: Cell<bool>,
    /// How many compactions were begun.
    tries: Cell<u64>,
}

impl Compactor {
    /// A compactor of these tables.
    pub fn new(tables: Vec<TablePath>, lake: LakeAccess, config: CompactorConfig) -> Self {
        Self { tables, lake, config, at_work: Cell::new(false), tries: Cell::new(0) }
    }

    /// Compacts one table, as far as it is worth while. A table that cannot be compacted now is for the next pass.
    async fn compact(&self, path: &TablePath) -> Result<(), Failure> {
        let table = PaimonTable::open(&self.lake, path).await?;
        let Some(base) = table.latest_snapshot().await? else { return Ok(()) };
        // The same base may be tried again, and its files must then have other names: those of the first try may be in
        // a snapshot that nobody was told of. A clock alone does not tell them apart, for it may jump back.
        self.tries.set(self.tries.get() + 1);
        let (now_ms, tries) = (self.lake.environment.now_ms(), self.tries.get());
        let subject = format!("{path}/compaction-of-{}-at-{now_ms}-{tries}", base.id);
        let kind = match self.lake.environment.draw("compactor.kind", &subject, 0) % FULL_ONE_IN {
            0 => CompactionKind::Full,
            _ => CompactionKind::Automatic,
        };
        self.at_work.set(true);
        let done = match table.compact(&subject, &base, kind).await {
            Ok(Some(committable)) => self.commit(&table, subject, &base, committable).await,
            Ok(None) => Ok(()),
            Err(failure) => Err(failure),
        };
        self.at_work.set(false);
        done
    }

    async fn commit(
        &self,
        table: &PaimonTable,
        subject: String,
        base: &Snapshot,
        committable: Committable,
    ) -> Result<(), Failure> {
        let environment = &self.lake.environment;
        let request = CommitRequest {
            subject,
            user: COMPACTION_COMMIT_USER.to_owned(),
            // What one compaction of a snapshot takes away, no second one can: so one of a number is in the chain (L11).
            identifier: base.id,
            mode: CommitMode::Compact,
            properties: Default::default(),
            committable,
            precondition: Precondition::None,
        };
        let committed = table.commit_or_delete(request).await;
        match &committed {
            Ok(outcome) if outcome.snapshot_id > base.id + 1 => environment.reached(Point::CompactionOvertaken),
            Ok(_) => {}
            Err(failure) if failure.definite => environment.reached(Point::CompactionRefused),
            Err(_) => environment.reached(Point::CompactionUnknown),
        }
        committed.map(|_| ())
    }
}

#[async_trait(?Send)]
impl Host for Compactor {
    /// Nothing to lose.
    fn crash(&self) {
        if self.at_work.replace(false) {
            self.lake.environment.reached(Point::CompactorCrashed);
        }
    }

    async fn run(&self) {
        loop {
            self.lake.environment.sleep_ms(self.config.interval_ms.max(1)).await;
            for table in &self.tables {
                // Whatever went wrong is tried again in the next pass.
                let _ = self.compact(table).await;
            }
        }
    }
}
