//! Which sorted runs of a bucket are compacted together, and to which level: Paimon's universal compaction.
//!
//! A pick is always a number of runs from the newest on. So whatever is left is older than the result, and the levels
//! of a bucket stay in the order of age. Sizes and levels are all that is known here.

use super::options::CompactionOptions;

/// One sorted run, as the pick sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSize {
    /// Its level.
    pub level: i32,
    /// The size of its files in bytes.
    pub bytes: u64,
}

/// What is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The number of runs, from the newest on; at least 1.
    pub run_count: usize,
    /// The level of the result; never 0.
    pub output_level: i32,
}

/// What compaction on its own accord takes of these runs, newest first; `None` if there is nothing to do. A pick that
/// would only put one file where it is already is for the caller to drop.
pub fn pick_automatic(options: &CompactionOptions, level_count: i32, runs: &[RunSize]) -> Option<Pick> {
    let picker = Picker { options, max_level: level_count - 1, runs };
    picker.for_size_amplification().or_else(|| picker.for_size_ratio()).or_else(|| picker.for_run_count()).or_else(
        || {
            let level_0_runs = runs.iter().take_while(|run| run.level == 0).count();
            if options.force_up_level_0 && level_0_runs > 0 { picker.similar_runs(level_0_runs, true) } else { None }
        },
    )
}

/// What a full compaction takes: everything, unless everything is one run at the highest level already.
pub fn pick_full(level_count: i32, runs: &[RunSize]) -> Option<Pick> {
    let max_level = level_count - 1;
    match runs {
        [] => None,
        [only] if only.level == max_level => None,
        _ => Some(Pick { run_count: runs.len(), output_level: max_level }),
    }
}

struct Picker<'a> {
    options: &'a CompactionOptions,
    max_level: i32,
    runs: &'a [RunSize],
}

impl Picker<'_> {
    /// Everything, if what is newer than the oldest run takes up much more room than it.
    fn for_size_amplification(&self) -> Option<Pick> {
        if self.runs.len() < self.options.run_count_trigger {
            return None;
        }
        let (oldest, newer) = self.runs.split_last()?;
        let percent = u128::from(self.options.max_size_amplification_percent);
        let exceeds = size(newer) * 100 > percent * u128::from(oldest.bytes);
        exceeds.then_some(Pick { run_count: self.runs.len(), output_level: self.max_level })
    }

    /// The newest runs, as long as the next one is not much larger than those before it together.
    fn for_size_ratio(&self) -> Option<Pick> {
        if self.runs.len() < self.options.run_count_trigger { None } else { self.similar_runs(1, false) }
    }

    /// So many of the newest runs that fewer than the trigger are left.
    fn for_run_count(&self) -> Option<Pick> {
        let too_many = self.runs.len().checked_sub(self.options.run_count_trigger).filter(|count| *count > 0)?;
        self.similar_runs(too_many + 1, false)
    }

    /// At least the first `candidates` runs and those after them that are similar in size. One run alone is no pick
    /// unless it is `forced`.
    fn similar_runs(&self, candidates: usize, forced: bool) -> Option<Pick> {
        let mut run_count = candidates;
        let mut picked = forced || candidates > 1;
        while let Some(next) = self.runs.get(run_count) {
            let percent = 100 + u128::from(self.options.size_ratio_percent);
            let much_larger = size(&self.runs[..run_count]) * percent < u128::from(next.bytes) * 100;
            // Once there is a pick, a larger run is taken still if it is at level 0 or 1: there is no level between.
            if much_larger && (!picked || next.level > 1) {
                break;
            }
            run_count += 1;
            picked = true;
        }
        picked.then(|| self.pick(run_count))
    }

    /// The level just below the next older run, so that no level between is skipped over; never level 0.
    fn pick(&self, mut run_count: usize) -> Pick {
        let mut output_level = self.runs.get(run_count).map_or(self.max_level, |next| (next.level - 1).max(0));
        while output_level == 0 && run_count < self.runs.len() {
            output_level = self.runs[run_count].level;
            run_count += 1;
        }
        if run_count == self.runs.len() {
            output_level = self.max_level;
        }
        Pick { run_count, output_level }
    }
}

