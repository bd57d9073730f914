//! Committing: how written files become a snapshot, once, or certainly never, or with an outcome that is said to be
//! unknown.
//!
//! One attempt reads the newest snapshot N−1, writes the manifests of N beside it, and creates `snapshot-N` if nobody
//! else has. A lost race starts over on the winner's snapshot. Every part of the protocol that can end without an
//! answer ends in one of three ways: the effect is there, certainly absent for ever, or unknown; after an unknown one
//! nothing is deleted (L10, L11).
//!
//! It must never know whose commit it is: the user, the identifier, the properties and the fence come from the caller.

mod index_changes;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bytes::Bytes;
use futures::future::join3;

use crate::concurrently;
use crate::contract::{Failure, FailureCode};
use crate::defects::Defect;

use super::exclusive_create::{Created, create_exclusively};
use super::index_manifest::encode_index_manifest;
use super::lake_access::before_any_effect;
use super::live_files::{INDEX_MANIFEST_PREFIX, MANIFEST_LIST_PREFIX, MANIFEST_PREFIX, identity, replay};
use super::manifest::{encode_manifest, encode_manifest_list};
use super::overwrite::{BoundScope, OverwriteScope, all_live};
use super::seal::{seal_json, sealed_uuid};
use super::snapshot_file::{CommitKind, SNAPSHOT_VERSION};
use super::table::read_schema;
use super::{
    Committable, DataField, IndexManifestEntry, ManifestEntry, ManifestFileMeta, PaimonTable, SchemaFile, Snapshot,
};

/// How often a commit that lost its race starts over.
const MAX_LOST_RACES: u32 = 10;
/// The longest pause after the first lost race; it doubles each time.
const FIRST_BACKOFF_MS: u64 = 10;
/// The longest pause after any lost race.
const MAX_BACKOFF_MS: u64 = 1_000;
/// So many manifests are merged into one (Paimon's `manifest.merge-min-count`).
const MANIFEST_MERGE_MIN_COUNT: usize = 30;

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
}

/// A commit that took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitOutcome {
    /// The snapshot that it made.
    pub snapshot_id: u64,
}

/// The files of one attempt, written and not yet visible.
struct Attempt {
    snapshot_id: u64,
    /// The snapshot file; it holds the UUID that tells this attempt from every other (H4).
    snapshot_bytes: Bytes,
    /// Manifests and manifest lists that only this attempt refers to.
    own_files: Vec<String>,
}

