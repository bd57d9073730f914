//! What a whole campaign found, seed by seed added up.
//!
//! Outcomes are added in schedule order, so the sum is the same whatever number of workers made them. It never knows
//! time or machine.

use std::collections::{BTreeMap, BTreeSet};

use models::defects::Defect;
use xxhash_rust::xxh3::xxh3_128;

use super::coverage::Coverage;
use super::histogram::Histogram;
use super::seed::{Evidence, SeedOutcome};
use crate::check::Violation;
use crate::check::properties::{self, Property};
use crate::coverage::{Catalogue, EnginePoint};

/// A run with at least so many statements counts as a long one.
pub const LONG_RUN_STATEMENTS: u64 = 200;

/// A campaign's sum.
#[derive(Debug)]
pub struct Tally {
    /// By scenario name.
    pub scenarios: BTreeMap<String, ScenarioTally>,
    /// By property id; every property of the registry has an entry.
    pub properties: BTreeMap<&'static str, PropertyTally>,
    /// Seeds that say nothing about the system, in order.
    pub troubles: Vec<Trouble>,
    /// The failing seeds that are kept for bundles, in order.
    pub kept: Vec<KeptSeed>,
    /// What the system says that it can do.
    pub capabilities: BTreeSet<String>,
    /// Sums over all runs.
    pub totals: Totals,
    /// What was reached.
    pub coverage: Coverage,
    /// How many canaries were found. One that was not is trouble.
    pub canaries_found: u64,
    /// Whether somebody ended the campaign before its end: then it says what was violated, and never that all held.
    pub interrupted: bool,
    digest: u128,
    kept_per_property: u64,
}

/// One scenario's share.
#[derive(Debug, Default)]
pub struct ScenarioTally {
    /// How many seeds.
    pub seeds: u64,
    /// The least and the greatest seed.
    pub extent: Option<(u64, u64)>,
    /// How many seeds violated something.
    pub failing_seeds: u64,
    /// How many ended in trouble.
    pub troubled_seeds: u64,
    /// For how long `t$rt` reads still missed an acked write.
    pub real_time: Histogram,
    /// From ack to the lake.
    pub lake: Histogram,
}

/// One property's share.
#[derive(Debug, Default)]
pub struct PropertyTally {
    /// How many judgements that could have failed.
    pub judged: u64,
    /// In how many seeds there was one.
    pub seeds_exercised: u64,
    /// How many judgements the evidence did not decide.
    pub undecided: u64,
    /// How many judgements failed.
    pub violations: u64,
    /// In how many seeds one failed.
    pub failing_seeds: u64,
    /// The first of them, as many as are kept.
    pub failures: Vec<Failing>,
    /// What happened where the texts are silent, and in how many seeds.
    pub notes: BTreeMap<String, u64>,
}

/// One seed that violated a property.
#[derive(Clone, Debug)]
pub struct Failing {
    /// `scenario@seed`.
    pub seed: String,
    /// Its first violation of the property.
    pub violation: Violation,
}

/// One seed that says nothing about the system.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// `scenario@seed`.
    pub seed: String,
    /// What went wrong.
    pub message: String,
    /// The bug that was planted in it, if it is a canary that passed.
    pub canary: Option<Defect>,
}

/// A failing seed with all that its bundle needs.
#[derive(Debug)]
pub struct KeptSeed {
    /// The scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Of the first run.
    pub trace_hash: u128,
    /// By property.
    pub violations: BTreeMap<&'static str, Vec<Violation>>,
    /// Plan and history.
    pub evidence: Evidence,
}

impl KeptSeed {
    /// What a bundle needs of this seed; `None` if trouble left no evidence.
    pub fn of(outcome: SeedOutcome) -> Option<Self> {
        let violated =
            outcome.findings.judgements.into_iter().filter(|(_, judgement)| !judgement.violations.is_empty());
        Some(Self {
            scenario: outcome.scenario,
            seed: outcome.seed,
            trace_hash: outcome.trace_hash,
            violations: violated.map(|(id, judgement)| (id, judgement.violations)).collect(),
            evidence: *outcome.evidence?,
        })
    }
}

