//! `replay`: a bundle, a plan file or scenario@seed, run again and compared.

use std::path::PathBuf;

use clap::Args;

use super::SystemOptions;
use super::console::{Console, complain};
use super::one_seed::{for_machines, keep};
use super::status::{CommandError, Status};
use super::subject::subject;
use crate::campaign::seed::{SeedOutcome, run_seed};
use crate::history::History;
use crate::replay::first_difference;
use crate::report::bundle::{RunRecord, trace_hash_text};
use crate::report::findings;

/// The options of `replay`.
#[derive(Debug, Args)]
pub struct Options {
    /// A bundle directory, a plan file, or scenario@seed
    what: String,
    /// Print the history of the run to stdout, as JSON lines
    #[arg(long, env = "LAKESTREAM_CERTIFY_TRACE", value_parser = clap::builder::FalseyValueParser::new())]
    trace: bool,
    /// Write a bundle of the run into this directory, whatever it comes to
    #[arg(long, value_name = "DIR", env = "LAKESTREAM_CERTIFY_OUT")]
    out: Option<PathBuf>,
    #[command(flatten)]
    system: SystemOptions,
}

/// Runs it again, twice.
pub fn replay(options: &Options, mut console: Console) -> Result<Status, CommandError> {
    if options.trace {
        console.reserve_stdout();
    }
    let subject = subject(&options.what)?;
    let defects = subject.defects(&options.system.defects)?;
    let same_defects = subject.defects(&[])? == defects;

    let plan = subject.plan;
    let outcome = run_seed(&subject.scenario, subject.seed, || plan, &defects, true);
    if let Some(trouble) = &outcome.trouble {
        return Err(CommandError::trouble(format!("{}: {trouble}", outcome.name())));
    }
    if let Some((run, history)) = &subject.earlier
        && same_defects
    {
        compare(run, history.as_ref(), &outcome)?;
    }
    for_machines(&outcome, options.trace, &console)?;
    let heading = findings::heading(&outcome, &defects);
    console.people(&format!("{heading}\n{}", findings::answer(&outcome.findings, console.paint())))?;
    let violated = outcome.violated().next().is_some();
    match options.out.as_deref().map(|out| keep(out, outcome, &defects, &console)) {
        // A violation that was reproduced goes before a bundle that cannot be kept.
        Some(Err(error)) if violated => complain(&error),
        Some(Err(error)) => return Err(error),
        Some(Ok(_)) | None => {}
    }
    Ok(if violated { Status::Violated } else { Status::Held })
}

/// Says where this run parts from the earlier one, if it does.
fn compare(run: &RunRecord, history: Option<&History>, outcome: &SeedOutcome) -> Result<(), CommandError> {
    let now = trace_hash_text(outcome.trace_hash);
    if run.trace_hash == now {
        return Ok(());
    }
    let place = match (history, &outcome.evidence) {
        (Some(history), Some(evidence)) => first_difference(history, &evidence.history).map_or_else(
            || "the histories agree, so calls between the parts differ".to_owned(),
            |difference| difference.to_string(),
        ),
        _ => "there is no history to compare".to_owned(),
    };
    let version = if run.harness_version == env!("CARGO_PKG_VERSION") {
        String::new()
    } else {
        format!(" (the bundle is of version {}, this is {})", run.harness_version, env!("CARGO_PKG_VERSION"))
    };
    Err(CommandError::trouble(format!(
        "{}: expected trace hash {}, found {now}{version}; {place}",
        outcome.name(),
        run.trace_hash
    )))
}
