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
//! 9. What is durable stays durable and every answer to who writes is true, if late or lost: no fault of this format
//!    tears an object whose writer was answered, or loses a synced record. Old lists and old answers about existence
//!    are for sessions that only read: a correct committer relies on what it is told, and so do its guards.
//! 10. Maintenance takes nothing from anybody who is within its declared time: see `plan/upkeep.rs`. A tag is put once
//!     and in time: one that came late or twice would name again what was deleted with it.
//! 11. A clock is never behind the true time, and ahead of it by at most `system.max_skew_ms`, its jumps included: the
//!     bounds that the system declares allow for that much. Clocks stay as they are when all is healed. A jump forward
//!     and a jump back are counted apart, so that one without the other keeps the rule too.
//! 12. Where a rename replaces what has the name, the catalog's lock keeps two committers apart for as long as its holder
//!     lives and its requests come in time. Nobody who commits dies then, and no rename comes late or twice.
//!
//! Removing steps never breaks a rule: each bounds what is there.

use std::collections::{BTreeMap, BTreeSet};

use models::config::SystemConfig;
use models::paimon::object_stores::RenameSemantics;

use super::calls::{COORDINATOR, LAKE, METASTORE, STORE, TIERING};
use super::{Bystander, CallAddress, CallFault, Fault, LakeStorage, Plan};

/// The one call of the lake whose effect depends on what a name means when it comes (rule 8).
const RENAME_DIRECTORY: &str = "lake.rename-directory";
/// The calls that make a tag (rule 10).
const MAKE_TAG: [&str; 2] = ["lake.put-tag", "lake.rename-tag"];
/// The writes of which a part may arrive.
pub(crate) const MAY_BE_TORN: [&str; 4] =
    ["lake.put-data", "lake.put-manifest", "lake.put-manifest-list", "lake.put-temporary"];
/// What the name of a call begins with that renames one object.
const RENAME: &str = "lake.rename-";

