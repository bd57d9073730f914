//! Rule `manifest-description`: manifest lists and manifests can be read, and a list says what is in its manifests.

use std::rc::Rc;

use crate::contract::DataType;

use super::super::binary_row::deserialize;
use super::super::live_files::{MANIFEST_LIST_PREFIX, MANIFEST_PREFIX, Manifest};
use super::super::manifest::{decode_manifest, decode_manifest_list};
use super::super::seal::check_file_name;
use super::super::{FileKind, ManifestEntry, ManifestFileMeta};
use super::check::{Check, Referrer};
use super::rule::Rule;

/// One manifest with its entries and where it lies.
pub(super) struct ReadManifest {
    pub(super) path: String,
    pub(super) entries: Manifest,
}

impl Check<'_> {
    /// The manifests that a list names; `None` if it cannot be read.
    pub(super) async fn manifest_list(
        &mut self,
        name: &str,
        size: Option<u64>,
        by: &str,
        referrer: Referrer<'_>,
    ) -> Option<Rc<Vec<ManifestFileMeta>>> {
        let manifests = self.read_manifest_list(name, size, by, referrer).await;
        self.incomplete |= manifests.is_none();
        manifests
    }

    async fn read_manifest_list(
        &mut self,
        name: &str,
        size: Option<u64>,
        by: &str,
        referrer: Referrer<'_>,
    ) -> Option<Rc<Vec<ManifestFileMeta>>> {
        if !self.check_name(name, by, referrer) {
            return None;
        }
        let path = self.directory.manifest(name);
        let bytes = self.read(&path, referrer).await?;
        if size.is_some_and(|size| !self.check_size(&path, referrer, size, &bytes)) {
            return None;
        }
        if let Err(error) = check_file_name(name, MANIFEST_LIST_PREFIX, &bytes) {
            self.findings.add(Rule::FileSeal, &path, referrer.snapshot(), error.to_string());
            return None;
        }
        match decode_manifest_list(&bytes) {
            Ok(manifests) => Some(manifests),
            Err(error) => {
                self.unreadable(&path, referrer, &error);
                None
            }
        }
    }

    /// The entries of these manifests, which `list` names; `None` if one of them cannot be read.
    pub(super) async fn manifests(
        &mut self,
        partition_types: &[DataType],
        list: &str,
        described: &[ManifestFileMeta],
        referrer: Referrer<'_>,
    ) -> Option<Vec<ReadManifest>> {
        let mut read = Vec::with_capacity(described.len());
        let mut complete = true;
        for manifest in described {
            let path = self.directory.manifest(&manifest.file_name);
            let known = self.manifests.get(&manifest.file_name).cloned();
            let entries = match known {
                Some(known) => known,
                None => {
                    let entries = self.manifest(partition_types, list, &path, manifest, referrer).await;
                    self.manifests.insert(manifest.file_name.clone(), entries.clone());
                    entries
                }
            };
            match entries {
                Some(entries) => read.push(ReadManifest { path, entries }),
                None => complete = false,
            }
        }
        self.incomplete |= !complete;
        complete.then_some(read)
    }

    async fn manifest(
        &mut self,
        partition_types: &[DataType],
        list: &str,
        path: &str,
        described: &ManifestFileMeta,
        referrer: Referrer<'_>,
    ) -> Option<Manifest> {
        if !self.check_name(&described.file_name, list, referrer) {
            return None;
        }
        let bytes = self.read(path, referrer).await?;
        if !self.check_size(path, referrer, described.file_size, &bytes) {
            return None;
        }
        if let Err(error) = check_file_name(&described.file_name, MANIFEST_PREFIX, &bytes) {
            self.findings.add(Rule::FileSeal, path, referrer.snapshot(), error.to_string());
            return None;
        }
        match decode_manifest(partition_types, &bytes) {
            Ok(entries) => {
                if let Some(found) = misdescribed(partition_types, described, &entries) {
                    self.findings.add(Rule::ManifestDescription, path, referrer.snapshot(), found);
                }
                Some(entries)
            }
            Err(error) => {
                self.unreadable(path, referrer, &error);
                None
            }
        }
    }
}

/// Where a list and its manifest differ; nothing where they agree.
fn misdescribed(types: &[DataType], described: &ManifestFileMeta, entries: &[ManifestEntry]) -> Option<String> {
    let count = |kind| entries.iter().filter(|entry| entry.kind == kind).count() as u64;
    let (added, deleted) = (count(FileKind::Add), count(FileKind::Delete));
    if (added, deleted) != (described.added_files, described.deleted_files) {
        return Some(format!(
            "expected {} added and {} deleted files as its list says, found {added} and {deleted}",
            described.added_files, described.deleted_files
        ));
    }
    let buckets = || entries.iter().map(|entry| i64::from(entry.bucket));
    let levels = || entries.iter().map(|entry| i64::from(entry.file.level));
    for (what, said, found) in [
        ("lowest bucket", described.min_bucket, buckets().min()),
        ("highest bucket", described.max_bucket, buckets().max()),
        ("lowest level", described.min_level, levels().min()),
        ("highest level", described.max_level, levels().max()),
    ] {
        if let (Some(said), Some(found)) = (said, found)
            && i64::from(said) != found
        {
            return Some(format!("expected the {what} {said} as its list says, found {found}"));
        }
    }
    misdescribed_partitions(types, described, entries)
}

/// Whether a partition lies outside of what the list says.
fn misdescribed_partitions(
    types: &[DataType],
    described: &ManifestFileMeta,
    entries: &[ManifestEntry],
) -> Option<String> {
    if types.is_empty() {
        return None;
    }
    let stats = &described.partition_stats;
    let (least, greatest) = match (deserialize(types, &stats.min_values), deserialize(types, &stats.max_values)) {
        (Ok(least), Ok(greatest)) => (least, greatest),
        // Statistics of no columns say nothing.
        _ if stats.min_values.starts_with(&[0; 4]) => return None,
        _ => {
            return Some("expected partition statistics of as many cells as partition columns, found other".to_owned());
        }
    };
    let outside = entries.iter().find(|entry| {
        let mut cells = entry.partition.cells().iter().zip(least.cells().iter().zip(greatest.cells()));
        cells.any(|(cell, (least, greatest))| {
            !cell.is_null() && !greatest.is_null() && (cell < least || cell > greatest)
        })
    });
    outside.map(|entry| {
        format!("expected partitions between those of its list's statistics, found {:?}", entry.partition.cells())
    })
}
