//! A lake table as its readers and writers hold it: which table it is, its schema, and its snapshots.
//!
//! It must never know about stores, logs or tiering: a snapshot's user and properties are opaque here.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::join;

use crate::contract::{BucketId, DataType, Failure, FailureCode, Row, TablePath, TableSchema};
use crate::defects::Defect;

use super::bucket_function::BucketFunction;
use super::content_cache::{ContentCache, decode_once};
use super::data_file::DataFileLayout;
use super::directory::{TableDirectory, numbers_after, parse_canonical};
use super::lake_access::{LakeAccess, read_referenced};
use super::live_files::ManifestReader;
use super::merge::MergeOptions;
use super::partition_paths::PartitionPaths;
use super::seal::check_json;
use super::{SchemaFile, Snapshot};
use crate::points::Point;

/// One version of the schema with what reading and writing derive from it.
pub(super) struct SchemaVersion {
    /// The schema file.
    pub(super) file: SchemaFile,
    /// The columns of its data files.
    pub(super) layout: DataFileLayout,
    /// Which bucket a row is in.
    pub(super) buckets: BucketFunction,
    /// How its partitions are spelled in paths.
    pub(super) partition_paths: PartitionPaths,
}

impl SchemaVersion {
    pub(super) fn new(file: SchemaFile) -> Self {
        let layout = DataFileLayout::of(&file);
        let schema = file.table_schema();
        let (buckets, partition_paths) = (BucketFunction::of(&schema), PartitionPaths::of(&schema));
        Self { file, layout, buckets, partition_paths }
    }

    /// The types of the merge key: the primary key without the partition columns.
    pub(super) fn key_types(&self) -> Vec<DataType> {
        let type_at = |position: &usize| self.file.fields[*position].field_type.data_type.clone();
        self.layout.key_positions().iter().map(type_at).collect()
    }

    /// The types of the partition columns.
    pub(super) fn partition_types(&self) -> Vec<DataType> {
        let table = self.file.table_schema();
        table.partition_positions().iter().map(|position| table.columns[*position].data_type.clone()).collect()
    }
}

/// An opened table, at the schema that was the latest when it was opened. Cheap to clone.
#[derive(Clone)]
pub struct PaimonTable {
    pub(super) lake: LakeAccess,
    pub(super) path: TablePath,
    pub(super) directory: TableDirectory,
    pub(super) version: Rc<SchemaVersion>,
    /// The schema file as it was read: if it is ever another, so is the table (L12).
    pub(super) schema_bytes: Bytes,
    pub(super) schema: Arc<TableSchema>,
    pub(super) partition_types: Rc<[DataType]>,
    /// What the options say about merging; why nothing can be read or written, if they make no sense.
    merge_options: Rc<Result<MergeOptions, Failure>>,
    table_uuid: Rc<str>,
    partition_positions: Rc<[usize]>,
    /// Older and newer schemas that data files were found to be written with, by id.
    other_versions: Rc<RefCell<BTreeMap<u64, Rc<SchemaVersion>>>>,
}

impl PaimonTable {
    /// Opens a table at its latest schema; `not-found` if there is no such table.
    pub async fn open(lake: &LakeAccess, path: &TablePath) -> Result<PaimonTable, Failure> {
        Self::open_in(lake, path, TableDirectory::of(path)).await
    }

    /// Opens a table as one of its branches has it; `not-found` if there is no such branch. Readers and writers of a
    /// branch see its own snapshots only.
    pub async fn open_branch(lake: &LakeAccess, path: &TablePath, branch: &str) -> Result<PaimonTable, Failure> {
        Self::open_in(lake, path, TableDirectory::of(path).on_branch(branch)).await.map_err(|failure| {
            match failure.code {
                FailureCode::NotFound => Failure::not_found(format!("table {path} has no branch {branch:?}")),
                _ => failure,
            }
        })
    }

