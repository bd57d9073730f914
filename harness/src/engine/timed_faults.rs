//! The faults of a plan that come at a time and last for a while. What each of them does is the network's business; a
//! fault of a single call is not seen here.

use std::rc::Rc;
use std::time::Duration;

use scenarios::plan::{Fault, Plan};

use super::maintenance::MaintenanceHost;
use super::network::Network;

/// Lets the plan's timed faults strike. Those of single calls are armed already.
pub fn schedule(plan: &Plan, network: &Rc<Network>, maintenance: &Rc<MaintenanceHost>) {
    for (id, fault) in plan.faults() {
        match fault.clone() {
            Fault::Call { .. } => {}
            Fault::Crash { host, at_ms, restart_after_ms } => {
                let crashing = network.clone();
                network.spawn(async move {
                    tokio::time::sleep(Duration::from_millis(at_ms)).await;
                    if let Some(host) = crashing.host(&host) {
                        crashing.crash(&host, restart_after_ms);
                    }
                });
            }
            Fault::Pause { host, at_ms, for_ms } => {
                let Some(host) = network.host(&host) else { continue };
                let paused = host.clone();
                let window = Window { kind: "pause", target: host.name.clone(), at_ms, for_ms };
                window.open(network, move |_| host.pause(), move |_| paused.resume());
            }
            Fault::Partition { from, to, both_ways, at_ms, for_ms } => {
                let target = Rc::from(format!("{from} {} {to}", if both_ways { "<->" } else { "->" }));
                let back = both_ways.then(|| (to.clone(), from.clone()));
                let ways: Vec<_> = [Some((from, to)), back].into_iter().flatten().collect();
                let cut = ways.clone();
                Window { kind: "partition", target, at_ms, for_ms }.open(
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
                Window { kind: "slow-link", target, at_ms, for_ms }.open(
                    network,
                    move |network| {
                        network.faults.slow_down(&from, &to, by_ms);
                        true
                    },
                    move |network| network.faults.speed_up(&slow.0, &slow.1, by_ms),
                );
            }
            Fault::Full { at_ms, for_ms } => {
                Window { kind: "capacity-full", target: Rc::from("lake"), at_ms, for_ms }.open(
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
            Fault::Outage { part, at_ms, for_ms } => {
                let out = part.clone();
                Window { kind: "outage", target: Rc::from(part.as_str()), at_ms, for_ms }.open(
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
