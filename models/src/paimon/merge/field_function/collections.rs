//! What aggregate functions do to arrays, maps and lists in a text. Values of other types count as empty.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::contract::Value;

/// The elements of both arrays in order; if `distinct`, each once, where it first stood. NULL if both are NULL.
pub(super) fn append_elements(accumulated: &Value, input: &Value, distinct: bool) -> Value {
    if accumulated.is_null() && input.is_null() {
        return Value::Null;
    }
    let elements = elements(accumulated).iter().chain(elements(input));
    let mut seen = BTreeSet::new();
    Value::Array(elements.filter(|element| !distinct || seen.insert(*element)).cloned().collect())
}

/// The array without the elements of the other, each taken out as often as it is there, from the front.
pub(super) fn remove_elements(accumulated: &Value, input: &Value) -> Value {
    if elements(accumulated).is_empty() || elements(input).is_empty() {
        return accumulated.clone();
    }
    let mut removals: BTreeMap<&Value, usize> = BTreeMap::new();
    for element in elements(input) {
        *removals.entry(element).or_default() += 1;
    }
    let mut stays = |element: &Value| {
        let removed = removals.get_mut(element).filter(|count| **count > 0);
        removed.map(|count| *count -= 1).is_none()
    };
    Value::Array(elements(accumulated).iter().filter(|element| stays(element)).cloned().collect())
}

/// The entries of both maps; of a key that is in both, the input's.
pub(super) fn merge_entries(accumulated: &Value, input: &Value) -> Value {
    let merged: BTreeMap<&Value, &Value> =
        entries(accumulated).iter().chain(entries(input)).map(|(key, value)| (key, value)).collect();
    Value::Map(merged.into_iter().map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// The map without the keys of the other.
pub(super) fn remove_entries(accumulated: &Value, input: &Value) -> Value {
    if entries(accumulated).is_empty() || entries(input).is_empty() {
        return accumulated.clone();
    }
    let removed: BTreeSet<&Value> = entries(input).iter().map(|(key, _)| key).collect();
    Value::Map(entries(accumulated).iter().filter(|(key, _)| !removed.contains(key)).cloned().collect())
}

/// The list with those parts of the other that it does not have yet. Empty parts are never added.
pub(super) fn append_distinct_tokens(list: &str, more: &str, delimiter: &str) -> Value {
    let mut seen: BTreeSet<&str> = tokens(list, delimiter).into_iter().collect();
    let mut text = list.to_owned();
    for token in tokens(more, delimiter) {
        if !token.is_empty() && seen.insert(token) {
            text.push_str(delimiter);
            text.push_str(token);
        }
    }
    Value::String(Arc::from(text))
}

/// The parts of a list. Without a delimiter it has one.
fn tokens<'a>(list: &'a str, delimiter: &str) -> Vec<&'a str> {
    if delimiter.is_empty() { vec![list] } else { list.split(delimiter).collect() }
}

fn elements(cell: &Value) -> &[Value] {
    match cell {
        Value::Array(elements) => elements,
        _ => &[],
    }
}

fn entries(cell: &Value) -> &[(Value, Value)] {
    match cell {
        Value::Map(entries) => entries,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(numbers: &[i64]) -> Value {
        Value::Array(numbers.iter().map(|number| Value::Int(*number)).collect())
    }

    fn map(entries: &[(i64, i64)]) -> Value {
        Value::Map(entries.iter().map(|(key, value)| (Value::Int(*key), Value::Int(*value))).collect())
    }

    #[test]
    fn arrays_are_joined_and_parted() {
        assert_eq!(append_elements(&Value::Null, &Value::Null, true), Value::Null);
        assert_eq!(append_elements(&Value::Null, &array(&[1, 1]), false), array(&[1, 1]));
        assert_eq!(append_elements(&array(&[2, 1]), &array(&[1, 3, 3]), false), array(&[2, 1, 1, 3, 3]));
        assert_eq!(append_elements(&array(&[2, 1]), &array(&[1, 3, 3]), true), array(&[2, 1, 3]));
        assert_eq!(remove_elements(&array(&[1, 2, 1, 3, 1]), &array(&[1, 1, 9])), array(&[2, 3, 1]));
        assert_eq!(remove_elements(&Value::Null, &array(&[1])), Value::Null);
    }

    #[test]
    fn maps_are_joined_and_parted_by_key() {
        assert_eq!(merge_entries(&map(&[(1, 1), (3, 3)]), &map(&[(1, 9), (2, 2)])), map(&[(1, 9), (2, 2), (3, 3)]));
        assert_eq!(remove_entries(&map(&[(1, 1), (3, 3)]), &map(&[(1, 7), (2, 2)])), map(&[(3, 3)]));
        assert_eq!(remove_entries(&map(&[(1, 1)]), &Value::Null), map(&[(1, 1)]));
    }

    #[test]
    fn lists_take_only_new_parts() {
        assert_eq!(append_distinct_tokens("a;b", "b;;c;a;c", ";"), Value::string("a;b;c"));
        assert_eq!(append_distinct_tokens("a", "a", ""), Value::string("a"));
        assert_eq!(append_distinct_tokens("a", "b", ""), Value::string("ab"));
    }
}
