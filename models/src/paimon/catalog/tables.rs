//! Tables as a whole: created, listed, renamed, replaced, dropped.

use std::collections::{BTreeMap, BTreeSet};

use crate::concurrently;
use crate::contract::{Failure, FailureCode, ReplaceVia, TablePath, TableSchema};
use crate::defects::Defect;

use super::FilesystemCatalog;
use super::alterations::encode_schema;
use super::databases::{check_database_name, database_directory};
use super::guards::refuse_while_enabled;
use super::object_names::require_plain;
use crate::paimon::SchemaFile;
use crate::paimon::directory::TableDirectory;
use crate::paimon::exclusive_create::{Created, create_exclusively};
use crate::paimon::lake_access::before_any_effect;
use crate::paimon::schema_rules::{replace_schema, validate_schema, with_keys_of_options};

impl FilesystemCatalog {
    /// Creates a table; `already-exists` if the name is taken, unless `if_not_exists`. Like every catalog without a
    /// server it takes the mode's option as it comes: it is only a declaration.
    pub async fn create_table(
        &self,
        path: &TablePath,
        schema: &TableSchema,
        if_not_exists: bool,
    ) -> Result<(), Failure> {
        require_plain(path, "created")?;
        validate_schema(schema)?;
        let schema = &*with_keys_of_options(schema)?;
        let directory = TableDirectory::of(path);
        let taken = || {
            if if_not_exists {
                Ok(())
            } else {
                Err(Failure::definite(FailureCode::AlreadyExists, format!("table {path} exists already")))
            }
        };
        let present = self.lake.objects.list(directory.root()).await.map_err(before_any_effect)?;
        if present.iter().any(|file| file.starts_with(&directory.schema_directory())) {
            return taken();
        }
        // Requests that were on their way when a table of this name was dropped may have left files; the new table
        // must hold nothing of its predecessor (L12).
        let leftovers = present.iter().map(|file| self.lake.objects.delete(file));
        concurrently::all(leftovers).await.into_iter().collect::<Result<(), Failure>>().map_err(before_any_effect)?;
        let bytes = encode_schema(&SchemaFile::first(schema, self.lake.environment.now_ms()))?;
        match create_exclusively(&self.lake, &directory.schema(0), &bytes).await {
            Created::Ours => Ok(()),
            Created::Taken => taken(),
            Created::Refused(failure) | Created::Unknown(failure) => Err(failure),
        }
    }

    /// Drops a table; `not-found` if there is none, unless `if_exists`. The directory is moved away in one step, so
    /// the table is there whole or not at all; then its files are deleted.
    pub async fn drop_table(&self, path: &TablePath, if_exists: bool) -> Result<(), Failure> {
        require_plain(path, "dropped")?;
        let Some(table) = self.table_if_present(path, if_exists).await? else {
            return Ok(());
        };
        let known = table.directory.schema(0);
        self.discard_directory(table.directory.root(), table.table_uuid(), &known).await
    }

    /// Renames a table. Refused while the mode is on: the store finds its table by name (C1). A missing table is
    /// `not-found`, or nothing to do if `if_exists`, before any guard (C21).
    pub async fn rename_table(&self, from: &TablePath, to: &TablePath, if_exists: bool) -> Result<(), Failure> {
        require_plain(from, "renamed")?;
        require_plain(to, "the new name of one")?;
        let Some(table) = self.table_if_present(from, if_exists).await? else {
            return Ok(());
        };
        if !self.lake.defects.has(Defect::RenameUnguarded) {
            refuse_while_enabled(&self.lake, &table, "renamed")?;
        }
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

    /// Replaces definition and content, keeping the history: a snapshot that deletes all rows, then a new version of
    /// the schema. A missing table is created. Refused while the mode is on: it would drop what is not tiered yet, or
    /// the option without the store's knowledge (C2). The refusal is no "unsupported" and never becomes drop and
    /// create, whichever way the statement came. `subject` keys the draws: each call needs another one.
    pub async fn replace_table(
        &self,
        path: &TablePath,
        schema: &TableSchema,
        via: ReplaceVia,
        subject: &str,
    ) -> Result<(), Failure> {
        require_plain(path, "replaced")?;
        validate_schema(schema)?;
        let schema = &*with_keys_of_options(schema)?;
        let Some(table) = self.table_if_present(path, true).await? else {
            return self.create_table(path, schema, false).await;
        };
        if let Err(refused) = refuse_while_enabled(&self.lake, &table, "replaced") {
            if via != ReplaceVia::Catalog && self.lake.defects.has(Defect::ReplaceFallsBackToDropCreate) {
                self.drop_table(path, true).await?;
                return self.create_table(path, schema, false).await;
            }
            return Err(refused);
        }
        replace_schema(&table.version.file, schema)?;
        table.truncate(subject).await?;
        // From here on the rows are gone, so no failure is definite any more.
        self.change_schema(path, |_, old| replace_schema(old, schema).map(Some)).await.map_err(Failure::made_indefinite)
    }

    /// The tables of a database, ascending; `not-found` if there is no such database.
    pub async fn list_tables(&self, database: &str) -> Result<Vec<String>, Failure> {
        check_database_name(database)?;
        let directory = database_directory(database);
        let files = self.lake.objects.list(&directory).await?;
        if files.is_empty() {
            self.require_database(database).await?;
        }
        let table_of = |file: &String| {
            let (table, rest) = file.strip_prefix(&directory)?.strip_prefix('/')?.split_once('/')?;
            rest.starts_with("schema/schema-").then(|| table.to_owned())
        };
        Ok(files.iter().filter_map(table_of).collect::<BTreeSet<String>>().into_iter().collect())
    }

    /// The options of every table of the warehouse, as Paimon's system table of all options has them.
    pub async fn list_table_options(&self) -> Result<BTreeMap<TablePath, BTreeMap<String, String>>, Failure> {
        let mut options = BTreeMap::new();
        for database in self.list_databases().await? {
            for table in self.list_tables(&database).await? {
                let path = TablePath::new(&database, &table);
                // One that was dropped meanwhile has none.
                if let Some(table) = self.table_if_present(&path, true).await? {
                    options.insert(path, table.schema().options.clone());
                }
            }
        }
        Ok(options)
    }
}
