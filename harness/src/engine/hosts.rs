//! Hosts: processes that crash, restart, stand still and go on.
//!
//! A host knows nothing of what runs on it but the [`Host`] trait. Crashing is immediate for everybody else (nothing
//! of the host is polled again); what is volatile is wiped just before the restart, when every task of the old
//! incarnation is gone.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use futures::FutureExt;
use models::contract::Host;
use tokio::sync::Notify;

/// One host's state of life.
pub struct HostState {
    /// Its name, as plans write it.
    pub name: Rc<str>,
    up: Cell<bool>,
    paused: Cell<bool>,
    incarnation: Cell<u64>,
    killed: RefCell<Rc<Notify>>,
    changed: Notify,
    /// By how much its clock is ahead of the true time. A restart does not mend it.
    clock_ahead_ms: Cell<i64>,
    /// How many of its requests are on their way or could still have an effect.
    requests: Cell<u64>,
    part: RefCell<Option<Rc<dyn Host>>>,
}

impl HostState {
    /// A host that is up, with nothing on it yet.
    pub fn new(name: &str) -> Rc<Self> {
        Rc::new(Self {
            name: Rc::from(name),
            up: Cell::new(true),
            paused: Cell::new(false),
            incarnation: Cell::new(0),
            killed: RefCell::default(),
            changed: Notify::new(),
            clock_ahead_ms: Cell::new(0),
            requests: Cell::new(0),
            part: RefCell::new(None),
        })
    }

    /// Puts a part on the host. The part and its host know each other, so it cannot be given at the beginning.
    pub fn install(&self, part: Rc<dyn Host>) {
        self.part.replace(Some(part));
    }

    /// Takes the part off again.
    pub fn uninstall(&self) {
        self.part.replace(None);
    }

    /// What runs on it.
    pub fn part(&self) -> Option<Rc<dyn Host>> {
        self.part.borrow().clone()
    }

    /// What its clock shows at this true time, in milliseconds; never before the run began.
    pub fn clock_ms(&self, true_ms: u64) -> u64 {
        true_ms.saturating_add_signed(self.clock_ahead_ms.get())
    }

    /// Its clock jumps, forward or back.
    pub fn jump_clock(&self, by_ms: i64) {
        self.clock_ahead_ms.set(self.clock_ahead_ms.get().saturating_add(by_ms));
    }

    /// Whether it is alive (it may be paused).
    pub fn is_up(&self) -> bool {
        self.up.get()
    }

    /// One more of its requests is on its way.
    pub fn request_sent(&self) {
        self.requests.set(self.requests.get() + 1);
    }

    /// One of them can have no effect any more.
    pub fn request_ended(&self) {
        self.requests.set(self.requests.get() - 1);
    }

    /// Whether no request of this host, of any of its incarnations, is on its way or could still have an effect.
    pub fn is_quiet(&self) -> bool {
        self.requests.get() == 0
    }

    /// Counts restarts.
    pub fn incarnation(&self) -> u64 {
        self.incarnation.get()
    }

    /// Kills everything on it. `false` if it was down already.
    pub fn kill(&self) -> bool {
        if !self.up.replace(false) {
            return false;
        }
        // A crash ends a pause.
        self.paused.set(false);
        self.killed.replace(Rc::default()).notify_waiters();
        self.changed.notify_waiters();
        true
    }

    /// Brings it back with only what was durable, if it is down and still of this incarnation.
    pub fn revive(&self, incarnation: u64) -> bool {
        if self.up.get() || self.incarnation.get() != incarnation {
            return false;
        }
        if let Some(part) = self.part() {
            part.crash();
        }
        self.incarnation.set(incarnation + 1);
        self.up.set(true);
        self.changed.notify_waiters();
        true
    }

    /// Stops it without killing it. `false` if it was down or paused already.
    pub fn pause(&self) -> bool {
        self.up.get() && !self.paused.replace(true)
    }

    /// Lets it go on, if it was paused.
    pub fn resume(&self) {
        if self.paused.replace(false) {
            self.changed.notify_waiters();
        }
    }

    /// Returns once the host is not paused; at once if it is down.
    pub async fn running(&self) {
        while self.paused.get() {
            self.changed.notified().await;
        }
    }

    /// Returns once the host is up.
    pub async fn alive(&self) {
        while !self.up.get() {
            self.changed.notified().await;
        }
    }

    /// Runs `work` as part of this host: `None` if the host dies first.
    pub async fn run_on<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        if !self.up.get() {
            return None;
        }
        let killed = self.killed.borrow().clone();
        let mut killed = std::pin::pin!(killed.notified().fuse());
        let mut work = std::pin::pin!(work.fuse());
        // Biased, with death first: not one poll of the work after the kill.
        futures::select_biased! {
            () = killed => None,
            done = work => Some(done),
        }
    }
}
