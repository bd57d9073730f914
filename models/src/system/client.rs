//! One session's client: it looks at a statement, finds its route and hands it on.
//!
//! It keeps no copy of any table's definition: the mode may be switched by anybody at any time, so each statement opens
//! its table anew (rule 38), once.

use std::cell::Cell;
use std::rc::Rc;

use crate::config::ClientConfig;
use crate::contract::{
    Coordinator, Failure, FailureCode, LAKESTREAM_ENABLED, LAKESTREAM_STORE, Output, Statement, Store, StoreTable,
    TablePath,
};
use crate::paimon::{Catalog, LakeAccess, PaimonTable};

use super::insert::StoreWriter;
use super::patience::Patience;
use super::route::{Decision, Route, decide};
use super::union_read::StaleCopies;

/// What a client is made of.
pub struct ClientParts {
    /// The session that it serves.
    pub session: String,
    /// How many clients this session had before it: 0, or one more after each crash. With the session it makes this
    /// client's writer id and commit user unique (L3, L11).
    pub incarnation: u64,
    /// The store.
    pub store: Rc<dyn Store>,
    /// The owner of the store's DDL.
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
    pub(super) store: Rc<dyn Store>,
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
}

impl Client {
    /// A client that has executed nothing yet.
    pub fn new(parts: ClientParts) -> Self {
        let ClientParts { session, incarnation, store, coordinator, lake, catalog, config } = parts;
        let environment = lake.environment.clone();
        Self {
            store,
            coordinator,
            catalog,
            store_writer: StoreWriter::new(environment.draw("writer-id", &session, incarnation)),
            patience: Patience::new(environment, config),
            lake,
            commit_user: format!("client-{session}-{incarnation}"),
            next_commit_identifier: Cell::new(0),
            stale_copies: StaleCopies::default(),
        }
    }

    /// Executes one statement. `operation_id` names this execution, uniquely and for ever: luck is drawn for it, and
    /// files are named by that luck.
    pub async fn execute(&self, operation_id: &str, statement: Statement) -> Result<Output, Failure> {
        match decide(&statement) {
            Decision::Certain(Route::Refused(refusal)) => Err(refusal.failure(statement.table())),
            Decision::Certain(Route::LakeCatalog) => self.execute_on_lake_catalog(operation_id, statement).await,
            Decision::Certain(Route::StoreCatalog) => self.execute_on_store_catalog(statement).await,
            decision => {
                let path = statement.table().clone();
                let table = self.patience.read(async || self.catalog.table(&path).await).await?;
                let route = decision.route(table.schema().lakestream_enabled());
                self.execute_on_table(operation_id, &path, &table, route, statement).await
            }
        }
    }

    async fn execute_on_table(
        &self,
        operation_id: &str,
        path: &TablePath,
        table: &PaimonTable,
        route: Route,
        statement: Statement,
    ) -> Result<Output, Failure> {
        match (route, statement) {
            (Route::Refused(refusal), _) => Err(refusal.failure(path)),
            (Route::LakeRead, Statement::Select { filter, at_snapshot, .. }) => {
                self.select_from_lake(table, &filter, at_snapshot).await
            }
            (Route::LakeRead, Statement::Lookup { key, .. }) => self.look_up_in_lake(table, &key).await,
            (Route::LakeWrite, Statement::Insert { rows, .. } | Statement::NativeInsert { rows, .. }) => {
                self.insert_into_lake(operation_id, table, &rows).await
            }
            (Route::LakeWrite, Statement::Delete { keys, .. }) => {
                self.delete_from_lake(operation_id, table, &keys).await
            }
            (Route::LakeWrite, Statement::InsertOverwrite { partition, rows, .. }) => {
                self.overwrite_lake(operation_id, table, partition.as_ref(), &rows).await
            }
            (Route::StoreWrite, Statement::Insert { rows, .. }) => {
                let store_table = self.store_table(path).await?;
                self.insert_into_store(table, &store_table, &rows).await
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
            (route, statement) => Err(Failure::definite(
                FailureCode::Unsupported,
                format!("`{}` cannot be executed as {route:?}", statement.name()),
            )),
        }
    }

    /// The store's side of a table in the mode. A store without it is a misconfiguration, not a missing table: the
    /// table is there, and its user must hear which store lacks it (rule 22, C14).
    pub(super) async fn store_table(&self, path: &TablePath) -> Result<StoreTable, Failure> {
        match self.patience.read(async || self.store.table(path).await).await {
            Ok(table) => Ok(table),
            Err(failure) if failure.code == FailureCode::NotFound => Err(Failure::definite(
                FailureCode::Misconfigured,
                format!(
                    "`{path}` is declared a lake-stream table, but the store that `{LAKESTREAM_STORE}` names does not \
                     have it: create it on the store's side, or turn `{LAKESTREAM_ENABLED}` off"
                ),
            )),
            Err(failure) => Err(of_the_store(failure)),
        }
    }
}

/// The failure of a call to the store, with a message that says so (rule 22, C14).
pub(super) fn of_the_store(failure: Failure) -> Failure {
    Failure { message: format!("the store that `{LAKESTREAM_STORE}` names: {}", failure.message), ..failure }
}
