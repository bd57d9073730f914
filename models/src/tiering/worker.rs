//! The tiering worker: it asks for a table, runs one round, says how it ended, and asks again.
//!
//! It keeps nothing between rounds, so a crash loses only the round in flight. It must never know what other workers
//! do; that two of them hold one table is possible and harmless (see [`crate::tiering`]).

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;

use async_trait::async_trait;
use futures::future::{Either, select};

use super::round::{Progress, Round};
use crate::config::WorkerConfig;
use crate::contract::{Coordinator, Environment, Failure, FailureCode, Host, RoundEnd, Store, TieringAssignment};
use crate::defects::Defects;
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
        Self { name: name.to_owned(), coordinator, store, lake, environment, config, defects }
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
        let ended = match select(pin!(round.run()), heartbeats).await {
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

    /// Says that the holder is alive, until the coordinator takes the table away. No answer is no reason to stop.
    async fn beat_until_rejected(&self, assignment: &TieringAssignment, assignment_lost: &Cell<bool>) {
        while !assignment_lost.get() {
            self.environment.sleep_ms(self.config.heartbeat_interval_ms).await;
            let answer = self.coordinator.heartbeat(assignment.table.table_id, assignment.epoch).await;
            assignment_lost.set(answer.is_err_and(|failure| failure.code == FailureCode::Rejected));
        }
    }

    async fn report(&self, assignment: &TieringAssignment, end: RoundEnd) {
        for attempt in 1..=REPORT_ATTEMPTS {
            let answer = self.coordinator.end_round(assignment.table.table_id, assignment.epoch, end).await;
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
    /// Nothing to lose: whatever a round knows lives in [`Host::run`].
    fn crash(&self) {}

    async fn run(&self) {
        let mut failed_before = false;
        loop {
            let Ok(Some(assignment)) = self.coordinator.request_table(&self.name).await else {
                self.environment.sleep_ms(self.config.poll_interval_ms).await;
                continue;
            };
            let failed = self.tier(&assignment).await.is_err();
            if failed {
                // A failed table is due again at once; the wait is bounded, so that it does not hold up the others
                // (F7) or the recovery (F5).
                let waits = if failed_before { 2 } else { 1 };
                self.environment.sleep_ms(waits * self.config.poll_interval_ms).await;
            }
            failed_before = failed;
        }
    }
}
