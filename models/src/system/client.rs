//! One session's client: it looks at a statement, finds its route and hands it on.
//!
//! It keeps no copy of any table's definition: the mode may be switched by anybody at any time, so each statement opens
//! its table anew (rule 38), once.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use futures::future::join;

use crate::config::ClientConfig;
use crate::contract::{
    Coordinator, Failure, FailureCode, LAKESTREAM_ENABLED, LAKESTREAM_STORE, Output, Statement, Store, StoreTable,
    TablePath, real_time_base,
};
use crate::defects::Defect;
use crate::paimon::{Catalog, LakeAccess, PaimonTable, TimeTravel, View};
use crate::points::Point;

use super::discovery::{StoreConnection, StoreFactory, StoreUse};
use super::insert::StoreWriter;
use super::patience::Patience;
use super::place::{Part, Place};
use super::planted::PlantedRoutes;
use super::route::{Decision, Refusal, Route, decide};
use super::union_read::StaleCopies;

/// What a client is made of.
pub struct ClientParts {
    /// The session that it serves.
    pub session: String,
    /// How many clients this session had before it: 0, or one more after each crash. With the session it makes this
    /// client's writer id and commit user unique (L3, L11).
    pub incarnation: u64,
    /// The options of its catalog, taken literally.
    pub catalog_options: BTreeMap<String, String>,
    /// The stores that are installed, for the catalog to find its own among them.
    pub store_factories: Vec<Rc<dyn StoreFactory>>,
    /// The store as its own tools reach it, whatever the catalog's options say.
    pub store: Rc<dyn Store>,
    /// The owner of the store's DDL, as the store's own tools reach it.
    pub coordinator: Rc<dyn Coordinator>,
    /// The lake, with the client's clock and luck.
    pub lake: LakeAccess,
    /// The catalog of the same lake.
    pub catalog: Rc<dyn Catalog>,
    /// Its timings.
    pub config: ClientConfig,
}

/// The client of one session, from its start to its crash.
pub struct Client {
    /// The store's own tools; statements that the catalog routes to the store take [`Client::store`].
    pub(super) store_tools: Rc<dyn Store>,
    connection: StoreConnection,
    pub(super) coordinator: Rc<dyn Coordinator>,
    pub(super) lake: LakeAccess,
    pub(super) catalog: Rc<dyn Catalog>,
    pub(super) patience: Patience,
    pub(super) store_writer: StoreWriter,
    /// The user of this client's own Paimon commits.
    pub(super) commit_user: String,
    /// Grows by one with each statement that commits to the lake (L11).
    pub(super) next_commit_identifier: Cell<u64>,
    pub(super) stale_copies: StaleCopies,
    pub(super) planted: PlantedRoutes,
}

impl Client {
    /// A client that has executed nothing yet.
    pub fn new(parts: ClientParts) -> Self {
        let ClientParts {
            session,
            incarnation,
            catalog_options,
            store_factories,
            store: store_tools,
            coordinator,
            lake,
            catalog,
            config,
        } = parts;
        let environment = lake.environment.clone();
        let connection = StoreConnection::new(catalog_options, store_factories, lake.defects.clone());
        // Planted bug eager-store: the store is opened with the catalog, needed or not.
        if lake.defects.has(Defect::EagerStore) {
            let _ = connection.store();
        }
        Self {
            store_tools,
            connection,
            coordinator,
            catalog,
            store_writer: StoreWriter::new(environment.draw("writer-id", &session, incarnation)),
            patience: Patience::new(environment, config),
            // Planted bug shared-commit-user: every client commits as the same user.
            commit_user: if lake.defects.has(Defect::SharedCommitUser) {
                "client".to_owned()
            } else {
                format!("client-{session}-{incarnation}")
            },
            lake,
            next_commit_identifier: Cell::new(0),
            stale_copies: StaleCopies::default(),
            planted: PlantedRoutes::default(),
        }
    }

