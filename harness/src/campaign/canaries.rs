//! Canaries: seeds that are known to show a planted bug, run among a campaign's own. One that passes says that this
//! campaign, on this machine, with these judges, finds nothing.
//!
//! A campaign takes them from what the kill matrix recorded. Which pairs give way to one depends on scenario and seed
//! only, so it never knows how many workers there are.

use std::collections::{BTreeMap, BTreeSet};

use models::defects::{Defect, Defects};
use scenarios::scenario::Scenario;
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::schedule::{Pair, seed_of};
use super::seed::{SeedOutcome, run_seed};

/// One pair in so many gives way to a canary.
const ONE_IN: u64 = 100;

/// Keeps this draw apart from the one of pairs that are run twice.
const SITE: &[u8] = b"canary";

/// A seed that shows a bug.
#[derive(Clone, Copy, Debug)]
pub struct Canary {
    /// The bug.
    pub defect: Defect,
    /// The scenario that shows it.
    pub scenario: &'static Scenario,
    /// On this seed.
    pub seed: u64,
}

/// The canaries of a file; none replaces nothing.
#[derive(Clone, Debug, Default)]
pub struct Canaries {
    canaries: Vec<Canary>,
    /// Scenario and seed of pairs that none replaces.
    spared: BTreeSet<(String, u64)>,
}

impl Canaries {
    /// Reads what [`record`] wrote. The error is one sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let entries: BTreeMap<String, String> = serde_json::from_str(text)
            .map_err(|error| format!("expected an object of defect and scenario@seed: {error}"))?;
        if entries.is_empty() {
            return Err("expected at least one canary, found none".to_owned());
        }
        let canary = |(id, seed): (&String, &String)| {
            let defect = id.parse::<Defect>()?;
            let (name, number) =
                seed.rsplit_once('@').ok_or_else(|| format!("{id}: expected scenario@seed, found {seed:?}"))?;
            let scenario = scenarios::find(name).map_err(|_| format!("{id}: there is no scenario {name:?}"))?;
            Ok(Canary { defect, scenario, seed: seed_of(number) })
        };
        let canaries = entries.iter().map(canary).collect::<Result<_, String>>()?;
        Ok(Self { canaries, spared: BTreeSet::new() })
    }

    /// The same, and these pairs of scenario and seed give way to none: somebody wants to know what they come to.
    pub fn sparing(self, spared: impl IntoIterator<Item = (String, u64)>) -> Self {
        Self { spared: spared.into_iter().collect(), ..self }
    }

    /// The canary that is run in place of this pair of this scenario, if one is.
    pub fn in_place_of(&self, scenario: &str, pair: Pair) -> Option<Canary> {
        let drawn = xxh3_64_with_seed(&[SITE, scenario.as_bytes()].concat(), pair.seed);
        let count = self.canaries.len() as u64;
        if count == 0 || !drawn.is_multiple_of(ONE_IN) || self.spared.contains(&(scenario.to_owned(), pair.seed)) {
            return None;
        }
        Some(self.canaries[(drawn / ONE_IN % count) as usize])
    }
}

impl Canary {
    /// Runs it, once. What it is asked is only whether its bug is seen.
    pub fn run(self) -> SeedOutcome {
        let planted = Defects::from_iter([self.defect]);
        let outcome = run_seed(&self.scenario.name, self.seed, || self.scenario.plan(self.seed), &planted, false);
        SeedOutcome { canary: Some(self.defect), ..outcome }
    }
}

/// The file of what a kill matrix found: bug and seed.
pub fn record(found: impl IntoIterator<Item = (Defect, String)>) -> Value {
    let entries: Map<String, Value> =
        found.into_iter().map(|(defect, seed)| (defect.id().to_owned(), seed.into())).collect();
    Value::Object(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canaries() -> Canaries {
        let found = [(Defect::RtCached, "append@0".to_owned()), (Defect::TwoHolders, "network@4".to_owned())];
        Canaries::parse(&record(found).to_string()).unwrap()
    }

    #[test]
    fn about_one_pair_in_a_hundred_gives_way_and_every_canary_gets_its_turn() {
        let canaries = canaries();
        let pairs = (0..4_000).map(|seed| Pair { scenario: 0, seed });
        let drawn: Vec<Canary> = pairs.filter_map(|pair| canaries.in_place_of("append", pair)).collect();
        assert!((20..=60).contains(&drawn.len()), "{} of 4,000", drawn.len());
        for defect in [Defect::RtCached, Defect::TwoHolders] {
            assert!(drawn.iter().any(|canary| canary.defect == defect), "{defect}");
        }
        let nobody = Canaries::default();
        assert!((0..4_000).all(|seed| nobody.in_place_of("append", Pair { scenario: 0, seed }).is_none()));
    }

    #[test]
    fn a_pair_that_somebody_asks_for_gives_way_to_none() {
        let gives_way =
            |canaries: &Canaries, seed| canaries.in_place_of("append", Pair { scenario: 0, seed }).is_some();
        let replaced = (0..4_000).find(|seed| gives_way(&canaries(), *seed)).unwrap();
        assert!(!gives_way(&canaries().sparing([("append".to_owned(), replaced)]), replaced));
    }

    #[test]
    fn a_file_that_names_nothing_known_is_refused() {
        for (text, part) in [
            ("[]", "an object of defect and scenario@seed"),
            ("{}", "at least one canary"),
            (r#"{"rt-cache":"append@0"}"#, "rt-cache"),
            (r#"{"rt-cached":"append"}"#, "scenario@seed"),
            (r#"{"rt-cached":"nowhere@1"}"#, "no scenario \"nowhere\""),
        ] {
            let refused = Canaries::parse(text).unwrap_err();
            assert!(refused.contains(part), "{text}: {refused}");
        }
    }

    #[test]
    fn a_canary_shows_its_bug() {
        let canary = canaries().canaries.into_iter().find(|canary| canary.defect == Defect::RtCached).unwrap();
        let outcome = canary.run();
        assert_eq!(outcome.canary, Some(Defect::RtCached));
        assert!(outcome.violated().any(|id| Defect::RtCached.properties().contains(&id)));
    }
}
