//! Ports: every call between two parts passes here, and takes its delay and its outcome from the plan.
//!
//! A call travels in a task of its own, so a caller that is cancelled or dies loses the answer and never the request
//! that it already sent. A zero delay still yields. tokio's queue is first in, first out, so these delays are the only
//! exploration of schedules. The network never looks into what it carries.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use models::contract::{Failure, FailureCode, TablePath};
use scenarios::draw::{Draws, Place};
use scenarios::plan::calls::TIERING;
use scenarios::plan::{CallFault, Plan};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant as SimulatedInstant;

use super::arrivals::Arrivals;
use super::faults::Faults;
use super::hosts::HostState;
use super::journey::{Journey, Way};
use super::run::{RunStatistics, Trouble};
use super::trace::{Moment, Trace, TraceEntry, fingerprint};
use crate::coverage::{Catalogue, CoverageIndex, EnginePoint, catalogue};
use crate::history::{Entry, Event, FaultPhase};

/// Who calls whom.
pub struct Edge {
    /// The host that calls; dies and pauses as a whole.
    pub caller: Rc<HostState>,
    /// The caller's name in call addresses: `tiering` for every task of every worker.
    pub role: Rc<str>,
    /// The called host; `None` is the lake, which has outages but no life of its own.
    pub callee: Option<Rc<HostState>>,
    /// The called host's name, or `lake`.
    pub part: Rc<str>,
    /// What the caller is busy with, for keyed draws.
    pub scope: Rc<Scope>,
}

/// What a caller is busy with: the step of a session, the round of a worker. Latencies are drawn by it and by the
/// occurrence within it, so that removing one step of a plan leaves every other step's luck as it was (rule 1). A
/// caller that serves many at once, like the coordinator, is busy with nothing in particular: its luck is that of the
/// table and the call, counted.
pub struct Scope {
    actor: Rc<str>,
    draws: Draws,
    step: Cell<Option<Place>>,
    occurrence: Cell<u64>,
}

impl Scope {
    /// An actor that has not begun anything yet.
    pub fn new(seed: u64, actor: &str) -> Rc<Self> {
        Rc::new(Self { actor: Rc::from(actor), draws: Draws { seed }, step: Cell::new(None), occurrence: Cell::new(0) })
    }

    /// The actor begins something else.
    pub fn enter(&self, step: &str) {
        self.step.set(Some(self.draws.at(&self.actor, step)));
        self.occurrence.set(0);
    }

    /// A call draws its luck: the `nth` of its site, and the next of this step.
    fn draw(&self, call: &'static str, site: &str, nth: u64) -> u64 {
        let Some(step) = self.step.get() else { return self.draws.at(&self.actor, site).draw(call, nth) };
        let occurrence = self.occurrence.get();
        self.occurrence.set(occurrence + 1);
        step.draw(call, occurrence)
    }
}

/// One kind of call by one kind of caller about one table.
struct Site {
    index: u32,
    calls: u64,
    faults: BTreeMap<u64, CallFault>,
}

/// A call on its way.
#[derive(Clone, Copy)]
pub struct Parcel {
    /// The call site, an index into [`Trace::sites`].
    pub site: u32,
    /// The how-manieth call of the site, from 1.
    pub nth: u64,
    /// What goes wrong with it.
    pub fault: Option<CallFault>,
    /// Whether it puts an object into the lake.
    pub puts_object: bool,
    /// Whether a worker says that it is alive.
    pub is_heartbeat: bool,
    /// How long the request takes.
    pub request_ms: u64,
    /// How long the answer takes.
    pub reply_ms: u64,
}

