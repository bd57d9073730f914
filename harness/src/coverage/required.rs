//! Which points a whole campaign must have been at. All others are rare: they are listed where they were not reached,
//! and nothing follows.
//!
//! A point is required by measurement: it was reached in at least [`LEAST_SEEDS`] of the first [`MEASURED_SEEDS`] seeds
//! of a campaign over all scenarios. 1,000 seeds then miss it only if something has changed. `ci/measure-coverage.sh`
//! measures again, after points or scenarios were added, and writes the list.

use std::collections::{BTreeMap, BTreeSet};

use super::catalogue;

/// How many seeds are measured.
pub const MEASURED_SEEDS: u64 = 300;

/// A point is required if so many of them were at it.
pub const LEAST_SEEDS: u64 = 10;

/// What the file says of itself.
const COMMENT: &str = "#";

/// The list as it was measured last.
const REQUIRED: &str = include_str!("required.txt");

/// The ids of the required points.
pub(super) fn required() -> BTreeSet<&'static str> {
    REQUIRED.lines().filter(|line| !line.starts_with(COMMENT)).collect()
}

/// The list that a measurement gives: `seeds_by_point` says in how many seeds each point was reached, by id.
pub fn measured_list(seeds_by_point: &BTreeMap<&str, u64>) -> String {
    let comments = REQUIRED.lines().filter(|line| line.starts_with(COMMENT));
    let reached = |id: &&str| seeds_by_point.get(id).is_some_and(|seeds| *seeds >= LEAST_SEEDS);
    let ids = catalogue().points().map(|(_, point)| point.id.as_str()).filter(reached);
    comments.chain(ids).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_that_finds_the_same_gives_the_same_list() {
        let required = required();
        let seeds = |id: &str| if required.contains(id) { LEAST_SEEDS } else { LEAST_SEEDS - 1 };
        let seeds_by_point = catalogue().points().map(|(_, point)| (point.id.as_str(), seeds(&point.id))).collect();
        assert_eq!(measured_list(&seeds_by_point), REQUIRED);
        assert!(required.len() > 10 && measured_list(&BTreeMap::new()).lines().all(|line| line.starts_with(COMMENT)));
    }
}
