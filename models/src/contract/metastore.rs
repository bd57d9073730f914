//! The SQL database of a catalog that keeps its tables in one.

use async_trait::async_trait;
use bytes::Bytes;

use super::failure::Failure;
use super::names::TablePath;

/// What the database has decided about a table and the warehouse's files do not show yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PendingChange {
    /// The table was created; this is its first schema file.
    Create {
        /// The file's bytes.
        schema: Bytes,
    },
    /// The table was renamed; its directory may still have the old name.
    Move {
        /// The old name. It is taken until the move is settled.
        from: TablePath,
    },
    /// The table was dropped; its directory may still be there, and its name is taken until the drop is settled.
    Drop,
}

/// One table of the database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableEntry {
    /// The entry's identity, never used again.
    pub entry_id: u64,
    /// Grows with each change of the entry, so that a request that comes late or twice changes nothing.
    pub version: u64,
    /// The table's name.
    pub path: TablePath,
    /// What is still to be done to the files; `None` if they are as the entry says.
    pub pending: Option<PendingChange>,
}

/// What became of a change of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EntryChange {
    /// It was made; this is the entry now.
    Made(TableEntry),
    /// The new name belongs to another entry; nothing changed.
    Taken,
    /// The entry is gone, or has another version; nothing changed.
    Stale,
}

/// Names and what is decided about them, and nothing of what a table is. Each call is one transaction, durable before
/// it answers, and can fail before its effect (definite) or after it (indefinite).
#[async_trait(?Send)]
pub trait Metastore {
    /// The entry that holds this name: the table of the name, one that is moving away from it, or one that is being
    /// dropped. There is at most one.
    async fn entry(&self, path: &TablePath) -> Result<Option<TableEntry>, Failure>;

    /// Adds an entry whose creation is pending, unless the name is held.
    async fn insert_table(&self, path: &TablePath, schema: &Bytes) -> Result<EntryChange, Failure>;

    /// Gives the entry another name; its move is pending. Only an entry of this version without pending change.
    async fn rename_table(&self, entry: &TableEntry, to: &TablePath) -> Result<EntryChange, Failure>;

    /// Marks the entry as dropped. Only an entry of this version without pending change.
    async fn drop_table(&self, entry: &TableEntry) -> Result<EntryChange, Failure>;

    /// The files are as the entry says: nothing is pending any more, and a dropped entry is gone. Nothing if the entry
    /// has another version.
    async fn settle(&self, entry: &TableEntry) -> Result<(), Failure>;

    /// The definition of a view; `None` if there is none.
    async fn view(&self, path: &TablePath) -> Result<Option<String>, Failure>;

    /// Adds a view; `false` and no effect if a view has the name, or a table holds it.
    async fn insert_view(&self, path: &TablePath, definition: &str) -> Result<bool, Failure>;
}
