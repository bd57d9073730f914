//! Where the files of a table lie beneath the warehouse.
//!
//! Paths only: nothing here reads, writes or knows what a file holds.

use std::fmt::Write as _;

use crate::contract::{PartitionValues, TablePath, Value, partition_value_text};

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
    pub fn data_file(
        &self,
        partition_keys: &[String],
        partition: &PartitionValues,
        bucket: u32,
        file_name: &str,
    ) -> String {
        let mut path = self.root.clone();
        for (key, value) in partition_keys.iter().zip(partition.cells()) {
            path.push('/');
            push_escaped(&mut path, key);
            path.push('=');
            push_escaped(&mut path, &path_text(value));
        }
        let _ = write!(path, "/bucket-{bucket}/{file_name}");
        path
    }
}

/// A partition value as directories spell it. Dates are the number of days, Paimon's `partition.legacy-name` default.
fn path_text(value: &Value) -> String {
    match value {
        Value::Date(days) => days.to_string(),
        other => partition_value_text(other),
    }
}

/// Characters that have a meaning in paths are written as `%` and two hexadecimal digits, as Paimon does.
fn push_escaped(path: &mut String, text: &str) {
    for character in text.chars() {
        let special = character.is_ascii_control() || "\"#%'*/:=?\\{}[]^".contains(character);
        if special {
            let _ = write!(path, "%{:02X}", u32::from(character));
        } else {
            path.push(character);
        }
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
    use crate::contract::Row;

    #[test]
    fn partitions_are_directories_with_escaped_values() {
        let directory = TableDirectory::of(&TablePath::new("db", "t"));
        let keys = ["dt".to_owned(), "hour".to_owned()];
        let partition = Row::new(vec![Value::string("a/b=c"), Value::Null]);
        assert_eq!(
            directory.data_file(&keys, &partition, 3, "data-0.parquet"),
            "db.db/t/dt=a%2Fb%3Dc/hour=__DEFAULT_PARTITION__/bucket-3/data-0.parquet"
        );
        assert_eq!(directory.data_file(&[], &Row::new(vec![]), 0, "f"), "db.db/t/bucket-0/f");
    }

    #[test]
    fn only_canonical_numbers_name_files() {
        let paths = ["a/schema-10", "a/schema-2", "a/schema-02", "a/schema-x", "a/LATEST"].map(str::to_owned);
        assert_eq!(numbers_after(&paths, "schema-"), [2, 10]);
    }
}