    /// The same table as one of its branches has it; `not-found` if there is no such branch.
    pub async fn on_branch(&self, branch: &str) -> Result<PaimonTable, Failure> {
        Self::open_branch(&self.lake, &self.path, branch).await
    }

    /// The same opened table as another process reaches it: its schema and identity are those that were found when it
    /// was opened (L12), whatever has become of it since.
    pub fn reached_through(&self, lake: &LakeAccess) -> PaimonTable {
        Self { lake: lake.clone(), other_versions: Rc::default(), ..self.clone() }
    }

    async fn open_in(lake: &LakeAccess, path: &TablePath, directory: TableDirectory) -> Result<PaimonTable, Failure> {
        let missing = || Failure::not_found(format!("table {path} does not exist in the lake"));
        let in_schema = directory.schema_directory();
        let schema_ids = numbers_after(&lake.objects.list(&in_schema).await?, &in_schema, "schema-");
        let (Some(first), Some(latest)) = (schema_ids.first(), schema_ids.last()) else {
            return Err(missing());
        };
        let (bytes, file) = read_schema(lake, &directory, *latest).await?.ok_or_else(missing)?;
        let created_ms = if first == latest {
            file.time_millis
        } else {
            read_schema(lake, &directory, *first).await?.ok_or_else(missing)?.1.time_millis
        };
        Ok(Self::at_schema(lake, path, directory, bytes, file, created_ms))
    }

    fn at_schema(
        lake: &LakeAccess,
        path: &TablePath,
        directory: TableDirectory,
        schema_bytes: Bytes,
        file: SchemaFile,
        created_ms: u64,
    ) -> Self {
        let schema = Arc::new(file.table_schema());
        let partition_positions = schema.partition_positions();
        let types_at = |positions: &[usize]| {
            positions.iter().map(|position| schema.columns[*position].data_type.clone()).collect()
        };
        Self {
            lake: lake.clone(),
            path: path.clone(),
            directory,
            version: Rc::new(SchemaVersion::new(file)),
            schema_bytes,
            partition_types: types_at(&partition_positions),
            merge_options: Rc::new(MergeOptions::of(&schema)),
            table_uuid: Rc::from(format!("{path}.{created_ms}")),
            partition_positions: partition_positions.into(),
            schema,
            other_versions: Rc::default(),
        }
    }

    /// What the table's options say about merging; a definite failure if they make no sense.
    pub fn merge_options(&self) -> Result<&MergeOptions, Failure> {
        (*self.merge_options).as_ref().map_err(Failure::clone)
    }

    /// The same table as readers of an older or newer version of its schema have it, its columns and its options.
    pub(super) async fn in_schema(&self, schema_id: u64) -> Result<PaimonTable, Failure> {
        if schema_id == self.schema_id() {
            return Ok(self.clone());
        }
        let path = self.directory.schema(schema_id);
        let bytes = read_referenced(&*self.lake.objects, &path).await?;
        let file = decode_schema(&path, schema_id, &bytes)?;
        let table = Self::at_schema(&self.lake, &self.path, self.directory.clone(), bytes, file, 0);
        // It is the same table, whenever this version of its schema was made.
        Ok(Self { table_uuid: self.table_uuid.clone(), ..table })
    }

    /// The table's name.
    pub fn path(&self) -> &TablePath {
        &self.path
    }

    /// The schema that was the latest when the table was opened.
    pub fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    /// The number of that schema, from 0.
    pub fn schema_id(&self) -> u64 {
        self.version.file.id
    }

    /// The table's identity in the lake, as Paimon's filesystem catalog forms it: `database.table.<creation time in
    /// ms>`.
    pub fn table_uuid(&self) -> &str {
        &self.table_uuid
    }

