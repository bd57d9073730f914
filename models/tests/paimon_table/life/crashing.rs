//! Storage under a process that dies at a given effect, and the question whether what stays can still be read.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::LocalBoxFuture;
use models::contract::{Failure, FailureCode, Filter, ObjectStore, Row};
use models::paimon::object_stores::MemoryObjectStore;
use models::paimon::{LakeAccess, PaimonTable, Snapshot, TimeTravel, reachable_files, verify};

use crate::surroundings::*;

/// Storage that answers until so many effects have happened, and never again.
pub struct CrashingObjectStore {
    memory: MemoryObjectStore,
    effects_left: Cell<usize>,
}

impl CrashingObjectStore {
    fn alive(&self) -> Result<(), Failure> {
        if self.effects_left.get() == 0 {
            return Err(Failure::indefinite(FailureCode::Timeout, "the process is dead"));
        }
        Ok(())
    }

    /// The effect happens; if it was the last one, its answer is lost.
    fn after_effect<T>(&self, answer: Result<T, Failure>) -> Result<T, Failure> {
        self.effects_left.set(self.effects_left.get() - 1);
        self.alive()?;
        answer
    }
}

#[async_trait(?Send)]
impl ObjectStore for CrashingObjectStore {
    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        self.alive()?;
        self.memory.get(path).await
    }

    async fn exists(&self, path: &str) -> Result<bool, Failure> {
        self.alive()?;
        self.memory.exists(path).await
    }

    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Failure> {
        self.alive()?;
        self.after_effect(self.memory.put(path, bytes).await)
    }

    async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool, Failure> {
        self.alive()?;
        self.after_effect(self.memory.put_if_absent(path, bytes).await)
    }

    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
        self.alive()?;
        self.memory.list(directory).await
    }

    async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.alive()?;
        self.after_effect(self.memory.delete(path).await)
    }

    async fn rename_directory(&self, from: &str, to: &str) -> Result<(), Failure> {
        self.alive()?;
        self.after_effect(self.memory.rename_directory(from, to).await)
    }
}

/// A head by its path, and the rows that it offers.
pub type RowsByHead = BTreeMap<String, Vec<Row>>;

/// The rows of one snapshot, sorted.
pub async fn rows_at(table: &PaimonTable, snapshot: &Snapshot) -> Vec<Row> {
    let buckets = table.scan(snapshot, &Filter::new()).await.unwrap();
    let mut rows: Vec<Row> = buckets.into_values().flatten().collect();
    rows.sort();
    rows
}

/// What can be read of a table: each snapshot and tag, on the main branch and on the others.
pub async fn rows_by_head(lake: &LakeAccess) -> RowsByHead {
    let mut rows = RowsByHead::new();
    let main = PaimonTable::open(lake, &path()).await.unwrap();
    let mut lines = vec![(String::new(), main.clone())];
    for branch in main.branches().await.unwrap() {
        let table = PaimonTable::open_branch(lake, &path(), &branch).await.unwrap();
        lines.push((format!("branch-{branch}/"), table));
    }
    for (line, table) in lines {
        for id in table.snapshot_ids().await.unwrap() {
            let (then, snapshot) = table.travel_to(&TimeTravel::SnapshotId(id)).await.unwrap();
            rows.insert(format!("{line}snapshot-{id}"), rows_at(&then, &snapshot).await);
        }
        for name in table.tags().await.unwrap().into_keys() {
            let (then, snapshot) = table.travel_to(&TimeTravel::Tag(name.clone())).await.unwrap();
            rows.insert(format!("{line}tag-{name}"), rows_at(&then, &snapshot).await);
        }
    }
    rows
}

/// Asserts that everything that a head leads to is there, whatever else is.
pub async fn assert_whole(objects: &MemoryObjectStore) {
    let reachable = reachable_files(objects, &path()).await.unwrap();
    assert_eq!(reachable.unreadable, BTreeMap::new());
    let present: BTreeSet<String> = objects.snapshot_all().into_keys().collect();
    let missing: Vec<&String> = reachable.files.difference(&present).collect();
    assert_eq!(missing, Vec::<&String>::new());
    assert_eq!(verify(objects, &path()).await.findings, []);
}

