//! What people and machines are told: the terminal's verdict table, the certificate, JUnit, and bundles.
//!
//! Reports say what a campaign found. They never judge, and only the terminal's banner knows how long it took.

pub mod bundle;
pub mod certificate;
pub mod findings;
pub mod inspection;
pub mod junit;
pub mod paint;
pub mod paragraph;
pub mod terminal;
pub mod visible;
pub mod whole_files;

use std::collections::BTreeMap;
use std::path::PathBuf;

use models::defects::Defects;
use serde::Serialize;

use crate::campaign::conclusion::Selection;
use crate::campaign::tally::{Tally, Verdict};
use crate::check::properties::Property;

/// A finished campaign, as the reports see it.
#[derive(Debug)]
pub struct Summary<'a> {
    /// The sum of all seeds.
    pub tally: &'a Tally,
    /// The properties that it was about.
    pub selection: &'a Selection,
    /// The planted bugs.
    pub defects: &'a Defects,
    /// Whether the jail is compiled in.
    pub jail: bool,
    /// How many of a hundred seeds were run twice.
    pub double_percent: u64,
    /// Where the bundles lie, by `scenario@seed`.
    pub bundles: &'a BTreeMap<String, PathBuf>,
}

impl Summary<'_> {
    /// The ids of the properties with this verdict.
    fn ids_with(&self, verdict: Verdict) -> Vec<&'static str> {
        let with = |property: &&&'static Property| self.tally.verdict(property) == verdict;
        self.selection.properties.iter().filter(with).map(|property| property.id).collect()
    }

    /// What was noted, each text once with all the properties that it concerns in equally many seeds, ordered by text.
    fn notes(&self) -> Vec<Note<'_>> {
        let mut noted: BTreeMap<(&str, u64), Vec<&'static str>> = BTreeMap::new();
        for property in &self.selection.properties {
            let Some(tally) = self.tally.properties.get(property.id) else { continue };
            for (text, seeds) in &tally.notes {
                noted.entry((text, *seeds)).or_default().push(property.id);
            }
        }
        noted.into_iter().map(|((text, seeds), properties)| Note { properties, text, seeds }).collect()
    }
}

/// One thing that happened where the texts are silent.
#[derive(Debug, Serialize)]
pub struct Note<'a> {
    /// The properties that it keeps from being judged, in registry order.
    pub properties: Vec<&'static str>,
    /// What happened.
    pub text: &'a str,
    /// In how many seeds.
    pub seeds: u64,
}

impl Note<'_> {
    /// `L1 L2 — what happened`.
    pub fn title(&self) -> String {
        format!("{} — {}", self.properties.join(" "), self.text)
    }
}

/// The one line that runs a seed again.
pub fn replay_line(seed: &str, defects: &Defects) -> String {
    let mut line = format!("lakestream-certify replay {seed}");
    for defect in defects.iter() {
        line.push_str(" --defect ");
        line.push_str(defect.id());
    }
    line
}

/// A number with its thousands parted.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 seed`, `1,200 seeds`.
pub fn seed_count(seeds: u64) -> String {
    format!("{} {}", grouped(seeds), if seeds == 1 { "seed" } else { "seeds" })
}

/// `sum` over `count`, with one digit after the point; `None` over nothing.
pub fn mean(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| (sum as f64 / count as f64 * 10.0).round() / 10.0)
}

/// `part` in a hundred of `whole`, with one digit after the point; `None` of nothing.
pub fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 1000.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use models::defects::Defect;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(percent(1, 3), Some(33.3));
        assert_eq!(percent(0, 0), None);
        assert_eq!((mean(7, 2), mean(0, 0)), (Some(3.5), None));
        assert_eq!([0, 1, 1_200].map(seed_count), ["0 seeds", "1 seed", "1,200 seeds"]);
    }

    #[test]
    fn the_replay_line_has_every_option_that_is_needed() {
        let defects = Defects::from_iter([Defect::RtCached, Defect::TwoHolders]);
        assert_eq!(
            replay_line("steady@4", &defects),
            "lakestream-certify replay steady@4 --defect two-holders --defect rt-cached"
        );
    }
}
