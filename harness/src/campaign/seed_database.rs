//! Seeds that failed once, kept from one campaign to the next: the next one runs them before any other.
//!
//! A text file of JSON lines, sorted, one line a seed, so that people can read it, `diff` shows what a night brought,
//! and two of them can be put together. Which of two lines about a seed is kept never depends on the order in which they
//! came. Dates and builds are what the caller says: nothing here looks at a clock.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::seed::SeedOutcome;

/// The version of the file's format.
const DATABASE_VERSION: u32 = 1;

/// The first line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    seed_database: u32,
}

/// How a seed ended when it was last run. A former variant is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeedStatus {
    /// It violates a property.
    Failing,
    /// It says nothing about the system: the harness fails, or two runs differ.
    Trouble,
    /// It failed once, and holds now.
    Held,
}

impl SeedStatus {
    /// As the file writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Trouble => "trouble",
            Self::Held => "held",
        }
    }
}

/// What is known of one seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownSeed {
    /// The scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// The ids of the bugs that were planted in the system, sorted: a seed says nothing about another system.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defects: Vec<String>,
    /// How it ended.
    pub status: SeedStatus,
    /// The property that it violates, or did when it failed; of several the one that is likeliest the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
    /// The simulated time of the event that completes the proof of it, in milliseconds; of a failing seed only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_after_ms: Option<u64>,
    /// The day on which it failed first, as YYYY-MM-DD; `None` where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_seen: Option<String>,
    /// The build that ran it last.
    pub build: String,
}

/// What identifies a line.
type Key = (String, u64, Vec<String>);

impl KnownSeed {
    fn key(&self) -> Key {
        (self.scenario.clone(), self.seed, self.defects.clone())
    }

    /// `scenario@seed`.
    pub fn name(&self) -> String {
        format!("{}@{}", self.scenario, self.seed)
    }

    /// Which of two lines about a seed is kept, the lesser: a failing one, then the one that fails sooner, then the
    /// older one. What is not known is never sooner or older. The rest only decides between lines that are as good.
    fn preference(&self, other: &Self) -> Ordering {
        fn rank(known: &KnownSeed) -> impl Ord + '_ {
            (
                known.status,
                known.failed_after_ms.is_none(),
                known.failed_after_ms,
                known.first_seen.is_none(),
                &known.first_seen,
                &known.build,
                &known.property,
            )
        }
        rank(self).cmp(&rank(other))
    }
}

/// Who runs the seeds, as the caller says it.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Today, as YYYY-MM-DD.
    pub date: Option<String>,
    /// The build.
    pub build: String,
    /// The ids of the planted bugs, sorted.
    pub defects: Vec<String>,
}

/// Known seeds, one line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeedDatabase {
    seeds: BTreeMap<Key, KnownSeed>,
}

impl SeedDatabase {
    /// Reads what [`Self::to_text`] wrote, or what somebody put together of such files: lines may come in any order, and
    /// of several about a seed one is kept. The error is a sentence that names the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut database = Self::default();
        for (place, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let number = place + 1;
            match serde_json::from_str::<Header>(line) {
                Ok(header) if header.seed_database == DATABASE_VERSION => continue,
                Ok(header) => {
                    return Err(format!(
                        "line {number}: expected a seed database of version {DATABASE_VERSION}, found version {}",
                        header.seed_database
                    ));
                }
                Err(error) if place == 0 => {
                    return Err(format!("line 1: expected {{\"seed_database\":{DATABASE_VERSION}}}, found: {error}"));
                }
                Err(_) => {}
            }
            let known: KnownSeed = serde_json::from_str(line)
                .map_err(|error| format!("line {number}: expected what is known of a seed, found: {error}"))?;
            database.add(known);
        }
        Ok(database)
    }

    /// The file's text: equal databases give equal bytes.
    pub fn to_text(&self) -> String {
        let mut text = format!("{{\"seed_database\":{DATABASE_VERSION}}}\n");
        for known in self.seeds.values() {
            text.push_str(&serde_json::to_string(known).expect("every part of a line has a JSON form"));
            text.push('\n');
        }
        text
    }

    /// All lines, by scenario, seed and planted bugs.
    pub fn seeds(&self) -> impl Iterator<Item = &KnownSeed> {
        self.seeds.values()
    }

    /// Adds another database. Whatever is merged with whatever, in any order and as often as one likes, the result is
    /// the same.
    pub fn merge(&mut self, other: &Self) {
        other.seeds.values().cloned().for_each(|known| self.add(known));
    }

    /// Adds a line, if it is preferred to the one that is there.
    fn add(&mut self, known: KnownSeed) {
        match self.seeds.get(&known.key()) {
            Some(present) if present.preference(&known).is_le() => {}
            _ => drop(self.seeds.insert(known.key(), known)),
        }
    }

    /// The seeds of a system with these planted bugs in the order in which a campaign runs them: those that fail, the
    /// soonest first, before those that hold.
    pub fn of_system(&self, defects: &[String]) -> Vec<&KnownSeed> {
        let mut known: Vec<&KnownSeed> = self.seeds.values().filter(|known| known.defects == defects).collect();
        // Stable: seeds that are as good stay in the file's order.
        known.sort_by(|left, right| left.preference(right));
        known
    }

    /// Notes how a seed ended just now. Unlike a merge, it replaces what was known: a seed that holds again is no longer
    /// failing. Only `properties` count, and a seed that never failed is not kept.
    pub fn note(&mut self, outcome: &SeedOutcome, properties: &BTreeSet<&'static str>, origin: &Origin) {
        if outcome.canary.is_some() {
            return;
        }
        let key = (outcome.scenario.clone(), outcome.seed, origin.defects.clone());
        let before = self.seeds.get(&key);
        let (status, property, failed_after_ms) = match first_failure(outcome, properties) {
            _ if outcome.trouble.is_some() => {
                (SeedStatus::Trouble, before.and_then(|known| known.property.clone()), None)
            }
            Some((property, after_ms)) => (SeedStatus::Failing, Some(property.to_owned()), after_ms),
            None => match before {
                // It failed by what is not judged now, so nothing is known anew.
                Some(known) if known.property.as_deref().is_some_and(|id| !properties.contains(id)) => return,
                Some(known) => (SeedStatus::Held, known.property.clone(), None),
                None => return,
            },
        };
        let known = KnownSeed {
            scenario: outcome.scenario.clone(),
            seed: outcome.seed,
            defects: origin.defects.clone(),
            status,
            property,
            failed_after_ms,
            first_seen: before.map_or_else(|| origin.date.clone(), |known| known.first_seen.clone()),
            build: origin.build.clone(),
        };
        self.seeds.insert(key, known);
    }
}

