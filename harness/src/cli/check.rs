//! `check`: judges a history that somebody else recorded.

use std::path::PathBuf;

use clap::Args;

use super::console::Console;
use super::names;
use super::status::{CommandError, Status};
use crate::report::{bundle, findings};

/// The options of `check`.
#[derive(Debug, Args)]
pub struct Options {
    /// The history: JSON lines
    history: PathBuf,
    /// Judge only this property, and require it (repeatable)
    #[arg(long = "property", value_name = "ID", env = "LAKESTREAM_CERTIFY_PROPERTY", value_delimiter = ',')]
    properties: Vec<String>,
}

/// Judges the history.
pub fn check(options: &Options, console: &Console) -> Result<Status, CommandError> {
    let selection = names::properties(&options.properties)?;
    let history = bundle::read_history(&options.history).map_err(CommandError::usage)?;
    let mut findings = crate::check::check(&history);
    let ids = selection.ids();
    findings.judgements.retain(|id, _| ids.contains(id));
    if console.json() {
        let text = serde_json::to_string_pretty(&findings::finding_entries(&findings))
            .map_err(|error| CommandError::trouble(error.to_string()))?;
        console.machines(&format!("{text}\n"))?;
    }
    let violations = findings::violations(&findings, console.paint());
    if !violations.is_empty() {
        console.people(&violations)?;
        return Ok(Status::Violated);
    }
    console.people(&format!("{}\n", findings::held(&findings)))?;
    let judged = |id: &str| findings.judgements.get(id).is_some_and(|judgement| judgement.judged > 0);
    // Named properties are required; of a foreign history nothing else is known but that it should show something.
    let enough = if selection.named { ids.iter().all(|id| judged(id)) } else { ids.iter().any(|id| judged(id)) };
    Ok(if enough { Status::Held } else { Status::Inconclusive })
}
