//! `run`: one scenario on one seed or a range, until the first failure.

use std::ops::{ControlFlow, Range};

use clap::Args;

use super::SystemOptions;
use super::certify::jobs;
use super::console::Console;
use super::status::{CommandError, Status};
use super::{names, values};
use crate::campaign::schedule::{Schedule, SeedRange, Shard, seed_of};
use crate::campaign::seed::SeedOutcome;
use crate::campaign::{CampaignOptions, campaign};
use crate::report::{findings, replay_line};

/// The options of `run`.
#[derive(Debug, Args)]
pub struct Options {
    /// The scenario
    scenario: String,
    /// The seed: a number, or any text, which is hashed [default: 0]
    #[arg(long, value_name = "SEED", conflicts_with = "seeds", env = "LAKESTREAM_CERTIFY_SEED")]
    seed: Option<String>,
    /// These seeds, B excluded; stops at the first that fails
    #[arg(long, value_name = "A..B", value_parser = values::range)]
    seeds: Option<Range<u64>>,
    /// Stop after so many failing seeds
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..))]
    max_failures: u64,
    /// How many seeds run at once [default: one a core]
    #[arg(long, value_name = "N", env = "LAKESTREAM_CERTIFY_JOBS", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print the history of each run to stdout, as JSON lines
    #[arg(long)]
    trace: bool,
    #[command(flatten)]
    system: SystemOptions,
}

/// Runs the seeds.
pub fn run(options: &Options, mut console: Console) -> Result<Status, CommandError> {
    let scenario = names::scenario(&options.scenario)?;
    let campaign_options = CampaignOptions {
        defects: names::defects(&options.system.defects)?,
        double_percent: 100,
        jobs: jobs(options.jobs),
    };
    if options.trace {
        console.reserve_stdout();
    }
    let seeds = options.seeds.clone().unwrap_or_else(|| {
        let seed = options.seed.as_deref().map_or(0, seed_of);
        seed..seed.saturating_add(1)
    });
    let schedule = Schedule::new(&[1], SeedRange::Each(seeds), Shard::WHOLE);
    let bar = console.progress(schedule.size());
    let mut ran = 0;
    let mut failed = 0;
    let mut last_failure = String::new();
    let mut troubled = false;
    let mut result = Ok(());
    campaign(
        &[scenario],
        schedule,
        &campaign_options,
        || true,
        |outcome| {
            bar.inc(1);
            ran += 1;
            result = bar.suspend(|| tell(&outcome, options, &console));
            let violated = outcome.violated().next().is_some() && outcome.trouble.is_none();
            if violated || outcome.trouble.is_some() {
                last_failure = replay_line(&outcome.name(), &campaign_options.defects);
            }
            failed += u64::from(violated);
            troubled |= outcome.trouble.is_some();
            if result.is_err() || troubled || failed >= options.max_failures {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    );
    bar.finish_and_clear();
    result?;
    if failed > 0 || troubled {
        console.people(&format!("{failed} of {ran} seeds failed\n{last_failure}\n"))?;
    } else {
        console.people(&format!("held in {ran} of {ran} seeds\n"))?;
    }
    Ok(match (failed, troubled) {
        (0, false) => Status::Held,
        (0, true) => Status::Trouble,
        _ => Status::Violated,
    })
}

/// Tells what one seed came to.
fn tell(outcome: &SeedOutcome, options: &Options, console: &Console) -> Result<(), CommandError> {
    if options.trace {
        if let Some(evidence) = &outcome.evidence {
            console.machines(&history_lines(&evidence.history)?)?;
        }
    } else if console.json() {
        let line = serde_json::to_string(&findings::seed_entry(outcome))
            .map_err(|error| CommandError::trouble(error.to_string()))?;
        console.machines(&format!("{line}\n"))?;
    }
    if let Some(trouble) = &outcome.trouble {
        return console.people(&format!("{}: {trouble}\n", outcome.name()));
    }
    let violations = findings::violations(&outcome.findings, console.paint());
    if violations.is_empty() {
        console.detail(|| format!("{} {}\n", outcome.name(), findings::held(&outcome.findings)))
    } else {
        let violated: Vec<_> = outcome.violated().collect();
        console.people(&format!("{} violated {}\n{violations}", outcome.name(), violated.join(", ")))
    }
}

/// A history as it is written to files.
fn history_lines(history: &crate::history::History) -> Result<String, CommandError> {
    let mut lines = Vec::new();
    history.write(&mut lines).map_err(|error| CommandError::trouble(error.to_string()))?;
    String::from_utf8(lines).map_err(|error| CommandError::trouble(error.to_string()))
}
