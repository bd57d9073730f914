//! What builds the parts of a run: the hosts there are, and a part as one caller reaches it, with a port between them. It
//! knows no phase of the run and nothing of what goes wrong.

use std::rc::Rc;

use models::compactor::Compactor;
use models::contract::{Coordinator, Metastore, ObjectStore, Store};
use models::defects::Defects;
use models::paimon::object_stores::{CatalogLock, RenameSemantics, RenamingObjectStore};
use models::paimon::{Catalog, FilesystemCatalog, JdbcCatalog, LakeAccess, SqlMetastore};
use models::tiering::TieringCoordinator;
use scenarios::plan::Plan;
use scenarios::plan::calls::{COMPACTOR, LAKE, METASTORE};

use super::environment::SimulatedEnvironment;
use super::hosts::HostState;
use super::network::{Edge, Network, Scope};
use super::ports::{CoordinatorPort, LakePort, MetastorePort, StorePort, TableNames};

/// What builds parts: the hosts there are, and what stands behind their ports.
pub(super) struct Builder {
    pub network: Rc<Network>,
    pub names: TableNames,
    pub defects: Defects,
    pub objects: Rc<dyn ObjectStore>,
    /// What the storage's rename does, if files are created by one.
    pub rename: Option<RenameSemantics>,
    /// The catalog's lock, where a rename replaces what is there.
    pub lock: CatalogLock,
    pub store_host: Rc<HostState>,
    pub store: Rc<dyn Store>,
    pub coordinator_host: Rc<HostState>,
    /// The database of a JDBC catalog and its host.
    pub metastore: Option<(Rc<HostState>, Rc<SqlMetastore>)>,
}

impl Builder {
    /// The way from a caller to a host, or to the lake.
    pub fn edge(&self, caller: &Rc<HostState>, role: &str, callee: Option<&Rc<HostState>>, scope: &Rc<Scope>) -> Edge {
        let part = callee.map_or_else(|| Rc::from(LAKE), |host| host.name.clone());
        Edge { caller: caller.clone(), role: Rc::from(role), callee: callee.cloned(), part, scope: scope.clone() }
    }

    pub fn lake(&self, caller: &Rc<HostState>, role: &str, scope: &Rc<Scope>) -> LakeAccess {
        let edge = self.edge(caller, role, None, scope);
        let port: Rc<dyn ObjectStore> =
            Rc::new(LakePort { network: self.network.clone(), edge, objects: self.objects.clone() });
        let environment = SimulatedEnvironment::new(&self.network, caller);
        let objects = match self.rename {
            None => port,
            // In front of the port, so that something may go wrong between what is written beside and its rename.
            Some(semantics) => {
                let renaming = RenamingObjectStore::new(port, environment.clone(), semantics);
                let renaming = renaming.with_defects(self.defects.clone());
                Rc::new(if semantics.replaces() { renaming.with_lock(self.lock.clone()) } else { renaming })
            }
        };
        LakeAccess { objects, environment, defects: self.defects.clone() }
    }

    pub fn store(&self, caller: &Rc<HostState>, role: &str, scope: &Rc<Scope>) -> Rc<dyn Store> {
        Rc::new(StorePort {
            network: self.network.clone(),
            edge: self.edge(caller, role, Some(&self.store_host), scope),
            store: self.store.clone(),
            names: self.names.clone(),
        })
    }

    /// The plan's kind of catalog, as one caller reaches it.
    pub fn catalog(&self, caller: &Rc<HostState>, role: &str, scope: &Rc<Scope>) -> Rc<dyn Catalog> {
        let lake = self.lake(caller, role, scope);
        let Some((host, metastore)) = &self.metastore else { return Rc::new(FilesystemCatalog::new(lake)) };
        let edge = self.edge(caller, role, Some(host), scope);
        let metastore: Rc<dyn Metastore> = metastore.clone();
        let port = MetastorePort { network: self.network.clone(), edge, metastore };
        Rc::new(JdbcCatalog::new(lake, Rc::new(port)))
    }

    pub fn coordinator(
        &self,
        caller: &Rc<HostState>,
        role: &str,
        scope: &Rc<Scope>,
        coordinator: &Rc<TieringCoordinator>,
    ) -> Rc<dyn Coordinator> {
        Rc::new(CoordinatorPort {
            network: self.network.clone(),
            edge: self.edge(caller, role, Some(&self.coordinator_host), scope),
            coordinator: coordinator.clone(),
            names: self.names.clone(),
        })
    }
}

/// The compactor of a plan that has one, on a host of its own.
pub(super) fn add_compactor(builder: &Builder, plan: &Plan) {
    let Some(config) = &plan.system.compactor else { return };
    let host = HostState::new(COMPACTOR);
    host.install(Rc::new(Compactor::new(
        plan.compacted_tables().cloned().collect(),
        builder.lake(&host, COMPACTOR, &Scope::new(plan.seed, COMPACTOR)),
        config.clone(),
    )));
    builder.network.add_host(host);
}

/// A database on a host of its own.
pub(super) fn add_metastore(network: &Rc<Network>) -> (Rc<HostState>, Rc<SqlMetastore>) {
    let host = HostState::new(METASTORE);
    let metastore = Rc::new(SqlMetastore::new().expect("SQLite opens a database in memory"));
    host.install(metastore.clone());
    network.add_host(host.clone());
    (host, metastore)
}
