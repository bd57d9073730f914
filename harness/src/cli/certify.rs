//! `certify`: a campaign over scenarios and seeds, its reports and bundles.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;
#[allow(clippy::disallowed_types, reason = "how long a campaign takes is told to people and part of no run")]
use std::time::Instant;

use clap::Args;

use super::console::{Console, complain};
use super::interrupt::Interrupt;
use super::seeds::DatabaseOptions;
use super::status::{CommandError, Status};
use super::{SystemOptions, WorkerOptions, names, values};
use crate::bounded_text::read_text;
use crate::campaign::canaries::Canaries;
use crate::campaign::conclusion::Conclusion;
use crate::campaign::schedule::{Schedule, SeedRange, Shard};
use crate::campaign::seed::SeedOutcome;
use crate::campaign::tally::Tally;
use crate::campaign::{CampaignOptions, campaign};
use crate::coverage::Need;
use crate::engine::sim;
use crate::report::{Summary, bundle, certificate, junit, terminal, whole_files};

/// How many seeds a campaign without options runs.
const DEFAULT_SEEDS: u64 = 1_000;

/// After so many seeds that say nothing about the system, the campaign ends.
const TROUBLES_TOLERATED: usize = 10;

/// The options of `certify`.
#[derive(Debug, Args)]
pub struct Options {
    /// Run only scenarios that match (repeatable; * and ? are wild)
    #[arg(long = "scenario", value_name = "GLOB", env = "LAKESTREAM_CERTIFY_SCENARIO", value_delimiter = ',')]
    scenarios: Vec<String>,
    /// Judge only this property, and require it (repeatable)
    #[arg(long = "property", value_name = "ID", env = "LAKESTREAM_CERTIFY_PROPERTY", value_delimiter = ',')]
    properties: Vec<String>,
    /// N seeds in all, spread over the scenarios by weight [default: 1000]; or A..B: each of these (B excluded) with
    /// every scenario. The required points of `list coverage` are asked of campaigns over all scenarios and properties
    /// with at least 1000 seeds; smaller ones only tell what they did not reach
    #[arg(long, value_name = "N|A..B", env = "LAKESTREAM_CERTIFY_SEEDS", value_parser = values::seeds)]
    seeds: Option<SeedRange>,
    /// Begin no seed after so long, like 90s, 5m or 1h; without --seeds there is no other end
    #[arg(long, value_name = "DURATION", env = "LAKESTREAM_CERTIFY_TIME", value_parser = values::duration)]
    time: Option<Duration>,
    /// Count the seeds of each scenario from this one: a number, or any text, which is hashed [default: 0]; without an
    /// effect on a range
    #[arg(long, value_name = "SEED", env = "LAKESTREAM_CERTIFY_FROM", value_parser = values::seed)]
    from: Option<u64>,
    /// Run a canary in place of one seed in a hundred: a planted bug on a seed that shows it, as `defects --record`
    /// wrote it. One that passes is trouble
    #[arg(long, value_name = "FILE", env = "LAKESTREAM_CERTIFY_CANARIES")]
    canaries: Option<PathBuf>,
    /// Go on after 1000 seeds until every required point of `list coverage` is reached (or --time is over)
    #[arg(long, env = "LAKESTREAM_CERTIFY_UNTIL_COVERED", value_parser = clap::builder::FalseyValueParser::new(),
          conflicts_with_all = ["scenarios", "properties", "seeds", "shard"])]
    until_covered: bool,
    #[command(flatten)]
    database: DatabaseOptions,
    #[command(flatten)]
    workers: WorkerOptions,
    /// Run only part I of N of the campaign; I counts from 0
    #[arg(long, value_name = "I/N", env = "LAKESTREAM_CERTIFY_SHARD", value_parser = values::shard)]
    shard: Option<Shard>,
    /// How many of a hundred seeds are run twice and compared
    #[arg(long, value_name = "PERCENT", default_value = "100", env = "LAKESTREAM_CERTIFY_DOUBLE",
          value_parser = values::percent)]
    double: u64,
    /// How many failing seeds of each property get a bundle; the rest is counted
    #[arg(long, value_name = "N", default_value = "3", env = "LAKESTREAM_CERTIFY_MAX_FAILURES",
          value_parser = values::count)]
    max_failures: u64,
    /// Where certificate.json, junit.xml and the bundles go
    #[arg(long, value_name = "DIR", default_value = "certificate", env = "LAKESTREAM_CERTIFY_OUT")]
    out: PathBuf,
    #[command(flatten)]
    system: SystemOptions,
}

