//! The contract's catalog rules on each kind of catalog: the one that inherits the guards, and the one that overrides
//! rename and replace.

use std::collections::BTreeMap;
use std::rc::Rc;

use models::contract::{
    ColumnChange, DataType, Failure, FailureCode, FieldType, LAKESTREAM_ENABLED, ReplaceVia, TablePath, TableSchema,
};
use models::defects::{Defect, Defects};
use models::paimon::{DataField, JdbcCatalog, SqlMetastore, View};

use crate::surroundings::*;

/// A warehouse with a catalog of one kind.
struct OneKind {
    name: &'static str,
    warehouse: Warehouse,
    catalog: Rc<dyn Catalog>,
}

/// Both kinds, each with a warehouse of its own.
fn both(defects: &[Defect]) -> [OneKind; 2] {
    let warehouse = || warehouse_with(defects.iter().copied().collect::<Defects>());
    let (with_files, with_database) = (warehouse(), warehouse());
    let database = Rc::new(SqlMetastore::new().unwrap());
    let jdbc = JdbcCatalog::new(with_database.lake.clone(), database);
    [
        OneKind { name: "filesystem", catalog: Rc::new(with_files.catalog.clone()), warehouse: with_files },
        OneKind { name: "jdbc", catalog: Rc::new(jdbc), warehouse: with_database },
    ]
}

/// Whether `db.t` is there, and whether it is in the mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    Missing,
    Plain,
    SaysFalse,
    InTheMode,
}

/// A statement about `db.t`.
#[derive(Clone, Copy, Debug)]
enum Statement {
    Create { if_not_exists: bool },
    Drop { if_exists: bool },
    Rename { if_exists: bool },
    Replace(ReplaceVia),
    Truncate,
    SetTrue,
    SetFalse,
    Reset,
    AddColumn,
    Branch,
}

fn moved() -> TablePath {
    TablePath::new("db", "moved")
}

fn definition(table: Table) -> TableSchema {
    match table {
        Table::Missing | Table::Plain => append_schema(),
        Table::SaysFalse => with_option(append_schema(), LAKESTREAM_ENABLED, "false"),
        Table::InTheMode => with_option(append_schema(), LAKESTREAM_ENABLED, "true"),
    }
}

impl OneKind {
    async fn begin(&self, table: Table) {
        if table == Table::Missing {
            return;
        }
        self.catalog.create_table(&path(), &definition(table), false).await.unwrap();
        let opened = self.catalog.table(&path()).await.unwrap();
        append(&opened, "a", &inserts(&[row(1, "x", "d")])).await;
    }

    async fn execute(&self, statement: Statement) -> Result<(), Failure> {
        let (catalog, path) = (&self.catalog, path());
        let mode = |value: &str| BTreeMap::from([(LAKESTREAM_ENABLED.to_owned(), value.to_owned())]);
        match statement {
            Statement::Create { if_not_exists } => catalog.create_table(&path, &append_schema(), if_not_exists).await,
            Statement::Drop { if_exists } => catalog.drop_table(&path, if_exists).await,
            Statement::Rename { if_exists } => catalog.rename_table(&path, &moved(), if_exists).await,
            Statement::Replace(via) => catalog.replace_table(&path, &append_schema(), via, "replace").await,
            Statement::Truncate => catalog.truncate_table(&path, "truncate").await,
            Statement::SetTrue => catalog.alter_options(&path, &mode("true"), &[]).await,
            Statement::SetFalse => catalog.alter_options(&path, &mode("false"), &[]).await,
            Statement::Reset => catalog.alter_options(&path, &BTreeMap::new(), &[LAKESTREAM_ENABLED.to_owned()]).await,
            Statement::AddColumn => {
                let change = serde_json::json!({"add": {"name": "n", "type": "INT", "nullable": true}});
                let change: ColumnChange = serde_json::from_value(change).unwrap();
                catalog.alter_columns(&path, &[change]).await
            }
            Statement::Branch => catalog.create_branch(&path, "b").await,
        }
    }
}

fn is_advice(failure: &Failure) -> bool {
    failure.message.contains(LAKESTREAM_ENABLED) && failure.message.contains("RESET")
}

const DONE: Option<FailureCode> = None;
const NOT_FOUND: Option<FailureCode> = Some(FailureCode::NotFound);
const EXISTS: Option<FailureCode> = Some(FailureCode::AlreadyExists);
const REJECTED: Option<FailureCode> = Some(FailureCode::Rejected);