/// The files of the table that nothing leads to.
pub async fn orphans(objects: &MemoryObjectStore) -> Vec<String> {
    let reachable = reachable_files(objects, &path()).await.unwrap();
    objects.snapshot_all().into_keys().filter(|file| !reachable.files.contains(file)).collect()
}

/// A copy of these objects, and storage on it that dies after so many effects.
pub async fn copy_of(
    objects: &BTreeMap<String, Bytes>,
    effects_left: usize,
) -> (MemoryObjectStore, Rc<CrashingObjectStore>) {
    let memory = MemoryObjectStore::new();
    for (path, bytes) in objects {
        memory.put(path, bytes.clone()).await.unwrap();
    }
    let crashing = CrashingObjectStore { memory: memory.clone(), effects_left: Cell::new(effects_left) };
    (memory, Rc::new(crashing))
}

/// What is done to a table.
pub type Operation = fn(PaimonTable) -> LocalBoxFuture<'static, Result<(), Failure>>;

/// Does something to the table, crashing after each of its effects in turn, and then again without a crash. After each
/// crash the heads that are named must offer the rows that they did before, and in the end everything is as if there
/// had been no crash. Returns the number of effects.
pub async fn crash_everywhere(warehouse: &Warehouse, stays: &[&str], operation: Operation) -> usize {
    let before = warehouse.storage.memory.snapshot_all();
    let rows_before = rows_by_head(&warehouse.lake).await;
    let run = async |objects: Rc<dyn ObjectStore>| match open_on(warehouse, objects).await {
        Ok(table) => operation(table).await,
        Err(failure) => Err(failure),
    };
    let (memory, alive) = copy_of(&before, usize::MAX).await;
    run(alive).await.unwrap();
    let expected = memory.snapshot_all();
    let mut effects = 1;
    loop {
        let (memory, crashing) = copy_of(&before, effects).await;
        let outcome = run(crashing).await;
        let finished = outcome.is_ok();
        if let Err(failure) = outcome {
            let lake = LakeAccess { objects: Rc::new(memory.clone()), ..warehouse.lake.clone() };
            if failure.definite {
                assert_eq!(rows_by_head(&lake).await, rows_before, "as if nothing had been tried: {failure}");
            }
            for name in stays {
                let found = rows_of_head(&lake, name).await;
                assert_eq!(found, rows_before[*name], "{name} after {effects} effects");
            }
            run(Rc::new(memory.clone())).await.unwrap();
        }
        assert_whole(&memory).await;
        let found = memory.snapshot_all();
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "after {effects} effects");
        assert_eq!(found, expected, "after {effects} effects");
        if finished {
            // The last effect of all had its answer lost in the round before.
            return effects - 1;
        }
        effects += 1;
    }
}

/// The table on other storage.
pub async fn open_on(warehouse: &Warehouse, objects: Rc<dyn ObjectStore>) -> Result<PaimonTable, Failure> {
    PaimonTable::open(&LakeAccess { objects, ..warehouse.lake.clone() }, &path()).await
}

/// The rows of a head by its name as in [`RowsByHead`].
async fn rows_of_head(lake: &LakeAccess, name: &str) -> Vec<Row> {
    let (table, head) = match name.strip_prefix("branch-").and_then(|rest| rest.split_once('/')) {
        Some((branch, head)) => (PaimonTable::open_branch(lake, &path(), branch).await.unwrap(), head),
        None => (PaimonTable::open(lake, &path()).await.unwrap(), name),
    };
    let place = match head.strip_prefix("tag-") {
        Some(tag) => TimeTravel::Tag(tag.to_owned()),
        None => TimeTravel::SnapshotId(head.strip_prefix("snapshot-").unwrap().parse().unwrap()),
    };
    let (then, snapshot) = table.travel_to(&place).await.unwrap();
    rows_at(&then, &snapshot).await
}
