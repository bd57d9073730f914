//! Rows of older files under a newer schema, and tables whose buckets are not hashed.

use models::contract::{DataType, FailureCode, FieldType, Filter, Row, RowKind, Value};
use models::paimon::{ColumnPosition, SchemaChange};

use crate::surroundings::*;

fn retype(column: &str, data_type: DataType) -> SchemaChange {
    let field_type = FieldType { data_type, nullable: true };
    SchemaChange::UpdateColumnType { path: vec![column.to_owned()], field_type, keep_nullability: true }
}

fn first(column: &str) -> SchemaChange {
    SchemaChange::UpdateColumnPosition { column: column.to_owned(), position: ColumnPosition::First }
}

#[tokio::test]
async fn older_rows_are_cast_moved_and_filtered_as_their_columns_are_now() {
    for schema in [append_schema(), key_schema()] {
        let warehouse = warehouse();
        let table = warehouse.create(&schema).await;
        append(&table, "a", &inserts(&[row(1, "10", "d"), row(2, "-7", "d")])).await;
        warehouse.catalog.alter_table(&path(), &[retype("v", DataType::Int), first("v")]).await.unwrap();
        let altered = warehouse.open().await;
        let numbered = |number: i64, id: i64| Row::new(vec![Value::Int(number), Value::Int(id), Value::string("d")]);
        append(&altered, "b", &inserts(&[numbered(5, 3)])).await;
        assert_eq!(rows(&altered).await, [numbered(-7, 2), numbered(5, 3), numbered(10, 1)]);
        let wanted: Filter = [("v".to_owned(), Value::Int(10))].into();
        let found = altered.scan(&latest(&altered).await, &wanted).await.unwrap();
        assert_eq!(found.into_values().flatten().collect::<Vec<_>>(), [numbered(10, 1)]);
    }
}

#[tokio::test]
async fn text_that_is_no_number_is_an_error_that_names_file_and_column() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    append(&table, "a", &inserts(&[row(1, "many", "d")])).await;
    warehouse.catalog.alter_table(&path(), &[retype("v", DataType::Int)]).await.unwrap();
    let altered = warehouse.open().await;
    let failure = altered.scan(&latest(&altered).await, &Filter::new()).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::Internal);
    assert!(failure.message.contains("db.db/t/bucket-0/data-") && failure.message.contains("many"), "{failure}");
}

#[tokio::test]
async fn a_change_that_changes_nothing_makes_no_schema() {
    let warehouse = warehouse();
    warehouse.create(&with_option(append_schema(), "write-only", "true")).await;
    let again = SchemaChange::SetOption { key: "write-only".to_owned(), value: "true".to_owned() };
    warehouse.catalog.alter_table(&path(), &[again]).await.unwrap();
    assert_eq!(warehouse.open().await.schema_id(), 0);
}

#[tokio::test]
async fn modulo_buckets_are_found_by_their_key() {
    let options = [("bucket", "3"), ("bucket-key", "id"), ("bucket-function.type", "mod")];
    let schema = options.iter().fold(append_schema(), |schema, (key, value)| with_option(schema, key, value));
    let warehouse = warehouse();
    let table = warehouse.create(&schema).await;
    let all: Vec<Row> = [-3, -1, 0, 4].into_iter().map(|id| row(id, "x", "d")).collect();
    append(&table, "a", &inserts(&all)).await;
    assert_eq!(all.iter().map(|row| table.bucket_of(row).bucket).collect::<Vec<_>>(), [0, 2, 0, 1]);
    for wanted in &all {
        let filter: Filter = [("id".to_owned(), wanted[0].clone())].into();
        let found = table.scan(&latest(&table).await, &filter).await.unwrap();
        assert_eq!(found.into_values().flatten().collect::<Vec<_>>(), std::slice::from_ref(wanted));
    }
    assert_eq!(models::paimon::verify(&*warehouse.lake.objects, &path()).await.findings, []);
}

#[tokio::test]
async fn tables_whose_buckets_only_others_fill_are_not_written() {
    for bucket in ["-1", "-2"] {
        let warehouse = warehouse();
        let table = warehouse.create(&with_option(key_schema(), "bucket", bucket)).await;
        let changes = by_bucket(&table, &[(RowKind::Insert, row(1, "x", "d"))]);
        let failure = table.write("a", None, &changes).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Unsupported, true), "{failure}");
    }
}

#[tokio::test]
async fn thin_files_leave_the_keys_copy_out_and_are_read_alike() {
    let sizes = [false, true].map(async |thin| {
        let warehouse = warehouse();
        let table = warehouse.create(&with_option(key_schema(), "data-file.thin-mode", &thin.to_string())).await;
        let all: Vec<Row> = (0..50).map(|id| row(id, "x", "d")).collect();
        append(&table, "a", &inserts(&all)).await;
        assert_eq!(rows(&table).await, all);
        assert_eq!(models::paimon::verify(&*warehouse.lake.objects, &path()).await.findings, []);
        let files = warehouse.storage.memory.snapshot_all();
        files.iter().filter(|(path, _)| path.contains("/bucket-")).map(|(_, bytes)| bytes.len()).sum::<usize>()
    });
    let [thick, thin] = sizes;
    assert!(thin.await < thick.await);
}
