//! `defects`: the kill matrix, printed while it is made.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
#[allow(clippy::disallowed_types, reason = "how long a search may take is said by people and part of no run")]
use std::time::Instant;

use clap::Args;
use models::defects::{Defect, Defects};
use serde_json::{Value, json};

use super::console::Console;
use super::status::{CommandError, Status};
use super::{WorkerOptions, names, values};
use crate::campaign::canaries::record;
use crate::matrix::{MatrixOptions, Row, search, seeds_to_find};
use crate::report::bundle::{self, trace_hash_text};
use crate::report::paint::Paint;
use crate::report::paragraph::wrapped;
use crate::report::{grouped, seed_count, whole_files};
use crate::shrink::{ShrinkOptions, Shrunk, shrink};

/// The options of `defects`.
#[derive(Debug, Args)]
pub struct Options {
    /// Search for this bug only (repeatable)
    #[arg(long = "defect", value_name = "ID", env = "LAKESTREAM_CERTIFY_DEFECT", value_delimiter = ',')]
    defects: Vec<String>,
    /// After how many seeds a search gives up; they are spread by weight over the scenarios that exercise the bug's
    /// property
    #[arg(long, value_name = "N", default_value = "2000", env = "LAKESTREAM_CERTIFY_SEEDS",
          value_parser = values::count_from_1)]
    seeds: u64,
    /// How many searches for each bug, each from seeds of its own; all of them have to find it
    #[arg(long, value_name = "N", default_value = "1", env = "LAKESTREAM_CERTIFY_STARTS",
          value_parser = values::count_from_1)]
    starts: u64,
    /// Write where each bug was found to this file, for `certify --canaries`
    #[arg(long, value_name = "FILE", env = "LAKESTREAM_CERTIFY_RECORD")]
    record: Option<PathBuf>,
    /// Begin no seed after so long, like 90s or 5m; bugs that were not searched to the end leave the answer open
    #[arg(long, value_name = "DURATION", env = "LAKESTREAM_CERTIFY_TIME", value_parser = values::duration)]
    time: Option<Duration>,
    /// Shrink the plan of each hit and tell how small it gets
    #[arg(long, env = "LAKESTREAM_CERTIFY_SHRINK", value_parser = clap::builder::FalseyValueParser::new())]
    shrink: bool,
    #[command(flatten)]
    workers: WorkerOptions,
}

/// So many bugs that were not searched are named; the rest is counted.
const UNSEARCHED_NAMED: usize = 10;

/// Shrinking one hit ends with the place at which it made so many runs: what the matrix says must not depend on how fast a machine is.
const SHRINKING_RUNS: u64 = 3_000;

/// Searches for every bug and prints the matrix.
#[allow(clippy::disallowed_types, reason = "how long a search may take is said by people and part of no run")]
pub fn defects(options: &Options, console: &Console) -> Result<Status, CommandError> {
    let chosen: Vec<Defect> = if options.defects.is_empty() {
        Defect::ALL.to_vec()
    } else {
        names::defects(&options.defects)?.iter().collect()
    };
    let matrix = MatrixOptions { seeds: options.seeds, jobs: options.workers.count() };
    let library = names::scenarios(&[])?;
    let table = Table { id_width: chosen.iter().map(|defect| defect.id().len()).max().unwrap_or(0) };
    let paint = console.paint();
    let begun = Instant::now();
    let in_time = || options.time.is_none_or(|limit| begun.elapsed() < limit);
    let bar = console.searches(chosen.len() as u64 * options.starts);
    if !console.quiet() {
        console.people(&table.head(paint))?;
    }
    let mut rows: Vec<Entry> = Vec::new();
    let mut unsearched = BTreeSet::new();
    // Start by start, so that each bug is searched for once before any is a second time.
    for start in 0..options.starts {
        for defect in &chosen {
            let row = search(*defect, start, &library, matrix, in_time, |seeds| {
                bar.set_message(format!("{defect}: {}", seed_count(seeds)));
            });
            if !row.right() && row.seeds < options.seeds {
                unsearched.insert(*defect);
                continue;
            }
            let shrunk = options.shrink.then(|| shrink_hit(&row, matrix.jobs, in_time)).flatten();
            let entry = Entry { row, shrunk };
            bar.inc(1);
            if !console.quiet() || !entry.row.right() {
                bar.suspend(|| console.people(&table.line(&entry, paint)))?;
            }
            rows.push(entry);
        }
    }
    bar.finish_and_clear();
    rows.sort_by_key(|entry| (entry.row.defect, entry.row.start));
    if let Some(file) = &options.record {
        write_canaries(file, &rows)?;
    }
    if console.json() {
        let text = serde_json::to_string_pretty(&machine(&rows, options))
            .map_err(|error| CommandError::trouble(error.to_string()))?;
        console.machines(&format!("{text}\n"))?;
    }
    if options.starts > 1 && !console.quiet() {
        console.people(&table.over_starts(&rows, paint))?;
    }
    console.people(&conclusion(&rows, &unsearched, paint))?;
    Ok(status(&rows, &unsearched))
}

