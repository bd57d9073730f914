//! The world of one run: the reference system's parts, each on its host with ports between them, and the phases of the
//! run. It knows what there is and when phases change; what goes wrong is the network's business.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use models::config::CatalogKind;
use models::contract::{Coordinator, Metastore, ObjectStore, Statement, Store, System};
use models::defects::Defects;
use models::paimon::object_stores::MemoryObjectStore;
use models::paimon::{Catalog, FilesystemCatalog, JdbcCatalog, LakeAccess, SqlMetastore};
use models::store::InMemoryStore;
use models::system::{Client, ClientParts, ReferenceStoreFactory, ReferenceSystem};
use models::tiering::{TieringCoordinator, TieringWorker};
use scenarios::plan::{Action, Fault, Phase, Plan};
use tokio::sync::oneshot;

use super::environment::{OBSERVER, SimulatedEnvironment};
use super::hosts::HostState;
use super::network::{Edge, Network, Scope};
use super::observer::Observer;
use super::ports::{CoordinatorPort, LakePort, MetastorePort, StorePort, TableNames};
use super::run::{Damage, RunOptions, Trouble};
use super::session::{Session, SessionHost, SessionStep};
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
    system: Rc<ReferenceSystem>,
    sessions: BTreeMap<String, Rc<Session>>,
    /// What the setup session is busy with.
    setup: Rc<Scope>,
    objects: Rc<MemoryObjectStore>,
    /// The lake as the system's own clean-up at the end reaches it: without a port.
    upkeep: LakeAccess,
    damage: Option<Damage>,
}

/// What builds parts: the hosts there are, and what stands behind their ports.
struct Builder {
    network: Rc<Network>,
    names: TableNames,
    defects: Defects,
    objects: Rc<dyn ObjectStore>,
    store_host: Rc<HostState>,
    store: Rc<dyn Store>,
    coordinator_host: Rc<HostState>,
    /// The database of a JDBC catalog and its host.
    metastore: Option<(Rc<HostState>, Rc<SqlMetastore>)>,
}

impl Builder {
    fn edge(
        &self,
        caller: &Rc<HostState>,
        role: &str,
        callee: Option<&Rc<HostState>>,
        part: &'static str,
        scope: &Rc<Scope>,
    ) -> Edge {
        let role = Rc::from(role);
        Edge { caller: caller.clone(), role, callee: callee.cloned(), part, scope: scope.clone() }
    }

    fn lake(&self, caller: &Rc<HostState>, role: &str, scope: &Rc<Scope>) -> LakeAccess {
        let edge = self.edge(caller, role, None, "lake", scope);
        let port = LakePort { network: self.network.clone(), edge, objects: self.objects.clone() };
        LakeAccess {
            objects: Rc::new(port),
            environment: SimulatedEnvironment::new(&self.network, caller),
            defects: self.defects.clone(),
        }
    }

    fn store(&self, caller: &Rc<HostState>, role: &str, scope: &Rc<Scope>) -> Rc<dyn Store> {
        Rc::new(StorePort {
            network: self.network.clone(),
            edge: self.edge(caller, role, Some(&self.store_host), "store", scope),
            store: self.store.clone(),
            names: self.names.clone(),
        })
    }

    /// The plan's kind of catalog, as one caller reaches it.
    fn catalog(&self, caller: &Rc<HostState>, role: &str, scope: &Rc<Scope>) -> Rc<dyn Catalog> {
        let lake = self.lake(caller, role, scope);
        let Some((host, metastore)) = &self.metastore else { return Rc::new(FilesystemCatalog::new(lake)) };
        let edge = self.edge(caller, role, Some(host), "metastore", scope);
        let metastore: Rc<dyn Metastore> = metastore.clone();
        let port = MetastorePort { network: self.network.clone(), edge, metastore };
        Rc::new(JdbcCatalog::new(lake, Rc::new(port)))
    }