impl PaimonTable {
    /// Commits. A definite failure means that no snapshot of this commit exists or ever will; an indefinite one that
    /// it may, and then neither this commit may be repeated nor its files deleted (L10, L11).
    pub async fn commit(&self, request: CommitRequest) -> Result<CommitOutcome, Failure> {
        let scope = match &request.mode {
            CommitMode::Append | CommitMode::Compact => None,
            CommitMode::Overwrite { partitions } => {
                Some(BoundScope::bind(partitions, &self.schema, &request.committable.added)?)
            }
        };
        for lost_races in 0..MAX_LOST_RACES {
            if lost_races > 0 {
                self.back_off(&request.subject, lost_races).await;
            }
            let latest = self.checked_latest(&request.precondition).await.map_err(before_any_effect)?;
            let attempt = self.prepare(&request, scope.as_ref(), latest).await.map_err(before_any_effect)?;
            let snapshot_id = attempt.snapshot_id;
            match self.publish(&attempt).await {
                Created::Ours => {
                    // Best effort: readers probe beyond an old hint.
                    let hint = Bytes::from(snapshot_id.to_string());
                    let _ = self.lake.objects.put(&self.directory.latest_hint(), hint).await;
                    return Ok(CommitOutcome { snapshot_id });
                }
                Created::Taken => self.discard(&attempt).await,
                Created::Refused(failure) => {
                    self.discard(&attempt).await;
                    return Err(before_any_effect(failure));
                }
                // L10: the snapshot may be there, so its files must stay.
                Created::Unknown(failure) => return Err(failure),
            }
        }
        Err(Failure::definite(
            FailureCode::Unavailable,
            format!("table {}: the commit lost {MAX_LOST_RACES} races against other commits; try again", self.path),
        ))
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
            Err(failure) if failure.code != FailureCode::NotFound => return Err(failure),
            // L12: what was planned for a table must not reach its successor of the same name.
            _ => return Err(Failure::not_found(format!("table {} was dropped or re-created meanwhile", self.path))),
        }
        if next_schema? {
            self.check_layout().await?;
        }
        let latest = latest?;
        if let (Precondition::NewestOfUser { user, newest_known }, Some(latest)) = (precondition, &latest) {
            let newer = self.newest_of_user_above(latest, user, newest_known.unwrap_or(0)).await?;
            if let Some(newer) = newer {
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

    /// What the attempt deletes. Commits that take files or indexes away, and commits to tables whose schema has ever
    /// changed, are checked against the live files; a plain append to a table that never changed cannot be in conflict.
    async fn plan_deletes(
        &self,
        request: &CommitRequest,
        scope: Option<&BoundScope>,
        latest: &Snapshot,
        manifests: &[ManifestFileMeta],
    ) -> Result<Vec<ManifestEntry>, Failure> {
        let named = &request.committable.deleted;
        let adds_only = scope.is_none() && named.is_empty() && request.committable.index.is_empty();
        if adds_only && latest.schema_id == 0 && self.schema_id() == 0 {
            return Ok(Vec::new());
        }
        let live = replay(&self.manifest_reader().manifests(manifests).await?)?;
        if !all_live(named, &live) {
            return Err(Failure::rejected(format!(
                "table {}: expected every file that the commit deletes to be live in snapshot {}, found one that is not",
                self.path, latest.id
            )));
        }
        if request.mode == CommitMode::Compact {
            self.check_compaction_is_current(&request.committable, latest, &live).await?;
        }
        let mut deletes = match (scope, request.committable.base_snapshot_id) {
            (None, _) | (_, None) => Vec::new(),
            (Some(scope), Some(base_id)) if base_id == latest.id => scope.deletes(&live),
            (Some(scope), Some(base_id)) => {
                let base = self.snapshot(base_id).await?;
                let planned = scope.deletes(&self.manifest_reader().live_files(&base).await?);
                if all_live(&planned, &live) { planned } else { scope.deletes(&live) }
            }
        };
        let in_scope: BTreeSet<_> = deletes.iter().map(identity).collect();
        let others = named.iter().filter(|entry| !in_scope.contains(&identity(entry)));
        let others: Vec<ManifestEntry> = others.cloned().collect();
        deletes.extend(others);
        self.check_bucket_counts(&request.committable.added, &deletes, &live)?;
        Ok(deletes)
    }

    /// The files of one partition must agree on the number of buckets, or rows are looked for in the wrong one.
    fn check_bucket_counts(
        &self,
        added: &[ManifestEntry],
        deletes: &[ManifestEntry],
        live: &[ManifestEntry],
    ) -> Result<(), Failure> {
        let deleted: BTreeSet<_> = deletes.iter().map(identity).collect();
        let staying = live.iter().filter(|entry| !deleted.contains(&identity(entry)));
        let counts: BTreeMap<_, _> = staying.map(|entry| (&entry.partition, entry.total_buckets)).collect();
        let conflict = added.iter().find_map(|entry| {
            let count = *counts.get(&entry.partition)?;
            (count != entry.total_buckets).then_some((count, entry.total_buckets))
        });
        match conflict {
            None => Ok(()),
            Some((expected, found)) => Err(Failure::rejected(format!(
                "table {}: expected files of {expected} buckets as in the rest of the partition, found {found}; \
                 overwrite the partition to change its number of buckets",
                self.path
            ))),
        }
    }

    /// Writes the manifests of the next snapshot. They are named by the attempt, so no other attempt's file is
    /// replaced, and they are independent of each other, so they are written side by side.
    async fn prepare(
        &self,
        request: &CommitRequest,
        scope: Option<&BoundScope>,
        latest: Option<Snapshot>,
    ) -> Result<Attempt, Failure> {
        let latest = latest.as_ref();
        let (mut base, mut entries) = (Vec::new(), Vec::new());
        if let Some(latest) = latest {
            base = self.manifest_reader().lists_of(latest).await?;
            entries = self.plan_deletes(request, scope, latest, &base).await?;
        }
        let row_count =
            |entries: &[ManifestEntry]| entries.iter().map(|entry| entry.file.row_count as i64).sum::<i64>();
        let delta_record_count = row_count(&request.committable.added) - row_count(&entries);
        entries.extend(request.committable.added.iter().cloned());

        let snapshot_id = latest.map_or(1, |latest| latest.id + 1);
        let schema_id = latest.map_or(0, |latest| latest.schema_id).max(self.schema_id());
        let mut files = AttemptFiles::new(self, format!("{}/snapshot-{snapshot_id}", request.subject));
        if base.len() >= MANIFEST_MERGE_MIN_COUNT {
            let live = replay(&self.manifest_reader().manifests(&base).await?)?;
            base = files.manifest(schema_id, &live)?.into_iter().collect();
        }
        let (base_manifest_list, base_manifest_list_size) = files.manifest_list(&base)?;
        let delta: Vec<ManifestFileMeta> = files.manifest(schema_id, &entries)?.into_iter().collect();
        let (delta_manifest_list, delta_manifest_list_size) = files.manifest_list(&delta)?;
        let changelog = &request.committable.changelog;
        let changelog_manifest_list = match files.manifest(schema_id, changelog)? {
            None => None,
            Some(manifest) => Some(files.manifest_list(&[manifest])?),
        };
        let index_manifest = self.index_manifest_after(request, latest, &mut files).await?;

        let environment = &self.lake.environment;
        let snapshot = Snapshot {
            version: SNAPSHOT_VERSION,
            uuid: Some(environment.uuid("paimon.snapshot", &files.subject, 0)),
            id: snapshot_id,
            schema_id,
            base_manifest_list,
            base_manifest_list_size: Some(base_manifest_list_size),
            delta_manifest_list,
            delta_manifest_list_size: Some(delta_manifest_list_size),
            changelog_manifest_list_size: changelog_manifest_list.as_ref().map(|(_, size)| *size),
            changelog_manifest_list: changelog_manifest_list.map(|(file_name, _)| file_name),
            index_manifest,
            commit_user: request.user.clone(),
            writer_version: None,
            commit_identifier: request.identifier as i64,
            commit_kind: match request.mode {
                CommitMode::Append => CommitKind::Append,
                CommitMode::Compact => CommitKind::Compact,
                CommitMode::Overwrite { .. } => CommitKind::Overwrite,
            },
            time_millis: environment.now_ms(),
            total_record_count: latest.map_or(0, |latest| latest.total_record_count) + delta_record_count,
            delta_record_count,
            changelog_record_count: (!changelog.is_empty()).then(|| row_count(changelog)),
            watermark: latest.and_then(|latest| latest.watermark),
            statistics: latest.and_then(|latest| latest.statistics.clone()),
            properties: (!request.properties.is_empty()).then(|| request.properties.clone()),
            next_row_id: latest.and_then(|latest| latest.next_row_id),
        };
        let snapshot_bytes = seal_json(&snapshot.encode()?);
        let puts = files.written.iter().map(|(path, bytes)| self.lake.objects.put(path, bytes.clone()));
        // All of them are waited for, so that none is still on its way if the attempt is discarded.
        let written: Result<(), Failure> = concurrently::all(puts).await.into_iter().collect();
        let own_files = files.written.into_iter().map(|(path, _)| path).collect();
        let attempt = Attempt { snapshot_id, snapshot_bytes, own_files };
        match written {
            Ok(()) => Ok(attempt),
            Err(failure) => {
                self.discard(&attempt).await;
                Err(failure)
            }
        }
    }

    /// The index manifest of the next snapshot: the newest one's, if no index changes.
    async fn index_manifest_after(
        &self,
        request: &CommitRequest,
        latest: Option<&Snapshot>,
        files: &mut AttemptFiles<'_>,
    ) -> Result<Option<String>, Failure> {
        let changes = &request.committable.index;
        if changes.is_empty() {
            return Ok(latest.and_then(|latest| latest.index_manifest.clone()));
        }
        let before = match latest {
            None => Rc::default(),
            Some(latest) => self.manifest_reader().index_files(latest).await?,
        };
        files.index_manifest(&index_changes::changed(&before, changes)?).map(Some)
    }

    /// The compare-and-swap of one attempt.
    async fn publish(&self, attempt: &Attempt) -> Created {
        let path = self.directory.snapshot(attempt.snapshot_id);
        if self.lake.defects.has(Defect::CleanupOnUnknown) {
            let created = self.lake.objects.put_if_absent(&path, attempt.snapshot_bytes.clone()).await;
            return match created {
                Ok(true) => Created::Ours,
                Ok(false) => Created::Taken,
                Err(failure) => {
                    self.discard(attempt).await;
                    if failure.definite { Created::Refused(failure) } else { Created::Unknown(failure) }
                }
            };
        }
        create_exclusively(&self.lake, &path, &attempt.snapshot_bytes).await
    }

    /// Deletes the files of an attempt that certainly has no snapshot and never will. What cannot be deleted stays as
    /// an orphan (L18).
    async fn discard(&self, attempt: &Attempt) {
        concurrently::all(attempt.own_files.iter().map(|path| self.lake.objects.delete(path))).await;
    }

    /// Waits for a drawn while, so that two commits do not meet again and again.
    async fn back_off(&self, subject: &str, lost_races: u32) {
        let longest_ms = (FIRST_BACKOFF_MS << lost_races.min(16)).min(MAX_BACKOFF_MS);
        let drawn = self.lake.environment.draw("paimon.commit-backoff", subject, u64::from(lost_races));
        self.lake.environment.sleep_ms(1 + drawn % longest_ms).await;
    }
}

/// Names and collects the manifest files of one attempt.
struct AttemptFiles<'a> {
    table: &'a PaimonTable,
    /// The commit's subject and the snapshot that the attempt is for.
    subject: String,
    written: Vec<(String, Bytes)>,
}

impl<'a> AttemptFiles<'a> {
    fn new(table: &'a PaimonTable, subject: String) -> Self {
        Self { table, subject, written: Vec::new() }
    }

