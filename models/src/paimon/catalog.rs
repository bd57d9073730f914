//! The filesystem catalog: a table exists if its directory has a schema file.
//!
//! The guards of lake-stream mode live here, below every engine and without any store (C1, C2, C4, C9): a catalog
//! client that knows nothing of the mode meets them too. It must never open, name or need a store (C6, C16).

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::concurrently;
use crate::contract::{ColumnChange, Failure, FailureCode, LAKESTREAM_ENABLED, ReplaceVia, TablePath, TableSchema};
use crate::defects::Defect;

use super::commit::{CommitMode, CommitRequest, Precondition};
use super::directory::TableDirectory;
use super::exclusive_create::{Created, create_exclusively};
use super::lake_access::before_any_effect;
use super::overwrite::OverwriteScope;
use super::schema_rules::{change_columns, change_options, replace_schema, validate_schema};
use super::seal::seal_json;
use super::{LakeAccess, PaimonTable, SchemaFile};

/// How often a schema change that lost its race starts over.
const MAX_LOST_RACES: u32 = 10;

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

    /// Creates a table; `already-exists` if the name is taken, unless `if_not_exists`. Like every catalog without a
    /// server it takes the mode's option as it comes: it is only a declaration.
    pub async fn create_table(
        &self,
        path: &TablePath,
        schema: &TableSchema,
        if_not_exists: bool,
    ) -> Result<(), Failure> {
        validate_schema(schema)?;
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
        let Some(table) = self.table_if_present(path, if_exists).await? else {
            return Ok(());
        };
        let environment = &self.lake.environment;
        let uuid = environment.uuid("paimon.trash", table.table_uuid(), environment.now_ms());
        let trash = format!(".trash/{uuid}");
        if let Err(failure) = self.lake.objects.rename_directory(table.directory.root(), &trash).await {
            let gone = !failure.definite && self.lake.objects.exists(&table.directory.schema(0)).await == Ok(false);
            if !gone {
                return Err(failure);
            }
        }
        // The table is gone whatever becomes of this.
        if let Ok(files) = self.lake.objects.list(&trash).await {
            concurrently::all(files.iter().map(|file| self.lake.objects.delete(file))).await;
        }
        Ok(())
    }

    /// Renames a table. Refused while the mode is on: the store finds its table by name (C1). A missing table is
    /// `not-found`, or nothing to do if `if_exists`, before any guard (C21).
    pub async fn rename_table(&self, from: &TablePath, to: &TablePath, if_exists: bool) -> Result<(), Failure> {
        let Some(table) = self.table_if_present(from, if_exists).await? else {
            return Ok(());
        };
        if !self.lake.defects.has(Defect::RenameUnguarded) {
            self.refuse_while_enabled(&table, "renamed")?;
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
        validate_schema(schema)?;
        let Some(table) = self.table_if_present(path, true).await? else {
            return self.create_table(path, schema, false).await;
        };
        if let Err(refused) = self.refuse_while_enabled(&table, "replaced") {
            if via != ReplaceVia::Catalog && self.lake.defects.has(Defect::ReplaceFallsBackToDropCreate) {
                self.drop_table(path, true).await?;
                return self.create_table(path, schema, false).await;
            }
            return Err(refused);
        }
        replace_schema(&table.version.file, schema)?;
        self.delete_all_rows(&table, subject).await?;
        // From here on the rows are gone, so no failure is definite any more.
        self.change_schema(path, |_, old| replace_schema(old, schema).map(Some)).await.map_err(Failure::made_indefinite)
    }

    /// Deletes all rows in one snapshot. Refused while the mode is on: it would leave the store's copy (C9). `subject`
    /// keys the draws: each call needs another one.
    pub async fn truncate_table(&self, path: &TablePath, subject: &str) -> Result<(), Failure> {
        let table = self.table(path).await?;
        if !self.lake.defects.has(Defect::TruncateLakeOnly) {
            self.refuse_while_enabled(&table, "truncated")?;
        }
        self.delete_all_rows(&table, subject).await
    }

    /// ALTER TABLE … SET / RESET. `lakestream.enabled` can be changed at any time, with the store down or absent (C6).
    pub async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        self.change_schema(path, |has_snapshots, old| {
            let options = change_options(&old.options, set, reset, has_snapshots)?;
            Ok((options != old.options).then(|| SchemaFile { options, ..old.clone() }))
        })
        .await
    }

    /// ALTER TABLE … columns, all or nothing. Allowed in the mode, and touches only this table (C7).
    pub async fn alter_columns(&self, path: &TablePath, changes: &[ColumnChange]) -> Result<(), Failure> {
        self.change_schema(path, |_, old| change_columns(old, changes).map(Some)).await
    }

    async fn table_if_present(&self, path: &TablePath, if_exists: bool) -> Result<Option<PaimonTable>, Failure> {
        match self.table(path).await {
            Ok(table) => Ok(Some(table)),
            Err(failure) if failure.code == FailureCode::NotFound && if_exists => Ok(None),
            Err(failure) => Err(before_any_effect(failure)),
        }
    }

    /// The guard of the mode. Its message says how to leave the mode (C3).
    fn refuse_while_enabled(&self, table: &PaimonTable, what: &str) -> Result<(), Failure> {
        if !table.schema().lakestream_enabled() {
            return Ok(());
        }
        let path = table.path();
        if self.lake.defects.has(Defect::RejectionWithoutAdvice) {
            return Err(Failure::rejected(format!("table {path} is a lake-stream table and cannot be {what}")));
        }
        Err(Failure::rejected(format!(
            "table {path} is a lake-stream table and cannot be {what}; turn {LAKESTREAM_ENABLED} off first, with ALTER \
             TABLE {path} RESET ('{LAKESTREAM_ENABLED}') or by setting it to 'false'"
        )))
    }

    /// Commits an overwrite of everything by nothing.
    async fn delete_all_rows(&self, table: &PaimonTable, subject: &str) -> Result<(), Failure> {
        let Some(base) = table.latest_snapshot().await.map_err(before_any_effect)? else {
            return Ok(());
        };
        let committable = table.write(subject, Some(&base), &BTreeMap::new()).await?;
        let request = CommitRequest {
            subject: subject.to_owned(),
            // As Paimon's batch writers do: a user of its own for each commit, so the identifier need not differ.
            user: self.lake.environment.uuid("paimon.batch-user", subject, 0),
            identifier: i64::MAX as u64,
            mode: CommitMode::Overwrite { partitions: OverwriteScope::WholeTable },
            properties: BTreeMap::new(),
            committable,
            precondition: Precondition::None,
        };
        table.commit(request).await.map(|_| ())
    }

    /// Adds the next version of the schema by compare-and-swap; whoever loses starts over on the winner's. The change
    /// is told whether the table has snapshots, and returns `None` if there is nothing to change.
    async fn change_schema(
        &self,
        path: &TablePath,
        change: impl Fn(bool, &SchemaFile) -> Result<Option<SchemaFile>, Failure>,
    ) -> Result<(), Failure> {
        for _ in 0..MAX_LOST_RACES {
            let table = self.table(path).await.map_err(before_any_effect)?;
            let has_snapshots = table.latest_snapshot().await.map_err(before_any_effect)?.is_some();
            let Some(mut changed) = change(has_snapshots, &table.version.file)? else {
                return Ok(());
            };
            validate_schema(&changed.table_schema())?;
            changed.id = table.schema_id() + 1;
            changed.time_millis = self.lake.environment.now_ms();
            let bytes = encode_schema(&changed)?;
            match create_exclusively(&self.lake, &table.directory.schema(changed.id), &bytes).await {
                Created::Ours => return Ok(()),
                Created::Taken => {}
                Created::Refused(failure) | Created::Unknown(failure) => return Err(failure),
            }
        }
        Err(Failure::definite(
            FailureCode::Unavailable,
            format!("table {path}: the schema change lost {MAX_LOST_RACES} races against other changes; try again"),
        ))
    }
}

/// A schema file's bytes. Two writers that make the same change in the same millisecond write the same bytes, and then
/// it does not matter whose they are.
fn encode_schema(schema: &SchemaFile) -> Result<Bytes, Failure> {
    let encoded = schema.encode().map_err(|error| Failure::invalid(error.to_string()))?;
    Ok(seal_json(&encoded))
}
