//! Databases: directories of tables and views.
//!
//! Object stores have no empty directories, so a database that is created before its first table is marked by a file.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::contract::{Failure, FailureCode};

use super::{FilesystemCatalog, discard_directory};
use crate::paimon::exclusive_create::{Created, create_exclusively};
use crate::paimon::lake_access::before_any_effect;

/// The database that always exists.
pub const DEFAULT_DATABASE: &str = "default";
/// The database of the catalog's own tables. It has no directory and cannot be changed.
pub const SYSTEM_DATABASE: &str = "sys";
const DIRECTORY_SUFFIX: &str = ".db";
/// The file that marks a database without tables. Hidden, and no directory: other catalogs pass over it.
const MARKER: &str = ".database";

/// Where a database's tables are.
pub(super) fn database_directory(database: &str) -> String {
    format!("{database}{DIRECTORY_SUFFIX}")
}

/// `invalid` if no database can have this name.
pub(super) fn check_database_name(database: &str) -> Result<(), Failure> {
    if database == SYSTEM_DATABASE {
        return Err(Failure::invalid(format!("expected a database other than the system's own, found `{database}`")));
    }
    if database.is_empty() || database.starts_with('.') || database.contains(['/', '\\', '$']) {
        return Err(Failure::invalid(format!("expected a database name that can be a directory, found {database:?}")));
    }
    Ok(())
}

impl FilesystemCatalog {
    /// Creates a database; `already-exists` if there is one, unless `if_not_exists`. Creating a table in one that does
    /// not exist creates it, too.
    pub async fn create_database(&self, database: &str, if_not_exists: bool) -> Result<(), Failure> {
        check_database_name(database)?;
        let taken = || {
            if if_not_exists {
                Ok(())
            } else {
                Err(Failure::definite(FailureCode::AlreadyExists, format!("database {database} exists already")))
            }
        };
        if self.database_exists(database).await.map_err(before_any_effect)? {
            return taken();
        }
        let marker = format!("{}/{MARKER}", database_directory(database));
        // All markers are alike, so a lost answer is no doubt: whoever wrote it, the database exists.
        match create_exclusively(&self.lake, &marker, &Bytes::new()).await {
            Created::Ours => Ok(()),
            Created::Taken => taken(),
            Created::Refused(failure) | Created::Unknown(failure) => Err(failure),
        }
    }

    /// Whether there is such a database.
    pub async fn database_exists(&self, database: &str) -> Result<bool, Failure> {
        check_database_name(database)?;
        if database == DEFAULT_DATABASE {
            return Ok(true);
        }
        Ok(!self.lake.objects.list(&database_directory(database)).await?.is_empty())
    }

    /// `not-found` if there is no such database.
    pub(super) async fn require_database(&self, database: &str) -> Result<(), Failure> {
        if self.database_exists(database).await? {
            Ok(())
        } else {
            Err(Failure::not_found(format!("database {database} does not exist in the lake")))
        }
    }

    /// All databases, ascending.
    pub async fn list_databases(&self) -> Result<Vec<String>, Failure> {
        let mut databases = BTreeSet::from([DEFAULT_DATABASE.to_owned()]);
        for file in self.lake.objects.list("").await? {
            let directory = file.split('/').next().unwrap_or_default();
            let named = directory.strip_suffix(DIRECTORY_SUFFIX).filter(|name| check_database_name(name).is_ok());
            databases.extend(named.map(str::to_owned));
        }
        Ok(databases.into_iter().collect())
    }

    /// Drops a database; `not-found` if there is none, unless `if_exists`; `invalid` if it has tables or views, unless
    /// `cascade`, which drops them too. The default database is empty afterwards, but there.
    pub async fn drop_database(&self, database: &str, if_exists: bool, cascade: bool) -> Result<(), Failure> {
        check_database_name(database)?;
        let directory = database_directory(database);
        let files = self.lake.objects.list(&directory).await.map_err(before_any_effect)?;
        let Some(known) = files.first() else {
            return if if_exists || database == DEFAULT_DATABASE {
                Ok(())
            } else {
                Err(Failure::not_found(format!("database {database} does not exist in the lake")))
            };
        };
        if !cascade {
            let tables = self.list_tables(database).await.map_err(before_any_effect)?;
            let views = self.list_views(database).await.map_err(before_any_effect)?;
            if let Some(name) = tables.iter().chain(&views).next() {
                return Err(Failure::invalid(format!(
                    "expected an empty database to drop, found `{name}` in {database}; drop it with all it holds by \
                     cascade"
                )));
            }
        }
        discard_directory(&self.lake, &directory, database, known).await
    }
}
