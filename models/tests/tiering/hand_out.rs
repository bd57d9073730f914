//! A coordinator that hands out given assignments, whoever asks: so two workers can hold one table at once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use async_trait::async_trait;
use models::contract::{
    ColumnChange, Coordinator, Failure, FailureCode, RoundEnd, Store, StoreTable, TableId, TablePath, TableSchema,
    TieringAssignment,
};
use models::defects::Defects;
use models::paimon::LakeAccess;
use models::tiering::{TaskParts, TieringWorker};

use crate::fixture::{World, worker_config};

/// How many readers a worker has.
const READERS: u32 = 2;

/// The scripted coordinator.
#[derive(Default)]
pub struct HandOut {
    assignments: RefCell<VecDeque<TieringAssignment>>,
    /// The ends that were reported, by epoch.
    pub ends: RefCell<Vec<(u64, RoundEnd)>>,
    /// Whether every heartbeat is rejected.
    pub rejects_heartbeats: Cell<bool>,
    /// How many heartbeats came.
    pub heartbeats: Cell<u32>,
}

impl HandOut {
    /// Hands this table out once under each of these epochs.
    pub fn of(table: &StoreTable, epochs: &[u64]) -> Rc<Self> {
        let assignments = epochs.iter().map(|epoch| TieringAssignment { table: table.clone(), epoch: *epoch });
        Rc::new(Self { assignments: RefCell::new(assignments.collect()), ..Self::default() })
    }

    /// Hands out this table too, after the others.
    pub fn add(&self, table: &StoreTable, epoch: u64) {
        self.assignments.borrow_mut().push_back(TieringAssignment { table: table.clone(), epoch });
    }
}

fn not_scripted() -> Failure {
    Failure::definite(FailureCode::Unsupported, "expected a call that this test scripts")
}

#[async_trait(?Send)]
impl Coordinator for HandOut {
    async fn create_table(&self, _path: &TablePath, _schema: &TableSchema) -> Result<StoreTable, Failure> {
        Err(not_scripted())
    }

    async fn drop_table(&self, _path: &TablePath) -> Result<(), Failure> {
        Err(not_scripted())
    }

    async fn create_table_on_lake(
        &self,
        _path: &TablePath,
        _properties: &BTreeMap<String, String>,
    ) -> Result<StoreTable, Failure> {
        Err(not_scripted())
    }

    async fn alter_columns(&self, _path: &TablePath, _changes: &[ColumnChange]) -> Result<(), Failure> {
        Err(not_scripted())
    }

    async fn alter_options(
        &self,
        _path: &TablePath,
        _set: &BTreeMap<String, String>,
        _reset: &[String],
    ) -> Result<(), Failure> {
        Err(not_scripted())
    }

    async fn request_table(&self, _worker: &str) -> Result<Option<TieringAssignment>, Failure> {
        Ok(self.assignments.borrow_mut().pop_front())
    }

    async fn heartbeat(&self, _table_id: TableId, _epoch: u64) -> Result<(), Failure> {
        self.heartbeats.set(self.heartbeats.get() + 1);
        if self.rejects_heartbeats.get() { Err(Failure::rejected("taken away")) } else { Ok(()) }
    }

    async fn end_round(&self, _table_id: TableId, epoch: u64, end: RoundEnd) -> Result<(), Failure> {
        self.ends.borrow_mut().push((epoch, end));
        Ok(())
    }
}

/// How one worker runs: what it talks to, and its bugs.
pub struct Setup {
    pub store: Rc<dyn Store>,
    pub lake: LakeAccess,
    pub defects: Defects,
}

impl Setup {
    /// Straight to the world's parts, without bugs.
    pub fn plain(world: &World) -> Self {
        Self { store: world.store.clone(), lake: world.lake.clone(), defects: Defects::none() }
    }

    /// The same with this store in between.
    pub fn with_store(self, store: Rc<dyn Store>) -> Self {
        Self { store, ..self }
    }

    /// The same with this lake.
    pub fn with_lake(self, lake: LakeAccess) -> Self {
        Self { lake, ..self }
    }

    /// The same with these bugs.
    pub fn with_defects(self, defects: Defects) -> Self {
        Self { defects, ..self }
    }

    /// A worker under this coordinator.
    pub fn worker(self, world: &World, coordinator: Rc<dyn Coordinator>) -> TieringWorker {
        let Self { store, lake, defects } = self;
        let parts = TaskParts { store, lake, environment: world.environment.clone(), config: worker_config(), defects };
        TieringWorker::new("tiering-1", coordinator, &parts, READERS)
    }

    /// One round of this table under this epoch, and how it ended.
    pub async fn round(self, world: &World, table: &StoreTable, epoch: u64) -> RoundEnd {
        use models::contract::Host as _;
        let coordinator = HandOut::of(table, &[epoch]);
        let worker = self.worker(world, coordinator.clone());
        crate::fixture::run_for(30_000, worker.run()).await;
        let ends = coordinator.ends.borrow();
        let [(ended_epoch, end)] = ends[..] else { panic!("expected one end of the round, found {ends:?}") };
        assert_eq!(ended_epoch, epoch);
        end
    }
}
