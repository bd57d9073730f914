//! How often each duration was seen, so that a campaign of any length needs little memory for its quantiles.

use std::collections::BTreeMap;

/// Counts of whole milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: BTreeMap<u64, u64>,
    total: u64,
}

/// What a report shows of a histogram, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Quantiles {
    /// How many samples.
    pub samples: u64,
    /// Half of the samples are at most this.
    pub p50_ms: u64,
    /// Nine of ten are at most this.
    pub p90_ms: u64,
    /// 99 of 100 are at most this.
    pub p99_ms: u64,
    /// The largest.
    pub max_ms: u64,
}

impl Histogram {
    /// Counts samples.
    pub fn extend(&mut self, samples_ms: &[u64]) {
        for sample in samples_ms {
            *self.counts.entry(*sample).or_default() += 1;
        }
        self.total += samples_ms.len() as u64;
    }

    /// Adds another histogram's counts.
    pub fn merge(&mut self, other: &Histogram) {
        for (value, count) in &other.counts {
            *self.counts.entry(*value).or_default() += count;
        }
        self.total += other.total;
    }

    /// The quantiles by nearest rank; `None` without samples.
    pub fn quantiles(&self) -> Option<Quantiles> {
        let max_ms = *self.counts.last_key_value()?.0;
        Some(Quantiles {
            samples: self.total,
            p50_ms: self.at_most(50),
            p90_ms: self.at_most(90),
            p99_ms: self.at_most(99),
            max_ms,
        })
    }

    /// The least value that `percent` of the samples do not exceed.
    fn at_most(&self, percent: u64) -> u64 {
        let rank = (self.total * percent).div_ceil(100);
        let mut seen = 0;
        for (value, count) in &self.counts {
            seen += count;
            if seen >= rank {
                return *value;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples_by_nearest_rank() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantiles(), None);
        histogram.extend(&(1..=200).rev().collect::<Vec<_>>());
        let expected = Quantiles { samples: 200, p50_ms: 100, p90_ms: 180, p99_ms: 198, max_ms: 200 };
        assert_eq!(histogram.quantiles(), Some(expected));
    }
}
