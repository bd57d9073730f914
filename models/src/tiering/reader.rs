//! A reader of a tiering worker: it is given splits, reads them one after the other, and while it reads the next one it
//! writes the rows of the last one to files that nobody sees yet, and tells the committer where they are.
//!
//! It keeps nothing over a crash; then its planner learns that it started anew, and hands its splits out again. It must
//! never know what becomes of a round.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use async_trait::async_trait;
use futures::future::join;
use futures::stream::{FuturesUnordered, StreamExt};

use super::announcement::announce;
use super::collection::older_round;
use super::inbox::Inbox;
use super::layout::RowLayout;
use super::messages::{
    RoundPlan, SplitAssignment, SplitResult, TieringCommitter, TieringPlanner, TieringReader, TieringTask,
};
use super::parts::TaskParts;
use super::read::{LogReader, ReadLog};
use crate::contract::{BucketId, Environment, Failure, FailureCode, Host};
use crate::paimon::{Committable, PaimonTable};
use crate::points::Point;

/// The splits that a reader was given: its desk.
pub struct Splits {
    environment: Rc<dyn Environment>,
    life: Cell<u64>,
    newest_round: Cell<u64>,
    /// What was given in the newest round, so that an assignment that comes twice is read once.
    known: RefCell<BTreeSet<(BucketId, u32)>>,
    waiting: Inbox<SplitAssignment>,
}

impl Splits {
    /// None yet, in the reader's first life.
    pub fn new(environment: Rc<dyn Environment>) -> Self {
        let (known, waiting) = (RefCell::default(), Inbox::default());
        Self { environment, life: Cell::new(1), newest_round: Cell::new(0), known, waiting }
    }

    fn begin_life(&self) {
        self.life.set(self.life.get() + 1);
        self.newest_round.set(0);
        self.known.take();
        self.waiting.clear();
    }
}

#[async_trait(?Send)]
impl TieringReader for Splits {
    async fn assign_split(&self, assignment: SplitAssignment) -> Result<u64, Failure> {
        let round = assignment.plan.number;
        if round < self.newest_round.get() {
            self.environment.reached(Point::OlderRoundRefused);
            return Err(older_round(round, self.newest_round.get()));
        }
        if round > self.newest_round.get() {
            self.newest_round.set(round);
            self.known.take();
            // Nobody waits any more for what is left of the round before.
            self.waiting.clear();
        }
        if self.known.borrow_mut().insert((assignment.split.bucket.clone(), assignment.attempt)) {
            self.waiting.post(assignment);
        }
        Ok(self.life.get())
    }
}

/// A round as one reader knows it.
struct Reading {
    plan: Rc<RoundPlan>,
    /// The table as this reader reaches it.
    table: PaimonTable,
    /// Nothing more is read after that.
    end_ms: u64,
}

/// A reader, one process.
pub struct Reader {
    number: u32,
    splits: Rc<Splits>,
    planner: Rc<dyn TieringPlanner>,
    committer: Rc<dyn TieringCommitter>,
    parts: TaskParts,
}

impl Reader {
    /// The reader with this number, from 0, at this desk.
    pub fn new(
        number: u32,
        splits: Rc<Splits>,
        planner: Rc<dyn TieringPlanner>,
        committer: Rc<dyn TieringCommitter>,
        parts: TaskParts,
    ) -> Self {
        Self { number, splits, planner, committer, parts }
    }

    async fn work(&self) {
        let mut newest: Option<Rc<Reading>> = None;
        let mut deliveries = FuturesUnordered::new();
        loop {
            let assignment = beside(&mut deliveries, self.splits.waiting.next()).await;
            let plan = &assignment.plan;
            let known = newest.as_ref().filter(|reading| reading.plan.number == plan.number);
            let (reading, is_first) = match known {
                Some(known) => (known.clone(), false),
                None => {
                    let table = plan.table.reached_through(&self.parts.lake);
                    let end_ms = self.parts.environment.now_ms().saturating_add(plan.read_for_ms);
                    (Rc::new(Reading { plan: plan.clone(), table, end_ms }), true)
                }
            };
            newest = Some(reading.clone());
            let read = beside(&mut deliveries, self.read(&reading, &assignment, is_first)).await;
            deliveries.push(self.deliver(reading, assignment, read));
        }
    }

