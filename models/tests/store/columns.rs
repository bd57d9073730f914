//! Columns that are added to a store's table: rows of every version are read in the newest (C20).

use models::contract::{Column, DataType, FailureCode, Host, Row, RowKind, Store, Value};

use crate::fixture::{SYNC_MS, ack, batch, bucket, cut_after, key, key_table, log, path, put, store};

fn column(name: &str) -> Column {
    Column { name: name.to_owned(), data_type: DataType::Int, nullable: true }
}

fn wide(id: i64, v: i64, w: Value) -> Row {
    Row::new(vec![Value::Int(id), Value::Int(v), w])
}

#[tokio::test(start_paused = true)]
async fn rows_from_before_have_null_and_writers_from_before_are_understood() {
    let store = store();
    let table = key_table(&store).await;
    store.append(batch(table, 0, &[put(1, 10)])).await.unwrap();
    store.add_columns(&path(), &[column("w")]).await.unwrap();
    assert_eq!(store.lookup(table, &bucket(), &key(1)).await, Ok(Some(wide(1, 10, Value::Null))));
    assert_eq!(store.append(batch(table, 1, &[put(1, 10)])).await, ack(2), "the old row, from an old writer");
    let newer = models::contract::Mutation::Put(wide(1, 10, Value::Int(5)));
    store.append(batch(table, 2, &[newer])).await.unwrap();
    let expected = [
        (0, RowKind::Insert, wide(1, 10, Value::Null)),
        (2, RowKind::UpdateBefore, wide(1, 10, Value::Null)),
        (3, RowKind::UpdateAfter, wide(1, 10, Value::Int(5))),
    ];
    assert_eq!(log(&store, table).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_not_durable_yet_is_widened_too_and_a_crash_still_takes_it() {
    let store = store();
    let table = key_table(&store).await;
    cut_after(SYNC_MS - 1, store.append(batch(table, 0, &[put(1, 10)]))).await;
    store.add_columns(&path(), &[column("w")]).await.unwrap();
    store.crash();
    assert_eq!(log(&store, table).await, []);
    store.append(batch(table, 0, &[put(1, 10)])).await.unwrap();
    assert_eq!(log(&store, table).await, [(0, RowKind::Insert, wide(1, 10, Value::Null))]);
}

#[tokio::test(start_paused = true)]
async fn repeating_an_addition_changes_nothing_and_another_column_of_that_name_is_invalid() {
    let store = store();
    key_table(&store).await;
    store.add_columns(&path(), &[column("w")]).await.unwrap();
    store.add_columns(&path(), &[column("w")]).await.unwrap();
    assert_eq!(store.table(&path()).await.unwrap().schema.columns.len(), 3);
    let other = Column { data_type: DataType::STRING, ..column("w") };
    assert_eq!(store.add_columns(&path(), &[other]).await.unwrap_err().code, FailureCode::Invalid);
    let not_null = Column { nullable: false, ..column("x") };
    assert_eq!(store.add_columns(&path(), &[not_null]).await.unwrap_err().code, FailureCode::Rejected);
}
