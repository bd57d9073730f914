//! How a client tries again: which failures, how often, with which pauses.
//!
//! It must never know what is called. The one thing that matters is whether calling twice could have two effects.

use std::rc::Rc;

use crate::config::ClientConfig;
use crate::contract::{Environment, Failure};
use crate::points::Point;

/// A client's willingness to wait for a part that is down or silent.
#[derive(Clone)]
pub(super) struct Patience {
    environment: Rc<dyn Environment>,
    config: ClientConfig,
}

impl Patience {
    pub(super) fn new(environment: Rc<dyn Environment>, config: ClientConfig) -> Self {
        Self { environment, config }
    }

    /// A fresh budget of retries, for one call.
    fn budget(&self) -> RetryBudget<'_> {
        RetryBudget { patience: self, retries_left: self.config.retries, next_wait_ms: self.config.retry_wait_ms }
    }

    /// Calls something that has no effect. Calling it again is harmless, and when it fails for good it certainly
    /// changed nothing.
    pub(super) async fn read<T>(&self, call: impl AsyncFn() -> Result<T, Failure>) -> Result<T, Failure> {
        let mut budget = self.budget();
        loop {
            match call().await {
                Ok(answer) => return Ok(answer),
                Err(failure) if budget.allows(&failure).await => {}
                Err(failure) => return Err(failure.made_definite()),
            }
        }
    }

    /// Calls something that has an effect and cannot recognise a repetition: it is called again only after it was
    /// certainly refused. The call is told how many attempts were before it, so that each can name what it writes by
    /// itself: a late clean-up of a failed attempt must not meet the files of the next.
    pub(super) async fn once<T>(&self, call: impl AsyncFn(u32) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut budget = self.budget();
        let mut attempt = 0;
        loop {
            match call(attempt).await {
                Ok(answer) => return Ok(answer),
                Err(failure) if failure.definite && budget.allows(&failure).await => attempt += 1,
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Calls something that recognises a repetition: it is called again until it is answered or patience ends. A definite
    /// failure says nothing about an earlier call that got no answer.
    pub(super) async fn repeated<T>(&self, call: impl AsyncFn() -> Result<T, Failure>) -> Result<T, Failure> {
        let mut budget = self.budget();
        let mut in_doubt = false;
        loop {
            let failure = match call().await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            in_doubt |= !failure.definite;
            if !budget.allows(&failure).await {
                return Err(if in_doubt { failure.made_indefinite() } else { failure });
            }
        }
    }
}

/// The name under which luck is drawn for one attempt of an operation.
pub(super) fn attempt_subject(operation_id: &str, attempt: u32) -> String {
    format!("{operation_id}/attempt-{attempt}")
}

/// What is left of one call's retries.
struct RetryBudget<'a> {
    patience: &'a Patience,
    retries_left: u32,
    next_wait_ms: u64,
}

impl RetryBudget<'_> {
    /// Whether the call may be made again after this failure; if so, returns after the pause. The pause doubles each
    /// time.
    async fn allows(&mut self, failure: &Failure) -> bool {
        if !failure.is_transient() || self.retries_left == 0 {
            return false;
        }
        self.patience.environment.reached(Point::CallRetried);
        self.retries_left -= 1;
        self.patience.environment.sleep_ms(self.next_wait_ms).await;
        self.next_wait_ms = self.next_wait_ms.saturating_mul(2);
        true
    }
}
