//! The JDBC catalog: which tables there are is rows of an SQL database; schemas, snapshots and rows are files of the
//! warehouse, under the table's name, as in Paimon.
//!
//! A change of a name concerns the database and a directory, and no step changes both. So the database decides, in one
//! transaction that also notes what is to be done to the files (a write-ahead entry), and then the files follow. Who is
//! cut short in between leaves a note, and whoever next uses the name brings the files up to it first ([`settling`]):
//! a rename has taken effect altogether or not at all, and a table is never between two names.
//!
//! Paimon's JDBC catalog overrides rename without what it inherits, and wraps what goes wrong in an exception of its
//! own. So does this one, for rename and for replace: it has its own copy of the guard, and its wrapping must not lose
//! the advice (C3, C4).

mod lost_answers;
mod settling;
#[cfg(feature = "jdbc")]
mod sqlite;

use std::rc::Rc;

use async_trait::async_trait;

use crate::contract::{EntryChange, Failure, FailureCode, Metastore, ReplaceVia, TableEntry, TablePath, TableSchema};
use crate::defects::Defect;

use super::filesystem::{clear_leftovers, first_schema, has_schema};
use super::guarded::{Catalog, replace_in_place, table_to_rename, table_to_replace};
use super::guards::{Guarded, refuse_while_enabled};
use super::hooks::CatalogHooks;
use super::views::{View, name_taken, no_such_view};
use crate::paimon::directory::TableDirectory;
use crate::paimon::lake_access::before_any_effect;
use crate::paimon::{LakeAccess, PaimonTable};

#[cfg(feature = "jdbc")]
pub use self::sqlite::SqlMetastore;

/// A Paimon catalog with its tables in an SQL database. Cheap to clone.
#[derive(Clone)]
pub struct JdbcCatalog {
    lake: LakeAccess,
    metastore: Rc<dyn Metastore>,
}

impl JdbcCatalog {
    /// The catalog of this warehouse and this database. All catalogs of a warehouse must use one database.
    pub fn new(lake: LakeAccess, metastore: Rc<dyn Metastore>) -> Self {
        Self { lake, metastore }
    }

    /// The guard, copied: what is overridden inherits none.
    fn guard(&self, table: &PaimonTable, what: Guarded) -> Result<(), Failure> {
        if self.lake.defects.has(Defect::GuardOnlyInBaseCatalog) {
            return Ok(());
        }
        refuse_while_enabled(&self.lake, table, what)
    }

    /// A failure as this catalog tells it: what it was about, and then the cause in full, which may be a refusal with
    /// advice (rule 16, C3).
    fn wrapped(&self, what: &str, cause: Failure) -> Failure {
        if self.lake.defects.has(Defect::AdviceLostInWrapping) {
            return Failure { message: what.to_owned(), ..cause };
        }
        Failure { message: format!("{what}: {}", cause.message), ..cause }
    }

    async fn rename(&self, from: &TablePath, to: &TablePath, if_exists: bool) -> Result<(), Failure> {
        let Some(table) = table_to_rename(self, from, to, if_exists).await? else {
            return Ok(());
        };
        self.guard(&table, Guarded::Rename)?;
        self.rename_table_impl(&table, to).await
    }

    async fn replace(
        &self,
        path: &TablePath,
        schema: &TableSchema,
        via: ReplaceVia,
        subject: &str,
    ) -> Result<(), Failure> {
        let Some(table) = table_to_replace(self, path, schema).await? else {
            return self.create_table(path, schema, false).await;
        };
        match self.guard(&table, Guarded::Replace) {
            Ok(()) => replace_in_place(self, &table, schema, subject).await,
            Err(refused) => self.replace_refused(&table, schema, via, subject, refused).await,
        }
    }

    /// The entry of a table that was opened just now.
    async fn entry_of(&self, path: &TablePath) -> Result<TableEntry, Failure> {
        self.settled_entry(path).await.map_err(before_any_effect)?.ok_or_else(|| no_such_table(path))
    }
}

#[async_trait(?Send)]
impl CatalogHooks for JdbcCatalog {
    fn lake(&self) -> &LakeAccess {
        &self.lake
    }

    async fn table(&self, path: &TablePath) -> Result<PaimonTable, Failure> {
        match self.settled_entry(path).await? {
            Some(_) => PaimonTable::open(&self.lake, path).await,
            None => Err(no_such_table(path)),
        }
    }