/// One search and what became of its hit.
struct Entry {
    row: Row,
    shrunk: Option<ShrunkHit>,
}

/// How small the plan of a hit could be made.
struct ShrunkHit {
    property: &'static str,
    steps: usize,
    of: usize,
    minimal: bool,
    runs: u64,
}

/// Shrinks the plan of a hit, so that it violates the first of the bug's properties that it shows.
fn shrink_hit(row: &Row, jobs: usize, go_on: impl Fn() -> bool + Sync) -> Option<ShrunkHit> {
    let hit = row.hit.as_ref()?;
    let property = *hit.named.iter().find(|id| row.defect.properties().contains(id))?;
    let plan = scenarios::find(&hit.scenario).ok()?.plan(hit.seed);
    let defects = Defects::from_iter([row.defect]);
    let options = ShrinkOptions { property, defects, jobs, most_runs: Some(SHRINKING_RUNS) };
    let shrunk = shrink(&plan, &options, go_on, |_| {})?;
    let Shrunk { plan: small, minimal, runs } = shrunk;
    Some(ShrunkHit { property, steps: small.steps.len(), of: plan.steps.len(), minimal, runs })
}

/// Writes the first hit of each bug that was found.
fn write_canaries(file: &Path, rows: &[Entry]) -> Result<(), CommandError> {
    // The last one of a bug is kept, so the first start's comes last.
    let rows = rows.iter().rev().map(|entry| &entry.row);
    let hits = rows.filter_map(|row| Some((row.defect, row.hit.as_ref()?.name())));
    let written = bundle::pretty(&record(hits)).and_then(|text| whole_files::write_file(file, &text));
    written.map_err(|error| CommandError::trouble(format!("{} cannot be written: {error}", file.display())))
}

/// A search that ends without the expected property, or not with it among the first, is a bug not found; a seed that
/// says nothing is trouble. Bugs for which there was no time leave it open.
fn status(rows: &[Entry], unsearched: &BTreeSet<Defect>) -> Status {
    if rows.iter().any(|entry| !entry.row.right()) {
        Status::Violated
    } else if rows.iter().any(|entry| entry.row.troubled_seeds > 0) {
        Status::Trouble
    } else if !unsearched.is_empty() {
        Status::Inconclusive
    } else {
        Status::Held
    }
}

/// The matrix as people see it.
struct Table {
    id_width: usize,
}

impl Table {
    /// The names of the columns.
    fn head(&self, paint: Paint) -> String {
        let head = format!("{:<2$}  {:<9}  seeds  expects  named first", "defect", "found", self.id_width);
        format!("{}\n", paint.bold(&head))
    }

    /// One search.
    fn line(&self, entry: &Entry, paint: Paint) -> String {
        let row = &entry.row;
        let (word, named) = match &row.hit {
            Some(hit) if row.right() => (paint.green("found    "), seen(&hit.name(), &hit.named)),
            Some(hit) => (paint.red("wrong    "), seen(&hit.name(), &hit.named)),
            None => (
                paint.red("not found"),
                match &row.first_violation {
                    Some(other) => seen(&other.name(), &other.named),
                    None => "nothing was violated".to_owned(),
                },
            ),
        };
        let mut text = format!(
            "{:<4$}  {word}  {:>5}  {:<7}  {}\n",
            row.defect.id(),
            grouped(row.seeds),
            row.defect.properties().join(" "),
            named,
            self.id_width
        );
        if let Some(trouble) = &row.trouble {
            let line = format!("{} said nothing: {trouble}", seed_count(row.troubled_seeds));
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", wrapped(&line, "  ", "    "));
        }
        if let Some(ShrunkHit { property, steps, of, minimal, runs }) = &entry.shrunk {
            let minimal = if *minimal { "1-minimal" } else { "not minimal yet" };
            let _ = writeln!(text, "  shrunk to {steps} of {of} steps for {property}, {minimal} after {runs} runs");
        }
        text
    }

