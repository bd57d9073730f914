//! What is said about one run or one foreign history.

use std::collections::BTreeMap;
use std::fmt::Write;

use models::defects::Defects;
use serde::Serialize;

use super::bundle::trace_hash_text;
use super::paint::Paint;
use super::paragraph::{titled, wrapped};
use super::terminal;
use crate::campaign::seed::SeedOutcome;
use crate::check::Findings;
use crate::check::properties;

/// How many violations of one property are told in full.
const VIOLATIONS_SHOWN: usize = 3;

/// One run, for machines.
#[derive(Debug, Serialize)]
pub struct SeedEntry<'a> {
    seed: String,
    trace_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<&'a str>,
    properties: BTreeMap<&'static str, FindingEntry<'a>>,
}

/// One property's judgements, for machines.
#[derive(Debug, Serialize)]
pub struct FindingEntry<'a> {
    judgements: u64,
    undecided: u64,
    violations: Vec<ViolationEntry<'a>>,
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
struct ViolationEntry<'a> {
    argument: &'a str,
    events: &'a [u64],
}

/// One run as data.
pub fn seed_entry(outcome: &SeedOutcome) -> SeedEntry<'_> {
    SeedEntry {
        seed: outcome.name(),
        trace_hash: trace_hash_text(outcome.trace_hash),
        trouble: outcome.trouble.as_deref(),
        properties: finding_entries(&outcome.findings),
    }
}

/// One run in a line: what ran, and the hash by which it can be compared with other processes and builds.
pub fn heading(outcome: &SeedOutcome, defects: &Defects) -> String {
    let planted: Vec<_> = defects.iter().map(|defect| defect.id()).collect();
    let system = if planted.is_empty() { String::new() } else { format!(" with {}", planted.join(", ")) };
    wrapped(&format!("{}{system}: trace hash {}", outcome.name(), trace_hash_text(outcome.trace_hash)), "", "  ")
}

/// What was violated in one run, or what held.
pub fn answer(findings: &Findings, paint: Paint) -> String {
    let violations = violations(findings, paint);
    if violations.is_empty() { format!("{}\n", held(findings)) } else { violations }
}

/// Findings as data.
pub fn finding_entries(findings: &Findings) -> BTreeMap<&'static str, FindingEntry<'_>> {
    findings
        .judgements
        .iter()
        .map(|(id, judgement)| {
            let violations = judgement
                .violations
                .iter()
                .map(|violation| ViolationEntry { argument: &violation.argument, events: &violation.events });
            let entry = FindingEntry {
                judgements: judgement.judged,
                undecided: judgement.undecided,
                violations: violations.collect(),
                notes: &judgement.notes,
            };
            (*id, entry)
        })
        .collect()
}

/// Every violated property with its first violations; empty if there is none.
pub fn violations(findings: &Findings, paint: Paint) -> String {
    let mut text = String::new();
    for property in properties::ALL {
        let Some(judgement) = findings.judgements.get(property.id) else { continue };
        if judgement.violations.is_empty() {
            continue;
        }
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", titled(property.id, &paint.red(property.id), property.statement, "  "));
        for violation in judgement.violations.iter().take(VIOLATIONS_SHOWN) {
            let _ = writeln!(text, "{}", terminal::violation(violation));
        }
        if judgement.violations.len() > VIOLATIONS_SHOWN {
            let _ = writeln!(text, "  and {} more", judgement.violations.len() - VIOLATIONS_SHOWN);
        }
    }
    text
}

/// What held, and on how many judgements.
pub fn held(findings: &Findings) -> String {
    let held: Vec<String> = findings
        .judgements
        .iter()
        .filter(|(_, judgement)| judgement.judged > 0 && judgement.violations.is_empty())
        .map(|(id, judgement)| format!("{id} ({})", super::grouped(judgement.judged)))
        .collect();
    match held.as_slice() {
        [] => "nothing was exercised".to_owned(),
        held => wrapped(&format!("held: {}", held.join(", ")), "", "  "),
    }
}
