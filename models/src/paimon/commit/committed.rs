//! What was committed already: how a writer that does not know the outcome of a commit finds out.
//!
//! A writer numbers its commits, ascending, and repeats a number only if it does not know whether the commit took
//! effect. So its newest snapshot says which numbers are done: that one's and all below. That holds as long as the
//! newest snapshot of the writer still exists; expiry forgets.

use crate::contract::Failure;
use crate::paimon::{PaimonTable, Snapshot};

use super::options::CommitOptions;

impl PaimonTable {
    /// Of a user's commit identifiers, which must ascend, those that are not committed yet: all above the identifier
    /// of the user's newest snapshot. A commit of two snapshots counts as done if its first one exists.
    pub async fn filter_committed(&self, user: &str, identifiers: &[u64]) -> Result<Vec<u64>, Failure> {
        if let Some(pair) = identifiers.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Failure::invalid(format!(
                "expected ascending commit identifiers, found {} before {}",
                pair[0], pair[1]
            )));
        }
        if identifiers.is_empty() {
            return Ok(Vec::new());
        }
        // Strict mode starts over after the last safe snapshot: what the user committed before does not count.
        let lowest_exclusive = CommitOptions::of(&self.schema)?.last_safe_snapshot.unwrap_or(0);
        let newest = match self.latest_snapshot().await? {
            None => None,
            Some(latest) => self.newest_of_user_above(&latest, user, lowest_exclusive).await?,
        };
        let committed = |identifier: &u64| {
            newest.as_ref().is_some_and(|newest| identifier.cast_signed() <= newest.commit_identifier)
        };
        Ok(identifiers.iter().copied().filter(|identifier| !committed(identifier)).collect())
    }

    /// The snapshots of one commit, oldest first: none, one, or two if it was one of new rows and a compaction. Those
    /// with an id of `lowest_exclusive` or less are not looked at, and expired ones are not found.
    pub async fn snapshots_of_commit(
        &self,
        user: &str,
        identifier: u64,
        lowest_exclusive: u64,
    ) -> Result<Vec<Snapshot>, Failure> {
        let mut found = Vec::new();
        let mut from = self.latest_snapshot().await?;
        while let Some(newest) = &from {
            let Some(of_user) = self.newest_of_user_above(newest, user, lowest_exclusive).await? else {
                break;
            };
            from = match of_user.id {
                id if id > lowest_exclusive + 1 => self.snapshot_if_present(id - 1).await?,
                _ => None,
            };
            if of_user.commit_identifier == identifier.cast_signed() {
                found.push(of_user);
            }
        }
        found.reverse();
        Ok(found)
    }
}
