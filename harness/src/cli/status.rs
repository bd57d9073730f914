//! Exit statuses, and the error that ends a command.

use std::fmt;
use std::process::ExitCode;

use crate::campaign::conclusion::Conclusion;

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Everything held.
    Held,
    /// A property was violated, or a violation was reproduced.
    Violated,
    /// A required property was never exercised.
    Inconclusive,
    /// The harness failed, or a run was not deterministic.
    Trouble,
    /// Wrong usage, an unknown name, malformed or unreadable input.
    Usage,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        ExitCode::from(match status {
            Status::Held => 0,
            Status::Violated => 1,
            Status::Inconclusive => 2,
            Status::Trouble => 3,
            Status::Usage => 64,
        })
    }
}

impl From<Conclusion> for Status {
    fn from(conclusion: Conclusion) -> Self {
        match conclusion {
            Conclusion::Held => Self::Held,
            Conclusion::Violated => Self::Violated,
            Conclusion::Inconclusive => Self::Inconclusive,
            Conclusion::Trouble => Self::Trouble,
        }
    }
}

/// Why a command could not do its work: one sentence for a person, one status for a script.
#[derive(Debug)]
pub struct CommandError {
    /// The status.
    pub status: Status,
    message: String,
}

impl CommandError {
    /// The caller asked for something impossible.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { status: Status::Usage, message: message.into() }
    }

    /// The harness or the machine failed.
    pub fn trouble(message: impl Into<String>) -> Self {
        Self { status: Status::Trouble, message: message.into() }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
