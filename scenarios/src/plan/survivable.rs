//! What a correct system is certain to survive (rule 7). A plan that asks for more proves nothing, so it is refused.
//!
//! 1. Everything that goes wrong is over when the chaos phase ends.
//! 2. No single window lasts longer than half of the chaos phase.
//! 3. The store, the coordinator, the lake and a catalog's database are each away for at most a third of it, all their
//!    windows and the restarts that calls cause taken together: most writes must have a chance.
//! 4. One host fails once at a time: its windows do not overlap. Different hosts may fail together.
//! 5. A call goes wrong in one way.
//! 6. A link that is slow and a storage that is full are windows as well; a slow link still lets answers through, or it
//!    would be a partition, and of slow windows that overlap the slowest counts. A full storage counts as the lake's absence: no round can commit.
//! 7. A write may be torn only where nothing but a name that nobody was told yet leads to the object: data files,
//!    manifests, manifest lists. Snapshots, schemas and hints are put whole or not at all: a torn hint that nobody
//!    writes again would be there for ever.
//! 8. A directory is moved once and in time: file systems know a repeated rename by its number, and no catalog that
//!    names directories after tables survives one that comes when the name has another table.
//! 9. What is durable stays durable and every answer is true, if late or lost: no fault of this format tears an
//!    object whose writer was answered, loses a synced record or answers with an old listing.
//!
//! 10. Maintenance takes nothing from anybody who is within its declared time: see `plan/upkeep.rs`. A tag is put once
//!     and in time: one that came late or twice would name again what was deleted with it.
//!
//! Removing steps never breaks a rule: each bounds what is there.

use std::collections::{BTreeMap, BTreeSet};

use models::config::SystemConfig;

use super::calls::{COORDINATOR, LAKE, METASTORE, STORE};
use super::{CallAddress, CallFault, Fault, Plan};

/// The one call of the lake whose effect depends on what a name means when it comes (rule 8).
const RENAME_DIRECTORY: &str = "lake.rename-directory";
/// The call that makes a tag (rule 10).
const PUT_TAG: &str = "lake.put-tag";
/// The writes of which a part may arrive.
pub(crate) const MAY_BE_TORN: [&str; 3] = ["lake.put-data", "lake.put-manifest", "lake.put-manifest-list"];

/// How much longer one way over a slow link takes at most: there and back stay within the timeout, with what a healthy
/// call takes and the sync that an append waits for (rule 6).
pub(crate) fn slowest_link_ms(system: &SystemConfig) -> u64 {
    system.call_timeout_ms.saturating_sub(2 * system.max_call_ms + system.store.sync_ms + 1) / 2
}

/// Whether snapshots may expire at all: where the log is cut, followers of `changes` may be in a lake snapshot.
pub(crate) fn may_expire_snapshots(system: &SystemConfig) -> bool {
    system.store.log_ttl_ms.is_none()
}

/// When something is wrong with one host.
struct Window<'a> {
    host: &'a str,
    at_ms: u64,
    for_ms: u64,
}

impl Fault {
    /// Until when the fault lasts, as far as its own text says, in milliseconds from the start of the chaos phase. For
    /// a call that is the least: it begins when the call is made.
    pub(crate) fn end_ms(&self) -> u64 {
        match self {
            Self::Call { what, .. } => what.lasts_ms(),
            Self::Maintain { at_ms, .. } => *at_ms,
            Self::Crash { at_ms, restart_after_ms: for_ms, .. }
            | Self::Pause { at_ms, for_ms, .. }
            | Self::Partition { at_ms, for_ms, .. }
            | Self::SlowLink { at_ms, for_ms, .. }
            | Self::Full { at_ms, for_ms }
            | Self::Outage { at_ms, for_ms, .. } => at_ms.saturating_add(*for_ms),
        }
    }

    /// The host that is away, and when; `None` for a call and for what happens to a link, which takes nobody
    /// away from everybody.
    fn window(&self) -> Option<Window<'_>> {
        match self {
            Self::Crash { host, at_ms, restart_after_ms: for_ms }
            | Self::Pause { host, at_ms, for_ms }
            | Self::Outage { part: host, at_ms, for_ms } => Some(Window { host, at_ms: *at_ms, for_ms: *for_ms }),
            Self::Full { at_ms, for_ms } => Some(Window { host: LAKE, at_ms: *at_ms, for_ms: *for_ms }),
            Self::Call { .. } | Self::Partition { .. } | Self::SlowLink { .. } | Self::Maintain { .. } => None,
        }
    }
}

