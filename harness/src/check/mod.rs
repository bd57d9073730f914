//! The judges: a history in, a judgement per property out.
//!
//! A checker sees the history only. It never asks the system under test whether it is right (rule 6), and never knows
//! which defect, if any, is planted (rule 9). What the history lacks makes a property not exercised, never held.

use std::collections::BTreeMap;

/// What was found about one property in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// How many judgements were made that could have failed (rule 11).
    pub judged: u64,
    /// Every judgement that failed.
    pub violations: Vec<Violation>,
    /// Judgements for which the evidence did not decide.
    pub undecided: u64,
    /// What happened where the texts are silent.
    pub notes: Vec<String>,
}

/// One judgement that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Two or three sentences that argue it from the events.
    pub argument: String,
    /// The ordinals of the events that prove it, ascending.
    pub events: Vec<u64>,
}

/// How fresh reads were, in milliseconds: one sample a write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FreshnessSamples {
    /// For each acked write that a `t$rt` read could have shown: for how long after the ack some read still missed it.
    pub real_time_ms: Vec<u64>,
    /// For each acked write that reached the lake: from its ack to the commit time of the first snapshot with it
    /// (0 if the snapshot was first).
    pub lake_ms: Vec<u64>,
}

/// All that the judges say about one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// By property id.
    pub judgements: BTreeMap<&'static str, Judgement>,
    /// How fresh the reads were.
    pub freshness: FreshnessSamples,
}

pub mod properties;

/// Stand-in.
pub fn check(_history: &crate::history::History) -> Findings {
    Findings::default()
}
