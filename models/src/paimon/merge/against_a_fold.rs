//! Every merge engine against a naive fold over the changes of each key, however the changes are split into batches,
//! in which order their files are read, and which of the files were compacted before.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::contract::{Column, DataType, TableSchema};

/// Columns `id`, `s`, `a`, `b`, `t` and `f`; `id` is the key.
fn function(options: &[(&str, &str)]) -> MergeFunction {
    let column = |name: &str, data_type| Column { name: name.to_owned(), data_type, nullable: name != "id" };
    let schema = TableSchema {
        columns: vec![
            column("id", DataType::BigInt),
            column("s", DataType::Int),
            column("a", DataType::BigInt),
            column("b", DataType::BigInt),
            column("t", DataType::STRING),
            column("f", DataType::Boolean),
        ],
        primary_key: vec!["id".to_owned()],
        partition_keys: Vec::new(),
        options: options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    };
    MergeOptions::of(&schema).unwrap().function
}

/// Changes of three keys, numbered in their order.
fn changes() -> impl Strategy<Value = Vec<KeyValue>> {
    let small = |most: i64| prop::option::weighted(0.7, -2..most);
    let cells = (0..3_i64, small(4), small(9), small(9), prop::option::of("[xyz]{0,2}"), any::<Option<bool>>());
    type Cells = (i64, Option<i64>, Option<i64>, Option<i64>, Option<String>, Option<bool>);
    let kind = prop_oneof![
        3 => Just(RowKind::Insert),
        2 => Just(RowKind::UpdateAfter),
        1 => Just(RowKind::UpdateBefore),
        1 => Just(RowKind::Delete),
    ];
    prop::collection::vec((cells, kind), 0..14).prop_map(|changes| {
        let number = |(index, ((id, s, a, b, t, f), kind)): (usize, (Cells, RowKind))| {
            let int = |number: Option<i64>| number.map_or(Value::Null, Value::Int);
            let text = |text: Option<String>| text.map_or(Value::Null, |text| Value::string(&text));
            let cells = vec![Value::Int(id), int(s), int(a), int(b), text(t), f.map_or(Value::Null, Value::Boolean)];
            KeyValue { sequence: index as i64, kind, row: Row::new(cells) }
        };
        changes.into_iter().enumerate().map(number).collect()
    })
}

/// How changes become files: after which changes a batch ends, which neighbouring files are compacted, and the order
/// in which the rest is read.
#[derive(Clone, Debug)]
struct Split {
    batch_ends: Vec<bool>,
    compacted: Vec<bool>,
    reading_order: Vec<u8>,
}

fn splits() -> impl Strategy<Value = Split> {
    let bools = || prop::collection::vec(any::<bool>(), 14);
    (bools(), bools(), prop::collection::vec(any::<u8>(), 14))
        .prop_map(|(batch_ends, compacted, reading_order)| Split { batch_ends, compacted, reading_order })
}

/// Joins neighbours for which there is `true`.
fn joined(files: Vec<Vec<KeyValue>>, joins: impl Iterator<Item = bool>) -> Vec<Vec<KeyValue>> {
    let mut result: Vec<Vec<KeyValue>> = Vec::new();
    for (file, join) in files.into_iter().zip(joins) {
        match result.last_mut() {
            Some(last) if join => last.extend(file),
            _ => result.push(file),
        }
    }
    result
}

/// The rows that a reader sees.
fn read(function: &MergeFunction, changes: &[KeyValue], split: &Split) -> Vec<Row> {
    let merge = |file: Vec<KeyValue>| function.merge_all(&file).unwrap();
    let single = changes.iter().map(|change| vec![change.clone()]).collect();
    let written: Vec<_> = joined(single, split.batch_ends.iter().map(|end| !end)).into_iter().map(merge).collect();
    let compacted = joined(written, split.compacted.iter().copied()).into_iter().map(merge);
    let mut files: Vec<(u8, Vec<KeyValue>)> = split.reading_order.iter().copied().zip(compacted).collect();
    files.sort_by_key(|(place, _)| *place);
    let all: Vec<KeyValue> = files.into_iter().flat_map(|(_, file)| file).collect();
    function.merge_all(&all).unwrap().into_iter().filter(|change| change.kind.adds()).map(|change| change.row).collect()
}

