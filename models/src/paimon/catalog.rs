//! The filesystem catalog: a table exists if its directory has a schema file, a database if its directory has anything.
//!
//! The guards of lake-stream mode live here, below every engine and without any store (C1, C2, C4, C9): a catalog
//! client that knows nothing of the mode meets them too. It must never open, name or need a store (C6, C16).

mod alterations;
mod contents;
mod databases;
mod guards;
mod object_names;
mod tables;
mod views;

use crate::concurrently;
use crate::contract::{Failure, FailureCode, TablePath};

use super::lake_access::before_any_effect;
use super::{LakeAccess, PaimonTable};

pub use self::databases::{DEFAULT_DATABASE, SYSTEM_DATABASE};
pub use self::object_names::ObjectName;
pub use self::views::View;

/// A Paimon catalog on a warehouse directory. Cheap to clone.
#[derive(Clone)]
pub struct FilesystemCatalog {
    lake: LakeAccess,
}

impl FilesystemCatalog {
    /// The catalog of this warehouse.
    pub fn new(lake: LakeAccess) -> Self {
        Self { lake }
    }

    /// Opens a table; `not-found` if there is none.
    pub async fn table(&self, path: &TablePath) -> Result<PaimonTable, Failure> {
        PaimonTable::open(&self.lake, path).await
    }

    async fn table_if_present(&self, path: &TablePath, if_exists: bool) -> Result<Option<PaimonTable>, Failure> {
        match self.table(path).await {
            Ok(table) => Ok(Some(table)),
            Err(failure) if failure.code == FailureCode::NotFound && if_exists => Ok(None),
            Err(failure) => Err(before_any_effect(failure)),
        }
    }

    /// Moves a directory away in one step, so that it is there whole or not at all; then its files are deleted. `known`
    /// is a file in it: if the answer is lost, it tells whether the directory is gone.
    async fn discard_directory(&self, directory: &str, subject: &str, known: &str) -> Result<(), Failure> {
        let environment = &self.lake.environment;
        let uuid = environment.uuid("paimon.trash", subject, environment.now_ms());
        let trash = format!(".trash/{uuid}");
        if let Err(failure) = self.lake.objects.rename_directory(directory, &trash).await {
            let gone = !failure.definite && self.lake.objects.exists(known).await == Ok(false);
            if !gone {
                return Err(failure);
            }
        }
        // It is gone whatever becomes of this.
        if let Ok(files) = self.lake.objects.list(&trash).await {
            concurrently::all(files.iter().map(|file| self.lake.objects.delete(file))).await;
        }
        Ok(())
    }
}
