//! The metastore on SQLite: one private database in memory, which is what is durable of its process.
//!
//! Nothing of SQLite's own clock or luck can show: keys are given out by a row of the database and not by SQLite, no
//! statement calls a function of time or chance, and whatever has an order is asked for in that order. It starts no
//! thread.

use std::cell::RefCell;

use async_trait::async_trait;
use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::contract::{EntryChange, Failure, FailureCode, Host, Metastore, PendingChange, TableEntry, TablePath};

const DEFINITIONS: &str = "
    CREATE TABLE next_entry (next_id INTEGER NOT NULL) STRICT;
    INSERT INTO next_entry VALUES (1);
    CREATE TABLE entries (
        entry_id INTEGER PRIMARY KEY,
        version INTEGER NOT NULL,
        database_name TEXT NOT NULL,
        table_name TEXT NOT NULL,
        first_schema BLOB,
        from_database TEXT,
        from_table TEXT,
        dropped INTEGER NOT NULL,
        UNIQUE (database_name, table_name),
        UNIQUE (from_database, from_table)
    ) STRICT;
    CREATE TABLE views (
        database_name TEXT NOT NULL,
        view_name TEXT NOT NULL,
        definition TEXT NOT NULL,
        PRIMARY KEY (database_name, view_name)
    ) STRICT, WITHOUT ROWID;
";

const ENTRY_BY_NAME: &str = "
    SELECT entry_id, version, database_name, table_name, first_schema, from_database, from_table, dropped
    FROM entries
    WHERE (database_name = ?1 AND table_name = ?2) OR (from_database = ?1 AND from_table = ?2)
";

/// A metastore of its own, empty at first.
pub struct SqlMetastore {
    connection: RefCell<Connection>,
}

impl SqlMetastore {
    /// An empty database. `internal` if SQLite cannot make one.
    pub fn new() -> Result<Self, Failure> {
        let connection = Connection::open_in_memory().map_err(database_failed)?;
        connection.execute_batch(DEFINITIONS).map_err(database_failed)?;
        Ok(Self { connection: RefCell::new(connection) })
    }

    /// One transaction: whatever fails in it has changed nothing.
    fn transaction<T>(&self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, Failure> {
        let mut connection = self.connection.borrow_mut();
        let transaction = connection.transaction().map_err(database_failed)?;
        let answer = work(&transaction).map_err(database_failed)?;
        transaction.commit().map_err(database_failed)?;
        Ok(answer)
    }
}

fn database_failed(error: rusqlite::Error) -> Failure {
    Failure::definite(FailureCode::Internal, format!("the catalog's database: {error}"))
}

/// The entry that holds a name.
fn holder(transaction: &Transaction<'_>, path: &TablePath) -> rusqlite::Result<Option<TableEntry>> {
    transaction.query_row(ENTRY_BY_NAME, params![path.database(), path.table()], entry_of).optional()
}

fn entry_of(row: &Row<'_>) -> rusqlite::Result<TableEntry> {
    let name = |database: usize, table: usize| -> rusqlite::Result<Option<TablePath>> {
        let (database, table): (Option<String>, Option<String>) = (row.get(database)?, row.get(table)?);
        Ok(database.zip(table).map(|(database, table)| TablePath::new(&database, &table)))
    };
    let (entry_id, version): (i64, i64) = (row.get(0)?, row.get(1)?);
    let first_schema: Option<Vec<u8>> = row.get(4)?;
    let pending = match (row.get::<_, bool>(7)?, first_schema, name(5, 6)?) {
        (true, _, _) => Some(PendingChange::Drop),
        (false, Some(schema), _) => Some(PendingChange::Create { schema: Bytes::from(schema) }),
        (false, None, Some(from)) => Some(PendingChange::Move { from }),
        (false, None, None) => None,
    };
    let path = TablePath::new(&row.get::<_, String>(2)?, &row.get::<_, String>(3)?);
    Ok(TableEntry { entry_id: entry_id.unsigned_abs(), version: version.unsigned_abs(), path, pending })
}

/// The number as SQLite counts; no run comes near the end of either range.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The entry after a change of so many rows: none means that it is another one by now.
fn made(transaction: &Transaction<'_>, path: &TablePath, changed_rows: usize) -> rusqlite::Result<EntryChange> {
    let entry = if changed_rows == 0 { None } else { holder(transaction, path)? };
    Ok(entry.map_or(EntryChange::Stale, EntryChange::Made))
}

#[async_trait(?Send)]
impl Metastore for SqlMetastore {
    async fn entry(&self, path: &TablePath) -> Result<Option<TableEntry>, Failure> {
        self.transaction(|transaction| holder(transaction, path))
    }