    /// Executes one statement. `operation_id` names this execution, uniquely and for ever: luck is drawn for it, and
    /// files are named by that luck.
    pub async fn execute(&self, operation_id: &str, statement: Statement) -> Result<Output, Failure> {
        let statement = self.planted.statement(&self.lake.defects, statement);
        let place = match Place::of(&statement) {
            Ok(place) => place,
            Err(refusal) => return Err(self.refused(refusal, statement.table())),
        };
        match self.planted.decision(&self.lake.defects, &statement, &place, decide(&statement, &place)) {
            Decision::Certain(Route::Refused(refusal)) => match &statement {
                Statement::RenameTable { to, table, if_exists } if place.part != Part::RealTime => {
                    self.refuse_target(refusal, table, to, *if_exists).await
                }
                _ => Err(self.refused(refusal, &place.table)),
            },
            Decision::Certain(Route::LakeCatalog) => self.execute_on_lake_catalog(operation_id, statement).await,
            Decision::Certain(Route::StoreCatalog) => self.execute_on_store_catalog(statement).await,
            Decision::Certain(Route::ViewOnly) => {
                self.execute_on_view_or(Refusal::NoSuchName.failure(&place.spelled), &place.spelled, &statement).await
            }
            decision => {
                let (table, view) = self.open(&place).await;
                if let Some(view) = view? {
                    return self.execute_on_view(&place.spelled, &view, &statement).await;
                }
                let table = match table {
                    Ok(table) => table,
                    // Paimon looks for the table first and then for the view of the same name.
                    Err(failure) if failure.code == FailureCode::NotFound && place.part != Part::RealTime => {
                        return self.execute_on_view_or(failure, &place.spelled, &statement).await;
                    }
                    Err(failure) => return Err(failure),
                };
                let route = self.route(decision, table.schema().lakestream_enabled());
                self.execute_on_table(operation_id, &place, table, route, statement).await
            }
        }
    }

    /// The answer to a rename whose target no table may have. What is not there is not renamed, and so not refused (C21).
    async fn refuse_target(
        &self,
        refusal: Refusal,
        table: &TablePath,
        to: &TablePath,
        if_exists: bool,
    ) -> Result<Output, Failure> {
        let is_missing = async || {
            let open = self.patience.read(async || self.catalog.table(table).await).await;
            open.is_err_and(|failure| failure.code == FailureCode::NotFound)
        };
        if if_exists && is_missing().await {
            return Ok(Output::Done);
        }
        let shown = real_time_base(to.table()).unwrap_or(to.table());
        Err(self.refused(refusal, &TablePath::new(to.database(), shown)))
    }

    /// The table, and the view that its alias may be. A view named `x$rt` is found before the alias (rule 31, C18); it
    /// is looked for while the table is opened, so that reads wait no longer for it.
    async fn open(&self, place: &Place) -> (Result<PaimonTable, Failure>, Result<Option<View>, Failure>) {
        let open = self.patience.read(async || self.catalog.table(&place.table).await);
        // Planted bug view-shadowed: the alias hides the view of its name.
        if place.part != Part::RealTime || self.lake.defects.has(Defect::ViewShadowed) {
            return (open.await, Ok(None));
        }
        join(open, self.view_if_present(&place.spelled)).await
    }

    /// The route of a statement to a table, now that its mode is known.
    fn route(&self, decision: Decision, is_in_the_mode: bool) -> Route {
        // Planted bug misconfiguration-falls-back: a table whose store cannot be found is treated as one without.
        let falls_back = self.lake.defects.has(Defect::MisconfigurationFallsBack) && !self.connection.is_known();
        decision.route(is_in_the_mode && !falls_back)
    }

