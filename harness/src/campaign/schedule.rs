//! Which seeds of which scenarios a campaign runs, and in which order.
//!
//! The order depends on the scenarios, their weights and the range only. It never knows how many workers there are, nor
//! what a run found.

use std::collections::BTreeSet;
use std::ops::Range;
use std::vec::IntoIter;

use xxhash_rust::xxh3::xxh3_64;

/// How many seeds, or which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeedRange {
    /// So many in all, spread over the scenarios by weight; each scenario counts from 0.
    Total(u64),
    /// Each of these with every scenario.
    Each(Range<u64>),
    /// As `Total`, without an end: somebody else says when to stop.
    Unlimited,
}

/// A part of a campaign, to be run on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from 0.
    pub index: u64,
    /// Of how many; more than `index`.
    pub of: u64,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Shard = Shard { index: 0, of: 1 };

    /// Whether this part has the pair. Both numbers count, so that every shard gets seeds of every scenario.
    fn has(self, pair: Pair) -> bool {
        (pair.seed % self.of + pair.scenario as u64 % self.of) % self.of == self.index
    }
}

/// One (scenario, seed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The scenario's place in the schedule's list.
    pub scenario: usize,
    /// The seed.
    pub seed: u64,
}

/// The pairs of a campaign in order.
///
/// Scenarios take turns, a heavier one more often, so that any beginning of the schedule has all of them.
#[derive(Clone, Debug)]
pub struct Schedule {
    turns: Vec<Turn>,
    range: SeedRange,
    shard: Shard,
    issued: u64,
    /// What still goes before the range.
    first: IntoIter<Pair>,
    /// All that goes before the range: it is not run again in it.
    not_again: BTreeSet<Pair>,
}

/// A scenario's claim to the next turn.
#[derive(Clone, Debug)]
struct Turn {
    weight: i128,
    credit: i128,
    next_seed: u64,
}

impl Schedule {
    /// The schedule for scenarios of these weights. A weight of 0 counts as 1.
    pub fn new(weights: &[u64], range: SeedRange, shard: Shard) -> Self {
        let turns = weights
            .iter()
            .map(|weight| Turn { weight: i128::from((*weight).max(1)), credit: 0, next_seed: 0 })
            .collect();
        Self { turns, range, shard, issued: 0, first: Vec::new().into_iter(), not_again: BTreeSet::new() }
    }

    /// The same, with each scenario counting from `seed` where it would count from 0. A range stays where it is.
    pub fn beginning_at(mut self, seed: u64) -> Self {
        self.turns.iter_mut().for_each(|turn| turn.next_seed = seed);
        self
    }

    /// The same, with these pairs before all others. One that the range has as well is run once.
    pub fn preceded_by(mut self, first: Vec<Pair>) -> Self {
        self.not_again = first.iter().copied().collect();
        self.first = first.into_iter();
        self
    }

    /// How many pairs there will be; `None` if there is no end.
    pub fn size(&self) -> Option<u64> {
        match &self.range {
            SeedRange::Unlimited => None,
            _ if self.shard == Shard::WHOLE && self.not_again.is_empty() => Some(self.size_of_whole()),
            // Others count their part by walking the whole, so they say nothing about a campaign without a near end.
            _ if self.size_of_whole() > 10_000_000 => None,
            _ => Some(self.clone().count() as u64),
        }
    }

    /// How many pairs all shards have together. 0 where there is no end.
    fn size_of_whole(&self) -> u64 {
        match &self.range {
            SeedRange::Total(total) if !self.turns.is_empty() => *total,
            SeedRange::Each(seeds) => seeds.end.saturating_sub(seeds.start).saturating_mul(self.turns.len() as u64),
            _ => 0,
        }
    }

    /// The next pair of the whole campaign.
    fn next_of_whole(&mut self) -> Option<Pair> {
        if self.turns.is_empty() || (self.range != SeedRange::Unlimited && self.issued >= self.size_of_whole()) {
            return None;
        }
        let number = self.issued;
        self.issued += 1;
        match &self.range {
            SeedRange::Each(seeds) => {
                let scenarios = self.turns.len() as u64;
                Some(Pair { scenario: (number % scenarios) as usize, seed: seeds.start + number / scenarios })
            }
            _ => Some(self.next_by_weight()),
        }
    }

