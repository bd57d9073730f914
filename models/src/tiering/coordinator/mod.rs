//! The coordinator: it serves the store's DDL and hands out the right to tier.
//!
//! Durable are only the epochs that it gave out; which tables exist is the store's knowledge. After a crash it asks the
//! store for its tables and schedules each at once, so that recovery does not wait for a whole freshness interval. It
//! must never be needed for safety: workers are fenced by the lake (see [`crate::tiering`]), so a coordinator that
//! forgets a holder costs work, never rows.

mod agreement;
mod columns;
mod create_on_lake;
mod ddl;
mod epochs;
mod lake_table;
mod states;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use async_trait::async_trait;

use self::epochs::EpochLedger;
use self::states::TieringStates;
use crate::config::CoordinatorConfig;
use crate::contract::{
    ColumnChange, Coordinator, Environment, Failure, Host, RoundEnd, Store, StoreTable, TableId, TablePath,
    TableSchema, TieringAssignment,
};
use crate::defects::Defects;
use crate::paimon::Catalog;
use crate::points::Point;

/// The reference coordinator, one process.
pub struct TieringCoordinator {
    store: Rc<dyn Store>,
    catalog: Rc<dyn Catalog>,
    environment: Rc<dyn Environment>,
    config: CoordinatorConfig,
    defects: Defects,
    /// Durable: written before an epoch leaves the coordinator.
    epochs: RefCell<EpochLedger>,
    volatile: RefCell<Volatile>,
    /// Whether it was down before: only told, never looked at.
    failed_over: Cell<bool>,
}

/// What a crash takes away.
struct Volatile {
    states: TieringStates,
    listing: Listing,
}

impl Volatile {
    /// Nothing known yet.
    fn with(defects: &Defects) -> Self {
        Self { states: TieringStates::new(defects), listing: Listing::default() }
    }
}

/// What the coordinator knows about the store's list of tables.
#[derive(Default)]
struct Listing {
    /// When the store last answered; `None` since the start.
    listed_ms: Option<u64>,
    /// Whether a DDL call to the store ended without a clear answer since.
    in_doubt: bool,
    /// Grows whenever DDL of our own changes what is tracked: a list that was asked for before is then out of date.
    changes: u64,
}

impl TieringCoordinator {
    /// A coordinator that has never given out an epoch. `catalog` is where store-side CREATE TABLE makes lake tables.
    pub fn new(
        store: Rc<dyn Store>,
        catalog: Rc<dyn Catalog>,
        environment: Rc<dyn Environment>,
        config: CoordinatorConfig,
        defects: Defects,
    ) -> Self {
        let epochs = RefCell::default();
        let volatile = RefCell::new(Volatile::with(&defects));
        let failed_over = Cell::new(false);
        Self { store, catalog, environment, config, defects, epochs, volatile, failed_over }
    }

    /// Tiers this table from now on, at once.
    fn track(&self, table: StoreTable) {
        let mut volatile = self.volatile.borrow_mut();
        volatile.listing.changes += 1;
        volatile.states.track(table, self.environment.now_ms());
    }

    /// Tiers no table of this name any more.
    fn forget(&self, path: &TablePath) {
        let mut volatile = self.volatile.borrow_mut();
        volatile.listing.changes += 1;
        volatile.states.forget(path);
    }

    /// A DDL call to the store failed; unless that is certain, only the store's list can tell what it did.
    fn note_doubt(&self, failure: &Failure) {
        if !failure.definite {
            self.volatile.borrow_mut().listing.in_doubt = true;
        }
    }

    /// Looks at timers and heartbeats for ever.
    async fn keep_time(&self) {
        loop {
            let now_ms = self.environment.now_ms();
            if self.volatile.borrow_mut().states.advance(now_ms, self.config.heartbeat_timeout_ms) {
                self.environment.reached(Point::TableTakenFromSilent);
            }
            self.environment.sleep_ms(self.config.check_interval_ms).await;
        }
    }

