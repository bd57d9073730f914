//! What a compaction makes: new files, files at another level, new index files.
//!
//! Bytes are made first and written in the end, side by side. It must never know which rows belong where.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;

use crate::concurrently;
use crate::contract::{Failure, Row};

use super::super::data_file::{FileFormat, KeyValue};
use super::super::deletion_vectors::index_file::encode_index_file;
use super::super::deletion_vectors::{DeletionVector, INDEX_FILE_PREFIX};
use super::super::index_manifest::DELETION_VECTORS_INDEX;
use super::super::lake_access::before_any_effect;
use super::super::manifest::FileSource;
use super::super::schema_rules::file_format;
use super::super::seal::sealed_uuid;
use super::super::write::Encoded;
use super::super::{
    Committable, DataFileMeta, FileKind, FormatResult, IndexManifestEntry, ManifestEntry, PaimonTable, Snapshot,
};

/// The results of one compaction, not yet written.
pub(super) struct Output<'a> {
    table: &'a PaimonTable,
    subject: &'a str,
    format: FileFormat,
    target_file_size: u64,
    committable: Committable,
    /// What is to be written: paths and contents.
    contents: Vec<(String, Bytes)>,
}

impl<'a> Output<'a> {
    /// Nothing yet.
    pub(super) fn new(
        table: &'a PaimonTable,
        subject: &'a str,
        base: &Snapshot,
        target_file_size: u64,
    ) -> Result<Self, Failure> {
        Ok(Self {
            table,
            subject,
            format: file_format(&table.schema)?,
            target_file_size,
            committable: Committable { base_snapshot_id: Some(base.id), ..Committable::default() },
            contents: Vec::new(),
        })
    }

    /// The file goes.
    pub(super) fn delete(&mut self, file: &ManifestEntry) {
        self.committable.deleted.push(ManifestEntry { kind: FileKind::Delete, ..file.clone() });
    }

    /// The file moves to another level as it is.
    pub(super) fn upgrade(&mut self, file: &ManifestEntry, level: i32) {
        self.delete(file);
        let moved = DataFileMeta { level, ..(*file.file).clone() };
        self.committable.added.push(ManifestEntry { kind: FileKind::Add, file: Rc::new(moved), ..file.clone() });
    }

    /// New files with these changes, which are sorted by key, one a key, in the bucket of `sibling`.
    pub(super) fn add_changes(
        &mut self,
        sibling: &ManifestEntry,
        level: i32,
        changes: &[KeyValue],
    ) -> FormatResult<()> {
        let (table, format) = (self.table, self.format);
        self.roll(sibling, level, changes, |_, changes| table.encode_sorted_changes(format, changes))
    }

    /// New files with these rows of an append table, in their order, in the bucket of `sibling`.
    pub(super) fn add_rows(&mut self, sibling: &ManifestEntry, first_sequence: i64, rows: &[Row]) -> FormatResult<()> {
        let (table, format) = (self.table, self.format);
        self.roll(sibling, 0, rows, |skipped, rows| {
            table.encode_append_rows(format, first_sequence + skipped as i64, rows)
        })
    }

    /// As few files of equal row counts as keep each near the target size. `encode` gets the number of items in the
    /// files before.
    fn roll<Item>(
        &mut self,
        sibling: &ManifestEntry,
        level: i32,
        items: &[Item],
        encode: impl Fn(usize, &[Item]) -> FormatResult<Encoded>,
    ) -> FormatResult<()> {
        if items.is_empty() {
            return Ok(());
        }
        let whole = encode(0, items)?;
        let file_count = (whole.bytes.len() as u64).div_ceil(self.target_file_size).clamp(1, items.len() as u64);
        if file_count == 1 {
            self.add(sibling, level, whole);
            return Ok(());
        }
        let rows_per_file = items.len().div_ceil(file_count as usize);
        for (index, chunk) in items.chunks(rows_per_file).enumerate() {
            let encoded = encode(index * rows_per_file, chunk)?;
            self.add(sibling, level, encoded);
        }
        Ok(())
    }

    fn add(&mut self, sibling: &ManifestEntry, level: i32, encoded: Encoded) {
        let bytes = encoded.bytes.clone();
        let bucket = sibling.bucket_id();
        let entry = self.table.entry_of(self.subject, self.contents.len() as u64, &bucket, self.format, encoded);
        let file = DataFileMeta { level, file_source: Some(FileSource::Compact), ..(*entry.file).clone() };
        let entry = ManifestEntry { total_buckets: sibling.total_buckets, file: Rc::new(file), ..entry };
        self.contents.push((self.table.data_file_path(&entry), bytes));
        self.committable.added.push(entry);
    }

    /// The index files of a bucket go, and one with these vectors comes; none for none. `sibling` is of the bucket.
    pub(super) fn replace_vectors(
        &mut self,
        sibling: &ManifestEntry,
        before: &[IndexManifestEntry],
        after: &BTreeMap<String, DeletionVector>,
    ) -> FormatResult<()> {
        let gone = before.iter().map(|entry| IndexManifestEntry { kind: FileKind::Delete, ..entry.clone() });
        self.committable.index.extend(gone);
        if after.is_empty() {
            return Ok(());
        }
        let (bytes, places) = encode_index_file(after)?;
        let environment = &self.table.lake.environment;
        let drawn = environment.uuid("paimon.index-file", self.subject, self.contents.len() as u64);
        let come = IndexManifestEntry {
            kind: FileKind::Add,
            partition: sibling.partition.clone(),
            bucket: sibling.bucket,
            index_type: DELETION_VECTORS_INDEX.to_owned(),
            file_name: format!("{INDEX_FILE_PREFIX}{}-0", sealed_uuid(&drawn, &bytes)),
            file_size: bytes.len() as u64,
            row_count: places.len() as u64,
            deletion_vectors: Some(places),
            external_path: None,
        };
        self.contents.push((self.table.index_file_path(&come), bytes));
        self.committable.index.push(come);
        Ok(())
    }

    /// Writes everything. After a failure nothing of it is left, as far as it can be deleted (L18).
    pub(super) async fn write(self) -> Result<Committable, Failure> {
        let puts = self
            .contents
            .into_iter()
            .map(|(path, bytes)| async move { self.table.lake.objects.put(&path, bytes).await });
        match concurrently::all(puts).await.into_iter().find_map(Result::err) {
            None => Ok(self.committable),
            Some(failure) => {
                let _ = self.table.abort(&self.committable).await;
                Err(before_any_effect(failure))
            }
        }
    }
}
