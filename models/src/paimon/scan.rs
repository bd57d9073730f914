//! Reading: the rows of a snapshot, and what one snapshot added.
//!
//! Key tables are merged on read: all changes of a key become one by the table's merge function, whichever files or
//! levels they are in. If nothing else is said, the one with the highest sequence number stands (L5). Where
//! compactions look older rows up, a row above level 0 is whole, and the parts of it that lie below count no more.
//! Nothing here writes.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;

use crate::concurrently;
use crate::contract::{BucketId, Failure, Filter, Row, RowKind};

use super::data_file::{FileFormat, KeyValue, decode_changes, decode_rows};
use super::deletion_vectors::{DeletionVector, SnapshotVectors, batch_reads_skip_level_0};
use super::lake_access::read_referenced;
use super::manifest::FileSource;
use super::merge::MergeFunction;
use super::row_filter::RowFilter;
use super::schema_evolution::RowEvolution;
use super::seal::check_data_file_name;
use super::table::SchemaVersion;
use super::{FileKind, FormatError, FormatResult, IndexManifestEntry, ManifestEntry, PaimonTable, Snapshot};

/// What a data file holds, in the columns of the table's schema.
pub(super) enum FileContent {
    /// The rows of an append file.
    Rows(Rc<Vec<Row>>),
    /// The changes of a key-value file.
    Changes(Rc<Vec<KeyValue>>),
}

impl FileContent {
    /// What is left of it once the rows that the vector marks are gone.
    fn without(self, vector: &DeletionVector) -> FormatResult<Self> {
        Ok(match self {
            Self::Rows(rows) => Self::Rows(Rc::new(vector.retained(&rows)?.map(|(_, row)| row.clone()).collect())),
            Self::Changes(changes) => {
                Self::Changes(Rc::new(vector.retained(&changes)?.map(|(_, change)| change.clone()).collect()))
            }
        })
    }
}

impl PaimonTable {
    /// The rows of a snapshot that match the filter, by bucket; buckets without any are absent. Rows of append tables
    /// are in sequence order, which is commit order unless writers raced, rows of key tables in key order. Of key
    /// tables with deletion vectors only what was compacted is seen, unless the table asks for more.
    pub async fn scan(&self, snapshot: &Snapshot, filter: &Filter) -> Result<BTreeMap<BucketId, Vec<Row>>, Failure> {
        let filter = RowFilter::bind(self, filter)?;
        let mut files = self.manifest_reader().live_files(snapshot).await?;
        let vectors = self.deletion_vectors(snapshot, &files, |file| filter.may_match_file(file)).await?;
        let merge_options = self.merge_options()?;
        let merge = &merge_options.function;
        let skips_level_0 =
            batch_reads_skip_level_0(self.schema()) || (self.schema().has_primary_key() && merge.hides_level_zero());
        files.retain(|file| filter.may_match_file(file) && (file.file.level > 0 || !skips_level_0));
        self.sort_oldest_first(&mut files);
        let mut scanned = BTreeMap::new();
        for (bucket, contents) in self.read_by_bucket(&files, &vectors).await? {
            let level_0_from = match merge_options.looks_up && !merge.keeps_newest() {
                true => files.iter().filter(|file| file.file.level > 0 && file.bucket_id() == bucket).count(),
                false => 0,
            };
            let (looked_up, others) = contents.split_at(level_0_from);
            let rows = self.rows_of_bucket(looked_up, others, merge, &filter)?;
            if !rows.is_empty() {
                scanned.insert(bucket, rows);
            }
        }
        Ok(scanned)
    }

    /// The rows of one bucket. In the files that are `looked_up` the newest change of a key is all that they say of it;
    /// those of the others are merged.
    fn rows_of_bucket(
        &self,
        looked_up: &[FileContent],
        contents: &[FileContent],
        merge: &MergeFunction,
        filter: &RowFilter,
    ) -> Result<Vec<Row>, Failure> {
        if !self.schema().has_primary_key() {
            return Ok(rows(contents).filter(|row| filter.matches(row)).cloned().collect());
        }
        let is_wanted = |change: &KeyValue| change.kind.adds() && filter.matches(&change.row);
        let key_positions = self.version.layout.key_positions();
        if merge.keeps_newest() {
            let newest = newest_changes(key_positions, contents);
            return Ok(newest.filter(|change| is_wanted(change)).map(|change| change.row.clone()).collect());
        }
        let merged = merge.merge_all(at_lowest_level(key_positions, looked_up).into_iter().chain(changes(contents)));
        let merged = merged.map_err(|error| error.within(format!("table {}", self.path)))?;
        Ok(merged.into_iter().filter(is_wanted).map(|change| change.row).collect())
    }

