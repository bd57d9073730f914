//! What is written is read back, merged by key.

use models::contract::{Column, FailureCode};
use models::contract::{ColumnChange, DataType, Filter, LAKESTREAM_ENABLED, Row, RowKind, Value};
use models::defects::{Defect, Defects};
use models::paimon::PaimonTable;

use crate::surroundings::*;

fn filter(cells: &[(&str, Value)]) -> Filter {
    cells.iter().map(|(column, value)| ((*column).to_owned(), value.clone())).collect()
}

async fn filtered(table: &PaimonTable, filter: &Filter) -> Vec<Row> {
    table.scan(&latest(table).await, filter).await.unwrap().into_values().flatten().collect()
}

#[tokio::test]
async fn an_appended_row_is_read_back_as_often_as_it_was_appended() {
    let table = warehouse().create(&append_schema()).await;
    assert_eq!(table.latest_snapshot().await.unwrap(), None);
    append(&table, "a", &inserts(&[row(1, "x", "d"), row(2, "y", "d")])).await;
    append(&table, "b", &inserts(&[row(1, "x", "d")])).await;
    assert_eq!(rows(&table).await, [row(1, "x", "d"), row(1, "x", "d"), row(2, "y", "d")]);
    let snapshot = latest(&table).await;
    assert_eq!((snapshot.id, snapshot.total_record_count, snapshot.delta_record_count), (2, 3, 1));
}

#[tokio::test]
async fn the_newest_change_of_a_key_stands_and_a_delete_stays_deleted() {
    let table = warehouse().create(&key_schema()).await;
    append(&table, "a", &inserts(&[row(1, "old", "d"), row(2, "old", "d"), row(3, "old", "d")])).await;
    append(&table, "b", &[(RowKind::UpdateAfter, row(1, "new", "d")), (RowKind::Delete, row(2, "old", "d"))]).await;
    assert_eq!(rows(&table).await, [row(1, "new", "d"), row(3, "old", "d")]);
    append(&table, "c", &inserts(&[row(2, "back", "d")])).await;
    assert_eq!(rows(&table).await, [row(1, "new", "d"), row(2, "back", "d"), row(3, "old", "d")]);
}

#[tokio::test]
async fn of_several_changes_of_a_key_in_one_write_the_last_wins() {
    let table = warehouse().create(&key_schema()).await;
    let changes = [
        (RowKind::Insert, row(1, "first", "d")),
        (RowKind::Delete, row(1, "first", "d")),
        (RowKind::Insert, row(1, "last", "d")),
        (RowKind::Insert, row(2, "gone", "d")),
        (RowKind::Delete, row(2, "gone", "d")),
    ];
    append(&table, "a", &changes).await;
    assert_eq!(rows(&table).await, [row(1, "last", "d")]);
}

#[tokio::test]
async fn an_older_snapshot_stays_readable() {
    let table = warehouse().create(&key_schema()).await;
    append(&table, "a", &inserts(&[row(1, "old", "d")])).await;
    append(&table, "b", &inserts(&[row(1, "new", "d")])).await;
    let first = table.snapshot(1).await.unwrap();
    let read: Vec<Row> = table.scan(&first, &Filter::new()).await.unwrap().into_values().flatten().collect();
    assert_eq!(read, [row(1, "old", "d")]);
    assert_eq!(table.snapshot(3).await.unwrap_err().code, FailureCode::NotFound);
}

#[tokio::test]
async fn a_delta_is_what_one_snapshot_added_in_order() {
    let table = warehouse().create(&key_schema()).await;
    append(&table, "a", &inserts(&[row(1, "old", "d")])).await;
    let changes = [
        (RowKind::Insert, row(9, "nine", "d")),
        (RowKind::UpdateAfter, row(1, "new", "d")),
        (RowKind::Delete, row(5, "five", "d")),
    ];
    append(&table, "b", &changes).await;
    assert_eq!(table.delta(&latest(&table).await).await.unwrap(), by_bucket(&table, &changes));
}

#[tokio::test]
async fn filters_on_any_column_agree_with_the_full_scan() {
    let table = warehouse().create(&with_option(partitioned_schema(), "bucket", "-1")).await;
    append(&table, "a", &inserts(&[row(1, "x", "mon"), row(2, "y", "tue"), row(3, "x", "tue")])).await;
    assert_eq!(filtered(&table, &filter(&[("dt", Value::string("tue"))])).await.len(), 2);
    assert_eq!(filtered(&table, &filter(&[("v", Value::string("x"))])).await.len(), 2);
    let both = filter(&[("dt", Value::string("tue")), ("id", Value::Int(3))]);
    assert_eq!(filtered(&table, &both).await, [row(3, "x", "tue")]);
    assert_eq!(filtered(&table, &filter(&[("dt", Value::Null)])).await, Vec::<Row>::new());
    let unknown = table.scan(&latest(&table).await, &filter(&[("x", Value::Null)])).await.unwrap_err();
    assert_eq!((unknown.code, unknown.definite), (FailureCode::Invalid, true));
}

