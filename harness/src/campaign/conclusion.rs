//! From the sum of a campaign to its one answer.

use std::collections::BTreeSet;

use super::tally::{Tally, Verdict};
use crate::check::properties::Property;
use crate::coverage::{CoveragePoint, Need};

/// The answer of a campaign. A later variant gives way to an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// A property was violated.
    Violated,
    /// Some seed says nothing: the harness failed, a run was not deterministic or a canary passed.
    Trouble,
    /// A required property was never exercised, or the evidence decided nothing about it, or a required point was never
    /// reached, or somebody ended the campaign before its end.
    Inconclusive,
    /// All required properties held.
    Held,
}

impl Conclusion {
    /// As reports write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Violated => "violated",
            Self::Trouble => "trouble",
            Self::Inconclusive => "inconclusive",
            Self::Held => "held",
        }
    }
}

/// The properties that a campaign is about.
#[derive(Clone, Debug)]
pub struct Selection {
    /// In registry order.
    pub properties: Vec<&'static Property>,
    /// Whether they were named one by one: then all of them are required, whatever the system declares.
    pub named: bool,
    /// Whether the required points of the coverage catalogue have to be reached. A campaign over a part of the
    /// scenarios or properties, of a few seeds, or of a system with planted bugs, cannot be asked for them.
    pub covering: bool,
}

impl Selection {
    /// Their ids.
    pub fn ids(&self) -> BTreeSet<&'static str> {
        self.properties.iter().map(|property| property.id).collect()
    }

    /// The properties that must be exercised: those named by option, else those that this version judges and whose
    /// capability the system declares.
    pub fn required<'a>(&'a self, tally: &'a Tally) -> impl Iterator<Item = &'static Property> + 'a {
        self.properties.iter().copied().filter(|property| self.named || tally.verdict(property) != Verdict::NotTested)
    }

    /// The required properties for which there is no decided judgement.
    pub fn missing(&self, tally: &Tally) -> Vec<&'static Property> {
        self.required(tally)
            .filter(|property| !matches!(tally.verdict(property), Verdict::Held | Verdict::Violated))
            .collect()
    }

    /// The required points that were never reached, as far as they are asked for.
    pub fn unreached(&self, tally: &Tally) -> Vec<&'static CoveragePoint> {
        if self.covering { tally.coverage.missed(Need::Required) } else { Vec::new() }
    }

    /// The answer.
    pub fn conclude(&self, tally: &Tally) -> Conclusion {
        if self.properties.iter().any(|property| tally.verdict(property) == Verdict::Violated) {
            Conclusion::Violated
        } else if !tally.troubles.is_empty() {
            Conclusion::Trouble
        } else if tally.interrupted || !self.missing(tally).is_empty() || !self.unreached(tally).is_empty() {
            Conclusion::Inconclusive
        } else {
            Conclusion::Held
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::tally::Trouble;
    use crate::check::properties;
    use crate::coverage::catalogue;

    /// A tally in which every judged property held.
    fn held() -> Tally {
        let mut tally = Tally::new(3);
        for property in properties::ALL.iter().filter(|property| property.judged) {
            tally.properties.entry(property.id).or_default().judged = 1;
        }
        tally
    }

    fn selection(named: bool) -> Selection {
        Selection { properties: properties::ALL.iter().collect(), named, covering: false }
    }

    #[test]
    fn properties_that_this_version_does_not_judge_are_required_only_by_name() {
        static NOT_JUDGED: Property = Property { id: "F0", judged: false, ..properties::ALL[0] };
        let with_it = |named: bool| {
            let mut selection = selection(named);
            selection.properties.push(&NOT_JUDGED);
            selection
        };
        assert_eq!(with_it(false).conclude(&held()), Conclusion::Held);
        assert_eq!(with_it(true).conclude(&held()), Conclusion::Inconclusive);
    }

    #[test]
    fn points_are_required_where_coverage_is_asked_for() {
        let covering = Selection { covering: true, ..selection(false) };
        assert_eq!(covering.conclude(&held()), Conclusion::Inconclusive, "nothing was reached");
        let mut tally = held();
        tally.coverage.add(&catalogue().points().map(|(index, _)| index).collect());
        assert_eq!(covering.conclude(&tally), Conclusion::Held);
        assert_eq!(selection(false).conclude(&held()), Conclusion::Held, "a narrow campaign is not asked");
    }

    #[test]
    fn an_interrupted_campaign_never_says_that_all_held() {
        let mut tally = held();
        tally.interrupted = true;
        assert_eq!(selection(false).conclude(&tally), Conclusion::Inconclusive);
        tally.properties.entry("F1").or_default().violations = 1;
        assert_eq!(selection(false).conclude(&tally), Conclusion::Violated);
    }

    #[test]
    fn one_answer_gives_way_to_another() {
        let mut tally = held();
        tally.properties.entry("L3").or_default().judged = 0;
        assert_eq!(selection(false).conclude(&tally), Conclusion::Inconclusive);
        tally.troubles.push(Trouble { seed: "steady@1".to_owned(), message: "hung".to_owned(), canary: None });
        assert_eq!(selection(false).conclude(&tally), Conclusion::Trouble);
        tally.properties.entry("F1").or_default().violations = 1;
        assert_eq!(selection(false).conclude(&tally), Conclusion::Violated);
    }
}
