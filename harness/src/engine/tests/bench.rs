//! A caller and a store with a network between them: what the tests of calls stand on.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use models::contract::{Failure, FailureCode};
use scenarios::plan::{Action, CallFault, Fault, Plan, Step};
use tokio::task::{JoinHandle, LocalSet};

use super::super::hosts::HostState;
use super::super::network::{Edge, Network, Scope, pass};

/// What every test calls: an answer is the request and a hundred.
pub(super) const CALL: &str = "store.add";
pub(super) const TIMEOUT_MS: u64 = 1_000;
pub(super) const MAX_CALL_MS: u64 = 10;
pub(super) const RESTART_AFTER_MS: u64 = 300;

/// No effect.
pub(super) const NONE: [u64; 0] = [];

pub(super) type Answer = Result<u64, Failure>;

/// A caller and a store with a network between them, and the requests that had their effect, with their times.
#[derive(Clone)]
pub(super) struct Bench {
    pub(super) network: Rc<Network>,
    pub(super) caller: Rc<HostState>,
    pub(super) store: Rc<HostState>,
    pub(super) edge: Rc<Edge>,
    pub(super) effects: Rc<RefCell<Vec<(u64, u64)>>>,
    /// How long the store works on a request before its effect.
    pub(super) work_ms: Rc<Cell<u64>>,
}

impl Bench {
    /// With `what` striking the nth call of the bench.
    pub(super) fn new(faults: &[(u64, CallFault)]) -> Self {
        let addressed = faults.iter().map(|(nth, what)| (format!("client.{CALL}#{nth}"), *what));
        Self::struck(&addressed.collect::<Vec<_>>())
    }

    /// With faults that strike the calls of these addresses.
    pub(super) fn struck(faults: &[(String, CallFault)]) -> Self {
        let mut plan: Plan = scenarios::find("append").unwrap().plan(0);
        plan.min_call_ms = 2;
        plan.system.max_call_ms = MAX_CALL_MS;
        plan.system.call_timeout_ms = TIMEOUT_MS;
        plan.steps = faults
            .iter()
            .map(|(at, what)| {
                let fault = Fault::Call { at: at.parse().unwrap(), what: *what };
                Step { id: format!("fault-{at}"), action: Action::Fault(fault) }
            })
            .collect();
        let network = Network::new(&plan, 100_000);
        let (caller, store) = (HostState::new("client"), HostState::new("store"));
        network.add_host(caller.clone());
        network.add_host(store.clone());
        let edge = Rc::new(Edge {
            caller: caller.clone(),
            role: Rc::from("client"),
            callee: Some(store.clone()),
            part: Rc::from("store"),
            scope: Scope::new(0, "client"),
        });
        Self { network, caller, store, edge, effects: Rc::default(), work_ms: Rc::default() }
    }

    pub(super) async fn call(&self, request: u64) -> Answer {
        self.call_of(CALL, request).await
    }

    pub(super) async fn call_of(&self, call: &'static str, request: u64) -> Answer {
        let (effects, network, work_ms) = (self.effects.clone(), self.network.clone(), self.work_ms.get());
        let deliver = move |request: u64| {
            let (effects, network) = (effects.clone(), network.clone());
            let work: futures::future::LocalBoxFuture<'static, Answer> = Box::pin(async move {
                if work_ms > 0 {
                    pass(work_ms).await;
                }
                effects.borrow_mut().push((request, network.now_ms()));
                Ok(request + 100)
            });
            work
        };
        self.network.call(&self.edge, call, None, request, deliver).await
    }

    /// A call by a caller that dies when its host does: `None` then.
    pub(super) fn send(&self, request: u64) -> JoinHandle<Option<Answer>> {
        let bench = self.clone();
        tokio::task::spawn_local(async move { bench.caller.run_on(bench.call(request)).await })
    }

    /// The requests that had their effect so far.
    pub(super) fn effects(&self) -> Vec<u64> {
        self.effects.borrow().iter().map(|(request, _)| *request).collect()
    }

    pub(super) fn first_effect_ms(&self) -> u64 {
        self.effects.borrow().first().expect("an effect").1
    }
}

/// Runs a test on a bench on which these calls go wrong.
pub(super) async fn with_faults<F: Future<Output = ()>>(faults: &[(u64, CallFault)], test: impl FnOnce(Bench) -> F) {
    LocalSet::new().run_until(async { test(Bench::new(faults)).await }).await;
}

/// Definite: the part refused.
#[track_caller]
pub(super) fn assert_refused(answer: &Answer) {
    let failure = answer.as_ref().unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Unavailable, true), "{failure}");
}

/// Indefinite: nobody answered in time.
#[track_caller]
pub(super) fn assert_timed_out(answer: &Answer) {
    let failure = answer.as_ref().unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Timeout, false), "{failure}");
}

/// Indefinite: the part died with the call.
#[track_caller]
pub(super) fn assert_connection_lost(answer: &Answer) {
    let failure = answer.as_ref().unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Unavailable, false), "{failure}");
}
