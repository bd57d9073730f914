//! Writing: data files that nobody sees until a commit names them.
//!
//! It must never know who writes or why; which sequence numbers are free it learns from the snapshot that it is given.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use bytes::Bytes;

use crate::concurrently;
use crate::contract::{BucketId, DataType, Failure, Row, RowKind};
use crate::defects::Defect;

use super::binary_row::serialize;
use super::changelog::changelog_file_format;
use super::column_stats::{KEY_CHARACTERS, SimpleStats, VALUE_CHARACTERS};
use super::data_file::{FileFormat, KeyValue, encode_changes, encode_rows};
use super::lake_access::before_any_effect;
use super::manifest::FileSource;
use super::schema_rules::{changelog_file_prefix, data_file_prefix, file_format};
use super::seal::sealed_uuid;
use super::{DataFileMeta, FileKind, FormatError, FormatResult, IndexChange, ManifestEntry, PaimonTable, Snapshot};

/// Data files that are written and wait for a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committable {
    /// The new files.
    pub(super) added: Vec<ManifestEntry>,
    /// The files that the commit takes away. Each must be live when it commits, or the commit is in conflict.
    pub(super) deleted: Vec<ManifestEntry>,
    /// The new files that hold what changed, for those who follow the table. They are never live.
    pub(super) changelog: Vec<ManifestEntry>,
    /// The index files that come, and those that go.
    pub(super) index: Vec<IndexChange>,
    /// The snapshot that the writer looked at; `None` if the table had none. An overwrite deletes what is in it (L15).
    pub(super) base_snapshot_id: Option<u64>,
}

impl Committable {
    /// Whether there is nothing to commit: no file comes and none goes.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.deleted.is_empty() && self.changelog.is_empty() && self.index.is_empty()
    }

    /// The number of rows in the new files; in key tables every change counts.
    pub fn row_count(&self) -> u64 {
        self.added.iter().map(|entry| entry.file.row_count).sum()
    }

    /// What several writers wrote from one snapshot, as one: a commit takes all of it or nothing.
    pub fn merged(parts: impl IntoIterator<Item = Committable>) -> Committable {
        let mut merged = Committable::default();
        for part in parts {
            merged.added.extend(part.added);
            merged.deleted.extend(part.deleted);
            merged.changelog.extend(part.changelog);
            merged.index.extend(part.index);
            merged.base_snapshot_id = part.base_snapshot_id;
        }
        merged
    }
}

impl Hash for Committable {
    /// By the names of its data files, which say what is in them.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { added, deleted, changelog, index, base_snapshot_id } = self;
        for entries in [added, deleted, changelog] {
            entries.len().hash(state);
            entries.iter().for_each(|entry| (entry.bucket, &entry.file.file_name).hash(state));
        }
        (index.len(), base_snapshot_id).hash(state);
    }
}

/// The content of one data file before it is a file.
pub(super) struct Encoded {
    pub(super) bytes: Bytes,
    row_count: u64,
    delete_row_count: i64,
    min_key: Vec<u8>,
    max_key: Vec<u8>,
    key_stats: SimpleStats,
    value_stats: SimpleStats,
    first_sequence: i64,
    last_sequence: i64,
}

impl PaimonTable {
    /// Writes one data file for each bucket that has changes. Nothing is visible before a commit, so every failure is
    /// definite; files that were written already are deleted as far as possible.
    ///
    /// * `subject` keys the draws of file names: each call needs another one.
    /// * `base` is the snapshot that the writer started from, `None` if the table had none. Sequence numbers continue
    ///   after the bucket's highest in it, and an overwrite replaces what is in it.
    /// * Of several changes of one key one is written: the last, or what the table's merge function makes of them.
    /// * If the changelog producer is `input`, a second file for each bucket holds the changes as they are.
    pub async fn write(
        &self,
        subject: &str,
        base: Option<&Snapshot>,
        changes: &BTreeMap<BucketId, Vec<(RowKind, Row)>>,
    ) -> Result<Committable, Failure> {
        self.merge_options()?;
        self.version.buckets.mode().check_writable()?;
        let highest = self.highest_sequences(base).await?;
        self.write_behind(subject, base.map(|snapshot| snapshot.id), &highest, changes).await
    }

