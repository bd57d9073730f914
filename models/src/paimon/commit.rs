//! Committing: how written files become a snapshot, once, or certainly never, or with an outcome that is said to be
//! unknown.
//!
//! One attempt reads the newest snapshot N−1, writes the manifests of N beside it, and creates `snapshot-N` if nobody
//! else has. A lost race starts over on the winner's snapshot. Every part of the protocol that can end without an
//! answer ends in one of three ways: the effect is there, certainly absent for ever, or unknown; after an unknown one
//! nothing is deleted (L10, L11).
//!
//! It must never know whose commit it is: the user, the identifier, the properties and the fence come from the caller.

mod attempt;
mod attempt_files;
mod committed;
mod conflict;
mod conflict_checks;
mod index_changes;
mod manifest_merge;
mod options;
mod plan;
mod planted;
mod statements;
mod strict_mode;
mod two_steps;

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::future::join3;

use crate::concurrently;
use crate::contract::{Failure, FailureCode};
use crate::defects::Defect;
use crate::points::Point;

use self::attempt::Attempt;
use self::options::CommitOptions;
use super::exclusive_create::{Created, create_exclusively};
use super::lake_access::before_any_effect;
use super::overwrite::{BoundScope, OverwriteScope};
use super::table::read_schema;
use super::{Committable, DataField, PaimonTable, SchemaFile, Snapshot};

pub use self::conflict::ConflictKind;
pub use self::two_steps::TwoStepOutcome;

/// One commit.
#[derive(Clone, Debug)]
pub struct CommitRequest {
    /// Keys the draws of this commit, file names among them: each call needs another one.
    pub subject: String,
    /// Who commits.
    pub user: String,
    /// The user's own number of this commit, never used before by this user (L11). Stored as 64 bits, signed.
    pub identifier: u64,
    /// What becomes of the files that are there.
    pub mode: CommitMode,
    /// What the snapshot notes.
    pub properties: BTreeMap<String, String>,
    /// The new files; there may be none.
    pub committable: Committable,
    /// What must hold of the table for the commit to happen.
    pub precondition: Precondition,
}

/// What becomes of the files that are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitMode {
    /// They stay. Without new files the snapshot only carries its properties.
    Append,
    /// They stay, and the rows stay the same: files were rewritten, or moved to another level.
    Compact,
    /// Those go that the committable names, and some come that were there before: an older state is restored. The
    /// committable's index files are all that there are afterwards.
    Restore,
    /// Those in scope go, as far as they were in the committable's base snapshot (L15). If one of them is gone
    /// already, the overwrite is planned again on the newest snapshot, as if it had begun there.
    Overwrite {
        /// Which files.
        partitions: OverwriteScope,
    },
}

/// What must hold of the table for a commit to happen, checked in the same step as the compare-and-swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing.
    None,
    /// A fence: `rejected`, if there is a snapshot of `user` that is newer than `newest_known`.
    NewestOfUser {
        /// Whose snapshots.
        user: String,
        /// The newest one that the caller knows; `None` if it knows of none.
        newest_known: Option<u64>,
    },
    /// `rejected`, if the newest snapshot is not this one; `None`: if there is any.
    NewestIs(Option<u64>),
}

/// A commit that took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitOutcome {
    /// The snapshot that it made.
    pub snapshot_id: u64,
}

impl PaimonTable {
    /// Commits, and deletes the files of a commit that certainly failed. What cannot be deleted stays as an orphan
    /// (L18). The files of an unknown outcome stay: they may be live (L10).
    pub async fn commit_or_delete(&self, request: CommitRequest) -> Result<CommitOutcome, Failure> {
        let files = request.committable.clone();
        let committed = self.commit(request).await;
        if committed.as_ref().is_err_and(|failure| failure.definite) {
            let _ = self.abort(&files).await;
        }
        committed
    }