    /// Everyone earns its weight, the richest gets the turn and pays for all.
    fn next_by_weight(&mut self) -> Pair {
        let total: i128 = self.turns.iter().map(|turn| turn.weight).sum();
        let mut richest = 0;
        for index in 0..self.turns.len() {
            self.turns[index].credit += self.turns[index].weight;
            if self.turns[index].credit > self.turns[richest].credit {
                richest = index;
            }
        }
        let turn = &mut self.turns[richest];
        turn.credit -= total;
        let seed = turn.next_seed;
        turn.next_seed = seed.wrapping_add(1);
        Pair { scenario: richest, seed }
    }
}

impl Iterator for Schedule {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        let shard = self.shard;
        if let Some(pair) = self.first.find(|pair| shard.has(*pair)) {
            return Some(pair);
        }
        loop {
            let pair = self.next_of_whole()?;
            if shard.has(pair) && !self.not_again.contains(&pair) {
                return Some(pair);
            }
        }
    }
}

/// A seed as people write it: a number is itself, any other text (a commit hash, say) is hashed.
pub fn seed_of(text: &str) -> u64 {
    // The largest number has no range that ends behind it, so it counts as text.
    text.parse().ok().filter(|seed| *seed < u64::MAX).unwrap_or_else(|| xxh3_64(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(weights: &[u64], range: SeedRange) -> Vec<(usize, u64)> {
        Schedule::new(weights, range, Shard::WHOLE).map(|pair| (pair.scenario, pair.seed)).collect()
    }

    #[test]
    fn a_total_is_spread_by_weight_and_interleaved() {
        assert_eq!(
            pairs(&[2, 1], SeedRange::Total(6)),
            [(0, 0), (1, 0), (0, 1), (0, 2), (1, 1), (0, 3)],
            "twice as many of the first, never all at once"
        );
    }

    #[test]
    fn a_total_may_begin_at_any_seed() {
        let late = Schedule::new(&[2, 1], SeedRange::Total(3), Shard::WHOLE).beginning_at(70);
        assert_eq!(late.map(|pair| (pair.scenario, pair.seed)).collect::<Vec<_>>(), [(0, 70), (1, 70), (0, 71)]);
    }

    #[test]
    fn a_range_is_run_with_every_scenario() {
        assert_eq!(pairs(&[5, 1], SeedRange::Each(7..9)), [(0, 7), (1, 7), (0, 8), (1, 8)]);
    }

    #[test]
    fn shards_part_the_campaign() {
        let whole = pairs(&[3, 2, 2], SeedRange::Total(100));
        let mut parts = Vec::new();
        for index in 0..3 {
            let schedule = Schedule::new(&[3, 2, 2], SeedRange::Total(100), Shard { index, of: 3 });
            let expected = schedule.size();
            let part: Vec<_> = schedule.map(|pair| (pair.scenario, pair.seed)).collect();
            assert_eq!(Some(part.len() as u64), expected);
            for scenario in 0..3 {
                assert!(part.iter().any(|pair| pair.0 == scenario), "shard {index} has scenario {scenario}");
            }
            parts.extend(part);
        }
        parts.sort_unstable();
        let mut sorted = whole;
        sorted.sort_unstable();
        assert_eq!(parts, sorted);
    }

    #[test]
    fn pairs_that_go_first_are_run_once() {
        let first = vec![Pair { scenario: 1, seed: 9 }, Pair { scenario: 0, seed: 1 }];
        let of = |shard| Schedule::new(&[2, 1], SeedRange::Total(6), shard).preceded_by(first.clone());
        let run: Vec<_> = of(Shard::WHOLE).map(|pair| (pair.scenario, pair.seed)).collect();
        assert_eq!(run, [(1, 9), (0, 1), (0, 0), (1, 0), (0, 2), (1, 1), (0, 3)]);
        assert_eq!(of(Shard::WHOLE).size(), Some(7));
        let parts = [0, 1].map(|index| of(Shard { index, of: 2 }).count());
        assert_eq!(parts.iter().sum::<usize>(), 7, "each is in one shard");
    }

    #[test]
    fn a_longer_campaign_begins_like_a_shorter_one() {
        let long = pairs(&[4, 3, 1], SeedRange::Total(50));
        assert_eq!(pairs(&[4, 3, 1], SeedRange::Total(20)), long[..20]);
    }

    #[test]
    fn a_seed_is_a_number_or_any_text() {
        assert_eq!(seed_of("17"), 17);
        assert_ne!(seed_of("604b0d2"), seed_of("9c2b6fd"));
        assert_eq!(seed_of("604b0d2"), seed_of("604b0d2"));
    }
}
