//! A run compared with an earlier one: where they part first.
//!
//! It never knows why they differ.

use std::fmt;

use crate::history::History;

/// The first place where two histories differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The event's ordinal; `None` for the header.
    pub event: Option<u64>,
    /// What the earlier run has there, as JSON; `None` if it has ended.
    pub earlier: Option<String>,
    /// What the later run has there, as JSON; `None` if it has ended.
    pub later: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ENDED: &str = "nothing, it has ended";
        match self.event {
            Some(event) => write!(formatter, "the first event that differs is event {event}")?,
            None => formatter.write_str("the headers differ")?,
        }
        let earlier = self.earlier.as_deref().unwrap_or(ENDED);
        let later = self.later.as_deref().unwrap_or(ENDED);
        write!(formatter, "\n  earlier: {earlier}\n  now:     {later}")
    }
}

/// The first difference between two histories; `None` if they are written the same. One that was read from a file may
/// hold less than one in memory: an empty set of rows has no columns there.
pub fn first_difference(earlier: &History, later: &History) -> Option<Difference> {
    if earlier.header != later.header {
        return Some(Difference { event: None, earlier: json(&earlier.header), later: json(&later.header) });
    }
    let length = earlier.events.len().max(later.events.len());
    (0..length).filter(|place| earlier.events.get(*place) != later.events.get(*place)).find_map(|place| {
        let (earlier, later) = (earlier.events.get(place).and_then(json), later.events.get(place).and_then(json));
        (earlier != later).then_some(Difference { event: Some(place as u64), earlier, later })
    })
}

/// One line of a history. Every part of one has a JSON form.
fn json(line: &impl serde::Serialize) -> Option<String> {
    serde_json::to_string(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Entry, Event, RunPhase};
    use models::contract::{Output, RowSet};
    use std::sync::Arc;

    fn history(phases: &[RunPhase]) -> History {
        let header = r#"{"history":1,"tables":{},"bounds":{"rt_staleness_ms":0,"lake_freshness_ms":1,"recovery_ms":1},"capabilities":[],"clock":"virtual"}"#;
        let mut history = History::read(header.as_bytes()).unwrap();
        for (n, phase) in phases.iter().enumerate() {
            history.events.push(Entry { n: n as u64, at_ms: 5, event: Event::Phase { phase: *phase } });
        }
        history
    }

    #[test]
    fn the_first_difference_is_named() {
        let earlier = history(&[RunPhase::Chaos, RunPhase::Healed]);
        assert_eq!(first_difference(&earlier, &earlier), None);
        let later = history(&[RunPhase::Chaos, RunPhase::End, RunPhase::End]);
        let difference = first_difference(&earlier, &later).unwrap();
        assert_eq!(difference.event, Some(1));
        assert!(difference.to_string().contains("event 1\n  earlier: {\"n\":1,\"at_ms\":5,"), "{difference}");
    }

    #[test]
    fn what_is_written_the_same_is_the_same() {
        let empty = |columns: &[&str]| {
            let columns = columns.iter().map(|column| Arc::from(*column)).collect();
            let rows = RowSet { columns, rows: Vec::new() };
            let mut history = history(&[]);
            let event = Event::Ok { op: "r1".to_owned(), output: Output::Found { row: rows } };
            history.events.push(Entry { n: 0, at_ms: 5, event });
            history
        };
        assert_ne!(empty(&["id"]), empty(&[]));
        assert_eq!(first_difference(&empty(&["id"]), &empty(&[])), None);
    }

    #[test]
    fn a_shorter_run_differs_where_it_ends() {
        let difference = first_difference(&history(&[RunPhase::Chaos, RunPhase::End]), &history(&[RunPhase::Chaos]));
        let difference = difference.unwrap();
        assert_eq!((difference.event, difference.later), (Some(1), None));
    }
}
