//! `replay`: a bundle, a plan file or scenario@seed, run again and compared.

use std::path::Path;

use clap::Args;
use models::defects::Defects;
use scenarios::plan::Plan;

use super::SystemOptions;
use super::console::Console;
use super::names;
use super::status::{CommandError, Status};
use crate::campaign::schedule::seed_of;
use crate::campaign::seed::{SeedOutcome, run_seed};
use crate::history::History;
use crate::replay::first_difference;
use crate::report::bundle::{self, RunRecord, trace_hash_text};
use crate::report::findings;

/// The options of `replay`.
#[derive(Debug, Args)]
pub struct Options {
    /// A bundle directory, a plan file, or scenario@seed
    what: String,
    #[command(flatten)]
    system: SystemOptions,
}

/// What is to be run again.
struct Subject {
    scenario: String,
    seed: u64,
    plan: Plan,
    /// What is known of an earlier run.
    earlier: Option<(RunRecord, Option<History>)>,
}

/// Runs it again, twice.
pub fn replay(options: &Options, console: &Console) -> Result<Status, CommandError> {
    let subject = subject(&options.what)?;
    let recorded: &[String] = subject.earlier.as_ref().map_or(&[], |(run, _)| &run.defects);
    let ids = if options.system.defects.is_empty() { recorded } else { &options.system.defects };
    let defects = names::defects(ids)?;
    let same_defects = names::defects(recorded)? == defects;

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
    tell(&outcome, &defects, console)?;
    Ok(if outcome.violated().next().is_some() { Status::Violated } else { Status::Held })
}

/// Finds what is meant.
fn subject(what: &str) -> Result<Subject, CommandError> {
    let path = Path::new(what);
    if path.is_dir() {
        let bundle = bundle::read(path).map_err(CommandError::usage)?;
        let bundle::Bundle { run, plan, history } = bundle;
        return Ok(Subject { scenario: run.scenario.clone(), seed: run.seed, plan, earlier: Some((run, history)) });
    }
    if path.exists() {
        let plan = bundle::read_plan(path).map_err(CommandError::usage)?;
        return Ok(Subject { scenario: plan.scenario.clone(), seed: plan.seed, plan, earlier: None });
    }
    match what.rsplit_once('@') {
        Some((name, seed)) if !name.contains(['/', '\\']) && !seed.is_empty() => {
            let scenario = names::scenario(name)?;
            let seed = seed_of(seed);
            Ok(Subject { scenario: name.to_owned(), seed, plan: scenario.plan(seed), earlier: None })
        }
        _ => Err(CommandError::usage(format!(
            "expected a bundle directory, a plan file or scenario@seed, found no file {what:?}"
        ))),
    }
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

/// Tells what the run came to.
fn tell(outcome: &SeedOutcome, defects: &Defects, console: &Console) -> Result<(), CommandError> {
    if console.json() {
        let line = serde_json::to_string(&findings::seed_entry(outcome))
            .map_err(|error| CommandError::trouble(error.to_string()))?;
        console.machines(&format!("{line}\n"))?;
    }
    let heading = findings::heading(outcome, defects);
    console.people(&format!("{heading}\n{}", findings::answer(&outcome.findings, console.paint())))
}
