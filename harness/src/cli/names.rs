//! Names that people give: scenarios, properties, defects. An unknown one is answered with the nearest known ones.

use models::defects::{Defect, Defects};
use scenarios::scenario::Scenario;

use super::status::CommandError;
use super::values;
use crate::campaign::conclusion::Selection;
use crate::check::properties;

/// A name is worth suggesting if it differs in at most so many letters, and in no more than a third of its own.
const NEAR: usize = 3;

/// The defects with these ids.
pub fn defects(ids: &[String]) -> Result<Defects, CommandError> {
    let known = || Defect::ALL.iter().map(|defect| defect.id());
    ids.iter().map(|id| id.parse::<Defect>().map_err(|_| unknown("defect", id, known()))).collect()
}

/// The properties with these ids, in registry order; all if there are none.
pub fn properties(ids: &[String]) -> Result<Selection, CommandError> {
    for id in ids {
        if !properties::ALL.iter().any(|property| property.id == id) {
            return Err(unknown("property", id, properties::ALL.iter().map(|property| property.id)));
        }
    }
    let chosen = |id: &str| ids.is_empty() || ids.iter().any(|wanted| wanted == id);
    let properties = properties::ALL.iter().filter(|property| chosen(property.id)).collect();
    Ok(Selection { properties, named: !ids.is_empty(), covering: false })
}

/// The scenarios that match one of these globs, in library order; if there are none, all but those that run only when
/// they are named.
pub fn scenarios(globs: &[String]) -> Result<Vec<&'static Scenario>, CommandError> {
    let library = scenarios::library();
    for glob in globs {
        if !library.iter().any(|scenario| values::matches(glob, &scenario.name)) {
            return Err(unknown("scenario", glob, library.iter().map(|scenario| scenario.name.as_str())));
        }
    }
    let chosen = |scenario: &&Scenario| match globs {
        [] => scenario.weight > 0,
        globs => globs.iter().any(|glob| values::matches(glob, &scenario.name)),
    };
    Ok(library.iter().filter(chosen).collect())
}

/// The scenario of this name.
pub fn scenario(name: &str) -> Result<&'static Scenario, CommandError> {
    scenarios::find(name).map_err(|_| {
        let library = scenarios::library();
        unknown("scenario", name, library.iter().map(|scenario| scenario.name.as_str()))
    })
}

/// What is said about an unknown name.
fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>) -> CommandError {
    let known: Vec<&str> = known.collect();
    let near = known.iter().map(|candidate| (distance(name, candidate), *candidate)).min();
    match near {
        Some((letters, candidate)) if letters <= NEAR.min(candidate.len() / 3) => {
            CommandError::usage(format!("unknown {kind} {name:?}, did you mean {candidate:?}?"))
        }
        _ => CommandError::usage(format!("unknown {kind} {name:?}, expected one of {}", known.join(", "))),
    }
}

/// How many letters must be inserted, removed or replaced to make `to` of `from`.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (place, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = place + 1;
        for (column, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_gets_the_list() {
        let near = defects(&["rt-cache".to_owned()]).unwrap_err().to_string();
        assert_eq!(near, "unknown defect \"rt-cache\", did you mean \"rt-cached\"?");
        let far = defects(&["everything".to_owned()]).unwrap_err().to_string();
        assert!(far.contains("expected one of ack-lost-retier, "), "{far}");
    }
}