    /// [`PaimonTable::write`] for whoever knows the highest sequence numbers of the snapshot already, as one of several
    /// writers that all start from it does.
    pub async fn write_behind(
        &self,
        subject: &str,
        base_snapshot_id: Option<u64>,
        highest: &BTreeMap<BucketId, i64>,
        changes: &BTreeMap<BucketId, Vec<(RowKind, Row)>>,
    ) -> Result<Committable, Failure> {
        let merge = self.merge_options()?;
        self.version.buckets.mode().check_writable()?;
        let format = file_format(&self.schema)?;
        let mut committable = Committable { base_snapshot_id, ..Committable::default() };
        let mut files = Vec::new();
        let refused = |error: FormatError| Failure::invalid(format!("table {}: {error}", self.path));
        for (bucket, changes) in changes.iter().filter(|(_, changes)| !changes.is_empty()) {
            self.check_bucket(bucket)?;
            let changes = merge.written(changes).map_err(refused)?;
            if changes.is_empty() {
                continue;
            }
            let first_sequence = match highest.get(bucket) {
                // Planted bug sequence-by-clock: later is what was written at a later time of the writer's clock.
                _ if self.lake.defects.has(Defect::SequenceByClock) && self.schema.has_primary_key() => {
                    i64::try_from(self.lake.environment.now_ms()).unwrap_or(i64::MAX / 1000) * 1000
                }
                highest => highest.map_or(0, |highest| highest + 1),
            };
            let occurrence = committable.added.len() as u64;
            let mut encoded_changelog = None;
            let encoded = if self.schema.has_primary_key() {
                let batch = merge.merge_batch(first_sequence, &changes).map_err(refused)?;
                if !batch.changelog.is_empty() {
                    let format = changelog_file_format(&self.schema)?;
                    encoded_changelog =
                        Some((format, self.encode_key_file(format, &batch.changelog).map_err(refused)?));
                }
                self.encode_key_file(format, &batch.merged).map_err(refused)?
            } else {
                self.encode_append_file(format, first_sequence, &changes).map_err(refused)?
            };
            let environment = &self.lake.environment;
            let drawn = environment.uuid("paimon.data-file", subject, occurrence);
            let (entry, bytes) = self.entry_of(data_file_prefix(&self.schema), &drawn, bucket, format, encoded);
            files.push((self.data_file_path(&entry), bytes));
            committable.added.push(entry);
            if let Some((format, encoded)) = encoded_changelog {
                let drawn = environment.uuid("paimon.changelog-file", subject, occurrence);
                let (entry, bytes) =
                    self.entry_of(changelog_file_prefix(&self.schema), &drawn, bucket, format, encoded);
                files.push((self.data_file_path(&entry), bytes));
                committable.changelog.push(entry);
            }
        }
        let puts = files.into_iter().map(|(path, bytes)| async move { self.lake.objects.put(&path, bytes).await });
        let results = concurrently::all(puts).await;
        match results.into_iter().find_map(Result::err) {
            None => Ok(committable),
            Some(failure) => {
                // What cannot be deleted stays as an orphan that no snapshot names (L18).
                let _ = self.abort(&committable).await;
                Err(before_any_effect(failure))
            }
        }
    }

    /// Deletes the files of a committable that is in no snapshot and never will be. After a commit whose outcome is
    /// unknown this must not be called (L10).
    pub async fn abort(&self, committable: &Committable) -> Result<(), Failure> {
        // A file that only moves to another level is live and stays so.
        // Whatever its level, it is one file in the storage.
        let place = |entry: &ManifestEntry| self.data_file_path(entry);
        let moved: BTreeSet<String> = committable.deleted.iter().map(place).collect();
        let added = committable.added.iter().filter(|entry| !moved.contains(&place(entry)));
        let data_files = added.chain(&committable.changelog).map(|entry| self.data_file_path(entry));
        let index_files = committable.index.iter().filter(|entry| entry.kind == FileKind::Add);
        let index_files = index_files.map(|entry| self.index_file_path(entry));
        let deletes = data_files.chain(index_files).map(|path| async move { self.lake.objects.delete(&path).await });
        concurrently::all(deletes).await.into_iter().collect()
    }

    /// The highest sequence number of each bucket in a snapshot (L5). A bucket-unaware table has no order to keep, so
    /// its files all start at 0, as Paimon's do. It only reads, so every failure is definite.
    pub async fn highest_sequences(&self, base: Option<&Snapshot>) -> Result<BTreeMap<BucketId, i64>, Failure> {
        let mut highest: BTreeMap<BucketId, i64> = BTreeMap::new();
        let Some(base) = base.filter(|_| self.schema.bucket_count().is_some()) else {
            return Ok(highest);
        };
        if self.lake.defects.has(Defect::SequenceRestarts) {
            return Ok(highest);
        }
        for entry in self.manifest_reader().live_files(base).await.map_err(before_any_effect)? {
            let bucket = BucketId { partition: entry.partition.clone(), bucket: entry.bucket };
            let known = highest.entry(bucket).or_insert(entry.file.max_sequence_number);
            *known = entry.file.max_sequence_number.max(*known);
        }
        Ok(highest)
    }

