//! Views: tables under another name, read through their base (rule 31, C18).
//!
//! A view shows the lake's snapshots of its table, so it must never need the store. It is read-only and has no history,
//! no key and no changelog of its own.

use crate::contract::{Failure, FailureCode, Output, Statement, TablePath};
use crate::paimon::{PaimonTable, SchemaFile, View};

use super::client::Client;
use super::place::{Part, Place};
use super::route::Refusal;

/// What the query of a view begins with that this client makes, and reads.
const SELECT_ALL_FROM: &str = "SELECT * FROM ";

impl Client {
    /// The view of this name, if there is one. A name that no view can have is no view's.
    pub(super) async fn view_if_present(&self, path: &TablePath) -> Result<Option<View>, Failure> {
        match self.patience.read(async || self.catalog.view(path).await).await {
            Ok(view) => Ok(Some(view)),
            Err(failure) if matches!(failure.code, FailureCode::NotFound | FailureCode::Invalid) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// A statement on a name that no table has: a view's answer, or this failure.
    pub(super) async fn execute_on_view_or(
        &self,
        no_table: Failure,
        path: &TablePath,
        statement: &Statement,
    ) -> Result<Output, Failure> {
        match self.view_if_present(path).await? {
            Some(view) => self.execute_on_view(path, &view, statement).await,
            None => Err(no_table),
        }
    }

    /// A statement on a view.
    pub(super) async fn execute_on_view(
        &self,
        path: &TablePath,
        view: &View,
        statement: &Statement,
    ) -> Result<Output, Failure> {
        match statement {
            Statement::Select { at_snapshot: None, at_timestamp_ms: None, filter, .. } => {
                let table = self.open_base(path, &base_of(path, view)?).await?;
                self.select_from_lake(&table, filter, None).await
            }
            Statement::Select { .. } => Err(Refusal::NoTimeTravel.failure(path)),
            other if other.writes_rows() => {
                Err(Failure::invalid(format!("expected a table to write to, found the view `{path}`: it is read-only")))
            }
            other => Err(Failure::invalid(format!(
                "expected a table to {} in, found the view `{path}`: it has rows only",
                other.name().replace('_', " ")
            ))),
        }
    }

    /// CREATE VIEW … AS SELECT * FROM a table, or a branch of one.
    pub(super) async fn create_view(&self, path: &TablePath, query_table: &TablePath) -> Result<(), Failure> {
        let table = self.open_base(path, query_table).await?;
        let query = format!("{SELECT_ALL_FROM}`{}`.`{}`", query_table.database(), query_table.table());
        let view = View {
            fields: SchemaFile::first(table.schema(), 0).fields,
            query,
            dialects: Default::default(),
            comment: None,
            options: Default::default(),
        };
        self.patience.once(async |_| self.catalog.create_view(path, &view, false).await).await
    }

    /// The table that a view shows.
    async fn open_base(&self, view: &TablePath, base: &TablePath) -> Result<PaimonTable, Failure> {
        let (table, part) = Place::of_path(base);
        let opened = self.patience.read(async || self.catalog.table(&table).await).await?;
        match part {
            Part::Whole => Ok(opened),
            Part::Branch(branch) => self.patience.read(async || opened.on_branch(&branch).await).await,
            Part::RealTime | Part::SystemTable(_) | Part::Nothing => Err(Failure::definite(
                FailureCode::Unsupported,
                format!("expected the view `{view}` to show a table or a branch of one, found `{base}`"),
            )),
        }
    }
}

/// The table that a view's query names; `unsupported` for queries of other forms.
fn base_of(path: &TablePath, view: &View) -> Result<TablePath, Failure> {
    let names = view.query.strip_prefix(SELECT_ALL_FROM).and_then(|names| {
        let (database, table) = names.strip_prefix('`')?.strip_suffix('`')?.split_once("`.`")?;
        (!database.contains('`') && !table.contains('`')).then(|| TablePath::new(database, table))
    });
    names.ok_or_else(|| {
        Failure::definite(
            FailureCode::Unsupported,
            format!("expected the view `{path}` to be `{SELECT_ALL_FROM}…` of one table, found {:?}", view.query),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_a_query_is_read_back_and_other_queries_are_not_guessed_at() {
        let base = |query: &str| {
            let view: View = serde_json::from_value(serde_json::json!({"fields": [], "query": query})).unwrap();
            base_of(&TablePath::new("db", "v"), &view)
        };
        assert_eq!(base("SELECT * FROM `db`.`t$branch_b`"), Ok(TablePath::new("db", "t$branch_b")));
        for query in ["SELECT id FROM `db`.`t`", "SELECT * FROM `db`.`t` WHERE `a`.`b`", "SELECT * FROM t"] {
            assert_eq!(base(query).unwrap_err().code, FailureCode::Unsupported, "{query}");
        }
    }
}