/// The certificate's file name.
const CERTIFICATE_FILE: &str = "certificate.json";
/// The JUnit file's name.
const JUNIT_FILE: &str = "junit.xml";

/// Runs the campaign.
#[allow(clippy::disallowed_types, reason = "how long a campaign takes is told to people and part of no run")]
pub fn certify(options: &Options, console: &Console) -> Result<Status, CommandError> {
    let scenarios = names::scenarios(&options.scenarios)?;
    let mut selection = names::properties(&options.properties)?;
    let defects = names::defects(&options.system.defects)?;
    let mut database = options.database.open(&defects)?;
    let first = database.as_ref().map(|database| database.first(&scenarios)).unwrap_or_default();
    let canaries = options.canaries.as_deref().map(canaries).transpose()?.unwrap_or_default();
    let campaign_options = CampaignOptions {
        defects,
        double_percent: options.double,
        jobs: options.workers.count(),
        canaries: canaries.sparing(first.iter().map(|pair| (scenarios[pair.scenario].name.clone(), pair.seed))),
    };
    let range = match (&options.seeds, options.time) {
        (Some(range), _) => range.clone(),
        (None, Some(_)) => SeedRange::Unlimited,
        (None, None) if options.until_covered => SeedRange::Unlimited,
        (None, None) => SeedRange::Total(DEFAULT_SEEDS),
    };
    let interrupt = Interrupt::watch()?;
    prepare(&options.out)?;

    let weights: Vec<u64> = scenarios.iter().map(|scenario| scenario.weight).collect();
    let schedule = Schedule::new(&weights, range, options.shard.unwrap_or(Shard::WHOLE));
    let schedule = schedule.beginning_at(options.from.unwrap_or(0)).preceded_by(first);
    let bar = console.progress(schedule.size());
    let begun = Instant::now();
    let ids = selection.ids();
    let mut tally = Tally::new(options.max_failures);
    let mut unheard = None;
    let go_on = || !interrupt.came() && options.time.is_none_or(|limit| begun.elapsed() < limit);
    campaign(&scenarios, schedule, &campaign_options, go_on, |outcome| {
        if let Err(error) = console.detail(|| seed_line(&outcome)) {
            unheard = Some(error);
            return ControlFlow::Break(());
        }
        if let Some(database) = &mut database {
            database.note(&outcome, &ids);
        }
        tally.add(outcome, &ids);
        bar.inc(1);
        if options.until_covered && covered(&tally) {
            return ControlFlow::Break(());
        }
        if tally.troubles.len() < TROUBLES_TOLERATED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    bar.finish_and_clear();
    // First of all: what failed is kept, whoever can no longer be told of it.
    let unkept = database.and_then(|database| database.close().err());
    if let Some(error) = unheard {
        return Err(error);
    }
    tally.interrupted = interrupt.came();
    let seconds = begun.elapsed().as_secs_f64();
    selection.covering = options.is_whole() && tally.seeds_with_canaries() >= DEFAULT_SEEDS;

    let mut bundles = BTreeMap::new();
    let mut unwritten = None;
    for kept in &tally.kept {
        match bundle::write(&options.out, kept, &campaign_options.defects, sim::jail()) {
            Ok(path) => drop(bundles.insert(format!("{}@{}", kept.scenario, kept.seed), path)),
            Err(error) => unwritten = Some(error),
        }
    }
    let summary = Summary {
        tally: &tally,
        selection: &selection,
        defects: &campaign_options.defects,
        jail: sim::jail(),
        double_percent: options.double,
        bundles: &bundles,
    };
    match write_reports(&options.out, &summary) {
        Ok(json) if console.json() => console.machines(&json)?,
        Ok(_) => {}
        Err(error) => unwritten = Some(error),
    }
    let text = if console.quiet() || unwritten.is_some() {
        terminal::answer(&summary, console.paint())
    } else {
        terminal::report(&summary, seconds, &options.out, console.paint())
    };
    console.people(&text)?;
    let conclusion = selection.conclude(&tally);
    match unwritten.map(|error| unwritable(&options.out, &error)).or(unkept) {
        // What was found goes before what could not be written of it.
        Some(error) if conclusion == Conclusion::Violated => complain(&error),
        Some(error) => return Err(error),
        None => {}
    }
    Ok(conclusion.into())
}

impl Options {
    /// Whether nothing is left out and nothing is planted, so that the campaign can be asked for the whole coverage.
    fn is_whole(&self) -> bool {
        self.scenarios.is_empty()
            && self.properties.is_empty()
            && self.system.defects.is_empty()
            && self.shard.is_none_or(|shard| shard == Shard::WHOLE)
    }
}

/// The canaries of a file.
fn canaries(file: &Path) -> Result<Canaries, CommandError> {
    let canaries = read_text(file).and_then(|text| Canaries::parse(&text));
    canaries.map_err(|error| CommandError::usage(format!("the canaries in {} cannot be read: {error}", file.display())))
}

/// Whether a campaign that goes on until all is covered may end.
fn covered(tally: &Tally) -> bool {
    tally.seeds_with_canaries() >= DEFAULT_SEEDS && tally.coverage.missed(Need::Required).is_empty()
}

/// Makes the directory and removes an earlier campaign's answer, which must not outlive the start of this one.
fn prepare(out: &Path) -> Result<(), CommandError> {
    fs::create_dir_all(out).map_err(|error| unwritable(out, &error))?;
    for file in [CERTIFICATE_FILE, JUNIT_FILE] {
        match fs::remove_file(out.join(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unwritable(out, &error)),
            _ => {}
        }
    }
    Ok(())
}

/// Writes the files and returns the certificate's text.
fn write_reports(out: &Path, summary: &Summary<'_>) -> io::Result<String> {
    let certificate = bundle::pretty(&certificate::certificate(summary))?;
    whole_files::write_file(&out.join(JUNIT_FILE), junit::junit(summary)?.as_bytes())?;
    // Last, so that a certificate is there only if everything else is.
    whole_files::write_file(&out.join(CERTIFICATE_FILE), &certificate)?;
    Ok(String::from_utf8_lossy(&certificate).into_owned())
}

/// The error of reports and bundles that cannot be written.
pub fn unwritable(out: &Path, error: &io::Error) -> CommandError {
    CommandError::trouble(format!(
        "the reports cannot be written to {}: {error}; name a directory that can be written with --out",
        out.display()
    ))
}

/// One seed in one line.
fn seed_line(outcome: &SeedOutcome) -> String {
    let answer = match &outcome.trouble {
        Some(trouble) => format!("trouble: {trouble}"),
        None => {
            let violated: Vec<_> = outcome.violated().collect();
            if violated.is_empty() { "held".to_owned() } else { format!("violated {}", violated.join(", ")) }
        }
    };
    format!(
        "{} trace {} statements {} rounds {} faults {} {answer}\n",
        outcome.name(),
        bundle::trace_hash_text(outcome.trace_hash),
        outcome.statistics.statements,
        outcome.statistics.rounds_committed,
        outcome.statistics.faults_fired,
    )
}