    /// What one snapshot added, by bucket, in sequence order. Files that it deleted are not told of.
    pub async fn delta(&self, snapshot: &Snapshot) -> Result<BTreeMap<BucketId, Vec<(RowKind, Row)>>, Failure> {
        let reader = self.manifest_reader();
        let manifests = reader.manifests(&reader.list(&snapshot.delta_manifest_list).await?).await?;
        let entries = manifests.iter().flat_map(|manifest| manifest.iter());
        let added: Vec<ManifestEntry> = entries.filter(|entry| entry.kind == FileKind::Add).cloned().collect();
        let buckets = self.read_by_bucket(&added, &SnapshotVectors::default()).await?;
        let in_sequence = |contents: Vec<FileContent>| -> Vec<(RowKind, Row)> {
            let mut changes: Vec<&KeyValue> = changes(&contents).collect();
            changes.sort_by_key(|change| change.sequence);
            let changes = changes.into_iter().map(|change| (change.kind, change.row.clone()));
            changes.chain(rows(&contents).map(|row| (RowKind::Insert, row.clone()))).collect()
        };
        Ok(buckets.into_iter().map(|(bucket, contents)| (bucket, in_sequence(contents))).collect())
    }

    /// Sorts files that are in commit order into the order in which their rows count, oldest first. In a merge tree
    /// a higher level is older than a lower one. In an append bucket sequence numbers tell the order; of files that
    /// begin at the same number, because their writers raced, a compacted one holds the earliest.
    pub(super) fn sort_oldest_first(&self, files: &mut [ManifestEntry]) {
        if self.schema().has_primary_key() {
            files.sort_by_key(|file| Reverse(file.file.level));
        } else if self.schema().bucket_count().is_some() {
            files.sort_by_key(|file| {
                (file.file.min_sequence_number, file.file.file_source != Some(FileSource::Compact))
            });
        }
    }

    /// Reads files side by side; within a bucket their order stays.
    pub(super) async fn read_by_bucket(
        &self,
        files: &[ManifestEntry],
        vectors: &SnapshotVectors,
    ) -> Result<BTreeMap<BucketId, Vec<FileContent>>, Failure> {
        let read = |file| self.read_data_file(file, vectors.of_file(file));
        let contents = concurrently::all_or_first_failure(files.iter().map(read)).await?;
        let mut buckets: BTreeMap<BucketId, Vec<FileContent>> = BTreeMap::new();
        for (file, content) in files.iter().zip(contents) {
            let bucket = BucketId { partition: file.partition.clone(), bucket: file.bucket };
            buckets.entry(bucket).or_default().push(content);
        }
        Ok(buckets)
    }

    /// What a data file holds, without the rows that the vector marks.
    pub(super) async fn read_data_file(
        &self,
        entry: &ManifestEntry,
        vector: Option<&DeletionVector>,
    ) -> Result<FileContent, Failure> {
        let path = self.data_file_path(entry);
        let bytes = read_referenced(&*self.lake.objects, &path).await?;
        check_size_and_seal(entry, &bytes).map_err(|error| error.within(&path))?;
        let written = self.schema_version(entry.file.schema_id).await?;
        let decode = || {
            let format = FileFormat::of_file_name(&entry.file.file_name)?;
            if self.schema().has_primary_key() {
                decode_changes(&written.layout, format, &bytes).map(FileContent::Changes)
            } else {
                decode_rows(&written.layout, format, &bytes).map(FileContent::Rows)
            }
        };
        let evolved = decode().and_then(|mut content| {
            if let Some(vector) = vector {
                content = content.without(vector)?;
            }
            in_present_columns(&self.version, &written, content)
        });
        Ok(evolved.map_err(|error| error.within(&path))?)
    }

