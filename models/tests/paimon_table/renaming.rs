//! Commits over storage that creates files by renaming: what the reference withstands, and what it does not.

use std::cell::Cell;
use std::rc::Rc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::join;
use models::contract::{Failure, ObjectStore, Row};
use models::defects::Defects;
use models::paimon::integrity::Rule;
use models::paimon::object_stores::{CatalogLock, MemoryObjectStore, RenameSemantics, RenamingObjectStore};
use models::paimon::{CommitMode, FilesystemCatalog, LakeAccess, PaimonTable, verify};

use crate::surroundings::*;

/// Storage in memory, every call of which lets others go first.
struct PatientStore {
    memory: MemoryObjectStore,
    /// How many snapshots were written aside. The second one takes its time.
    written_aside: Cell<u32>,
}

/// So many calls of others a slow call lets go first.
const SLOW: u32 = 100;

#[async_trait(?Send)]
impl ObjectStore for PatientStore {
    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        tokio::task::yield_now().await;
        self.memory.get(path).await
    }

    async fn exists(&self, path: &str) -> Result<bool, Failure> {
        tokio::task::yield_now().await;
        self.memory.exists(path).await
    }

    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Failure> {
        tokio::task::yield_now().await;
        if path.contains("/.snapshot-") {
            self.written_aside.set(self.written_aside.get() + 1);
            for _ in 0..if self.written_aside.get() == 2 { SLOW } else { 0 } {
                tokio::task::yield_now().await;
            }
        }
        self.memory.put(path, bytes).await
    }

    async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool, Failure> {
        tokio::task::yield_now().await;
        self.memory.put_if_absent(path, bytes).await
    }

    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
        tokio::task::yield_now().await;
        self.memory.list(directory).await
    }

    async fn delete(&self, path: &str) -> Result<(), Failure> {
        tokio::task::yield_now().await;
        self.memory.delete(path).await
    }

    async fn rename_directory(&self, from: &str, to: &str) -> Result<(), Failure> {
        self.memory.rename_directory(from, to).await
    }
}

struct Renaming {
    memory: MemoryObjectStore,
    store: Rc<RenamingObjectStore>,
    table: PaimonTable,
}

/// An append table whose snapshots are committed by renaming.
async fn renaming(
    semantics: RenameSemantics,
    configured: impl FnOnce(RenamingObjectStore) -> RenamingObjectStore,
) -> Renaming {
    let memory = MemoryObjectStore::new();
    let environment = Rc::<KeyedEnvironment>::default();
    let lake = |objects: Rc<dyn ObjectStore>| LakeAccess {
        objects,
        environment: environment.clone(),
        defects: Defects::none(),
    };
    let catalog = FilesystemCatalog::new(lake(Rc::new(memory.clone())));
    catalog.create_table(&path(), &append_schema(), false).await.unwrap();
    let patient = Rc::new(PatientStore { memory: memory.clone(), written_aside: Cell::new(0) });
    let store = Rc::new(configured(RenamingObjectStore::new(patient, environment.clone(), semantics)));
    let table = PaimonTable::open(&lake(store.clone()), &path()).await.unwrap();
    Renaming { memory, store, table }
}

/// Two commits at once, and the rows after them.
async fn two_at_once(renaming: &Renaming) -> Vec<Row> {
    let table = &renaming.table;
    let first = request(table, "first", CommitMode::Append, &inserts(&[row(1, "first", "d")])).await;
    let second = request(table, "second", CommitMode::Append, &inserts(&[row(2, "second", "d")])).await;
    let (first, second) = join(table.commit(first), table.commit(second)).await;
    assert!(first.is_ok() && second.is_ok(), "both are told that they committed: {first:?}, {second:?}");
    rows(table).await
}

async fn assert_sound(renaming: &Renaming) {
    let verification = verify(&renaming.memory, &path()).await;
    assert_eq!((verification.findings, verification.orphans), (vec![], vec![]));
}

