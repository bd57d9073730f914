//! A bundle: all that one failing seed needs to be run again on another machine.
//!
//! `plan.json` is what was to happen, `history.jsonl` what happened, `run.json` under which versions and options.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use models::defects::Defects;
use scenarios::plan::Plan;
use serde::{Deserialize, Serialize};

use super::whole_files;
use crate::bounded_text::read_text;
use crate::campaign::tally::KeptSeed;
use crate::history::History;

/// The bundle's description, and the proof that a directory is a bundle.
pub const RUN_FILE: &str = "run.json";
/// The plan.
pub const PLAN_FILE: &str = "plan.json";
/// The history.
pub const HISTORY_FILE: &str = "history.jsonl";

/// `run.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The harness that ran it.
    pub harness_version: String,
    /// Whether the jail was compiled in.
    pub jail: bool,
    /// The scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// The ids of the planted bugs.
    pub defects: Vec<String>,
    /// 32 hexadecimal digits.
    pub trace_hash: String,
    /// What was violated, by property.
    pub violations: BTreeMap<String, Vec<RecordedViolation>>,
}

/// One judgement that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedViolation {
    /// The argument.
    pub argument: String,
    /// The ordinals of the events that prove it.
    pub events: Vec<u64>,
}

/// A bundle read back.
#[derive(Debug)]
pub struct Bundle {
    /// Its description.
    pub run: RunRecord,
    /// Its plan.
    pub plan: Plan,
    /// Its history; absent if the file is.
    pub history: Option<History>,
}

/// A trace hash as files and people write it.
pub fn trace_hash_text(trace_hash: u128) -> String {
    format!("{trace_hash:032x}")
}

/// Writes the bundle of a failing seed into `directory` and returns where it lies.
pub fn write(directory: &Path, kept: &KeptSeed, defects: &Defects, jail: bool) -> io::Result<PathBuf> {
    let record = RunRecord {
        harness_version: env!("CARGO_PKG_VERSION").to_owned(),
        jail,
        scenario: kept.scenario.clone(),
        seed: kept.seed,
        defects: defects.iter().map(|defect| defect.id().to_owned()).collect(),
        trace_hash: trace_hash_text(kept.trace_hash),
        violations: kept
            .violations
            .iter()
            .map(|(id, violations)| {
                let recorded = violations.iter().map(|violation| RecordedViolation {
                    argument: violation.argument.clone(),
                    events: violation.events.clone(),
                });
                ((*id).to_owned(), recorded.collect())
            })
            .collect(),
    };
    let path = directory.join(format!("{}@{}", kept.scenario, kept.seed));
    whole_files::write_directory(&path, RUN_FILE, |bundle| {
        fs::write(bundle.join(PLAN_FILE), kept.evidence.plan.to_json())?;
        fs::write(bundle.join(RUN_FILE), pretty(&record)?)?;
        let mut history = BufWriter::new(fs::File::create(bundle.join(HISTORY_FILE))?);
        kept.evidence.history.write(&mut history)?;
        history.flush()
    })?;
    Ok(path)
}

/// Indented JSON with an end of line.
pub fn pretty(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    Ok(text)
}

/// Reads a bundle. The error is a sentence that names the file.
pub fn read(directory: &Path) -> Result<Bundle, String> {
    let path = directory.join(RUN_FILE);
    if !path.exists() {
        return Err(format!("{} is no bundle: expected {RUN_FILE} in it, found none", directory.display()));
    }
    let text = read_text(&path).map_err(|error| unreadable(&path, &error))?;
    let run = serde_json::from_str(&text)
        .map_err(|error| format!("{}: expected the description of a run, found: {error}", path.display()))?;
    let plan = read_plan(&directory.join(PLAN_FILE))?;
    let path = directory.join(HISTORY_FILE);
    let history = if path.exists() { Some(read_history(&path)?) } else { None };
    Ok(Bundle { run, plan, history })
}

/// Reads a plan file. The error is a sentence that names file and line.
pub fn read_plan(path: &Path) -> Result<Plan, String> {
    let text = read_text(path).map_err(|error| unreadable(path, &error))?;
    Plan::from_json(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads a history file. The error is a sentence that names file and line.
pub fn read_history(path: &Path) -> Result<History, String> {
    if path.is_dir() {
        return Err(format!("{} is a directory: expected a history file (history.jsonl of a bundle)", path.display()));
    }
    let file = fs::File::open(path).map_err(|error| unreadable(path, &error))?;
    History::read(BufReader::new(file)).map_err(|error| format!("{}: {error}", path.display()))
}

fn unreadable(path: &Path, error: &dyn fmt::Display) -> String {
    format!("{} cannot be read: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::seed::Evidence;
    use crate::check::Violation;
    use crate::history::{Clock, HISTORY_VERSION, Header};
    use models::defects::Defect;

    #[test]
    fn a_bundle_is_read_back_as_it_was_written() {
        let place = tempfile::tempdir().unwrap();
        let scenario = &scenarios::library()[0];
        let plan = scenario.plan(5);
        let header = Header {
            history: HISTORY_VERSION,
            tables: BTreeMap::new(),
            bounds: plan.system.bounds(1, false),
            capabilities: Vec::new(),
            clock: Clock::Virtual,
            catalog: None,
        };
        let history = History { header, events: Vec::new() };
        let violation = Violation { argument: "Row w1 appears twice.".to_owned(), events: vec![1, 2] };
        let kept = KeptSeed {
            scenario: scenario.name.clone(),
            seed: 5,
            trace_hash: 0xabc,
            violations: BTreeMap::from([("L3", vec![violation])]),
            evidence: Evidence { plan: plan.clone(), history: history.clone() },
        };
        let path = write(place.path(), &kept, &Defects::from_iter([Defect::TwoHolders]), true).unwrap();
        assert_eq!(path, place.path().join(format!("{}@5", scenario.name)));
        let bundle = read(&path).unwrap();
        assert_eq!((bundle.plan, bundle.history), (plan, Some(history)));
        assert_eq!(bundle.run.trace_hash, "00000000000000000000000000000abc");
        assert_eq!(bundle.run.defects, ["two-holders"]);
        assert_eq!(bundle.run.violations["L3"][0].events, [1, 2]);

        fs::remove_file(path.join(PLAN_FILE)).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.contains("plan.json cannot be read"), "{error}");
    }
}
