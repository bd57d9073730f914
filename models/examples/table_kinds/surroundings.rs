//! What stands around the lake: files in a directory, a clock that moves only by sleeping, keyed luck.

use std::cell::Cell;
use std::rc::Rc;

use async_trait::async_trait;
use models::contract::Environment;
use models::defects::Defects;
use models::paimon::LakeAccess;
use models::paimon::object_stores::DirectoryObjectStore;
use xxhash_rust::xxh3::xxh3_64;

/// 2024-01-01T00:00Z. Other implementations compare times of files with their own clock, so it must lie in the past.
const START_MS: u64 = 1_704_067_200_000;

/// Equal input gives equal tables, byte for byte.
struct FixedEnvironment {
    now_ms: Cell<u64>,
}

#[async_trait(?Send)]
impl Environment for FixedEnvironment {
    /// Every look at the clock takes a millisecond, so that snapshots have times of their own.
    fn now_ms(&self) -> u64 {
        self.now_ms.replace(self.now_ms.get() + 1)
    }

    async fn sleep_ms(&self, duration_ms: u64) {
        self.now_ms.set(self.now_ms.get() + duration_ms);
        tokio::task::yield_now().await;
    }

    fn draw(&self, site: &str, subject: &str, occurrence: u64) -> u64 {
        xxh3_64(format!("{site}/{subject}/{occurrence}").as_bytes())
    }
}

/// The lake in this directory.
pub fn lake(warehouse: &str) -> LakeAccess {
    LakeAccess {
        objects: Rc::new(DirectoryObjectStore::new(warehouse)),
        environment: Rc::new(FixedEnvironment { now_ms: Cell::new(START_MS) }),
        defects: Defects::none(),
    }
}
