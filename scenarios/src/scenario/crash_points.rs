//! The part of a scenario that tries every crash point of one protocol. Its plans enumerate: a seed names a point, or a
//! pair of points, of a list that is written down.

use serde::Deserialize;

/// How crash points are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrashPoints {
    /// What is cut short.
    pub of: CrashedProtocol,
    /// Whether a plan has two points: the second one strikes what goes on after the first.
    #[serde(default)]
    pub pairs: bool,
}

/// A protocol of several effects, each of which may be the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrashedProtocol {
    /// One round of tiering.
    TieringRound,
    /// One promotion of a lake table with a history.
    Promotion,
    /// One commit past the store.
    Commit,
}
