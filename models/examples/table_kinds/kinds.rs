//! The table kinds as the file describes them.

use std::collections::BTreeMap;
use std::fs;

use models::contract::{Failure, Row, RowKind, RowSet, TableSchema};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::reading::Read;

#[derive(Deserialize)]
struct KindsFile {
    kinds: Vec<Kind>,
}

/// One kind: a table, the steps that make it, and the rows that reads must return.
#[derive(Deserialize)]
pub struct Kind {
    pub name: String,
    /// Read late: a type that this version cannot hold concerns this kind only.
    pub schema: Json,
    pub steps: Vec<Step>,
    pub reads: Vec<Read>,
}

/// One step; exactly one of the fields that name what to do is there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub write: Option<Vec<Change>>,
    /// The branch that a write goes to; `main` without it.
    pub on_branch: Option<String>,
    pub overwrite: Option<Vec<Change>>,
    /// Overwritten as a whole; without it the partitions of the new rows.
    pub partition: Option<BTreeMap<String, Json>>,
    pub compact: Option<String>,
    pub alter: Option<Vec<Json>>,
    pub tag: Option<String>,
    pub branch: Option<String>,
    /// What the new branch starts from; nothing without it.
    pub from_tag: Option<String>,
    pub rollback: Option<String>,
    pub rollback_as_latest: Option<String>,
    pub expire: Option<Expire>,
    pub truncate: Option<bool>,
    pub drop_partition: Option<BTreeMap<String, Json>>,
}

/// Which snapshots an expiry leaves.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expire {
    /// The greatest number of snapshots that stay.
    pub retain_max: u64,
}

/// One change of a row, by column name.
#[derive(Deserialize)]
pub struct Change {
    pub kind: RowKind,
    row: Json,
}

/// Loads the file; the error is one sentence.
pub fn load(file: &str) -> Result<Vec<Kind>, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let file_content: KindsFile = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    Ok(file_content.kinds)
}

/// The changes with cells of the schema's types.
pub fn conform(changes: &[Change], schema: &TableSchema) -> Result<Vec<(RowKind, Row)>, Failure> {
    let rows: Json = changes.iter().map(|change| change.row.clone()).collect();
    let rows: RowSet =
        serde_json::from_value(rows).map_err(|error| Failure::invalid(format!("expected rows, found {error}")))?;
    let rows = rows.conform(schema)?;
    Ok(changes.iter().map(|change| change.kind).zip(rows).collect())
}