fn size(runs: &[RunSize]) -> u128 {
    runs.iter().map(|run| u128::from(run.bytes)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::contract::TableSchema;

    use super::*;

    fn options(trigger: usize, force_up_level_0: bool) -> CompactionOptions {
        let schema: TableSchema = serde_json::from_str(r#"{"columns": [], "primary_key": ["id"]}"#).unwrap();
        let defaults = CompactionOptions::of(&schema).unwrap();
        CompactionOptions { run_count_trigger: trigger, force_up_level_0, ..defaults }
    }

    /// A run.
    type LevelAndSize = (i32, u64);
    /// A pick.
    type RunsAndLevel = (usize, i32);

    fn runs(sizes: &[LevelAndSize]) -> Vec<RunSize> {
        sizes.iter().map(|(level, bytes)| RunSize { level: *level, bytes: *bytes }).collect()
    }

    #[test]
    fn a_table_of_cases() {
        // Of four levels: the runs as (level, size), newest first, and the pick as (runs, level).
        let cases: [(&str, &[LevelAndSize], Option<RunsAndLevel>); 12] = [
            ("no runs", &[], None),
            ("fewer runs than the trigger", &[(0, 1), (0, 1)], None),
            ("much more than the oldest", &[(0, 10), (0, 10), (3, 5)], Some((3, 3))),
            ("exactly twice the oldest is not more", &[(0, 5), (1, 5), (3, 5)], Some((3, 3))),
            ("equal sizes go together, the large oldest stays", &[(0, 1), (0, 1), (3, 100)], Some((2, 2))),
            ("the first is similar to none", &[(0, 1), (2, 10), (3, 100)], None),
            ("all of level 0 goes, and level 1 with it", &[(0, 1), (0, 1), (0, 50), (1, 90), (3, 1000)], Some((4, 2))),
            ("one percent larger is similar", &[(0, 100), (2, 101), (3, 1000)], Some((2, 2))),
            ("two percent larger is not", &[(0, 100), (2, 102), (3, 1000)], None),
            ("too many runs", &[(0, 1), (1, 10), (2, 100), (3, 1000)], Some((2, 1))),
            ("far too many runs", &[(0, 1), (0, 9), (1, 90), (2, 900), (3, 9000)], Some((3, 1))),
            ("a result at level 0 takes all of level 0", &[(0, 1), (0, 1), (0, 1), (3, 100)], Some((3, 2))),
        ];
        for (name, sizes, expected) in cases {
            let pick = pick_automatic(&options(3, false), 4, &runs(sizes));
            assert_eq!(pick.map(|pick| (pick.run_count, pick.output_level)), expected, "{name}");
        }
    }

    #[test]
    fn forcing_up_level_0_leaves_none_of_it() {
        let cases: [(&[LevelAndSize], Option<RunsAndLevel>); 5] = [
            (&[(0, 1)], Some((1, 3))),
            (&[(0, 1), (3, 100)], Some((1, 2))),
            (&[(0, 1), (2, 100), (3, 1000)], Some((1, 1))),
            (&[(0, 1), (1, 100), (3, 1000)], Some((2, 2))),
            (&[(2, 100), (3, 1000)], None),
        ];
        for (sizes, expected) in cases {
            let pick = pick_automatic(&options(5, true), 4, &runs(sizes));
            assert_eq!(pick.map(|pick| (pick.run_count, pick.output_level)), expected, "{sizes:?}");
        }
    }

    #[test]
    fn a_full_compaction_takes_everything_that_is_not_at_the_top_alone() {
        assert_eq!(pick_full(4, &runs(&[])), None);
        assert_eq!(pick_full(4, &runs(&[(3, 7)])), None);
        assert_eq!(pick_full(4, &runs(&[(2, 7)])), Some(Pick { run_count: 1, output_level: 3 }));
        assert_eq!(pick_full(4, &runs(&[(0, 1), (3, 7)])), Some(Pick { run_count: 2, output_level: 3 }));
    }

    proptest! {
        /// What keeps levels in the order of age, whatever the sizes are.
        #[test]
        fn what_is_left_is_older_than_the_result_and_not_at_its_level(
            level_0 in prop::collection::vec(0..1000_u64, 0..8),
            levels in prop::collection::btree_map(1..6_i32, 0..100_000_u64, 0..5),
            trigger in 1..8_usize,
            forced in any::<bool>(),
        ) {
            let level_0 = level_0.into_iter().map(|bytes| (0, bytes));
            let sizes: Vec<(i32, u64)> = level_0.chain(levels).collect();
            let runs = runs(&sizes);
            if let Some(pick) = pick_automatic(&options(trigger, forced), 6, &runs) {
                prop_assert!((1..=runs.len()).contains(&pick.run_count));
                prop_assert!((1..6).contains(&pick.output_level));
                prop_assert!(runs[pick.run_count..].iter().all(|left| left.level > pick.output_level));
                prop_assert!(runs[..pick.run_count].iter().all(|taken| taken.level <= pick.output_level));
            } else if forced {
                prop_assert!(runs.iter().all(|run| run.level > 0));
            }
        }
    }
}