    async fn insert_table(&self, path: &TablePath, schema: &Bytes) -> Result<EntryChange, Failure> {
        self.transaction(|transaction| {
            if holder(transaction, path)?.is_some() {
                return Ok(EntryChange::Taken);
            }
            let changed = transaction.execute(
                "INSERT INTO entries (entry_id, version, database_name, table_name, first_schema, dropped)
                 SELECT next_id, 1, ?1, ?2, ?3, 0 FROM next_entry",
                params![path.database(), path.table(), schema.as_ref()],
            )?;
            transaction.execute("UPDATE next_entry SET next_id = next_id + 1", [])?;
            made(transaction, path, changed)
        })
    }

    async fn rename_table(&self, entry: &TableEntry, to: &TablePath) -> Result<EntryChange, Failure> {
        self.transaction(|transaction| {
            if holder(transaction, to)?.is_some_and(|holder| holder.entry_id != entry.entry_id) {
                return Ok(EntryChange::Taken);
            }
            let changed = transaction.execute(
                "UPDATE entries SET version = version + 1, database_name = ?3, table_name = ?4,
                     from_database = database_name, from_table = table_name
                 WHERE entry_id = ?1 AND version = ?2
                     AND first_schema IS NULL AND from_database IS NULL AND dropped = 0",
                params![number(entry.entry_id), number(entry.version), to.database(), to.table()],
            )?;
            made(transaction, to, changed)
        })
    }

    async fn drop_table(&self, entry: &TableEntry) -> Result<EntryChange, Failure> {
        self.transaction(|transaction| {
            let changed = transaction.execute(
                "UPDATE entries SET version = version + 1, dropped = 1
                 WHERE entry_id = ?1 AND version = ?2
                     AND first_schema IS NULL AND from_database IS NULL AND dropped = 0",
                params![number(entry.entry_id), number(entry.version)],
            )?;
            made(transaction, &entry.path, changed)
        })
    }

    async fn settle(&self, entry: &TableEntry) -> Result<(), Failure> {
        let settled = params![number(entry.entry_id), number(entry.version)];
        self.transaction(|transaction| {
            transaction.execute("DELETE FROM entries WHERE entry_id = ?1 AND version = ?2 AND dropped = 1", settled)?;
            transaction.execute(
                "UPDATE entries SET version = version + 1, first_schema = NULL, from_database = NULL, from_table = NULL
                 WHERE entry_id = ?1 AND version = ?2 AND (first_schema IS NOT NULL OR from_database IS NOT NULL)",
                settled,
            )?;
            Ok(())
        })
    }

    async fn view(&self, path: &TablePath) -> Result<Option<String>, Failure> {
        self.transaction(|transaction| {
            let name = params![path.database(), path.table()];
            let view = "SELECT definition FROM views WHERE database_name = ?1 AND view_name = ?2";
            transaction.query_row(view, name, |row| row.get(0)).optional()
        })
    }

    async fn insert_view(&self, path: &TablePath, definition: &str) -> Result<bool, Failure> {
        self.transaction(|transaction| {
            if holder(transaction, path)?.is_some() {
                return Ok(false);
            }
            let view = params![path.database(), path.table(), definition];
            Ok(transaction.execute("INSERT INTO views VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING", view)? == 1)
        })
    }
}

#[async_trait(?Send)]
impl Host for SqlMetastore {
    fn crash(&self) {
        // Transactions are whole, and all that is committed is durable: there is nothing to lose.
    }

    async fn run(&self) {
        std::future::pending().await
    }
}