/// Each statement, and what becomes of it where the table is missing, plain, says false, or is in the mode.
const OUTCOMES: &[(Statement, [Option<FailureCode>; 4])] = &[
    (Statement::Create { if_not_exists: false }, [DONE, EXISTS, EXISTS, EXISTS]),
    (Statement::Create { if_not_exists: true }, [DONE, DONE, DONE, DONE]),
    (Statement::Drop { if_exists: false }, [NOT_FOUND, DONE, DONE, DONE]),
    (Statement::Drop { if_exists: true }, [DONE, DONE, DONE, DONE]),
    (Statement::Rename { if_exists: false }, [NOT_FOUND, DONE, DONE, REJECTED]),
    (Statement::Rename { if_exists: true }, [DONE, DONE, DONE, REJECTED]),
    (Statement::Replace(ReplaceVia::Catalog), [DONE, DONE, DONE, REJECTED]),
    (Statement::Replace(ReplaceVia::CreateOrReplace), [DONE, DONE, DONE, REJECTED]),
    (Statement::Replace(ReplaceVia::Rtas), [DONE, DONE, DONE, REJECTED]),
    (Statement::Truncate, [NOT_FOUND, DONE, DONE, REJECTED]),
    (Statement::SetTrue, [NOT_FOUND, DONE, DONE, DONE]),
    (Statement::SetFalse, [NOT_FOUND, DONE, DONE, DONE]),
    (Statement::Reset, [NOT_FOUND, DONE, DONE, DONE]),
    (Statement::AddColumn, [NOT_FOUND, DONE, DONE, DONE]),
    (Statement::Branch, [NOT_FOUND, DONE, DONE, DONE]),
];

