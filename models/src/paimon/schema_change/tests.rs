use super::*;
use crate::contract::{Column, TableSchema};

/// `id BIGINT, v STRING, dt DATE, point ROW<x INT, label STRING>, list ARRAY<ROW<a INT>>, names MAP<STRING, INT>` with
/// the primary key `id, dt`, partitioned by `dt`.
fn table(options: &[(&str, &str)]) -> SchemaFile {
    let columns = [
        ("id", "BIGINT"),
        ("v", "STRING"),
        ("dt", "DATE"),
        ("point", "ROW<x INT, label STRING>"),
        ("list", "ARRAY<ROW<a INT>>"),
        ("names", "MAP<STRING, INT>"),
    ];
    let column = |(name, data_type): (&str, &str)| Column {
        name: name.to_owned(),
        data_type: data_type.parse().unwrap(),
        nullable: true,
    };
    let options = [("bucket", "1")].iter().chain(options).map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let schema = TableSchema {
        columns: columns.map(column).to_vec(),
        primary_key: vec!["id".to_owned(), "dt".to_owned()],
        partition_keys: vec!["dt".to_owned()],
        options: options.collect(),
    };
    SchemaFile::first(&schema, 0)
}

fn path(text: &str) -> Vec<String> {
    text.split('.').map(str::to_owned).collect()
}

fn field_type(text: &str) -> FieldType {
    match text.strip_suffix(" NOT NULL") {
        Some(data_type) => FieldType { data_type: data_type.parse().unwrap(), nullable: false },
        None => FieldType { data_type: text.parse().unwrap(), nullable: true },
    }
}

fn add(at: &str, data_type: &str, position: Option<ColumnPosition>) -> SchemaChange {
    SchemaChange::AddColumn { path: path(at), field_type: field_type(data_type), comment: None, position }
}

fn rename(at: &str, to: &str) -> SchemaChange {
    SchemaChange::RenameColumn { path: path(at), to: to.to_owned() }
}

fn drop(at: &str) -> SchemaChange {
    SchemaChange::DropColumn { path: path(at) }
}

fn retype(at: &str, data_type: &str) -> SchemaChange {
    SchemaChange::UpdateColumnType { path: path(at), field_type: field_type(data_type), keep_nullability: false }
}

fn nullability(at: &str, nullable: bool) -> SchemaChange {
    SchemaChange::UpdateColumnNullability { path: path(at), nullable }
}

fn default_value(at: &str, value: &str) -> SchemaChange {
    SchemaChange::UpdateColumnDefaultValue { path: path(at), default_value: Some(value.to_owned()) }
}

fn shift(column: &str, position: ColumnPosition) -> SchemaChange {
    SchemaChange::UpdateColumnPosition { column: column.to_owned(), position }
}

fn after(column: &str) -> ColumnPosition {
    ColumnPosition::After(column.to_owned())
}

fn before(column: &str) -> ColumnPosition {
    ColumnPosition::Before(column.to_owned())
}

/// The columns after the changes, as `name TYPE`.
fn columns(options: &[(&str, &str)], changes: &[SchemaChange]) -> Vec<String> {
    let changed = apply_changes(&table(options), changes, true).unwrap();
    changed.fields.iter().map(|field| format!("{} {}", field.name, field.field_type)).collect()
}

