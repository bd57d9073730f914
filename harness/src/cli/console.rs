//! Where text goes: people and machines, colours and closed pipes.

use std::io::{self, IsTerminal, Write};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::status::CommandError;
use crate::history::History;
use crate::report::paint::Paint;
use crate::report::visible::{visible, visible_json};

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How to speak. Every command has these options.
#[derive(Clone, Debug, Args)]
pub struct ConsoleOptions {
    /// Machine output on stdout; humans on stderr
    #[arg(long, global = true, env = "LAKESTREAM_CERTIFY_JSON", value_parser = clap::builder::FalseyValueParser::new())]
    json: bool,
    /// When to colour
    #[arg(long, global = true, value_enum, default_value = "auto", env = "LAKESTREAM_CERTIFY_COLOR")]
    color: Color,
    /// Say nothing that is not a result
    #[arg(long, short, global = true, env = "LAKESTREAM_CERTIFY_QUIET", value_parser = clap::builder::FalseyValueParser::new())]
    quiet: bool,
    /// Say more: one line a seed
    #[arg(long, short, global = true, env = "LAKESTREAM_CERTIFY_VERBOSE", value_parser = clap::builder::FalseyValueParser::new())]
    verbose: bool,
}

/// The two streams.
#[derive(Debug)]
pub struct Console {
    options: ConsoleOptions,
    machine_on_stdout: bool,
}

impl Console {
    /// A console with the options of the command line.
    pub fn new(options: ConsoleOptions) -> Self {
        let machine_on_stdout = options.json;
        Self { options, machine_on_stdout }
    }

    /// Whether machine output is asked for.
    pub fn json(&self) -> bool {
        self.options.json
    }

    /// Whether only results are wanted.
    pub fn quiet(&self) -> bool {
        self.options.quiet
    }

    /// Keeps stdout for machines, whatever the options say.
    pub fn reserve_stdout(&mut self) {
        self.machine_on_stdout = true;
    }

    /// The colours of what people read.
    pub fn paint(&self) -> Paint {
        let terminal = if self.machine_on_stdout { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let on = match self.options.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && wanted,
        };
        Paint { on }
    }

    /// A result for people.
    pub fn people(&self, text: &str) -> Result<(), CommandError> {
        if self.machine_on_stdout { tolerant(io::stderr().lock(), text) } else { tolerant(io::stdout().lock(), text) }
    }

    /// A result for machines: JSON. They may have sent it to a terminal, which it must not command.
    pub fn machines(&self, json: &str) -> Result<(), CommandError> {
        tolerant(io::stdout().lock(), &visible_json(json))
    }

    /// A history for machines, as it is written to files.
    pub fn history(&self, history: &History) -> Result<(), CommandError> {
        let mut lines = Vec::new();
        history.write(&mut lines).map_err(|error| CommandError::trouble(error.to_string()))?;
        let lines = String::from_utf8(lines).map_err(|error| CommandError::trouble(error.to_string()))?;
        self.machines(&lines)
    }

    /// A detail for people who asked for more.
    pub fn detail(&self, text: impl FnOnce() -> String) -> Result<(), CommandError> {
        if self.options.verbose { tolerant(io::stderr().lock(), &text()) } else { Ok(()) }
    }

    /// A progress bar for `seeds` seeds (`None`: unknown). Who asked for a line a seed gets that instead.
    pub fn progress(&self, seeds: Option<u64>) -> ProgressBar {
        let template = if seeds.is_some() {
            "{bar:40} {pos}/{len} seeds · {per_sec} · {eta} left {msg}"
        } else {
            "{spinner} {pos} seeds · {per_sec} · {elapsed} {msg}"
        };
        self.bar(self.options.verbose, seeds, template)
    }

    /// A progress bar for so many searches.
    pub fn searches(&self, searches: u64) -> ProgressBar {
        self.bar(false, Some(searches), "{bar:40} {pos}/{len} searches · {elapsed} · {msg}")
    }

    /// A count of smaller plans while they are run.
    pub fn shrinking(&self) -> ProgressBar {
        self.bar(false, None, "{spinner} {pos} runs · {elapsed} · {msg}")
    }

    /// A count of files while they are read.
    pub fn file_progress(&self) -> ProgressBar {
        self.bar(false, None, "{spinner} {pos} files read · {elapsed}")
    }

    /// A progress bar on stderr, hidden where nobody would see it move.
    fn bar(&self, hidden: bool, length: Option<u64>, template: &str) -> ProgressBar {
        let hidden = hidden || self.options.quiet || !io::stderr().is_terminal();
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(length, target);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    }
}

/// An error that ends a command, for people.
pub fn complain(error: &CommandError) {
    // It may quote what stands in a foreign file.
    let lines: Vec<String> = error.to_string().lines().map(visible).collect();
    // If stderr is closed there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "error: {}", lines.join("\n"));
}

/// Writes text. A closed pipe is not an error: the reader has seen enough.
fn tolerant(mut to: impl Write, text: &str) -> Result<(), CommandError> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(CommandError::trouble(format!("the result cannot be written: {error}"))),
        Ok(()) => Ok(()),
    }
}
