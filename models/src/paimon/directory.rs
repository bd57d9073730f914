//! Where the files of a table lie beneath the warehouse.
//!
//! Paths only: nothing here reads, writes or knows what a file holds.

use crate::contract::{PartitionValues, TablePath};

use super::partition_paths::PartitionPaths;

/// The directory of one table: `<database>.db/<table>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDirectory {
    root: String,
}

impl TableDirectory {
    /// The directory of a table.
    pub fn of(path: &TablePath) -> Self {
        Self { root: format!("{}.db/{}", path.database(), path.table()) }
    }

    /// The directory of a branch: its schemas, snapshots and tags. Its manifests and data files lie with the table's.
    pub fn branch(&self, name: &str) -> Self {
        Self { root: format!("{}/branch/branch-{name}", self.root) }
    }

    /// The directory itself, without a trailing slash.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Where the schema files are.
    pub fn schema_directory(&self) -> String {
        format!("{}/schema", self.root)
    }

    /// One schema file.
    pub fn schema(&self, schema_id: u64) -> String {
        format!("{}/schema/schema-{schema_id}", self.root)
    }

    /// Where the snapshot files and the hints are.
    pub fn snapshot_directory(&self) -> String {
        format!("{}/snapshot", self.root)
    }

    /// One snapshot file.
    pub fn snapshot(&self, snapshot_id: u64) -> String {
        format!("{}/snapshot/snapshot-{snapshot_id}", self.root)
    }

    /// The hint at the newest snapshot; it may be old or absent.
    pub fn latest_hint(&self) -> String {
        format!("{}/snapshot/LATEST", self.root)
    }

    /// The hint at the oldest snapshot; it may be old or absent.
    pub fn earliest_hint(&self) -> String {
        format!("{}/snapshot/EARLIEST", self.root)
    }

    /// A manifest or a manifest list.
    pub fn manifest(&self, file_name: &str) -> String {
        format!("{}/manifest/{file_name}", self.root)
    }

    /// An index file that lies in the index directory.
    pub fn index_file(&self, file_name: &str) -> String {
        format!("{}/index/{file_name}", self.root)
    }

    /// A data file of a bucket.
    pub(super) fn data_file(
        &self,
        paths: &PartitionPaths,
        partition: &PartitionValues,
        bucket: u32,
        file_name: &str,
    ) -> String {
        let mut path = format!("{}/", self.root);
        paths.push_bucket(&mut path, partition, bucket);
        path.push('/');
        path.push_str(file_name);
        path
    }
}

/// The numbers in file names such as `schema-3`, from a listing, ascending.
pub(super) fn numbers_after(paths: &[String], prefix: &str) -> Vec<u64> {
    let number_of = |path: &String| {
        let name = path.rsplit('/').next()?;
        parse_canonical(name.strip_prefix(prefix)?)
    };
    let mut numbers: Vec<u64> = paths.iter().filter_map(number_of).collect();
    numbers.sort_unstable();
    numbers
}

/// A number spelled as it is written here: no sign, no leading zeros, no blanks.
pub(super) fn parse_canonical(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_numbers_name_files() {
        let paths = ["a/schema-10", "a/schema-2", "a/schema-02", "a/schema-x", "a/LATEST"].map(str::to_owned);
        assert_eq!(numbers_after(&paths, "schema-"), [2, 10]);
    }
}
