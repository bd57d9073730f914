//! The one error of all file formats: a sentence about what was expected and what was found.

use std::fmt;

use crate::contract::Failure;

/// A file, or a value meant for one, that does not follow its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError(String);

/// What encoding and decoding return.
pub type FormatResult<T> = Result<T, FormatError>;

impl FormatError {
    /// An error with this sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// The same error, told of this file or part of a file.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Self {
        Self(format!("{place}: {}", self.0))
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for FormatError {}

/// A malformed file says nothing about the effect of the statement that met it.
impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Self {
        Failure::internal(error.0)
    }
}