    /// Where a data file is.
    pub(super) fn data_file_path(&self, entry: &ManifestEntry) -> String {
        let bucket_path = || {
            self.directory.data_file(
                &self.version.partition_paths,
                &entry.partition,
                entry.bucket,
                &entry.file.file_name,
            )
        };
        entry.file.external_path.clone().unwrap_or_else(bucket_path)
    }

    /// Where an index file is.
    pub(super) fn index_file_path(&self, entry: &IndexManifestEntry) -> String {
        entry.external_path.clone().unwrap_or_else(|| self.directory.index_file(&entry.file_name))
    }
}

/// Checks a data file against its manifest entry and its name.
pub(super) fn check_size_and_seal(entry: &ManifestEntry, bytes: &Bytes) -> Result<(), FormatError> {
    if bytes.len() as u64 != entry.file.file_size {
        return Err(FormatError::new(format!(
            "expected {} bytes as its manifest says, found {}",
            entry.file.file_size,
            bytes.len()
        )));
    }
    check_data_file_name(&entry.file.file_name, bytes)
}

/// Rows that were written with another version of the schema, in the columns of this one (L13).
fn in_present_columns(
    present: &SchemaVersion,
    written: &SchemaVersion,
    content: FileContent,
) -> Result<FileContent, FormatError> {
    if present.file.id == written.file.id {
        return Ok(content);
    }
    let Some(evolution) = RowEvolution::between(&written.file.fields, &present.file.fields)? else {
        return Ok(content);
    };
    Ok(match content {
        FileContent::Rows(rows) => {
            FileContent::Rows(Rc::new(rows.iter().map(|row| evolution.row(row)).collect::<Result<_, _>>()?))
        }
        FileContent::Changes(changes) => {
            let evolve = |change: &KeyValue| Ok(KeyValue { row: evolution.row(&change.row)?, ..change.clone() });
            FileContent::Changes(Rc::new(changes.iter().map(evolve).collect::<Result<_, FormatError>>()?))
        }
    })
}

fn rows(contents: &[FileContent]) -> impl Iterator<Item = &Row> {
    contents.iter().flat_map(|content| match content {
        FileContent::Rows(rows) => rows.as_slice(),
        FileContent::Changes(_) => &[],
    })
}

/// The changes in these files of a key table, in the files' order.
pub(super) fn changes(contents: &[FileContent]) -> impl Iterator<Item = &KeyValue> {
    contents.iter().flat_map(|content| match content {
        FileContent::Changes(changes) => changes.as_slice(),
        FileContent::Rows(_) => &[],
    })
}

/// Of each key the change with the highest sequence number, in key order (L5). Writers that raced from one base may
/// have used the same number; then the later content stands, which is the one at the lower level, and within level 0
/// that of the later commit.
fn newest_changes<'a>(key_positions: &'a [usize], contents: &'a [FileContent]) -> impl Iterator<Item = &'a KeyValue> {
    let mut sorted: Vec<&KeyValue> = changes(contents).collect();
    // The sort is stable: equal keys and sequence numbers stay in the order of age.
    sorted.sort_by(|a, b| compare_keys(key_positions, &a.row, &b.row).then(a.sequence.cmp(&b.sequence)));
    let mut sorted = sorted.into_iter().peekable();
    std::iter::from_fn(move || {
        let mut newest = sorted.next()?;
        while let Some(newer) = sorted.next_if(|next| compare_keys(key_positions, &next.row, &newest.row).is_eq()) {
            newest = newer;
        }
        Some(newest)
    })
}

/// Of each key the change in the newest of these files, which are sorted oldest first and hold no key twice in a level.
fn at_lowest_level<'a>(key_positions: &[usize], contents: &'a [FileContent]) -> Vec<&'a KeyValue> {
    let mut newest: Vec<&KeyValue> = changes(contents).collect();
    newest.reverse();
    // The sort is stable, so the newest of a key is the first of its kind.
    newest.sort_by(|a, b| compare_keys(key_positions, &a.row, &b.row));
    newest.dedup_by(|older, newest| compare_keys(key_positions, &older.row, &newest.row).is_eq());
    newest
}

/// Compares two rows by the cells at these positions.
pub(super) fn compare_keys(positions: &[usize], a: &Row, b: &Row) -> Ordering {
    positions
        .iter()
        .map(|position| a[*position].cmp(&b[*position]))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}