/// Sums over all seeds.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// (scenario, seed) pairs.
    pub seeds: u64,
    /// Executions of them: two of each seed that was run twice.
    pub runs: u64,
    /// Seeds without trouble; the sums below are over the first run of each.
    pub judged_seeds: u64,
    /// Runs with at least [`LONG_RUN_STATEMENTS`].
    pub long_runs: u64,
    /// Statements that sessions executed.
    pub statements: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Writes that were acked.
    pub writes_acked: u64,
    /// Tiering rounds that ended in a commit.
    pub rounds_committed: u64,
    /// Calls between the parts of the system.
    pub port_calls: u64,
    /// Data files written.
    pub data_files: u64,
    /// Seeds in which at least one fault struck.
    pub seeds_with_fault: u64,
    /// Seeds in which a worker, the store or the coordinator died between a lake commit and its registration.
    pub seeds_with_crash_after_commit: u64,
    /// Faults that struck, by kind.
    pub faults_by_kind: BTreeMap<&'static str, u64>,
}

/// What is said about a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A judgement failed.
    Violated,
    /// There were judgements, and the evidence decided none.
    Inconclusive,
    /// Every judgement passed.
    Held,
    /// The texts are silent about what happened.
    Noted,
    /// Nothing happened that could be judged.
    NotExercised,
    /// This version does not judge it, or the system lacks the capability.
    NotTested,
}

impl Verdict {
    /// As reports write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Violated => "violated",
            Self::Inconclusive => "inconclusive",
            Self::Held => "held",
            Self::Noted => "noted",
            Self::NotExercised => "not exercised",
            Self::NotTested => "not tested",
        }
    }
}

impl PropertyTally {
    /// The verdict on `property`, whose sum this is. A missing capability excuses silence, never a failed judgement.
    fn verdict(&self, property: &Property, capable: bool) -> Verdict {
        if !property.judged {
            Verdict::NotTested
        } else if self.violations > 0 {
            Verdict::Violated
        } else if self.judged > 0 {
            Verdict::Held
        } else if self.undecided > 0 {
            Verdict::Inconclusive
        } else if !self.notes.is_empty() {
            Verdict::Noted
        } else if !capable {
            Verdict::NotTested
        } else {
            Verdict::NotExercised
        }
    }
}

impl Tally {
    /// An empty sum that will keep `kept_per_property` failing seeds of each property.
    pub fn new(kept_per_property: u64) -> Self {
        Self {
            scenarios: BTreeMap::new(),
            properties: properties::ALL.iter().map(|property| (property.id, PropertyTally::default())).collect(),
            troubles: Vec::new(),
            kept: Vec::new(),
            capabilities: BTreeSet::new(),
            totals: Totals::default(),
            coverage: Coverage::default(),
            canaries_found: 0,
            interrupted: false,
            digest: 0,
            kept_per_property,
        }
    }

    /// How many seeds were run, the places of canaries that were found included.
    pub fn seeds_with_canaries(&self) -> u64 {
        self.totals.seeds + self.canaries_found
    }

    /// Adds what a canary came to. Nothing of it counts but whether its bug was seen.
    fn add_canary(&mut self, outcome: &SeedOutcome, defect: Defect) {
        if outcome.trouble.is_none() && outcome.violated().any(|id| defect.properties().contains(&id)) {
            self.canaries_found += 1;
            return;
        }
        let expected = defect.properties().join(" or ");
        let message = match &outcome.trouble {
            Some(trouble) => format!("the canary {defect} did not come to its end: {trouble}"),
            None => format!("the canary {defect} passed: expected a violation of {expected}"),
        };
        self.troubles.push(Trouble { seed: outcome.name(), message, canary: Some(defect) });
    }

