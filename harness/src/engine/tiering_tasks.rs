//! A tiering worker of a run: its planner, its readers and its committer, each on a host of its own with ports to the
//! others. It knows who reaches whom, and nothing of what they say.

use std::rc::Rc;

use models::contract::Host;
use models::tiering::{Collection, Committer, Crew, Planner, Reader, Reports, Splits, TaskParts};
use models::tiering::{TieringCommitter, TieringCoordinator, TieringPlanner, TieringReader};
use scenarios::plan::Plan;
use scenarios::plan::calls::{TIERING, tiering_committer, tiering_planner, tiering_reader, tiering_worker};

use super::builder::Builder;
use super::environment::SimulatedEnvironment;
use super::hosts::HostState;
use super::network::Scope;
use super::ports::{TieringCommitterPort, TieringPlannerPort, TieringReaderPort};

/// A task's host, and what the task is busy with.
#[derive(Clone)]
struct Place {
    host: Rc<HostState>,
    scope: Rc<Scope>,
}

impl Place {
    fn new(seed: u64, host: &str) -> Self {
        Self { host: HostState::new(host), scope: Scope::new(seed, host) }
    }
}

/// The desks of one worker's tasks, and where they stand.
struct Worker<'a> {
    builder: &'a Builder,
    plan: &'a Plan,
    planner: (Place, Rc<Reports>),
    committer: (Place, Rc<Collection>),
}

impl Worker<'_> {
    /// What a task reaches besides its peers.
    fn parts(&self, place: &Place) -> TaskParts {
        TaskParts {
            store: self.builder.store(&place.host, TIERING, &place.scope),
            lake: self.builder.lake(&place.host, TIERING, &place.scope),
            environment: SimulatedEnvironment::new(&self.builder.network, &place.host),
            config: self.plan.system.worker.clone(),
            defects: self.builder.defects.clone(),
        }
    }

    fn planner(&self, from: &Place) -> Rc<dyn TieringPlanner> {
        let (place, reports) = &self.planner;
        Rc::new(TieringPlannerPort {
            network: self.builder.network.clone(),
            edge: self.builder.edge(&from.host, TIERING, Some(&place.host), &from.scope),
            planner: reports.clone(),
            names: self.builder.names.clone(),
        })
    }

    fn committer(&self, from: &Place) -> Rc<dyn TieringCommitter> {
        let (place, collection) = &self.committer;
        Rc::new(TieringCommitterPort {
            network: self.builder.network.clone(),
            edge: self.builder.edge(&from.host, TIERING, Some(&place.host), &from.scope),
            committer: collection.clone(),
            busy_with: place.scope.clone(),
            names: self.builder.names.clone(),
        })
    }

    fn reader(&self, from: &Place, (place, splits): &(Place, Rc<Splits>)) -> Rc<dyn TieringReader> {
        Rc::new(TieringReaderPort {
            network: self.builder.network.clone(),
            edge: self.builder.edge(&from.host, TIERING, Some(&place.host), &from.scope),
            reader: splits.clone(),
            busy_with: place.scope.clone(),
        })
    }

    fn start(&self, place: &Place, task: Rc<dyn Host>) {
        place.host.install(task);
        self.builder.network.add_host(place.host.clone());
    }
}

/// Starts the worker with this number, from 1.
pub(super) fn add_worker(builder: &Builder, plan: &Plan, number: u32, coordinator: &Rc<TieringCoordinator>) {
    let place = |host: &str| Place::new(plan.seed, host);
    let environment_of = |place: &Place| SimulatedEnvironment::new(&builder.network, &place.host);
    let planner = place(&tiering_planner(number));
    let committer = place(&tiering_committer(number));
    let readers = (1..=plan.system.tiering_readers).map(|reader| {
        let place = place(&tiering_reader(number, reader));
        let splits = Rc::new(Splits::new(environment_of(&place)));
        (place, splits)
    });
    let readers: Vec<(Place, Rc<Splits>)> = readers.collect();
    let collection = Rc::new(Collection::new(environment_of(&committer), builder.defects.clone()));
    let worker = Worker {
        builder,
        plan,
        planner: (planner.clone(), Rc::new(Reports::default())),
        committer: (committer.clone(), collection.clone()),
    };
    let crew = Crew {
        readers: readers.iter().map(|reader| worker.reader(&planner, reader)).collect(),
        committer: worker.committer(&planner),
    };
    let coordinator = builder.coordinator(&planner.host, TIERING, &planner.scope, coordinator);
    let reports = worker.planner.1.clone();
    let name = tiering_worker(number);
    worker.start(&planner, Rc::new(Planner::new(&name, coordinator, reports, crew, worker.parts(&planner))));
    for (index, (place, splits)) in (0..).zip(&readers) {
        let (to_planner, to_committer) = (worker.planner(place), worker.committer(place));
        let reader = Reader::new(index, splits.clone(), to_planner, to_committer, worker.parts(place));
        worker.start(place, Rc::new(reader));
    }
    let to_planner = worker.planner(&committer);
    worker.start(&committer, Rc::new(Committer::new(collection, to_planner, worker.parts(&committer))));
}
