//! DDL and DESCRIBE, on either side.
//!
//! The lake's guards (C1, C2, C9) are the catalog's, so that every user of the catalog meets them; this module must
//! never decide itself what the contract refuses, and never works around a refusal.

use std::collections::BTreeMap;

use crate::contract::{
    Description, Failure, FailureCode, LAKESTREAM_ENABLED, Output, Statement, TablePath, TableSchema,
};
use crate::defects::Defect;

use super::client::{Client, of_the_store};
use super::layout_token::LayoutToken;
use super::patience::attempt_subject;
use super::place::{Part, Place};
use super::route::Refusal;

impl Client {
    /// A statement of the Paimon catalog. No store is needed for any of them (C6, F6).
    pub(super) async fn execute_on_lake_catalog(
        &self,
        operation_id: &str,
        statement: Statement,
    ) -> Result<Output, Failure> {
        let catalog = &self.catalog;
        let done = match statement {
            Statement::Describe { table, .. } => return self.describe_on_lake(&table).await,
            Statement::CreateTable { table, schema, if_not_exists, .. } => {
                self.patience.once(async |_| catalog.create_table(&table, &schema, if_not_exists).await).await
            }
            Statement::ReplaceTable { table, schema, via } => {
                // However the statement came, a refusal is its answer: it never becomes drop and create (rule 14, C2).
                let replace = async |attempt| {
                    catalog.replace_table(&table, &schema, via, &attempt_subject(operation_id, attempt)).await
                };
                self.patience.once(replace).await
            }
            Statement::AlterOptions { table, set, reset, .. } => {
                self.planted_toggle(&table, &set, &reset).await?;
                self.patience.once(async |_| catalog.alter_options(&table, &set, &reset).await).await
            }
            Statement::AlterColumns { table, changes, .. } => {
                let changed = self.patience.once(async |_| catalog.alter_columns(&table, &changes).await).await;
                // Planted bug column-change-pushed-to-store: the store's table follows, whether it can or not.
                if changed.is_ok() && self.lake.defects.has(Defect::ColumnChangePushedToStore) {
                    self.coordinator.alter_columns(&table, &changes).await.ok();
                }
                changed
            }
            Statement::RenameTable { table, to, if_exists } => {
                self.patience.once(async |_| catalog.rename_table(&table, &to, if_exists).await).await
            }
            Statement::DropTable { table, if_exists, .. } => {
                self.patience.once(async |_| catalog.drop_table(&table, if_exists).await).await
            }
            Statement::TruncateTable { table } => {
                self.patience
                    .once(async |attempt| catalog.truncate_table(&table, &attempt_subject(operation_id, attempt)).await)
                    .await
            }
            Statement::CreateBranch { table, branch } => {
                self.patience.once(async |_| catalog.create_branch(&table, &branch).await).await
            }
            Statement::CreateView { view, query_table } => self.create_view(&view, &query_table).await,
            other => Err(not_ddl(&other)),
        };
        done.map(|()| Output::Done)
    }

    /// The definition on the lake, and the layout that a write may be planned against. Whatever the mode, it is
    /// resolved without the store (rules 6, 27; C16); the write itself compares the layout with the store's (C13).
    async fn describe_on_lake(&self, path: &TablePath) -> Result<Output, Failure> {
        let (table, part) = Place::of_path(path);
        let opened = self.patience.read(async || self.catalog.table(&table).await).await?;
        let opened = match part {
            Part::Whole => opened,
            Part::Branch(branch) => self.patience.read(async || opened.on_branch(&branch).await).await?,
            Part::RealTime if opened.schema().lakestream_enabled() => opened,
            Part::RealTime => return Err(self.refused(Refusal::NotInTheMode, &table)),
            Part::SystemTable(_) | Part::Nothing => return Err(Refusal::NoSuchName.failure(path)),
        };
        let layout = Some(LayoutToken::of(opened.schema()).to_string());
        let schema = TableSchema::clone(opened.schema());
        Ok(Output::Described(Box::new(Description { schema, table_id: opened.table_uuid().to_owned(), layout })))
    }

    /// Planted bug toggle-needs-store: switching the mode asks the store for the table first.
    async fn planted_toggle(
        &self,
        table: &TablePath,
        set: &BTreeMap<String, String>,
        reset: &[String],
    ) -> Result<(), Failure> {
        let switches = set.contains_key(LAKESTREAM_ENABLED) || reset.iter().any(|key| key == LAKESTREAM_ENABLED);
        if switches && self.lake.defects.has(Defect::ToggleNeedsStore) {
            self.store_table(table).await?;
        }
        Ok(())
    }

    /// A statement of the store's own side: its definitions are the coordinator's to change.
    pub(super) async fn execute_on_store_catalog(&self, statement: Statement) -> Result<Output, Failure> {
        let coordinator = &self.coordinator;
        let done = match statement {
            Statement::Describe { table, .. } => {
                let table =
                    self.patience.read(async || self.store_tools.table(&table).await).await.map_err(of_the_store)?;
                let schema = TableSchema::clone(&table.schema);
                let table_id = table.table_id.to_string();
                return Ok(Output::Described(Box::new(Description { schema, table_id, layout: None })));
            }
            Statement::CreateTable { table, schema, if_not_exists, .. } => {
                let create = async |_| coordinator.create_table(&table, &schema).await;
                // C21: only "exists" is excused, never a guard.
                excuse(if_not_exists, FailureCode::AlreadyExists, self.patience.once(create).await.map(|_| ()))
            }
            Statement::AlterOptions { table, set, reset, .. } => {
                self.patience.once(async |_| coordinator.alter_options(&table, &set, &reset).await).await
            }
            Statement::AlterColumns { table, changes, .. } => {
                self.patience.once(async |_| coordinator.alter_columns(&table, &changes).await).await
            }
            Statement::CreateOnLake { table, properties } => {
                let create = async |_| coordinator.create_table_on_lake(&table, &properties).await;
                self.patience.once(create).await.map(|_| ())
            }
            Statement::Enable { table } => {
                let enable = BTreeMap::from([(LAKESTREAM_ENABLED.to_owned(), true.to_string())]);
                self.patience.once(async |_| coordinator.alter_options(&table, &enable, &[]).await).await
            }
            Statement::Promote { table, properties, partitions } => {
                return self.promote(&table, properties, partitions.as_deref()).await;
            }
            Statement::DropTable { table, if_exists, .. } => {
                let drop = async |_| coordinator.drop_table(&table).await;
                excuse(if_exists, FailureCode::NotFound, self.patience.once(drop).await)
            }
            other => Err(not_ddl(&other)),
        };
        done.map(|()| Output::Done).map_err(of_the_store)
    }
}

/// `if exists` and `if not exists`: this one failure is a success without effect.
fn excuse(asked_for: bool, code: FailureCode, done: Result<(), Failure>) -> Result<(), Failure> {
    match done {
        Err(failure) if asked_for && failure.code == code => Ok(()),
        done => done,
    }
}

fn not_ddl(statement: &Statement) -> Failure {
    Failure::definite(FailureCode::Unsupported, format!("`{}` is not a statement of a catalog", statement.name()))
}
