//! The kill matrix: plants one known bug after another and searches seeds until the judges name its property.
//!
//! Which scenarios are searched follows from the property that the bug breaks and from what the scenarios say they
//! exercise (rule 9): nothing here knows what a bug does, nor which scenario would be good at finding it. What is found
//! never depends on how many workers there are.

use std::ops::ControlFlow;

use models::defects::{Defect, Defects};
use scenarios::scenario::Scenario;

use crate::campaign::canaries::Canaries;
use crate::campaign::schedule::{Schedule, SeedRange, Shard};
use crate::campaign::seed::SeedOutcome;
use crate::campaign::{CampaignOptions, campaign};

/// The expected property has to be among the first so many that a run shows violated.
pub const FIRST_NAMED: usize = 3;

/// So far apart are the first seeds of two starts.
const SEEDS_BETWEEN_STARTS: u64 = 1_000_000;

/// How each bug is searched for.
#[derive(Clone, Copy, Debug)]
pub struct MatrixOptions {
    /// How many seeds in all a start runs at most, spread over the scenarios by weight; at least 1.
    pub seeds: u64,
    /// How many workers; at least 1.
    pub jobs: usize,
}

/// What one search for one bug came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The planted bug.
    pub defect: Defect,
    /// Which search, from 0.
    pub start: u64,
    /// How many seeds were run, the one that found it included.
    pub seeds: u64,
    /// The first seed that names an expected property among the [`FIRST_NAMED`]; without one, the first that names it
    /// later.
    pub hit: Option<Hit>,
    /// The first seed that violates anything at all.
    pub first_violation: Option<Hit>,
    /// How many seeds before the hit said nothing about the system.
    pub troubled_seeds: u64,
    /// The first of them, with what went wrong.
    pub trouble: Option<String>,
}

/// A seed that shows a bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// The hash of everything that happened.
    pub trace_hash: u128,
    /// The properties that it violates: causes before consequences, and each as the run shows them.
    pub named: Vec<&'static str>,
}

impl Hit {
    /// `scenario@seed`.
    pub fn name(&self) -> String {
        format!("{}@{}", self.scenario, self.seed)
    }
}

impl Row {
    /// Whether the bug was found and a property that it breaks is among the [`FIRST_NAMED`].
    pub fn right(&self) -> bool {
        let is_early = |hit: &Hit| hit.named.iter().take(FIRST_NAMED).any(|id| breaks(self.defect, id));
        self.hit.as_ref().is_some_and(is_early)
    }
}

/// How many seeds it took to find bugs: over all searches that did, the median (of an even number the lesser of the two
/// in the middle) and the worst; `None` if none did.
pub fn seeds_to_find<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Option<(u64, &'a Row)> {
    let mut found: Vec<&Row> = rows.into_iter().filter(|row| row.right()).collect();
    found.sort_by_key(|row| row.seeds);
    Some((found.get(found.len().saturating_sub(1) / 2)?.seeds, *found.last()?))
}

/// The scenarios in which a bug is searched for: those that exercise a property that it breaks.
fn scenarios_for<'a>(defect: Defect, library: &[&'a Scenario]) -> Vec<&'a Scenario> {
    let exercising = |scenario: &&&Scenario| scenario.exercises.iter().any(|id| breaks(defect, id));
    library.iter().filter(exercising).copied().collect()
}

/// Whether the bug breaks the property of this id.
fn breaks(defect: Defect, id: &str) -> bool {
    defect.properties().contains(&id)
}