impl CallFault {
    /// How long the fault itself lasts.
    pub(crate) fn lasts_ms(&self) -> u64 {
        match *self {
            Self::Refuse | Self::RequestLost | Self::ReplyLost | Self::ErrorAfter | Self::TornWrite { .. } => 0,
            Self::Delay { by_ms } | Self::ReplyDelay { by_ms } => by_ms,
            Self::Duplicate { after_ms } => after_ms,
            Self::Reorder { at_most_ms } => at_most_ms,
            Self::CallerCrashesBefore { restart_after_ms }
            | Self::CallerCrashesAfter { restart_after_ms }
            | Self::OtherCrashesBefore { restart_after_ms, .. }
            | Self::OtherCrashesAfter { restart_after_ms, .. }
            | Self::CalleeCrashesBefore { restart_after_ms }
            | Self::CalleeCrashesAfter { restart_after_ms } => restart_after_ms,
        }
    }

    /// Whether the called part dies of it.
    pub(crate) fn kills_callee(&self) -> bool {
        matches!(self, Self::CalleeCrashesBefore { .. } | Self::CalleeCrashesAfter { .. })
    }

    /// The part that dies of it besides the caller, where the call goes to `called`.
    fn kills<'a>(&self, called: &'a str) -> Option<&'a str> {
        match self {
            Self::CalleeCrashesBefore { .. } | Self::CalleeCrashesAfter { .. } => Some(called),
            Self::OtherCrashesBefore { host, .. } | Self::OtherCrashesAfter { host, .. } => Some(host.host()),
            _ => None,
        }
    }
}

/// How much more of a plan's faults a system would survive. Faults are offered one by one and taken or refused.
pub(crate) struct Budget<'a> {
    chaos_ms: u64,
    /// Milliseconds away, by part.
    away_ms: BTreeMap<&'a str, u64>,
    windows: Vec<Window<'a>>,
    calls: BTreeSet<&'a CallAddress>,
}

impl<'a> Budget<'a> {
    /// A chaos phase in which nothing is wrong yet.
    pub(crate) fn new(chaos_ms: u64) -> Self {
        Self { chaos_ms, away_ms: BTreeMap::new(), windows: Vec::new(), calls: BTreeSet::new() }
    }

    /// Takes the fault into account. The error says which rule it breaks, as "expected …, found …"; the budget is then
    /// as it was.
    pub(crate) fn take(&mut self, fault: &'a Fault) -> Result<(), String> {
        let chaos_ms = self.chaos_ms;
        if fault.end_ms() > chaos_ms {
            return Err(format!(
                "expected the fault to be over when the chaos phase ends after {chaos_ms} ms, found that it lasts \
                 until {} ms",
                fault.end_ms()
            ));
        }
        if let Fault::Call { at, what } = fault {
            if matches!(what, CallFault::TornWrite { .. }) && !MAY_BE_TORN.contains(&at.call.as_str()) {
                return Err(format!("expected a write that may be torn ({}), found {at}", MAY_BE_TORN.join(", ")));
            }
            if self.calls.contains(at) {
                return Err(format!("expected one fault a call, found a second one for {at}"));
            }
            let comes_again =
                matches!(what, CallFault::Duplicate { .. } | CallFault::Delay { .. } | CallFault::Reorder { .. });
            if comes_again && at.call == RENAME_DIRECTORY {
                return Err(format!(
                    "expected a call that may come late or twice, found {at}: no file system moves a directory twice"
                ));
            }
            if comes_again && at.call == PUT_TAG {
                return Err(format!(
                    "expected a call that may come late or twice, found {at}: the tag may be deleted by then"
                ));
            }
            if let Some(part) = at.called().and_then(|called| what.kills(called)) {
                self.take_away(part, what.lasts_ms())?;
            }
            self.calls.insert(at);
            return Ok(());
        }
        let for_ms = match fault {
            Fault::Partition { for_ms, .. } | Fault::SlowLink { for_ms, .. } => *for_ms,
            _ => fault.window().map_or(0, |window| window.for_ms),
        };
        if for_ms > chaos_ms / 2 {
            return Err(format!(
                "expected the fault to last at most half of the chaos phase, {} ms, found {for_ms} ms",
                chaos_ms / 2
            ));
        }
        let Some(window) = fault.window() else { return Ok(()) };
        let overlaps = |other: &&Window<'_>| {
            other.host == window.host
                && other.at_ms < window.at_ms + window.for_ms
                && window.at_ms < other.at_ms + other.for_ms
        };
        if let Some(other) = self.windows.iter().find(overlaps) {
            return Err(format!(
                "expected one fault at a time at `{}`, found one from {} ms that overlaps one from {} ms",
                window.host, window.at_ms, other.at_ms
            ));
        }
        self.take_away(window.host, window.for_ms)?;
        self.windows.push(window);
        Ok(())
    }

    /// Counts the time for which a part is away.
    fn take_away(&mut self, part: &'a str, for_ms: u64) -> Result<(), String> {
        if ![STORE, COORDINATOR, LAKE, METASTORE].contains(&part) {
            return Ok(());
        }
        let away_ms = self.away_ms.entry(part).or_default();
        if *away_ms + for_ms > self.chaos_ms / 3 {
            return Err(format!(
                "expected `{part}` to be away for at most a third of the chaos phase, {} ms, found {} ms in all",
                self.chaos_ms / 3,
                *away_ms + for_ms
            ));
        }
        *away_ms += for_ms;
        Ok(())
    }
}

