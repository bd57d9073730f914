//! `measure-coverage`: which points of the catalogue a campaign must have been at, measured anew. It is for those who
//! change points or scenarios, so `--help` does not show it.

use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use models::defects::Defects;

use super::console::Console;
use super::status::{CommandError, Status};
use super::{WorkerOptions, names};
use crate::campaign::canaries::Canaries;
use crate::campaign::coverage::Coverage;
use crate::campaign::schedule::{Schedule, SeedRange, Shard};
use crate::campaign::{CampaignOptions, campaign};
use crate::coverage::required::{MEASURED_SEEDS, measured_list};
use crate::report::whole_files;

/// The options of `measure-coverage`.
#[derive(Debug, Args)]
pub struct Options {
    /// Write the list to this file, and not to stdout
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    #[command(flatten)]
    workers: WorkerOptions,
}

/// Runs the first seeds of a campaign over all scenarios and gives the list of what enough of them were at.
pub fn measure_coverage(options: &Options, console: &Console) -> Result<Status, CommandError> {
    let scenarios = names::scenarios(&[])?;
    let weights: Vec<u64> = scenarios.iter().map(|scenario| scenario.weight).collect();
    let schedule = Schedule::new(&weights, SeedRange::Total(MEASURED_SEEDS), Shard::WHOLE);
    let campaign_options = CampaignOptions {
        defects: Defects::none(),
        double_percent: 0,
        jobs: options.workers.count(),
        canaries: Canaries::default(),
    };
    let bar = console.progress(schedule.size());
    let mut coverage = Coverage::default();
    let mut trouble = None;
    campaign(
        &scenarios,
        schedule,
        &campaign_options,
        || true,
        |outcome| {
            bar.inc(1);
            trouble = outcome.trouble.as_ref().map(|trouble| format!("{}: {trouble}", outcome.name()));
            coverage.add(&outcome.statistics.reached);
            if trouble.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    );
    bar.finish_and_clear();
    if let Some(trouble) = trouble {
        return Err(CommandError::trouble(format!("nothing was measured: {trouble}")));
    }
    let list = measured_list(&coverage.seeds_by_point());
    match &options.write {
        Some(file) => whole_files::write_file(file, list.as_bytes())
            .map_err(|error| CommandError::trouble(format!("{} cannot be written: {error}", file.display())))?,
        None => console.machines(&list)?,
    }
    Ok(Status::Held)
}
