//! The catalog: what it does, and what it refuses while the mode is on.

use std::collections::BTreeMap;

use models::contract::{DataType, Failure, FailureCode, LAKESTREAM_ENABLED, ReplaceVia, TablePath, TableSchema};
use models::defects::{Defect, Defects};
use models::paimon::CommitKind;

use crate::surroundings::*;

fn elsewhere() -> TablePath {
    TablePath::new("db", "elsewhere")
}

fn lake_stream(schema: TableSchema) -> TableSchema {
    with_option(schema, LAKESTREAM_ENABLED, "true")
}

async fn lake_stream_table(warehouse: &Warehouse) {
    let table = warehouse.create(&lake_stream(append_schema())).await;
    append(&table, "a", &inserts(&[row(1, "x", "d")])).await;
}

fn assert_advises(failure: &Failure) {
    assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));
    assert!(failure.message.contains(LAKESTREAM_ENABLED) && failure.message.contains("RESET"), "{failure}");
}

#[tokio::test]
async fn rename_replace_and_truncate_are_refused_while_the_mode_is_on_and_nothing_changes() {
    let warehouse = warehouse();
    lake_stream_table(&warehouse).await;
    let before = warehouse.storage.memory.snapshot_all();
    assert_advises(&warehouse.catalog.rename_table(&path(), &elsewhere(), true).await.unwrap_err());
    for via in [ReplaceVia::Catalog, ReplaceVia::CreateOrReplace, ReplaceVia::Rtas] {
        assert_advises(&warehouse.catalog.replace_table(&path(), &append_schema(), via, "op").await.unwrap_err());
    }
    assert_advises(&warehouse.catalog.truncate_table(&path(), "op").await.unwrap_err());
    assert_eq!(warehouse.storage.memory.snapshot_all(), before);
}

#[tokio::test]
async fn they_succeed_once_the_mode_is_off_in_either_spelling() {
    for reset in [true, false] {
        let warehouse = warehouse();
        lake_stream_table(&warehouse).await;
        let set = if reset { vec![] } else { vec![(LAKESTREAM_ENABLED.to_owned(), "false".to_owned())] };
        let reset = if reset { vec![LAKESTREAM_ENABLED.to_owned()] } else { vec![] };
        warehouse.catalog.alter_options(&path(), &set.into_iter().collect(), &reset).await.unwrap();
        warehouse.catalog.truncate_table(&path(), "op-1").await.unwrap();
        assert_eq!(rows(&warehouse.open().await).await, []);
        warehouse.catalog.rename_table(&path(), &elsewhere(), false).await.unwrap();
        assert_eq!(warehouse.catalog.table(&path()).await.err().unwrap().code, FailureCode::NotFound);
        warehouse
            .catalog
            .replace_table(&elsewhere(), &key_schema(), ReplaceVia::CreateOrReplace, "op-2")
            .await
            .unwrap();
        assert!(warehouse.catalog.table(&elsewhere()).await.unwrap().schema().has_primary_key());
    }
}

#[tokio::test]
async fn a_replace_in_place_keeps_the_history() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    append(&table, "a", &inserts(&[row(1, "x", "d")])).await;
    let mut replacement = append_schema();
    replacement.columns[1].data_type = DataType::Int;
    warehouse.catalog.replace_table(&path(), &replacement, ReplaceVia::Catalog, "op").await.unwrap();
    let replaced = warehouse.open().await;
    assert_eq!(**replaced.schema(), replacement);
    assert_eq!((replaced.schema_id(), rows(&replaced).await), (1, vec![]));
    assert_eq!(replaced.table_uuid(), table.table_uuid());
    assert_eq!(latest(&replaced).await.commit_kind, CommitKind::Overwrite);
    assert_eq!(table.snapshot(1).await.unwrap().total_record_count, 1);
}

#[tokio::test]
async fn if_exists_comes_before_every_guard() {
    let warehouse = warehouse();
    let missing = TablePath::new("db", "missing");
    assert_eq!(warehouse.catalog.rename_table(&missing, &elsewhere(), true).await, Ok(()));
    assert_eq!(warehouse.catalog.drop_table(&missing, true).await, Ok(()));
    for failure in [
        warehouse.catalog.rename_table(&missing, &elsewhere(), false).await.unwrap_err(),
        warehouse.catalog.drop_table(&missing, false).await.unwrap_err(),
        warehouse.catalog.truncate_table(&missing, "op").await.unwrap_err(),
    ] {
        assert_eq!((failure.code, failure.definite), (FailureCode::NotFound, true));
    }
    warehouse.catalog.replace_table(&missing, &append_schema(), ReplaceVia::Catalog, "op").await.unwrap();
    assert!(warehouse.catalog.table(&missing).await.is_ok());
}

