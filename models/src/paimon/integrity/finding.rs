//! Findings, and how few of them are told.
//!
//! One fault shows in many places: a file that many snapshots share, a rule that a whole directory breaks. So a rule is
//! broken by a file once, and of one rule the first findings are kept and the rest is counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::rule::{Rule, Severity};

/// So many findings of one rule are kept.
const KEPT_OF_ONE_RULE: u64 = 20;

/// A longer text quotes what nobody can have meant; so many characters of it are kept.
const LONGEST_TEXT: usize = 2000;

/// One thing that is wrong with the files of a table, or worth knowing of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The rule that is broken.
    pub rule: Rule,
    /// The file, beneath the warehouse.
    pub file: String,
    /// The snapshot that led to it, where one did.
    pub snapshot: Option<u64>,
    /// What was expected and what was found, without a full stop.
    pub found: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}; {}", self.file, self.found, self.rule.consequence())
    }
}

/// The findings of one check while it goes on.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    kept: Vec<Finding>,
    met: BTreeSet<(Rule, String)>,
    of_rule: BTreeMap<Rule, u64>,
}

impl Findings {
    /// Notes a finding, unless the same file broke the same rule before.
    pub(super) fn add(&mut self, rule: Rule, file: &str, snapshot: Option<u64>, found: impl Into<String>) {
        if !self.met.insert((rule, file.to_owned())) {
            return;
        }
        let count = self.of_rule.entry(rule).or_default();
        *count += 1;
        if *count <= KEPT_OF_ONE_RULE {
            self.kept.push(Finding { rule, file: file.to_owned(), snapshot, found: shortened(found.into()) });
        }
    }

    /// Whether the file broke this rule.
    pub(super) fn has(&self, rule: Rule, file: &str) -> bool {
        self.met.contains(&(rule, file.to_owned()))
    }

    /// The damage in the order in which it was met, the notes, and how many findings of each rule were left out.
    pub(super) fn into_parts(self) -> (Vec<Finding>, Vec<Finding>, BTreeMap<Rule, u64>) {
        let left_out = self.of_rule.into_iter().filter(|(_, count)| *count > KEPT_OF_ONE_RULE);
        let left_out = left_out.map(|(rule, count)| (rule, count - KEPT_OF_ONE_RULE)).collect();
        let (damage, notes) = self.kept.into_iter().partition(|finding| finding.rule.severity() == Severity::Damage);
        (damage, notes, left_out)
    }
}

/// The text, or its beginning.
fn shortened(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(LONGEST_TEXT) {
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_without_end_are_cut() {
        let text = "ü".repeat(LONGEST_TEXT);
        assert_eq!(shortened(text.clone()), text);
        assert_eq!(shortened(format!("{text}x")), format!("{text}…"));
    }

    #[test]
    fn a_file_breaks_a_rule_once_and_the_rest_is_counted() {
        let mut findings = Findings::default();
        for file in 0..KEPT_OF_ONE_RULE + 3 {
            findings.add(Rule::FileExists, &format!("f{file}"), Some(1), "first");
            findings.add(Rule::FileExists, &format!("f{file}"), Some(2), "again");
        }
        findings.add(Rule::SnapshotTime, "s", None, "a note");
        let (damage, notes, left_out) = findings.into_parts();
        assert_eq!((damage.len() as u64, notes.len()), (KEPT_OF_ONE_RULE, 1));
        assert!(damage.iter().all(|finding| finding.found == "first"));
        assert_eq!(left_out, BTreeMap::from([(Rule::FileExists, 3)]));
    }
}
