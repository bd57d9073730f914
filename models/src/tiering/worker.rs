//! The tiering worker: it asks for a table, runs one round, says how it ended, and asks again.
//!
//! It keeps nothing between rounds, so a crash loses only the round in flight. It must never know what other workers
//! do; that two of them hold one table is possible and harmless (see [`crate::tiering`]).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

use async_trait::async_trait;
use futures::future::{Either, select};

use super::round::{Progress, Round};
use crate::config::WorkerConfig;
use crate::contract::{
    Coordinator, Environment, Failure, FailureCode, Host, RoundEnd, Store, TableId, TieringAssignment,
};
use crate::defects::{Defect, Defects};
use crate::paimon::LakeAccess;
use crate::points::Point;

/// How often the end of a round is reported where there is no answer; a coordinator that does not hear of it takes the
/// table back after its heartbeat timeout.
const REPORT_ATTEMPTS: u32 = 3;

/// The reference tiering worker, one process.
pub struct TieringWorker {
    name: String,
    coordinator: Rc<dyn Coordinator>,
    store: Rc<dyn Store>,
    lake: LakeAccess,
    environment: Rc<dyn Environment>,
    config: WorkerConfig,
    defects: Defects,
    /// How much went wrong since the start; only the planted bug backoff-unbounded looks at it.
    failures: Cell<u32>,
}

impl TieringWorker {
    /// A worker of this name, such as `tiering-1`.
    pub fn new(
        name: &str,
        coordinator: Rc<dyn Coordinator>,
        store: Rc<dyn Store>,
        lake: LakeAccess,
        environment: Rc<dyn Environment>,
        config: WorkerConfig,
        defects: Defects,
    ) -> Self {
        let failures = Cell::new(0);
        Self { name: name.to_owned(), coordinator, store, lake, environment, config, defects, failures }
    }

    /// Runs one round and says how it ended.
    async fn tier(&self, assignment: &TieringAssignment) -> Result<Progress, Failure> {
        let assignment_lost = Cell::new(false);
        let round = Round {
            assignment,
            store: &*self.store,
            lake: &self.lake,
            environment: &*self.environment,
            config: &self.config,
            defects: &self.defects,
            assignment_lost: &assignment_lost,
        };
        let heartbeats = pin!(self.beat_until_rejected(assignment, &assignment_lost));
        // The round is asked first, always: which of two ready futures goes on must not be luck.
        let ended = match select(pin!(self.run_round(&round)), heartbeats).await {
            Either::Left((ended, _)) => ended,
            Either::Right(((), round)) => round.await,
        };
        let end = match ended {
            Ok(Progress::Complete) => RoundEnd::Finished,
            // There is more to read, so the table is to be due at once, which is what this end means.
            Ok(Progress::CutShort) | Err(_) => RoundEnd::Failed,
        };
        self.report(assignment, end).await;
        ended
    }

    /// Runs the round to its end, once.
    async fn run_round(&self, round: &Round<'_>) -> Result<Progress, Failure> {
        // Planted bug stale-epoch-after-failover: a holder of an old epoch is told so before it begins.
        if self.defects.has(Defect::StaleEpochAfterFailover) {
            self.coordinator.heartbeat(round.table_id(), round.assignment.epoch).await?;
        }
        let mut ended = round.run().await;
        // Planted bugs drop-loops and bad-table-stalls-all: what no repetition mends is repeated until it works.
        let repeats = match &ended {
            Err(failure) if failure.code == FailureCode::NotFound => self.defects.has(Defect::DropLoops),
            Err(failure) if failure.code == FailureCode::Invalid => self.defects.has(Defect::BadTableStallsAll),
            _ => false,
        };
        while repeats && ended.is_err() {
            self.environment.sleep_ms(self.config.poll_interval_ms).await;
            ended = round.run().await;
        }
        ended
    }

    /// Says that the holder is alive, until the coordinator takes the table away. No answer is no reason to stop.
    async fn beat_until_rejected(&self, assignment: &TieringAssignment, assignment_lost: &Cell<bool>) {
        while !assignment_lost.get() {
            self.environment.sleep_ms(self.config.heartbeat_interval_ms).await;
            let answer = self.coordinator.heartbeat(assignment.table.table_id, assignment.epoch).await;
            self.count_failure(&answer);
            assignment_lost.set(answer.is_err_and(|failure| failure.code == FailureCode::Rejected));
        }
    }

    fn count_failure<T>(&self, answer: &Result<T, Failure>) {
        self.failures.set(self.failures.get() + u32::from(answer.is_err()));
    }

    /// How many poll intervals the worker waits.
    fn waits(&self, waits: u64) -> u64 {
        // Planted bug backoff-unbounded: whatever fails doubles the waits, for good.
        if self.defects.has(Defect::BackoffUnbounded) { waits << self.failures.get().min(20) } else { waits }
    }

    async fn report(&self, assignment: &TieringAssignment, end: RoundEnd) {
        for attempt in 1..=REPORT_ATTEMPTS {
            let answer = self.coordinator.end_round(assignment.table.table_id, assignment.epoch, end).await;
            self.count_failure(&answer);
            if attempt == REPORT_ATTEMPTS || !answer.is_err_and(|failure| failure.is_transient()) {
                return;
            }
            self.environment.reached(Point::RoundEndRetried);
            self.environment.sleep_ms(self.config.poll_interval_ms).await;
        }
    }
}

#[async_trait(?Send)]
impl Host for TieringWorker {
    /// Little to lose: whatever a round knows lives in [`Host::run`].
    fn crash(&self) {
        self.failures.set(0);
    }

    async fn run(&self) {
        let mut failed_before = false;
        let mut old_epochs = OldEpochs::default();
        loop {
            let answer = self.coordinator.request_table(&self.name).await;
            old_epochs.failed_over |= answer.is_err();
            self.count_failure(&answer);
            let Ok(Some(mut assignment)) = answer else {
                self.environment.sleep_ms(self.waits(1) * self.config.poll_interval_ms).await;
                continue;
            };
            // Planted bug stale-epoch-after-failover: what the coordinator gave out before it was away counts on.
            if self.defects.has(Defect::StaleEpochAfterFailover) {
                old_epochs.keep(&mut assignment);
            }
            let ended = self.tier(&assignment).await;
            self.count_failure(&ended);
            let failed = ended.is_err();
            if failed {
                // A failed table is due again at once; the wait is bounded, so that it does not hold up the others
                // (F7) or the recovery (F5).
                let waits = if failed_before { 2 } else { 1 };
                self.environment.sleep_ms(self.waits(waits) * self.config.poll_interval_ms).await;
            }
            failed_before = failed;
        }
    }
}

/// The newest epoch of each table before the coordinator was away for the first time: looked at by the planted bug
/// stale-epoch-after-failover only.
#[derive(Default)]
struct OldEpochs {
    failed_over: bool,
    newest: BTreeMap<TableId, u64>,
}

impl OldEpochs {
    /// Puts the table's old epoch into the assignment; before there is an old one, remembers the new one.
    fn keep(&mut self, assignment: &mut TieringAssignment) {
        let newest = self.newest.entry(assignment.table.table_id).or_insert(assignment.epoch);
        if !self.failed_over {
            *newest = assignment.epoch;
        }
        assignment.epoch = *newest;
    }
}
