//! In how many seeds of a campaign each point of the catalogue was reached. It never knows in which order they ran.

use std::collections::BTreeMap;

use crate::coverage::{CoverageIndex, CoveragePoint, Need, Reached, catalogue};

/// The sum over a campaign's seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    seeds: BTreeMap<CoverageIndex, u64>,
}

impl Coverage {
    /// Adds one seed.
    pub fn add(&mut self, reached: &Reached) {
        for index in reached {
            *self.seeds.entry(*index).or_default() += 1;
        }
    }

    /// How many points were reached.
    pub fn reached(&self) -> usize {
        self.seeds.len()
    }

    /// The points of this need that were never reached, in catalogue order.
    pub fn missed(&self, need: Need) -> Vec<&'static CoveragePoint> {
        let missed =
            |(index, point): &(CoverageIndex, &CoveragePoint)| point.need == need && !self.seeds.contains_key(index);
        catalogue().points().filter(missed).map(|(_, point)| point).collect()
    }

    /// In how many seeds each point was reached, by id; all points.
    pub fn seeds_by_point(&self) -> BTreeMap<&'static str, u64> {
        let seeds = |index| self.seeds.get(&index).copied().unwrap_or(0);
        catalogue().points().map(|(index, point)| (point.id.as_str(), seeds(index))).collect()
    }
}

#[cfg(test)]
mod tests {
    use models::points::Point;

    use super::*;
    use crate::coverage::Catalogue;

    #[test]
    fn seeds_are_counted_once_a_point_and_the_rest_is_missed() {
        let (lost_race, refused) = (Point::CommitLostRace, Point::CommitRefused);
        let mut coverage = Coverage::default();
        for reached in [vec![lost_race, lost_race], vec![lost_race, refused], vec![]] {
            coverage.add(&reached.into_iter().map(Catalogue::of_system).collect());
        }
        assert_eq!(coverage.reached(), 2);
        let seeds = coverage.seeds_by_point();
        assert_eq!((seeds[lost_race.id()], seeds[refused.id()], seeds[Point::TailLost.id()]), (2, 1, 0));
        let missed = coverage.missed(Need::Required).len() + coverage.missed(Need::Rare).len();
        assert_eq!(missed, catalogue().count() - 2, "all others, whatever the need");
    }
}
