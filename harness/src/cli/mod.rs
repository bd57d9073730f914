//! The command line: options in, an exit status out.
//!
//! Contract: 0 held, 1 violated, 2 inconclusive, 3 harness trouble, 64 wrong usage or unreadable input. Nothing here
//! judges; a panic never reaches the user.

mod certify;
mod check;
mod console;
mod defects;
mod inspect;
mod interrupt;
mod list;
mod measure_coverage;
mod names;
mod one_seed;
mod replay;
mod run;
mod seeds;
mod shrink;
mod status;
mod subject;
mod values;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::engine::run::Trouble;
use console::{Console, ConsoleOptions, complain};
use status::{CommandError, Status};

/// Certifies Lakestream Stores for Apache Paimon's lake-stream mode
#[derive(Debug, Parser)]
#[command(name = "lakestream-certify", version, propagate_version = true)]
#[command(after_help = "Exit status: 0 held, 1 violated, 2 inconclusive, 3 harness trouble or not deterministic, \
                        64 wrong usage or unreadable input.")]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    console: ConsoleOptions,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run every scenario over many seeds and say which properties hold
    Certify(certify::Options),
    /// Run one scenario on one seed or a range
    Run(run::Options),
    /// Run a bundle, a plan file or scenario@seed again
    Replay(replay::Options),
    /// Make a failing plan smaller until nothing can be left out of it
    Shrink(shrink::Options),
    /// Judge a history (JSON lines); no system is needed
    Check(check::Options),
    /// Verify a Paimon table on disk, whoever wrote it; print its rows
    Inspect(inspect::Options),
    /// Plant each known bug and print the kill matrix: found or not, after how many seeds, by which property
    Defects(defects::Options),
    /// Show and merge what campaigns keep of seeds that failed once
    Seeds(seeds::Options),
    /// Show what there is
    List(list::Options),
    /// Measure which points of the coverage a campaign must have been at
    #[command(hide = true)]
    MeasureCoverage(measure_coverage::Options),
}

/// The bugs to plant.
#[derive(Clone, Debug, clap::Args)]
struct SystemOptions {
    /// Plant this bug in the reference system (repeatable)
    #[arg(long = "defect", value_name = "ID", env = "LAKESTREAM_CERTIFY_DEFECT", value_delimiter = ',')]
    defects: Vec<String>,
}

/// How many workers.
#[derive(Clone, Copy, Debug, clap::Args)]
struct WorkerOptions {
    /// How many seeds run at once [default: one a core]
    #[arg(long, value_name = "N", env = "LAKESTREAM_CERTIFY_JOBS", value_parser = values::jobs)]
    jobs: Option<u16>,
}

impl WorkerOptions {
    /// As asked, else one a core.
    fn count(self) -> usize {
        self.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
    }
}

/// Runs the command that the process was called with.
pub fn main() -> ExitCode {
    // A panic in a run is a result with a message of its own, and one anywhere else ends here; the default report of a
    // panic is for those who ask for it.
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    match std::panic::catch_unwind(dispatch) {
        Ok(status) => status.into(),
        Err(panic) => {
            complain(&CommandError::trouble(format!("outside any run, {}", Trouble::panic(panic.as_ref()))));
            Status::Trouble.into()
        }
    }
}

fn dispatch() -> Status {
    let parsed = match CommandLine::try_parse() {
        Ok(parsed) => parsed,
        Err(error) => {
            // Help and version are answers; everything else is wrong usage. A closed pipe is not an error.
            let printed = error.print();
            return match printed {
                _ if error.use_stderr() => Status::Usage,
                Err(failed) if failed.kind() != std::io::ErrorKind::BrokenPipe => Status::Trouble,
                _ => Status::Held,
            };
        }
    };
    let console = Console::new(parsed.console);
    let result = match parsed.command {
        Command::Certify(options) => certify::certify(&options, &console),
        Command::Run(options) => run::run(&options, console),
        Command::Replay(options) => replay::replay(&options, console),
        Command::Shrink(options) => shrink::shrink_plan(&options, &console),
        Command::Check(options) => check::check(&options, &console),
        Command::Inspect(options) => inspect::inspect_table(&options, console),
        Command::Defects(options) => defects::defects(&options, &console),
        Command::Seeds(options) => seeds::seeds(&options, &console),
        Command::List(options) => list::list(&options, &console),
        Command::MeasureCoverage(options) => measure_coverage::measure_coverage(&options, &console),
    };
    match result {
        Ok(status) => status,
        Err(error) => {
            complain(&error);
            error.status
        }
    }
}
