//! What commands that run single seeds say to machines about one, and how they keep it.

use std::fs;
use std::path::{Path, PathBuf};

use models::defects::Defects;

use super::certify::unwritable;
use super::console::Console;
use super::status::CommandError;
use crate::campaign::seed::SeedOutcome;
use crate::campaign::tally::KeptSeed;
use crate::engine::sim;
use crate::report::{bundle, findings};

/// For machines: the history if a trace is asked for, else what the judges say, if JSON is.
pub fn for_machines(outcome: &SeedOutcome, trace: bool, console: &Console) -> Result<(), CommandError> {
    if trace {
        if let Some(evidence) = &outcome.evidence {
            console.history(&evidence.history)?;
        }
    } else if console.json() {
        let line = serde_json::to_string(&findings::seed_entry(outcome))
            .map_err(|error| CommandError::trouble(error.to_string()))?;
        console.machines(&format!("{line}\n"))?;
    }
    Ok(())
}

/// Writes the bundle of a seed into a directory, says where it lies and returns that; `None` if trouble left no evidence.
pub fn keep(
    out: &Path,
    outcome: SeedOutcome,
    defects: &Defects,
    console: &Console,
) -> Result<Option<PathBuf>, CommandError> {
    let Some(kept) = KeptSeed::of(outcome) else { return Ok(None) };
    let path = fs::create_dir_all(out)
        .and_then(|()| bundle::write(out, &kept, defects, sim::jail()))
        .map_err(|error| unwritable(out, &error))?;
    console.people(&format!("bundle: {}\n", path.display()))?;
    Ok(Some(path))
}
