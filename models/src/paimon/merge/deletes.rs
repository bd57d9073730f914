//! What deletes do to rows that several changes put together, case by case.

use super::*;
use crate::contract::{Column, DataType, TableSchema};

use RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};

/// Columns `id` (the key), `g`, `a` and `b`, all BIGINT.
fn schema(options: &[(&str, &str)]) -> TableSchema {
    let column = |name: &str| Column { name: name.to_owned(), data_type: DataType::BigInt, nullable: name != "id" };
    TableSchema {
        columns: ["id", "g", "a", "b"].map(column).to_vec(),
        primary_key: vec!["id".to_owned()],
        partition_keys: Vec::new(),
        options: options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    }
}

const NONE: Option<i64> = None;

/// What the changes of key 1 become: kind and columns `g`, `a`, `b`.
fn merged(
    options: &[(&str, &str)],
    changes: &[(RowKind, [Option<i64>; 3])],
) -> Result<(RowKind, [Option<i64>; 3]), String> {
    let function = MergeOptions::of(&schema(options)).unwrap().function;
    let change = |(index, (kind, cells)): (usize, &(RowKind, [Option<i64>; 3]))| {
        let cells = std::iter::once(Some(1)).chain(cells.iter().copied());
        let row = Row::new(cells.map(|cell| cell.map_or(Value::Null, Value::Int)).collect());
        KeyValue { sequence: index as i64, kind: *kind, row }
    };
    let changes: Vec<KeyValue> = changes.iter().enumerate().map(change).collect();
    let result = function.merge_all(&changes).map_err(|error| error.to_string())?;
    assert_eq!(result[0].row[0], Value::Int(1), "the key stays");
    Ok((result[0].kind, [1, 2, 3].map(|position| result[0].row[position].as_int())))
}

#[test]
fn partial_update_refuses_deletes_unless_it_is_told_what_to_do() {
    let partial_update = ("merge-engine", "partial-update");
    let changes = [(Insert, [Some(1), Some(1), NONE]), (Delete, [Some(1), NONE, NONE])];
    let error = merged(&[partial_update], &changes).unwrap_err();
    assert!(error.contains("`partial-update.remove-record-on-delete`"), "{error}");
    for name in ["ignore-delete", "partial-update.ignore-delete", "first-row.ignore-delete"] {
        assert_eq!(merged(&[partial_update, (name, "true")], &changes), Ok((Insert, [Some(1), Some(1), None])));
    }
}

#[test]
fn partial_update_removes_the_row_and_starts_again() {
    let options = [("merge-engine", "partial-update"), ("partial-update.remove-record-on-delete", "true")];
    let written = (Insert, [Some(1), Some(1), NONE]);
    let deleted = (Delete, [NONE, NONE, NONE]);
    let again = (UpdateAfter, [NONE, NONE, Some(2)]);
    assert_eq!(merged(&options, &[written, deleted]), Ok((Delete, [None, None, None])));
    assert_eq!(merged(&options, &[written, deleted, again]), Ok((Insert, [None, None, Some(2)])));
    // It starts with the values of the delete, as in Java.
    let deleted_with_values = (Delete, [Some(3), NONE, Some(9)]);
    let changes = [written, deleted_with_values, (Insert, [NONE, Some(4), NONE])];
    assert_eq!(merged(&options, &changes), Ok((Insert, [Some(3), Some(4), Some(9)])));
    assert_eq!(merged(&options, &changes[1..]), Ok((Insert, [Some(3), Some(4), Some(9)])));
    // The row before an update says nothing new.
    let before = (UpdateBefore, [Some(1), NONE, NONE]);
    assert_eq!(merged(&options, &[written, before, again]), Ok((Insert, [Some(1), Some(1), Some(2)])));
}