fn both() -> [Row; 2] {
    [row(1, "first", "d"), row(2, "second", "d")]
}

#[tokio::test]
async fn a_rename_that_refuses_a_taken_name_admits_one_winner() {
    for semantics in [RenameSemantics::Atomic, RenameSemantics::FalseButDone] {
        let renaming = renaming(semantics, |store| store).await;
        assert_eq!(two_at_once(&renaming).await, both(), "{semantics:?}");
        assert_sound(&renaming).await;
    }
}

/// paimon #5762: both committers see no snapshot, both rename, and the first one's rows are gone without a word. The
/// first one has read its snapshot back by then, so the reference does not see it either.
#[tokio::test]
async fn a_rename_that_replaces_admits_two_winners_and_loses_rows_without_a_lock() {
    for semantics in [RenameSemantics::Overwriting, RenameSemantics::CopyThenDelete] {
        let believing = renaming(semantics, RenamingObjectStore::believed).await;
        let reading_back = renaming(semantics, |store| store).await;
        for renaming in [believing, reading_back] {
            assert_eq!(two_at_once(&renaming).await.len(), 1, "{semantics:?}");
            assert_eq!(renaming.table.latest_snapshot().await.unwrap().unwrap().id, 1);
        }
    }
}

#[tokio::test]
async fn under_a_catalogs_lock_a_rename_that_replaces_is_as_good_as_one_that_refuses() {
    for semantics in [RenameSemantics::Overwriting, RenameSemantics::CopyThenDelete] {
        let renaming = renaming(semantics, |store| store.with_lock(CatalogLock::new())).await;
        assert_eq!(two_at_once(&renaming).await, both(), "{semantics:?}");
        assert_sound(&renaming).await;
    }
}

/// paimon #6777: the rename is done and says that it is not; whoever believes it cleans up a live snapshot's manifests.
#[tokio::test]
async fn a_committer_that_believes_a_false_no_damages_the_table_and_the_reference_does_not() {
    let believing = renaming(RenameSemantics::FalseButDone, RenamingObjectStore::believed).await;
    let commit = request(&believing.table, "a", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
    assert!(believing.table.commit(commit).await.is_err());
    let findings = verify(&believing.memory, &path()).await.findings;
    assert!(!findings.is_empty() && findings.iter().all(|finding| finding.rule == Rule::FileExists), "{findings:?}");

    let reading_back = renaming(RenameSemantics::FalseButDone, |store| store).await;
    assert_eq!(append(&reading_back.table, "a", &inserts(&[row(1, "x", "d")])).await.snapshot_id, 1);
    assert_eq!(rows(&reading_back.table).await, [row(1, "x", "d")]);
    assert_sound(&reading_back).await;
}

/// The other face of paimon #6777: the repeated rename finds no source and deletes the target.
#[tokio::test]
async fn a_snapshot_that_a_repeated_rename_deleted_is_created_again() {
    let renaming = renaming(RenameSemantics::CopyThenDelete, |store| store.with_lock(CatalogLock::new())).await;
    append(&renaming.table, "a", &inserts(&[row(1, "x", "d")])).await;
    renaming.store.lose_next_answer();
    assert_eq!(append(&renaming.table, "b", &inserts(&[row(2, "y", "d")])).await.snapshot_id, 2);
    assert_eq!(rows(&renaming.table).await, [row(1, "x", "d"), row(2, "y", "d")]);
    assert_sound(&renaming).await;
}

#[tokio::test]
async fn an_answer_that_is_lost_where_renames_refuse_taken_names_changes_nothing() {
    let renaming = renaming(RenameSemantics::Atomic, |store| store).await;
    renaming.store.lose_next_answer();
    let commit = request(&renaming.table, "a", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
    // The repeated rename finds no source and is false; as with FalseButDone, the file is there.
    let outcome = renaming.table.commit(commit).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(rows(&renaming.table).await, [row(1, "x", "d")]);
}