    /// Keeps what is tracked in step with the store's tables: at the start, in doubt, and now and then, because the
    /// request behind a lost answer may still be on its way when the doubt is looked into.
    async fn keep_listing(&self) {
        let relist_interval_ms = self.config.freshness_ms.max(self.config.check_interval_ms);
        loop {
            let now_ms = self.environment.now_ms();
            let due = {
                let listing = &self.volatile.borrow().listing;
                let listed_ms = listing.listed_ms.filter(|_| !listing.in_doubt);
                listed_ms.is_none_or(|listed_ms| listed_ms.saturating_add(relist_interval_ms) <= now_ms)
            };
            if due {
                self.list_tables().await;
            }
            self.environment.sleep_ms(self.config.check_interval_ms).await;
        }
    }

    /// Takes over the store's list, unless there is no answer or our own DDL overtook it; then it is asked for again.
    async fn list_tables(&self) {
        let asked_at_changes = {
            let mut volatile = self.volatile.borrow_mut();
            if volatile.listing.in_doubt && volatile.listing.listed_ms.is_some() {
                self.environment.reached(Point::RelistedInDoubt);
            }
            // Doubt that arises from here on is not settled by this list.
            volatile.listing.in_doubt = false;
            volatile.listing.changes
        };
        let answer = self.store.tables().await;
        let now_ms = self.environment.now_ms();
        let mut volatile = self.volatile.borrow_mut();
        let Ok(tables) = answer else {
            volatile.listing.in_doubt = true;
            return;
        };
        if volatile.listing.changes != asked_at_changes {
            self.environment.reached(Point::ListOvertaken);
            volatile.listing.in_doubt = true;
            return;
        }
        let tiered: Vec<StoreTable> = tables.into_iter().filter(|table| table.schema.lakestream_enabled()).collect();
        let table_ids: BTreeSet<TableId> = tiered.iter().map(|table| table.table_id).collect();
        volatile.states.keep_only(&table_ids);
        for table in tiered {
            volatile.states.track(table, now_ms);
        }
        volatile.listing.listed_ms = Some(now_ms);
    }
}

#[async_trait(?Send)]
impl Coordinator for TieringCoordinator {
    async fn create_table(&self, path: &TablePath, schema: &TableSchema) -> Result<StoreTable, Failure> {
        ddl::create_table(self, path, schema).await
    }

    async fn drop_table(&self, path: &TablePath) -> Result<(), Failure> {
        ddl::drop_table(self, path).await
    }

    async fn create_table_on_lake(
        &self,
        path: &TablePath,
        properties: &BTreeMap<String, String>,
    ) -> Result<StoreTable, Failure> {
        create_on_lake::create_table_on_lake(self, path, properties).await
    }

    async fn alter_columns(&self, path: &TablePath, changes: &[ColumnChange]) -> Result<(), Failure> {
        columns::alter_columns(self, path, changes).await
    }

    async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        ddl::alter_options(self, path, set, reset).await
    }

    async fn request_table(&self, worker: &str) -> Result<Option<TieringAssignment>, Failure> {
        let now_ms = self.environment.now_ms();
        let mut volatile = self.volatile.borrow_mut();
        if volatile.listing.listed_ms.is_none() {
            return Ok(None);
        }
        let mut epochs = self.epochs.borrow_mut();
        let assigned = volatile.states.assign(worker, now_ms, |path| epochs.next(path));
        if self.failed_over.get() && assigned.as_ref().is_some_and(|assigned| assigned.epoch > 1) {
            self.environment.reached(Point::EpochAfterFailover);
        }
        Ok(assigned)
    }

    async fn heartbeat(&self, table_id: TableId, epoch: u64) -> Result<(), Failure> {
        let heard = self.volatile.borrow_mut().states.heartbeat(table_id, epoch, self.environment.now_ms());
        heard.inspect_err(|_| self.environment.reached(Point::HeartbeatRejected))
    }

    async fn end_round(&self, table_id: TableId, epoch: u64, end: RoundEnd) -> Result<(), Failure> {
        let (now_ms, freshness_ms) = (self.environment.now_ms(), self.config.freshness_ms);
        let ended = self.volatile.borrow_mut().states.end_round(table_id, epoch, end, now_ms, freshness_ms);
        ended.inspect_err(|_| self.environment.reached(Point::RoundEndRejected))
    }
}

#[async_trait(?Send)]
impl Host for TieringCoordinator {
    fn crash(&self) {
        self.volatile.replace(Volatile::with(&self.defects));
        self.failed_over.set(true);
    }

    async fn run(&self) {
        futures::future::join(self.keep_time(), self.keep_listing()).await;
    }
}
