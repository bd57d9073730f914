//! Creating a file by renaming another one to its name, over storage whose rename is not what a commit needs.
//!
//! Paimon's filesystem catalog commits so: it looks whether the snapshot is there, writes its content beside, and
//! renames that. How much this is worth depends on the rename. Of two writers that both saw no file:
//! * [`RenameSemantics::Atomic`]: exactly one succeeds, as in HDFS. Everything is right, if the file is read back where
//!   the answer may have been lost on the way.
//! * [`RenameSemantics::FalseButDone`]: exactly one succeeds, and is told that it failed. Whoever believes that deletes
//!   manifests of a live snapshot. The reference reads the file back, and is right.
//! * [`RenameSemantics::Overwriting`]: both succeed and the first one's snapshot is gone, as with POSIX' rename or a
//!   copy on S3. Reading back shows it to the first writer only if the second was quick, so **the reference is not
//!   right here** unless a catalog's lock keeps the second one waiting.
//! * [`RenameSemantics::CopyThenDelete`]: as before; and a rename whose answer is lost is repeated by the storage's
//!   client, finds its source gone, and cleans up by deleting the target. The reference finds its file gone and creates
//!   it again with the same bytes, and is right under the lock; until then readers miss the newest snapshot.
//!
//! What is renamed means nothing here.

use std::cell::Cell;
use std::rc::Rc;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::contract::{Environment, Failure, FailureCode, ObjectStore};
use crate::defects::{Defect, Defects};

use super::CatalogLock;

/// What a storage's rename does, beside moving a file to a name that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RenameSemantics {
    /// It refuses a name that is taken, in one step.
    Atomic,
    /// It refuses a name that is taken, in one step; where it succeeds it says that it did not.
    FalseButDone,
    /// It replaces what has the name.
    Overwriting,
    /// It copies, replacing what has the name, and then deletes the source.
    CopyThenDelete,
}

impl RenameSemantics {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Atomic, Self::FalseButDone, Self::Overwriting, Self::CopyThenDelete];

    /// Whether it replaces what has the name, so that only a lock keeps two writers apart.
    pub fn replaces(self) -> bool {
        matches!(self, Self::Overwriting | Self::CopyThenDelete)
    }
}

/// An object store that creates files by renaming. All else is that of the store beneath.
pub struct RenamingObjectStore {
    objects: Rc<dyn ObjectStore>,
    environment: Rc<dyn Environment>,
    semantics: RenameSemantics,
    lock: Option<CatalogLock>,
    answers_are_believed: bool,
    defects: Defects,
    /// How many files were created; numbers the draws of temporary names.
    created: Cell<u64>,
    /// How many of the next renames lose their answer.
    answers_to_lose: Cell<u32>,
}

impl RenamingObjectStore {
    /// Over this store, with this rename and without a lock.
    pub fn new(objects: Rc<dyn ObjectStore>, environment: Rc<dyn Environment>, semantics: RenameSemantics) -> Self {
        Self {
            objects,
            environment,
            semantics,
            lock: None,
            answers_are_believed: false,
            defects: Defects::none(),
            created: Cell::new(0),
            answers_to_lose: Cell::new(0),
        }
    }

    /// The same store; who creates a file holds the lock of its directory from the look to the rename.
    #[must_use]
    pub fn with_lock(self, lock: CatalogLock) -> Self {
        Self { lock: Some(lock), ..self }
    }

    /// The same store, said to create atomically though it may not: its committers behave as those of Paimon before
    /// 1.5, which believed every answer.
    #[must_use]
    pub fn believed(self) -> Self {
        Self { answers_are_believed: true, ..self }
    }

    /// The same store with these planted bugs.
    #[must_use]
    pub fn with_defects(self, defects: Defects) -> Self {
        Self { defects, ..self }
    }

    /// The next rename takes effect, its answer is lost, and the storage's client repeats it.
    pub fn lose_next_answer(&self) {
        self.answers_to_lose.set(self.answers_to_lose.get() + 1);
    }

    /// Whether the file was renamed, as the storage says.
    async fn rename(&self, from: &str, to: &str) -> Result<bool, Failure> {
        // Planted bug rename-forced: a name that is taken is no reason not to take it.
        let replacing = self.semantics.replaces() || self.defects.has(Defect::RenameForced);
        match self.objects.rename_object(from, to, replacing).await {
            Err(failure) if failure.code == FailureCode::NotFound => self.without_source(to).await,
            renamed => Ok(renamed? && self.semantics != RenameSemantics::FalseButDone),
        }
    }

    /// What a rename does whose source is gone, because it was done before and its answer was lost.
    async fn without_source(&self, to: &str) -> Result<bool, Failure> {
        if self.semantics == RenameSemantics::CopyThenDelete {
            // It takes the target for its own half of a copy.
            self.objects.delete(to).await?;
        }
        Ok(false)
    }
}

#[async_trait(?Send)]
impl ObjectStore for RenamingObjectStore {
    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        self.objects.get(path).await
    }

    async fn exists(&self, path: &str) -> Result<bool, Failure> {
        self.objects.exists(path).await
    }

    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Failure> {
        self.objects.put(path, bytes).await
    }

    async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool, Failure> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let _held = match &self.lock {
            // Planted bug lock-ignored: a committer does not wait for another one.
            Some(lock) if !self.defects.has(Defect::LockIgnored) => Some(lock.acquire(directory).await),
            _ => None,
        };
        if self.objects.exists(path).await? {
            return Ok(false);
        }
        let uuid = self.environment.uuid("paimon.rename", path, self.created.replace(self.created.get() + 1));
        let temporary = format!("{directory}/.{name}.{uuid}.tmp");
        self.objects.put(&temporary, bytes).await?;
        let mut renamed = self.rename(&temporary, path).await;
        if self.answers_to_lose.get() > 0 {
            self.answers_to_lose.set(self.answers_to_lose.get() - 1);
            renamed = self.rename(&temporary, path).await;
        }
        match renamed {
            Ok(true) => Ok(true),
            Ok(false) => self.objects.delete(&temporary).await.map(|()| false).map_err(Failure::made_indefinite),
            Err(failure) => Err(failure.made_indefinite()),
        }
    }

    fn creates_atomically(&self) -> bool {
        // Not even where the rename is atomic: one that is repeated after a lost answer finds no source and is false.
        self.answers_are_believed
    }

    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
        self.objects.list(directory).await
    }

    async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.objects.delete(path).await
    }

    async fn rename_directory(&self, from: &str, to: &str) -> Result<(), Failure> {
        self.objects.rename_directory(from, to).await
    }
}
