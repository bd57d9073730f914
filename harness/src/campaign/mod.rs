//! Many seeds: worker threads run them, one place adds them up in schedule order.
//!
//! A run never sees a thread but its own. What a campaign finds never depends on how many workers it has.

pub mod canaries;
pub mod conclusion;
pub mod coverage;
pub mod histogram;
pub mod schedule;
pub mod seed;
pub mod seed_database;
pub mod tally;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError, mpsc};

use models::defects::Defects;
use scenarios::scenario::Scenario;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use canaries::Canaries;
use schedule::{Pair, Schedule};
use seed::{SeedOutcome, run_seed};

/// How a campaign runs its seeds.
#[derive(Clone, Debug)]
pub struct CampaignOptions {
    /// The bugs that the reference is asked to have.
    pub defects: Defects,
    /// How many of a hundred seeds are run twice. Which ones depends on scenario and seed only.
    pub double_percent: u64,
    /// How many workers; at least 1.
    pub jobs: usize,
    /// What is run in place of some of the seeds.
    pub canaries: Canaries,
}

/// How many seeds each worker may be ahead of the oldest seed that is not yet added up.
const AHEAD_PER_WORKER: usize = 16;

/// Runs the pairs of `schedule` and hands each outcome, in schedule order, to `receive` until that breaks. Before each
/// seed `go_on` is asked whether to begin it; after a `false` no other begins.
pub fn campaign(
    scenarios: &[&Scenario],
    schedule: Schedule,
    options: &CampaignOptions,
    go_on: impl Fn() -> bool + Sync,
    mut receive: impl FnMut(SeedOutcome) -> ControlFlow<()>,
) {
    // More workers than seeds would only be threads that end at once.
    let most = schedule.size().map_or(usize::MAX, |seeds| usize::try_from(seeds).unwrap_or(usize::MAX));
    let jobs = options.jobs.clamp(1, most.max(1));
    let queue = Mutex::new(schedule.enumerate());
    // The channel is bounded and the reorder buffer below is not: a slow seed may let the others run ahead by what
    // they finish meanwhile, which is a few outcomes.
    let (send, outcomes) = mpsc::sync_channel::<(usize, SeedOutcome)>(jobs * AHEAD_PER_WORKER);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let send = send.clone();
            let (queue, go_on) = (&queue, &go_on);
            scope.spawn(move || {
                while go_on() {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((place, pair)) = next else { break };
                    if send.send((place, run_pair(scenarios, pair, options))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        let mut early: BTreeMap<usize, SeedOutcome> = BTreeMap::new();
        let mut next = 0;
        for (place, outcome) in outcomes {
            early.insert(place, outcome);
            while let Some(outcome) = early.remove(&next) {
                next += 1;
                if receive(outcome).is_break() {
                    // Dropping the receiver stops the workers after the seed that each is at.
                    return;
                }
            }
        }
    });
}

/// Runs one pair.
fn run_pair(scenarios: &[&Scenario], pair: Pair, options: &CampaignOptions) -> SeedOutcome {
    let scenario = scenarios[pair.scenario];
    let name = &scenario.name;
    if let Some(canary) = options.canaries.in_place_of(name, pair) {
        return canary.run();
    }
    let double = xxh3_64_with_seed(name.as_bytes(), pair.seed) % 100 < options.double_percent;
    run_seed(name, pair.seed, || scenario.plan(pair.seed), &options.defects, double)
}
