//! A call's way to the called part and back, and all that can happen to it there.
//!
//! It knows when a request has its effect and who learns of it, never what is asked.

use std::cell::Cell;
use std::hash::Hash;
use std::pin::pin;
use std::rc::Rc;

use futures::future::LocalBoxFuture;
use models::contract::{Failure, FailureCode};
use scenarios::plan::{Bystander, CallFault};
use tokio::sync::{Notify, oneshot};

use super::hosts::HostState;
use super::network::{Network, Parcel, pass};
use super::trace::fingerprint;

/// The way of all requests from one caller to one part: who was sent when, and who was overtaken.
#[derive(Default)]
pub struct Way {
    sent: Cell<u64>,
    latest_arrived: Cell<u64>,
    arrival: Notify,
}

impl Way {
    /// One more request sets out; its ordinal, from 1.
    fn send(&self) -> u64 {
        self.sent.set(self.sent.get() + 1);
        self.sent.get()
    }

    /// A request reaches the part.
    fn arrive(&self, ordinal: u64) {
        self.latest_arrived.set(self.latest_arrived.get().max(ordinal));
        self.arrival.notify_waiters();
    }

    /// Returns once a request has arrived that was sent after this one.
    async fn overtaken(&self, ordinal: u64) {
        while self.latest_arrived.get() <= ordinal {
            self.arrival.notified().await;
        }
    }
}

/// A call's way to the called part and back.
pub struct Journey {
    /// What it passes through.
    pub network: Rc<Network>,
    /// The way to the called part, which it shares with the caller's other calls.
    pub way: Rc<Way>,
    /// Who calls.
    pub caller: Rc<HostState>,
    /// The called host; `None` is the lake.
    pub callee: Option<Rc<HostState>>,
    /// The called host's name, or `lake`.
    pub part: Rc<str>,
}

impl Journey {
    /// Brings the request there and the answer back.
    pub async fn travel<A, T>(
        self,
        parcel: Parcel,
        request: A,
        deliver: impl Fn(A) -> LocalBoxFuture<'static, Result<T, Failure>> + 'static,
        answer: oneshot::Sender<Result<T, Failure>>,
    ) where
        A: Hash + Clone + 'static,
        T: Hash + 'static,
    {
        let ordinal = self.way.send();
        pass(parcel.request_ms).await;
        self.linger(&self.caller.name, &self.part).await;
        match parcel.fault {
            Some(CallFault::Delay { by_ms }) => self.network.hold_back(by_ms).await,
            Some(CallFault::Reorder { at_most_ms }) => {
                let held_back = self.network.hold_back(at_most_ms);
                futures::future::select(pin!(held_back), pin!(self.way.overtaken(ordinal))).await;
            }
            _ => {}
        }
        let unheard = parcel.is_heartbeat && self.network.faults.is_silent(&self.caller.name);
        if parcel.fault == Some(CallFault::RequestLost) || unheard || self.is_cut(&self.caller.name, &self.part) {
            return self.lose(answer).await;
        }
        self.way.arrive(ordinal);
        let outcome = self.arrive(&parcel, request.clone(), &deliver).await;
        match parcel.fault {
            Some(CallFault::ReplyLost) => return self.lose(answer).await,
            Some(CallFault::CallerCrashesAfter { restart_after_ms }) => {
                self.network.crash(&self.caller, restart_after_ms);
                return;
            }
            Some(CallFault::ReplyDelay { by_ms }) => self.network.hold_back(by_ms).await,
            _ => {}
        }
        pass(parcel.reply_ms).await;
        self.linger(&self.part, &self.caller.name).await;
        if self.is_cut(&self.part, &self.caller.name) {
            return self.lose(answer).await;
        }
        let certainly_without_effect = outcome.as_ref().is_err_and(|failure| failure.definite);
        // Nobody may be waiting any more; then the answer is lost.
        let _ = answer.send(outcome);
        // A request that was refused for certain is not repeated by any network: its caller may rely on that.
        if let (Some(CallFault::Duplicate { after_ms }), false) = (parcel.fault, certainly_without_effect) {
            self.network.hold_back(after_ms).await;
            // The second arrival has its effect; its answer finds nobody.
            let _ = self.arrive(&Parcel { fault: None, ..parcel }, request, &deliver).await;
        }
    }