/// Searches for one bug from one start, up to the first seed that names a property that it breaks among the
/// [`FIRST_NAMED`]; single runs. `ran` is told after each seed how many there were. Before each seed `go_on` is asked
/// whether to begin it; a search that it ended says nothing.
pub fn search(
    defect: Defect,
    start: u64,
    library: &[&Scenario],
    options: MatrixOptions,
    go_on: impl Fn() -> bool + Sync,
    mut ran: impl FnMut(u64),
) -> Row {
    let scenarios = scenarios_for(defect, library);
    let weights: Vec<u64> = scenarios.iter().map(|scenario| scenario.weight).collect();
    let schedule = Schedule::new(&weights, SeedRange::Total(options.seeds), Shard::WHOLE)
        .beginning_at(start.saturating_mul(SEEDS_BETWEEN_STARTS));
    let campaign_options = CampaignOptions {
        defects: Defects::from_iter([defect]),
        double_percent: 0,
        jobs: options.jobs,
        canaries: Canaries::default(),
    };
    let mut row = Row::new(defect, start);
    campaign(&scenarios, schedule, &campaign_options, go_on, |outcome| {
        row.add(&outcome);
        ran(row.seeds);
        if row.right() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    row
}

impl Row {
    /// A search that has run nothing yet.
    fn new(defect: Defect, start: u64) -> Self {
        Self { defect, start, seeds: 0, hit: None, first_violation: None, troubled_seeds: 0, trouble: None }
    }

    /// Adds the next seed.
    fn add(&mut self, outcome: &SeedOutcome) {
        self.seeds += 1;
        if let Some(trouble) = &outcome.trouble {
            self.troubled_seeds += 1;
            self.trouble.get_or_insert_with(|| format!("{}: {trouble}", outcome.name()));
            return;
        }
        let named = outcome.causes_first();
        if named.is_empty() {
            return;
        }
        let hit = Hit { scenario: outcome.scenario.clone(), seed: outcome.seed, trace_hash: outcome.trace_hash, named };
        // A seed that names the property late is kept only as long as there is none that names it among the first.
        let better = match hit.named.iter().position(|id| breaks(self.defect, id)) {
            Some(place) => self.hit.is_none() || (place < FIRST_NAMED && !self.right()),
            None => false,
        };
        if better {
            self.hit = Some(hit.clone());
        }
        self.first_violation.get_or_insert(hit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Findings, Judgement, Violation};
    use crate::engine::run::RunStatistics;

    /// A seed of `append` that violates these properties, each proved by one event.
    fn outcome(seed: u64, violated: &[(&'static str, u64)]) -> SeedOutcome {
        let judgement = |event| Judgement {
            judged: 1,
            violations: vec![Violation { argument: "A row is missing.".to_owned(), events: vec![event] }],
            ..Judgement::default()
        };
        let judgements = violated.iter().map(|(id, event)| (*id, judgement(*event))).collect();
        SeedOutcome {
            scenario: "append".to_owned(),
            seed,
            runs: 1,
            trace_hash: 0,
            statistics: RunStatistics::default(),
            findings: Findings { judgements, ..Findings::default() },
            capabilities: Vec::new(),
            trouble: None,
            canary: None,
            evidence: None,
        }
    }

    /// A search for a bug of F1 that saw these seeds.
    fn row(outcomes: &[SeedOutcome]) -> Row {
        assert_eq!(Defect::RtCached.properties(), ["F1"]);
        let mut row = Row::new(Defect::RtCached, 0);
        outcomes.iter().for_each(|outcome| row.add(outcome));
        row
    }

    #[test]
    fn only_scenarios_that_exercise_the_property_are_searched() {
        let library: Vec<&Scenario> = scenarios::library().iter().collect();
        for defect in Defect::ALL {
            let chosen = scenarios_for(*defect, &library);
            assert!(!chosen.is_empty(), "{defect}: no scenario exercises any of {:?}", defect.properties());
            let exercised = chosen.iter().all(|scenario| scenario.exercises.iter().any(|id| breaks(*defect, id)));
            assert!(exercised, "{defect}");
        }
    }

    #[test]
    fn another_property_is_remembered_and_is_no_hit() {
        let row = row(&[outcome(0, &[]), outcome(1, &[("L3", 4)])]);
        assert_eq!((row.hit.is_some(), row.right(), row.seeds), (false, false, 2));
        assert_eq!(row.first_violation.map(|hit| hit.name()), Some("append@1".to_owned()));
    }

    #[test]
    fn the_expected_property_is_right_among_the_first_and_causes_come_before_consequences() {
        let early = row(&[outcome(7, &[("L3", 3), ("F1", 1), ("F8", 9), ("L5", 2)])]);
        assert_eq!(early.hit.as_ref().map(|hit| hit.named.clone()), Some(vec!["L5", "L3", "F1", "F8"]));
        assert!(early.right());
        let late = || outcome(7, &[("L1", 3), ("L2", 4), ("F1", 1), ("L5", 2)]);
        let only_late = row(&[late()]);
        assert_eq!(only_late.hit.as_ref().map(|hit| hit.named.clone()), Some(vec!["L5", "L1", "L2", "F1"]));
        assert!(!only_late.right());
        let later = row(&[late(), late(), outcome(9, &[("F1", 1)])]);
        assert_eq!(
            (later.hit.as_ref().map(Hit::name), later.right(), later.seeds),
            (Some("append@9".to_owned()), true, 3)
        );
    }

    #[test]
    fn median_and_worst_are_those_of_searches_that_found_something() {
        let found_after = |seeds: u64| {
            let nothing = (1..seeds).map(|seed| outcome(seed, &[]));
            row(&nothing.chain([outcome(0, &[("F1", 1)])]).collect::<Vec<_>>())
        };
        let (three, nothing) = ([9, 2, 4].map(found_after), row(&[outcome(0, &[])]));
        let all: Vec<Row> = three.into_iter().chain([nothing.clone()]).collect();
        assert_eq!(seeds_to_find(&all).map(|(median, worst)| (median, worst.seeds)), Some((4, 9)));
        assert_eq!(seeds_to_find([&nothing]), None);
        assert_eq!(seeds_to_find(&all[..2]).map(|(median, _)| median), Some(2), "of two the lesser");
    }

    #[test]
    fn a_seed_in_trouble_shows_no_bug() {
        let mut troubled = outcome(3, &[("F1", 1)]);
        troubled.trouble = Some("hung".to_owned());
        let row = row(&[troubled]);
        assert_eq!((row.hit, row.troubled_seeds, row.trouble), (None, 1, Some("append@3: hung".to_owned())));
    }
}