    /// Commits. A definite failure means that no snapshot of this commit exists or ever will; an indefinite one that
    /// it may, and then neither this commit may be repeated nor its files deleted (L10, L11).
    pub async fn commit(&self, request: CommitRequest) -> Result<CommitOutcome, Failure> {
        let scope = match &request.mode {
            CommitMode::Append | CommitMode::Compact | CommitMode::Restore => None,
            CommitMode::Overwrite { partitions } => {
                Some(BoundScope::bind(partitions, &self.schema, &request.committable.added)?)
            }
        };
        let options = CommitOptions::of(&self.schema)?;
        let began_ms = self.lake.environment.now_ms();
        let mut lost_races = 0;
        loop {
            let latest = self.checked_latest(&request.precondition).await.map_err(before_any_effect)?;
            let attempt = self.prepare(&request, &options, scope.as_ref(), latest).await.map_err(before_any_effect)?;
            match self.publish(&request.subject, &options, &attempt).await {
                Created::Ours => return Ok(self.completed(&request, &attempt).await),
                // Planted bug loser-succeeds: a snapshot of the number that was tried passes for our own.
                Created::Taken if self.lake.defects.has(Defect::LoserSucceeds) => {
                    return Ok(CommitOutcome { snapshot_id: attempt.snapshot_id });
                }
                Created::Taken => {
                    self.reached(Point::CommitLostRace);
                    self.discard(&attempt).await;
                }
                Created::Refused(failure) => {
                    self.reached(Point::CommitRefused);
                    self.discard(&attempt).await;
                    return Err(before_any_effect(failure));
                }
                Created::Unknown(_) if self.retries_as_other_kind(&request) => {
                    return self.commit_as_other_kind(request).await;
                }
                // L10: the snapshot may be there, so its files must stay.
                Created::Unknown(failure) => {
                    self.reached(Point::CommitUnknown);
                    return Err(failure);
                }
            }
            let tried_ms = self.lake.environment.now_ms().saturating_sub(began_ms);
            if lost_races >= options.max_retries || options.timeout_ms.is_some_and(|timeout_ms| tried_ms > timeout_ms) {
                self.reached(Point::CommitGaveUp);
                return Err(Failure::definite(
                    FailureCode::Unavailable,
                    format!(
                        "table {}: the commit lost {} races against other commits in {tried_ms} ms; try again",
                        self.path,
                        lost_races + 1
                    ),
                ));
            }
            self.back_off(&request.subject, &options, lost_races).await;
            lost_races += 1;
        }
    }

    /// What follows a commit that took effect, as far as that is possible.
    async fn completed(&self, request: &CommitRequest, attempt: &Attempt) -> CommitOutcome {
        // Readers probe beyond an old hint. There is none of the oldest snapshot here: it is expiry's.
        let hint = Bytes::from(attempt.snapshot_id.to_string());
        let _ = self.lake.objects.put(&self.directory.latest_hint(), hint).await;
        if let CommitMode::Overwrite { .. } = request.mode {
            // Changelog files of an overwrite are in no snapshot.
            let changelog = request.committable.changelog.iter().map(|entry| async {
                let path = self.data_file_path(entry);
                self.lake.objects.delete(&path).await
            });
            concurrently::all(changelog).await;
        }
        CommitOutcome { snapshot_id: attempt.snapshot_id }
    }

    /// The newest snapshot, if the table is still the one that was opened and the precondition holds.
    async fn checked_latest(&self, precondition: &Precondition) -> Result<Option<Snapshot>, Failure> {
        let own_schema = self.directory.schema(self.schema_id());
        let next_schema = self.directory.schema(self.schema_id() + 1);
        let (own_schema, next_schema, latest) =
            join3(self.lake.objects.get(&own_schema), self.lake.objects.exists(&next_schema), self.latest_snapshot())
                .await;
        match own_schema {
            Ok(bytes) if bytes == self.schema_bytes => {}
            // Planted bug commit-into-recreated: the name is enough.
            Ok(_) if self.lake.defects.has(Defect::CommitIntoRecreated) => {}
            Err(failure) if failure.code != FailureCode::NotFound => return Err(failure),
            // L12: what was planned for a table must not reach its successor of the same name.
            _ => {
                self.reached(Point::CommitIntoSuccessor);
                return Err(Failure::not_found(format!("table {} was dropped or re-created meanwhile", self.path)));
            }
        }
        if next_schema? {
            self.reached(Point::CommitUnderOlderSchema);
            self.check_layout().await?;
        }
        let latest = latest?;
        let newest_id = latest.as_ref().map(|latest| latest.id);
        if let Precondition::NewestIs(expected) = precondition
            && *expected != newest_id
        {
            return Err(Failure::rejected(format!(
                "table {}: expected {expected:?} to be the newest snapshot, found {newest_id:?}",
                self.path
            )));
        }
        if let (Precondition::NewestOfUser { user, newest_known }, Some(latest)) = (precondition, &latest) {
            let newer = self.newest_of_user_above(latest, user, newest_known.unwrap_or(0)).await?;
            if let Some(newer) = newer {
                self.reached(Point::CommitFenced);
                let known = newest_known.map_or("none".to_owned(), |id| id.to_string());
                return Err(Failure::rejected(format!(
                    "table {}: expected no snapshot of {user} newer than {known}, found {}",
                    self.path, newer.id
                )));
            }
        }
        Ok(latest)
    }

