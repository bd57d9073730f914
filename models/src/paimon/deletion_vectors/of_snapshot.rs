//! The deletion vectors of a snapshot: from its index manifest, through index files, to the rows of each data file.
//!
//! An index file that does not fit the data files of its snapshot is damage: a vector of a file that is not live, two
//! vectors of one file.

use std::collections::{BTreeMap, BTreeSet};

use crate::concurrently;
use crate::contract::{BucketId, Failure};
use crate::paimon::index_manifest::DELETION_VECTORS_INDEX;
use crate::paimon::lake_access::read_referenced;
use crate::paimon::seal::check_file_name;
use crate::paimon::{FormatError, FormatResult, IndexManifestEntry, ManifestEntry, PaimonTable, Snapshot};

use super::DeletionVector;
use super::index_file::decode_vector;

/// The beginning of every index file's name.
pub(in crate::paimon) const INDEX_FILE_PREFIX: &str = "index-";

/// The deletion vectors of one bucket.
#[derive(Clone, Debug, Default)]
pub(in crate::paimon) struct BucketVectors {
    /// The index files that they lie in.
    pub(in crate::paimon) index_files: Vec<IndexManifestEntry>,
    /// The vectors by the names of their data files; none is empty.
    pub(in crate::paimon) vectors: BTreeMap<String, DeletionVector>,
}

/// The deletion vectors of a snapshot, by bucket.
#[derive(Clone, Debug, Default)]
pub(in crate::paimon) struct SnapshotVectors {
    buckets: BTreeMap<BucketId, BucketVectors>,
}

impl SnapshotVectors {
    /// The vector of one data file; `None` if it has all its rows.
    pub(in crate::paimon) fn of_file(&self, file: &ManifestEntry) -> Option<&DeletionVector> {
        if self.buckets.is_empty() {
            return None;
        }
        self.buckets.get(&bucket_of_file(file))?.vectors.get(&file.file.file_name)
    }

    /// The vectors of one bucket, taken out; none where the bucket has no index.
    pub(in crate::paimon) fn take_bucket(&mut self, bucket: &BucketId) -> BucketVectors {
        self.buckets.remove(bucket).unwrap_or_default()
    }

    fn add(&mut self, index_file: &IndexManifestEntry, bytes: &[u8], live: &LiveNames<'_>) -> FormatResult<()> {
        if bytes.len() as u64 != index_file.file_size {
            return Err(FormatError::new(format!(
                "expected {} bytes as its index manifest says, found {}",
                index_file.file_size,
                bytes.len()
            )));
        }
        check_file_name(&index_file.file_name, INDEX_FILE_PREFIX, bytes)?;
        let bucket = bucket_of_index(index_file);
        let places = index_file
            .deletion_vectors
            .as_deref()
            .ok_or_else(|| FormatError::new("expected the index manifest to say where its vectors lie, found none"))?;
        let found = self.buckets.entry(bucket.clone()).or_default();
        found.index_files.push(index_file.clone());
        for place in places {
            if !live.get(&bucket).is_some_and(|names| names.contains(place.data_file.as_str())) {
                return Err(FormatError::new(format!(
                    "expected deletion vectors of live files of bucket {}, found one of {}",
                    bucket.bucket, place.data_file
                )));
            }
            let vector = decode_vector(bytes, place)?;
            if found.vectors.insert(place.data_file.clone(), vector).is_some() {
                return Err(FormatError::new(format!(
                    "expected one deletion vector of {}, found another",
                    place.data_file
                )));
            }
        }
        found.vectors.retain(|_, vector| !vector.is_empty());
        Ok(())
    }
}

/// The names of the live data files of each bucket.
type LiveNames<'a> = BTreeMap<BucketId, BTreeSet<&'a str>>;

fn bucket_of_file(file: &ManifestEntry) -> BucketId {
    BucketId { partition: file.partition.clone(), bucket: file.bucket }
}

fn bucket_of_index(index_file: &IndexManifestEntry) -> BucketId {
    BucketId { partition: index_file.partition.clone(), bucket: index_file.bucket }
}

impl PaimonTable {
    /// The deletion vectors of a snapshot in the buckets of which at least one file is wanted. `live` is all files of
    /// the snapshot. Nothing is read where the snapshot has no index.
    pub(in crate::paimon) async fn deletion_vectors(
        &self,
        snapshot: &Snapshot,
        live: &[ManifestEntry],
        is_wanted: impl Fn(&ManifestEntry) -> bool,
    ) -> Result<SnapshotVectors, Failure> {
        let mut found = SnapshotVectors::default();
        if snapshot.index_manifest.is_none() {
            return Ok(found);
        }
        let entries = self.manifest_reader().index_files(snapshot).await?;
        let mut names: LiveNames<'_> = BTreeMap::new();
        for file in live {
            names.entry(bucket_of_file(file)).or_default().insert(&file.file.file_name);
        }
        let wanted: BTreeSet<BucketId> = live.iter().filter(|file| is_wanted(file)).map(bucket_of_file).collect();
        let mut index_files: Vec<&IndexManifestEntry> = Vec::new();
        for entry in entries.iter().filter(|entry| entry.index_type == DELETION_VECTORS_INDEX) {
            let bucket = bucket_of_index(entry);
            // A bucket without files is nobody's wish, and its index is damage all the same.
            if wanted.contains(&bucket) || !names.contains_key(&bucket) {
                index_files.push(entry);
            }
        }
        let reads = index_files.iter().map(|entry| async {
            let path = self.index_file_path(entry);
            let bytes = read_referenced(&*self.lake.objects, &path).await?;
            Ok::<_, Failure>((path, bytes))
        });
        let contents = concurrently::all_or_first_failure(reads).await?;
        for (entry, (path, bytes)) in index_files.into_iter().zip(contents) {
            found.add(entry, &bytes, &names).map_err(|error| error.within(path))?;
        }
        Ok(found)
    }
}