    /// Each bug over all its starts.
    fn over_starts(&self, rows: &[Entry], paint: Paint) -> String {
        let head = format!("{:<1$}  found  median  worst seeds", "over all starts", self.id_width);
        let mut text = format!("\n{}\n", paint.bold(&head));
        for of_bug in rows.chunk_by(|left, right| left.row.defect == right.row.defect) {
            let Some(first) = of_bug.first() else { continue };
            let found = of_bug.iter().filter(|entry| entry.row.right()).count();
            let (median, worst) = match seeds_to_find(of_bug.iter().map(|entry| &entry.row)) {
                Some((median, worst)) => (grouped(median), grouped(worst.seeds)),
                None => ("–".to_owned(), "–".to_owned()),
            };
            let found = format!("{found}/{}", of_bug.len());
            let _ =
                writeln!(text, "{:<1$}  {found:<5}  {median:>6}  {worst:>11}", first.row.defect.id(), self.id_width);
        }
        text
    }
}

/// `L3 L1, in network@4`, with no more names than a line has room for.
fn seen(seed: &str, named: &[&str]) -> String {
    const SHOWN: usize = 5;
    let more = if named.len() > SHOWN { " …" } else { "" };
    let named = named.iter().take(SHOWN).copied().collect::<Vec<_>>().join(" ");
    format!("{named}{more} in {seed}")
}

/// The last lines: how many were found and after how many seeds, which were not, and for which there was no time.
fn conclusion(rows: &[Entry], unsearched: &BTreeSet<Defect>, paint: Paint) -> String {
    let right = rows.iter().filter(|entry| entry.row.right()).count();
    let mut missed: Vec<&str> =
        rows.iter().filter(|entry| !entry.row.right()).map(|entry| entry.row.defect.id()).collect();
    missed.dedup();
    let mut text = String::new();
    if let Some((median, worst)) = seeds_to_find(rows.iter().map(|entry| &entry.row)).filter(|_| right > 1) {
        let worst = format!("{} ({})", grouped(worst.seeds), worst.defect);
        let _ = writeln!(
            text,
            "{}",
            wrapped(&format!("seeds to find: median {}, worst {worst}", grouped(median)), "", "  ")
        );
    }
    if !unsearched.is_empty() {
        let mut ids: Vec<String> =
            unsearched.iter().take(UNSEARCHED_NAMED).map(|defect| defect.id().to_owned()).collect();
        if unsearched.len() > UNSEARCHED_NAMED {
            ids.push(format!("and {} more", unsearched.len() - UNSEARCHED_NAMED));
        }
        let _ = writeln!(
            text,
            "{}",
            wrapped(&format!("not searched from every start, the time was over: {}", ids.join(", ")), "", "  ")
        );
    }
    if rows.is_empty() {
        text.push_str("nothing was searched\n");
    } else if missed.is_empty() {
        let _ = writeln!(text, "{} {right} of {}, each by its property", paint.green("found"), rows.len());
    } else {
        let line = format!("found {right} of {}; not by their property: {}", rows.len(), missed.join(", "));
        let _ = writeln!(text, "{}", wrapped(&line, "", "  "));
    }
    text
}

/// The matrix for machines. It holds no time, machine or job data, so equal searches give equal bytes.
fn machine(rows: &[Entry], options: &Options) -> Value {
    let entries = rows.iter().map(|Entry { row, shrunk }| {
        let hit = row.hit.as_ref();
        let other = row.first_violation.as_ref().filter(|_| hit.is_none());
        json!({
            "id": row.defect.id(),
            "start": row.start,
            "properties": row.defect.properties(),
            "found": hit.is_some(),
            "right": row.right(),
            "seeds": row.seeds,
            "scenario": hit.map(|hit| &hit.scenario),
            "seed": hit.map(|hit| hit.seed),
            "trace_hash": hit.map(|hit| trace_hash_text(hit.trace_hash)),
            "named": hit.map(|hit| &hit.named),
            "named_instead": other.map(|other| json!({ "seed": other.name(), "named": other.named })),
            "troubled_seeds": row.troubled_seeds,
            "trouble": row.trouble,
            "shrunk": shrunk.as_ref().map(|shrunk| json!({
                "property": shrunk.property, "steps": shrunk.steps, "of_steps": shrunk.of,
                "minimal": shrunk.minimal, "runs": shrunk.runs,
            })),
        })
    });
    let seeds = seeds_to_find(rows.iter().map(|entry| &entry.row));
    json!({
        "seeds": options.seeds,
        "starts": options.starts,
        "found": rows.iter().filter(|entry| entry.row.hit.is_some()).count(),
        "right": rows.iter().filter(|entry| entry.row.right()).count(),
        "median_seeds": seeds.map(|(median, _)| median),
        "worst_seeds": seeds.map(|(_, worst)| worst.seeds),
        "of": rows.len(),
        "matrix": entries.collect::<Vec<_>>(),
    })
}
