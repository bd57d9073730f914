//! DDL and DESCRIBE, on either side.
//!
//! The lake's guards (C1, C2, C9) are the catalog's, so that every user of the catalog meets them; this module must
//! never decide itself what the contract refuses, and never works around a refusal.

use crate::contract::{Description, Failure, FailureCode, Output, ReplaceVia, Statement, TablePath, TableSchema};
use crate::defects::Defect;
use crate::paimon::PaimonTable;

use super::client::{Client, of_the_store};

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
                self.patience.once(async || catalog.create_table(&table, &schema, if_not_exists).await).await
            }
            Statement::ReplaceTable { table, schema, via } => self.replace_on_lake(&table, &schema, via).await,
            Statement::AlterOptions { table, set, reset, .. } => {
                self.patience.once(async || catalog.alter_options(&table, &set, &reset).await).await
            }
            Statement::AlterColumns { table, changes, .. } => {
                self.patience.once(async || catalog.alter_columns(&table, &changes).await).await
            }
            Statement::RenameTable { table, to, if_exists } => {
                self.patience.once(async || catalog.rename_table(&table, &to, if_exists).await).await
            }
            Statement::DropTable { table, if_exists, .. } => {
                self.patience.once(async || catalog.drop_table(&table, if_exists).await).await
            }
            Statement::TruncateTable { table } => {
                self.patience.once(async || catalog.truncate_table(&table, operation_id).await).await
            }
            other => Err(not_ddl(&other)),
        };
        done.map(|_| Output::Done)
    }

    /// CREATE OR REPLACE and RTAS are a replace too: a refused one is not an unsupported one, and never becomes drop
    /// and create (rule 14, C2).
    async fn replace_on_lake(&self, table: &TablePath, schema: &TableSchema, via: ReplaceVia) -> Result<(), Failure> {
        let catalog = &self.catalog;
        let replaced = self.patience.once(async || catalog.replace_table(table, schema).await).await;
        let is_refused = replaced.as_ref().is_err_and(|failure| failure.code == FailureCode::Rejected);
        if self.lake.defects.has(Defect::ReplaceFallsBackToDropCreate) && is_refused && via != ReplaceVia::Catalog {
            self.patience.once(async || catalog.drop_table(table, true).await).await?;
            self.patience.once(async || catalog.create_table(table, schema, false).await).await?;
            return Ok(());
        }
        replaced.map(|_| ())
    }

    async fn describe_on_lake(&self, path: &TablePath) -> Result<Output, Failure> {
        let table = self.patience.read(async || PaimonTable::open(&self.lake, path).await).await?;
        let schema = TableSchema::clone(table.schema());
        Ok(Output::Described(Box::new(Description { schema, table_id: table.table_uuid().to_owned() })))
    }

    /// A statement of the store's own side: its definitions are the coordinator's to change.
    pub(super) async fn execute_on_store_catalog(&self, statement: Statement) -> Result<Output, Failure> {
        let coordinator = &self.coordinator;
        let done = match statement {
            Statement::Describe { table, .. } => {
                let table = self.patience.read(async || self.store.table(&table).await).await.map_err(of_the_store)?;
                let schema = TableSchema::clone(&table.schema);
                let table_id = table.table_id.to_string();
                return Ok(Output::Described(Box::new(Description { schema, table_id })));
            }
            Statement::CreateTable { table, schema, if_not_exists, .. } => {
                let create = async || coordinator.create_table(&table, &schema).await;
                // C21: only "exists" is excused, never a guard.
                excuse(if_not_exists, FailureCode::AlreadyExists, self.patience.once(create).await.map(|_| ()))
            }
            Statement::AlterOptions { table, set, reset, .. } => {
                self.patience.once(async || coordinator.alter_options(&table, &set, &reset).await).await
            }
            Statement::DropTable { table, if_exists, .. } => {
                let drop = async || coordinator.drop_table(&table).await;
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
