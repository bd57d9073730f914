//! A catalog's lock: one holder at a time for each table.
//!
//! It stands for what a metastore offers where storage itself cannot decide between two committers. Whoever holds it
//! and is lost lets go of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

/// The locks of one catalog. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct CatalogLock {
    locks: Rc<RefCell<BTreeMap<String, Arc<Mutex<()>>>>>,
}

/// A lock that is held; it is let go of when this is dropped.
#[derive(Debug)]
pub struct HeldLock {
    _guard: OwnedMutexGuard<()>,
}

impl CatalogLock {
    /// Nobody holds any.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits for the lock of this directory; those who wait get it in their order.
    pub async fn acquire(&self, directory: &str) -> HeldLock {
        let lock = Arc::clone(self.locks.borrow_mut().entry(directory.to_owned()).or_default());
        HeldLock { _guard: lock.lock_owned().await }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_directory_has_one_holder_at_a_time() {
        let lock = CatalogLock::new();
        let held = lock.acquire("a").await;
        assert!(lock.acquire("a").now_or_never().is_none());
        assert!(lock.acquire("b").now_or_never().is_some(), "another table");
        drop(held);
        assert!(lock.clone().acquire("a").now_or_never().is_some());
    }
}
