//! The files of one attempt: manifests, manifest lists and index manifests, named and not yet written.
//!
//! They are named by the attempt, so no other attempt's file is replaced, and only this attempt refers to them. What
//! they say is not known here.

use bytes::Bytes;

use crate::contract::Failure;
use crate::paimon::index_manifest::encode_index_manifest;
use crate::paimon::live_files::{INDEX_MANIFEST_PREFIX, MANIFEST_LIST_PREFIX, MANIFEST_PREFIX};
use crate::paimon::manifest::{encode_manifest, encode_manifest_list};
use crate::paimon::seal::sealed_uuid;
use crate::paimon::{IndexManifestEntry, ManifestEntry, ManifestFileMeta, PaimonTable};

/// Names and collects the files of one attempt.
pub(super) struct AttemptFiles<'a> {
    table: &'a PaimonTable,
    /// The commit's subject and the snapshot that the attempt is for.
    pub(super) subject: String,
    /// The schema that new manifests name.
    schema_id: u64,
    /// Manifests larger than this are split, in bytes.
    target_size: u64,
    /// The paths and the bytes of what was added.
    pub(super) written: Vec<(String, Bytes)>,
}

impl<'a> AttemptFiles<'a> {
    /// No files yet.
    pub(super) fn new(table: &'a PaimonTable, subject: String, schema_id: u64, target_size: u64) -> Self {
        Self { table, subject, schema_id, target_size, written: Vec::new() }
    }

    /// Manifests of these entries, in their order: none for no entries, and several if one would be too large.
    pub(super) fn manifests(&mut self, entries: &[ManifestEntry]) -> Result<Vec<ManifestFileMeta>, Failure> {
        let mut described = Vec::new();
        // The first half of what is too large comes first again.
        let mut parts = vec![entries];
        while let Some(part) = parts.pop().filter(|part| !part.is_empty()) {
            let partition_types = &self.table.partition_types;
            let bytes = encode_manifest(partition_types, part, self.sync_marker())?;
            if bytes.len() as u64 > self.target_size && part.len() > 1 {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
                continue;
            }
            let (file_name, file_size) = self.add(MANIFEST_PREFIX, bytes);
            let partition_types = &self.table.partition_types;
            described.push(ManifestFileMeta::describe(&file_name, file_size, self.schema_id, partition_types, part)?);
        }
        Ok(described)
    }

    /// A manifest list of these manifests: its name and its size in bytes.
    pub(super) fn manifest_list(&mut self, manifests: &[ManifestFileMeta]) -> Result<(String, u64), Failure> {
        let bytes = encode_manifest_list(manifests, self.sync_marker())?;
        Ok(self.add(MANIFEST_LIST_PREFIX, bytes))
    }

    /// An index manifest of these entries: its name.
    pub(super) fn index_manifest(&mut self, entries: &[IndexManifestEntry]) -> Result<String, Failure> {
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
