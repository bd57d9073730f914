//! The faults of a plan, armed: which call goes wrong and how, and what is cut off, slow, out of order or full right
//! now.
//!
//! Faults are found by meaning (caller, table, call, n) and fire at most once. Healing disarms everything.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bytes::Bytes;
use models::contract::TablePath;
use scenarios::plan::{CallFault, Fault, Plan};

type SiteKey = (String, Option<TablePath>, String);

/// What a reader may be told of the lake as it was a while ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaleAnswer {
    /// Which objects a directory has.
    List,
    /// Whether there is an object.
    Exists,
}

/// What a session is told of, and the paths of the objects that it is told of.
type StaleView = (StaleAnswer, String, Rc<BTreeSet<String>>);

/// What can go wrong from now on.
#[derive(Default)]
pub struct Faults {
    calls: RefCell<BTreeMap<SiteKey, BTreeMap<u64, CallFault>>>,
    cuts: RefCell<Vec<(String, String)>>,
    outages: RefCell<Vec<String>>,
    /// From, to, and how much longer one way takes.
    slow: RefCell<Vec<(String, String, u64)>>,
    /// How many windows in which the lake is full are open.
    full: Cell<usize>,
    /// Sessions that are told of the lake as it was.
    stale: RefCell<Vec<StaleView>>,
    /// How long the log lives where that is shorter than configured.
    shortened_ttl_ms: RefCell<Vec<u64>>,
    /// Workers whose heartbeats do not arrive.
    silent: RefCell<Vec<String>>,
    /// How much of the write that is being delivered right now arrives.
    tearing: Cell<Option<u16>>,
}

impl Faults {
    /// Arms the call faults of a plan. Of two faults on one call the first stands.
    pub fn of(plan: &Plan) -> Self {
        let mut calls: BTreeMap<SiteKey, BTreeMap<u64, CallFault>> = BTreeMap::new();
        for (_, fault) in plan.faults() {
            if let Fault::Call { at, what } = fault {
                let site = (at.caller.clone(), at.table.clone(), at.call.clone());
                calls.entry(site).or_default().entry(at.nth).or_insert(*what);
            }
        }
        Self { calls: RefCell::new(calls), ..Self::default() }
    }

    /// Takes the faults of one call site, by n; the caller keeps them from here on.
    pub fn of_site(&self, caller: &str, table: Option<&TablePath>, call: &str) -> BTreeMap<u64, CallFault> {
        let key = (caller.to_owned(), table.cloned(), call.to_owned());
        self.calls.borrow_mut().remove(&key).unwrap_or_default()
    }

    /// Whether nothing gets from one host to another.
    pub fn is_cut(&self, from: &str, to: &str) -> bool {
        self.cuts.borrow().iter().any(|(cut_from, cut_to)| cut_from == from && cut_to == to)
    }

    /// Whether a part refuses every call.
    pub fn is_out(&self, part: &str) -> bool {
        self.outages.borrow().iter().any(|out| out == part)
    }

    /// How much longer than else it takes from one host to another, in milliseconds. Of windows that overlap the slowest
    /// counts: together they would be a partition (rule 6 of what is survivable).
    pub fn slowness_ms(&self, from: &str, to: &str) -> u64 {
        let links = self.slow.borrow();
        let of_link = links.iter().filter(|(slow_from, slow_to, _)| slow_from == from && slow_to == to);
        of_link.map(|link| link.2).max().unwrap_or(0)
    }

    /// Makes both directions of a link slow.
    pub fn slow_down(&self, from: &str, to: &str, by_ms: u64) {
        let ways = [(from.to_owned(), to.to_owned(), by_ms), (to.to_owned(), from.to_owned(), by_ms)];
        self.slow.borrow_mut().extend(ways);
    }

    /// Ends one slowness of a link; overlapping ones stay.
    pub fn speed_up(&self, from: &str, to: &str, by_ms: u64) {
        remove_first(&self.slow, &(from.to_owned(), to.to_owned(), by_ms));
        remove_first(&self.slow, &(to.to_owned(), from.to_owned(), by_ms));
    }

    /// The next delivery is a write of which so many thousandths arrive.
    pub fn tear(&self, permille: u16) {
        self.tearing.set(Some(permille));
    }

