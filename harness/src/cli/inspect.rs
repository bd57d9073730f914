//! `inspect`: verifies a Paimon table on disk, whoever wrote it. It never writes.

use std::path::PathBuf;
use std::rc::Rc;

use async_trait::async_trait;
use clap::Args;
use futures::FutureExt;
use models::contract::{Environment, Failure, Filter, TypedRow};
use models::defects::Defects;
use models::paimon::integrity::{Rule, TableOnDisk};
use models::paimon::{LakeAccess, PaimonTable, TimeTravel, Verification, inspect};

use super::console::Console;
use super::status::{CommandError, Status};
use crate::report::inspection;

/// Rows are written out in pieces of about so many bytes.
const ROWS_BUFFERED_BYTES: usize = 1 << 16;

/// The options of `inspect`.
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 clean, 1 findings, 2 nothing wrong found but not everything could be checked, \
                        64 no table or unreadable. Orphans, and snapshots out of the order of their times, are notes: \
                        they break nothing, and count as findings only with --strict.")]
pub struct Options {
    /// The table's directory: what holds `schema`, `snapshot` and `manifest`
    table_dir: PathBuf,
    /// Print the rows of the newest snapshot as JSON lines on stdout; what is found goes to stderr
    #[arg(long, conflicts_with = "json")]
    rows: bool,
    /// Print the rows of this snapshot
    #[arg(long, value_name = "N", requires = "rows")]
    snapshot: Option<u64>,
    /// Count notes as findings: orphans (L18), times that go back, what was not checked
    #[arg(long, env = "LAKESTREAM_CERTIFY_STRICT", value_parser = clap::builder::FalseyValueParser::new())]
    strict: bool,
}

/// Inspects the table.
pub fn inspect_table(options: &Options, mut console: Console) -> Result<Status, CommandError> {
    let bar = Rc::new(console.file_progress());
    let told = bar.clone();
    let storage = TableOnDisk::open(&options.table_dir, move |_| told.inc(1)).map_err(CommandError::usage)?;
    let path = storage.path();
    let lake = LakeAccess { objects: Rc::new(storage), environment: Rc::new(StandingClock), defects: Defects::none() };
    let (verification, contents) = at_once(inspect(&*lake.objects, &path))?;
    bar.finish_and_clear();
    if options.rows {
        console.reserve_stdout();
    }
    if console.json() {
        let text = serde_json::to_string_pretty(&inspection::entry(&verification, &contents))
            .map_err(|error| CommandError::trouble(error.to_string()))?;
        console.machines(&format!("{text}\n"))?;
    }
    let paint = console.paint();
    if !console.quiet() {
        console.people(&inspection::contents(&contents, paint))?;
    }
    console.people(&inspection::findings(&verification, paint))?;
    console.people(&inspection::conclusion(&verification, paint))?;
    if options.rows {
        let table = at_once(PaimonTable::open(&lake, &path))?.map_err(unreadable)?;
        at_once(print_rows(&table, options.snapshot, &console))??;
    }
    Ok(status(&verification, options.strict))
}

fn status(verification: &Verification, strict: bool) -> Status {
    let has_notes = !verification.notes.is_empty() || !verification.orphans.is_empty();
    if !verification.findings.is_empty() || (strict && has_notes) {
        Status::Violated
    } else if verification.notes.iter().any(|note| note.rule == Rule::NotChecked) {
        Status::Inconclusive
    } else {
        Status::Held
    }
}

/// Prints the rows of a snapshot, bucket by bucket, in the order of a full scan. A snapshot that is asked for shows its
/// own columns; the newest one those of the table.
async fn print_rows(table: &PaimonTable, snapshot_id: Option<u64>, console: &Console) -> Result<(), CommandError> {
    let (table, snapshot) = match snapshot_id {
        Some(id) => table.travel_to(&TimeTravel::SnapshotId(id)).await.map_err(unreadable)?,
        None => match table.latest_snapshot().await.map_err(unreadable)? {
            Some(newest) => (table.clone(), newest),
            None => return Ok(()),
        },
    };
    let buckets = table.scan(&snapshot, &Filter::new()).await.map_err(unreadable)?;
    let mut lines = String::new();
    for row in buckets.values().flatten() {
        let line = serde_json::to_string(&TypedRow { schema: table.schema(), row });
        lines.push_str(&line.map_err(|error| CommandError::trouble(error.to_string()))?);
        lines.push('\n');
        if lines.len() >= ROWS_BUFFERED_BYTES {
            console.machines(&lines)?;
            lines.clear();
        }
    }
    console.machines(&lines)
}

fn unreadable(failure: Failure) -> CommandError {
    CommandError::usage(format!("the rows cannot be read: {}", TableOnDisk::shortened(&failure.message)))
}

/// Runs what never waits: files on disk are read where they are asked for.
fn at_once<T>(reading: impl Future<Output = T>) -> Result<T, CommandError> {
    reading.now_or_never().ok_or_else(|| CommandError::trouble("reading the table's files did not end"))
}

/// The surroundings of a reader, which needs neither time nor luck.
struct StandingClock;

#[async_trait(?Send)]
impl Environment for StandingClock {
    fn now_ms(&self) -> u64 {
        0
    }

    async fn sleep_ms(&self, _duration_ms: u64) {}

    fn draw(&self, _site: &str, _subject: &str, _occurrence: u64) -> u64 {
        0
    }
}