#[tokio::test]
async fn names_are_taken_once() {
    let warehouse = warehouse();
    lake_stream_table(&warehouse).await;
    let failure = warehouse.catalog.create_table(&path(), &append_schema(), false).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::AlreadyExists, true));
    warehouse.catalog.create_table(&path(), &append_schema(), true).await.unwrap();
    assert!(warehouse.open().await.schema().lakestream_enabled(), "the table that was there stayed");
    warehouse.catalog.create_table(&elsewhere(), &append_schema(), false).await.unwrap();
    let failure = warehouse.catalog.rename_table(&elsewhere(), &path(), false).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::AlreadyExists, true));
}

#[tokio::test]
async fn a_table_that_is_created_again_holds_nothing_of_its_predecessor() {
    let warehouse = warehouse();
    lake_stream_table(&warehouse).await;
    let late = warehouse.storage.memory.snapshot_all()["db.db/t/snapshot/snapshot-1"].clone();
    warehouse.catalog.drop_table(&path(), false).await.unwrap();
    assert_eq!(warehouse.storage.memory.snapshot_all(), BTreeMap::new());
    // A request of the old table's that was still on its way.
    warehouse.lake.objects.put("db.db/t/snapshot/snapshot-1", late).await.unwrap();
    let again = warehouse.create(&append_schema()).await;
    assert_eq!(again.latest_snapshot().await.unwrap(), None);
}

#[tokio::test]
async fn option_changes_that_race_are_all_kept() {
    let warehouse = warehouse();
    warehouse.create(&append_schema()).await;
    let set = |key: &str| BTreeMap::from([(key.to_owned(), "1".to_owned())]);
    let other = warehouse.catalog.clone();
    let winner = set("winner");
    let race = CreateFault::After(Box::pin(async move { other.alter_options(&path(), &winner, &[]).await.unwrap() }));
    warehouse.storage.line_up([race, CreateFault::AnswerLost]);
    warehouse.catalog.alter_options(&path(), &set("loser"), &[]).await.unwrap();
    let schema = warehouse.open().await.schema().clone();
    assert!(schema.options.contains_key("winner") && schema.options.contains_key("loser"));
}

#[tokio::test]
async fn keys_are_immutable_once_there_are_rows_and_the_mode_is_not() {
    let warehouse = warehouse();
    lake_stream_table(&warehouse).await;
    let alter = |key: &str, value: &str| {
        let (catalog, set) = (warehouse.catalog.clone(), BTreeMap::from([(key.to_owned(), value.to_owned())]));
        async move { catalog.alter_options(&path(), &set, &[]).await }
    };
    assert_eq!(alter("bucket-key", "id").await.unwrap_err().code, FailureCode::Invalid);
    assert_eq!(alter("bucket", "2").await.unwrap_err().code, FailureCode::Invalid);
    for value in ["false", "true", "TRUE", "maybe"] {
        alter(LAKESTREAM_ENABLED, value).await.unwrap();
    }
    assert!(!warehouse.open().await.schema().lakestream_enabled());
}

#[tokio::test]
async fn each_planted_bug_shows_where_it_is_documented() {
    let with = |defect: Defect| warehouse_with([defect].into_iter().collect::<Defects>());

    let warehouse = with(Defect::RenameUnguarded);
    lake_stream_table(&warehouse).await;
    warehouse.catalog.rename_table(&path(), &elsewhere(), false).await.unwrap();

    let warehouse = with(Defect::ReplaceFallsBackToDropCreate);
    lake_stream_table(&warehouse).await;
    let (replaced, replacement) = (path(), append_schema());
    let replace = |via| warehouse.catalog.replace_table(&replaced, &replacement, via, "op");
    assert_advises(&replace(ReplaceVia::Catalog).await.unwrap_err());
    replace(ReplaceVia::CreateOrReplace).await.unwrap();
    assert_eq!(warehouse.open().await.latest_snapshot().await.unwrap(), None, "the history is gone");

    let warehouse = with(Defect::TruncateLakeOnly);
    lake_stream_table(&warehouse).await;
    warehouse.catalog.truncate_table(&path(), "op").await.unwrap();
    assert_eq!(rows(&warehouse.open().await).await, []);

    let warehouse = with(Defect::RejectionWithoutAdvice);
    lake_stream_table(&warehouse).await;
    let failure = warehouse.catalog.truncate_table(&path(), "op").await.unwrap_err();
    assert!(failure.code == FailureCode::Rejected && !failure.message.contains(LAKESTREAM_ENABLED));
}
