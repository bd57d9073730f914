//! What every catalog does above its hooks: names checked, `IF EXISTS`, the guards of lake-stream mode, and then the
//! hook.
//!
//! A catalog that overrides one of these methods loses what this module does in it and has to do it by itself (C4).

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::contract::{ColumnChange, Failure, FailureCode, ReplaceVia, TablePath, TableSchema, Value};
use crate::defects::Defect;

use super::View;
use super::guards::{Guarded, refuse_while_enabled};
use super::hooks::CatalogHooks;
use super::object_names::require_plain;
use super::schema_versions::change_schema;
use super::views::name_taken;
use crate::paimon::PaimonTable;
use crate::paimon::lake_access::before_any_effect;
use crate::paimon::schema_change::{SchemaChange, apply_changes};
use crate::paimon::schema_rules::{replace_schema, validate_schema, with_keys_of_options};

/// A Paimon catalog, as statements use it.
#[async_trait(?Send)]
pub trait Catalog: CatalogHooks {
    /// Creates a table; `already-exists` if the name is taken, unless `if_not_exists`. Like every catalog without a
    /// server it takes the mode's option as it comes: it is only a declaration.
    async fn create_table(&self, path: &TablePath, schema: &TableSchema, if_not_exists: bool) -> Result<(), Failure> {
        require_plain(path, "created")?;
        validate_schema(schema)?;
        let schema = &*with_keys_of_options(schema)?;
        if self.create_table_impl(path, schema).await? || if_not_exists {
            return Ok(());
        }
        Err(name_taken(path, "table"))
    }

    /// Drops a table; `not-found` if there is none, unless `if_exists`.
    async fn drop_table(&self, path: &TablePath, if_exists: bool) -> Result<(), Failure> {
        require_plain(path, "dropped")?;
        match table_if_present(self, path, if_exists).await? {
            Some(table) => self.drop_table_impl(&table).await,
            None => Ok(()),
        }
    }

    /// Renames a table; `already-exists` if the name is taken. Refused while the mode is on (C1). A missing table is
    /// `not-found`, or nothing to do if `if_exists`, before any guard (C21).
    async fn rename_table(&self, from: &TablePath, to: &TablePath, if_exists: bool) -> Result<(), Failure> {
        let Some(table) = table_to_rename(self, from, to, if_exists).await? else {
            return Ok(());
        };
        refuse_while_enabled(self.lake(), &table, Guarded::Rename)?;
        self.rename_table_impl(&table, to).await
    }

    /// Replaces definition and content, keeping the history: a snapshot that deletes all rows, then a new version of
    /// the schema. A missing table is created. Refused while the mode is on (C2). The refusal is no "unsupported" and
    /// never becomes drop and create, whichever way the statement came. `subject` keys the draws: each call needs
    /// another one.
    async fn replace_table(
        &self,
        path: &TablePath,
        schema: &TableSchema,
        via: ReplaceVia,
        subject: &str,
    ) -> Result<(), Failure> {
        let Some(table) = table_to_replace(self, path, schema).await? else {
            return self.create_table(path, schema, false).await;
        };
        match refuse_while_enabled(self.lake(), &table, Guarded::Replace) {
            Ok(()) => replace_in_place(self, &table, schema, subject).await,
            Err(refused) => self.replace_refused(&table, schema, via, subject, refused).await,
        }
    }

    /// What becomes of a replace that was refused: the refusal is the answer and nothing has changed. The planted bugs
    /// are what engines do that take every failure of a replace for "this catalog cannot" and help themselves, and a
    /// guard that comes last.
    async fn replace_refused(
        &self,
        table: &PaimonTable,
        schema: &TableSchema,
        via: ReplaceVia,
        subject: &str,
        refused: Failure,
    ) -> Result<(), Failure> {
        if via != ReplaceVia::Catalog && self.lake().defects.has(Defect::ReplaceFallsBackToDropCreate) {
            self.drop_table(table.path(), true).await?;
            return self.create_table(table.path(), schema, false).await;
        }
        if self.lake().defects.has(Defect::RejectionAfterEffect) {
            replace_in_place(self, table, schema, subject).await?;
        }
        Err(refused)
    }

    /// Deletes all rows in one snapshot. Refused while the mode is on (C9). `subject` keys the draws: each call needs
    /// another one.
    async fn truncate_table(&self, path: &TablePath, subject: &str) -> Result<(), Failure> {
        require_plain(path, "truncated")?;
        let table = self.table(path).await?;
        if table.schema().lakestream_enabled() && self.lake().defects.has(Defect::TruncateAccepted) {
            return Ok(());
        }
        refuse_while_enabled(self.lake(), &table, Guarded::Truncate)?;
        table.truncate(subject).await.map(|_| ())
    }

    /// Deletes the rows of these partitions, in one snapshot; a partition may leave columns out, and then means all that
    /// match the rest. Allowed in the mode: the store keeps its own partitions. `invalid` if a value is none of a
    /// partition column. `subject` keys the draws: each call needs another one.
    async fn drop_partitions(
        &self,
        path: &TablePath,
        partitions: &[BTreeMap<String, Value>],
        subject: &str,
    ) -> Result<(), Failure> {
        require_plain(path, "stripped of partitions")?;
        self.table(path).await?.drop_partitions(subject, partitions).await.map(|_| ())
    }

