//! Smaller plans, tried on all cores: the first in order that still violates the property becomes the best.
//!
//! It never knows where smaller plans come from.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use models::defects::Defects;
use scenarios::plan::Plan;

use super::ShrinkOptions;
use crate::check::check;
use crate::engine::run::RunOptions;
use crate::engine::sim::run;

/// How far shrinking has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many smaller plans were run.
    pub runs: u64,
    /// How many tables the best plan has.
    pub tables: usize,
    /// How many steps it has.
    pub steps: usize,
}

/// The best plan so far, and how to find a better one.
pub(super) struct Search<'a> {
    best: Plan,
    options: &'a ShrinkOptions,
    go_on: &'a (dyn Fn() -> bool + Sync),
    told: Box<dyn FnMut(Progress) + 'a>,
    runs: u64,
    stopped: bool,
}

/// What the workers of one search share.
struct Shared {
    /// The next attempt to make.
    next: usize,
    /// The first one so far that violates the property.
    found: Option<usize>,
    /// For each attempt made, whether it was a plan that could be run.
    ran: Vec<bool>,
    stopped: bool,
}

impl<'a> Search<'a> {
    /// A search that begins with this plan.
    pub(super) fn new(
        plan: &Plan,
        options: &'a ShrinkOptions,
        go_on: &'a (dyn Fn() -> bool + Sync),
        told: impl FnMut(Progress) + 'a,
    ) -> Self {
        Self { best: plan.clone(), options, go_on, told: Box::new(told), runs: 0, stopped: false }
    }

    /// The smallest plan so far.
    pub(super) fn best(&self) -> &Plan {
        &self.best
    }

    /// Whether no run may be begun any more.
    pub(super) fn over(&self) -> bool {
        self.stopped || self.options.most_runs.is_some_and(|most| self.runs >= most)
    }

    /// The smallest plan, and how many runs it took.
    pub(super) fn end(self) -> (Plan, u64) {
        (self.best, self.runs)
    }

    /// Whether the best plan violates the property.
    pub(super) fn confirmed(&self) -> bool {
        violates(&self.best, self.options.property, &self.options.defects)
    }

    /// Makes the attempts with these numbers, from 0, in order and on all cores. Each gives a smaller plan of the best one,
    /// or none where what is left is no plan; a plan that is not valid is not run. The first that violates the property
    /// becomes the best plan and is the answer. Those after it are made only to lose no time, and count for nothing.
    pub(super) fn first(
        &mut self,
        attempts: usize,
        attempt: impl Fn(&Plan, usize) -> Option<Plan> + Sync,
    ) -> Option<usize> {
        if self.over() {
            return None;
        }
        let shared = Shared { next: 0, found: None, ran: vec![false; attempts], stopped: false };
        let shared = Mutex::new(shared);
        let (best, options, go_on) = (&self.best, self.options, self.go_on);
        std::thread::scope(|scope| {
            for _ in 0..options.jobs.clamp(1, attempts.max(1)) {
                scope.spawn(|| work(&shared, attempts, |place| attempt(best, place), options, go_on));
            }
        });
        let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.stopped = shared.stopped;
        let counted = shared.found.map_or(attempts, |found| found + 1);
        self.runs += shared.ran[..counted].iter().filter(|ran| **ran).count() as u64;
        let found = shared.found?;
        if let Some(plan) = attempt(&self.best, found) {
            self.best = plan;
            (self.told)(Progress { runs: self.runs, tables: self.best.tables.len(), steps: self.best.steps.len() });
        }
        Some(found)
    }
}

/// One worker: takes the next attempt until there is none before the first that succeeded.
fn work(
    shared: &Mutex<Shared>,
    attempts: usize,
    attempt: impl Fn(usize) -> Option<Plan>,
    options: &ShrinkOptions,
    go_on: &(dyn Fn() -> bool + Sync),
) {
    let locked = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let place = {
            let mut shared = locked();
            if shared.next >= shared.found.unwrap_or(attempts) || shared.stopped {
                return;
            }
            shared.next += 1;
            shared.next - 1
        };
        let Some(plan) = attempt(place) else { continue };
        if plan.validate().is_err() {
            continue;
        }
        if !go_on() {
            locked().stopped = true;
            return;
        }
        let violated = violates(&plan, options.property, &options.defects);
        let mut shared = locked();
        shared.ran[place] = true;
        if violated {
            shared.found = Some(shared.found.map_or(place, |found| found.min(place)));
        }
    }
}

/// Whether a run of the plan comes to its end and violates the property. One that breaks down shows nothing.
fn violates(plan: &Plan, property: &str, defects: &Defects) -> bool {
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let result = run(plan, &RunOptions { defects: defects.clone(), ..RunOptions::default() });
        result.trouble.is_none() && check(&result.history).violated().any(|id| id == property)
    }));
    judged.unwrap_or(false)
}