    fn coordinator(
        &self,
        caller: &Rc<HostState>,
        role: &str,
        scope: &Rc<Scope>,
        coordinator: &Rc<TieringCoordinator>,
    ) -> Rc<dyn Coordinator> {
        Rc::new(CoordinatorPort {
            network: self.network.clone(),
            edge: self.edge(caller, role, Some(&self.coordinator_host), "coordinator", scope),
            coordinator: coordinator.clone(),
            names: self.names.clone(),
        })
    }
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
            let name = format!("tiering-{worker}");
            let host = HostState::new(&name);
            let scope = scope(&name);
            host.install(Rc::new(TieringWorker::new(
                &name,
                builder.coordinator(&host, "tiering", &scope, &coordinator),
                builder.store(&host, "tiering", &scope),
                builder.lake(&host, "tiering", &scope),
                SimulatedEnvironment::new(network, &host),
                plan.system.worker.clone(),
                defects.clone(),
            )));
            network.add_host(host);
        }
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
            system,
            objects: objects.clone(),
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
        self.schedule_faults();
        self.work(Phase::Chaos, began_ms).await;
        let chaos_left_ms = (began_ms + self.plan.chaos_ms).saturating_sub(self.network.now_ms());
        tokio::time::sleep(Duration::from_millis(chaos_left_ms)).await;
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
        let observer = self.observer.clone();
        self.network.spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(OBSERVE_EVERY_MS)).await;
                observer.sample(false);
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

    /// Waits until the lake has caught up with all logs; `false` if it does not within its bound.
    async fn drain(&self) -> bool {
        let bounds = self.plan.bounds();
        let until_ms = self.network.now_ms() + bounds.recovery_ms + bounds.lake_freshness_ms;
        while !self.observer.all_tiered() {
            if self.network.now_ms() >= until_ms {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(OBSERVE_EVERY_MS)).await;
        }
        // A round that lost its table may still be writing files that nobody will ever refer to.
        tokio::time::sleep(Duration::from_millis(self.plan.system.longest_round_ms())).await;
        true
    }

    /// Lets the plan's timed faults strike. Those of single calls are armed already.
    fn schedule_faults(&self) {
        for (_, fault) in self.plan.faults() {
            let network = self.network.clone();
            match fault.clone() {
                Fault::Call { .. } => {}
                Fault::Crash { host, at_ms, restart_after_ms } => self.network.spawn(async move {
                    tokio::time::sleep(Duration::from_millis(at_ms)).await;
                    if let Some(host) = network.host(&host) {
                        network.crash(&host, restart_after_ms);
                    }
                }),
                Fault::Pause { host, at_ms, for_ms } => {
                    let Some(host) = self.network.host(&host) else { continue };
                    let (began, ended) = (host.clone(), host);
                    self.schedule_window(
                        "pause",
                        began.name.clone(),
                        at_ms,
                        for_ms,
                        move || began.pause(),
                        move || ended.resume(),
                    );
                }
                Fault::Partition { from, to, both_ways, at_ms, for_ms } => {
                    let target = Rc::from(format!("{from} {} {to}", if both_ways { "<->" } else { "->" }));
                    let (cut, mend) = (network.clone(), network);
                    let ways = move || {
                        let back = both_ways.then(|| (to.clone(), from.clone()));
                        [Some((from.clone(), to.clone())), back].into_iter().flatten()
                    };
                    let also_ways = ways.clone();
                    self.schedule_window(
                        "partition",
                        target,
                        at_ms,
                        for_ms,
                        move || {
                            ways().for_each(|(from, to)| cut.faults.cut(&from, &to));
                            true
                        },
                        move || {
                            also_ways().for_each(|(from, to)| mend.faults.mend(&from, &to));
                        },
                    );
                }
                Fault::SlowLink { from, to, by_ms, at_ms, for_ms } => {
                    let target = Rc::from(format!("{from} <-> {to}"));
                    let (begin, end) = (network.clone(), network);
                    let link = (from.clone(), to.clone());
                    self.schedule_window(
                        "slow-link",
                        target,
                        at_ms,
                        for_ms,
                        move || {
                            begin.faults.slow_down(&from, &to, by_ms);
                            true
                        },
                        move || end.faults.speed_up(&link.0, &link.1, by_ms),
                    );
                }
                Fault::Full { at_ms, for_ms } => {
                    let (begin, end) = (network.clone(), network);
                    self.schedule_window(
                        "capacity-full",
                        Rc::from("lake"),
                        at_ms,
                        for_ms,
                        move || {
                            begin.faults.begin_full();
                            true
                        },
                        move || end.faults.end_full(),
                    );
                }
                Fault::Outage { part, at_ms, for_ms } => {
                    let (begin, end) = (network.clone(), network);
                    let (out, back) = (part.clone(), part.clone());
                    self.schedule_window(
                        "outage",
                        Rc::from(part),
                        at_ms,
                        for_ms,
                        move || {
                            begin.faults.begin_outage(&out);
                            true
                        },
                        move || {
                            end.faults.end_outage(&back);
                        },
                    );
                }
            }
        }
    }

    /// A fault with a beginning and an end; the beginning says whether it changed anything.
    fn schedule_window(
        &self,
        kind: &'static str,
        target: Rc<str>,
        at_ms: u64,
        for_ms: u64,
        begin: impl FnOnce() -> bool + 'static,
        end: impl FnOnce() + 'static,
    ) {
        let network = self.network.clone();
        self.network.spawn(async move {
            tokio::time::sleep(Duration::from_millis(at_ms)).await;
            if network.is_healed() || !begin() {
                return;
            }
            network.begin_window(kind, &target);
            tokio::time::sleep(Duration::from_millis(for_ms)).await;
            if !network.is_healed() {
                end();
                network.end_window(kind, &target);
            }
        });
    }
}

/// A database on a host of its own.
fn add_metastore(network: &Rc<Network>) -> (Rc<HostState>, Rc<SqlMetastore>) {
    let host = HostState::new("metastore");
    let metastore = Rc::new(SqlMetastore::new().expect("SQLite opens a database in memory"));
    host.install(metastore.clone());
    network.add_host(host.clone());
    (host, metastore)
}
