//! What was going wrong while a statement lasted: nothing, the store alone, or something else.
//!
//! Windows are counted in event ordinals. Faults end with the healing, whether their end was told or not.

use crate::history::{Event, FaultPhase, History, RunPhase};

use super::index::{NEVER, Operation};

/// What was going wrong while a statement lasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// Nothing at all.
    Calm,
    /// The store was down from before the invocation until after the answer, and nothing else was wrong.
    StoreDown,
    /// Anything else.
    Rough,
}

/// A time in which something was wrong.
#[derive(Clone, Copy, Debug)]
struct Window {
    from_n: u64,
    to_n: u64,
    /// Whether it takes down the store as a whole, and nothing else.
    of_store: bool,
}

/// The faults of a run, by ordinal.
pub struct Forecast {
    /// By their beginning.
    windows: Vec<Window>,
}

impl Forecast {
    /// Reads the faults of a history.
    pub fn of(history: &History) -> Self {
        let mut windows: Vec<Window> = Vec::new();
        let mut open: Vec<(&str, &str, usize)> = Vec::new();
        for entry in &history.events {
            match &entry.event {
                Event::Fault { kind, target, phase: FaultPhase::Start } => {
                    let of_store =
                        target == "store" && matches!(kind.as_str(), "outage" | "crash" | "pause" | "store-down");
                    open.push((kind, target, windows.len()));
                    windows.push(Window { from_n: entry.n, to_n: NEVER, of_store });
                }
                Event::Fault { phase: FaultPhase::Instant, .. } => {
                    windows.push(Window { from_n: entry.n, to_n: entry.n, of_store: false });
                }
                Event::Fault { kind, target, phase: FaultPhase::End } => {
                    let matches = |(a, b, _): &(&str, &str, usize)| (*a, *b) == (kind.as_str(), target.as_str());
                    if let Some(position) = open.iter().position(matches) {
                        windows[open.remove(position).2].to_n = entry.n;
                    }
                }
                Event::Phase { phase: RunPhase::Healed } => {
                    open.drain(..).for_each(|(_, _, window)| windows[window].to_n = entry.n);
                }
                _ => {}
            }
        }
        Self { windows }
    }

    /// The windows that an operation met.
    fn met_by(&self, operation: &Operation) -> Vec<&Window> {
        let (from_n, to_n) = (operation.invoked.n, operation.answered().map_or(NEVER, |at| at.n));
        let begun = self.windows.partition_point(|window| window.from_n < to_n);
        self.windows[..begun].iter().filter(|window| window.to_n > from_n).collect()
    }

    /// Whether the store was down when an operation was sent, and nothing else was wrong until its end. The store may have
    /// come back meanwhile: whoever waits for it, waits until then.
    pub fn begins_without_store(&self, operation: &Operation) -> bool {
        let met = self.met_by(operation);
        met.iter().all(|window| window.of_store) && met.iter().any(|window| window.from_n < operation.invoked.n)
    }

    /// What was going wrong while an operation lasted.
    pub fn during(&self, operation: &Operation) -> Weather {
        let (from_n, to_n) = (operation.invoked.n, operation.answered().map_or(NEVER, |at| at.n));
        let met = self.met_by(operation);
        if met.is_empty() {
            Weather::Calm
        } else if met.iter().all(|window| window.of_store)
            && met.iter().any(|window| window.from_n < from_n && window.to_n > to_n)
        {
            Weather::StoreDown
        } else {
            Weather::Rough
        }
    }
}