    async fn execute_on_table(
        &self,
        operation_id: &str,
        place: &Place,
        main: PaimonTable,
        route: Route,
        statement: Statement,
    ) -> Result<Output, Failure> {
        let table = match (&place.branch, route) {
            (Some(branch), Route::LakeRead | Route::LakeWrite | Route::SystemRead) => {
                self.patience.read(async || main.on_branch(branch).await).await?
            }
            _ => main,
        };
        let (path, table) = (&place.table, &table);
        match (route, statement) {
            (Route::Refused(refusal), _) => {
                // Planted bug branch-write-opens-store: the refusal comes only after the store was opened.
                if refusal == Refusal::BranchInTheMode && self.lake.defects.has(Defect::BranchWriteOpensStore) {
                    self.store_table(path).await?;
                }
                Err(self.refused(refusal, path))
            }
            (Route::LakeRead, Statement::Select { filter, at_snapshot, at_timestamp_ms, .. }) => {
                self.open_store_for_base_read()?;
                self.wait_for_store_in_base_read(path).await;
                let place = place_in_time(at_snapshot, at_timestamp_ms)?;
                self.select_from_lake(table, &filter, place).await
            }
            (Route::LakeRead, Statement::Lookup { key, .. }) => {
                self.open_store_for_base_read()?;
                self.wait_for_store_in_base_read(path).await;
                self.look_up_in_lake(table, &key).await
            }
            (Route::SystemRead, Statement::Select { filter, at_snapshot, at_timestamp_ms, .. }) => {
                let Part::SystemTable(name) = &place.part else { return Err(not_executable(route, "select")) };
                if at_snapshot.is_some() || at_timestamp_ms.is_some() {
                    return Err(Refusal::NoTimeTravel.failure(&place.spelled));
                }
                self.select_from_system_table(table, name, &filter).await
            }
            (Route::LakeWrite, Statement::Insert { partition, rows, layout, .. }) => {
                self.check_layout(table, None, layout.as_deref())?;
                self.insert_into_lake(operation_id, table, partition.as_ref(), &rows).await
            }
            (Route::LakeWrite, Statement::NativeInsert { rows, .. }) => {
                self.insert_into_lake(operation_id, table, None, &rows).await
            }
            (Route::LakeWrite, Statement::Update { set, filter, .. }) => {
                self.update_in_lake(operation_id, table, &set, &filter).await
            }
            (Route::LakeWrite, Statement::Delete { filter: Some(filter), .. }) => {
                self.delete_matching_from_lake(operation_id, table, &filter).await
            }
            (Route::LakeWrite, Statement::Delete { keys, .. }) => {
                self.delete_from_lake(operation_id, table, &keys).await
            }
            (Route::LakeWrite, Statement::InsertOverwrite { partition, rows, .. }) => {
                self.overwrite_lake(operation_id, table, partition.as_ref(), &rows).await
            }
            (Route::StoreWrite, Statement::Insert { partition, rows, layout, .. }) => {
                let store_table = self.store_table(path).await?;
                let checked = self.check_layout(table, Some(&store_table), layout.as_deref());
                // Planted bug rejected-but-applied: the refusal is told only after the rows were sent.
                if !self.lake.defects.has(Defect::RejectedButApplied) {
                    checked.clone()?;
                }
                let inserted = self.insert_into_store(table, &store_table, partition.as_ref(), &rows).await;
                checked.and(inserted)
            }
            // Only the planted bug overwrite-to-store comes here.
            (Route::StoreWrite, Statement::InsertOverwrite { partition, rows, .. }) => {
                let store_table = self.store_table(path).await?;
                self.insert_into_store(table, &store_table, partition.as_ref(), &rows).await
            }
            (Route::StoreWrite, Statement::Update { set, filter, .. }) => {
                self.update_in_store(path, table, &set, &filter).await
            }
            (Route::StoreWrite, Statement::Delete { filter: Some(filter), .. }) => {
                self.delete_matching_from_store(path, table, &filter).await
            }
            (Route::StoreWrite, Statement::Delete { keys, .. }) => {
                let store_table = self.store_table(path).await?;
                self.delete_from_store(table, &store_table, &keys).await
            }
            (Route::UnionRead, Statement::Select { filter, .. }) => self.select_union(path, table, &filter).await,
            (Route::UnionRead, Statement::Lookup { key, .. }) => self.look_up_union(path, table, &key).await,
            (Route::UnionRead, Statement::Changes { from, max, .. }) => {
                self.read_changes(path, table, &from, max).await
            }
            (route, statement) => Err(not_executable(route, statement.name())),
        }
    }

    /// The answer of a statement that goes nowhere.
    pub(super) fn refused(&self, refusal: Refusal, path: &TablePath) -> Failure {
        if let Some(point) = refusal.point() {
            self.lake.environment.reached(point);
        }
        refusal.failure(path)
    }

    /// The store that the catalog's options name, opened by the first statement that needs it (rule 20, C17). Its
    /// failures go through [`Client::of_the_store`].
    pub(super) fn store(&self) -> Result<Rc<dyn Store>, Failure> {
        self.connection.store()
    }

