//! The nemeses' part of a scenario: groups of faults. Each group is on in some of the runs, and then strikes a few
//! times, more often in a hot run.

use serde::Deserialize;

use super::{MaintenanceNemesis, Permille, Range};
use crate::plan::MAY_BE_TORN;
use crate::plan::calls::check_call;

/// What goes wrong, by the shape of the fault.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Nemeses {
    /// Nothing goes wrong, and that is meant: the scenario is about time. Then there are no groups.
    pub calm: bool,
    /// Single calls go wrong.
    pub calls: Vec<CallNemesis>,
    /// Hosts die and come back.
    pub crashes: Vec<WindowNemesis>,
    /// Hosts stand still.
    pub pauses: Vec<WindowNemesis>,
    /// Links are cut.
    pub partitions: Vec<LinkNemesis>,
    /// Parts refuse every call.
    pub outages: Vec<WindowNemesis>,
    /// Links are slow.
    pub slow_links: Vec<LinkNemesis>,
    /// The storage under the lake is full; `hosts` is `["lake"]`.
    pub full: Vec<WindowNemesis>,
    /// Tables are looked after: compaction, expiry, tags, clean-up.
    pub maintenance: Vec<MaintenanceNemesis>,
    /// Clocks jump; `lasts` is how far. Strikes only runs in which clocks are wrong (`timings.skew_permille`).
    pub clock_jumps: Vec<WindowNemesis>,
    /// Lists of the lake are old; `hosts` is `["reader"]`.
    pub stale_lists: Vec<WindowNemesis>,
    /// What exists in the lake is told as of a while ago; `hosts` is `["reader"]`.
    pub stale_exists: Vec<WindowNemesis>,
    /// The store keeps its log for a shorter time; `hosts` is `["store"]`.
    pub retention_pressure: Vec<WindowNemesis>,
    /// No heartbeat of a worker arrives; `hosts` is `["worker"]`.
    pub heartbeat_loss: Vec<WindowNemesis>,
}

/// The groups that strike hosts with one kind of fault.
pub(crate) struct OfHosts<'a>(
    /// The kind, as `list faults` spells it.
    pub &'static str,
    /// The groups.
    pub &'a [WindowNemesis],
    /// Who can be struck.
    pub fn(Role) -> bool,
);

/// Whether who plays the role has a clock that a run looks at. The tasks of a tiering worker share its machine's.
fn has_clock(role: Role) -> bool {
    use Role::{Committer, Lake, Metastore, Planner, Story, Tiering, TieringReader};
    !matches!(role, Lake | Metastore | Story | Tiering | Planner | TieringReader | Committer)
}

impl Nemeses {
    /// The groups that strike hosts, by the kind of their faults.
    pub(crate) fn of_hosts(&self) -> [OfHosts<'_>; 9] {
        use Role::{Coordinator, Lake, Metastore, Reader, Store, Worker};
        [
            OfHosts("crash", &self.crashes, |role| role != Lake),
            OfHosts("pause", &self.pauses, |role| role != Lake),
            OfHosts("outage", &self.outages, |role| matches!(role, Store | Coordinator | Lake | Metastore)),
            OfHosts("capacity-full", &self.full, |role| role == Lake),
            OfHosts("clock-jump", &self.clock_jumps, has_clock),
            OfHosts("stale-list", &self.stale_lists, |role| role == Reader),
            OfHosts("stale-exists", &self.stale_exists, |role| role == Reader),
            OfHosts("retention-pressure", &self.retention_pressure, |role| role == Store),
            OfHosts("heartbeat-loss", &self.heartbeat_loss, |role| role == Worker),
        ]
    }

    /// The groups that strike links, by the kind of their faults.
    pub(crate) fn of_links(&self) -> [(&'static str, &[LinkNemesis]); 2] {
        [("partition", &self.partitions), ("slow-link", &self.slow_links)]
    }
}

/// Calls that go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallNemesis {
    /// The group's name, unique within the scenario; part of its faults' step ids.
    pub name: String,
    /// The share of runs in which the group is on.
    pub on_permille: Permille,
    /// How often it strikes, before heat.
    pub count: Range,
    /// Who calls.
    pub caller: Role,
    /// The share that strikes calls about the table of a story, not about one of the workload's; of callers that serve
    /// all tables only.
    #[serde(default)]
    pub stories_permille: Option<Permille>,
    /// `part.method`, any of them.
    pub calls: Vec<String>,
    /// Which call, counted from 1 within (caller, table, call).
    pub nth: Range,
    /// What happens to it, by weight.
    pub kinds: Vec<WeightedCallFault>,
}