    /// Adds the next seed in schedule order; only `properties` count.
    pub fn add(&mut self, mut outcome: SeedOutcome, properties: &BTreeSet<&'static str>) {
        if let Some(defect) = outcome.canary {
            return self.add_canary(&outcome, defect);
        }
        outcome.findings.judgements.retain(|id, _| properties.contains(id));
        let name = outcome.name();
        let chained = [&self.digest.to_be_bytes()[..], &outcome.trace_hash.to_be_bytes()[..], name.as_bytes()].concat();
        self.digest = xxh3_128(&chained);
        self.totals.seeds += 1;
        self.totals.runs += outcome.runs;
        let scenario = self.scenarios.entry(outcome.scenario.clone()).or_default();
        scenario.seeds += 1;
        scenario.extent = Some(match scenario.extent {
            None => (outcome.seed, outcome.seed),
            Some((least, greatest)) => (least.min(outcome.seed), greatest.max(outcome.seed)),
        });
        if let Some(message) = outcome.trouble {
            scenario.troubled_seeds += 1;
            self.troubles.push(Trouble { seed: name, message, canary: None });
            return;
        }
        scenario.failing_seeds += u64::from(outcome.violated().next().is_some());
        scenario.real_time.extend(&outcome.findings.freshness.real_time_ms);
        scenario.lake.extend(&outcome.findings.freshness.lake_ms);
        self.capabilities.extend(outcome.capabilities.iter().cloned());
        self.totals.add(&outcome);
        self.coverage.add(&outcome.statistics.reached);
        if self.add_judgements(&name, &outcome)
            && let Some(kept) = KeptSeed::of(outcome)
        {
            self.kept.push(kept);
        }
    }

    /// Adds one seed's judgements; `true` if it is to be kept.
    fn add_judgements(&mut self, name: &str, outcome: &SeedOutcome) -> bool {
        let mut keep = false;
        for (id, judgement) in &outcome.findings.judgements {
            let property = self.properties.entry(id).or_default();
            property.judged += judgement.judged;
            property.seeds_exercised += u64::from(judgement.judged > 0);
            property.undecided += judgement.undecided;
            property.violations += judgement.violations.len() as u64;
            // The judges have few words for notes and use each once a run.
            for note in &judgement.notes {
                *property.notes.entry(note.clone()).or_default() += 1;
            }
            if let Some(violation) = judgement.violations.first() {
                property.failing_seeds += 1;
                if (property.failures.len() as u64) < self.kept_per_property {
                    property.failures.push(Failing { seed: name.to_owned(), violation: violation.clone() });
                    keep = true;
                }
            }
        }
        keep
    }

    /// A hash over the trace hashes of all seeds in schedule order.
    pub fn digest(&self) -> u128 {
        self.digest
    }

    /// Freshness over all scenarios: real-time reads, the lake.
    pub fn freshness(&self) -> (Histogram, Histogram) {
        let mut real_time = Histogram::default();
        let mut lake = Histogram::default();
        for scenario in self.scenarios.values() {
            real_time.merge(&scenario.real_time);
            lake.merge(&scenario.lake);
        }
        (real_time, lake)
    }

    /// The verdict on one property.
    pub fn verdict(&self, property: &Property) -> Verdict {
        let nothing = PropertyTally::default();
        let tally = self.properties.get(property.id).unwrap_or(&nothing);
        tally.verdict(property, self.missing_capability(property).is_none())
    }

    /// The capability without which the system is not tested for a property, if it does not declare it.
    fn missing_capability(&self, property: &Property) -> Option<&'static str> {
        property.capability.filter(|capability| !self.capabilities.contains(*capability))
    }

    /// Why a property is not tested; `None` if it is.
    pub fn why_not_tested(&self, property: &Property) -> Option<String> {
        if self.verdict(property) != Verdict::NotTested {
            return None;
        }
        Some(match self.missing_capability(property) {
            Some(capability) if property.judged => format!("the system does not declare {capability}"),
            _ => "not judged by this version".to_owned(),
        })
    }
}