    /// The bucket of a row of this schema. A bucket-unaware table has only bucket 0 (L10). A row that does not fit the
    /// schema belongs nowhere; it is said to be in bucket 0, where [`PaimonTable::write`] refuses it.
    pub fn bucket_of(&self, row: &Row) -> BucketId {
        let partition = row.project(&self.partition_positions);
        let bucket = match self.schema.bucket_count() {
            None => 0,
            Some(count) => self.version.buckets.bucket_of_row(row, count).unwrap_or(0),
        };
        BucketId { partition, bucket }
    }

    /// The newest snapshot; `None` before the first commit. The LATEST hint says where to look: it may be old, absent
    /// or wrong, so whatever follows it is probed, and if it leads nowhere the directory is listed.
    pub async fn latest_snapshot(&self) -> Result<Option<Snapshot>, Failure> {
        let hint = self.lake.objects.get(&self.directory.latest_hint()).await;
        let hint = hint.inspect_err(|failure| self.note_absent_hint(failure)).ok();
        let hinted = hint.and_then(|bytes| parse_canonical(std::str::from_utf8(&bytes).ok()?));
        let Some(hinted_id) = hinted.filter(|id| *id < u64::MAX) else {
            return self.latest_snapshot_listed().await;
        };
        // Planted bug stale-latest-hint: a hint that leads to a snapshot is believed.
        if self.lake.defects.has(Defect::StaleLatestHint)
            && let Some(hinted) = self.snapshot_if_present(hinted_id).await?
        {
            return Ok(Some(hinted));
        }
        let (hinted, next) = join(self.snapshot_if_present(hinted_id), self.snapshot_if_present(hinted_id + 1)).await;
        match (hinted?, next?) {
            (None, None) => self.latest_snapshot_listed().await,
            (Some(hinted), None) => Ok(Some(hinted)),
            (_, Some(next)) => {
                self.lake.environment.reached(Point::HintStale);
                self.newest_from(next).await.map(Some)
            }
        }
    }

    fn note_absent_hint(&self, failure: &Failure) {
        let is_missing = failure.code == FailureCode::NotFound;
        self.lake.environment.reached(if is_missing { Point::HintMissing } else { Point::HintUnreadable });
    }

    async fn latest_snapshot_listed(&self) -> Result<Option<Snapshot>, Failure> {
        match self.snapshot_ids().await?.last() {
            None => Ok(None),
            Some(snapshot_id) => self.newest_from(self.snapshot(*snapshot_id).await?).await.map(Some),
        }
    }

    async fn newest_from(&self, known: Snapshot) -> Result<Snapshot, Failure> {
        let mut newest = known;
        while let Some(next) = self.snapshot_if_present(newest.id + 1).await? {
            newest = next;
        }
        Ok(newest)
    }

    /// One snapshot; `not-found` if it does not exist.
    pub async fn snapshot(&self, snapshot_id: u64) -> Result<Snapshot, Failure> {
        let missing = || Failure::not_found(format!("table {} has no snapshot {snapshot_id}", self.path));
        self.snapshot_if_present(snapshot_id).await?.ok_or_else(missing)
    }