    async fn create_table_impl(&self, path: &TablePath, schema: &TableSchema) -> Result<bool, Failure> {
        if self.settled_entry(path).await.map_err(before_any_effect)?.is_some() {
            return Ok(false);
        }
        let directory = TableDirectory::of(path);
        let present = self.lake.objects.list(directory.root()).await.map_err(before_any_effect)?;
        if has_schema(&directory, &present) {
            return Err(unknown_files(path));
        }
        clear_leftovers(&self.lake, &present).await.map_err(before_any_effect)?;
        let schema = first_schema(&self.lake, schema)?;
        let inserted = match self.metastore.insert_table(path, &schema).await {
            Err(failure) if !failure.definite => self.was_inserted(path, &schema, failure).await?,
            answer => answer?,
        };
        match inserted {
            EntryChange::Made(entry) => self.follow(&entry).await.map(|()| true).map_err(Failure::made_indefinite),
            EntryChange::Taken | EntryChange::Stale => Ok(false),
        }
    }

    async fn drop_table_impl(&self, table: &PaimonTable) -> Result<(), Failure> {
        let entry = self.entry_of(table.path()).await?;
        let dropped = match self.metastore.drop_table(&entry).await {
            Err(failure) if !failure.definite => self.was_dropped(&entry, failure).await?,
            answer => Some(answer?),
        };
        match dropped {
            Some(EntryChange::Made(dropped)) => self.follow(&dropped).await.map_err(Failure::made_indefinite),
            Some(EntryChange::Taken | EntryChange::Stale) => Err(changed_meanwhile(table.path())),
            // Somebody else has brought it to its end.
            None => Ok(()),
        }
    }

    async fn rename_table_impl(&self, table: &PaimonTable, to: &TablePath) -> Result<(), Failure> {
        let entry = self.entry_of(table.path()).await?;
        if self.settled_entry(to).await.map_err(before_any_effect)?.is_some() {
            return Err(name_taken(to, "table"));
        }
        let target = TableDirectory::of(to);
        if !self.lake.objects.list(target.root()).await.map_err(before_any_effect)?.is_empty() {
            return Err(unknown_files(to));
        }
        let renamed = match self.metastore.rename_table(&entry, to).await {
            Err(failure) if !failure.definite => self.was_renamed(&entry, to, failure).await?,
            answer => answer?,
        };
        match renamed {
            EntryChange::Made(renamed) => self.follow(&renamed).await.map_err(Failure::made_indefinite),
            EntryChange::Taken => Err(name_taken(to, "table")),
            EntryChange::Stale => Err(changed_meanwhile(table.path())),
        }
    }

    async fn view(&self, path: &TablePath) -> Result<View, Failure> {
        let definition = self.metastore.view(path).await?.ok_or_else(|| no_such_view(path))?;
        serde_json::from_str(&definition).map_err(|error| {
            Failure::internal(format!(
                "expected the definition of the view {path} in the catalog's database, found {error}"
            ))
        })
    }

    async fn create_view_impl(&self, path: &TablePath, view: &View) -> Result<bool, Failure> {
        view.check()?;
        let definition = serde_json::to_string(view).map_err(|error| Failure::invalid(error.to_string()))?;
        match self.metastore.insert_view(path, &definition).await {
            Err(failure) if !failure.definite => match self.metastore.view(path).await {
                // Only the answer was lost: nobody changes a view.
                Ok(Some(found)) => Ok(found == definition),
                _ => Err(failure),
            },
            answer => answer,
        }
    }
}

#[async_trait(?Send)]
impl Catalog for JdbcCatalog {
    async fn rename_table(&self, from: &TablePath, to: &TablePath, if_exists: bool) -> Result<(), Failure> {
        let renamed = self.rename(from, to, if_exists).await;
        renamed.map_err(|cause| self.wrapped(&format!("cannot rename table {from} to {to}"), cause))
    }

    async fn replace_table(
        &self,
        path: &TablePath,
        schema: &TableSchema,
        via: ReplaceVia,
        subject: &str,
    ) -> Result<(), Failure> {
        let replaced = self.replace(path, schema, via, subject).await;
        replaced.map_err(|cause| self.wrapped(&format!("cannot replace table {path}"), cause))
    }
}

fn no_such_table(path: &TablePath) -> Failure {
    Failure::not_found(format!("table {path} does not exist in the lake"))
}

/// The database knows no such table and the warehouse does. It may be somebody's, so nothing is done to it.
fn unknown_files(path: &TablePath) -> Failure {
    Failure::definite(
        FailureCode::AlreadyExists,
        format!("expected no files where table {path} would be, found some of a table that the catalog does not know"),
    )
}

/// Another statement was faster. Trying again can help.
fn changed_meanwhile(path: &TablePath) -> Failure {
    Failure::definite(FailureCode::Unavailable, format!("table {path} was changed by another statement meanwhile"))
}
