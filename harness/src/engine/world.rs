//! The world of one run: the reference system's parts, each on its host with ports between them, and the phases of the
//! run. It knows what there is and when phases change; what goes wrong is the network's business.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use models::config::CatalogKind;
use models::contract::{Statement, System};
use models::defects::Defects;
use models::paimon::LakeAccess;
use models::paimon::object_stores::{CatalogLock, MemoryObjectStore};
use models::store::InMemoryStore;
use models::system::{Client, ClientParts, ReferenceStoreFactory, ReferenceSystem};
use models::tiering::TieringCoordinator;
use scenarios::plan::{Action, Phase, Plan};
use tokio::sync::oneshot;

use super::builder::{Builder, add_compactor, add_metastore};
use super::environment::{OBSERVER, SimulatedEnvironment};
use super::hosts::HostState;
use super::maintenance::MaintenanceHost;
use super::network::{Network, Scope};
use super::observer::Observer;
use super::ports::TableNames;
use super::run::{Damage, RunOptions, Trouble};
use super::session::{Session, SessionHost, SessionStep};
use super::tiering_tasks::add_worker;
use super::timed_faults;
use crate::history::{Event, RunPhase};

/// How often the observer looks.
const OBSERVE_EVERY_MS: u64 = 50;
/// The session that creates the plan's tables before anything goes wrong.
const SETUP_SESSION: &str = "setup";

/// Everything there is.
pub struct World {
    plan: Rc<Plan>,
    network: Rc<Network>,
    observer: Rc<Observer>,
    maintenance: Rc<MaintenanceHost>,
    system: Rc<ReferenceSystem>,
    sessions: BTreeMap<String, Rc<Session>>,
    /// What the setup session is busy with.
    setup: Rc<Scope>,
    objects: Rc<MemoryObjectStore>,
    store: Rc<InMemoryStore>,
    /// The lake as the system's own clean-up at the end reaches it: without a port.
    upkeep: LakeAccess,
    damage: Option<Damage>,
}

impl World {
    /// Builds the reference system of a plan, with its sessions, all hosts up.
    pub fn build(plan: Rc<Plan>, network: &Rc<Network>, objects: &Rc<MemoryObjectStore>, options: &RunOptions) -> Self {
        let defects = &options.defects;
        let scope = |actor: &str| Scope::new(plan.seed, actor);
        let store_host = HostState::new("store");
        let store = Rc::new(InMemoryStore::new(
            SimulatedEnvironment::new(network, &store_host),
            plan.system.store.clone(),
            defects.clone(),
        ));
        store_host.install(store.clone());
        let builder = Rc::new(Builder {
            network: network.clone(),
            names: TableNames::default(),
            defects: defects.clone(),
            objects: objects.clone(),
            rename: plan.lake.rename,
            lock: CatalogLock::new(),
            store_host: store_host.clone(),
            store: store.clone(),
            coordinator_host: HostState::new("coordinator"),
            metastore: (plan.catalog.kind == CatalogKind::Jdbc).then(|| add_metastore(network)),
        });
        network.add_host(store_host);
        let coordinator_host = &builder.coordinator_host;
        let coordinator_scope = scope("coordinator");
        let coordinator = Rc::new(TieringCoordinator::new(
            builder.store(coordinator_host, "coordinator", &coordinator_scope),
            builder.catalog(coordinator_host, "coordinator", &coordinator_scope),
            SimulatedEnvironment::new(network, coordinator_host),
            plan.system.coordinator.clone(),
            defects.clone(),
        ));
        coordinator_host.install(coordinator.clone());
        network.add_host(coordinator_host.clone());
        for worker in 1..=plan.system.tiering_workers {
            add_worker(&builder, &plan, worker, &coordinator);
        }
        add_compactor(&builder, &plan);
        let names: BTreeSet<&str> = plan.sessions().chain([SETUP_SESSION]).collect();
        let places = names.iter().map(|name| ((*name).to_owned(), (HostState::new(name), scope(name))));
        let places: Rc<BTreeMap<_, _>> = Rc::new(places.collect());
        let system = {
            let (builder, places, plan) = (builder.clone(), places.clone(), plan.clone());
            Rc::new(ReferenceSystem::new(move |session, incarnation| {
                let (host, scope) = &places[session];
                let store = builder.store(host, session, scope);
                Rc::new(Client::new(ClientParts {
                    session: session.to_owned(),
                    incarnation,
                    catalog_options: plan.catalog.options.clone(),
                    store_factories: vec![Rc::new(ReferenceStoreFactory::new(store.clone()))],
                    store,
                    coordinator: builder.coordinator(host, session, scope, &coordinator),
                    lake: builder.lake(host, session, scope),
                    catalog: builder.catalog(host, session, scope),
                    config: plan.system.client.clone(),
                }))
            }))
        };
        let outside = LakeAccess {
            objects: objects.clone(),
            environment: SimulatedEnvironment::new(network, &HostState::new(OBSERVER)),
            defects: Defects::none(),
        };
        let upkeep = LakeAccess { defects: defects.clone(), ..outside.clone() };
        let tables = plan.tables.iter().map(|planned| planned.table.clone()).collect();
        let observer = Observer::new(network, outside, &store, tables);
        let maintenance = MaintenanceHost::start(&builder, &observer);
        let sessions = places.iter().map(|(name, (host, scope))| {
            host.install(Rc::new(SessionHost { session: name.clone(), system: system.clone() }));
            network.add_host(host.clone());
            (name.clone(), Session::new(network, &observer, &system, host, scope))
        });
        Self {
            sessions: sessions.collect(),
            setup: places[SETUP_SESSION].1.clone(),
            plan: plan.clone(),
            network: network.clone(),
            observer,
            maintenance,
            system,
            objects: objects.clone(),
            store,
            upkeep,
            damage: options.damage.clone(),
        }
    }