    /// ALTER TABLE: all of these changes or none. Allowed in the mode, and touches only this table (C7);
    /// `lakestream.enabled` can be changed at any time, with the store down or absent (C6).
    async fn alter_table(&self, path: &TablePath, changes: &[SchemaChange]) -> Result<(), Failure> {
        require_plain(path, "altered")?;
        let change = |has_snapshots, old: &_| {
            let changed = apply_changes(old, changes, has_snapshots)?;
            Ok((changed != *old).then_some(changed))
        };
        change_schema(self, path, change).await
    }

    /// ALTER TABLE … SET / RESET. An option that is both reset and set is set.
    async fn alter_options(
        &self,
        path: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        let removed = reset.iter().filter(|key| !set.contains_key(*key));
        let removed = removed.map(|key| SchemaChange::RemoveOption { key: key.clone() });
        let set = set.iter().map(|(key, value)| SchemaChange::SetOption { key: key.clone(), value: value.clone() });
        let changes: Vec<SchemaChange> = removed.chain(set).collect();
        self.alter_table(path, &changes).await
    }

    /// ALTER TABLE … columns, all or nothing. Nothing guards it: the store follows the lake's columns (C7).
    async fn alter_columns(&self, path: &TablePath, changes: &[ColumnChange]) -> Result<(), Failure> {
        let changes = changes.iter().map(SchemaChange::try_from).collect::<Result<Vec<_>, Failure>>()?;
        if self.lake().defects.has(Defect::ColumnChangeRejected)
            && self.table(path).await?.schema().lakestream_enabled()
        {
            return Err(Failure::rejected(format!("the columns of the lake-stream table {path} cannot be changed")));
        }
        self.alter_table(path, &changes).await
    }

    /// Creates a branch with the table's schemas and no snapshots; `already-exists` if the name is taken. Allowed in
    /// the mode: what is refused is writing to it (C12).
    async fn create_branch(&self, path: &TablePath, branch: &str) -> Result<(), Failure> {
        require_plain(path, "branched")?;
        self.table(path).await.map_err(before_any_effect)?.create_branch(branch, None).await
    }

    /// Creates a view; `already-exists` if a table or, unless `if_not_exists`, a view has the name.
    async fn create_view(&self, path: &TablePath, view: &View, if_not_exists: bool) -> Result<(), Failure> {
        if table_if_present(self, path, true).await?.is_some() {
            return Err(name_taken(path, "table"));
        }
        if self.create_view_impl(path, view).await? || if_not_exists {
            return Ok(());
        }
        Err(name_taken(path, "view"))
    }
}

/// The table, or `None` if there is none and `IF EXISTS` was said.
pub(super) async fn table_if_present<C: CatalogHooks + ?Sized>(
    catalog: &C,
    path: &TablePath,
    if_exists: bool,
) -> Result<Option<PaimonTable>, Failure> {
    match catalog.table(path).await {
        Ok(table) => Ok(Some(table)),
        Err(failure) if failure.code == FailureCode::NotFound && if_exists => Ok(None),
        Err(failure) => Err(before_any_effect(failure)),
    }
}

/// The table that is to be renamed; `None` if there is nothing to do. The guard is the caller's to do.
pub(super) async fn table_to_rename<C: CatalogHooks + ?Sized>(
    catalog: &C,
    from: &TablePath,
    to: &TablePath,
    if_exists: bool,
) -> Result<Option<PaimonTable>, Failure> {
    require_plain(from, "renamed")?;
    require_plain(to, "the new name of one")?;
    let table = table_if_present(catalog, from, if_exists).await?;
    if table.is_none() && catalog.lake().defects.has(Defect::IfExistsGuarded) {
        return Err(Failure::rejected(format!(
            "table {from} cannot be renamed: it is not known to be out of the mode"
        )));
    }
    Ok(table)
}

/// The table that is to be replaced; `None` if it is to be created instead. The guard is the caller's to do.
pub(super) async fn table_to_replace<C: CatalogHooks + ?Sized>(
    catalog: &C,
    path: &TablePath,
    schema: &TableSchema,
) -> Result<Option<PaimonTable>, Failure> {
    require_plain(path, "replaced")?;
    validate_schema(schema)?;
    table_if_present(catalog, path, true).await
}

/// Deletes all rows and adds the new version of the schema.
pub(super) async fn replace_in_place<C: CatalogHooks + ?Sized>(
    catalog: &C,
    table: &PaimonTable,
    schema: &TableSchema,
    subject: &str,
) -> Result<(), Failure> {
    let schema = &*with_keys_of_options(schema)?;
    replace_schema(&table.version.file, schema)?;
    table.truncate(subject).await?;
    // From here on the rows are gone, so no failure is definite any more.
    let change = |_, old: &_| replace_schema(old, schema).map(Some);
    change_schema(catalog, table.path(), change).await.map_err(Failure::made_indefinite)
}
