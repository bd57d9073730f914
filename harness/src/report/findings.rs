//! What is said about one run or one foreign history.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::paint::Paint;
use super::terminal::event_list;
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
        trace_hash: super::bundle::trace_hash_text(outcome.trace_hash),
        trouble: outcome.trouble.as_deref(),
        properties: finding_entries(&outcome.findings),
    }
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
        let _ = writeln!(text, "{} {}", paint.red(property.id), property.statement);
        for violation in judgement.violations.iter().take(VIOLATIONS_SHOWN) {
            let _ = writeln!(text, "  {}\n  events {}", violation.argument, event_list(&violation.events));
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
    if held.is_empty() { "nothing was exercised".to_owned() } else { format!("held: {}", held.join(", ")) }
}