    /// The request reaches the called part: refused, executed, or cut short by a crash.
    async fn arrive<A, T>(
        &self,
        parcel: &Parcel,
        request: A,
        deliver: &impl Fn(A) -> LocalBoxFuture<'static, Result<T, Failure>>,
    ) -> Result<T, Failure>
    where
        T: Hash,
    {
        let refused = |why: &str| {
            Err(Failure::definite(FailureCode::Unavailable, format!("{}: {why}", self.network.address(*parcel))))
        };
        let is_down = || refused(&format!("{} is down", self.part));
        if parcel.fault == Some(CallFault::Refuse) || self.network.faults.is_out(&self.part) {
            return is_down();
        }
        if parcel.puts_object && self.network.faults.is_full() {
            return refused("the storage is full");
        }
        if let Some(CallFault::OtherCrashesBefore { host, restart_after_ms }) = parcel.fault {
            self.crash_other(host, restart_after_ms);
        }
        if let Some(CallFault::TornWrite { permille }) = parcel.fault {
            self.network.faults.tear(permille);
        }
        let outcome = match &self.callee {
            None => Some(deliver(request).await),
            Some(host) => {
                host.running().await;
                if !host.is_up() {
                    return is_down();
                }
                if let Some(CallFault::CalleeCrashesBefore { restart_after_ms }) = parcel.fault {
                    self.network.crash(host, restart_after_ms);
                    None
                } else {
                    let outcome = host.run_on(deliver(request)).await;
                    // A paused host may have done the work, and does not answer before it goes on.
                    host.running().await;
                    outcome
                }
            }
        };
        self.network.trace_effect(parcel.site, parcel.nth, fingerprint(&outcome));
        if let Some(CallFault::OtherCrashesAfter { host, restart_after_ms }) = parcel.fault {
            self.crash_other(host, restart_after_ms);
        }
        // What was refused for certain had no effect, so nothing broke after it.
        if parcel.fault == Some(CallFault::ErrorAfter) && matches!(outcome, Some(Ok(_))) {
            let message = format!("{}: something broke after the effect", self.network.address(*parcel));
            return Err(Failure::internal(message));
        }
        if let (Some(host), Some(CallFault::CalleeCrashesAfter { restart_after_ms })) = (&self.callee, parcel.fault) {
            self.network.crash(host, restart_after_ms);
            return Err(self.connection_lost(parcel));
        }
        outcome.unwrap_or_else(|| Err(self.connection_lost(parcel)))
    }

    fn crash_other(&self, other: Bystander, restart_after_ms: u64) {
        if let Some(host) = self.network.host(other.host()) {
            self.network.crash(&host, restart_after_ms);
        }
    }

    /// What a slow link adds to one way, for no longer than the chaos lasts.
    async fn linger(&self, from: &str, to: &str) {
        let by_ms = self.network.faults.slowness_ms(from, to);
        if by_ms > 0 {
            self.network.hold_back(by_ms).await;
        }
    }

    fn connection_lost(&self, parcel: &Parcel) -> Failure {
        let message = format!("{}: {} died before it answered", self.network.address(*parcel), self.part);
        Failure::indefinite(FailureCode::Unavailable, message)
    }

    fn is_cut(&self, from: &str, to: &str) -> bool {
        self.network.faults.is_cut(from, to)
    }

    /// Keeps the way open without ever answering, for as long as the caller can wait.
    async fn lose<T>(&self, mut answer: oneshot::Sender<T>) {
        answer.closed().await;
    }
}