#[test]
fn a_delete_takes_its_sequence_group_back() {
    let options = [
        ("merge-engine", "partial-update"),
        ("fields.g.sequence-group", "a,b"),
        ("fields.b.aggregate-function", "sum"),
    ];
    let written = (Insert, [Some(5), Some(7), Some(10)]);
    assert_eq!(
        merged(&options, &[written, (Delete, [Some(6), Some(7), Some(4)])]),
        Ok((Insert, [Some(6), None, Some(6)]))
    );
    // A late one leaves the newest values and takes back from the sum.
    assert_eq!(
        merged(&options, &[written, (Delete, [Some(4), Some(7), Some(4)])]),
        Ok((Insert, [Some(5), Some(7), Some(6)]))
    );
    assert_eq!(
        merged(&options, &[written, (Delete, [NONE, Some(7), Some(4)])]),
        Ok((Insert, [Some(5), Some(7), Some(10)]))
    );
    // Nobody wrote the row.
    let deleted = (Delete, [Some(4), Some(7), Some(4)]);
    assert_eq!(merged(&options, &[deleted, deleted]).unwrap().0, Delete);
}

#[test]
fn a_delete_that_is_newest_in_a_chosen_group_removes_the_row() {
    let options = [
        ("merge-engine", "partial-update"),
        ("fields.g.sequence-group", "a"),
        ("partial-update.remove-record-on-sequence-group", "g"),
    ];
    let written = (Insert, [Some(5), Some(7), Some(10)]);
    assert_eq!(merged(&options, &[written, (Delete, [Some(5), NONE, NONE])]), Ok((Delete, [Some(5), None, None])));
    assert_eq!(
        merged(&options, &[written, (Delete, [Some(4), NONE, NONE])]),
        Ok((Insert, [Some(5), Some(7), Some(10)]))
    );
    assert_eq!(
        merged(&options, &[written, (UpdateBefore, [Some(5), NONE, NONE])]),
        Ok((Insert, [Some(5), None, Some(10)]))
    );
}

#[test]
fn aggregation_takes_values_back_or_removes_the_row() {
    let sums = [("merge-engine", "aggregation"), ("fields.default-aggregate-function", "sum")];
    let written = (Insert, [Some(1), Some(5), NONE]);
    let back = |kind| (kind, [Some(1), Some(2), Some(3)]);
    assert_eq!(merged(&sums, &[written, back(UpdateBefore)]), Ok((Insert, [Some(0), Some(3), Some(-3)])));
    let removing = [&sums[..], &[("aggregation.remove-record-on-delete", "true")]].concat();
    assert_eq!(merged(&removing, &[written, back(Delete)]), Ok((Delete, [Some(1), Some(2), Some(3)])));
    // What comes later is added to the values of the delete, as in Java.
    assert_eq!(merged(&removing, &[written, back(Delete), written]), Ok((Insert, [Some(2), Some(7), Some(3)])));
    assert_eq!(merged(&removing, &[written, back(UpdateBefore)]), Ok((Insert, [Some(0), Some(3), Some(-3)])));
    let minima = [("merge-engine", "aggregation"), ("fields.a.aggregate-function", "min")];
    assert!(merged(&minima, &[written, back(Delete)]).unwrap_err().contains("min of column `a`"));
}

#[test]
fn first_row_refuses_deletes_or_passes_them_over() {
    let changes = [(Delete, [NONE; 3]), (Insert, [Some(1); 3]), (Insert, [Some(2); 3])];
    let first_row = ("merge-engine", "first-row");
    assert!(merged(&[first_row], &changes).unwrap_err().contains("`ignore-delete`"));
    assert_eq!(merged(&[first_row, ("ignore-delete", "true")], &changes), Ok((Insert, [Some(1); 3])));
}

#[test]
fn a_writer_learns_beforehand_which_changes_cannot_be_merged() {
    let check = |options: &[(&str, &str)], kind| MergeOptions::of(&schema(options)).unwrap().function.check_kind(kind);
    let partial_update = ("merge-engine", "partial-update");
    let minima = [("merge-engine", "aggregation"), ("fields.a.aggregate-function", "min")];
    for options in [&[("merge-engine", "first-row")][..], &[partial_update], &minima] {
        assert_eq!(check(options, UpdateAfter), Ok(()));
        assert!(check(options, Delete).is_err() && check(options, UpdateBefore).is_err(), "{options:?}");
    }
    let removing = [&minima[..], &[("aggregation.remove-record-on-delete", "true")]].concat();
    assert!(check(&removing, Delete).is_ok() && check(&removing, UpdateBefore).is_err());
    for options in [&[][..], &[partial_update, ("fields.g.sequence-group", "a")]] {
        assert_eq!(check(options, Delete), Ok(()));
    }
}
