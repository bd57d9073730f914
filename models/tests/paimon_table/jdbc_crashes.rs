//! The JDBC catalog where answers are lost and statements are cut short between the database and the files.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use async_trait::async_trait;
use bytes::Bytes;
use models::contract::{EntryChange, Failure, FailureCode, Host, Metastore, ObjectStore, TableEntry, TablePath};
use models::defects::Defects;
use models::paimon::object_stores::MemoryObjectStore;
use models::paimon::{JdbcCatalog, LakeAccess, SqlMetastore};

use crate::surroundings::*;

/// What happens to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallFault {
    /// Refused before it has an effect.
    Refused,
    /// It takes effect and the answer is lost.
    AnswerLost,
    /// No answer and no effect.
    RequestLost,
    /// It takes effect twice, and only the first answer comes.
    Twice,
}

/// The calls that a catalog makes, counted, one of which goes wrong.
#[derive(Default)]
struct Line {
    calls: Cell<u32>,
    fault: RefCell<Option<(u32, CallFault)>>,
}

impl Line {
    /// The `nth` call from now on, from 1, goes wrong.
    fn disturb(&self, nth: u32, fault: CallFault) {
        self.calls.set(0);
        *self.fault.borrow_mut() = Some((nth, fault));
    }

    fn repair(&self) {
        *self.fault.borrow_mut() = None;
    }

    async fn call<T>(&self, call: impl AsyncFn() -> Result<T, Failure>) -> Result<T, Failure> {
        self.calls.set(self.calls.get() + 1);
        let fault = *self.fault.borrow();
        let no_answer = || Err(Failure::indefinite(FailureCode::Timeout, "no answer"));
        match fault.filter(|(nth, _)| *nth == self.calls.get()) {
            None => call().await,
            Some((_, CallFault::Refused)) => Err(Failure::definite(FailureCode::Unavailable, "down")),
            Some((_, CallFault::RequestLost)) => no_answer(),
            Some((_, CallFault::AnswerLost)) => {
                let _ = call().await;
                no_answer()
            }
            Some((_, CallFault::Twice)) => {
                let answer = call().await;
                let _ = call().await;
                answer
            }
        }
    }
}

/// The database at the end of a line.
struct DistantMetastore {
    line: Rc<Line>,
    database: Rc<SqlMetastore>,
}

#[async_trait(?Send)]
impl Metastore for DistantMetastore {
    async fn entry(&self, path: &TablePath) -> Result<Option<TableEntry>, Failure> {
        self.line.call(async || self.database.entry(path).await).await
    }

    async fn insert_table(&self, path: &TablePath, schema: &Bytes) -> Result<EntryChange, Failure> {
        self.line.call(async || self.database.insert_table(path, schema).await).await
    }

    async fn rename_table(&self, entry: &TableEntry, to: &TablePath) -> Result<EntryChange, Failure> {
        self.line.call(async || self.database.rename_table(entry, to).await).await
    }

    async fn drop_table(&self, entry: &TableEntry) -> Result<EntryChange, Failure> {
        self.line.call(async || self.database.drop_table(entry).await).await
    }

    async fn settle(&self, entry: &TableEntry) -> Result<(), Failure> {
        self.line.call(async || self.database.settle(entry).await).await
    }

    async fn view(&self, path: &TablePath) -> Result<Option<String>, Failure> {
        self.line.call(async || self.database.view(path).await).await
    }

    async fn insert_view(&self, path: &TablePath, definition: &str) -> Result<bool, Failure> {
        self.line.call(async || self.database.insert_view(path, definition).await).await
    }
}

/// The files at the end of the same line.
struct DistantObjects {
    line: Rc<Line>,
    memory: MemoryObjectStore,
}