impl Totals {
    /// Adds one run.
    fn add(&mut self, outcome: &SeedOutcome) {
        let run = &outcome.statistics;
        self.judged_seeds += 1;
        self.long_runs += u64::from(run.statements >= LONG_RUN_STATEMENTS);
        self.statements += run.statements;
        self.reads += run.reads;
        self.writes += run.writes;
        self.writes_acked += run.writes_acked;
        self.rounds_committed += run.rounds_committed;
        self.port_calls += run.port_calls;
        self.data_files += run.data_files;
        self.seeds_with_fault += u64::from(run.faults_fired > 0);
        let crash_after_commit = Catalogue::of_engine(EnginePoint::CrashAfterCommit);
        self.seeds_with_crash_after_commit += u64::from(run.reached.contains(&crash_after_commit));
        for (kind, count) in &run.fired_by_kind {
            *self.faults_by_kind.entry(kind).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Findings, Judgement, properties};
    use crate::engine::run::RunStatistics;

    fn outcome(seed: u64, judgements: &[(&'static str, Judgement)]) -> SeedOutcome {
        SeedOutcome {
            scenario: "steady".to_owned(),
            seed,
            runs: 1,
            trace_hash: u128::from(seed),
            statistics: RunStatistics::default(),
            findings: Findings { judgements: judgements.iter().cloned().collect(), ..Findings::default() },
            capabilities: Vec::new(),
            trouble: None,
            canary: None,
            evidence: None,
        }
    }

    fn failed() -> Judgement {
        let violation = Violation { argument: "Row w1 appears twice.".to_owned(), events: vec![1, 4] };
        Judgement { judged: 2, violations: vec![violation], ..Judgement::default() }
    }

    fn passed() -> Judgement {
        Judgement { judged: 3, ..Judgement::default() }
    }

    fn property(id: &str) -> &'static Property {
        properties::ALL.iter().find(|property| property.id == id).unwrap()
    }

    fn tally(outcomes: Vec<SeedOutcome>) -> Tally {
        let ids = properties::ALL.iter().map(|property| property.id).collect();
        let mut tally = Tally::new(2);
        for outcome in outcomes {
            tally.add(outcome, &ids);
        }
        tally
    }

    #[test]
    fn the_worst_is_the_verdict() {
        let undecided = || Judgement { undecided: 1, ..Judgement::default() };
        let noted = || Judgement { notes: vec!["a drop".to_owned()], ..Judgement::default() };
        for (judgements, expected) in [
            (vec![], Verdict::NotExercised),
            (vec![noted()], Verdict::Noted),
            (vec![noted(), undecided()], Verdict::Inconclusive),
            (vec![noted(), undecided(), passed()], Verdict::Held),
            (vec![passed(), failed(), passed(), undecided()], Verdict::Violated),
        ] {
            let outcomes = judgements.into_iter().enumerate();
            let outcomes = outcomes.map(|(seed, judgement)| outcome(seed as u64, &[("L3", judgement)])).collect();
            assert_eq!(tally(outcomes).verdict(property("L3")), expected);
        }
    }

    #[test]
    fn failures_beyond_the_limit_are_counted() {
        let tally = tally((0..5).map(|seed| outcome(seed, &[("L3", failed()), ("F1", passed())])).collect());
        let property = &tally.properties["L3"];
        assert_eq!((property.failing_seeds, property.failures.len()), (5, 2));
        assert_eq!(property.failures[0].seed, "steady@0");
        assert_eq!((property.judged, property.seeds_exercised), (10, 5));
        assert_eq!(tally.properties["F1"].failing_seeds, 0);
    }

    #[test]
    fn a_troubled_seed_says_nothing_about_the_system() {
        let mut troubled = outcome(0, &[("L3", failed())]);
        troubled.trouble = Some("not deterministic".to_owned());
        let tally = tally(vec![troubled]);
        assert_eq!(tally.verdict(property("L3")), Verdict::NotExercised);
        assert_eq!(tally.troubles[0].seed, "steady@0");
        assert_eq!((tally.totals.seeds, tally.totals.judged_seeds), (1, 0));
    }

    #[test]
    fn a_canary_counts_only_by_its_own_property() {
        let canary = |judgements: &[(&'static str, Judgement)]| SeedOutcome {
            canary: Some(Defect::RtCached),
            ..outcome(3, judgements)
        };
        let found = tally(vec![canary(&[("F1", failed())])]);
        assert_eq!((found.canaries_found, found.troubles.len(), found.totals.seeds), (1, 0, 0));
        assert_eq!(found.verdict(property("F1")), Verdict::NotExercised, "the bug is not the system's");
        let passed_by = tally(vec![canary(&[("F1", passed()), ("L3", failed())])]);
        assert_eq!(passed_by.canaries_found, 0);
        assert!(passed_by.troubles[0].message.starts_with("the canary rt-cached passed: expected a violation of F1"));
    }

    #[test]
    fn the_digest_depends_on_every_run() {
        let digest = |seeds: &[u64]| tally(seeds.iter().map(|seed| outcome(*seed, &[])).collect()).digest();
        assert_eq!(digest(&[1, 2, 3]), digest(&[1, 2, 3]));
        assert_ne!(digest(&[1, 2, 3]), digest(&[1, 2, 4]));
        assert_ne!(digest(&[1, 2]), digest(&[1, 2, 3]));
    }
}
