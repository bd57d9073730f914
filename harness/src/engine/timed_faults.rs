//! The faults of a plan that come at a time and last for a while. What each of them does is the network's business; a
//! fault of a single call is not seen here.

use std::rc::Rc;
use std::time::Duration;

use models::paimon::object_stores::MemoryObjectStore;
use models::store::InMemoryStore;
use scenarios::plan::{CLOCK_SKEW, Fault, Plan, rename_kind};

use super::faults::StaleAnswer;
use super::maintenance::MaintenanceHost;
use super::network::Network;
use crate::history::FaultPhase;

/// Lets the plan's timed faults strike, and tells what is wrong from the start. Those of single calls are armed already.
pub fn schedule(
    plan: &Plan,
    network: &Rc<Network>,
    objects: &Rc<MemoryObjectStore>,
    store: &Rc<InMemoryStore>,
    maintenance: &Rc<MaintenanceHost>,
) {
    if let Some(semantics) = plan.lake.rename {
        network.observe_fault(rename_kind(semantics), "lake", FaultPhase::Instant);
    }
    for (name, ahead_ms) in &plan.skew_ms {
        network.hosts_of(name).iter().for_each(|host| host.jump_clock(*ahead_ms as i64));
        network.observe_fault(CLOCK_SKEW, name, FaultPhase::Instant);
    }
    for (id, fault) in plan.faults() {
        let kind = fault.kind();
        match fault.clone() {
            Fault::Call { .. } => {}
            Fault::Crash { host, at_ms, restart_after_ms } => {
                let crashing = network.clone();
                network.spawn(async move {
                    tokio::time::sleep(Duration::from_millis(at_ms)).await;
                    for host in crashing.hosts_of(&host) {
                        crashing.crash(&host, restart_after_ms);
                    }
                });
            }
            Fault::Pause { host, at_ms, for_ms } => {
                for host in network.hosts_of(&host) {
                    let paused = host.clone();
                    let window = Window { kind, target: host.name.clone(), at_ms, for_ms };
                    window.open(network, move |_| host.pause(), move |_| paused.resume());
                }
            }
            Fault::Partition { from, to, both_ways, at_ms, for_ms } => {
                let target = Rc::from(format!("{from} {} {to}", if both_ways { "<->" } else { "->" }));
                let back = both_ways.then(|| (to.clone(), from.clone()));
                let ways: Vec<_> = [Some((from, to)), back].into_iter().flatten().collect();
                let cut = ways.clone();
                Window { kind, target, at_ms, for_ms }.open(
                    network,
                    move |network| {
                        ways.iter().for_each(|(from, to)| network.faults.cut(from, to));
                        true
                    },
                    move |network| cut.iter().for_each(|(from, to)| network.faults.mend(from, to)),
                );
            }
            Fault::SlowLink { from, to, by_ms, at_ms, for_ms } => {
                let target = Rc::from(format!("{from} <-> {to}"));
                let slow = (from.clone(), to.clone());
                Window { kind, target, at_ms, for_ms }.open(
                    network,
                    move |network| {
                        network.faults.slow_down(&from, &to, by_ms);
                        true
                    },
                    move |network| network.faults.speed_up(&slow.0, &slow.1, by_ms),
                );
            }
            Fault::Full { at_ms, for_ms } => {
                Window { kind, target: Rc::from("lake"), at_ms, for_ms }.open(
                    network,
                    |network| {
                        network.faults.begin_full();
                        true
                    },
                    |network| network.faults.end_full(),
                );
            }
            Fault::Maintain { table, job, at_ms } => {
                let (maintenance, id) = (maintenance.clone(), id.to_owned());
                network.spawn(async move {
                    tokio::time::sleep(Duration::from_millis(at_ms)).await;
                    maintenance.ask(&id, &table, &job);
                });
            }
            Fault::ClockJump { host, by_ms, at_ms } => {
                let jumping = network.clone();
                network.spawn(async move {
                    tokio::time::sleep(Duration::from_millis(at_ms)).await;
                    let struck = jumping.hosts_of(&host);
                    if !struck.is_empty() && !jumping.is_healed() {
                        struck.iter().for_each(|of_host| of_host.jump_clock(by_ms));
                        jumping.observe_fault(kind, &host, FaultPhase::Instant);
                    }
                });
            }
            Fault::StaleList { host, at_ms, for_ms } => {
                let window = Window { kind, target: Rc::from(host), at_ms, for_ms };
                window.open_stale(network, objects, StaleAnswer::List);
            }
            Fault::StaleExists { host, at_ms, for_ms } => {
                let window = Window { kind, target: Rc::from(host), at_ms, for_ms };
                window.open_stale(network, objects, StaleAnswer::Exists);
            }
            Fault::RetentionPressure { ttl_ms, at_ms, for_ms } => {
                let (pressed, released) = (store.clone(), store.clone());
                Window { kind, target: Rc::from("store"), at_ms, for_ms }.open(
                    network,
                    move |network| {
                        network.faults.begin_pressure(ttl_ms);
                        pressed.shorten_retention(network.faults.shortest_ttl_ms());
                        true
                    },
                    move |network| {
                        network.faults.end_pressure(ttl_ms);
                        released.shorten_retention(network.faults.shortest_ttl_ms());
                    },
                );
            }
            Fault::HeartbeatLoss { host, at_ms, for_ms } => {
                let heard = host.clone();
                Window { kind, target: Rc::from(host.as_str()), at_ms, for_ms }.open(
                    network,
                    move |network| {
                        network.hosts_of(&host).iter().for_each(|task| network.faults.silence(&task.name));
                        true
                    },
                    move |network| {
                        network.hosts_of(&heard).iter().for_each(|task| network.faults.end_silence(&task.name))
                    },
                );
            }
            Fault::Outage { part, at_ms, for_ms } => {
                let out = part.clone();
                Window { kind, target: Rc::from(part.as_str()), at_ms, for_ms }.open(
                    network,
                    move |network| {
                        network.faults.begin_outage(&part);
                        true
                    },
                    move |network| network.faults.end_outage(&out),
                );
            }
        }
    }
}

/// A fault with a beginning and an end, in simulated milliseconds since faults began.
struct Window {
    kind: &'static str,
    target: Rc<str>,
    at_ms: u64,
    for_ms: u64,
}

impl Window {
    /// Lets a session be told of the lake, for that long, as it is when the window begins.
    fn open_stale(self, network: &Rc<Network>, objects: &Rc<MemoryObjectStore>, answer: StaleAnswer) {
        let (objects, told, untold) = (objects.clone(), self.target.clone(), self.target.clone());
        self.open(
            network,
            move |network| {
                network.faults.begin_stale(answer, &told, objects.paths());
                true
            },
            move |network| network.faults.end_stale(answer, &untold),
        );
    }

    /// Lets it come and go; `begin` says whether it changed anything. Healing ends it earlier.
    fn open(
        self,
        network: &Rc<Network>,
        begin: impl FnOnce(&Network) -> bool + 'static,
        end: impl FnOnce(&Network) + 'static,
    ) {
        let struck = network.clone();
        network.spawn(async move {
            tokio::time::sleep(Duration::from_millis(self.at_ms)).await;
            if struck.is_healed() || !begin(&struck) {
                return;
            }
            struck.begin_window(self.kind, &self.target);
            tokio::time::sleep(Duration::from_millis(self.for_ms)).await;
            if !struck.is_healed() {
                end(&struck);
                struck.end_window(self.kind, &self.target);
            }
        });
    }
}