#[tokio::test]
async fn a_lookup_by_key_finds_the_row_in_its_bucket() {
    let table = warehouse().create(&key_schema()).await;
    let all: Vec<Row> = (0..20).map(|id| row(id, "x", "d")).collect();
    append(&table, "a", &inserts(&all)).await;
    for wanted in &all {
        assert_eq!(filtered(&table, &filter(&[("id", wanted[0].clone())])).await, [wanted.clone()]);
    }
}

#[tokio::test]
async fn a_filter_does_not_bring_back_an_older_value() {
    let table = warehouse().create(&key_schema()).await;
    append(&table, "a", &inserts(&[row(1, "old", "d")])).await;
    append(&table, "b", &inserts(&[row(1, "new", "d")])).await;
    assert_eq!(filtered(&table, &filter(&[("v", Value::string("old"))])).await, Vec::<Row>::new());
}

#[tokio::test]
async fn renamed_and_added_columns_keep_the_rows_of_older_files() {
    let warehouse = warehouse();
    let table = warehouse.create(&key_schema()).await;
    append(&table, "a", &inserts(&[row(1, "x", "d")])).await;
    let added = Column { name: "n".to_owned(), data_type: DataType::Int, nullable: true };
    let changes = [
        ColumnChange::Rename { from: "v".to_owned(), to: "value".to_owned() },
        ColumnChange::Add { column: added, position: Some("first".to_owned()) },
        ColumnChange::Drop("dt".to_owned()),
    ];
    warehouse.catalog.alter_columns(&path(), &changes).await.unwrap();
    let altered = warehouse.open().await;
    assert_eq!(rows(&altered).await, [Row::new(vec![Value::Null, Value::Int(1), Value::string("x")])]);
    // A writer that opened the table before is still welcome: its file says which schema it has.
    append(&table, "b", &inserts(&[row(1, "newer", "d")])).await;
    assert_eq!(rows(&altered).await, [Row::new(vec![Value::Null, Value::Int(1), Value::string("newer")])]);
}

#[tokio::test]
async fn rows_that_do_not_fit_are_refused_and_leave_nothing_visible() {
    let table = warehouse().create(&append_schema()).await;
    let delete = by_bucket(&table, &[(RowKind::Delete, row(1, "x", "d"))]);
    let failure = table.write("a", None, &delete).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true));
    assert_eq!(table.latest_snapshot().await.unwrap(), None);
}

#[tokio::test]
async fn a_stale_absent_or_foolish_hint_does_not_hide_the_newest_snapshot() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    for subject in ["a", "b", "c"] {
        append(&table, subject, &inserts(&[row(1, subject, "d")])).await;
    }
    for hint in ["1", "2", "77", "x", ""] {
        warehouse.lake.objects.put("db.db/t/snapshot/LATEST", hint.into()).await.unwrap();
        assert_eq!(latest(&table).await.id, 3, "hint {hint:?}");
    }
    warehouse.lake.objects.delete("db.db/t/snapshot/LATEST").await.unwrap();
    assert_eq!(latest(&table).await.id, 3);
}

#[tokio::test]
async fn many_commits_are_merged_into_few_manifests() {
    let table = warehouse().create(&key_schema()).await;
    for round in 0..40 {
        append(&table, &format!("round-{round}"), &inserts(&[row(round % 3, &round.to_string(), "d")])).await;
    }
    assert_eq!(rows(&table).await, [row(0, "39", "d"), row(1, "37", "d"), row(2, "38", "d")]);
}

#[tokio::test]
async fn the_identity_is_name_and_creation_time_and_survives_changes() {
    let warehouse = warehouse();
    warehouse.lake.environment.sleep_ms(7).await;
    let table = warehouse.create(&append_schema()).await;
    assert_eq!(table.table_uuid(), "db.t.7");
    warehouse.lake.environment.sleep_ms(5).await;
    let enabled = [(LAKESTREAM_ENABLED.to_owned(), "true".to_owned())].into();
    warehouse.catalog.alter_options(&path(), &enabled, &[]).await.unwrap();
    assert_eq!(warehouse.open().await.table_uuid(), "db.t.7");
}

#[tokio::test]
async fn defect_sequence_restarts_lets_an_older_value_win() {
    let table = warehouse_with([Defect::SequenceRestarts].into_iter().collect::<Defects>()).create(&key_schema()).await;
    append(&table, "a", &inserts(&[row(1, "a", "d"), row(1, "b", "d"), row(1, "old", "d")])).await;
    append(&table, "b", &inserts(&[row(1, "new", "d")])).await;
    assert_eq!(rows(&table).await, [row(1, "old", "d")]);
}
