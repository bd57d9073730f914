//! How fast one core runs and judges: a fixed plan (`workload.json`), so that a changed generator does not move the
//! figures. Beside it, in the same process, a yardstick that no change of ours moves: hashing 16 MiB.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use harness::check::check;
use harness::engine::run::RunOptions;
use harness::engine::sim::run;
use scenarios::plan::Plan;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The workload, after checking that it still is what the figures are quoted for.
fn workload() -> Plan {
    let plan = Plan::from_json(include_str!("workload.json")).expect("the workload is a plan");
    let statistics = run(&plan, &RunOptions::default()).statistics;
    let buckets = plan.tables.iter().filter_map(|table| table.schema.bucket_count()).max();
    assert!(statistics.statements >= 210, "{statistics:?}");
    assert!(statistics.rounds_committed >= 8, "{statistics:?}");
    assert_eq!(buckets, Some(4));
    assert!(statistics.data_files >= 30, "{statistics:?}");
    assert!(statistics.port_calls >= 1_400, "{statistics:?}");
    plan
}

fn benches(criterion: &mut Criterion) {
    let plan = workload();
    let options = RunOptions::default();
    let mut group = criterion.benchmark_group("run");
    group.measurement_time(Duration::from_secs(10)).throughput(Throughput::Elements(1));
    group.bench_function("yardstick: hash 16 MiB", |bencher| {
        let bytes = vec![7_u8; 16 << 20];
        bencher.iter(|| xxhash_rust::xxh3::xxh3_64(black_box(&bytes)));
    });
    group.bench_function("run", |bencher| bencher.iter(|| run(&plan, &options)));
    group.bench_function("run and judge", |bencher| bencher.iter(|| check(&run(&plan, &options).history)));
    let history = run(&plan, &options).history;
    group.bench_function("judge", |bencher| bencher.iter(|| check(&history)));
    group.finish();
    print_simulated_speed(&plan, &options);
}

/// Simulated seconds per second of wall clock, run and judged.
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a benchmark measures the wall clock")]
fn print_simulated_speed(plan: &Plan, options: &RunOptions) {
    const RUNS: u32 = 50;
    let began = std::time::Instant::now();
    let mut simulated_ms = 0;
    for _ in 0..RUNS {
        let result = run(plan, options);
        black_box(check(&result.history));
        simulated_ms += result.statistics.simulated_ms;
    }
    let wall = began.elapsed();
    println!(
        "{:.1} runs/s, {:.0} simulated seconds per wall second, on one core",
        f64::from(RUNS) / wall.as_secs_f64(),
        simulated_ms as f64 / 1000.0 / wall.as_secs_f64(),
    );
}

criterion_group!(speed, benches);
criterion_main!(speed);