#[async_trait(?Send)]
impl ObjectStore for DistantObjects {
    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        self.line.call(async || self.memory.get(path).await).await
    }

    async fn exists(&self, path: &str) -> Result<bool, Failure> {
        self.line.call(async || self.memory.exists(path).await).await
    }

    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Failure> {
        self.line.call(async || self.memory.put(path, bytes.clone()).await).await
    }

    async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool, Failure> {
        self.line.call(async || self.memory.put_if_absent(path, bytes.clone()).await).await
    }

    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
        self.line.call(async || self.memory.list(directory).await).await
    }

    async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.line.call(async || self.memory.delete(path).await).await
    }

    async fn rename_directory(&self, from: &str, to: &str) -> Result<(), Failure> {
        self.line.call(async || self.memory.rename_directory(from, to).await).await
    }
}

/// A catalog at the end of a line, with `db.t` of one row.
struct Distant {
    line: Rc<Line>,
    database: Rc<SqlMetastore>,
    memory: MemoryObjectStore,
    catalog: JdbcCatalog,
}

fn moved() -> TablePath {
    TablePath::new("db", "moved")
}

impl Distant {
    fn empty() -> Self {
        let (line, memory) = (Rc::<Line>::default(), MemoryObjectStore::new());
        let database = Rc::new(SqlMetastore::new().unwrap());
        let lake = LakeAccess {
            objects: Rc::new(DistantObjects { line: line.clone(), memory: memory.clone() }),
            environment: Rc::<KeyedEnvironment>::default(),
            defects: Defects::none(),
        };
        let metastore = DistantMetastore { line: line.clone(), database: database.clone() };
        Self { line, database, memory, catalog: JdbcCatalog::new(lake, Rc::new(metastore)) }
    }

    async fn with_a_row() -> Self {
        let distant = Self::empty();
        distant.catalog.create_table(&path(), &append_schema(), false).await.unwrap();
        let table = distant.catalog.table(&path()).await.unwrap();
        append(&table, "a", &inserts(&[row(1, "x", "d")])).await;
        distant
    }

    /// Which of the two names is a table's with the row in it, seen by a client that starts afresh.
    async fn names(&self) -> BTreeSet<String> {
        self.line.repair();
        self.database.crash();
        let mut names = BTreeSet::new();
        for name in [path(), moved()] {
            match self.catalog.table(&name).await {
                Ok(table) => {
                    assert_eq!(rows(&table).await, [row(1, "x", "d")], "{name}");
                    names.insert(name.to_string());
                }
                Err(failure) => assert_eq!(failure.code, FailureCode::NotFound, "{name}: {failure}"),
            }
        }
        names
    }
}

fn only(name: &TablePath) -> BTreeSet<String> {
    BTreeSet::from([name.to_string()])
}

const FAULTS: [CallFault; 4] = [CallFault::Refused, CallFault::AnswerLost, CallFault::RequestLost, CallFault::Twice];

#[tokio::test]
async fn a_rename_that_is_disturbed_at_any_call_is_whole_and_can_be_repeated() {
    let undisturbed = Distant::with_a_row().await;
    undisturbed.line.calls.set(0);
    undisturbed.catalog.rename_table(&path(), &moved(), false).await.unwrap();
    for nth in 1..=undisturbed.line.calls.get() {
        for fault in FAULTS {
            let distant = Distant::with_a_row().await;
            distant.line.disturb(nth, fault);
            let answer = distant.catalog.rename_table(&path(), &moved(), false).await;
            let names = distant.names().await;
            assert_eq!(names.len(), 1, "call {nth}, {fault:?}: the table has one name, found {names:?}");
            match &answer {
                Ok(()) => assert_eq!(names, only(&moved()), "call {nth}, {fault:?}"),
                Err(failure) if failure.definite => assert_eq!(names, only(&path()), "call {nth}, {fault:?}"),
                Err(_) => {}
            }
            distant.catalog.rename_table(&path(), &moved(), true).await.unwrap();
            assert_eq!(distant.names().await, only(&moved()), "call {nth}, {fault:?}: repeated");
        }
    }
}