/// One kind of call fault.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedCallFault {
    /// The kind.
    pub kind: CallFaultKind,
    /// How often, in proportion to the others.
    #[serde(default = "once")]
    pub weight: u64,
    /// How long: the delay, or the time that the host is down. Left out where the kind has no duration.
    #[serde(default)]
    pub lasts: Option<Length>,
}

pub(super) fn once() -> u64 {
    1
}

/// The kinds of [`crate::plan::CallFault`] that a scenario may draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallFaultKind {
    /// The request arrives late.
    Delay,
    /// The answer arrives late.
    ReplyDelay,
    /// Refused before it has an effect.
    Refuse,
    /// The request is lost.
    RequestLost,
    /// The answer is lost.
    ReplyLost,
    /// The effect happens and the answer is an error.
    ErrorAfter,
    /// The beginning of an object arrives.
    TornWrite,
    /// The request arrives twice.
    Duplicate,
    /// The request is overtaken.
    Reorder,
    /// The caller dies before it sends.
    CallerCrashesBefore,
    /// The caller dies after the effect.
    CallerCrashesAfter,
    /// The called host dies before the effect.
    CalleeCrashesBefore,
    /// The called host dies after the effect.
    CalleeCrashesAfter,
}

impl CallFaultKind {
    /// Whether the kind has a duration.
    pub fn has_length(self) -> bool {
        !matches!(self, Self::Refuse | Self::RequestLost | Self::ReplyLost | Self::ErrorAfter | Self::TornWrite)
    }
}

/// Hosts that are away for a while.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowNemesis {
    /// The group's name, unique within the scenario.
    pub name: String,
    /// The share of runs in which the group is on.
    pub on_permille: Permille,
    /// How often it strikes, before heat.
    pub count: Range,
    /// Any of them.
    pub hosts: Vec<Role>,
    /// For how long.
    pub lasts: Length,
}

/// Links that are cut, or slow, for a while.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkNemesis {
    /// The group's name, unique within the scenario.
    pub name: String,
    /// The share of runs in which the group is on.
    pub on_permille: Permille,
    /// How often it strikes, before heat.
    pub count: Range,
    /// The caller's side, any of them.
    pub from: Vec<Role>,
    /// The called side, any of them.
    pub to: Vec<Role>,
    /// The share that cuts both directions; of partitions only, for a slow link is slow both ways.
    #[serde(default)]
    pub both_ways_permille: Option<Permille>,
    /// For how long.
    pub lasts: Length,
}

/// Who. A role that several play stands for any one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The store.
    Store,
    /// The coordinator.
    Coordinator,
    /// The storage under the lake.
    Lake,
    /// The database of a JDBC catalog; nobody in runs with another catalog.
    Metastore,
    /// A task of a tiering worker, any one; as the caller of a call, all of them together.
    Tiering,
    /// The compactor; nobody in runs without one.
    Compactor,
    /// The host that looks after tables; nobody in scenarios without `maintenance`.
    Maintenance,
    /// A tiering worker's machine with all its tasks: to die or to stand still, with its clock and its heartbeats.
    Worker,
    /// The planner of a tiering worker.
    Planner,
    /// A reader of a tiering worker.
    TieringReader,
    /// The committer of a tiering worker.
    Committer,
    /// A writer's session.
    Writer,
    /// A reader's session.
    Reader,
    /// The session of a story.
    Story,
}

/// How long something lasts: in milliseconds, or in hundredths of a timing of the run, so that "longer than the
/// heartbeat timeout" can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Length {
    /// Milliseconds.
    Ms(Range),
    /// Hundredths of the coordinator's heartbeat timeout.
    PercentOfHeartbeatTimeout(Range),
    /// Hundredths of the call timeout.
    PercentOfCallTimeout(Range),
}

