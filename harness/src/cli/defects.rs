//! `defects`: the kill matrix, printed while it is made.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use models::defects::Defect;
use serde_json::{Value, json};

use super::console::Console;
use super::status::{CommandError, Status};
use super::{WorkerOptions, names, values};
use crate::campaign::canaries::record;
use crate::matrix::{MatrixOptions, Row, search};
use crate::report::bundle::{self, trace_hash_text};
use crate::report::paint::Paint;
use crate::report::paragraph::wrapped;
use crate::report::{grouped, seed_count, whole_files};

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
    #[command(flatten)]
    workers: WorkerOptions,
}

/// Searches for every bug and prints the matrix.
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
    let bar = console.searches(chosen.len() as u64 * options.starts);
    if !console.quiet() {
        console.people(&table.head(paint))?;
    }
    let mut rows = Vec::new();
    for defect in chosen {
        for start in 0..options.starts {
            let row = search(defect, start, &library, matrix, |seeds| {
                bar.set_message(format!("{defect}: {}", seed_count(seeds)));
            });
            bar.inc(1);
            if !console.quiet() || !row.right() {
                bar.suspend(|| console.people(&table.line(&row, paint)))?;
            }
            rows.push(row);
        }
    }
    bar.finish_and_clear();
    if let Some(file) = &options.record {
        write_canaries(file, &rows)?;
    }
    if console.json() {
        let text = serde_json::to_string_pretty(&machine(&rows, options))
            .map_err(|error| CommandError::trouble(error.to_string()))?;
        console.machines(&format!("{text}\n"))?;
    }
    console.people(&conclusion(&rows, paint))?;
    Ok(status(&rows))
}

/// Writes the first hit of each bug that was found.
fn write_canaries(file: &Path, rows: &[Row]) -> Result<(), CommandError> {
    let hits = rows.iter().rev().filter_map(|row| Some((row.defect, row.hit.as_ref()?.name())));
    let written = bundle::pretty(&record(hits)).and_then(|text| whole_files::write_file(file, &text));
    written.map_err(|error| CommandError::trouble(format!("{} cannot be written: {error}", file.display())))
}

/// A search that ends without the expected property, or not with it among the first, is a bug not found; a seed that
/// says nothing is trouble.
fn status(rows: &[Row]) -> Status {
    if rows.iter().any(|row| !row.right()) {
        Status::Violated
    } else if rows.iter().any(|row| row.troubled_seeds > 0) {
        Status::Trouble
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
    fn line(&self, row: &Row, paint: Paint) -> String {
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

/// The last line: how many were found, and which were not.
fn conclusion(rows: &[Row], paint: Paint) -> String {
    let right = rows.iter().filter(|row| row.right()).count();
    let missed: Vec<&str> = rows.iter().filter(|row| !row.right()).map(|row| row.defect.id()).collect();
    if missed.is_empty() {
        format!("{} {right} of {}, each by its property\n", paint.green("found"), rows.len())
    } else {
        let line = format!("found {right} of {}; not by their property: {}", rows.len(), missed.join(", "));
        format!("{}\n", wrapped(&line, "", "  "))
    }
}

/// The matrix for machines. It holds no time, machine or job data, so equal searches give equal bytes.
fn machine(rows: &[Row], options: &Options) -> Value {
    let entries = rows.iter().map(|row| {
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
        })
    });
    json!({
        "seeds": options.seeds,
        "starts": options.starts,
        "found": rows.iter().filter(|row| row.hit.is_some()).count(),
        "right": rows.iter().filter(|row| row.right()).count(),
        "of": rows.len(),
        "matrix": entries.collect::<Vec<_>>(),
    })
}