impl Plan {
    /// Whether all faults together stay within what a correct system survives.
    pub(super) fn check_survivable(&self) -> Result<(), String> {
        let mut budget = Budget::new(self.chaos_ms);
        for (step, fault) in self.faults() {
            budget.take(fault).map_err(|found| format!("step `{step}`: {found}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Bystander;
    use super::*;

    fn outage(part: &str, at_ms: u64, for_ms: u64) -> Fault {
        Fault::Outage { part: part.to_owned(), at_ms, for_ms }
    }

    /// Offers the faults in turn to a chaos phase of 900 ms; the first refusal.
    fn refusal(faults: &[Fault]) -> Option<String> {
        let mut budget = Budget::new(900);
        faults.iter().find_map(|fault| budget.take(fault).err())
    }

    #[test]
    fn windows_that_a_system_survives_are_taken() {
        let faults = [
            outage("store", 0, 100),
            outage("lake", 50, 300),
            Fault::Crash { host: "store".to_owned(), at_ms: 100, restart_after_ms: 200 },
            Fault::Pause { host: "tiering-1".to_owned(), at_ms: 450, for_ms: 450 },
        ];
        assert_eq!(refusal(&faults), None);
    }

    #[test]
    fn each_rule_refuses_in_its_own_words() {
        let callee = |nth, restart_after_ms| Fault::Call {
            at: CallAddress { caller: "w1".to_owned(), table: None, call: "store.append".to_owned(), nth },
            what: CallFault::CalleeCrashesAfter { restart_after_ms },
        };
        let torn = |call: &str| Fault::Call {
            at: CallAddress { caller: "tiering".to_owned(), table: None, call: call.to_owned(), nth: 1 },
            what: CallFault::TornWrite { permille: 500 },
        };
        assert_eq!(refusal(&[torn("lake.put-manifest"), torn("lake.put-data")]), None);
        let bystander = |restart_after_ms| Fault::Call {
            at: CallAddress { caller: "tiering".to_owned(), table: None, call: "lake.put-data".to_owned(), nth: 1 },
            what: CallFault::OtherCrashesAfter { host: Bystander::Store, restart_after_ms },
        };
        let cases = [
            (
                vec![outage("lake", 800, 101)],
                "over when the chaos phase ends after 900 ms, found that it lasts until 901",
            ),
            (vec![outage("tiering-1", 0, 451)], "at most half of the chaos phase, 450 ms, found 451 ms"),
            (vec![outage("store", 0, 200), callee(1, 101)], "`store` to be away for at most a third"),
            (vec![outage("lake", 0, 100), outage("lake", 99, 10)], "one fault at a time at `lake`"),
            (
                vec![Fault::Full { at_ms: 0, for_ms: 200 }, outage("lake", 300, 101)],
                "`lake` to be away for at most a third",
            ),
            (
                vec![Fault::SlowLink {
                    from: "w1".to_owned(),
                    to: "store".to_owned(),
                    by_ms: 5,
                    at_ms: 0,
                    for_ms: 451,
                }],
                "at most half of the chaos phase, 450 ms, found 451 ms",
            ),
            (vec![outage("store", 0, 200), bystander(101)], "`store` to be away for at most a third"),
            (
                vec![Fault::Call {
                    at: CallAddress {
                        caller: "s1".to_owned(),
                        table: None,
                        call: "lake.rename-directory".to_owned(),
                        nth: 1,
                    },
                    what: CallFault::Duplicate { after_ms: 5 },
                }],
                "no file system moves a directory twice",
            ),
            (vec![torn("lake.put-snapshot")], "a write that may be torn (lake.put-data, lake.put-manifest, "),
            (vec![callee(1, 10), callee(1, 20)], "one fault a call, found a second one for w1.store.append#1"),
        ];
        for (faults, expected) in cases {
            let found = refusal(&faults).unwrap();
            assert!(found.contains(expected), "{found}");
        }
    }
}
