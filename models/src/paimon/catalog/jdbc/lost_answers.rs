//! What became of a change of the database whose answer was lost: the entry itself tells.
//!
//! A request that is still on its way may yet take effect, so "not there" stays in doubt; an entry that shows the
//! change, or one that rules it out, ends the doubt.

use bytes::Bytes;

use crate::contract::{EntryChange, Failure, PendingChange, TableEntry, TablePath};

use super::JdbcCatalog;
use crate::paimon::directory::TableDirectory;

impl JdbcCatalog {
    /// Whether the entry of a new table is there, and ours. Two creates with the same schema in the same millisecond
    /// are alike, and then it does not matter whose it is.
    pub(super) async fn was_inserted(
        &self,
        path: &TablePath,
        schema: &Bytes,
        lost: Failure,
    ) -> Result<EntryChange, Failure> {
        match self.metastore.entry(path).await {
            Ok(Some(entry)) => match &entry.pending {
                Some(PendingChange::Create { schema: found }) if found == schema => Ok(EntryChange::Made(entry)),
                // Somebody has settled it, whoever's it is.
                None if entry.path == *path => {
                    let first = self.lake.objects.get(&TableDirectory::of(path).schema(0)).await;
                    match first {
                        Ok(found) if found == *schema => Ok(EntryChange::Made(entry)),
                        Ok(_) => Ok(EntryChange::Taken),
                        Err(_) => Err(lost),
                    }
                }
                _ => Err(lost),
            },
            _ => Err(lost),
        }
    }

    /// Whether the entry is marked as dropped; `None` if it is gone altogether.
    pub(super) async fn was_dropped(&self, entry: &TableEntry, lost: Failure) -> Result<Option<EntryChange>, Failure> {
        match self.metastore.entry(&entry.path).await {
            Ok(Some(found)) if found.entry_id == entry.entry_id => match &found.pending {
                Some(PendingChange::Drop) => Ok(Some(EntryChange::Made(found))),
                _ => Err(lost),
            },
            // The entry has left the name, by this drop or by a rename that overtook it.
            Ok(_) => Ok(None),
            Err(_) => Err(lost),
        }
    }

    /// Whether the entry has the new name.
    pub(super) async fn was_renamed(
        &self,
        entry: &TableEntry,
        to: &TablePath,
        lost: Failure,
    ) -> Result<EntryChange, Failure> {
        match self.metastore.entry(to).await {
            Ok(Some(found)) if found.entry_id == entry.entry_id && found.path == *to => Ok(EntryChange::Made(found)),
            _ => Err(lost),
        }
    }
}
