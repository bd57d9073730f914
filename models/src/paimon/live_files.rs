//! Manifest replay: from a snapshot's manifest lists to the data files that are live in it.
//!
//! It reads manifests only. What a data file holds, and who asks, is not known here.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use futures::future::try_join;

use crate::concurrently;
use crate::contract::{DataType, Failure, ObjectStore, PartitionValues};

use super::directory::TableDirectory;
use super::index_manifest::decode_index_manifest;
use super::lake_access::read_referenced;
use super::manifest::{decode_manifest, decode_manifest_list};
use super::seal::check_file_name;
use super::{FileKind, FormatError, FormatResult, IndexManifestEntry, ManifestEntry, ManifestFileMeta, Snapshot};

/// The beginning of every manifest's name.
pub(super) const MANIFEST_PREFIX: &str = "manifest-";
/// The beginning of every index manifest's name.
pub(super) const INDEX_MANIFEST_PREFIX: &str = "index-manifest-";
/// The beginning of every manifest list's name.
pub(super) const MANIFEST_LIST_PREFIX: &str = "manifest-list-";

/// One manifest with its entries.
pub(super) type Manifest = Rc<Vec<ManifestEntry>>;

/// Reads the manifests of one table.
#[derive(Clone, Copy)]
pub(super) struct ManifestReader<'a> {
    pub(super) objects: &'a dyn ObjectStore,
    pub(super) directory: &'a TableDirectory,
    pub(super) partition_types: &'a [DataType],
}

impl ManifestReader<'_> {
    /// The manifests that a list names, in its order.
    pub(super) async fn list(&self, file_name: &str) -> Result<Rc<Vec<ManifestFileMeta>>, Failure> {
        let bytes = self.read(file_name, MANIFEST_LIST_PREFIX).await?;
        Ok(decode_manifest_list(&bytes).map_err(|error| error.within(self.directory.manifest(file_name)))?)
    }

    /// The manifests of a snapshot: those before its commit, then those of its commit.
    pub(super) async fn lists_of(&self, snapshot: &Snapshot) -> Result<Vec<ManifestFileMeta>, Failure> {
        let (base, delta) =
            try_join(self.list(&snapshot.base_manifest_list), self.list(&snapshot.delta_manifest_list)).await?;
        Ok(base.iter().chain(delta.iter()).cloned().collect())
    }

    /// The entries of one manifest, in its order.
    pub(super) async fn manifest(&self, described: &ManifestFileMeta) -> Result<Manifest, Failure> {
        let bytes = self.read(&described.file_name, MANIFEST_PREFIX).await?;
        let path = || self.directory.manifest(&described.file_name);
        if bytes.len() as u64 != described.file_size {
            return Err(FormatError::new(format!(
                "{}: expected {} bytes as its manifest list says, found {}",
                path(),
                described.file_size,
                bytes.len()
            ))
            .into());
        }
        Ok(decode_manifest(self.partition_types, &bytes).map_err(|error| error.within(path()))?)
    }

    /// The entries of these manifests; they are read side by side.
    pub(super) async fn manifests(&self, described: &[ManifestFileMeta]) -> Result<Vec<Manifest>, Failure> {
        concurrently::all_or_first_failure(described.iter().map(|manifest| self.manifest(manifest))).await
    }

    /// The files that are live in the snapshot, oldest first.
    pub(super) async fn live_files(&self, snapshot: &Snapshot) -> Result<Vec<ManifestEntry>, Failure> {
        let manifests = self.manifests(&self.lists_of(snapshot).await?).await?;
        Ok(replay(&manifests).map_err(|error| error.within(self.directory.snapshot(snapshot.id)))?)
    }

    /// The index files of a snapshot; none if it names no index manifest.
    pub(super) async fn index_files(&self, snapshot: &Snapshot) -> Result<Rc<Vec<IndexManifestEntry>>, Failure> {
        let Some(file_name) = &snapshot.index_manifest else {
            return Ok(Rc::default());
        };
        let bytes = self.read(file_name, INDEX_MANIFEST_PREFIX).await?;
        let within = |error: FormatError| error.within(self.directory.manifest(file_name));
        Ok(decode_index_manifest(self.partition_types, &bytes).map_err(within)?)
    }

    async fn read(&self, file_name: &str, prefix: &str) -> Result<Bytes, Failure> {
        let path = self.directory.manifest(file_name);
        let bytes = read_referenced(self.objects, &path).await?;
        check_file_name(file_name, prefix, &bytes).map_err(|error| error.within(&path))?;
        Ok(bytes)
    }
}

/// What makes two entries speak of the same file: partition, bucket, level and name. A file that moved to another level
/// since a commit was planned is not the one that the commit deletes.
pub(super) type FileIdentity<'a> = (&'a PartitionValues, u32, i32, &'a str);

/// The file that an entry speaks of.
pub(super) fn identity(entry: &ManifestEntry) -> FileIdentity<'_> {
    (&entry.partition, entry.bucket, entry.file.level, &entry.file.file_name)
}

/// The files that are live after these manifests, in the order in which they were added. Every delete must name a
/// live file, and no live file may be added again (L10).
pub(super) fn replay(manifests: &[Manifest]) -> FormatResult<Vec<ManifestEntry>> {
    let mut live: Vec<Option<&ManifestEntry>> = Vec::new();
    let mut positions: BTreeMap<FileIdentity<'_>, usize> = BTreeMap::new();
    for entry in manifests.iter().flat_map(|manifest| manifest.iter()) {
        match entry.kind {
            FileKind::Add => {
                if positions.insert(identity(entry), live.len()).is_some() {
                    return Err(misplaced("an ADD of a file that is not live", entry));
                }
                live.push(Some(entry));
            }
            FileKind::Delete => match positions.remove(&identity(entry)) {
                Some(position) => live[position] = None,
                None => return Err(misplaced("a DELETE of a live file", entry)),
            },
        }
    }
    Ok(live.into_iter().flatten().cloned().collect())
}

fn misplaced(expected: &str, entry: &ManifestEntry) -> FormatError {
    FormatError::new(format!("expected {expected}, found a {:?} of {}", entry.kind, entry.file.file_name))
}
