//! `shrink`: a failing plan made smaller, and its bundle.

use std::path::{Path, PathBuf};
use std::time::Duration;
#[allow(clippy::disallowed_types, reason = "how long shrinking may take is said by people and part of no run")]
use std::time::Instant;

use clap::Args;
use scenarios::plan::Plan;

use super::console::Console;
use super::one_seed::{for_machines, keep};
use super::status::{CommandError, Status};
use super::subject::subject;
use super::{SystemOptions, WorkerOptions, names, values};
use crate::campaign::seed::{SeedOutcome, run_seed};
use crate::report::paragraph::wrapped;
use crate::report::{findings, grouped, whole_files};
use crate::shrink::{Progress, ShrinkOptions, Shrunk, shrink};

/// The smaller plan, in the bundle that was shrunk.
const SHRUNK_FILE: &str = "shrunk.json";

/// The options of `shrink`.
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 1 the smaller plan violates the property, 0 nothing is violated that could be \
                        shrunk.")]
pub struct Options {
    /// A bundle directory (which gets shrunk.json), a plan file, or scenario@seed
    what: String,
    /// The property that the smaller plan has to violate as well [default: of those that are violated the likeliest
    /// cause]
    #[arg(long, value_name = "ID", env = "LAKESTREAM_CERTIFY_PROPERTY")]
    property: Option<String>,
    /// Begin no run after so long, like 90s or 5m; the smallest plan so far is kept [default: go on to the end]
    #[arg(long, value_name = "DURATION", env = "LAKESTREAM_CERTIFY_TIME", value_parser = values::duration)]
    time: Option<Duration>,
    /// Where the bundle of the smaller plan goes
    #[arg(long, value_name = "DIR", default_value = "shrunk", env = "LAKESTREAM_CERTIFY_OUT")]
    out: PathBuf,
    #[command(flatten)]
    workers: WorkerOptions,
    #[command(flatten)]
    system: SystemOptions,
}

/// Shrinks a plan and writes the bundle of what is left.
#[allow(clippy::disallowed_types, reason = "how long shrinking may take is said by people and part of no run")]
pub fn shrink_plan(options: &Options, console: &Console) -> Result<Status, CommandError> {
    let subject = subject(&options.what)?;
    let asked = names::properties(options.property.as_slice())?.ids();
    let defects = subject.defects(&options.system.defects)?;
    let name = format!("{}@{}", subject.scenario, subject.seed);
    let run = |plan: &Plan| outcome(run_seed(&subject.scenario, subject.seed, || plan.clone(), &defects, true));
    let first = run(&subject.plan)?;
    let Some(property) = first.causes_first().into_iter().find(|id| asked.contains(id)) else {
        let what = options.property.as_deref().unwrap_or("nothing");
        let not = if options.property.is_some() { "not " } else { "" };
        console.people(&format!("{name}: {what} is {not}violated, so there is nothing to shrink\n"))?;
        return Ok(Status::Held);
    };

    let begun = Instant::now();
    let shrink_options =
        ShrinkOptions { property, defects: defects.clone(), jobs: options.workers.count(), most_runs: None };
    let bar = console.shrinking();
    let go_on = || options.time.is_none_or(|limit| begun.elapsed() < limit);
    let told = |progress: Progress| {
        bar.set_position(progress.runs);
        bar.set_message(format!("{property} with {}", size(progress.tables, progress.steps)));
    };
    let shrunk = shrink(&subject.plan, &shrink_options, go_on, told);
    bar.finish_and_clear();
    let shrunk =
        shrunk.ok_or_else(|| CommandError::trouble(format!("{name}: not deterministic: {property} held this time")))?;
    let last = run(&shrunk.plan)?;
    if !last.violated().any(|id| id == property) {
        return Err(CommandError::trouble(format!("{name}: not deterministic: the shrunk plan held this time")));
    }

    for_machines(&last, false, console)?;
    console.people(&format!("{}\n", told_of(&subject.plan, &shrunk, property)))?;
    let heading = findings::heading(&last, &defects);
    console.people(&format!("{heading}\n{}", findings::answer(&last.findings, console.paint())))?;
    if let Some(path) = keep(&options.out, last, &defects, console)? {
        console.people(&format!("lakestream-certify replay {}\n", path.display()))?;
    }
    if Path::new(&options.what).is_dir() {
        let file = Path::new(&options.what).join(SHRUNK_FILE);
        whole_files::write_file(&file, shrunk.plan.to_json().as_bytes())
            .map_err(|error| CommandError::trouble(format!("{} cannot be written: {error}", file.display())))?;
    }
    Ok(Status::Violated)
}

/// An outcome that says something about the system.
fn outcome(outcome: SeedOutcome) -> Result<SeedOutcome, CommandError> {
    match &outcome.trouble {
        Some(trouble) => Err(CommandError::trouble(format!("{}: {trouble}", outcome.name()))),
        None => Ok(outcome),
    }
}

/// `1 table and 7 steps`.
fn size(tables: usize, steps: usize) -> String {
    let plural =
        |count: usize, noun: &str| format!("{} {noun}{}", grouped(count as u64), if count == 1 { "" } else { "s" });
    format!("{} and {}", plural(tables, "table"), plural(steps, "step"))
}

/// What shrinking came to, in a paragraph.
fn told_of(plan: &Plan, shrunk: &Shrunk, property: &str) -> String {
    let minimal = if shrunk.minimal {
        "It is 1-minimal: no table, step, row, option or cell of it can be left out alone."
    } else {
        "It is the smallest that was found in the time; a longer search may find a smaller one."
    };
    let text = format!(
        "shrunk from {} to {} that violate {property}, in {} runs. {minimal}",
        size(plan.tables.len(), plan.steps.len()),
        size(shrunk.plan.tables.len(), shrunk.plan.steps.len()),
        grouped(shrunk.runs)
    );
    wrapped(&text, "", "  ")
}
