//! One attempt: the next snapshot with its manifests, written beside the newest one and not yet visible.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::concurrently;
use crate::contract::Failure;
use crate::defects::Defect;
use crate::paimon::live_files::{FileIdentity, Manifest, identity, replay};
use crate::paimon::overwrite::BoundScope;
use crate::paimon::seal::seal_json;
use crate::paimon::snapshot_file::SNAPSHOT_VERSION;
use crate::paimon::{FileKind, ManifestEntry, ManifestFileMeta, OVERWRITE_BASE_PROPERTY, PaimonTable, Snapshot};
use crate::points::Point;

use super::attempt_files::AttemptFiles;
use super::manifest_merge::{MergePlan, must_change, without_pairs};
use super::options::CommitOptions;
use super::plan::commit_kind;
use super::{CommitMode, CommitRequest};

/// The files of one attempt, written and not yet visible.
pub(super) struct Attempt {
    /// The snapshot that it is to become.
    pub(super) snapshot_id: u64,
    /// The snapshot file; it holds the UUID that tells this attempt from every other (H4).
    pub(super) snapshot_bytes: Bytes,
    /// Manifests and manifest lists that only this attempt refers to.
    own_files: Vec<String>,
}

impl PaimonTable {
    /// Writes the manifests of the next snapshot. They are independent of each other, so they are written side by side.
    pub(super) async fn prepare(
        &self,
        request: &CommitRequest,
        options: &CommitOptions,
        scope: Option<&BoundScope>,
        latest: Option<Snapshot>,
    ) -> Result<Attempt, Failure> {
        let latest = latest.as_ref();
        let base = match latest {
            None => Vec::new(),
            Some(latest) => self.manifest_reader().lists_of(latest).await?,
        };
        let plan = self.plan(request, options, scope, latest, &base).await?;
        let row_count =
            |entries: &[ManifestEntry]| entries.iter().map(|entry| entry.file.row_count as i64).sum::<i64>();
        let delta_record_count = row_count(&request.committable.added) - row_count(&plan.deletes);
        let mut entries = plan.deletes;
        entries.extend(request.committable.added.iter().cloned());

        let snapshot_id = latest.map_or(1, |latest| latest.id + 1);
        let schema_id = latest.map_or(0, |latest| latest.schema_id).max(self.schema_id());
        let subject = format!("{}/snapshot-{snapshot_id}", request.subject);
        let mut files = AttemptFiles::new(self, subject, schema_id, options.manifest_target_size);
        let merge = if plan.brings_back { MergePlan::Full } else { MergePlan::of(&base, options) };
        let base = self.merged(base, merge, options, &mut files).await?;
        let (base_manifest_list, base_manifest_list_size) = files.manifest_list(&base)?;
        let delta = files.manifests(&entries)?;
        let (delta_manifest_list, delta_manifest_list_size) = files.manifest_list(&delta)?;
        let kind = commit_kind(request);
        let changelog = request.committed_changelog();
        let changelog_manifest_list = match files.manifests(changelog)?.as_slice() {
            [] => None,
            manifests => Some(files.manifest_list(manifests)?),
        };
        let index_manifest = match plan.index {
            None => latest.and_then(|latest| latest.index_manifest.clone()),
            Some(index) if index.is_empty() => None,
            Some(index) => Some(files.index_manifest(&index)?),
        };

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
            commit_kind: kind,
            time_millis: environment.now_ms(),
            total_record_count: latest.map_or(0, |latest| latest.total_record_count) + delta_record_count,
            delta_record_count,
            changelog_record_count: (!changelog.is_empty()).then(|| row_count(changelog)),
            watermark: latest.and_then(|latest| latest.watermark),
            // Statistics are of one schema's columns.
            statistics: latest
                .filter(|latest| latest.schema_id == schema_id)
                .and_then(|latest| latest.statistics.clone()),
            properties: Some(request.told_properties()).filter(|properties| !properties.is_empty()),
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
            // Planted bug partial-manifest: the commit goes on after the write of a manifest failed.
            Err(_) if self.lake.defects.has(Defect::PartialManifest) => Ok(attempt),
            Err(failure) => {
                self.reached(Point::AttemptDiscarded);
                self.discard(&attempt).await;
                Err(failure)
            }
        }
    }

    /// Deletes the files of an attempt that certainly has no snapshot and never will. What cannot be deleted stays as
    /// an orphan (L18).
    pub(super) async fn discard(&self, attempt: &Attempt) {
        concurrently::all(attempt.own_files.iter().map(|path| self.lake.objects.delete(path))).await;
    }

    /// The manifests of the newest snapshot, merged as planned. Their order stays that of the commits.
    async fn merged(
        &self,
        manifests: Vec<ManifestFileMeta>,
        plan: MergePlan,
        options: &CommitOptions,
        files: &mut AttemptFiles<'_>,
    ) -> Result<Vec<ManifestFileMeta>, Failure> {
        match plan {
            MergePlan::Keep => Ok(manifests),
            MergePlan::Groups(groups) => {
                let mut merged = Vec::new();
                for group in groups {
                    if group.len() == 1 {
                        merged.extend(group);
                        continue;
                    }
                    self.reached(Point::ManifestsMerged);
                    let contents = self.manifest_reader().manifests(&group).await?;
                    let entries = contents.iter().flat_map(|manifest| manifest.iter());
                    merged.extend(files.manifests(&without_pairs(entries)?)?);
                }
                Ok(merged)
            }
            MergePlan::Full => {
                self.reached(Point::ManifestsFullyMerged);
                let contents = self.manifest_reader().manifests(&manifests).await?;
                fully_merged(&manifests, &contents, options, files)
            }
        }
    }
}

