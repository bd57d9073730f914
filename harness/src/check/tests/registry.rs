//! The registry of properties and the report of what was not exercised.

use std::collections::BTreeSet;

use super::story::Story;
use crate::check::properties::{self, Family, Level};

#[test]
fn every_property_has_one_entry_and_says_what_counts() {
    let ids: BTreeSet<&str> = properties::ALL.iter().map(|property| property.id).collect();
    assert_eq!(ids.len(), properties::ALL.len());
    for (letter, count) in [("F", 8), ("L", 18), ("C", 24), ("P", 8)] {
        for number in 1..=count {
            let id = format!("{letter}{number}");
            let property = properties::by_id(&id).unwrap_or_else(|| panic!("{id} is missing"));
            assert!(property.statement.ends_with('.') && !property.exercised.is_empty(), "{id}");
        }
    }
    assert_eq!(properties::ALL.len(), 8 + 18 + 24 + 8);
    let promotion = properties::ALL.iter().filter(|property| property.family == Family::Promotion);
    assert!(promotion.clone().all(|property| property.level == Level::Draft && property.capability.is_some()));
}

#[test]
fn the_judged_properties_are_those_that_findings_tell_of() {
    let judged: Vec<&str> =
        properties::ALL.iter().filter(|property| property.judged).map(|property| property.id).collect();
    let findings = Story::append().findings();
    assert_eq!(findings.judgements.keys().copied().collect::<BTreeSet<_>>(), judged.iter().copied().collect());
    assert_eq!(judged.len(), properties::ALL.len());
    // Nothing happened, so nothing was exercised.
    assert!(findings.judgements.values().all(|judgement| judgement.judged == 0 && judgement.violations.is_empty()));
}
