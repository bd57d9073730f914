//! The planner of a tiering worker: it asks for a table, plans one round, has the readers and the committer carry it
//! out, says how it ended, and asks again.
//!
//! It keeps nothing between rounds but how many there were, so a crash loses only the round in flight. It must never
//! know what other workers do; that two of them hold one table is possible and harmless (see [`crate::tiering`]).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

use async_trait::async_trait;
use futures::future::{Either, select};

use super::key_snapshot::{release_key_snapshots, take_key_snapshots};
use super::messages::{Progress, RoundPlan, is_fenced};
use super::parts::TaskParts;
use super::plan::{missing_ranges, whole_batches};
use super::readable::readable_snapshot;
use super::recover::{Inquiry, starting_point};
use super::registration::Registrar;
use super::supervision::{Crew, News, Reports, Supervision};
use crate::contract::{
    Coordinator, Failure, FailureCode, Host, LakeRegistration, LakeSnapshot, ReadableSnapshot, RoundEnd, TableId,
    TieringAssignment,
};
use crate::defects::Defect;
use crate::paimon::{PaimonTable, Precondition};
use crate::points::Point;

/// How often the end of a round is reported where there is no answer; a coordinator that does not hear of it takes the
/// table back after its heartbeat timeout.
const REPORT_ATTEMPTS: u32 = 3;

/// The planner of one worker, one process.
pub struct Planner {
    worker: String,
    coordinator: Rc<dyn Coordinator>,
    reports: Rc<Reports>,
    crew: Crew,
    parts: TaskParts,
    /// How many rounds there were, restarts included.
    rounds: Cell<u64>,
    /// How much went wrong since the start; only the planted bug backoff-unbounded looks at it.
    failures: Cell<u32>,
}

impl Planner {
    /// The planner at this desk, of the worker of this name, such as `tiering-1`.
    pub fn new(
        worker: &str,
        coordinator: Rc<dyn Coordinator>,
        reports: Rc<Reports>,
        crew: Crew,
        parts: TaskParts,
    ) -> Self {
        let (rounds, failures) = (Cell::new(0), Cell::new(0));
        Self { worker: worker.to_owned(), coordinator, reports, crew, parts, rounds, failures }
    }

