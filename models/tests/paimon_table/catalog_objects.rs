//! The catalog beyond single tables: databases, views, names, partitions.

use std::collections::BTreeMap;

use models::contract::{Failure, FailureCode, FieldType, ReplaceVia, TablePath, Value};
use models::paimon::catalog::{DEFAULT_DATABASE, SYSTEM_DATABASE};
use models::paimon::{DataField, SchemaChange, View};

use crate::surroundings::*;

fn code(result: Result<impl std::fmt::Debug, Failure>) -> FailureCode {
    let failure = result.unwrap_err();
    assert!(failure.definite, "{failure}");
    failure.code
}

fn view() -> View {
    let field_type = FieldType { data_type: "INT".parse().unwrap(), nullable: true };
    let field = DataField { id: 0, name: "n".to_owned(), field_type, description: None, default_value: None };
    View {
        fields: vec![field],
        query: "SELECT 1 AS n".to_owned(),
        dialects: BTreeMap::from([("spark".to_owned(), "SELECT 1L AS n".to_owned())]),
        comment: None,
        options: BTreeMap::new(),
    }
}

#[tokio::test]
async fn a_database_is_there_from_its_creation_to_its_drop() {
    let catalog = warehouse().catalog;
    assert_eq!(catalog.list_databases().await.unwrap(), [DEFAULT_DATABASE]);
    catalog.create_database("db", false).await.unwrap();
    catalog.create_database("db", true).await.unwrap();
    assert_eq!(code(catalog.create_database("db", false).await), FailureCode::AlreadyExists);
    assert_eq!(catalog.list_databases().await.unwrap(), ["db", DEFAULT_DATABASE]);
    assert_eq!(catalog.list_tables("db").await.unwrap(), [""; 0]);
    catalog.drop_database("db", false, false).await.unwrap();
    assert_eq!(code(catalog.drop_database("db", false, false).await), FailureCode::NotFound);
    catalog.drop_database("db", true, false).await.unwrap();
    assert_eq!(code(catalog.list_tables("db").await), FailureCode::NotFound);
}

#[tokio::test]
async fn only_cascade_drops_what_a_database_holds() {
    let warehouse = warehouse();
    warehouse.create(&append_schema()).await;
    warehouse.catalog.create_view(&TablePath::new("db", "v"), &view(), false).await.unwrap();
    assert_eq!(warehouse.catalog.list_tables("db").await.unwrap(), ["t"]);
    let failure = warehouse.catalog.drop_database("db", false, false).await.unwrap_err();
    assert!(failure.code == FailureCode::Invalid && failure.message.contains("cascade"), "{failure}");
    warehouse.catalog.drop_database("db", false, true).await.unwrap();
    assert_eq!(warehouse.storage.memory.snapshot_all(), BTreeMap::new());
    assert_eq!(code(warehouse.catalog.table(&path()).await.map(|_| ())), FailureCode::NotFound);
}

#[tokio::test]
async fn names_that_no_directory_can_have_are_refused() {
    let catalog = warehouse().catalog;
    for name in [SYSTEM_DATABASE, "", ".hidden", "a/b", "a$b"] {
        assert_eq!(code(catalog.create_database(name, true).await), FailureCode::Invalid, "{name}");
        assert_eq!(code(catalog.drop_database(name, true, true).await), FailureCode::Invalid, "{name}");
    }
    assert_eq!(code(catalog.create_view(&TablePath::new("db", "a/b"), &view(), false).await), FailureCode::Invalid);
}

#[tokio::test]
async fn nothing_is_created_altered_or_dropped_through_a_system_table_or_a_branch() {
    let warehouse = warehouse();
    warehouse.create(&append_schema()).await;
    let before = warehouse.storage.memory.snapshot_all();
    let catalog = &warehouse.catalog;
    for name in ["t$snapshots", "t$branch_b", "t$branch_b$files", "t$rt", "$t"] {
        let named = TablePath::new("db", name);
        assert_eq!(code(catalog.create_table(&named, &append_schema(), true).await), FailureCode::Invalid, "{name}");
        assert_eq!(code(catalog.drop_table(&named, true).await), FailureCode::Invalid, "{name}");
        assert_eq!(code(catalog.rename_table(&named, &path(), true).await), FailureCode::Invalid, "{name}");
        assert_eq!(code(catalog.rename_table(&path(), &named, true).await), FailureCode::Invalid, "{name}");
        assert_eq!(code(catalog.truncate_table(&named, "op").await), FailureCode::Invalid, "{name}");
        assert_eq!(code(catalog.alter_table(&named, &[SchemaChange::DropPrimaryKey]).await), FailureCode::Invalid);
        let replaced = catalog.replace_table(&named, &append_schema(), ReplaceVia::Catalog, "op").await;
        assert_eq!(code(replaced), FailureCode::Invalid, "{name}");
    }
    assert_eq!(warehouse.storage.memory.snapshot_all(), before);
}

