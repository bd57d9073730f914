//! The filesystem catalog: a table exists if its directory has a schema file, a database if its directory has anything.
//!
//! It supplies hooks and nothing else, so that the guards of lake-stream mode are those that every catalog inherits.

mod databases;
mod tables;
mod views;

use async_trait::async_trait;
use bytes::Bytes;

use crate::concurrently;
use crate::contract::{Failure, FailureCode, TablePath, TableSchema};

use super::guarded::Catalog;
use super::hooks::CatalogHooks;
use super::schema_versions::encode_schema;
use super::views::View;
use crate::paimon::directory::TableDirectory;
use crate::paimon::exclusive_create::{Created, create_exclusively};
use crate::paimon::lake_access::before_any_effect;
use crate::paimon::{LakeAccess, PaimonTable, SchemaFile};

pub use self::databases::{DEFAULT_DATABASE, SYSTEM_DATABASE};

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
}

#[async_trait(?Send)]
impl CatalogHooks for FilesystemCatalog {
    fn lake(&self) -> &LakeAccess {
        &self.lake
    }

    async fn table(&self, path: &TablePath) -> Result<PaimonTable, Failure> {
        PaimonTable::open(&self.lake, path).await
    }

    async fn create_table_impl(&self, path: &TablePath, schema: &TableSchema) -> Result<bool, Failure> {
        let directory = TableDirectory::of(path);
        let present = self.lake.objects.list(directory.root()).await.map_err(before_any_effect)?;
        if has_schema(&directory, &present) {
            return Ok(false);
        }
        let bytes = first_schema(&self.lake, schema)?;
        clear_leftovers(&self.lake, &present).await.map_err(before_any_effect)?;
        match create_exclusively(&self.lake, &directory.schema(0), &bytes).await {
            Created::Ours => Ok(true),
            Created::Taken => Ok(false),
            Created::Refused(failure) | Created::Unknown(failure) => Err(failure),
        }
    }

    /// The directory is moved away in one step, so the table is there whole or not at all; then its files are deleted.
    async fn drop_table_impl(&self, table: &PaimonTable) -> Result<(), Failure> {
        let known = table.directory.schema(0);
        discard_directory(&self.lake, table.directory.root(), table.table_uuid(), &known).await
    }

    async fn rename_table_impl(&self, table: &PaimonTable, to: &TablePath) -> Result<(), Failure> {
        let target = TableDirectory::of(to);
        match self.lake.objects.rename_directory(table.directory.root(), target.root()).await {
            Ok(()) => Ok(()),
            Err(failure) if failure.code == FailureCode::AlreadyExists => {
                Err(Failure { message: format!("table {to} exists already"), ..failure })
            }
            Err(failure) if failure.definite => Err(failure),
            Err(failure) => match self.lake.objects.get(&target.schema(table.schema_id())).await {
                // The move is all or nothing and the schema file is there: only the answer was lost.
                Ok(bytes) if bytes == table.schema_bytes => Ok(()),
                _ => Err(failure),
            },
        }
    }

    async fn view(&self, path: &TablePath) -> Result<View, Failure> {
        views::read(&self.lake, path).await
    }

    async fn create_view_impl(&self, path: &TablePath, view: &View) -> Result<bool, Failure> {
        views::create(&self.lake, path, view).await
    }
}

impl Catalog for FilesystemCatalog {}

/// The first schema file of a table that is created now.
pub(super) fn first_schema(lake: &LakeAccess, schema: &TableSchema) -> Result<Bytes, Failure> {
    encode_schema(&SchemaFile::first(schema, lake.environment.now_ms()))
}

/// Whether a listing of a table's directory shows a table.
pub(super) fn has_schema(directory: &TableDirectory, listed: &[String]) -> bool {
    listed.iter().any(|file| file.starts_with(&directory.schema_directory()))
}

/// Deletes what lies where a table is about to be. Requests that were on their way when a table of this name was
/// dropped may have left files; the new table must hold nothing of its predecessor (L12).
pub(super) async fn clear_leftovers(lake: &LakeAccess, leftovers: &[String]) -> Result<(), Failure> {
    let deletions = leftovers.iter().map(|file| lake.objects.delete(file));
    concurrently::all(deletions).await.into_iter().collect()
}

/// Moves a directory away in one step, so that it is there whole or not at all; then its files are deleted. `known`
/// is a file in it: if the answer is lost, it tells whether the directory is gone.
pub(super) async fn discard_directory(
    lake: &LakeAccess,
    directory: &str,
    subject: &str,
    known: &str,
) -> Result<(), Failure> {
    let uuid = lake.environment.uuid("paimon.trash", subject, lake.environment.now_ms());
    let trash = format!(".trash/{uuid}");
    if let Err(failure) = lake.objects.rename_directory(directory, &trash).await {
        let gone = !failure.definite && lake.objects.exists(known).await == Ok(false);
        if !gone {
            return Err(failure);
        }
    }
    // It is gone whatever becomes of this.
    if let Ok(files) = lake.objects.list(&trash).await {
        concurrently::all(files.iter().map(|file| lake.objects.delete(file))).await;
    }
    Ok(())
}