/// The violated property that is likeliest the cause, and the simulated time of the event that completes its proof.
fn first_failure(outcome: &SeedOutcome, properties: &BTreeSet<&'static str>) -> Option<(&'static str, Option<u64>)> {
    let property = outcome.causes_first().into_iter().find(|id| properties.contains(id))?;
    let violations = &outcome.findings.judgements.get(property)?.violations;
    let event = violations.iter().filter_map(|violation| violation.events.last()).min();
    let at_ms = |n: &u64| {
        let history = &outcome.evidence.as_ref()?.history;
        Some(history.events.get(usize::try_from(*n).ok()?)?.at_ms)
    };
    Some((property, event.and_then(at_ms)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::check::{Findings, Judgement, Violation};
    use crate::engine::run::RunStatistics;

    fn known(seed: u64, status: SeedStatus, failed_after_ms: Option<u64>, first_seen: Option<&str>) -> KnownSeed {
        KnownSeed {
            scenario: "append".to_owned(),
            seed,
            defects: Vec::new(),
            status,
            property: Some("F1".to_owned()),
            failed_after_ms,
            first_seen: first_seen.map(str::to_owned),
            build: "0.1.0".to_owned(),
        }
    }

    fn database(seeds: impl IntoIterator<Item = KnownSeed>) -> SeedDatabase {
        let mut database = SeedDatabase::default();
        seeds.into_iter().for_each(|known| database.add(known));
        database
    }

    fn merged(left: &SeedDatabase, right: &SeedDatabase) -> SeedDatabase {
        let mut merged = left.clone();
        merged.merge(right);
        merged
    }

    /// Databases of few seeds, so that their lines meet.
    fn databases() -> impl Strategy<Value = SeedDatabase> {
        let status = prop::sample::select(vec![SeedStatus::Failing, SeedStatus::Trouble, SeedStatus::Held]);
        let day = prop::option::of(prop::sample::select(vec!["2026-01-02", "2026-01-03"]));
        let property = prop::option::of(prop::sample::select(vec!["F1", "L3"]));
        let line = (0..3_u64, 0..2_usize, status, property, prop::option::of(0..3_u64), day, 0..2_u8).prop_map(
            |(seed, planted, status, property, failed_after_ms, day, build)| KnownSeed {
                defects: vec!["rt-cached".to_owned(); planted],
                property: property.map(str::to_owned),
                build: format!("0.{build}"),
                ..known(seed, status, failed_after_ms, day)
            },
        );
        prop::collection::vec(line, 0..8).prop_map(database)
    }

    proptest! {
        #[test]
        fn merging_is_commutative_associative_and_idempotent(a in databases(), b in databases(), c in databases()) {
            prop_assert_eq!(merged(&a, &b), merged(&b, &a));
            prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
            prop_assert_eq!(&merged(&a, &a), &a);
            prop_assert_eq!(merged(&merged(&a, &b), &b), merged(&a, &b));
        }

        #[test]
        fn a_database_is_read_back_and_files_put_together_are_merged(a in databases(), b in databases()) {
            prop_assert_eq!(SeedDatabase::parse(&a.to_text()), Ok(a.clone()));
            let together = format!("{}{}", a.to_text(), b.to_text());
            prop_assert_eq!(SeedDatabase::parse(&together), Ok(merged(&a, &b)));
        }
    }

    #[test]
    fn failing_is_preferred_then_the_fastest_then_the_oldest() {
        use SeedStatus::{Failing, Held, Trouble};
        let in_order = [
            known(1, Failing, Some(20), Some("2026-01-02")),
            known(1, Failing, Some(20), Some("2026-01-03")),
            known(1, Failing, Some(20), None),
            known(1, Failing, Some(21), Some("2025-01-01")),
            known(1, Failing, None, Some("2025-01-01")),
            known(1, Trouble, None, Some("2025-01-01")),
            known(1, Held, None, Some("2024-01-01")),
        ];
        for (place, better) in in_order.iter().enumerate() {
            for worse in &in_order[place..] {
                let kept = merged(&database([worse.clone()]), &database([better.clone()]));
                assert_eq!(kept, database([better.clone()]), "{worse:?}");
            }
        }
    }

    #[test]
    fn the_file_is_sorted_text_and_a_campaign_runs_the_fastest_failure_first() {
        use SeedStatus::{Failing, Held};
        let planted = KnownSeed { defects: vec!["rt-cached".to_owned()], ..known(4, Failing, Some(1), None) };
        let seeds = [known(11, Failing, Some(20), None), known(2, Held, None, None), known(9, Failing, Some(5), None)];
        let database = database(seeds.into_iter().chain([planted]));
        let text = database.to_text();
        let line =
            r#"{"scenario":"append","seed":9,"status":"failing","property":"F1","failed_after_ms":5,"build":"0.1.0"}"#;
        assert_eq!(text.lines().nth(3), Some(line), "{text}");
        let run: Vec<u64> = database.of_system(&[]).iter().map(|known| known.seed).collect();
        assert_eq!(run, [9, 11, 2], "and none of another system");
    }

    #[test]
    fn what_is_no_database_is_refused_by_its_line() {
        for (text, part) in [
            ("append@3", "line 1: expected {\"seed_database\":1}"),
            ("{\"seed_database\":2}", "line 1: expected a seed database of version 1, found version 2"),
            ("{\"seed_database\":1}\n\n{\"scenario\":\"append\"}", "line 3: expected what is known of a seed"),
        ] {
            let refused = SeedDatabase::parse(text).unwrap_err();
            assert!(refused.contains(part), "{text}: {refused}");
        }
        assert_eq!(SeedDatabase::parse(""), Ok(SeedDatabase::default()), "a file that somebody touched");
    }

    #[test]
    fn a_seed_is_kept_when_it_fails_and_stays_when_it_holds_again() {
        let outcome = |violated: bool| {
            let violation = Violation { argument: "A row is missing.".to_owned(), events: vec![1] };
            let judgement =
                Judgement { judged: 1, violations: vec![violation; usize::from(violated)], ..Judgement::default() };
            SeedOutcome {
                scenario: "append".to_owned(),
                seed: 7,
                runs: 1,
                trace_hash: 0,
                statistics: RunStatistics::default(),
                findings: Findings { judgements: [("L1", judgement)].into(), ..Findings::default() },
                capabilities: Vec::new(),
                trouble: None,
                canary: None,
                evidence: None,
            }
        };
        let on = |day: &str| Origin { date: Some(day.to_owned()), build: format!("of {day}"), defects: Vec::new() };
        let (all, others) = (BTreeSet::from(["L1", "F1"]), BTreeSet::from(["F1"]));
        let mut database = SeedDatabase::default();
        let mut note = |violated, properties, day: &str| {
            database.note(&outcome(violated), properties, &on(day));
            database
                .seeds()
                .map(|known| (known.status, known.first_seen.clone(), known.build.clone()))
                .collect::<Vec<_>>()
        };
        let line = |status, day: &str| vec![(status, Some("2026-02-02".to_owned()), format!("of {day}"))];
        assert_eq!(note(false, &all, "2026-02-01"), [], "it never failed");
        assert_eq!(note(true, &others, "2026-02-01"), [], "the campaign is about something else");
        assert_eq!(note(true, &all, "2026-02-02"), line(SeedStatus::Failing, "2026-02-02"));
        assert_eq!(note(false, &others, "2026-02-03"), line(SeedStatus::Failing, "2026-02-02"), "L1 was not judged");
        assert_eq!(note(false, &all, "2026-02-04"), line(SeedStatus::Held, "2026-02-04"));
        assert_eq!(note(true, &all, "2026-02-05"), line(SeedStatus::Failing, "2026-02-05"));
    }
}