    /// Reads one split. The first one of a round gets further at any time, so that a round that is out of time is no
    /// round for nothing.
    async fn read(&self, reading: &Reading, assignment: &SplitAssignment, is_first: bool) -> Result<ReadLog, Failure> {
        let plan = &assignment.plan;
        let definition = &plan.assignment.table.schema;
        let reader = LogReader {
            store: &*self.parts.store,
            environment: &*self.parts.environment,
            config: &self.parts.config,
            defects: &self.parts.defects,
            table_id: plan.table_id(),
            keyed: definition.has_primary_key(),
            bucket_unaware: definition.bucket_count().is_none(),
            column_count: definition.columns.len(),
            layout: RowLayout::between(plan.path(), definition, reading.table.schema())?,
        };
        reader.read(assignment.split.clone(), reading.end_ms, is_first).await
    }

    /// Writes what was read of a split and hands it in, or tells what went wrong.
    async fn deliver(&self, reading: Rc<Reading>, assignment: SplitAssignment, read: Result<ReadLog, Failure>) {
        let written = match read {
            Ok(read) => self.write(&reading.table, &assignment, read).await,
            Err(failure) => Err(failure),
        };
        match written {
            Ok(result) => self.hand_in(&reading.table, result).await,
            Err(failure) => self.tell_failure(&reading.plan, &failure).await,
        }
    }

    async fn write(
        &self,
        table: &PaimonTable,
        assignment: &SplitAssignment,
        read: ReadLog,
    ) -> Result<SplitResult, Failure> {
        let SplitAssignment { plan, committer_life, split, attempt } = assignment;
        let ReadLog { changes, end_offset_exclusive, cut_short } = read;
        let files = if changes.is_empty() {
            Committable::default()
        } else {
            // A file of its own for each hand-out, reader and life: of two that are alike, one may be deleted.
            let (reader, life) = (self.number, self.splits.life.get());
            let subject = format!("{}/{:?}/{attempt}-{reader}-{life}", plan.subject, split.bucket);
            let base_id = plan.base.as_ref().map(|base| base.id);
            table.write_behind(&subject, base_id, &plan.highest_sequences, &changes).await?
        };
        Ok(SplitResult {
            round: plan.number,
            table_id: plan.table_id(),
            committer_life: *committer_life,
            bucket: split.bucket.clone(),
            end_offset_exclusive,
            cut_short,
            files,
        })
    }

    /// Whether this reader was given something of a newer round.
    fn is_over(&self, round: u64) -> bool {
        self.splits.newest_round.get() > round
    }

    /// Tells the committer until it answers, or the round is over.
    async fn hand_in(&self, table: &PaimonTable, result: SplitResult) {
        let mut certainly_nowhere = true;
        while !self.is_over(result.round) {
            match self.committer.split_finished(result.clone()).await {
                Ok(()) => return,
                Err(failure) => {
                    certainly_nowhere &= failure.definite;
                    if failure.code == FailureCode::Rejected {
                        break;
                    }
                }
            }
            self.parts.environment.reached(Point::ResultRetried);
            self.parts.environment.sleep_ms(self.parts.config.poll_interval_ms).await;
        }
        // Without an answer the files may be in a commit by now; with none but refusals they never will be (L10).
        if certainly_nowhere {
            // What cannot be deleted is an orphan that no snapshot names.
            let _ = table.abort(&result.files).await;
        }
    }

    /// Tells the planner until it answers, or the round is over.
    async fn tell_failure(&self, plan: &RoundPlan, failure: &Failure) {
        self.parts.environment.reached(Point::SplitFailed);
        while !self.is_over(plan.number)
            && self.planner.split_failed(plan.table_id(), plan.number, failure.clone()).await.is_err()
        {
            self.parts.environment.sleep_ms(self.parts.config.poll_interval_ms).await;
        }
    }
}

/// What comes next, with the deliveries going on meanwhile.
async fn beside<T>(deliveries: &mut FuturesUnordered<impl Future<Output = ()>>, next: impl Future<Output = T>) -> T {
    let mut next = pin!(next);
    poll_fn(|context| {
        let polled = next.as_mut().poll(context);
        if polled.is_pending() {
            while let Poll::Ready(Some(())) = deliveries.poll_next_unpin(context) {}
        }
        polled
    })
    .await
}

#[async_trait(?Send)]
impl Host for Reader {
    fn crash(&self) {
        self.splits.begin_life();
    }

    async fn run(&self) {
        let task = TieringTask::Reader(self.number);
        join(self.work(), announce(&*self.planner, task, self.splits.life.get(), &self.parts)).await;
    }
}
