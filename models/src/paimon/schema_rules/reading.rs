//! Where reads start by default: options that exclude each other.

use crate::contract::{Failure, TableSchema};

use super::options::word;

const SCAN_MODE: &str = "scan.mode";
const TIMESTAMPS: [&str; 2] = ["scan.timestamp-millis", "scan.timestamp"];
const SNAPSHOTS: [&str; 4] = ["scan.snapshot-id", "scan.tag-name", "scan.watermark", "scan.version"];
const FILE_CREATION: [&str; 1] = ["scan.file-creation-time-millis"];
const INCREMENTS: [&str; 2] = ["incremental-between", "incremental-between-timestamp"];
const SCAN_MODES: [&str; 10] = [
    "default",
    "latest-full",
    "full",
    "latest",
    "compacted-full",
    "from-timestamp",
    "from-file-creation-time",
    "from-snapshot",
    "from-snapshot-full",
    "incremental",
];

pub(super) fn validate(schema: &TableSchema) -> Result<(), Failure> {
    let mode = effective_mode(schema, word(schema, SCAN_MODE, &SCAN_MODES)?);
    let wanted: &[&str] = match mode {
        "from-timestamp" => &TIMESTAMPS,
        "from-snapshot" => &SNAPSHOTS,
        "from-snapshot-full" => &SNAPSHOTS[..1],
        "from-file-creation-time" => &FILE_CREATION,
        "incremental" => &INCREMENTS,
        _ => &[],
    };
    let all = TIMESTAMPS.iter().chain(&SNAPSHOTS).chain(&FILE_CREATION).chain(&INCREMENTS);
    let mut present = all.copied().filter(|key| schema.options.contains_key(*key));
    if let Some(foreign) = present.clone().find(|key| !wanted.contains(key)) {
        return Err(Failure::invalid(format!("expected no option `{foreign}` with `{SCAN_MODE}` {mode}, found one")));
    }
    let found = (present.next(), present.next());
    if !wanted.is_empty() && !matches!(found, (Some(_), None)) {
        return Err(Failure::invalid(format!(
            "expected one of the options [{}] with `{SCAN_MODE}` {mode}, found {}",
            wanted.join(", "),
            if found.0.is_some() { "several" } else { "none" }
        )));
    }
    let branches = ["scan.fallback-branch", "scan.primary-branch"];
    if branches.iter().all(|key| schema.options.contains_key(*key)) {
        return Err(Failure::invalid(format!("expected one of the options [{}], found both", branches.join(", "))));
    }
    Ok(())
}

/// The mode that `default` stands for: the one that the other options belong to.
fn effective_mode<'a>(schema: &TableSchema, mode: &'a str) -> &'a str {
    let any = |keys: &[&str]| keys.iter().any(|key| schema.options.contains_key(*key));
    match mode {
        "default" if any(&TIMESTAMPS) => "from-timestamp",
        "default" if any(&SNAPSHOTS) => "from-snapshot",
        "default" if any(&FILE_CREATION) => "from-file-creation-time",
        "default" if any(&INCREMENTS) => "incremental",
        other => other,
    }
}