    pub(super) async fn snapshot_if_present(&self, snapshot_id: u64) -> Result<Option<Snapshot>, Failure> {
        let path = self.directory.snapshot(snapshot_id);
        match self.lake.objects.get(&path).await {
            Ok(bytes) => decode_snapshot(&path, snapshot_id, &bytes).map(Some),
            Err(failure) if failure.code == FailureCode::NotFound => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// The newest snapshot of this user that is not newer than `from`; `None` if no snapshot that still exists is.
    pub async fn newest_snapshot_of_user(&self, from: &Snapshot, user: &str) -> Result<Option<Snapshot>, Failure> {
        self.newest_of_user_above(from, user, 0).await
    }

    /// The newest snapshot of this user with `lowest_exclusive` < id ≤ `from`'s id.
    pub(super) async fn newest_of_user_above(
        &self,
        from: &Snapshot,
        user: &str,
        lowest_exclusive: u64,
    ) -> Result<Option<Snapshot>, Failure> {
        self.newest_above(from, lowest_exclusive, |snapshot| snapshot.commit_user == user).await
    }

    /// The newest snapshot that is one of these, with `lowest_exclusive` < id ≤ `from`'s id; `None` if no snapshot that
    /// still exists is.
    pub(super) async fn newest_above(
        &self,
        from: &Snapshot,
        lowest_exclusive: u64,
        is_one: impl Fn(&Snapshot) -> bool,
    ) -> Result<Option<Snapshot>, Failure> {
        if from.id <= lowest_exclusive {
            return Ok(None);
        }
        let mut candidate = from.clone();
        loop {
            if is_one(&candidate) {
                return Ok(Some(candidate));
            }
            if candidate.id <= lowest_exclusive + 1 {
                return Ok(None);
            }
            match self.snapshot_if_present(candidate.id - 1).await? {
                Some(older) => candidate = older,
                None => return Ok(None),
            }
        }
    }

    /// Reads this table's manifests.
    pub(super) fn manifest_reader(&self) -> ManifestReader<'_> {
        ManifestReader {
            objects: &*self.lake.objects,
            directory: &self.directory,
            partition_types: &self.partition_types,
        }
    }

    /// A version of the schema; one that a data file names must exist.
    pub(super) async fn schema_version(&self, schema_id: u64) -> Result<Rc<SchemaVersion>, Failure> {
        if schema_id == self.schema_id() {
            return Ok(self.version.clone());
        }
        if let Some(version) = self.other_versions.borrow().get(&schema_id) {
            return Ok(version.clone());
        }
        let path = self.directory.schema(schema_id);
        let bytes = read_referenced(&*self.lake.objects, &path).await?;
        let version = Rc::new(SchemaVersion::new(decode_schema(&path, schema_id, &bytes)?));
        self.other_versions.borrow_mut().insert(schema_id, version.clone());
        Ok(version)
    }
}

/// A schema file and its bytes, if it exists.
pub(super) async fn read_schema(
    lake: &LakeAccess,
    directory: &TableDirectory,
    schema_id: u64,
) -> Result<Option<(Bytes, SchemaFile)>, Failure> {
    let path = directory.schema(schema_id);
    match lake.objects.get(&path).await {
        Ok(bytes) => decode_schema(&path, schema_id, &bytes).map(|file| Some((bytes, file))),
        Err(failure) if failure.code == FailureCode::NotFound => Ok(None),
        Err(failure) => Err(failure),
    }
}

thread_local! {
    static SCHEMAS: RefCell<ContentCache<SchemaFile>> = const { RefCell::new(ContentCache::new()) };
    static SNAPSHOTS: RefCell<ContentCache<Snapshot>> = const { RefCell::new(ContentCache::new()) };
}

/// A schema file's content, checked against its name and its seal.
pub(super) fn decode_schema(path: &str, schema_id: u64, bytes: &[u8]) -> Result<SchemaFile, Failure> {
    let decoded = decode_once(&SCHEMAS, &(), bytes, || {
        check_json(bytes)?;
        SchemaFile::decode(bytes)
    });
    let file = decoded.map_err(|error| error.within(path))?;
    if file.id == schema_id {
        Ok((*file).clone())
    } else {
        Err(Failure::internal(format!("{path}: expected schema id {schema_id}, found {}", file.id)))
    }
}

/// A snapshot file's content, checked against its name and its seal.
pub(super) fn decode_snapshot(path: &str, snapshot_id: u64, bytes: &[u8]) -> Result<Snapshot, Failure> {
    let decoded = decode_once(&SNAPSHOTS, &(), bytes, || {
        check_json(bytes)?;
        Snapshot::decode(bytes)
    });
    let snapshot = decoded.map_err(|error| error.within(path))?;
    if snapshot.id == snapshot_id {
        Ok((*snapshot).clone())
    } else {
        Err(Failure::internal(format!("{path}: expected snapshot id {snapshot_id}, found {}", snapshot.id)))
    }
}
