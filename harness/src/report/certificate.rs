//! `certificate.json`: what a campaign proves, for machines.
//!
//! It never holds time, machine, job or shard data, so equal campaigns give equal bytes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::bundle::trace_hash_text;
use super::{Note, Summary, mean, percent, replay_line};
use crate::campaign::conclusion::Conclusion;
use crate::campaign::histogram::{Histogram, Quantiles};
use crate::campaign::tally::{PropertyTally, ScenarioTally, Verdict};
use crate::check::properties::Property;
use crate::coverage::{Need, catalogue};

/// The version of the certificate's format.
pub const CERTIFICATE_VERSION: u32 = 1;

/// The name of the system that is certified without options.
const REFERENCE_SYSTEM: &str = "lakestream-reference";

/// The file.
#[derive(Debug, Serialize)]
pub struct Certificate<'a> {
    certificate: u32,
    harness: Harness,
    system: System,
    conclusion: Conclusion,
    /// Absent from a campaign that came to its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    seeds: u64,
    double_percent: u64,
    trace_digest: String,
    scenarios: BTreeMap<String, ScenarioEntry>,
    properties: Vec<PropertyEntry>,
    required_and_undecided: Vec<&'static str>,
    not_exercised: Vec<&'static str>,
    not_tested: Vec<&'static str>,
    noted: Vec<&'static str>,
    notes: Vec<Note<'a>>,
    freshness: Freshness,
    runs: Runs,
    coverage: CoverageEntry,
    troubles: Vec<TroubleEntry>,
}

#[derive(Debug, Serialize)]
struct Harness {
    version: &'static str,
    jail: &'static str,
}

#[derive(Debug, Serialize)]
struct System {
    name: &'static str,
    version: &'static str,
    capabilities: Vec<String>,
    planted_defects: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct ScenarioEntry {
    seeds: u64,
    first_seed: Option<u64>,
    last_seed: Option<u64>,
    failing_seeds: u64,
    troubled_seeds: u64,
    freshness: Freshness,
}

#[derive(Debug, Serialize)]
struct Freshness {
    real_time: Option<Quantiles>,
    lake: Option<Quantiles>,
}

#[derive(Debug, Serialize)]
struct PropertyEntry {
    id: &'static str,
    level: &'static str,
    statement: &'static str,
    judged_when: &'static str,
    required: bool,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    judgements: u64,
    seeds_exercised: u64,
    undecided: u64,
    violations: u64,
    failing_seeds: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<FailureEntry>,
}

#[derive(Debug, Serialize)]
struct FailureEntry {
    seed: String,
    argument: String,
    events: Vec<u64>,
    replay: String,
    /// The directory beside the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle: Option<String>,
}

#[derive(Debug, Serialize)]
struct Runs {
    runs: u64,
    judged_seeds: u64,
    long_runs_percent: Option<f64>,
    statements: u64,
    reads_percent: Option<f64>,
    writes_acked_percent: Option<f64>,
    rounds_committed: u64,
    calls_between_parts_mean: Option<f64>,
    data_files_mean: Option<f64>,
    seeds_with_fault_percent: Option<f64>,
    seeds_with_crash_between_commit_and_registration_percent: Option<f64>,
    faults_struck: BTreeMap<&'static str, u64>,
    canaries_found: u64,
}

#[derive(Debug, Serialize)]
struct CoverageEntry {
    points: usize,
    reached: usize,
    /// Whether the campaign was asked for the required points.
    required: bool,
    required_missed: Vec<&'static str>,
    rare_missed: Vec<&'static str>,
    seeds_by_point: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Serialize)]
struct TroubleEntry {
    seed: String,
    message: String,
}

