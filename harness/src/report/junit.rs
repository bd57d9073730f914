//! `junit.xml`, for the test views of CI systems: a suite a property family, one of what was noted, one of the campaign's
//! own worth (its canaries, its coverage), and one of all scenarios.
//!
//! It never holds a time stamp.

use std::io;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{Summary, replay_line, seed_count};
use crate::campaign::tally::{PropertyTally, Trouble, Verdict};
use crate::check::properties::Property;

/// The file's content.
pub fn junit(summary: &Summary<'_>) -> io::Result<String> {
    let mut report = Report::new("lakestream-certify");
    let mut suite: Option<TestSuite> = None;
    for property in &summary.selection.properties {
        let family = property.family.name();
        let same = suite.as_ref().is_some_and(|suite| suite.name.as_str() == family);
        if !same && let Some(finished) = suite.replace(TestSuite::new(family)) {
            report.add_test_suite(finished);
        }
        if let Some(suite) = &mut suite {
            suite.add_test_case(property_case(summary, property));
        }
    }
    if let Some(finished) = suite {
        report.add_test_suite(finished);
    }
    let notes = notes(summary);
    if !notes.test_cases.is_empty() {
        report.add_test_suite(notes);
    }
    let campaign = campaign(summary);
    if !campaign.test_cases.is_empty() {
        report.add_test_suite(campaign);
    }
    report.add_test_suite(scenarios(summary));
    report.to_string().map_err(io::Error::other)
}

fn property_case(summary: &Summary<'_>, property: &Property) -> TestCase {
    let nothing = PropertyTally::default();
    let tally = summary.tally.properties.get(property.id).unwrap_or(&nothing);
    let verdict = summary.tally.verdict(property);
    let status = match verdict {
        Verdict::Held => TestCaseStatus::success(),
        Verdict::Violated => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type(verdict.word());
            status.set_message(format!("violated in {}", seed_count(tally.failing_seeds)));
            let stories: Vec<String> = tally
                .failures
                .iter()
                .map(|failing| {
                    let replay = replay_line(&failing.seed, summary.defects);
                    format!("{}: {}\n{replay}", failing.seed, failing.violation.argument)
                })
                .collect();
            status.set_description(stories.join("\n\n"));
            status
        }
        _ => {
            let mut status = TestCaseStatus::skipped();
            let reason = summary.tally.why_not_tested(property);
            status.set_message(reason.unwrap_or_else(|| verdict.word().to_owned()));
            status
        }
    };
    let mut case = TestCase::new(format!("{} {}", property.id, property.statement), status);
    case.set_classname(property.family.name());
    case
}

/// A skipped case a note: nothing was judged there.
fn notes(summary: &Summary<'_>) -> TestSuite {
    let mut suite = TestSuite::new("notes");
    for note in summary.notes() {
        let mut status = TestCaseStatus::skipped();
        status.set_message(format!("noted in {}: the texts are silent", seed_count(note.seeds)));
        let mut case = TestCase::new(note.title(), status);
        case.set_classname("notes");
        suite.add_test_case(case);
    }
    suite
}

/// What the campaign is worth: whether each canary was found, and each required point reached. Neither is a fault of the
/// system: a canary that passed is an error of the campaign, and a point that was missed leaves it inconclusive.
fn campaign(summary: &Summary<'_>) -> TestSuite {
    let mut suite = TestSuite::new("campaign");
    let mut add = |name: &str, status: TestCaseStatus| {
        let mut case = TestCase::new(name, status);
        case.set_classname("campaign");
        suite.add_test_case(case);
    };
    let passed: Vec<&Trouble> = summary.tally.troubles.iter().filter(|trouble| trouble.canary.is_some()).collect();
    if !passed.is_empty() {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(format!("{} with a planted bug showed nothing", seed_count(passed.len() as u64)));
        let stories: Vec<_> = passed.iter().map(|trouble| format!("{}: {}", trouble.seed, trouble.message)).collect();
        status.set_description(stories.join("\n"));
        add("canaries", status);
    } else if summary.tally.canaries_found > 0 {
        add("canaries", TestCaseStatus::success());
    }
    if summary.tally.interrupted {
        let mut status = TestCaseStatus::skipped();
        status.set_message("inconclusive: the campaign was interrupted");
        add("interrupted", status);
    }
    let unreached: Vec<&str> =
        summary.selection.unreached(summary.tally).iter().map(|point| point.id.as_str()).collect();
    if !unreached.is_empty() {
        let mut status = TestCaseStatus::skipped();
        status.set_message(format!("inconclusive: never reached {}", unreached.join(", ")));
        add("required coverage", status);
    } else if summary.selection.covering {
        add("required coverage", TestCaseStatus::success());
    }
    suite
}

/// A case a scenario: seeds that failed, or that say nothing about the system.
fn scenarios(summary: &Summary<'_>) -> TestSuite {
    let mut suite = TestSuite::new("scenarios");
    for (name, tally) in &summary.tally.scenarios {
        let status = if tally.failing_seeds > 0 {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(format!("{} of {} seeds violated a property", tally.failing_seeds, tally.seeds));
            status
        } else if tally.troubled_seeds > 0 {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            let prefix = format!("{name}@");
            let own = |trouble: &&Trouble| trouble.canary.is_none() && trouble.seed.starts_with(&prefix);
            let troubles = summary.tally.troubles.iter().filter(own);
            let stories: Vec<_> = troubles.map(|trouble| format!("{}: {}", trouble.seed, trouble.message)).collect();
            status.set_message(format!("{} of {} seeds say nothing", tally.troubled_seeds, tally.seeds));
            status.set_description(stories.join("\n"));
            status
        } else {
            TestCaseStatus::success()
        };
        let mut case = TestCase::new(name.as_str(), status);
        case.set_classname("scenarios");
        suite.add_test_case(case);
    }
    suite
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use models::defects::{Defect, Defects};

    use super::*;
    use crate::campaign::conclusion::Selection;
    use crate::campaign::tally::Tally;
    use crate::coverage::catalogue;

    /// The file of a campaign without properties.
    fn file(tally: &Tally, covering: bool) -> String {
        let selection = Selection { properties: Vec::new(), named: false, covering };
        let (defects, bundles) = (Defects::none(), BTreeMap::new());
        let summary = Summary {
            tally,
            selection: &selection,
            defects: &defects,
            jail: true,
            double_percent: 100,
            bundles: &bundles,
        };
        junit(&summary).unwrap()
    }

    #[test]
    fn a_canary_that_passed_is_an_error() {
        let mut tally = Tally::new(3);
        tally.canaries_found = 4;
        assert!(file(&tally, false).contains(r#"<testcase name="canaries" classname="campaign""#));
        let message = "the canary rt-cached passed".to_owned();
        tally.troubles.push(Trouble { seed: "append@0".to_owned(), message, canary: Some(Defect::RtCached) });
        let file = file(&tally, false);
        assert!(file.contains("<error message=\"1 seed with a planted bug showed nothing\""), "{file}");
        assert!(file.contains("append@0: the canary rt-cached passed"), "{file}");
    }

    #[test]
    fn a_required_point_that_was_missed_is_not_green() {
        let mut tally = Tally::new(3);
        assert!(!file(&tally, false).contains("required coverage"), "a narrow campaign is not asked");
        let missed = file(&tally, true);
        assert!(missed.contains("<skipped message=\"inconclusive: never reached commit-lost-race, "), "{missed}");
        tally.coverage.add(&catalogue().points().map(|(index, _)| index).collect());
        assert!(!file(&tally, true).contains("<skipped"), "all were reached");
    }
}