    /// The store, for a write to it.
    pub(super) fn store_for_writes(&self) -> Result<Rc<dyn Store>, Failure> {
        // Planted bug refuses-after-heal: a catalog that once found its store unavailable refuses writes for good.
        if self.lake.defects.has(Defect::RefusesAfterHeal) && self.connection.was_unavailable() {
            let failure =
                Failure::definite(FailureCode::Unavailable, "it was unavailable, so nothing is written to it");
            return Err(self.of_the_store(failure));
        }
        self.store().map_err(|failure| self.of_the_store(failure))
    }

    /// The failure of finding or calling the store, with a message that names it (rule 22, C14).
    pub(super) fn of_the_store(&self, failure: Failure) -> Failure {
        self.connection.blame(failure)
    }

    /// Planted bug base-read-opens-store: the connector is looked up for every table of the catalog.
    fn open_store_for_base_read(&self) -> Result<(), Failure> {
        if self.lake.defects.has(Defect::BaseReadOpensStore) {
            self.store().map_err(|failure| self.of_the_store(failure))?;
        }
        Ok(())
    }

    /// Planted bug base-read-waits-for-store: the store is asked for the table, and whatever it answers does not matter.
    async fn wait_for_store_in_base_read(&self, path: &TablePath) {
        if self.lake.defects.has(Defect::BaseReadWaitsForStore) {
            let _ = self.store_table(path).await;
        }
    }

    /// The store's side of a table in the mode. A store without it is a misconfiguration, not a missing table: the
    /// table is there, and its user must hear which store lacks it (rule 22, C14).
    pub(super) async fn store_table(&self, path: &TablePath) -> Result<StoreTable, Failure> {
        match self.patience.read(async || self.store()?.table(path).await).await {
            Ok(table) => Ok(table),
            // Planted bug misconfiguration-not-found: a store that lacks the table passes for a table that is not there.
            Err(failure)
                if failure.code == FailureCode::NotFound
                    && !self.lake.defects.has(Defect::MisconfigurationNotFound) =>
            {
                self.lake.environment.reached(Point::StoreLacksTable);
                let message = format!(
                    "expected the table `{path}`, which is declared a lake-stream table, found none: create it on the \
                     store's side, or turn `{LAKESTREAM_ENABLED}` off"
                );
                Err(self.of_the_store(Failure::definite(FailureCode::Misconfigured, message)))
            }
            Err(failure) => Err(self.of_the_store(failure)),
        }
    }

    /// What this client's catalog had to do with the store so far.
    pub fn store_use(&self) -> StoreUse {
        self.connection.store_use()
    }

    /// Closes the catalog: its Paimon side, which answered `lake_side`, and the store's side even if that failed
    /// (rule 21, C17). The first failure is kept.
    pub fn close(&self, lake_side: Result<(), Failure>) -> Result<(), Failure> {
        // Planted bug close-stops-at-first-error: the store's side stays open.
        if self.lake.defects.has(Defect::CloseStopsAtFirstError) {
            lake_side.clone()?;
        }
        let store_side = self.connection.close().map_err(|failure| self.of_the_store(failure));
        lake_side.and(store_side)
    }
}

/// The place in a table's history that a SELECT names; `invalid` if it names two.
fn place_in_time(at_snapshot: Option<u64>, at_timestamp_ms: Option<u64>) -> Result<Option<TimeTravel>, Failure> {
    match (at_snapshot, at_timestamp_ms) {
        (None, None) => Ok(None),
        (Some(snapshot_id), None) => Ok(Some(TimeTravel::SnapshotId(snapshot_id))),
        (None, Some(time_ms)) => Ok(Some(TimeTravel::Timestamp(time_ms))),
        (Some(_), Some(_)) => Err(Failure::invalid("expected a snapshot or a time to travel to, found both")),
    }
}

fn not_executable(route: Route, statement: &str) -> Failure {
    Failure::definite(FailureCode::Unsupported, format!("`{statement}` cannot be executed as {route:?}"))
}

/// The failure of a call of the store's own tools, with a message that says so.
pub(super) fn of_the_store(failure: Failure) -> Failure {
    Failure { message: format!("the store that `{LAKESTREAM_STORE}` names: {}", failure.message), ..failure }
}