/// How much longer one way over a slow link takes at most: there and back stay within the timeout, with what a healthy
/// call takes and the sync that an append waits for (rule 6).
pub(crate) fn slowest_link_ms(system: &SystemConfig) -> u64 {
    system.call_timeout_ms.saturating_sub(2 * system.max_call_ms + system.store.sync_ms + 1) / 2
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
            Self::Crash { at_ms, restart_after_ms: for_ms, .. }
            | Self::Pause { at_ms, for_ms, .. }
            | Self::Partition { at_ms, for_ms, .. }
            | Self::SlowLink { at_ms, for_ms, .. }
            | Self::StaleList { at_ms, for_ms, .. }
            | Self::StaleExists { at_ms, for_ms, .. }
            | Self::RetentionPressure { at_ms, for_ms, .. }
            | Self::HeartbeatLoss { at_ms, for_ms, .. }
            | Self::Full { at_ms, for_ms }
            | Self::Outage { at_ms, for_ms, .. } => at_ms.saturating_add(*for_ms),
            Self::ClockJump { at_ms, .. } | Self::Maintain { at_ms, .. } => *at_ms,
        }
    }

    /// How long it lasts, if it has a beginning and an end of its own.
    fn lasts_ms(&self) -> Option<u64> {
        match self {
            Self::Call { .. } | Self::ClockJump { .. } | Self::Maintain { .. } => None,
            Self::Crash { restart_after_ms: for_ms, .. }
            | Self::Pause { for_ms, .. }
            | Self::Partition { for_ms, .. }
            | Self::SlowLink { for_ms, .. }
            | Self::StaleList { for_ms, .. }
            | Self::StaleExists { for_ms, .. }
            | Self::RetentionPressure { for_ms, .. }
            | Self::HeartbeatLoss { for_ms, .. }
            | Self::Full { for_ms, .. }
            | Self::Outage { for_ms, .. } => Some(*for_ms),
        }
    }

    /// The host that is away, and when; `None` for a call, for what happens to a link and for what takes nobody away
    /// from everybody.
    fn window(&self) -> Option<Window<'_>> {
        match self {
            Self::Crash { host, at_ms, restart_after_ms: for_ms }
            | Self::Pause { host, at_ms, for_ms }
            | Self::Outage { part: host, at_ms, for_ms } => Some(Window { host, at_ms: *at_ms, for_ms: *for_ms }),
            Self::Full { at_ms, for_ms } => Some(Window { host: LAKE, at_ms: *at_ms, for_ms: *for_ms }),
            Self::Call { .. }
            | Self::Partition { .. }
            | Self::SlowLink { .. }
            | Self::Maintain { .. }
            | Self::ClockJump { .. }
            | Self::StaleList { .. }
            | Self::StaleExists { .. }
            | Self::RetentionPressure { .. }
            | Self::HeartbeatLoss { .. } => None,
        }
    }

    /// Whether somebody dies of it who may be committing.
    fn kills_a_committer(&self) -> bool {
        let commits = |host: &str| host != STORE && host != METASTORE;
        match self {
            Self::Crash { host, .. } => commits(host),
            Self::Call { at, what } => match what {
                CallFault::CallerCrashesBefore { .. } | CallFault::CallerCrashesAfter { .. } => true,
                CallFault::OtherCrashesBefore { host, .. } | CallFault::OtherCrashesAfter { host, .. } => {
                    *host == Bystander::Coordinator
                }
                _ => what.kills_callee() && at.called().is_some_and(commits),
            },
            _ => false,
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

    /// Whether the request comes late or twice.
    fn comes_late_or_twice(&self) -> bool {
        matches!(self, Self::Duplicate { .. } | Self::Delay { .. } | Self::Reorder { .. })
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

/// What stands outside a plan's steps, as far as it decides what is survived.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    /// How long faults may strike.
    pub chaos_ms: u64,
    /// By how much a clock may be ahead.
    pub max_skew_ms: u64,
    /// By how much clocks are ahead from the start, by host.
    pub skew_ms: &'a BTreeMap<String, u64>,
    /// The storage under the lake.
    pub lake: LakeStorage,
}

/// How much more of a plan's faults a system would survive. Faults are offered one by one and taken or refused.
pub(crate) struct Budget<'a> {
    frame: Frame<'a>,
    /// Milliseconds away, by part.
    away_ms: BTreeMap<&'a str, u64>,
    windows: Vec<Window<'a>>,
    calls: BTreeSet<&'a CallAddress>,
    /// By how much each host's clock jumps forward in all, and back.
    jumps_ms: BTreeMap<&'a str, (u64, u64)>,
}

impl<'a> Budget<'a> {
    /// A chaos phase in which nothing is wrong yet.
    pub(crate) fn new(frame: Frame<'a>) -> Self {
        Self { frame, away_ms: BTreeMap::new(), windows: Vec::new(), calls: BTreeSet::new(), jumps_ms: BTreeMap::new() }
    }

    /// Takes the fault into account. The error says which rule it breaks, as "expected …, found …"; the budget is then
    /// as it was.
    pub(crate) fn take(&mut self, fault: &'a Fault) -> Result<(), String> {
        let chaos_ms = self.frame.chaos_ms;
        if fault.end_ms() > chaos_ms {
            return Err(format!(
                "expected the fault to be over when the chaos phase ends after {chaos_ms} ms, found that it lasts \
                 until {} ms",
                fault.end_ms()
            ));
        }
        self.check_lock(fault)?;
        if let Fault::ClockJump { host, by_ms, .. } = fault {
            return self.take_jump(host, *by_ms);
        }
        if let Fault::Call { at, what } = fault {
            if matches!(what, CallFault::TornWrite { .. }) && !MAY_BE_TORN.contains(&at.call.as_str()) {
                return Err(format!("expected a write that may be torn ({}), found {at}", MAY_BE_TORN.join(", ")));
            }
            if self.calls.contains(at) {
                return Err(format!("expected one fault a call, found a second one for {at}"));
            }
            if what.comes_late_or_twice() && at.call == RENAME_DIRECTORY {
                return Err(format!(
                    "expected a call that may come late or twice, found {at}: no file system moves a directory twice"
                ));
            }
            if what.comes_late_or_twice() && MAKE_TAG.contains(&at.call.as_str()) {
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
        if let Some(for_ms) = fault.lasts_ms().filter(|for_ms| *for_ms > chaos_ms / 2) {
            return Err(format!(
                "expected the fault to last at most half of the chaos phase, {} ms, found {for_ms} ms",
                chaos_ms / 2
            ));
        }
        let Some(window) = fault.window() else { return Ok(()) };
        let overlaps = |other: &&Window<'_>| {
            is_on_one_machine(other.host, window.host)
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

    /// Rule 12.
    fn check_lock(&self, fault: &Fault) -> Result<(), String> {
        if !self.frame.lake.rename.is_some_and(RenameSemantics::replaces) {
            return Ok(());
        }
        if fault.kills_a_committer() {
            return Err(format!(
                "expected nobody who holds a catalog's lock to die, as the lake's rename replaces what is there, found \
                 `{}`",
                fault.kind()
            ));
        }
        match fault {
            Fault::Call { at, what } if what.comes_late_or_twice() && at.call.starts_with(RENAME) => {
                Err(format!("expected a rename that replaces what is there to come once and in time, found {at}"))
            }
            _ => Ok(()),
        }
    }

    /// Counts a jump of a clock (rule 11).
    fn take_jump(&mut self, host: &'a str, by_ms: i64) -> Result<(), String> {
        let Frame { max_skew_ms, skew_ms, .. } = self.frame;
        let skew_ms = skew_ms.get(host).copied().unwrap_or(0);
        let (mut forward_ms, mut back_ms) = self.jumps_ms.get(host).copied().unwrap_or_default();
        let jumped_ms = if by_ms < 0 { &mut back_ms } else { &mut forward_ms };
        *jumped_ms = jumped_ms.saturating_add(by_ms.unsigned_abs());
        if skew_ms.saturating_add(forward_ms) > max_skew_ms || back_ms > skew_ms {
            return Err(format!(
                "expected the clock of `{host}` to stay ahead of the true time by 0 to {max_skew_ms} ms, found {skew_ms} \
                 ms from the start, {forward_ms} ms of jumps forward and {back_ms} ms of jumps back"
            ));
        }
        self.jumps_ms.insert(host, (forward_ms, back_ms));
        Ok(())
    }

    /// Counts the time for which a part is away.
    fn take_away(&mut self, part: &'a str, for_ms: u64) -> Result<(), String> {
        if ![STORE, COORDINATOR, LAKE, METASTORE].contains(&part) {
            return Ok(());
        }
        let away_ms = self.away_ms.entry(part).or_default();
        if *away_ms + for_ms > self.frame.chaos_ms / 3 {
            return Err(format!(
                "expected `{part}` to be away for at most a third of the chaos phase, {} ms, found {} ms in all",
                self.frame.chaos_ms / 3,
                *away_ms + for_ms
            ));
        }
        *away_ms += for_ms;
        Ok(())
    }
}

/// Whether what happens to one of them happens to the other: they are one host, or a worker's machine and a task of it.
fn is_on_one_machine(one: &str, other: &str) -> bool {
    let is_of = |task: &str, machine: &str| {
        machine.starts_with(TIERING) && task.strip_prefix(machine).is_some_and(|rest| rest.starts_with('-'))
    };
    one == other || is_of(one, other) || is_of(other, one)
}

impl Plan {
    fn frame(&self) -> Frame<'_> {
        let Self { chaos_ms, skew_ms, lake, .. } = self;
        Frame { chaos_ms: *chaos_ms, max_skew_ms: self.system.max_skew_ms, skew_ms, lake: *lake }
    }

    /// Whether all faults together stay within what a correct system survives.
    pub(super) fn check_survivable(&self) -> Result<(), String> {
        let mut budget = Budget::new(self.frame());
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
        refusal_over(LakeStorage::default(), faults)
    }

    /// The store's clock is 30 ms ahead, and none may be by more than 100 ms.
    fn refusal_over(lake: LakeStorage, faults: &[Fault]) -> Option<String> {
        let skew_ms = [("store".to_owned(), 30)].into();
        let mut budget = Budget::new(Frame { chaos_ms: 900, max_skew_ms: 100, skew_ms: &skew_ms, lake });
        faults.iter().find_map(|fault| budget.take(fault).err())
    }

    #[test]
    fn windows_that_a_system_survives_are_taken() {
        let faults = [
            outage("store", 0, 100),
            outage("lake", 50, 300),
            Fault::Crash { host: "store".to_owned(), at_ms: 100, restart_after_ms: 200 },
            Fault::Pause { host: "tiering-1-planner".to_owned(), at_ms: 450, for_ms: 450 },
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

    fn jump(host: &str, by_ms: i64) -> Fault {
        Fault::ClockJump { host: host.to_owned(), by_ms, at_ms: 10 }
    }

    #[test]
    fn clocks_stay_within_what_the_bounds_allow_for() {
        assert_eq!(refusal(&[jump("store", 70), jump("store", -30), jump("tiering-1", 100)]), None);
        for faults in [
            vec![jump("store", 71)],
            vec![jump("store", 40), jump("store", -20), jump("store", 31)],
            vec![jump("store", 60), jump("store", -31)],
            vec![jump("tiering-1", -1)],
            vec![jump("tiering-1", i64::MAX), jump("tiering-1", i64::MAX)],
        ] {
            let found = refusal(&faults).unwrap();
            assert!(found.contains("to stay ahead of the true time by 0 to 100 ms"), "{faults:?}: {found}");
        }
    }

    #[test]
    fn where_a_rename_replaces_the_lock_is_not_broken() {
        let call = |call: &str, what| Fault::Call {
            at: CallAddress { caller: "tiering".to_owned(), table: None, call: call.to_owned(), nth: 1 },
            what,
        };
        let crash = |host: &str| Fault::Crash { host: host.to_owned(), at_ms: 1, restart_after_ms: 1 };
        let (host, restart_after_ms) = (Bystander::Coordinator, 1);
        let breaks = [
            call("lake.rename-snapshot", CallFault::Delay { by_ms: 1 }),
            call("lake.rename-snapshot", CallFault::Duplicate { after_ms: 1 }),
            call("lake.put-data", CallFault::CallerCrashesAfter { restart_after_ms }),
            call("lake.put-data", CallFault::OtherCrashesBefore { host, restart_after_ms }),
            call("coordinator.heartbeat", CallFault::CalleeCrashesAfter { restart_after_ms }),
            crash("tiering-1"),
            crash("w1"),
        ];
        let survived = [
            call("lake.rename-snapshot", CallFault::ReplyLost),
            call("lake.put-data", CallFault::Delay { by_ms: 1 }),
            call("store.append", CallFault::CalleeCrashesAfter { restart_after_ms }),
            crash("store"),
        ];
        let over = |rename, fault: &Fault| refusal_over(LakeStorage { rename }, std::slice::from_ref(fault));
        for semantics in RenameSemantics::ALL {
            for fault in &breaks {
                assert_eq!(over(Some(semantics), fault).is_some(), semantics.replaces(), "{semantics:?}: {fault:?}");
                assert_eq!(over(None, fault), None, "{fault:?}");
            }
            for fault in &survived {
                assert_eq!(over(Some(semantics), fault), None, "{semantics:?}: {fault:?}");
            }
        }
    }
}
