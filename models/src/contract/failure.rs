//! How an operation fails. The one distinction that a judge needs is whether the effect is certainly absent.

use serde::{Deserialize, Serialize};

/// Why an operation failed, in the words of the adapter protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureCode {
    /// The contract refuses the statement.
    Rejected,
    /// The statement makes no sense for the table as it is.
    Invalid,
    /// The named table, snapshot or view does not exist.
    NotFound,
    /// The name is taken.
    AlreadyExists,
    /// The system cannot do this.
    Unsupported,
    /// The store that the table needs is unset, unknown or cannot be created (C14).
    Misconfigured,
    /// A part is down; the request was refused before it had an effect.
    Unavailable,
    /// No answer in time.
    Timeout,
    /// Anything else.
    Internal,
}

impl FailureCode {
    /// Whether this code, by the protocol, always means "no effect, now or later".
    pub fn is_always_definite(self) -> bool {
        !matches!(self, Self::Unavailable | Self::Timeout | Self::Internal)
    }
}

/// A failed operation. When in doubt it is indefinite (rule 5).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub code: FailureCode,
    /// `true`: the operation certainly had and will have no effect. `false`: it may have, once, at any later time.
    pub definite: bool,
    /// One sentence for a person.
    pub message: String,
}

impl Failure {
    /// A failure after which nothing has changed.
    pub fn definite(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, definite: true, message: message.into() }
    }

    /// A failure whose effect is unknown.
    pub fn indefinite(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, definite: false, message: message.into() }
    }

    /// The contract refuses the statement; nothing changed (C22).
    pub fn rejected(message: impl Into<String>) -> Self {
        Self::definite(FailureCode::Rejected, message)
    }

    /// The name does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::definite(FailureCode::NotFound, message)
    }

    /// The statement makes no sense for the table as it is.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::definite(FailureCode::Invalid, message)
    }

    /// Something is broken and the effect, if any, is unknown.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::indefinite(FailureCode::Internal, message)
    }

    /// The same failure with its effect unknown: for a step that failed for certain inside a statement of which an
    /// earlier step may have had an effect.
    #[must_use]
    pub fn made_indefinite(self) -> Self {
        let code = if self.code.is_always_definite() { FailureCode::Internal } else { self.code };
        Self { code, definite: false, message: self.message }
    }

    /// The same failure of a statement that certainly has no effect: for a step that only reads, before any that does
    /// more.
    #[must_use]
    pub fn made_definite(self) -> Self {
        Self { definite: true, ..self }
    }

    /// Whether trying the same call again can help: no answer, or a part that is down.
    pub fn is_transient(&self) -> bool {
        matches!(self.code, FailureCode::Unavailable | FailureCode::Timeout)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.message)
    }
}

impl std::error::Error for Failure {}