#[tokio::test]
async fn a_view_is_found_under_its_whole_name_until_it_is_dropped() {
    let warehouse = warehouse();
    let catalog = &warehouse.catalog;
    // C18: `$rt` at the end of a view's name is a part of it.
    let (named, renamed) = (TablePath::new("db", "x$rt"), TablePath::new("db", "y"));
    catalog.create_view(&named, &view(), false).await.unwrap();
    catalog.create_view(&named, &view(), true).await.unwrap();
    assert_eq!(code(catalog.create_view(&named, &view(), false).await), FailureCode::AlreadyExists);
    assert_eq!(catalog.view(&named).await.unwrap(), view());
    let changed = View { query: "SELECT 2 AS n".to_owned(), ..view() };
    catalog.alter_view(&named, &changed).await.unwrap();
    catalog.rename_view(&named, &renamed, false).await.unwrap();
    assert_eq!(catalog.view(&renamed).await.unwrap(), changed);
    assert_eq!(catalog.list_views("db").await.unwrap(), ["y"]);
    assert_eq!(catalog.list_tables("db").await.unwrap(), [""; 0]);
    catalog.drop_view(&renamed, false).await.unwrap();
    catalog.drop_view(&renamed, true).await.unwrap();
    assert_eq!(code(catalog.drop_view(&renamed, false).await), FailureCode::NotFound);
    assert_eq!(code(catalog.alter_view(&renamed, &view()).await), FailureCode::NotFound);
}

#[tokio::test]
async fn a_view_does_not_take_a_tables_name_and_a_changed_byte_is_noticed() {
    let warehouse = warehouse();
    warehouse.create(&append_schema()).await;
    assert_eq!(code(warehouse.catalog.create_view(&path(), &view(), true).await), FailureCode::AlreadyExists);
    let named = TablePath::new("db", "v");
    warehouse.catalog.create_view(&named, &view(), false).await.unwrap();
    assert!(warehouse.storage.memory.corrupt("db.db/.views/v.json", 100));
    assert_eq!(warehouse.catalog.view(&named).await.unwrap_err().code, FailureCode::Internal);
    warehouse.catalog.drop_view(&named, false).await.unwrap();
}

#[tokio::test]
async fn dropped_partitions_take_their_rows_and_no_others() {
    let warehouse = warehouse();
    let table = warehouse.create(&partitioned_schema()).await;
    append(&table, "a", &inserts(&[row(1, "x", "d1"), row(2, "y", "d2"), row(3, "z", "d3")])).await;
    let partition = |dt: &str| BTreeMap::from([("dt".to_owned(), Value::string(dt))]);
    warehouse.catalog.drop_partitions(&path(), &[partition("d1"), partition("d3")], "op").await.unwrap();
    assert_eq!(rows(&table).await, [row(2, "y", "d2")]);
    warehouse.catalog.drop_partitions(&path(), &[partition("unknown")], "op-2").await.unwrap();
    assert_eq!(rows(&table).await, [row(2, "y", "d2")]);
    for wrong in [BTreeMap::new(), BTreeMap::from([("id".to_owned(), Value::Int(1))])] {
        assert_eq!(code(warehouse.catalog.drop_partitions(&path(), &[wrong], "op-3").await), FailureCode::Invalid);
    }
}

#[tokio::test]
async fn the_options_of_all_tables_can_be_listed() {
    let warehouse = warehouse();
    warehouse.create(&key_schema()).await;
    warehouse.catalog.create_table(&TablePath::new("other", "t"), &append_schema(), false).await.unwrap();
    let options = warehouse.catalog.list_table_options().await.unwrap();
    assert_eq!(options[&path()], key_schema().options);
    assert_eq!(options.keys().map(ToString::to_string).collect::<Vec<_>>(), ["db.t", "other.t"]);
}

#[tokio::test]
async fn files_are_named_and_placed_as_the_options_say_and_still_sealed() {
    let options =
        [("data-file.prefix", "rows-"), ("data-file.path-directory", "files"), ("partition.default-name", "nothing")];
    let schema = options.iter().fold(partitioned_schema(), |schema, (key, value)| with_option(schema, key, value));
    let warehouse = warehouse();
    let table = warehouse.create(&schema).await;
    append(&table, "a", &inserts(&[row(1, "x", " ")])).await;
    let files = warehouse.lake.objects.list("db.db/t/files").await.unwrap();
    let [file] = files.as_slice() else { panic!("expected one file, found {files:?}") };
    assert!(file.starts_with("db.db/t/files/dt=nothing/bucket-0/rows-"), "{file}");
    assert_eq!(rows(&table).await, [row(1, "x", " ")]);
    assert_eq!(models::paimon::verify(&*warehouse.lake.objects, &path()).await.findings, []);
    assert!(warehouse.storage.memory.corrupt(file, 40));
    let latest = latest(&table).await;
    let failure = table.scan(&latest, &BTreeMap::new()).await.unwrap_err();
    assert!(failure.message.contains("seal"), "{failure}");
}
