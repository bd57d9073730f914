//! The judges: a history in, a judgement per property out.
//!
//! A checker sees the history only. It never asks the system under test whether it is right (rule 6), and never knows
//! which defect, if any, is planted (rule 9). What the history lacks makes a property not exercised, never held.

mod catalog;
mod changelog;
mod column_changes;
mod columns_kept;
mod commits;
mod content;
mod contract;
mod disturbance;
mod freshness;
mod hand_off;
mod healing;
mod index;
mod integrity;
mod known_log;
mod layouts;
mod lifecycle;
mod names;
mod neighbours;
mod no_loss;
mod other_names;
mod other_side;
mod overwrites;
mod permitted;
mod plain_tables;
mod promotion;
pub mod properties;
mod prose;
mod readable;
mod recreated;
mod rejection;
mod rollback;
mod routing;
mod sides;
mod store_access;
mod store_down;
mod table;
mod tiered_ranges;
mod timeline;
mod views;
mod weather;
mod writes;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::history::History;

use index::Index;

/// What was found about one property in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// How many judgements were made that could have failed (rule 11).
    pub judged: u64,
    /// Every judgement that failed; at most [`VIOLATIONS_KEPT`], the last of which tells how many more there are.
    pub violations: Vec<Violation>,
    /// Judgements for which the evidence did not decide.
    pub undecided: u64,
    /// What happened where the texts are silent, each once, in words that say nothing of this run alone.
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
    /// By property id; every property that this version judges has an entry.
    pub judgements: BTreeMap<&'static str, Judgement>,
    /// How fresh the reads were.
    pub freshness: FreshnessSamples,
}

impl Findings {
    /// The violated properties.
    pub fn violated(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.judgements.iter().filter(|(_, judgement)| !judgement.violations.is_empty()).map(|(id, _)| *id)
    }
}

/// At most so many violations of one property are argued; the rest is counted.
pub const VIOLATIONS_KEPT: usize = 5;

/// Judges a history by every property that this version judges.
pub fn check(history: &History) -> Findings {
    let index = Index::of(history);
    let mut docket = Docket::open();
    freshness::judge(&index, &mut docket);
    healing::judge(&index, &mut docket);
    store_down::judge(&index, &mut docket);
    no_loss::judge(&index, &mut docket);
    hand_off::judge(&index, &mut docket);
    readable::judge(&index, &mut docket);
    commits::judge(&index, &mut docket);
    tiered_ranges::judge(&index, &mut docket);
    views::judge(&index, &mut docket);
    changelog::judge(&index, &mut docket);
    recreated::judge(&index, &mut docket);
    columns_kept::judge(&index, &mut docket);
    overwrites::judge(&index, &mut docket);
    neighbours::judge(&index, &mut docket);
    integrity::judge(&index, &mut docket);
    rejection::judge(&index, &mut docket);
    routing::judge(&index, &mut docket);
    contract::judge(&index, &mut docket);
    plain_tables::judge(&index, &mut docket);
    column_changes::judge(&index, &mut docket);
    layouts::judge(&index, &mut docket);
    store_access::judge(&index, &mut docket);
    other_names::judge(&index, &mut docket);
    other_side::judge(&index, &mut docket);
    lifecycle::judge(&index, &mut docket);
    promotion::judge(&index, &mut docket);
    disturbance::note(&index, &mut docket);
    Findings { judgements: docket.close(), freshness: freshness::samples(&index) }
}

/// Where the judges put down what they find.
struct Docket {
    judgements: BTreeMap<&'static str, Judgement>,
    /// Violations beyond [`VIOLATIONS_KEPT`].
    more: BTreeMap<&'static str, u64>,
}

impl Docket {
    fn open() -> Self {
        let judged = properties::ALL.iter().filter(|property| property.judged);
        Self { judgements: judged.map(|property| (property.id, Judgement::default())).collect(), more: BTreeMap::new() }
    }

    fn of(&mut self, property: &'static str) -> &mut Judgement {
        self.judgements.entry(property).or_default()
    }

    /// So many judgements were made, whatever their outcome.
    fn judged(&mut self, property: &'static str, count: u64) {
        self.of(property).judged += count;
    }

    /// One of the judgements failed. The argument is written only if it is kept.
    fn violated(&mut self, property: &'static str, mut events: Vec<u64>, argument: impl FnOnce() -> String) {
        if self.of(property).violations.len() == VIOLATIONS_KEPT {
            *self.more.entry(property).or_default() += 1;
            return;
        }
        events.sort_unstable();
        events.dedup();
        self.of(property).violations.push(Violation { argument: argument(), events });
    }

    /// The evidence for one judgement did not decide.
    fn undecided(&mut self, property: &'static str) {
        self.of(property).undecided += 1;
    }

    /// Something happened where the texts are silent. Told once, however often it happened.
    fn note(&mut self, property: &'static str, text: String) {
        let notes = &mut self.of(property).notes;
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    fn close(mut self) -> BTreeMap<&'static str, Judgement> {
        for (property, count) in std::mem::take(&mut self.more) {
            if let Some(last) = self.of(property).violations.last_mut() {
                last.argument.push_str(&format!(" ({count} more violations of {property} are not shown.)"));
            }
        }
        self.judgements
    }
}