/// The rows that a fold over the changes of each key makes. One change alone is what it is.
fn folded(changes: &[KeyValue], fold: impl Fn(&[&KeyValue]) -> Option<Row>) -> Vec<Row> {
    let mut keys: BTreeMap<&Value, Vec<&KeyValue>> = BTreeMap::new();
    for change in changes {
        keys.entry(&change.row[0]).or_default().push(change);
    }
    let row_of = |changes: Vec<&KeyValue>| match changes.as_slice() {
        [only] => only.kind.adds().then(|| only.row.clone()),
        _ => fold(&changes),
    };
    keys.into_values().filter_map(row_of).collect()
}

fn only_adds(changes: &[KeyValue]) -> Vec<KeyValue> {
    changes.iter().filter(|change| change.kind.adds()).cloned().collect()
}

fn last(changes: &[&KeyValue]) -> Option<Row> {
    changes.last().filter(|change| change.kind.adds()).map(|change| change.row.clone())
}

/// The last value of a column that is not NULL.
fn last_value<'a>(changes: impl DoubleEndedIterator<Item = &'a &'a KeyValue>, position: usize) -> Value {
    let values = changes.map(|change| &change.row[position]);
    values.rev().find(|cell| !cell.is_null()).cloned().unwrap_or(Value::Null)
}

/// The values of a column that are not NULL, put together.
fn reduced(changes: &[&KeyValue], position: usize, join: impl Fn(Value, &Value) -> Value) -> Value {
    let cells = changes.iter().map(|change| &change.row[position]).filter(|cell| !cell.is_null());
    cells.fold(Value::Null, |joined, cell| if joined.is_null() { cell.clone() } else { join(joined, cell) })
}

fn int(cell: &Value) -> i64 {
    cell.as_int().unwrap_or_default()
}

fn sum(a: Value, b: &Value) -> Value {
    Value::Int(int(&a) + int(b))
}

fn concatenation(a: Value, b: &Value) -> Value {
    match (a.as_str().unwrap(), b.as_str().unwrap()) {
        ("", text) | (text, "") => Value::string(text),
        (a, b) => Value::string(&format!("{a}/{b}")),
    }
}

fn partial_update(changes: &[&KeyValue]) -> Option<Row> {
    Some(Row::new((0..6).map(|position| last_value(changes.iter(), position)).collect()))
}

/// `s` orders the newest `a` and the sum `b`; `t` and `f` go by the order of writing.
fn partial_update_with_group(changes: &[&KeyValue]) -> Option<Row> {
    let in_group: Vec<&KeyValue> = changes.iter().copied().filter(|change| !change.row[1].is_null()).collect();
    let newest = in_group.iter().max_by_key(|change| change.row[1].clone());
    let of_newest = |position: usize| newest.map_or(Value::Null, |change| change.row[position].clone());
    Some(Row::new(vec![
        changes[0].row[0].clone(),
        of_newest(1),
        of_newest(2),
        reduced(&in_group, 3, sum),
        last_value(changes.iter(), 4),
        last_value(changes.iter(), 5),
    ]))
}

fn aggregation(changes: &[&KeyValue]) -> Option<Row> {
    Some(Row::new(vec![
        changes[0].row[0].clone(),
        changes[0].row[1].clone(),
        reduced(changes, 2, sum),
        reduced(changes, 3, |a, b| a.min(b.clone())),
        reduced(changes, 4, concatenation),
        reduced(changes, 5, |a, b| a.max(b.clone())),
    ]))
}

/// Deletes are taken from the sum `a`; the other columns do not notice.
fn aggregation_with_deletes(changes: &[&KeyValue]) -> Option<Row> {
    let added: Vec<&KeyValue> = changes.iter().copied().filter(|change| change.kind.adds()).collect();
    let signed = |change: &&KeyValue| if change.kind.adds() { int(&change.row[2]) } else { -int(&change.row[2]) };
    let values = changes.iter().filter(|change| !change.row[2].is_null());
    let total = values.clone().next().map_or(Value::Null, |_| Value::Int(values.map(signed).sum()));
    let mut cells = vec![changes[0].row[0].clone(), last_value(added.iter(), 1), total];
    cells.extend((3..6).map(|position| last_value(added.iter(), position)));
    Some(Row::new(cells))
}

const GROUP: [(&str, &str); 3] =
    [("merge-engine", "partial-update"), ("fields.s.sequence-group", "a,b"), ("fields.b.aggregate-function", "sum")];
