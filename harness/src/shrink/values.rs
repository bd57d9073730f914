//! What is inside of tables and steps, made smaller: rows, options and cells left out, numbers and text lessened.
//!
//! Plans are looked at as JSON, so that nothing here has to know every statement: what a smaller text means is decided
//! by the reader of plans, and whether it is a plan at all by its validation.

use scenarios::plan::{Plan, WRITE_ID};
use serde_json::Value;

use super::delta_debugging;
use super::search::Search;

/// Objects of which each member can be left out: options, conditions, clocks that are wrong and the like; and rows, which
/// are elements of `rows` and `keys`.
const OPEN_OBJECTS: &[&str] = &["options", "set", "filter", "partition", "properties", "lake", "skew_ms"];
/// Lists that are rows.
const ROWS: &[&str] = &["rows", "keys"];
/// Numbers that are names or bounds, and no quantities.
const NAMES: &[&str] = &[WRITE_ID, "seed", "version", "deadline_ms", "nth"];
/// Lessened numbers are tried at so many parts of the old one, of sixteen; the least first.
const SIXTEENTHS: [u64; 8] = [0, 1, 2, 4, 8, 10, 12, 14];

/// Leaves out elements of lists, by delta debugging, and members of open objects, until each is needed.
pub(super) fn leave_out(search: &mut Search<'_>) {
    let mut place = 0;
    // The lists are those of the best plan, which changes on the way.
    while let Some(pointer) = lists(search.best()).into_iter().nth(place) {
        let elements = json(search.best()).pointer(&pointer).and_then(Value::as_array).cloned().unwrap_or_default();
        delta_debugging::leave_out(elements, |elements, parts| {
            search.first(parts.len(), |plan, part| {
                let left = [&elements[..parts[part].start], &elements[parts[part].end..]].concat();
                changed(plan, &pointer, |list| *list = Value::Array(left))
            })
        });
        place += 1;
    }
    loop {
        let members = members(search.best());
        let found = search.first(members.len(), |plan, place| {
            let (pointer, name) = &members[place];
            changed(plan, pointer, |object| {
                if let Some(object) = object.as_object_mut() {
                    object.remove(name);
                }
            })
        });
        if found.is_none() {
            return;
        }
    }
}

/// Makes values less: times, durations and counts; and cells, which may be text.
pub(super) fn lessen(search: &mut Search<'_>) {
    let mut place = 0;
    while let Some((pointer, less)) = lessened(search.best()).into_iter().nth(place) {
        let found = search
            .first(less.len(), |plan, candidate| changed(plan, &pointer, |value| *value = less[candidate].clone()));
        // The same value again, until none of the lesser ones will do.
        place += usize::from(found.is_none());
    }
}

fn json(plan: &Plan) -> Value {
    serde_json::to_value(plan).expect("every part of a plan has a JSON form")
}

/// The plan with something changed at a place of its JSON, if it still is one.
fn changed(plan: &Plan, pointer: &str, change: impl FnOnce(&mut Value)) -> Option<Plan> {
    let before = json(plan);
    let mut after = before.clone();
    match after.pointer_mut(pointer) {
        Some(place) => change(place),
        None => return None,
    }
    if after == before {
        return None;
    }
    serde_json::from_value(after).ok()
}

/// Where the lists within tables and steps are that have elements.
fn lists(plan: &Plan) -> Vec<String> {
    let mut lists = Vec::new();
    visit(plan, &mut |pointer, value| {
        if value.as_array().is_some_and(|elements| !elements.is_empty()) {
            lists.push(pointer.to_owned());
        }
    });
    lists
}

/// Every member of an open object: where the object is, and its name. A write id is never left out.
fn members(plan: &Plan) -> Vec<(String, String)> {
    let mut members = Vec::new();
    visit(plan, &mut |pointer, value| {
        let mut names = pointer.rsplit('/');
        let (last, before) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
        let is_open = OPEN_OBJECTS.contains(&last) || ROWS.contains(&before);
        if let Some(object) = value.as_object().filter(|_| is_open) {
            let named = object.keys().filter(|name| *name != WRITE_ID);
            members.extend(named.map(|name| (pointer.to_owned(), name.clone())));
        }
    });
    members
}