    /// Runs one round and says how it ended.
    async fn tier(&self, assignment: &TieringAssignment) -> Result<Progress, Failure> {
        let assignment_lost = Cell::new(false);
        let heartbeats = pin!(self.beat_until_rejected(assignment, &assignment_lost));
        // The round is asked first, always: which of two ready futures goes on must not be luck.
        let ended = match select(pin!(self.run_round(assignment, &assignment_lost)), heartbeats).await {
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
    async fn run_round(
        &self,
        assignment: &TieringAssignment,
        assignment_lost: &Cell<bool>,
    ) -> Result<Progress, Failure> {
        // Planted bug stale-epoch-after-failover: a holder of an old epoch is told so before it begins.
        if self.parts.defects.has(Defect::StaleEpochAfterFailover) {
            self.coordinator.heartbeat(assignment.table.table_id, assignment.epoch).await?;
        }
        let mut ended = self.plan_and_carry_out(assignment, assignment_lost).await;
        // Planted bugs drop-loops and bad-table-stalls-all: what no repetition mends is repeated until it works.
        let repeats = match &ended {
            Err(failure) if failure.code == FailureCode::NotFound => self.parts.defects.has(Defect::DropLoops),
            Err(failure) if failure.code == FailureCode::Invalid => self.parts.defects.has(Defect::BadTableStallsAll),
            _ => false,
        };
        while repeats && ended.is_err() {
            self.parts.environment.sleep_ms(self.parts.config.poll_interval_ms).await;
            ended = self.plan_and_carry_out(assignment, assignment_lost).await;
        }
        ended
    }

    async fn plan_and_carry_out(
        &self,
        assignment: &TieringAssignment,
        assignment_lost: &Cell<bool>,
    ) -> Result<Progress, Failure> {
        let Some(plan) = self.plan(assignment, assignment_lost).await? else {
            // Nothing new: an empty snapshot would say nothing either.
            self.parts.environment.reached(Point::RoundEmpty);
            return Ok(Progress::Complete);
        };
        let plan = Rc::new(plan);
        let ended = self.carry_out_or_replay(&plan, assignment_lost).await;
        release_key_snapshots(&*self.parts.store, plan.table_id(), &plan.splits).await;
        ended
    }

    async fn carry_out_or_replay(
        &self,
        plan: &Rc<RoundPlan>,
        assignment_lost: &Cell<bool>,
    ) -> Result<Progress, Failure> {
        let ended = self.carry_out(plan.clone(), assignment_lost).await;
        // Planted bug replay-not-filtered: a round without an answer is carried out once more, with files of its own.
        if self.parts.defects.has(Defect::ReplayNotFiltered) && ended.as_ref().is_err_and(|failure| !failure.definite) {
            let subject = format!("{}/replay", plan.subject);
            let (number, precondition) = (self.next_number(), Precondition::None);
            let replay = RoundPlan { number, subject, precondition, ..(**plan).clone() };
            return self.carry_out(Rc::new(replay), assignment_lost).await;
        }
        ended
    }

    /// What the round is to do; `None` if there is nothing.
    async fn plan(
        &self,
        assignment: &TieringAssignment,
        assignment_lost: &Cell<bool>,
    ) -> Result<Option<RoundPlan>, Failure> {
        let TaskParts { store, lake, environment, config, defects } = &self.parts;
        let began_ms = environment.now_ms();
        let of = &assignment.table;
        let table = PaimonTable::open(lake, &of.path).await?;
        let (store, environment) = (&**store, &**environment);
        let registrar = Registrar { store, environment, poll_interval_ms: config.poll_interval_ms };
        let inquiry = Inquiry { of, registrar: &registrar, environment, defects };
        let start = starting_point(&inquiry, &table).await?;
        if assignment_lost.get() && is_fenced(assignment, defects) {
            environment.reached(Point::AssignmentLost);
            return Err(Failure::rejected(format!("the round of {} is given up: somebody else may hold it", of.path)));
        }
        let log = store.bucket_offsets(of.table_id).await?;
        let splits = missing_ranges(&start.offsets, log);
        let mut splits = splits.inspect_err(|_| environment.reached(Point::RoundGap))?;
        // Planted bug drain-leaves-tail: what does not fill a batch waits for more.
        if defects.has(Defect::DrainLeavesTail) {
            splits = whole_batches(splits, config.fetch_max_records);
        }
        let readable = readable_snapshot(&inquiry, &table, &start).await?;
        if splits.is_empty() {
            self.register_readable(&registrar, of.table_id, start.newest, readable).await?;
            return Ok(None);
        }
        // Rounds that are cut short begin with another bucket each time, so that none is left out for ever.
        let first = assignment.epoch % splits.len() as u64;
        splits.rotate_left(first as usize);
        let highest_sequences = table.highest_sequences(start.base.as_ref()).await?;
        take_key_snapshots(store, of, config, &mut splits).await?;
        Ok(Some(RoundPlan {
            number: self.next_number(),
            assignment: assignment.clone(),
            subject: format!("{}/epoch-{}", of.path, assignment.epoch),
            table,
            base: start.base,
            highest_sequences,
            offsets: start.offsets,
            precondition: start.precondition,
            readable,
            // A clock may have gone back meanwhile.
            read_for_ms: config.max_round_ms.saturating_sub(environment.now_ms().saturating_sub(began_ms)),
            splits,
        }))
    }

    /// Tells the store what became readable, where nothing else is new: `tiered` is what it knows already.
    async fn register_readable(
        &self,
        registrar: &Registrar<'_>,
        table_id: TableId,
        tiered: Option<LakeSnapshot>,
        readable: ReadableSnapshot,
    ) -> Result<(), Failure> {
        if let (Some(tiered), ReadableSnapshot::Other(_)) = (tiered, &readable) {
            registrar.register(table_id, LakeRegistration { tiered, readable, instead_of: None }).await?;
            self.parts.environment.reached(Point::ReadableAlone);
        }
        Ok(())
    }

    fn next_number(&self) -> u64 {
        self.rounds.set(self.rounds.get() + 1);
        self.rounds.get()
    }

    async fn carry_out(&self, plan: Rc<RoundPlan>, assignment_lost: &Cell<bool>) -> Result<Progress, Failure> {
        let TaskParts { environment, defects, .. } = &self.parts;
        let (crew, reports, environment) = (&self.crew, &*self.reports, &**environment);
        Supervision { plan, crew, reports, environment, defects, assignment_lost }.run().await
    }

    /// Says that the holder is alive, until the coordinator takes the table away. No answer is no reason to stop.
    async fn beat_until_rejected(&self, assignment: &TieringAssignment, assignment_lost: &Cell<bool>) {
        while !assignment_lost.get() {
            self.parts.environment.sleep_ms(self.parts.config.heartbeat_interval_ms).await;
            let answer = self.coordinator.heartbeat(assignment.table.table_id, assignment.epoch).await;
            self.count_failure(&answer);
            assignment_lost.set(answer.is_err_and(|failure| failure.code == FailureCode::Rejected));
        }
        self.reports.news.post(News::AssignmentLost);
    }

    fn count_failure<T>(&self, answer: &Result<T, Failure>) {
        self.failures.set(self.failures.get() + u32::from(answer.is_err()));
    }

    /// How many poll intervals the worker waits.
    fn waits(&self, waits: u64) -> u64 {
        // Planted bug backoff-unbounded: whatever fails doubles the waits, for good.
        if self.parts.defects.has(Defect::BackoffUnbounded) { waits << self.failures.get().min(20) } else { waits }
    }

    async fn report(&self, assignment: &TieringAssignment, end: RoundEnd) {
        for attempt in 1..=REPORT_ATTEMPTS {
            let answer = self.coordinator.end_round(assignment.table.table_id, assignment.epoch, end).await;
            self.count_failure(&answer);
            if attempt == REPORT_ATTEMPTS || !answer.is_err_and(|failure| failure.is_transient()) {
                return;
            }
            self.parts.environment.reached(Point::RoundEndRetried);
            self.parts.environment.sleep_ms(self.parts.config.poll_interval_ms).await;
        }
    }
}

#[async_trait(?Send)]
impl Host for Planner {
    /// Little to lose: whatever a round knows lives in [`Host::run`].
    fn crash(&self) {
        self.reports.news.clear();
        self.failures.set(0);
    }

    async fn run(&self) {
        let mut failed_before = false;
        let mut old_epochs = OldEpochs::default();
        let poll_interval_ms = self.parts.config.poll_interval_ms;
        loop {
            let answer = self.coordinator.request_table(&self.worker).await;
            old_epochs.failed_over |= answer.is_err();
            self.count_failure(&answer);
            let Ok(Some(mut assignment)) = answer else {
                self.parts.environment.sleep_ms(self.waits(1) * poll_interval_ms).await;
                continue;
            };
            // Planted bug stale-epoch-after-failover: what the coordinator gave out before it was away counts on.
            if self.parts.defects.has(Defect::StaleEpochAfterFailover) {
                old_epochs.keep(&mut assignment);
            }
            let ended = self.tier(&assignment).await;
            self.count_failure(&ended);
            let failed = ended.is_err();
            if failed {
                // A failed table is due again at once; the wait is bounded, so that it does not hold up the others
                // (F7) or the recovery (F5).
                let waits = if failed_before { 2 } else { 1 };
                self.parts.environment.sleep_ms(self.waits(waits) * poll_interval_ms).await;
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