const AGGREGATION: [(&str, &str); 7] = [
    ("merge-engine", "aggregation"),
    ("fields.s.aggregate-function", "first_value"),
    ("fields.a.aggregate-function", "sum"),
    ("fields.b.aggregate-function", "min"),
    ("fields.t.aggregate-function", "listagg"),
    ("fields.t.list-agg-delimiter", "/"),
    ("fields.f.aggregate-function", "bool_or"),
];
const AGGREGATION_WITH_DELETES: [(&str, &str); 6] = [
    ("merge-engine", "aggregation"),
    ("fields.a.aggregate-function", "sum"),
    ("fields.s.ignore-retract", "true"),
    ("fields.b.ignore-retract", "true"),
    ("fields.t.ignore-retract", "true"),
    ("fields.f.ignore-retract", "true"),
];

proptest! {
    #[test]
    fn deduplicate_keeps_the_last(changes in changes(), split in splits()) {
        prop_assert_eq!(read(&function(&[]), &changes, &split), folded(&changes, last));
        let ignoring = function(&[("ignore-delete", "true")]);
        let written = only_adds(&changes);
        prop_assert_eq!(read(&ignoring, &written, &split), folded(&written, last));
        // Files of older writers hold deletes that are ignored only now.
        let rows = function(&[("deduplicate.ignore-delete", "true")]);
        let fold = |changes: &[&KeyValue]| {
            let added: Vec<&KeyValue> = changes.iter().copied().filter(|change| change.kind.adds()).collect();
            last(&added)
        };
        prop_assert_eq!(read(&rows, &changes, &split), folded(&changes, fold));
    }

    #[test]
    fn first_row_keeps_the_first(changes in changes(), split in splits()) {
        let written = only_adds(&changes);
        let first = |changes: &[&KeyValue]| Some(changes[0].row.clone());
        prop_assert_eq!(read(&function(&[("merge-engine", "first-row")]), &written, &split), folded(&written, first));
    }

    #[test]
    fn partial_update_keeps_the_last_values(changes in changes(), split in splits()) {
        let written = only_adds(&changes);
        let function = function(&[("merge-engine", "partial-update")]);
        prop_assert_eq!(read(&function, &written, &split), folded(&written, partial_update));
    }

    #[test]
    fn sequence_groups_go_by_their_own_sequence(changes in changes(), split in splits()) {
        let written = only_adds(&changes);
        prop_assert_eq!(read(&function(&GROUP), &written, &split), folded(&written, partial_update_with_group));
    }

    #[test]
    fn aggregation_aggregates(changes in changes(), split in splits()) {
        let written = only_adds(&changes);
        prop_assert_eq!(read(&function(&AGGREGATION), &written, &split), folded(&written, aggregation));
    }

    #[test]
    fn aggregation_takes_deletes_back(changes in changes(), split in splits()) {
        let function = function(&AGGREGATION_WITH_DELETES);
        prop_assert_eq!(read(&function, &changes, &split), folded(&changes, aggregation_with_deletes));
    }

    #[test]
    fn a_sequence_field_replaces_the_order_of_writing(
        changes in changes(), split in splits(), descending in any::<bool>(),
    ) {
        let order = ("sequence.field.sort-order", if descending { "descending" } else { "ascending" });
        let place = |change: &KeyValue| {
            let sequence = change.row[1].as_int();
            (sequence.map(|number| if descending { -number } else { number }), change.sequence)
        };
        let mut sorted = changes.clone();
        sorted.sort_by_key(place);
        let deduplicate = function(&[("sequence.field", "s"), order]);
        prop_assert_eq!(read(&deduplicate, &changes, &split), folded(&sorted, last));

        let sums = [("merge-engine", "aggregation"), ("sequence.field", "s"), order];
        let sums = function(&[&sums[..], &[("fields.default-aggregate-function", "max"),
            ("fields.t.aggregate-function", "max"), ("fields.f.aggregate-function", "bool_or")]].concat());
        let fold = |changes: &[&KeyValue]| {
            let greatest = |position| reduced(changes, position, |a, b| a.max(b.clone()));
            let mut cells: Vec<Value> = (0..6).map(greatest).collect();
            cells[1] = changes.last()?.row[1].clone();
            Some(Row::new(cells))
        };
        prop_assert_eq!(read(&sums, &only_adds(&changes), &split), folded(&only_adds(&sorted), fold));

        // Partial update forgets which value came with which sequence, so it is merged once only.
        let partial = function(&[("merge-engine", "partial-update"), ("sequence.field", "s"), order]);
        let one_by_one = Split { batch_ends: vec![true; 14], compacted: vec![false; 14], ..split };
        let sorted = only_adds(&sorted);
        prop_assert_eq!(read(&partial, &only_adds(&changes), &one_by_one), folded(&sorted, partial_update));
    }
}
