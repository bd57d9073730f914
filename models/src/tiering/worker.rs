//! A tiering worker whose tasks live in one process and talk to each other directly.
//!
//! Elsewhere each task has a host of its own; then whoever runs them connects them. This must never do more than
//! connect.

use std::rc::Rc;

use async_trait::async_trait;
use futures::future::join_all;

use super::collection::Collection;
use super::committer::Committer;
use super::messages::{TieringCommitter, TieringPlanner, TieringReader};
use super::parts::TaskParts;
use super::planner::Planner;
use super::reader::{Reader, Splits};
use super::supervision::{Crew, Reports};
use crate::contract::{Coordinator, Host};

/// All tasks of one worker.
pub struct TieringWorker {
    planner: Planner,
    readers: Vec<Reader>,
    committer: Committer,
}

impl TieringWorker {
    /// A worker of this name, such as `tiering-1`, with so many readers.
    pub fn new(name: &str, coordinator: Rc<dyn Coordinator>, parts: &TaskParts, readers: u32) -> Self {
        let reports = Rc::new(Reports::default());
        let collection = Rc::new(Collection::new(parts.environment.clone(), parts.defects.clone()));
        let desks: Vec<_> = (0..readers).map(|_| Rc::new(Splits::new(parts.environment.clone()))).collect();
        let to_planner = || -> Rc<dyn TieringPlanner> { reports.clone() };
        let to_committer = || -> Rc<dyn TieringCommitter> { collection.clone() };
        let to_reader = |desk: &Rc<Splits>| -> Rc<dyn TieringReader> { desk.clone() };
        let crew = Crew { readers: desks.iter().map(to_reader).collect(), committer: to_committer() };
        let reader = |(number, desk)| Reader::new(number, desk, to_planner(), to_committer(), parts.clone());
        Self {
            planner: Planner::new(name, coordinator, reports.clone(), crew, parts.clone()),
            committer: Committer::new(collection.clone(), to_planner(), parts.clone()),
            readers: (0..).zip(desks).map(reader).collect(),
        }
    }

    fn tasks(&self) -> impl Iterator<Item = &dyn Host> {
        let readers = self.readers.iter().map(|reader| -> &dyn Host { reader });
        readers.chain([&self.planner as &dyn Host, &self.committer])
    }
}

#[async_trait(?Send)]
impl Host for TieringWorker {
    fn crash(&self) {
        self.tasks().for_each(Host::crash);
    }

    async fn run(&self) {
        join_all(self.tasks().map(Host::run)).await;
    }
}