#[tokio::test]
async fn a_create_that_is_disturbed_at_any_call_is_whole_and_can_be_repeated() {
    let undisturbed = Distant::empty();
    undisturbed.catalog.create_table(&path(), &append_schema(), false).await.unwrap();
    for nth in 1..=undisturbed.line.calls.get() {
        for fault in FAULTS {
            let distant = Distant::empty();
            distant.line.disturb(nth, fault);
            let answer = distant.catalog.create_table(&path(), &append_schema(), false).await;
            distant.line.repair();
            let found = distant.catalog.table(&path()).await.is_ok();
            match &answer {
                Ok(()) => assert!(found, "call {nth}, {fault:?}"),
                Err(failure) if failure.definite => assert!(!found, "call {nth}, {fault:?}"),
                Err(_) => {}
            }
            distant.catalog.create_table(&path(), &append_schema(), true).await.unwrap();
            assert!(distant.catalog.table(&path()).await.is_ok(), "call {nth}, {fault:?}: repeated");
        }
    }
}

#[tokio::test]
async fn a_drop_that_is_disturbed_at_any_call_is_whole_and_the_name_is_free_for_another_table() {
    let undisturbed = Distant::with_a_row().await;
    undisturbed.line.calls.set(0);
    undisturbed.catalog.drop_table(&path(), false).await.unwrap();
    for nth in 1..=undisturbed.line.calls.get() {
        for fault in FAULTS {
            let distant = Distant::with_a_row().await;
            distant.line.disturb(nth, fault);
            let answer = distant.catalog.drop_table(&path(), false).await;
            let names = distant.names().await;
            match &answer {
                Ok(()) => assert_eq!(names, BTreeSet::new(), "call {nth}, {fault:?}"),
                Err(failure) if failure.definite => assert_eq!(names, only(&path()), "call {nth}, {fault:?}"),
                Err(_) => {}
            }
            distant.catalog.drop_table(&path(), true).await.unwrap();
            distant.catalog.create_table(&path(), &append_schema(), false).await.unwrap();
            let again = distant.catalog.table(&path()).await.unwrap();
            assert_eq!(again.latest_snapshot().await.unwrap(), None, "call {nth}, {fault:?}");
        }
    }
}

#[tokio::test]
async fn a_table_that_was_cut_short_between_two_names_is_moved_by_whoever_comes_by() {
    for first_look in [path(), moved()] {
        let distant = Distant::with_a_row().await;
        let entry = distant.database.entry(&path()).await.unwrap().unwrap();
        // The client died here: the database has the new name, the directory the old one.
        distant.database.rename_table(&entry, &moved()).await.unwrap();
        assert!(distant.memory.exists("db.db/t/schema/schema-0").await.unwrap());
        let looked = distant.catalog.table(&first_look).await;
        assert_eq!(looked.is_ok(), first_look == moved());
        assert!(distant.memory.exists("db.db/moved/schema/schema-0").await.unwrap(), "{first_look}");
        distant.catalog.create_table(&path(), &append_schema(), false).await.unwrap();
        let table = distant.catalog.table(&moved()).await.unwrap();
        assert_eq!(rows(&table).await, [row(1, "x", "d")]);
    }
}

#[tokio::test]
async fn a_request_that_comes_late_finds_another_version_and_changes_nothing() {
    let distant = Distant::with_a_row().await;
    let early = distant.database.entry(&path()).await.unwrap().unwrap();
    distant.catalog.rename_table(&path(), &moved(), false).await.unwrap();
    distant.catalog.rename_table(&moved(), &path(), false).await.unwrap();
    assert_eq!(distant.database.rename_table(&early, &moved()).await, Ok(EntryChange::Stale));
    assert_eq!(distant.database.drop_table(&early).await, Ok(EntryChange::Stale));
    assert_eq!(distant.names().await, only(&path()));
}

#[tokio::test]
async fn files_that_come_late_to_the_new_name_do_not_stop_a_move() {
    let distant = Distant::with_a_row().await;
    let entry = distant.database.entry(&path()).await.unwrap().unwrap();
    distant.database.rename_table(&entry, &moved()).await.unwrap();
    distant.memory.put("db.db/moved/snapshot/snapshot-9", Bytes::from_static(b"late")).await.unwrap();
    assert_eq!(distant.names().await, only(&moved()));
    assert!(!distant.memory.exists("db.db/moved/snapshot/snapshot-9").await.unwrap());
}