#[tokio::test]
async fn each_statement_comes_to_the_same_on_both_kinds_and_a_failed_one_changes_nothing() {
    for (statement, outcomes) in OUTCOMES {
        for (table, expected) in
            [Table::Missing, Table::Plain, Table::SaysFalse, Table::InTheMode].into_iter().zip(outcomes)
        {
            for kind in both(&[]) {
                let case = format!("{}: {statement:?} where the table is {table:?}", kind.name);
                kind.begin(table).await;
                let before = kind.warehouse.storage.memory.snapshot_all();
                let failure = kind.execute(*statement).await.err();
                assert_eq!(failure.as_ref().map(|failure| failure.code), *expected, "{case}");
                if let Some(failure) = failure {
                    assert!(failure.definite, "{case}");
                    assert_eq!(is_advice(&failure), failure.code == FailureCode::Rejected, "{case}: {failure}");
                    assert_eq!(kind.warehouse.storage.memory.snapshot_all(), before, "{case}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_renamed_table_is_found_under_its_new_name_only_with_its_rows_and_its_identity() {
    for kind in both(&[]) {
        kind.begin(Table::Plain).await;
        kind.execute(Statement::Rename { if_exists: false }).await.unwrap();
        assert_eq!(kind.catalog.table(&path()).await.err().unwrap().code, FailureCode::NotFound, "{}", kind.name);
        let table = kind.catalog.table(&moved()).await.unwrap();
        assert_eq!(rows(&table).await, [row(1, "x", "d")], "{}", kind.name);
        kind.begin(Table::Plain).await;
        let failure = kind.execute(Statement::Rename { if_exists: true }).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::AlreadyExists, true), "{}", kind.name);
        kind.execute(Statement::Drop { if_exists: false }).await.unwrap();
        kind.catalog.rename_table(&moved(), &path(), false).await.unwrap();
        assert_eq!(rows(&kind.catalog.table(&path()).await.unwrap()).await, [row(1, "x", "d")], "{}", kind.name);
    }
}

#[tokio::test]
async fn the_kind_that_overrides_says_what_it_was_about_before_it_says_why() {
    let [_, jdbc] = both(&[]);
    jdbc.begin(Table::InTheMode).await;
    for (statement, about) in [
        (Statement::Rename { if_exists: false }, "cannot rename table db.t to db.moved: "),
        (Statement::Replace(ReplaceVia::CreateOrReplace), "cannot replace table db.t: "),
    ] {
        let failure = jdbc.execute(statement).await.unwrap_err();
        assert!(failure.message.starts_with(about) && is_advice(&failure), "{failure}");
    }
}

#[tokio::test]
async fn a_view_keeps_its_whole_name_and_takes_no_tables_name() {
    let field_type = FieldType { data_type: DataType::Int, nullable: true };
    let field = DataField { id: 0, name: "n".to_owned(), field_type, description: None, default_value: None };
    let view = View {
        fields: vec![field],
        query: "SELECT 1 AS n".to_owned(),
        dialects: BTreeMap::new(),
        comment: None,
        options: BTreeMap::new(),
    };
    let named = TablePath::new("db", "x$rt");
    for kind in both(&[]) {
        kind.begin(Table::Plain).await;
        let code = |result: Result<(), Failure>| result.unwrap_err().code;
        assert_eq!(kind.catalog.view(&named).await.unwrap_err().code, FailureCode::NotFound, "{}", kind.name);
        kind.catalog.create_view(&named, &view, false).await.unwrap();
        kind.catalog.create_view(&named, &view, true).await.unwrap();
        assert_eq!(code(kind.catalog.create_view(&named, &view, false).await), FailureCode::AlreadyExists);
        assert_eq!(code(kind.catalog.create_view(&path(), &view, true).await), FailureCode::AlreadyExists);
        let nothing = View { fields: Vec::new(), ..view.clone() };
        assert_eq!(code(kind.catalog.create_view(&moved(), &nothing, false).await), FailureCode::Invalid);
        assert_eq!(kind.catalog.view(&named).await.unwrap(), view, "{}", kind.name);
    }
}

/// What a planted bug makes of a statement, on the filesystem catalog and on the JDBC catalog.
#[tokio::test]
async fn each_planted_bug_shows_on_the_kinds_that_it_is_of() {
    const RENAME: Statement = Statement::Rename { if_exists: false };
    const REPLACE: Statement = Statement::Replace(ReplaceVia::CreateOrReplace);
    for (defect, table, statement, expected) in [
        (Defect::RenameUnguarded, Table::InTheMode, RENAME, [DONE, DONE]),
        (Defect::ReplaceUnguarded, Table::InTheMode, REPLACE, [DONE, DONE]),
        (Defect::ReplaceFallsBackToDropCreate, Table::InTheMode, REPLACE, [DONE, DONE]),
        (Defect::GuardOnlyInBaseCatalog, Table::InTheMode, RENAME, [REJECTED, DONE]),
        (Defect::GuardOnlyInBaseCatalog, Table::InTheMode, REPLACE, [REJECTED, DONE]),
        (Defect::GuardOnlyInBaseCatalog, Table::InTheMode, Statement::Truncate, [REJECTED, REJECTED]),
        (Defect::OffKeepsRejecting, Table::SaysFalse, RENAME, [REJECTED, REJECTED]),
        (Defect::TruncateAccepted, Table::InTheMode, Statement::Truncate, [DONE, DONE]),
        (Defect::TruncateLakeOnly, Table::InTheMode, Statement::Truncate, [DONE, DONE]),
        (Defect::ColumnChangeRejected, Table::InTheMode, Statement::AddColumn, [REJECTED, REJECTED]),
        (Defect::ColumnChangeRejected, Table::Plain, Statement::AddColumn, [DONE, DONE]),
        (Defect::IfExistsGuarded, Table::Missing, Statement::Rename { if_exists: true }, [REJECTED, REJECTED]),
    ] {
        for (kind, expected) in both(&[defect]).into_iter().zip(expected) {
            kind.begin(table).await;
            let code = kind.execute(statement).await.err().map(|failure| failure.code);
            assert_eq!(code, expected, "{}: {defect}: {statement:?}", kind.name);
        }
    }
}

#[tokio::test]
async fn advice_that_is_lost_in_wrapping_is_lost_only_where_it_is_wrapped() {
    for (kind, advises) in both(&[Defect::AdviceLostInWrapping]).into_iter().zip([true, false]) {
        kind.begin(Table::InTheMode).await;
        let failure = kind.execute(Statement::Rename { if_exists: false }).await.unwrap_err();
        assert_eq!((failure.code, is_advice(&failure)), (FailureCode::Rejected, advises), "{}: {failure}", kind.name);
    }
}

#[tokio::test]
async fn a_rejection_after_the_effect_has_replaced_the_table() {
    for kind in both(&[Defect::RejectionAfterEffect]) {
        kind.begin(Table::InTheMode).await;
        assert!(is_advice(&kind.execute(Statement::Replace(ReplaceVia::Rtas)).await.unwrap_err()), "{}", kind.name);
        let table = kind.catalog.table(&path()).await.unwrap();
        assert!(rows(&table).await.is_empty() && !table.schema().lakestream_enabled(), "{}", kind.name);
    }
}

#[tokio::test]
async fn a_table_that_the_database_does_not_know_is_not_there_and_its_files_are_left_alone() {
    let [_, jdbc] = both(&[]);
    jdbc.warehouse.create(&append_schema()).await;
    let before = jdbc.warehouse.storage.memory.snapshot_all();
    assert_eq!(jdbc.catalog.table(&path()).await.err().unwrap().code, FailureCode::NotFound);
    let failure = jdbc.execute(Statement::Create { if_not_exists: true }).await.unwrap_err();
    assert!(failure.code == FailureCode::AlreadyExists && failure.message.contains("does not know"), "{failure}");
    jdbc.catalog.create_table(&moved(), &append_schema(), false).await.unwrap();
    let failure = jdbc.catalog.rename_table(&moved(), &path(), false).await.unwrap_err();
    assert!(failure.code == FailureCode::AlreadyExists && failure.definite, "{failure}");
    jdbc.catalog.drop_table(&moved(), false).await.unwrap();
    assert_eq!(jdbc.warehouse.storage.memory.snapshot_all(), before);
}