type SiteKey = (Rc<str>, Option<TablePath>, &'static str);
/// Caller and called part.
type WayKey = (Rc<str>, Rc<str>);

/// All ports of one run, with the clock, the trace and the history.
pub struct Network {
    seed: u64,
    min_call_ms: u64,
    max_call_ms: u64,
    call_timeout_ms: u64,
    event_budget: u64,
    began: SimulatedInstant,
    /// What can go wrong.
    pub faults: Faults,
    hosts: RefCell<BTreeMap<Rc<str>, Rc<HostState>>>,
    sites: RefCell<BTreeMap<SiteKey, Site>>,
    trace: RefCell<Trace>,
    events: RefCell<Vec<Entry>>,
    ways: RefCell<BTreeMap<WayKey, Rc<Way>>>,
    /// Faults strike in the chaos phase only.
    faults_strike: Cell<bool>,
    healed: Cell<bool>,
    healing: Notify,
    /// Faults with a duration that have begun and not ended.
    open_windows: RefCell<Vec<(&'static str, Rc<str>)>>,
    spent: Cell<u64>,
    trouble: RefCell<Option<Trouble>>,
    troubled: Notify,
    /// Tables of which a tiering worker committed a snapshot and has not registered it yet, with that worker.
    unregistered: RefCell<BTreeMap<TablePath, Rc<str>>>,
    arrivals: Arrivals,
    statistics: RefCell<RunStatistics>,
}

impl Network {
    /// The network of a plan, at time zero, for at most so many events. Needs a running paused tokio runtime.
    pub fn new(plan: &Plan, event_budget: u64) -> Rc<Self> {
        Rc::new(Self {
            event_budget,
            seed: plan.seed,
            min_call_ms: plan.min_call_ms,
            max_call_ms: plan.system.max_call_ms,
            call_timeout_ms: plan.system.call_timeout_ms,
            began: SimulatedInstant::now(),
            faults: Faults::of(plan),
            hosts: RefCell::default(),
            sites: RefCell::default(),
            trace: RefCell::default(),
            events: RefCell::default(),
            ways: RefCell::default(),
            faults_strike: Cell::new(true),
            healed: Cell::new(false),
            healing: Notify::new(),
            open_windows: RefCell::default(),
            spent: Cell::new(0),
            trouble: RefCell::new(None),
            troubled: Notify::new(),
            unregistered: RefCell::default(),
            arrivals: Arrivals::default(),
            statistics: RefCell::default(),
        })
    }

    /// Simulated milliseconds since the run began.
    pub fn now_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// The run's seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Adds an event to the history.
    pub fn observe(&self, event: Event) {
        let mut events = self.events.borrow_mut();
        let n = events.len() as u64;
        events.push(Entry { n, at_ms: self.now_ms(), event });
    }

    /// Adds a fault event to the history.
    pub fn observe_fault(&self, kind: &'static str, target: &str, phase: FaultPhase) {
        if phase != FaultPhase::End {
            let mut statistics = self.statistics.borrow_mut();
            statistics.faults_fired += 1;
            *statistics.fired_by_kind.entry(kind).or_default() += 1;
            statistics.reached.extend(catalogue().of_fault(kind, target));
        }
        self.observe(Event::Fault { kind: kind.to_owned(), target: target.to_owned(), phase });
    }

    /// Notes that the run was at a point of the catalogue.
    pub fn reach(&self, point: CoverageIndex) {
        self.count(|statistics| {
            statistics.reached.insert(point);
        });
    }

    /// Changes the statistics.
    pub fn count(&self, change: impl FnOnce(&mut RunStatistics)) {
        change(&mut self.statistics.borrow_mut());
    }

    /// What the run leaves: events, trace and statistics.
    pub fn take_results(&self) -> (Vec<Entry>, Trace, RunStatistics) {
        (self.events.take(), self.trace.take(), self.statistics.take())
    }

    /// Takes the world apart. Hosts, parts and ports refer to each other in circles, which would outlive the run.
    pub fn dismantle(&self) {
        for host in self.hosts.take().into_values() {
            host.uninstall();
        }
    }

    /// Ends the run as a failure of the harness or of the system's code, not of a property.
    pub fn report_trouble(&self, trouble: Trouble) {
        self.trouble.borrow_mut().get_or_insert(trouble);
        self.troubled.notify_waiters();
        self.troubled.notify_one();
    }

    /// Returns when there is trouble, with it.
    pub async fn trouble(&self) -> Trouble {
        loop {
            if let Some(trouble) = self.trouble.borrow_mut().take() {
                return trouble;
            }
            self.troubled.notified().await;
        }
    }

    /// Runs a task to its end, with its polls counted and its panics caught. Of a task that spent the run's whole
    /// budget nothing more is heard.
    pub fn spawn(self: &Rc<Self>, task: impl Future<Output = ()> + 'static) {
        let network = self.clone();
        let mut task = Box::pin(AssertUnwindSafe(task).catch_unwind());
        let counted = std::future::poll_fn(move |context| {
            if !network.spend() {
                return std::task::Poll::Ready(());
            }
            task.poll_unpin(context).map(|ended| {
                if let Err(panic) = ended {
                    network.report_trouble(Trouble::panic(panic.as_ref()));
                }
            })
        });
        tokio::task::spawn_local(counted);
    }

    /// Counts one event; `false` once the budget is spent.
    fn spend(&self) -> bool {
        let spent = self.spent.get() + 1;
        self.spent.set(spent);
        if spent > self.event_budget {
            self.report_trouble(Trouble::EventBudget { at_ms: self.now_ms(), events: self.event_budget });
        }
        spent <= self.event_budget
    }

    /// Adds a host and starts it.
    pub fn add_host(self: &Rc<Self>, host: Rc<HostState>) {
        self.hosts.borrow_mut().insert(host.name.clone(), host.clone());
        self.start(host);
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> Option<Rc<HostState>> {
        self.hosts.borrow().get(name).cloned()
    }

    /// What a timed fault strikes: the host of this name, or all tasks of the tiering worker of this name.
    pub fn hosts_of(&self, name: &str) -> Vec<Rc<HostState>> {
        let tasks = format!("{name}-");
        let is_struck =
            |host: &&Rc<HostState>| *host.name == *name || (name.starts_with(TIERING) && host.name.starts_with(&tasks));
        self.hosts.borrow().values().filter(is_struck).cloned().collect()
    }

    fn start(self: &Rc<Self>, host: Rc<HostState>) {
        self.spawn(async move {
            if let Some(part) = host.part() {
                host.run_on(part.run()).await;
            }
        });
    }

    /// Kills a host now and restarts it later, if it is up and nothing is healed yet.
    pub fn crash(self: &Rc<Self>, host: &Rc<HostState>, restart_after_ms: u64) {
        if self.healed.get() || !host.kill() {
            return;
        }
        let between = self
            .unregistered
            .borrow()
            .values()
            .any(|worker| *worker == host.name || matches!(&*host.name, "store" | "coordinator"));
        if between {
            self.reach(Catalogue::of_engine(EnginePoint::CrashAfterCommit));
        }
        // A crash ends a pause.
        self.end_window("pause", &host.name);
        self.observe_fault("crash", &host.name, FaultPhase::Start);
        let (network, host, incarnation) = (self.clone(), host.clone(), host.incarnation());
        self.spawn(async move {
            // At least one quantum, in which the old incarnation's tasks go away.
            tokio::time::sleep(Duration::from_millis(restart_after_ms.max(1))).await;
            network.restart(&host, incarnation);
        });
    }

    fn restart(self: &Rc<Self>, host: &Rc<HostState>, incarnation: u64) {
        if host.revive(incarnation) {
            self.observe_fault("crash", &host.name, FaultPhase::End);
            self.start(host.clone());
        }
    }

    /// Ends the chaos: mends, resumes and restarts everything, and lets nothing more go wrong.
    pub async fn heal(self: &Rc<Self>) {
        self.healed.set(true);
        self.faults.heal();
        for site in self.sites.borrow_mut().values_mut() {
            site.faults.clear();
        }
        // One quantum, in which the tasks of hosts that died just now go away.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let hosts: Vec<_> = self.hosts.borrow().values().cloned().collect();
        for host in hosts {
            host.resume();
            self.restart(&host, host.incarnation());
        }
        let open = self.open_windows.borrow().clone();
        open.iter().for_each(|(kind, target)| self.end_window(kind, target));
        self.healing.notify_waiters();
        // What was held back is on its way now; let it arrive before anybody says that all is healed.
        tokio::time::sleep(Duration::from_millis(2 * self.max_call_ms)).await;
    }

    /// A fault with a duration begins.
    pub fn begin_window(&self, kind: &'static str, target: &Rc<str>) {
        self.open_windows.borrow_mut().push((kind, target.clone()));
        self.observe_fault(kind, target, FaultPhase::Start);
    }

    /// It ends, if it has not ended already.
    pub fn end_window(&self, kind: &'static str, target: &str) {
        let mut open = self.open_windows.borrow_mut();
        if let Some(position) = open.iter().position(|(other, at)| *other == kind && &**at == target) {
            open.remove(position);
            self.observe_fault(kind, target, FaultPhase::End);
        }
    }

    /// Holds something back for a while, but no longer than the chaos lasts.
    pub async fn hold_back(&self, duration_ms: u64) {
        let healing = self.healing.notified();
        if !self.healed.get() {
            futures::future::select(pin!(pass(duration_ms)), pin!(healing)).await;
        }
    }

    /// Whether the faults of single calls strike from now on.
    pub fn let_faults_strike(&self, strike: bool) {
        self.faults_strike.set(strike);
    }

    /// Whether the chaos is over.
    pub fn is_healed(&self) -> bool {
        self.healed.get()
    }

    /// One call over a port: `deliver` is what the called part does, `request` what it is asked.
    pub async fn call<A, T>(
        self: &Rc<Self>,
        edge: &Edge,
        call: &'static str,
        table: Option<TablePath>,
        request: A,
        deliver: impl Fn(A) -> LocalBoxFuture<'static, Result<T, Failure>> + 'static,
    ) -> Result<T, Failure>
    where
        A: Hash + Clone + 'static,
        T: Hash + 'static,
    {
        edge.caller.running().await;
        let parcel = self.dispatch(edge, call, table.as_ref(), &request);
        if let Some(CallFault::CallerCrashesBefore { restart_after_ms }) = parcel.fault {
            self.crash(&edge.caller, restart_after_ms);
            return std::future::pending().await;
        }
        let deadline = SimulatedInstant::now() + Duration::from_millis(self.call_timeout_ms);
        let (answer, answered) = oneshot::channel();
        let journey = Journey {
            network: self.clone(),
            way: self.way(&edge.caller, &edge.part),
            caller: edge.caller.clone(),
            callee: edge.callee.clone(),
            part: edge.part.clone(),
        };
        let caller = edge.caller.clone();
        caller.request_sent();
        self.spawn(async move {
            journey.travel(parcel, request, deliver, answer).await;
            caller.request_ended();
        });
        let outcome = match tokio::time::timeout_at(deadline, answered).await {
            Ok(Ok(outcome)) => outcome,
            lost => {
                if lost.is_ok() {
                    // The answer is lost; the caller cannot know before its patience ends.
                    tokio::time::sleep_until(deadline).await;
                }
                Err(Failure::indefinite(
                    FailureCode::Timeout,
                    format!("{}: no answer within {} ms", self.address(parcel), self.call_timeout_ms),
                ))
            }
        };
        edge.caller.running().await;
        outcome
    }

    /// Counts and traces a request, and draws its luck.
    fn dispatch(&self, edge: &Edge, call: &'static str, table: Option<&TablePath>, request: &impl Hash) -> Parcel {
        let mut sites = self.sites.borrow_mut();
        let mut trace = self.trace.borrow_mut();
        let site = sites.entry((edge.role.clone(), table.cloned(), call)).or_insert_with(|| {
            let name = match table {
                Some(table) => format!("{}({table}).{call}", edge.role),
                None => format!("{}.{call}", edge.role),
            };
            trace.sites.push(name);
            let faults = if self.healed.get() { BTreeMap::new() } else { self.faults.of_site(&edge.role, table, call) };
            Site { index: trace.sites.len() as u32 - 1, calls: 0, faults }
        });
        site.calls += 1;
        let (index, nth) = (site.index, site.calls);
        let fault = if self.faults_strike.get() { site.faults.remove(&nth) } else { None };
        trace.entries.push(TraceEntry {
            at_ms: self.now_ms(),
            site: index,
            nth,
            moment: Moment::Sent,
            fingerprint: fingerprint(request),
        });
        let luck = edge.scope.draw(call, &trace.sites[index as usize], nth);
        drop((sites, trace));
        self.count(|statistics| statistics.port_calls += 1);
        // A healthy call takes at most max_call_ms: half for the way there, half for the work and the way back.
        let half_ms = (self.max_call_ms / 2).max(1);
        let request_ms = self.min_call_ms.min(half_ms) + luck % (half_ms + 1 - self.min_call_ms.min(half_ms));
        let reply_ms = (luck >> 32) % (half_ms / 2 + 1);
        let puts_object = call.starts_with("lake.put-");
        let is_heartbeat = call == "coordinator.heartbeat";
        let parcel = Parcel { site: index, nth, fault, puts_object, is_heartbeat, request_ms, reply_ms };
        if let Some(fault) = &fault {
            self.observe_fault(fault.kind(), &self.address(parcel), FaultPhase::Instant);
        }
        parcel
    }

    /// The call's address, as plans write it.
    pub fn address(&self, parcel: Parcel) -> String {
        format!("{}#{}", self.trace.borrow().sites[parcel.site as usize], parcel.nth)
    }

    /// Notes what an arrival came to.
    pub fn trace_effect(&self, site: u32, nth: u64, fingerprint: u64) {
        let at_ms = self.now_ms();
        self.trace.borrow_mut().entries.push(TraceEntry { at_ms, site, nth, moment: Moment::Effect, fingerprint });
    }

    /// The way from a caller to a part.
    fn way(&self, caller: &HostState, part: &Rc<str>) -> Rc<Way> {
        self.ways.borrow_mut().entry((caller.name.clone(), part.clone())).or_default().clone()
    }

    /// Keeps the books: a data file was written.
    pub fn data_file_written(&self) {
        self.count(|statistics| statistics.data_files += 1);
    }

    /// When files came into the lake.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Keeps the books: a worker's commit took effect.
    pub fn round_committed(&self, table: &TablePath, worker: &Rc<str>) {
        let before = self.unregistered.borrow_mut().insert(table.clone(), worker.clone());
        if before.is_some_and(|before| before != *worker) {
            self.reach(Catalogue::of_engine(EnginePoint::CommitsUnregistered));
        }
        self.count(|statistics| statistics.rounds_committed += 1);
    }

    /// Keeps the books: a snapshot was registered.
    pub fn snapshot_registered(&self, table: &TablePath) {
        self.unregistered.borrow_mut().remove(table);
    }
}

/// Lets simulated time pass; zero still yields.
pub async fn pass(duration_ms: u64) {
    if duration_ms == 0 {
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep(Duration::from_millis(duration_ms)).await;
    }
}