/// The certificate of a campaign.
pub fn certificate<'a>(summary: &'a Summary<'_>) -> Certificate<'a> {
    let tally = summary.tally;
    let (real_time, lake) = tally.freshness();
    let missing = summary.selection.missing(tally);
    Certificate {
        certificate: CERTIFICATE_VERSION,
        harness: Harness { version: env!("CARGO_PKG_VERSION"), jail: if summary.jail { "on" } else { "off" } },
        system: System {
            name: REFERENCE_SYSTEM,
            version: env!("CARGO_PKG_VERSION"),
            capabilities: tally.capabilities.iter().cloned().collect(),
            planted_defects: summary.defects.iter().map(|defect| defect.id()).collect(),
        },
        conclusion: summary.selection.conclude(tally),
        interrupted: tally.interrupted,
        seeds: tally.totals.seeds,
        double_percent: summary.double_percent,
        trace_digest: trace_hash_text(tally.digest()),
        scenarios: tally.scenarios.iter().map(|(name, scenario)| (name.clone(), scenario_entry(scenario))).collect(),
        properties: summary.selection.properties.iter().map(|property| property_entry(summary, property)).collect(),
        required_and_undecided: missing.iter().map(|property| property.id).collect(),
        not_exercised: summary.ids_with(Verdict::NotExercised),
        not_tested: summary.ids_with(Verdict::NotTested),
        noted: summary.ids_with(Verdict::Noted),
        notes: summary.notes(),
        freshness: freshness(&real_time, &lake),
        runs: runs(summary),
        coverage: coverage(summary),
        troubles: tally
            .troubles
            .iter()
            .map(|trouble| TroubleEntry { seed: trouble.seed.clone(), message: trouble.message.clone() })
            .collect(),
    }
}

fn scenario_entry(scenario: &ScenarioTally) -> ScenarioEntry {
    ScenarioEntry {
        seeds: scenario.seeds,
        first_seed: scenario.extent.map(|extent| extent.0),
        last_seed: scenario.extent.map(|extent| extent.1),
        failing_seeds: scenario.failing_seeds,
        troubled_seeds: scenario.troubled_seeds,
        freshness: freshness(&scenario.real_time, &scenario.lake),
    }
}

fn freshness(real_time: &Histogram, lake: &Histogram) -> Freshness {
    Freshness { real_time: real_time.quantiles(), lake: lake.quantiles() }
}

fn property_entry(summary: &Summary<'_>, property: &'static Property) -> PropertyEntry {
    let nothing = PropertyTally::default();
    let tally = summary.tally.properties.get(property.id).unwrap_or(&nothing);
    let verdict = summary.tally.verdict(property);
    PropertyEntry {
        id: property.id,
        level: property.level.name(),
        statement: property.statement,
        judged_when: property.exercised,
        required: summary.selection.required(summary.tally).any(|required| required.id == property.id),
        verdict: verdict.word(),
        reason: summary.tally.why_not_tested(property),
        judgements: tally.judged,
        seeds_exercised: tally.seeds_exercised,
        undecided: tally.undecided,
        violations: tally.violations,
        failing_seeds: tally.failing_seeds,
        failures: tally
            .failures
            .iter()
            .map(|failing| FailureEntry {
                seed: failing.seed.clone(),
                argument: failing.violation.argument.clone(),
                events: failing.violation.events.clone(),
                replay: replay_line(&failing.seed, summary.defects),
                bundle: summary.bundles.contains_key(&failing.seed).then(|| failing.seed.clone()),
            })
            .collect(),
    }
}

fn coverage(summary: &Summary<'_>) -> CoverageEntry {
    let coverage = &summary.tally.coverage;
    let missed = |need| coverage.missed(need).iter().map(|point| point.id.as_str()).collect();
    CoverageEntry {
        points: catalogue().count(),
        reached: coverage.reached(),
        required: summary.selection.covering,
        required_missed: missed(Need::Required),
        rare_missed: missed(Need::Rare),
        seeds_by_point: coverage.seeds_by_point(),
    }
}

fn runs(summary: &Summary<'_>) -> Runs {
    let totals = &summary.tally.totals;
    Runs {
        runs: totals.runs,
        judged_seeds: totals.judged_seeds,
        long_runs_percent: percent(totals.long_runs, totals.judged_seeds),
        statements: totals.statements,
        reads_percent: percent(totals.reads, totals.statements),
        writes_acked_percent: percent(totals.writes_acked, totals.writes),
        rounds_committed: totals.rounds_committed,
        calls_between_parts_mean: mean(totals.port_calls, totals.judged_seeds),
        data_files_mean: mean(totals.data_files, totals.judged_seeds),
        seeds_with_fault_percent: percent(totals.seeds_with_fault, totals.judged_seeds),
        seeds_with_crash_between_commit_and_registration_percent: percent(
            totals.seeds_with_crash_after_commit,
            totals.judged_seeds,
        ),
        faults_struck: totals.faults_by_kind.clone(),
        canaries_found: summary.tally.canaries_found,
    }
}
