//! Prints the statistics of some runs.
use harness::engine::sim::{RunOptions, run};
fn main() {
    for scenario in scenarios::library() {
        for seed in 0..4 {
            let plan = scenario.plan(seed);
            let r = run(&plan, &RunOptions::default());
            let s = r.statistics;
            println!(
                "{:18} {} st {} rounds {} ports {} files {} sim {} events {} entries {} workers {} tables {} lakefresh {} recov {}",
                plan.scenario,
                seed,
                s.statements,
                s.rounds_committed,
                s.port_calls,
                s.data_files,
                s.simulated_ms,
                r.history.events.len(),
                r.trace.entries.len(),
                plan.system.tiering_workers,
                plan.tables.len(),
                plan.bounds().lake_freshness_ms,
                plan.bounds().recovery_ms
            );
            let mut by: std::collections::BTreeMap<&str, u64> = Default::default();
            for e in &r.trace.entries {
                let n = &r.trace.sites[e.site as usize];
                let c = n.rsplit_once(").").map(|x| x.1).unwrap_or(n.split_once('.').unwrap().1);
                *by.entry(c).or_default() += 1;
            }
            if seed == 0 {
                let mut v: Vec<_> = by.into_iter().collect();
                v.sort_by_key(|x| std::cmp::Reverse(x.1));
                println!("   {:?}", &v[..v.len().min(14)]);
            }
        }
    }
}
