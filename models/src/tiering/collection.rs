//! What the committer was brought: the results of one round, until there are as many as the round has splits.
//!
//! It lives as long as the committer's process and says which life of it that is, so that what was meant for a life
//! before cannot come together with what is collected now. It must never know how a commit is made.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use async_trait::async_trait;

use super::inbox::Inbox;
use super::messages::{RoundPlan, SplitResult, TieringCommitter};
use crate::contract::{Environment, Failure, TableId};
use crate::defects::{Defect, Defects};
use crate::points::Point;

/// A round with results.
pub(super) struct Collected {
    pub(super) plan: Rc<RoundPlan>,
    /// In the order in which they came.
    pub(super) results: Vec<SplitResult>,
}

/// What the committer has to do.
pub(super) enum Order {
    /// All splits are there.
    Commit(Collected),
    /// The round will never be committed; its files are in nobody's way and can go.
    Discard(Collected),
}

/// The committer's desk.
pub struct Collection {
    environment: Rc<dyn Environment>,
    defects: Defects,
    life: Cell<u64>,
    newest_round: Cell<u64>,
    open: RefCell<Option<Collected>>,
    orders: Inbox<Order>,
}

impl Collection {
    /// An empty one of the committer's first life.
    pub fn new(environment: Rc<dyn Environment>, defects: Defects) -> Self {
        let (open, orders) = (RefCell::default(), Inbox::default());
        Self { environment, defects, life: Cell::new(1), newest_round: Cell::new(0), open, orders }
    }

    /// The process dies, and another one begins.
    pub(super) fn begin_life(&self) {
        self.life.set(self.life.get() + 1);
        self.newest_round.set(0);
        self.open.replace(None);
        self.orders.clear();
    }

    /// Which life this is, from 1.
    pub(super) fn life(&self) -> u64 {
        self.life.get()
    }

    /// The number of the newest round that was begun in this life.
    pub(super) fn newest_round(&self) -> u64 {
        self.newest_round.get()
    }

    /// The next thing to do.
    pub(super) async fn next_order(&self) -> Order {
        self.orders.next().await
    }

    /// Whether results of this round of the table belong to what is being collected.
    fn is_collecting(&self, open: &Collected, table_id: TableId, round: u64) -> bool {
        open.plan.number == round || (self.mixes_rounds() && open.plan.table_id() == table_id)
    }

    /// Planted bug rounds-mixed: a result says of which table it is, and that is all that counts. So what is left of a
    /// round that was given up waits for the next one of the table.
    fn mixes_rounds(&self) -> bool {
        self.defects.has(Defect::RoundsMixed)
    }

    fn discard(&self, given_up: Collected) {
        if !given_up.results.is_empty() {
            self.orders.post(Order::Discard(given_up));
        }
    }
}

#[async_trait(?Send)]
impl TieringCommitter for Collection {
    async fn begin_round(&self, plan: Rc<RoundPlan>) -> Result<u64, Failure> {
        if plan.number < self.newest_round.get() {
            self.environment.reached(Point::OlderRoundRefused);
            return Err(older_round(plan.number, self.newest_round.get()));
        }
        // One that comes again is known.
        if plan.number > self.newest_round.get() {
            self.newest_round.set(plan.number);
            let mut begun = Collected { plan, results: Vec::new() };
            match self.open.take() {
                Some(older) if self.is_collecting(&older, begun.plan.table_id(), begun.plan.number) => {
                    begun.results = older.results;
                }
                Some(older) => self.discard(older),
                None => {}
            }
            self.open.replace(Some(begun));
        }
        Ok(self.life())
    }

    async fn split_finished(&self, result: SplitResult) -> Result<(), Failure> {
        let mut open = self.open.borrow_mut();
        let collecting = open.as_mut().filter(|open| {
            result.committer_life == self.life() && self.is_collecting(open, result.table_id, result.round)
        });
        let Some(collected) = collecting else {
            self.environment.reached(Point::LateResultRefused);
            return Err(Failure::rejected(format!(
                "expected a result of a round that is being collected, found one of round {}",
                result.round
            )));
        };
        let of_split = |held: &&SplitResult| held.round == result.round && held.bucket == result.bucket;
        match collected.results.iter().find(of_split) {
            Some(held) if *held == result => {
                self.environment.reached(Point::ResultRepeated);
                return Ok(());
            }
            Some(_) => {
                self.environment.reached(Point::SecondResultRefused);
                return Err(Failure::rejected(format!(
                    "expected the only result of bucket {} in round {}, found a second one",
                    result.bucket.bucket, result.round
                )));
            }
            None => collected.results.push(result),
        }
        if collected.results.len() >= collected.plan.splits.len()
            && let Some(complete) = open.take()
        {
            self.orders.post(Order::Commit(complete));
        }
        Ok(())
    }

    async fn abandon_round(&self, table_id: TableId, round: u64) -> Result<(), Failure> {
        let is_given_up = |open: &mut Collected| self.is_collecting(open, table_id, round) && !self.mixes_rounds();
        let given_up = self.open.borrow_mut().take_if(is_given_up);
        if let Some(given_up) = given_up {
            self.environment.reached(Point::RoundAbandoned);
            self.discard(given_up);
        }
        Ok(())
    }
}

/// The refusal of a round that another one has followed.
pub(super) fn older_round(round: u64, newest: u64) -> Failure {
    Failure::rejected(format!("expected round {newest} or a newer one, found round {round}"))
}
