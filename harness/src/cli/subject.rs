//! What people call a run: a bundle directory, a plan file or scenario@seed.

use std::path::Path;

use models::defects::Defects;
use scenarios::plan::Plan;

use super::names;
use super::status::CommandError;
use crate::campaign::schedule::seed_of;
use crate::history::History;
use crate::report::bundle::{self, RunRecord};

/// What is to be run again.
pub struct Subject {
    /// The scenario that it came from.
    pub scenario: String,
    /// Its seed.
    pub seed: u64,
    /// What is to happen.
    pub plan: Plan,
    /// What is known of an earlier run.
    pub earlier: Option<(RunRecord, Option<History>)>,
}

impl Subject {
    /// The bugs to plant: those that are asked for, else those of the earlier run.
    pub fn defects(&self, asked: &[String]) -> Result<Defects, CommandError> {
        let recorded: &[String] = self.earlier.as_ref().map_or(&[], |(run, _)| &run.defects);
        names::defects(if asked.is_empty() { recorded } else { asked })
    }
}

/// Finds what is meant.
pub fn subject(what: &str) -> Result<Subject, CommandError> {
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
