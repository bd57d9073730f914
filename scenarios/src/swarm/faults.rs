//! The faults of a run: which groups are on, how hot the run is, where each fault strikes. What a correct system might
//! not survive is left out (rule 7).
//!
//! A group of calls draws on two levels: each call is armed in a run or not, and only at armed ones a fault strikes. So
//! a run has few weak places, and each is hit again and again, rather than all of them once.

use models::config::CatalogKind;

use super::session::{Cast, Session};
use super::stories::Story;
use super::tables::Table;
use super::{Run, upkeep, within};
use crate::draw::Place;
use crate::plan::calls::{
    CALLS_ABOUT_NO_TABLE, COMPACTOR, COORDINATOR, LAKE, MAINTENANCE, METASTORE, STORE, TIERING, tiering_committer,
    tiering_planner, tiering_reader, tiering_worker,
};
use crate::plan::{Action, Budget, CallAddress, CallFault, Fault, Frame, Step, slowest_link_ms};
use crate::scenario::{CallFaultKind, CallNemesis, Length, LinkNemesis, Nemeses, Permille, Range, Role, WindowNemesis};

/// A run with fewer faults than this gets more of those that are on.
const FEWEST: u64 = 6;
/// A run has at most so many.
const MOST: usize = 40;

/// A log under pressure is kept for so long at most.
const SHORTEST_TTL_MS: u64 = 200;

/// In so many of a thousand runs a call of a group is armed.
const ARMED_PERMILLE: u64 = 500;