fn order(options: &[(&str, &str)], changes: &[SchemaChange]) -> String {
    let changed = apply_changes(&table(options), changes, true).unwrap();
    changed.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn columns_are_added_where_they_are_wanted() {
    for (position, expected) in [
        (None, "id v dt point list names new"),
        (Some(ColumnPosition::First), "new id v dt point list names"),
        (Some(ColumnPosition::Last), "id v dt point list names new"),
        (Some(ColumnPosition::At(2)), "id v new dt point list names"),
        (Some(after("v")), "id v new dt point list names"),
        (Some(before("v")), "id new v dt point list names"),
    ] {
        assert_eq!(order(&[], &[add("new", "INT", position)]), expected);
    }
    let before_partition = [("add-column-before-partition", "true")];
    assert_eq!(order(&before_partition, &[add("new", "INT", None)]), "id v new dt point list names");
}

#[test]
fn columns_move_beside_others() {
    for (column, position, expected) in [
        ("v", ColumnPosition::First, "v id dt point list names"),
        ("v", ColumnPosition::Last, "id dt point list names v"),
        ("v", after("point"), "id dt point v list names"),
        ("point", after("id"), "id point v dt list names"),
        ("v", before("names"), "id dt point list v names"),
        ("names", before("v"), "id names v dt point list"),
    ] {
        assert_eq!(order(&[], &[shift(column, position)]), expected);
    }
}

#[test]
fn new_fields_have_ids_that_no_field_ever_had() {
    let changes = [add("point.z", "ROW<deep INT>", None), drop("v"), add("v", "STRING", None)];
    let changed = apply_changes(&table(&[]), &changes, true).unwrap();
    assert_eq!(table(&[]).highest_field_id, 8);
    let DataType::Row(point) = &changed.fields[2].field_type.data_type else { panic!("{changed:?}") };
    let DataType::Row(deep) = &point[2].field_type.data_type else { panic!("{changed:?}") };
    assert_eq!((point[2].id, deep[0].id), (9, 10));
    assert_eq!((changed.fields[5].name.as_str(), changed.fields[5].id, changed.highest_field_id), ("v", 11, 11));
}

#[test]
fn fields_within_columns_change_like_columns() {
    for (change, expected) in [
        (add("point.z", "INT", Some(ColumnPosition::First)), "point ROW<`z` INT, `x` INT, `label` STRING>"),
        (rename("point.label", "name"), "point ROW<`x` INT, `name` STRING>"),
        (drop("point.label"), "point ROW<`x` INT>"),
        (retype("point.x", "BIGINT"), "point ROW<`x` BIGINT, `label` STRING>"),
        (add("list.element.b", "DATE", None), "list ARRAY<ROW<`a` INT, `b` DATE>>"),
        (retype("list.element.a", "STRING"), "list ARRAY<ROW<`a` STRING>>"),
        (retype("names.value", "BIGINT"), "names MAP<STRING, BIGINT>"),
    ] {
        let columns = columns(&[], std::slice::from_ref(&change));
        assert!(columns.contains(&expected.to_owned()), "{change:?}: {columns:?}");
    }
}

#[test]
fn types_and_nullability_change_as_far_as_values_allow() {
    let changed = columns(
        &[("alter-column-null-to-not-null.disabled", "false")],
        &[nullability("v", false), nullability("point", false), nullability("point", true), retype("v", "INT")],
    );
    assert_eq!(changed[1], "v INT");
    let kept =
        SchemaChange::UpdateColumnType { path: path("id"), field_type: field_type("INT"), keep_nullability: true };
    assert!(apply_changes(&table(&[]), &[kept], false).is_err());
}

#[test]
fn keys_and_options_follow_a_rename() {
    let options = [("sequence.field", "v"), ("fields.v.ignore-retract", "true"), ("bucket-key", "id")];
    let changed = apply_changes(&table(&options), &[rename("id", "key"), rename("v", "w")], true).unwrap();
    assert_eq!(changed.primary_keys, ["key", "dt"]);
    assert_eq!((changed.fields[0].id, changed.fields[0].name.as_str()), (0, "key"));
    let options: Vec<(&str, &str)> = changed.options.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(
        options,
        [("bucket", "1"), ("bucket-key", "key"), ("fields.w.ignore-retract", "true"), ("sequence.field", "w")]
    );
}

#[test]
fn comments_defaults_and_options_are_set_and_removed() {
    let comment = |comment: Option<&str>| SchemaChange::UpdateColumnComment {
        path: path("v"),
        comment: comment.map(str::to_owned),
    };
    let set = SchemaChange::SetOption { key: "write-only".to_owned(), value: "true".to_owned() };
    let about = SchemaChange::UpdateComment { comment: Some("a table".to_owned()) };
    let changes = [comment(Some("a value")), default_value("v", "x"), set, about];
    let changed = apply_changes(&table(&[]), &changes, true).unwrap();
    assert_eq!(changed.fields[1].description.as_deref(), Some("a value"));
    assert_eq!(changed.fields[1].default_value.as_deref(), Some("x"));
    assert_eq!(changed.options["write-only"], "true");
    assert_eq!(changed.comment.as_deref(), Some("a table"));
    let removed = SchemaChange::UpdateColumnDefaultValue { path: path("v"), default_value: None };
    let unset = SchemaChange::RemoveOption { key: "write-only".to_owned() };
    let undone = SchemaChange::UpdateComment { comment: None };
    assert_eq!(apply_changes(&changed, &[comment(None), removed, unset, undone], true), Ok(table(&[])));
}

#[test]
fn a_primary_key_goes_only_before_there_are_rows() {
    assert_eq!(apply_changes(&table(&[]), &[SchemaChange::DropPrimaryKey], false).unwrap().primary_keys, [""; 0]);
    assert!(apply_changes(&table(&[]), &[SchemaChange::DropPrimaryKey], true).is_err());
}

#[test]
fn what_rows_or_files_would_not_survive_is_refused_in_one_sentence() {
    let only_column = [drop("v"), drop("point"), drop("list"), drop("names")];
    assert_eq!(order(&[], &only_column), "id dt");
    for (change, expected) in [
        (add("w", "INT NOT NULL", None), "to be nullable"),
        (add("v", "INT", None), "`v` exists"),
        (add("_KEY_v", "INT", None), "does not reserve"),
        (add("point.x", "INT", None), "`x` exists"),
        (add("v.w", "INT", None), "a type with fields"),
        (add("gone.w", "INT", None), "found `gone`"),
        (add("list.a", "INT", None), "a type with fields"),
        (add("w", "INT", Some(after("gone"))), "found `gone`"),
        (add("w", "INT", Some(ColumnPosition::At(9))), "0 to 6"),
        (rename("dt", "day"), "partition column `dt`"),
        (rename("v", "id"), "`id` exists"),
        (rename("gone", "w"), "found `gone`"),
        (drop("id"), "cannot be dropped"),
        (drop("dt"), "cannot be dropped"),
        (drop("list.element.a"), "the last one"),
        (drop("gone"), "found `gone`"),
        (retype("dt", "STRING"), "partition column `dt`"),
        (retype("id", "STRING"), "primary-key column `id`"),
        (retype("v", "ARRAY<INT>"), "can be cast to, found ARRAY<INT>"),
        (retype("point", "ROW<x INT>"), "can be cast to"),
        (retype("v", "STRING NOT NULL"), "alter-column-null-to-not-null.disabled"),
        (retype("names.key", "BIGINT"), "a type with fields"),
        (nullability("id", true), "NOT NULL"),
        (nullability("v", false), "alter-column-null-to-not-null.disabled"),
        (default_value("dt", "someday"), "someday"),
        (default_value("point", "x"), "a default value of type ROW"),
        (default_value("point.x", "1"), "a column of the table for a default value"),
        (shift("v", after("v")), "found its own"),
        (shift("id", ColumnPosition::First), "found its own"),
        (shift("names", ColumnPosition::Last), "found its own"),
        (shift("gone", ColumnPosition::First), "found `gone`"),
        (SchemaChange::DropColumn { path: Vec::new() }, "an empty one"),
        (SchemaChange::SetOption { key: "merge-engine".to_owned(), value: "x".to_owned() }, "merge-engine"),
    ] {
        let failure = apply_changes(&table(&[]), std::slice::from_ref(&change), true).unwrap_err();
        assert!(failure.definite && failure.message.contains(expected), "expected {expected:?}, found {failure}");
        assert!(!failure.message.contains('\n'));
    }
    let strict = table(&[("disable-explicit-type-casting", "true")]);
    assert!(apply_changes(&strict, &[retype("v", "INT")], true).is_err());
    assert!(apply_changes(&strict, &[retype("point.x", "BIGINT")], true).is_ok());
}

#[test]
fn a_statement_says_its_position_in_words_or_as_a_number() {
    let column = Column { name: "w".to_owned(), data_type: DataType::Int, nullable: true };
    let parsed = |position: &str| {
        SchemaChange::try_from(&ColumnChange::Add { column: column.clone(), position: Some(position.to_owned()) })
    };
    assert_eq!(parsed("first"), Ok(add("w", "INT", Some(ColumnPosition::First))));
    assert_eq!(parsed("3"), Ok(add("w", "INT", Some(ColumnPosition::At(3)))));
    assert!(parsed("somewhere").unwrap_err().message.contains("somewhere"));
}