    /// A manifest of these entries; none for none.
    fn manifest(&mut self, schema_id: u64, entries: &[ManifestEntry]) -> Result<Option<ManifestFileMeta>, Failure> {
        if entries.is_empty() {
            return Ok(None);
        }
        let partition_types = &self.table.partition_types;
        let bytes = encode_manifest(partition_types, entries, self.sync_marker())?;
        let (file_name, file_size) = self.add(MANIFEST_PREFIX, bytes);
        Ok(Some(ManifestFileMeta::describe(&file_name, file_size, schema_id, partition_types, entries)?))
    }

    /// A manifest list of these manifests: its name and its size in bytes.
    fn manifest_list(&mut self, manifests: &[ManifestFileMeta]) -> Result<(String, u64), Failure> {
        let bytes = encode_manifest_list(manifests, self.sync_marker())?;
        Ok(self.add(MANIFEST_LIST_PREFIX, bytes))
    }

    /// An index manifest of these entries: its name.
    fn index_manifest(&mut self, entries: &[IndexManifestEntry]) -> Result<String, Failure> {
        let bytes = encode_index_manifest(&self.table.partition_types, entries, self.sync_marker())?;
        Ok(self.add(INDEX_MANIFEST_PREFIX, bytes).0)
    }

    fn add(&mut self, prefix: &str, bytes: Bytes) -> (String, u64) {
        let occurrence = self.written.len() as u64;
        let drawn = self.table.lake.environment.uuid("paimon.manifest", &self.subject, occurrence);
        let file_name = format!("{prefix}{}-0", sealed_uuid(&drawn, &bytes));
        let file_size = bytes.len() as u64;
        self.written.push((self.table.directory.manifest(&file_name), bytes));
        (file_name, file_size)
    }

    fn sync_marker(&self) -> [u8; 16] {
        let half = |index: u64| {
            let occurrence = 2 * self.written.len() as u64 + index;
            self.table.lake.environment.draw("paimon.sync-marker", &self.subject, occurrence).to_be_bytes()
        };
        let mut marker = [0; 16];
        marker[..8].copy_from_slice(&half(0));
        marker[8..].copy_from_slice(&half(1));
        marker
    }
}
