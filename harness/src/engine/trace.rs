//! The trace of a run: every call between parts, with its arguments and its effect, as one rolling hash.
//!
//! Two runs of one seed must have equal traces; where they do not, the first differing entry says where determinism
//! was lost. The trace never influences a run.

use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::Xxh3;

/// What a trace entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// A request leaves its caller; the fingerprint is of its arguments.
    Sent,
    /// The called part has done its work; the fingerprint is of the result.
    Effect,
}

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceEntry {
    /// When, in simulated milliseconds.
    pub at_ms: u64,
    /// Which call: an index into [`Trace::sites`].
    pub site: u32,
    /// The how-manieth call of this site, from 1.
    pub nth: u64,
    /// Which end of the call.
    pub moment: Moment,
    /// A hash of what crossed.
    pub fingerprint: u64,
}

/// All entries of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// In order.
    pub entries: Vec<TraceEntry>,
    /// The names of the call sites, `caller(table).part.method`.
    pub sites: Vec<String>,
}

impl Trace {
    /// The hash of the whole trace and of `rest`, whatever else must not differ between two runs.
    pub fn hash(&self, rest: &impl Hash) -> u128 {
        let mut hasher = Xxh3::new();
        self.entries.hash(&mut hasher);
        self.sites.hash(&mut hasher);
        rest.hash(&mut hasher);
        hasher.digest128()
    }

    /// The first entry in which two traces differ, in words; `None` if they are equal.
    pub fn first_difference(&self, other: &Self) -> Option<String> {
        let longest = self.entries.len().max(other.entries.len());
        let at = (0..longest).find(|index| {
            let (mine, theirs) = (self.entries.get(*index), other.entries.get(*index));
            mine != theirs || mine.map(|entry| self.name(entry)) != theirs.map(|entry| other.name(entry))
        })?;
        let describe = |trace: &Self| match trace.entries.get(at) {
            None => "the run was over".to_owned(),
            Some(entry) => format!(
                "{} ms {}#{} {:?} {:016x}",
                entry.at_ms,
                trace.name(entry),
                entry.nth,
                entry.moment,
                entry.fingerprint
            ),
        };
        Some(format!("event {at}: first run: {}; second run: {}", describe(self), describe(other)))
    }

    fn name(&self, entry: &TraceEntry) -> &str {
        &self.sites[entry.site as usize]
    }
}

/// A hash of anything that crosses a port.
pub fn fingerprint(of: &impl Hash) -> u64 {
    let mut hasher = Xxh3::new();
    of.hash(&mut hasher);
    hasher.finish()
}
