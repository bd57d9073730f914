//! The black box that is certified.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::failure::Failure;
use super::statement::{Output, Statement};

/// A system under test: it executes statements of sessions.
#[async_trait(?Send)]
pub trait System {
    /// Executes one statement. A session has at most one in flight. `operation` is the caller's stable, unique id of
    /// this execution: all luck that the statement needs is drawn for it (rule 1).
    async fn execute(&self, session: &str, operation: &str, statement: Statement) -> Result<Output, Failure>;
}

/// One bucket's offset as `observe` shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObservedOffset {
    /// `k=v/k=v`, or null.
    #[serde(default)]
    pub partition: Option<String>,
    /// The bucket.
    pub bucket: u32,
    /// The offset; whether it is inclusive depends on what is observed.
    pub offset: u64,
}

/// How many rows one bucket has, as `observe` shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObservedRows {
    /// `k=v/k=v`, or null.
    #[serde(default)]
    pub partition: Option<String>,
    /// The bucket.
    pub bucket: u32,
    /// How many.
    pub rows: u64,
}

/// The declared bounds of a system, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// How old a `t$rt` read may be (F1).
    pub rt_staleness_ms: u64,
    /// From ack to a base read, without faults: timer + poll + longest round (F2).
    pub lake_freshness_ms: u64,
    /// From healing until all is as if nothing had happened (F2, F5).
    pub recovery_ms: u64,
}

/// What a system shows of itself about one table; all parts are optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Observation {
    /// Tiered offsets (exclusive) of the newest registered snapshot.
    pub tiered: Option<Vec<ObservedOffset>>,
    /// Offsets (exclusive) of the readable snapshot.
    pub readable: Option<Vec<ObservedOffset>>,
    /// Log ends (exclusive).
    pub log_end: Option<Vec<ObservedOffset>>,
    /// Log starts (inclusive).
    pub log_start: Option<Vec<ObservedOffset>>,
    /// How many rows the key-value state of each bucket serves; buckets without any are left out.
    pub key_rows: Option<Vec<ObservedRows>>,
    /// The newest registered snapshot.
    pub lake_snapshot_id: Option<u64>,
    /// The readable snapshot.
    pub readable_snapshot_id: Option<u64>,
    /// The store's identity of the table.
    pub table_id: Option<String>,
}