    /// The whole run, from the first table to the last look at the lake's files.
    pub async fn run(self) -> Result<(), Trouble> {
        self.network.let_faults_strike(false);
        self.create_tables().await?;
        self.network.let_faults_strike(true);
        let began_ms = self.network.now_ms();
        self.enter(RunPhase::Chaos);
        self.observe_now_and_then();
        timed_faults::schedule(&self.plan, &self.network, &self.objects, &self.store, &self.maintenance);
        self.work(Phase::Chaos, began_ms).await;
        let chaos_left_ms = (began_ms + self.plan.chaos_ms).saturating_sub(self.network.now_ms());
        tokio::time::sleep(Duration::from_millis(chaos_left_ms)).await;
        self.store.shorten_retention(None);
        self.network.heal().await;
        self.enter(RunPhase::Healed);
        let healed_ms = self.network.now_ms();
        self.work(Phase::Healed, healed_ms).await;
        let drained = self.drain().await;
        self.enter(if drained { RunPhase::Drained } else { RunPhase::GaveUp });
        self.work(Phase::Drained, self.network.now_ms()).await;
        self.enter(RunPhase::End);
        // Nothing of the system moves any more: what a round has written and not committed is an orphan now.
        let cleaned = if drained { self.observer.clean_up(&self.upkeep) } else { BTreeSet::new() };
        self.inflict_damage();
        self.observer.read_lake(&cleaned);
        Ok(())
    }

    fn inflict_damage(&self) {
        let Some(damage) = &self.damage else { return };
        let all = self.objects.snapshot_all();
        let candidates: Vec<_> = all.iter().filter(|(path, _)| (damage.selects)(path)).collect();
        if !candidates.is_empty() {
            let (path, bytes) = candidates[damage.object % candidates.len()];
            self.objects.corrupt(path, damage.byte.rem_euclid(bytes.len().max(1) as i64) as usize);
        }
    }

    fn enter(&self, phase: RunPhase) {
        self.network.observe(Event::Phase { phase });
        self.observer.sample(true);
    }

    async fn create_tables(&self) -> Result<(), Trouble> {
        for planned in &self.plan.tables {
            let statement = Statement::CreateTable {
                table: planned.table.clone(),
                schema: planned.schema.clone(),
                if_not_exists: false,
                side: planned.side,
            };
            let step = format!("setup.{}", planned.table);
            self.setup.enter(&step);
            if let Err(failure) = self.system.execute(SETUP_SESSION, &step, statement).await {
                return Err(Trouble::Setup { table: planned.table.to_string(), message: failure.message });
            }
        }
        Ok(())
    }

    fn observe_now_and_then(&self) {
        let (observer, maintenance) = (self.observer.clone(), self.maintenance.clone());
        self.network.spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(OBSERVE_EVERY_MS)).await;
                observer.sample(false);
                maintenance.keep_snapshots();
            }
        });
    }

    /// All sessions do their part of a phase: beside each other, but one after the other once all is drained.
    async fn work(&self, phase: Phase, began_ms: u64) {
        let mut by_session: BTreeMap<&str, Vec<(String, SessionStep)>> = BTreeMap::new();
        for step in &self.plan.steps {
            let (session, done) = match &step.action {
                Action::Run(run) if run.phase == phase => (run.session.as_str(), SessionStep::Run(run.clone())),
                Action::Close(close) if close.phase == phase => {
                    (close.session.as_str(), SessionStep::Close(close.clone()))
                }
                Action::Run(_) | Action::Close(_) | Action::Fault(_) => continue,
            };
            by_session.entry(session).or_default().push((step.id.clone(), done));
        }
        let mut at_work = Vec::new();
        for (name, steps) in by_session {
            let Some(session) = self.sessions.get(name).cloned() else { continue };
            let (done, ended) = oneshot::channel();
            // A task of its own: a session that waits costs nothing when another one moves.
            self.network.spawn(async move {
                session.work(began_ms, &steps).await;
                // Nobody waits any more once the run was given up.
                let _ = done.send(());
            });
            if phase == Phase::Drained {
                self.finish(ended).await;
            } else {
                at_work.push(ended);
            }
        }
        for ended in at_work {
            self.finish(ended).await;
        }
    }

    /// Waits for a session's work. One that panicked never finishes; the network has told why, and ends the run.
    async fn finish(&self, ended: oneshot::Receiver<()>) {
        if ended.await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the lake has caught up with all logs and shows it, and maintenance has nothing left to do; `false` if the
    /// lake does not within its bound.
    async fn drain(&self) -> bool {
        let bounds = self.plan.bounds();
        let until_ms = self.network.now_ms() + bounds.recovery_ms + bounds.lake_freshness_ms;
        while !self.observer.all_readable() {
            if self.network.now_ms() >= until_ms {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(OBSERVE_EVERY_MS)).await;
        }
        // A job that was cut short is judged after it was done again (L10).
        while !self.maintenance.is_idle() && self.network.now_ms() < until_ms {
            tokio::time::sleep(Duration::from_millis(OBSERVE_EVERY_MS)).await;
        }
        // A round that lost its table may still be writing files that nobody will ever refer to.
        tokio::time::sleep(Duration::from_millis(self.plan.system.longest_round_ms())).await;
        true
    }
}