/// Every value that can be less, where it is, and the lesser ones, the least first: quantities in steps, cells of rows,
/// and how long the chaos phase is.
fn lessened(plan: &Plan) -> Vec<(String, Vec<Value>)> {
    let mut lessened = vec![("/chaos_ms".to_owned(), less(&Value::from(plan.chaos_ms)))];
    visit(plan, &mut |pointer, value| {
        let mut names = pointer.rsplit('/');
        let (last, _row, list) = (names.next(), names.next(), names.next());
        let is_cell = list.is_some_and(|list| ROWS.contains(&list));
        let is_name = last.is_some_and(|last| NAMES.contains(&last));
        if !is_name && pointer.starts_with("/steps") && (is_cell || value.is_u64()) {
            lessened.push((pointer.to_owned(), less(value)));
        }
    });
    lessened.retain(|(_, less)| !less.is_empty());
    lessened
}

/// What is less than a value: parts of a number, the empty text or the first half of one.
fn less(value: &Value) -> Vec<Value> {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(number) => {
                let parts = SIXTEENTHS.iter().map(|part| number / 16 * part + number % 16 * part / 16);
                let mut less: Vec<u64> = parts.filter(|part| *part < number).collect();
                less.dedup();
                less.into_iter().map(Value::from).collect()
            }
            None => vec![Value::from(0)],
        },
        Value::String(text) => {
            let half: String = text.chars().take(text.chars().count() / 2).collect();
            let mut less = vec![String::new(), half];
            less.dedup();
            less.into_iter().filter(|shorter| shorter.len() < text.len()).map(Value::from).collect()
        }
        _ => Vec::new(),
    }
}

/// Visits what surrounds the run, and everything within tables and steps, but not the lists of tables and steps
/// themselves: each outer value before the inner ones.
fn visit(plan: &Plan, visitor: &mut impl FnMut(&str, &Value)) {
    let value = json(plan);
    for part in ["catalog", "lake", "skew_ms", "tables", "steps"] {
        let Some(inside) = value.get(part) else { continue };
        let pointer = format!("/{part}");
        if inside.is_object() {
            visitor(&pointer, inside);
        }
        inner(&pointer, inside, visitor);
    }
}

/// Visits what is inside of a value.
fn inner(pointer: &str, value: &Value, visitor: &mut impl FnMut(&str, &Value)) {
    let mut one = |name: &str, value: &Value| {
        let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        visitor(&pointer, value);
        inner(&pointer, value, visitor);
    };
    match value {
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(place, element)| one(&place.to_string(), element));
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| one(name, member)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        scenarios::find("append").unwrap().plan(3)
    }

    #[test]
    fn a_plan_is_what_its_json_says() {
        let plan = plan();
        let same = changed(&plan, "/chaos_ms", |_| {});
        assert_eq!(same, None, "no smaller plan");
        let shorter = changed(&plan, "/chaos_ms", |value| *value = Value::from(7)).unwrap();
        assert_eq!(shorter.chaos_ms, 7);
        assert_eq!(changed(&plan, "/tables", |value| *value = Value::Null), None);
    }

    #[test]
    fn lesser_values_begin_with_the_least_and_come_to_an_end() {
        let values = |value: Value| less(&value);
        assert_eq!(values(Value::from(100))[..3], [Value::from(0), Value::from(6), Value::from(12)]);
        assert_eq!(values(Value::from(1)), [Value::from(0)]);
        assert_eq!(values(Value::from(-4)), [Value::from(0)]);
        assert_eq!(values(Value::from("v12")), [Value::from(""), Value::from("v")]);
        assert_eq!(values(Value::from("v")), [Value::from("")]);
        for least in [Value::from(0), Value::from(""), Value::Null, Value::Bool(true)] {
            assert!(values(least.clone()).is_empty(), "{least}");
        }
    }

    #[test]
    fn rows_options_and_times_are_found_and_names_are_not() {
        let plan = plan();
        let lists = lists(&plan);
        assert!(lists.iter().any(|pointer| pointer.ends_with("/rows")), "{lists:?}");
        assert!(!lists.contains(&"/steps".to_owned()), "they have a pass of their own");
        let members = members(&plan);
        assert!(members.iter().any(|(pointer, _)| pointer.ends_with("/options")), "{members:?}");
        assert!(members.iter().all(|(_, name)| name != WRITE_ID));
        let lessened = lessened(&plan);
        assert!(lessened.iter().any(|(pointer, _)| pointer.ends_with("/at_ms")));
        assert!(lessened.iter().any(|(_, less)| less.contains(&Value::from(""))), "cells of text");
        assert!(lessened.iter().all(|(pointer, _)| !pointer.ends_with("/w") && !pointer.ends_with("/session")));
        assert!(lessened.iter().all(|(pointer, _)| !pointer.ends_with("/deadline_ms")));
    }
}