    /// The schema has moved on since the table was opened: the files still fit if keys, partitions and buckets are the
    /// same and every column that must have a value has one.
    async fn check_layout(&self) -> Result<(), Failure> {
        let mut newest = self.version.file.clone();
        while let Some((_, next)) = read_schema(&self.lake, &self.directory, newest.id + 1).await? {
            newest = next;
        }
        let own = &self.version.file;
        let key_ids = |file: &SchemaFile, names: &[String]| -> Vec<Option<i32>> {
            let id_of = |name: &String| file.fields.iter().find(|field| field.name == *name).map(|field| field.id);
            names.iter().map(id_of).collect()
        };
        let same_keys = key_ids(own, &own.primary_keys) == key_ids(&newest, &newest.primary_keys)
            && key_ids(own, &own.partition_keys) == key_ids(&newest, &newest.partition_keys);
        let same_buckets = self.schema.bucket_count() == newest.table_schema().bucket_count();
        let filled = |field: &DataField| {
            field.field_type.nullable || own.fields.iter().any(|candidate| candidate.id == field.id)
        };
        if same_keys && same_buckets && newest.fields.iter().all(filled) {
            return Ok(());
        }
        Err(Failure::rejected(format!(
            "table {}: expected the layout of schema {}, found another one in schema {}; plan the write again",
            self.path, own.id, newest.id
        )))
    }

    /// The compare-and-swap of one attempt. An attempt whose outcome is unknown is looked for once more, later: only
    /// the snapshot that it was for can be it, and that one has its user, identifier, kind and UUID, and so its bytes.
    async fn publish(&self, subject: &str, options: &CommitOptions, attempt: &Attempt) -> Created {
        let path = self.directory.snapshot(attempt.snapshot_id);
        if self.takes_first_answer() {
            let created = self.created_in_one_call(&path, &attempt.snapshot_bytes).await;
            return match created {
                Ok(true) => Created::Ours,
                Ok(false) => Created::Taken,
                Err(failure) => {
                    // Planted bug cleanup-on-unknown: what no answer came for passes for what failed.
                    if self.lake.defects.has(Defect::CleanupOnUnknown) {
                        self.discard(attempt).await;
                    }
                    if failure.definite { Created::Refused(failure) } else { Created::Unknown(failure) }
                }
            };
        }
        match create_exclusively(&self.lake, &path, &attempt.snapshot_bytes).await {
            Created::Unknown(failure) => {
                self.back_off(subject, options, 0).await;
                match self.lake.objects.get(&path).await {
                    Ok(found) if found == attempt.snapshot_bytes => Created::Ours,
                    // Somebody else's snapshot has the name: ours is not there and never will be.
                    Ok(_) => Created::Taken,
                    Err(_) => Created::Unknown(failure),
                }
            }
            settled => settled,
        }
    }

    /// The table's own account of where its commits have been.
    fn reached(&self, point: Point) {
        self.lake.environment.reached(point);
    }

    /// Waits for a drawn while before the retry of this number, counted from 0.
    async fn back_off(&self, subject: &str, options: &CommitOptions, retry: u32) {
        let drawn = self.lake.environment.draw("paimon.commit-backoff", subject, u64::from(retry));
        self.lake.environment.sleep_ms(options.retry_wait_ms(retry, drawn)).await;
    }
}

#[cfg(test)]
mod tests;