/// One group of a scenario, by the shape of its faults.
#[derive(Clone, Copy)]
enum Group<'a> {
    Calls(&'a CallNemesis),
    Crashes(&'a WindowNemesis),
    Pauses(&'a WindowNemesis),
    Partitions(&'a LinkNemesis),
    Outages(&'a WindowNemesis),
    SlowLinks(&'a LinkNemesis),
    Full(&'a WindowNemesis),
    ClockJumps(&'a WindowNemesis),
    StaleLists(&'a WindowNemesis),
    StaleExists(&'a WindowNemesis),
    RetentionPressure(&'a WindowNemesis),
    HeartbeatLoss(&'a WindowNemesis),
}

impl Group<'_> {
    fn head(&self) -> (&str, Permille, Range) {
        match self {
            Self::Calls(group) => (&group.name, group.on_permille, group.count),
            Self::Crashes(group)
            | Self::Pauses(group)
            | Self::Outages(group)
            | Self::Full(group)
            | Self::ClockJumps(group)
            | Self::StaleLists(group)
            | Self::StaleExists(group)
            | Self::RetentionPressure(group)
            | Self::HeartbeatLoss(group) => (&group.name, group.on_permille, group.count),
            Self::Partitions(group) | Self::SlowLinks(group) => (&group.name, group.on_permille, group.count),
        }
    }
}

fn groups(nemeses: &Nemeses) -> Vec<Group<'_>> {
    let calls = nemeses.calls.iter().map(Group::Calls);
    let hosts = nemeses.crashes.iter().map(Group::Crashes).chain(nemeses.pauses.iter().map(Group::Pauses));
    let links = nemeses.partitions.iter().map(Group::Partitions);
    let away = nemeses.outages.iter().map(Group::Outages);
    let slow = nemeses.slow_links.iter().map(Group::SlowLinks);
    let full = nemeses.full.iter().map(Group::Full);
    let clocks = nemeses.clock_jumps.iter().map(Group::ClockJumps);
    let old_lists = nemeses.stale_lists.iter().map(Group::StaleLists);
    let stale = old_lists.chain(nemeses.stale_exists.iter().map(Group::StaleExists));
    let pressure = nemeses.retention_pressure.iter().map(Group::RetentionPressure);
    let silence = nemeses.heartbeat_loss.iter().map(Group::HeartbeatLoss);
    let all = calls.chain(hosts).chain(links).chain(away).chain(slow).chain(full);
    all.chain(clocks).chain(stale).chain(pressure).chain(silence).collect()
}

/// The fault steps of the run.
pub(super) fn faults(run: &Run<'_>, cast: &Cast) -> Vec<Step> {
    let all = groups(run.nemeses);
    let place_of = |group: &Group<'_>| run.draws.at("nemesis", group.head().0);
    let all: Vec<Group<'_>> = all.into_iter().filter(|group| can_strike(run, *group)).collect();
    let mut on: Vec<Group<'_>> =
        all.iter().filter(|group| place_of(group).chance("on", 0, group.head().1.0)).copied().collect();
    if on.is_empty() {
        on.extend(run.draws.at("plan", "nemeses").pick("only", 0, &all));
    }
    let heat_percent = run.draws.at("plan", "nemeses").between_inclusive("heat", 0, 50, 160);
    let count = |group: &Group<'_>| (within(place_of(group), "count", 0, group.head().2) * heat_percent / 100).max(1);
    let counts: Vec<u64> = on.iter().map(count).collect();
    let most = counts.iter().copied().max().unwrap_or(0).max(2 * FEWEST);
    // One of each group, then a second one, and so on: a limit cuts all alike.
    let mut drawn: Vec<(String, Fault)> = Vec::new();
    let mut spare: Vec<(String, Fault)> = Vec::new();
    for number in 0..most {
        for (group, count) in on.iter().zip(&counts) {
            let id = format!("{}-{}", group.head().0, number + 1);
            let fault = fault(run, cast, *group, run.draws.at("nemesis", &id));
            if number < *count { drawn.push((id, fault)) } else { spare.push((id, fault)) }
        }
    }
    let mut budget = Budget::new(Frame {
        chaos_ms: run.chaos_ms,
        max_skew_ms: run.system.max_skew_ms,
        skew_ms: &run.skew_ms,
        lake: run.lake,
    });
    let mut taken = Vec::new();
    for (id, fault) in &drawn {
        if taken.len() < MOST && budget.take(fault).is_ok() {
            taken.push((id, fault));
        }
    }
    for (id, fault) in &spare {
        if (taken.len() as u64) < FEWEST && budget.take(fault).is_ok() {
            taken.push((id, fault));
        }
    }
    taken.into_iter().map(|(id, fault)| Step { id: id.clone(), action: Action::Fault(fault.clone()) }).collect()
}

/// Whether somebody plays the role in this run.
fn is_played(run: &Run<'_>, role: Role) -> bool {
    match role {
        Role::Metastore => run.catalog == CatalogKind::Jdbc,
        Role::Compactor => run.system.compactor.is_some(),
        Role::Maintenance => upkeep::is_on(run),
        _ => true,
    }
}

/// Whether only a storage that creates files by renaming has such a call.
fn is_of_renames(call: &str) -> bool {
    call == "lake.put-temporary" || (call.starts_with("lake.rename-") && call != "lake.rename-directory")
}

/// Whether the group finds somebody to strike.
fn can_strike(run: &Run<'_>, group: Group<'_>) -> bool {
    let some_of = |roles: &[Role]| roles.iter().any(|role| is_played(run, *role));
    match group {
        // A storage that renames nothing has no such calls.
        Group::Calls(group) => {
            is_played(run, group.caller)
                && (run.lake.rename.is_some() || !group.calls.iter().all(|call| is_of_renames(call)))
        }
        Group::ClockJumps(group) => run.system.max_skew_ms > 0 && some_of(&group.hosts),
        Group::Crashes(group)
        | Group::Pauses(group)
        | Group::Outages(group)
        | Group::Full(group)
        | Group::StaleLists(group)
        | Group::StaleExists(group)
        | Group::RetentionPressure(group)
        | Group::HeartbeatLoss(group) => some_of(&group.hosts),
        Group::Partitions(group) | Group::SlowLinks(group) => some_of(&group.from) && some_of(&group.to),
    }
}

fn fault(run: &Run<'_>, cast: &Cast, group: Group<'_>, place: Place) -> Fault {
    let host = |site: &str, roles: &[Role]| {
        let played: Vec<Role> = roles.iter().copied().filter(|role| is_played(run, *role)).collect();
        let role = place.pick(site, 0, &played).copied().unwrap_or(Role::Store);
        host_of(run, cast, role, place)
    };
    // The parts that everybody needs are away only briefly, so that several windows fit into their third.
    let window = |name: &str, lasts: Length| {
        let share = if [STORE, COORDINATOR, LAKE, METASTORE].contains(&name) { 8 } else { 2 };
        let for_ms = length_ms(run, place, lasts, run.chaos_ms / share);
        (place.between_inclusive("at", 0, run.chaos_ms / 20, run.chaos_ms - for_ms), for_ms)
    };
    match group {
        Group::Calls(group) => {
            Fault::Call { at: address(run, cast, group, place), what: call_fault(run, group, place) }
        }
        Group::Crashes(group) => {
            let host = host("host", &group.hosts);
            let (at_ms, restart_after_ms) = window(&host, group.lasts);
            Fault::Crash { host, at_ms, restart_after_ms }
        }
        Group::Pauses(group) => {
            let host = host("host", &group.hosts);
            let (at_ms, for_ms) = window(&host, group.lasts);
            Fault::Pause { host, at_ms, for_ms }
        }
        Group::Partitions(group) => {
            let (from, to) = (host("from", &group.from), host("to", &group.to));
            let (at_ms, for_ms) = window(&from, group.lasts);
            Fault::Partition {
                from,
                to,
                both_ways: place.chance("both-ways", 0, group.both_ways_permille.map_or(0, |share| share.0)),
                at_ms,
                for_ms,
            }
        }
        Group::SlowLinks(group) => {
            let (from, to) = (host("from", &group.from), host("to", &group.to));
            let (at_ms, for_ms) = window(&from, group.lasts);
            // Slow enough to outlast what depends on time, and never so slow that no answer comes.
            let most_ms = slowest_link_ms(&run.system);
            let by_ms = place.between_inclusive("by", 0, (most_ms / 10).max(1), most_ms.max(1));
            Fault::SlowLink { from, to, by_ms, at_ms, for_ms }
        }
        Group::Full(group) => {
            let (at_ms, for_ms) = window(LAKE, group.lasts);
            Fault::Full { at_ms, for_ms }
        }
        Group::ClockJumps(group) => {
            let host = host("host", &group.hosts);
            let far_ms = length_ms(run, place, group.lasts, run.system.max_skew_ms) as i64;
            let by_ms = if place.chance("back", 0, 500) { -far_ms } else { far_ms };
            Fault::ClockJump { host, by_ms, at_ms: place.between_inclusive("at", 0, run.chaos_ms / 20, run.chaos_ms) }
        }
        Group::StaleLists(group) => {
            let host = host("host", &group.hosts);
            let (at_ms, for_ms) = window(&host, group.lasts);
            Fault::StaleList { host, at_ms, for_ms }
        }
        Group::StaleExists(group) => {
            let host = host("host", &group.hosts);
            let (at_ms, for_ms) = window(&host, group.lasts);
            Fault::StaleExists { host, at_ms, for_ms }
        }
        Group::RetentionPressure(group) => {
            let (at_ms, for_ms) = window(TIERING, group.lasts);
            Fault::RetentionPressure { ttl_ms: place.between_inclusive("ttl", 0, 1, SHORTEST_TTL_MS), at_ms, for_ms }
        }
        Group::HeartbeatLoss(group) => {
            let host = host("host", &group.hosts);
            let (at_ms, for_ms) = window(&host, group.lasts);
            Fault::HeartbeatLoss { host, at_ms, for_ms }
        }
        Group::Outages(group) => {
            let part = host("host", &group.hosts);
            let (at_ms, for_ms) = window(&part, group.lasts);
            Fault::Outage { part, at_ms, for_ms }
        }
    }
}

/// The host that plays the role; any one of those that do.
fn host_of(run: &Run<'_>, cast: &Cast, role: Role, place: Place) -> String {
    let one_of = |sessions: &[Session]| {
        place.pick("session", 0, sessions).map_or_else(String::new, |session| session.name.clone())
    };
    let one_up_to = |site: &str, most: u32| 1 + place.below_exclusive(site, 0, u64::from(most)) as u32;
    let worker = || one_up_to("worker", run.system.tiering_workers);
    match role {
        Role::Store => STORE.to_owned(),
        Role::Coordinator => COORDINATOR.to_owned(),
        Role::Lake => LAKE.to_owned(),
        Role::Metastore => METASTORE.to_owned(),
        Role::Compactor => COMPACTOR.to_owned(),
        Role::Maintenance => MAINTENANCE.to_owned(),
        Role::Tiering => {
            const TASKS: [Role; 3] = [Role::Planner, Role::TieringReader, Role::Committer];
            let task = place.pick("task", 0, &TASKS).copied().unwrap_or(Role::Planner);
            host_of(run, cast, task, place)
        }
        Role::Worker => tiering_worker(worker()),
        Role::Planner => tiering_planner(worker()),
        Role::TieringReader => tiering_reader(worker(), one_up_to("tiering-reader", run.system.tiering_readers)),
        Role::Committer => tiering_committer(worker()),
        Role::Writer => one_of(&cast.writers),
        Role::Reader => one_of(&cast.readers),
        Role::Story => {
            place.pick("session", 0, &run.stories).map_or_else(String::new, |story| story.session.name.clone())
        }
    }
}

/// The calls of a group that are armed in this run; at least one.
fn armed<'a>(run: &Run<'_>, group: &'a CallNemesis) -> Vec<&'a String> {
    let place = run.draws.at("nemesis", &group.name);
    let is_armed = |index: usize| place.chance("site-armed", index as u64, ARMED_PERMILLE);
    let armed: Vec<&String> =
        (0..group.calls.len()).filter(|index| is_armed(*index)).map(|index| &group.calls[index]).collect();
    if armed.is_empty() { place.pick("armed-site", 0, &group.calls).into_iter().collect() } else { armed }
}

fn address(run: &Run<'_>, cast: &Cast, group: &CallNemesis, place: Place) -> CallAddress {
    let call = place.pick("call", 0, &armed(run, group)).copied().cloned().unwrap_or_default();
    let caller =
        if group.caller == Role::Tiering { TIERING.to_owned() } else { host_of(run, cast, group.caller, place) };
    let table = match group.caller {
        _ if CALLS_ABOUT_NO_TABLE.contains(&call.as_str()) => None,
        // The same draw as the caller's: a story has one table.
        Role::Story => place.pick("session", 0, &run.stories).map(Story::called),
        Role::Compactor => {
            let compacted: Vec<&Table> = run.tables.iter().filter(|table| table.needs_compactor()).collect();
            place.pick("table", 0, &compacted).map(|table| table.path.clone())
        }
        _ if place.chance("of-story", 0, group.stories_permille.map_or(0, |share| share.0)) => {
            place.pick("story", 0, &run.stories).map(Story::called)
        }
        _ => place.pick("table", 0, &run.tables).map(|table| table.path.clone()),
    };
    CallAddress { caller, table, call, nth: within(place, "nth", 0, group.nth) }
}

fn call_fault(run: &Run<'_>, group: &CallNemesis, place: Place) -> CallFault {
    let kinds: Vec<_> = group.kinds.iter().map(|fault| (fault.weight, fault)).collect();
    let drawn = place.pick_weighted("kind", 0, &kinds).map_or(&group.kinds[0], |fault| *fault);
    let lasts_ms = |share: u64| drawn.lasts.map_or(1, |lasts| length_ms(run, place, lasts, run.chaos_ms / share));
    match drawn.kind {
        CallFaultKind::Refuse => CallFault::Refuse,
        CallFaultKind::RequestLost => CallFault::RequestLost,
        CallFaultKind::ReplyLost => CallFault::ReplyLost,
        CallFaultKind::ErrorAfter => CallFault::ErrorAfter,
        CallFaultKind::TornWrite => CallFault::TornWrite { permille: place.below_exclusive("torn", 0, 1000) as u16 },
        CallFaultKind::Delay => CallFault::Delay { by_ms: lasts_ms(4) },
        CallFaultKind::ReplyDelay => CallFault::ReplyDelay { by_ms: lasts_ms(4) },
        CallFaultKind::Duplicate => CallFault::Duplicate { after_ms: lasts_ms(4) },
        CallFaultKind::Reorder => CallFault::Reorder { at_most_ms: lasts_ms(4) },
        CallFaultKind::CallerCrashesBefore => CallFault::CallerCrashesBefore { restart_after_ms: lasts_ms(4) },
        CallFaultKind::CallerCrashesAfter => CallFault::CallerCrashesAfter { restart_after_ms: lasts_ms(4) },
        CallFaultKind::CalleeCrashesBefore => CallFault::CalleeCrashesBefore { restart_after_ms: lasts_ms(10) },
        CallFaultKind::CalleeCrashesAfter => CallFault::CalleeCrashesAfter { restart_after_ms: lasts_ms(10) },
    }
}

/// From 1 to `most_ms`, both included.
fn length_ms(run: &Run<'_>, place: Place, lasts: Length, most_ms: u64) -> u64 {
    let drawn = |range| within(place, "lasts", 0, range);
    let wanted_ms = match lasts {
        Length::Ms(range) => drawn(range),
        Length::PercentOfHeartbeatTimeout(range) => run.system.coordinator.heartbeat_timeout_ms * drawn(range) / 100,
        Length::PercentOfCallTimeout(range) => run.system.call_timeout_ms * drawn(range) / 100,
    };
    wanted_ms.clamp(1, most_ms)
}