impl Nemeses {
    /// Whether something goes wrong for somebody in this role.
    pub(super) fn strike(&self, struck: Role) -> bool {
        let about_stories = self.calls.iter().any(|group| group.stories_permille.is_some());
        if struck == Role::Story && about_stories {
            return true;
        }
        let windows =
            self.of_hosts().into_iter().flat_map(|OfHosts(_, groups, _)| groups).flat_map(|group| &group.hosts);
        let links = self.of_links().into_iter().flat_map(|(_, groups)| groups);
        let links = links.flat_map(|group| group.from.iter().chain(&group.to));
        let callers = self.calls.iter().map(|group| &group.caller);
        windows.chain(links).chain(callers).any(|role| *role == struck)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let windows = self.of_hosts().into_iter().flat_map(|OfHosts(_, groups, _)| groups);
        let links = self.of_links().into_iter().flat_map(|(_, groups)| groups);
        let names = (self.calls.iter().map(|group| &group.name))
            .chain(windows.map(|group| &group.name))
            .chain(links.map(|group| &group.name))
            .chain(self.maintenance.iter().map(|group| &group.name));
        let mut names: Vec<&String> = names.collect();
        match (self.calm, names.is_empty()) {
            (false, true) => return Err("expected at least one group under `nemeses`, found none".to_owned()),
            (true, false) => return Err("expected no group under `nemeses` beside `calm`, found some".to_owned()),
            _ => {}
        }
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!(
                "expected each group of `nemeses` to have a name of its own, found {:?} twice",
                pair[0]
            ));
        }
        self.calls.iter().try_for_each(CallNemesis::check)?;
        self.maintenance.iter().try_for_each(MaintenanceNemesis::check)?;
        if self.strike(Role::Maintenance) && self.maintenance.is_empty() {
            return Err("expected a group of `nemeses.maintenance` for other groups to strike, found none".to_owned());
        }
        for OfHosts(kind, groups, can_strike) in self.of_hosts() {
            for group in groups {
                check_roles(kind, &group.name, &group.hosts, can_strike)?;
            }
        }
        for (kind, groups) in self.of_links() {
            for group in groups {
                check_roles(kind, &group.name, &group.from, |role| !matches!(role, Role::Lake | Role::Worker))?;
                let is_other = |role| role != Role::Worker && !group.from.contains(&role);
                check_roles(kind, &group.name, &group.to, is_other)?;
                let cuts = kind == "partition";
                if group.both_ways_permille.is_some() != cuts {
                    let (expected, found) = if cuts { ("a", "none") } else { ("no", "one") };
                    return Err(format!(
                        "expected {expected} `both_ways_permille` in group {:?} of `nemeses`, of kind {kind}, found {found}",
                        group.name
                    ));
                }
            }
        }
        Ok(())
    }
}

fn check_roles(kind: &str, group: &str, roles: &[Role], fits: impl Fn(Role) -> bool) -> Result<(), String> {
    if roles.is_empty() {
        return Err(format!("expected group {group:?} of `nemeses`, of kind {kind}, to name who, found nobody"));
    }
    match roles.iter().find(|role| !fits(**role)) {
        Some(role) => Err(format!(
            "expected somebody to whom a {kind} can happen in group {group:?} of `nemeses`, found {role:?}"
        )),
        None => Ok(()),
    }
}

impl CallNemesis {
    fn check(&self) -> Result<(), String> {
        let name = &self.name;
        if self.calls.is_empty() || self.kinds.is_empty() {
            return Err(format!("expected `calls` and `kinds` in group {name:?} of `nemeses.calls`, found none"));
        }
        for call in &self.calls {
            check_call(call).map_err(|found| format!("group {name:?} of `nemeses.calls`: {found}"))?;
        }
        // Who never calls, and who calls under the name of all tasks.
        let calls = |role| {
            !matches!(role, Role::Store | Role::Lake | Role::Metastore)
                && !matches!(role, Role::Worker | Role::Planner | Role::TieringReader | Role::Committer)
        };
        check_roles("call", name, &[self.caller], calls)?;
        self.nth.check_within("nth", 1, 1000).map_err(|found| format!("group {name:?} of `nemeses.calls`: {found}"))?;
        if self.stories_permille.is_some() && self.caller == Role::Story {
            return Err(format!(
                "expected no `stories_permille` in group {name:?} of `nemeses.calls`, whose caller has one table, \
                 found one"
            ));
        }
        let tears = self.kinds.iter().any(|fault| fault.kind == CallFaultKind::TornWrite);
        if let Some(call) = self.calls.iter().find(|call| tears && !MAY_BE_TORN.contains(&call.as_str())) {
            return Err(format!(
                "expected writes that may be torn in group {name:?} of `nemeses.calls`, found `{call}`"
            ));
        }
        for fault in &self.kinds {
            if fault.kind.has_length() != fault.lasts.is_some() {
                let expected = if fault.kind.has_length() { "a `lasts`" } else { "no `lasts`" };
                return Err(format!(
                    "expected {expected} for kind {:?} in group {name:?} of `nemeses.calls`, found {:?}",
                    fault.kind, fault.lasts
                ));
            }
        }
        Ok(())
    }
}
