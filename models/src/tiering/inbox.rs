//! What waits for one task: its messages, in the order in which they came.
//!
//! Whoever brings a message does not wait for what becomes of it. It must never know what a message says.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// The messages of one task; only one task takes them out.
pub(super) struct Inbox<T> {
    messages: RefCell<VecDeque<T>>,
    waiting: RefCell<Option<Waker>>,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Self { messages: RefCell::default(), waiting: RefCell::default() }
    }
}

impl<T> Inbox<T> {
    /// Adds a message behind all others.
    pub(super) fn post(&self, message: T) {
        self.messages.borrow_mut().push_back(message);
        if let Some(waiting) = self.waiting.take() {
            waiting.wake();
        }
    }

    /// The next message, once there is one.
    pub(super) async fn next(&self) -> T {
        poll_fn(|context| {
            let Some(message) = self.messages.borrow_mut().pop_front() else {
                self.waiting.replace(Some(context.waker().clone()));
                return Poll::Pending;
            };
            Poll::Ready(message)
        })
        .await
    }

    /// Forgets all messages.
    pub(super) fn clear(&self) {
        self.messages.borrow_mut().clear();
    }
}
