//! `run`: one scenario on one seed or a range, until the first failure.

use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

use clap::Args;
use models::defects::Defects;

use super::console::{Console, complain};
use super::one_seed::{for_machines, keep};
use super::status::{CommandError, Status};
use super::{SystemOptions, WorkerOptions, names, values};
use crate::campaign::canaries::Canaries;
use crate::campaign::schedule::{Schedule, SeedRange, Shard};
use crate::campaign::seed::SeedOutcome;
use crate::campaign::{CampaignOptions, campaign};
use crate::report::paragraph::wrapped;
use crate::report::{findings, replay_line, seed_count};

/// The options of `run`.
#[derive(Debug, Args)]
pub struct Options {
    /// The scenario
    scenario: String,
    /// The seed: a number, or any text, which is hashed; `--seeds` goes before it [default: 0]
    #[arg(long, value_name = "SEED", env = "LAKESTREAM_CERTIFY_SEED", value_parser = values::seed)]
    seed: Option<u64>,
    /// These seeds, B excluded
    #[arg(long, value_name = "A..B", env = "LAKESTREAM_CERTIFY_SEEDS", value_parser = values::range)]
    seeds: Option<Range<u64>>,
    /// Stop after so many failing seeds
    #[arg(long, value_name = "N", default_value = "1", env = "LAKESTREAM_CERTIFY_MAX_FAILURES")]
    #[arg(value_parser = values::count_from_1)]
    max_failures: u64,
    #[command(flatten)]
    workers: WorkerOptions,
    /// Print the history of each run to stdout, as JSON lines
    #[arg(long, env = "LAKESTREAM_CERTIFY_TRACE", value_parser = clap::builder::FalseyValueParser::new())]
    trace: bool,
    /// Where the bundles of failing seeds go
    #[arg(long, value_name = "DIR", default_value = "bundles", env = "LAKESTREAM_CERTIFY_OUT")]
    out: PathBuf,
    #[command(flatten)]
    system: SystemOptions,
}

/// Runs the seeds.
pub fn run(options: &Options, mut console: Console) -> Result<Status, CommandError> {
    let scenario = names::scenario(&options.scenario)?;
    let campaign_options = CampaignOptions {
        defects: names::defects(&options.system.defects)?,
        double_percent: 100,
        jobs: options.workers.count(),
        canaries: Canaries::default(),
    };
    if options.trace {
        console.reserve_stdout();
    }
    let seeds = options.seeds.clone().unwrap_or_else(|| {
        let seed = options.seed.unwrap_or(0);
        seed..seed.saturating_add(1)
    });
    let alone = seeds.end - seeds.start == 1;
    let schedule = Schedule::new(&[1], SeedRange::Each(seeds), Shard::WHOLE);
    let bar = console.progress(schedule.size());
    let teller = Teller { options, defects: &campaign_options.defects, console: &console, alone };
    let mut ran = 0;
    let mut failed = 0;
    let mut last_failure = String::new();
    let mut troubled = false;
    let mut result = Ok(());
    let mut unkept = None;
    campaign(
        &[scenario],
        schedule,
        &campaign_options,
        || true,
        |outcome| {
            bar.inc(1);
            ran += 1;
            let violated = outcome.violated().next().is_some() && outcome.trouble.is_none();
            troubled |= outcome.trouble.is_some();
            failed += u64::from(violated);
            if violated || outcome.trouble.is_some() {
                last_failure = replay_line(&outcome.name(), &campaign_options.defects);
            }
            result = bar.suspend(|| teller.tell(&outcome));
            if result.is_ok() && violated {
                let kept = bar.suspend(|| keep(&options.out, outcome, &campaign_options.defects, &console));
                unkept = unkept.take().or(kept.err());
            }
            if result.is_err() || troubled || failed >= options.max_failures {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    );
    bar.finish_and_clear();
    result?;
    let ran = seed_count(ran);
    if failed > 0 || troubled {
        let trouble = if troubled { ", and one says nothing about the system" } else { "" };
        let stopped =
            if failed >= options.max_failures && !alone { ", and the search ended (--max-failures)" } else { "" };
        console.people(&format!("{failed} of {ran} failed{trouble}{stopped}\n{last_failure}\n"))?;
    } else {
        console.people(&format!("nothing was violated in {ran}\n"))?;
    }
    // A violation was found, whether its bundle could be kept or not: that is the answer.
    if let Some(error) = unkept {
        complain(&error);
    }
    Ok(match (failed, troubled) {
        (0, false) => Status::Held,
        (0, true) => Status::Trouble,
        _ => Status::Violated,
    })
}

/// Says what seeds came to.
struct Teller<'a> {
    options: &'a Options,
    defects: &'a Defects,
    console: &'a Console,
    /// Whether there is only one seed: then all is told about it, whatever it came to.
    alone: bool,
}

impl Teller<'_> {
    /// Tells what one seed came to.
    fn tell(&self, outcome: &SeedOutcome) -> Result<(), CommandError> {
        for_machines(outcome, self.options.trace, self.console)?;
        if let Some(trouble) = &outcome.trouble {
            let text = wrapped(&format!("{}: {trouble}", outcome.name()), "", "  ");
            return self.console.people(&format!("{text}\n"));
        }
        let text = || {
            let answer = findings::answer(&outcome.findings, self.console.paint());
            format!("{}\n{answer}", findings::heading(outcome, self.defects))
        };
        if self.alone || outcome.violated().next().is_some() {
            self.console.people(&text())
        } else {
            self.console.detail(text)
        }
    }
}