    /// What is left of these bytes if the delivery that begins now is torn; `None` if it is not.
    pub fn torn(&self, bytes: &Bytes) -> Option<Bytes> {
        let permille = usize::from(self.tearing.take()?);
        Some(bytes.slice(..bytes.len() * permille / 1000))
    }

    /// Whether the lake takes no object.
    pub fn is_full(&self) -> bool {
        self.full.get() > 0
    }

    /// The lake takes no object any more.
    pub fn begin_full(&self) {
        self.full.set(self.full.get() + 1);
    }

    /// One such window ends; overlapping ones stay.
    pub fn end_full(&self) {
        self.full.set(self.full.get().saturating_sub(1));
    }

    /// A session is told of the lake as it was when these were the objects' paths.
    pub fn begin_stale(&self, answer: StaleAnswer, session: &str, paths: BTreeSet<String>) {
        self.stale.borrow_mut().push((answer, session.to_owned(), Rc::new(paths)));
    }

    /// The first such window of a session ends; later ones stay.
    pub fn end_stale(&self, answer: StaleAnswer, session: &str) {
        let mut stale = self.stale.borrow_mut();
        if let Some(position) = stale.iter().position(|(kind, host, _)| *kind == answer && host == session) {
            stale.remove(position);
        }
    }

    /// The paths of the objects that a session is told of; `None` if it is told the truth.
    pub fn stale_paths(&self, answer: StaleAnswer, session: &str) -> Option<Rc<BTreeSet<String>>> {
        let stale = self.stale.borrow();
        stale.iter().find(|(kind, host, _)| *kind == answer && host == session).map(|(.., paths)| paths.clone())
    }

    /// The log lives for a shorter time.
    pub fn begin_pressure(&self, ttl_ms: u64) {
        self.shortened_ttl_ms.borrow_mut().push(ttl_ms);
    }

    /// One such window ends; overlapping ones stay.
    pub fn end_pressure(&self, ttl_ms: u64) {
        remove_first(&self.shortened_ttl_ms, &ttl_ms);
    }

    /// The shortest of what the log may live for now; `None` where it is as configured.
    pub fn shortest_ttl_ms(&self) -> Option<u64> {
        self.shortened_ttl_ms.borrow().iter().min().copied()
    }

    /// No heartbeat of a worker arrives any more.
    pub fn silence(&self, worker: &str) {
        self.silent.borrow_mut().push(worker.to_owned());
    }

    /// One such window ends; overlapping ones stay.
    pub fn end_silence(&self, worker: &str) {
        remove_first(&self.silent, &worker.to_owned());
    }

    /// Whether the heartbeats of a host do not arrive.
    pub fn is_silent(&self, host: &str) -> bool {
        self.silent.borrow().iter().any(|worker| worker == host)
    }

    /// Cuts one direction.
    pub fn cut(&self, from: &str, to: &str) {
        self.cuts.borrow_mut().push((from.to_owned(), to.to_owned()));
    }

    /// Mends one cut of a direction; overlapping ones stay.
    pub fn mend(&self, from: &str, to: &str) {
        remove_first(&self.cuts, &(from.to_owned(), to.to_owned()));
    }

    /// Takes a part out.
    pub fn begin_outage(&self, part: &str) {
        self.outages.borrow_mut().push(part.to_owned());
    }

    /// Ends one outage of a part; overlapping ones stay.
    pub fn end_outage(&self, part: &str) {
        remove_first(&self.outages, &part.to_owned());
    }

    /// Disarms and mends everything.
    pub fn heal(&self) {
        self.calls.borrow_mut().clear();
        self.cuts.borrow_mut().clear();
        self.outages.borrow_mut().clear();
        self.slow.borrow_mut().clear();
        self.full.set(0);
        self.stale.borrow_mut().clear();
        self.shortened_ttl_ms.borrow_mut().clear();
        self.silent.borrow_mut().clear();
    }
}

fn remove_first<T: PartialEq>(list: &RefCell<Vec<T>>, item: &T) {
    let mut list = list.borrow_mut();
    if let Some(position) = list.iter().position(|candidate| candidate == item) {
        list.remove(position);
    }
}
