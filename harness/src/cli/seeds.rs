//! `seeds`: what is known of seeds that failed once; and how `certify` reads and writes it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use models::defects::Defects;
use scenarios::scenario::Scenario;

use super::console::Console;
use super::status::{CommandError, Status};
use super::values;
use crate::bounded_text::read_text;
use crate::campaign::schedule::Pair;
use crate::campaign::seed::SeedOutcome;
use crate::campaign::seed_database::{KnownSeed, Origin, SeedDatabase};
use crate::report::visible::visible;
use crate::report::{grouped, seed_count, whole_files};

/// The options of `seeds`.
#[derive(Debug, Args)]
pub struct Options {
    /// Seed databases, as `certify --seed-database` writes them; several are merged. Of two lines about a seed the one
    /// that fails is kept, then the one that fails sooner, then the older one
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Write what was merged to this file
    #[arg(long, value_name = "FILE", env = "LAKESTREAM_CERTIFY_WRITE")]
    write: Option<PathBuf>,
}

/// Merges and shows seed databases.
pub fn seeds(options: &Options, console: &Console) -> Result<Status, CommandError> {
    let mut merged = SeedDatabase::default();
    for file in &options.files {
        merged.merge(&read(file)?);
    }
    if let Some(file) = &options.write {
        write(file, &merged)?;
    }
    if console.json() {
        console.machines(&merged.to_text())?;
    } else {
        let lines: Vec<String> = merged.seeds().map(line).collect();
        console.people(&format!("{}{}\n", lines.concat(), seed_count(lines.len() as u64)))?;
    }
    Ok(Status::Held)
}

/// One seed in a line.
fn line(known: &KnownSeed) -> String {
    let mut parts = vec![format!("{:<7}  {}", known.status.word(), known.name())];
    parts.extend(known.defects.iter().map(|defect| format!("with {defect}")));
    parts.extend(known.property.clone());
    parts.extend(known.failed_after_ms.map(|after_ms| format!("after {} simulated ms", grouped(after_ms))));
    parts.extend(known.first_seen.as_ref().map(|day| format!("since {day}")));
    parts.push(format!("build {}", known.build));
    // Somebody else may have written the file.
    format!("{}\n", visible(&parts.join("  ")))
}

/// How a campaign uses a seed database.
#[derive(Debug, Args)]
pub struct DatabaseOptions {
    /// Run the seeds of this file first, those that fail soonest before the others, and keep in it what failed; a file
    /// that is not there yet is made. `seeds` shows and merges such files
    #[arg(long, value_name = "FILE", env = "LAKESTREAM_CERTIFY_SEED_DATABASE")]
    seed_database: Option<PathBuf>,
    /// Today, as YYYY-MM-DD: since when a seed is known that fails for the first time
    #[arg(long, value_name = "DATE", env = "LAKESTREAM_CERTIFY_DATE", value_parser = values::date,
          requires = "seed_database")]
    date: Option<String>,
    /// What the seed database calls this build, a commit for example [default: the version]
    #[arg(long, value_name = "TEXT", env = "LAKESTREAM_CERTIFY_BUILD", requires = "seed_database")]
    build: Option<String>,
}

/// The seed database of a campaign that has one.
#[derive(Debug)]
pub struct CampaignDatabase {
    file: PathBuf,
    database: SeedDatabase,
    origin: Origin,
}

impl DatabaseOptions {
    /// Reads the database, if there is to be one.
    pub fn open(&self, defects: &Defects) -> Result<Option<CampaignDatabase>, CommandError> {
        let Some(file) = &self.seed_database else { return Ok(None) };
        let database = if file.exists() { read(file)? } else { SeedDatabase::default() };
        let mut planted: Vec<String> = defects.iter().map(|defect| defect.id().to_owned()).collect();
        planted.sort_unstable();
        let build = self.build.clone().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned());
        let origin = Origin { date: self.date.clone(), build, defects: planted };
        Ok(Some(CampaignDatabase { file: file.clone(), database, origin }))
    }
}

impl CampaignDatabase {
    /// The known seeds of these scenarios, in the order in which they are run. Of others nothing is asked.
    pub fn first(&self, scenarios: &[&Scenario]) -> Vec<Pair> {
        let pair = |known: &&KnownSeed| {
            let scenario = scenarios.iter().position(|scenario| scenario.name == known.scenario)?;
            Some(Pair { scenario, seed: known.seed })
        };
        self.database.of_system(&self.origin.defects).iter().filter_map(pair).collect()
    }

    /// Notes how a seed ended.
    pub fn note(&mut self, outcome: &SeedOutcome, properties: &BTreeSet<&'static str>) {
        self.database.note(outcome, properties, &self.origin);
    }

    /// Writes it back.
    pub fn close(&self) -> Result<(), CommandError> {
        write(&self.file, &self.database)
    }
}

fn read(file: &Path) -> Result<SeedDatabase, CommandError> {
    let database = read_text(file).and_then(|text| SeedDatabase::parse(&text));
    database
        .map_err(|error| CommandError::usage(format!("the seed database {} cannot be read: {error}", file.display())))
}

/// Writes the file whole or not at all.
fn write(file: &Path, database: &SeedDatabase) -> Result<(), CommandError> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    directory
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| whole_files::write_file(file, database.to_text().as_bytes()))
        .map_err(|error| {
            CommandError::trouble(format!("the seed database {} cannot be written: {error}", file.display()))
        })
}