    fn check_bucket(&self, bucket: &BucketId) -> Result<(), Failure> {
        // Planted bug bucket-unaware-spread: a table without buckets has as many as its writer likes.
        let spread = self.lake.defects.has(Defect::BucketUnawareSpread);
        let unaware = if spread { u32::MAX } else { 1 };
        let (buckets, partition_cells) = (self.schema.bucket_count().unwrap_or(unaware), self.partition_types.len());
        if bucket.bucket < buckets && bucket.partition.cells().len() == partition_cells {
            return Ok(());
        }
        Err(Failure::invalid(format!(
            "table {}: expected a bucket below {buckets} and {partition_cells} partition values, found bucket {} and {}",
            self.path,
            bucket.bucket,
            bucket.partition.cells().len()
        )))
    }

    fn encode_append_file(
        &self,
        format: FileFormat,
        first_sequence: i64,
        changes: &[(RowKind, Row)],
    ) -> FormatResult<Encoded> {
        if let Some((kind, _)) = changes.iter().find(|(kind, _)| *kind != RowKind::Insert) {
            return Err(FormatError::new(format!("expected inserts into an append table, found {kind:?}")));
        }
        let rows: Vec<Row> = changes.iter().map(|(_, row)| row.clone()).collect();
        self.encode_append_rows(format, first_sequence, &rows)
    }

    /// A file of these rows of an append table; there is at least one.
    pub(super) fn encode_append_rows(
        &self,
        format: FileFormat,
        first_sequence: i64,
        rows: &[Row],
    ) -> FormatResult<Encoded> {
        let no_key = serialize(&[], &Row::new(Vec::new()))?;
        Ok(Encoded {
            bytes: encode_rows(&self.version.layout, format, rows)?,
            row_count: rows.len() as u64,
            delete_row_count: 0,
            min_key: no_key.clone(),
            max_key: no_key,
            key_stats: SimpleStats::empty(),
            value_stats: SimpleStats::with_texts_of(VALUE_CHARACTERS, &self.column_types(), rows.iter())?,
            first_sequence,
            last_sequence: first_sequence + rows.len() as i64 - 1,
        })
    }

    /// A file of these changes, which are sorted by key; there is at least one.
    pub(super) fn encode_key_file(&self, format: FileFormat, sorted: &[KeyValue]) -> FormatResult<Encoded> {
        let key_positions = self.version.layout.key_positions();
        let keys: Vec<Row> = sorted.iter().map(|change| change.row.project(key_positions)).collect();
        let column_types = self.column_types();
        let key_types = self.version.key_types();
        let sequences = || sorted.iter().map(|change| change.sequence);
        Ok(Encoded {
            bytes: encode_changes(&self.version.layout, format, sorted)?,
            row_count: sorted.len() as u64,
            delete_row_count: sorted.iter().filter(|change| !change.kind.adds()).count() as i64,
            min_key: keys.first().map_or(Ok(Vec::new()), |key| serialize(&key_types, key))?,
            max_key: keys.last().map_or(Ok(Vec::new()), |key| serialize(&key_types, key))?,
            key_stats: SimpleStats::with_texts_of(KEY_CHARACTERS, &key_types, keys.iter())?,
            value_stats: SimpleStats::with_texts_of(
                VALUE_CHARACTERS,
                &column_types,
                sorted.iter().map(|change| &change.row),
            )?,
            first_sequence: sequences().min().unwrap_or_default(),
            last_sequence: sequences().max().unwrap_or_default(),
        })
    }

    fn column_types(&self) -> Vec<DataType> {
        self.schema.columns.iter().map(|column| column.data_type.clone()).collect()
    }

    /// A new file of this bucket and its bytes.
    pub(super) fn entry_of(
        &self,
        prefix: &str,
        drawn_uuid: &str,
        bucket: &BucketId,
        format: FileFormat,
        encoded: Encoded,
    ) -> (ManifestEntry, Bytes) {
        let uuid = sealed_uuid(drawn_uuid, &encoded.bytes);
        let total_buckets = self.schema.bucket_count().and_then(|count| i32::try_from(count).ok()).unwrap_or(-1);
        let entry = ManifestEntry {
            kind: FileKind::Add,
            partition: bucket.partition.clone(),
            bucket: bucket.bucket,
            total_buckets,
            file: Rc::new(DataFileMeta {
                file_name: format!("{prefix}{uuid}-0.{}", format.extension()),
                file_size: encoded.bytes.len() as u64,
                row_count: encoded.row_count,
                min_key: encoded.min_key,
                max_key: encoded.max_key,
                key_stats: encoded.key_stats,
                value_stats: encoded.value_stats,
                min_sequence_number: encoded.first_sequence,
                max_sequence_number: encoded.last_sequence,
                schema_id: self.schema_id(),
                level: 0,
                extra_files: Vec::new(),
                creation_time_millis: i64::try_from(self.lake.environment.now_ms()).ok(),
                delete_row_count: Some(encoded.delete_row_count),
                embedded_file_index: None,
                file_source: Some(FileSource::Append),
                value_stats_columns: None,
                external_path: None,
                first_row_id: None,
                write_columns: None,
            }),
        };
        (entry, encoded.bytes)
    }
}