impl CommitRequest {
    /// The properties of the snapshot. An overwrite tells what it began on.
    fn told_properties(&self) -> BTreeMap<String, String> {
        let mut properties = self.properties.clone();
        if let (CommitMode::Overwrite { .. }, Some(base_id)) = (&self.mode, self.committable.base_snapshot_id) {
            properties.insert(OVERWRITE_BASE_PROPERTY.to_owned(), base_id.to_string());
        }
        properties
    }

    /// The changelog that the snapshot names. An overwrite has none: what it replaces is not told row by row.
    pub(super) fn committed_changelog(&self) -> &[ManifestEntry] {
        match self.mode {
            CommitMode::Overwrite { .. } | CommitMode::Restore => &[],
            _ => &self.committable.changelog,
        }
    }
}

/// The manifests with no delete in any of them. A large one that holds nothing but live files stays as it is; what is
/// rewritten between two of these becomes manifests of its own, so that the files stay in the order of their commits.
fn fully_merged(
    manifests: &[ManifestFileMeta],
    contents: &[Manifest],
    options: &CommitOptions,
    files: &mut AttemptFiles<'_>,
) -> Result<Vec<ManifestFileMeta>, Failure> {
    let live = replay(contents)?;
    let live_identities: BTreeSet<FileIdentity<'_>> = live.iter().map(identity).collect();
    let is_live = |entry: &&ManifestEntry| entry.kind == FileKind::Add && live_identities.contains(&identity(entry));
    let mut merged = Vec::new();
    let mut rewritten: Vec<ManifestEntry> = Vec::new();
    let mut known: BTreeSet<FileIdentity<'_>> = BTreeSet::new();
    for (manifest, content) in manifests.iter().zip(contents) {
        if !must_change(manifest, options) && content.iter().all(|entry| is_live(&entry)) {
            merged.extend(files.manifests(&std::mem::take(&mut rewritten))?);
            merged.push(manifest.clone());
            continue;
        }
        // A file that was deleted and brought back is live once.
        let entries = content.iter().filter(is_live);
        rewritten.extend(entries.filter(|entry| known.insert(identity(entry))).cloned());
    }
    merged.extend(files.manifests(&rewritten)?);
    Ok(merged)
}
