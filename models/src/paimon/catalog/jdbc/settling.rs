//! The files follow the database: what an entry notes is done to its directory, by whoever comes by, any number of
//! times.

use crate::contract::{Failure, FailureCode, PendingChange, TableEntry, TablePath};

use super::super::filesystem::{clear_leftovers, discard_directory, has_schema};
use super::JdbcCatalog;
use crate::paimon::directory::TableDirectory;
use crate::paimon::exclusive_create::{Created, create_exclusively};

/// How many changes of one name are brought to their end before somebody else's are waited for.
const MOST_CHANGES: u32 = 10;

impl JdbcCatalog {
    /// The entry of the table of this name, with nothing pending; `None` if there is no such table. Changes that were
    /// cut short are brought to their end first; they are other statements' effects and none of the caller's.
    pub(super) async fn settled_entry(&self, path: &TablePath) -> Result<Option<TableEntry>, Failure> {
        for _ in 0..MOST_CHANGES {
            let Some(entry) = self.metastore.entry(path).await? else {
                return Ok(None);
            };
            if entry.pending.is_none() {
                return Ok((entry.path == *path).then_some(entry));
            }
            self.bring_files_up_to(&entry).await?;
            self.metastore.settle(&entry).await?;
        }
        Err(Failure::definite(
            FailureCode::Unavailable,
            format!("table {path}: {MOST_CHANGES} changes of the name came one after the other; try again"),
        ))
    }

    /// Brings the files up to a change that this catalog has just made.
    pub(super) async fn follow(&self, entry: &TableEntry) -> Result<(), Failure> {
        self.bring_files_up_to(entry).await?;
        // The change is done, whatever becomes of the note: whoever reads it finds nothing left to do.
        let _ = self.metastore.settle(entry).await;
        Ok(())
    }

    async fn bring_files_up_to(&self, entry: &TableEntry) -> Result<(), Failure> {
        let directory = TableDirectory::of(&entry.path);
        match &entry.pending {
            None => Ok(()),
            Some(PendingChange::Create { schema }) => {
                match create_exclusively(&self.lake, &directory.schema(0), schema).await {
                    // Nobody but another one at this work writes there: the entry holds the name.
                    Created::Ours | Created::Taken => Ok(()),
                    Created::Refused(failure) | Created::Unknown(failure) => Err(failure),
                }
            }
            Some(PendingChange::Move { from }) => self.move_directory(from, &entry.path).await,
            Some(PendingChange::Drop) => {
                let subject = format!("{}/{}", entry.path, entry.entry_id);
                match discard_directory(&self.lake, directory.root(), &subject, &directory.schema(0)).await {
                    // Somebody else did it.
                    Err(failure) if failure.code == FailureCode::NotFound => Ok(()),
                    answer => answer,
                }
            }
        }
    }

    /// Moves a table's directory, unless it was moved already.
    async fn move_directory(&self, from: &TablePath, to: &TablePath) -> Result<(), Failure> {
        let (source, target) = (TableDirectory::of(from), TableDirectory::of(to));
        let objects = &self.lake.objects;
        let failure = match objects.rename_directory(source.root(), target.root()).await {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        let at_target = objects.list(target.root()).await?;
        let still_at_source = has_schema(&source, &objects.list(source.root()).await?);
        match (has_schema(&target, &at_target), still_at_source) {
            (true, false) => Ok(()),
            // Files that came late, of a table that had the name before; this one's are all beside its schema.
            (false, true) if failure.code == FailureCode::AlreadyExists => {
                clear_leftovers(&self.lake, &at_target).await?;
                objects.rename_directory(source.root(), target.root()).await
            }
            (false, true) => Err(failure),
            (target_is_there, _) => Err(Failure::internal(format!(
                "expected the files of one table, in {} or in {}, found {}",
                source.root(),
                target.root(),
                if target_is_there { "one in each" } else { "none" }
            ))),
        }
    }
}
