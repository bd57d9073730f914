//! Where the files of a table lie beneath the warehouse.
//!
//! Paths only: nothing here reads, writes or knows what a file holds.

use crate::contract::{PartitionValues, TablePath};

use super::partition_paths::PartitionPaths;

/// The directory of one table: `<database>.db/<table>`, seen from one of its branches.
///
/// Schemas, snapshots, tags, changelogs and consumers are the branch's own. Manifests, indexes, statistics and data
/// files are the table's, whichever branch they were written on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDirectory {
    root: String,
    /// Where the branch's own files are; the root itself for the main branch.
    branch_root: String,
}

impl TableDirectory {
    /// The directory of a table, on its main branch.
    pub fn of(path: &TablePath) -> Self {
        let root = format!("{}.db/{}", path.database(), path.table());
        Self { branch_root: root.clone(), root }
    }

    /// The same table on its main branch.
    #[must_use]
    pub fn on_main(&self) -> Self {
        Self { root: self.root.clone(), branch_root: self.root.clone() }
    }

    /// The same table on a branch of this name.
    #[must_use]
    pub fn on_branch(&self, branch: &str) -> Self {
        Self { root: self.root.clone(), branch_root: format!("{}/branch/branch-{branch}", self.root) }
    }

    /// The directory itself, without a trailing slash.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Where the branch's own files are, without a trailing slash; the root for the main branch.
    pub fn branch_root(&self) -> &str {
        &self.branch_root
    }

    /// Where the branches are; the main branch is not among them.
    pub fn branches_directory(&self) -> String {
        format!("{}/branch", self.root)
    }

    /// Where the schema files are.
    pub fn schema_directory(&self) -> String {
        format!("{}/schema", self.branch_root)
    }

    /// One schema file.
    pub fn schema(&self, schema_id: u64) -> String {
        format!("{}/schema/schema-{schema_id}", self.branch_root)
    }

    /// Where the snapshot files and the hints are.
    pub fn snapshot_directory(&self) -> String {
        format!("{}/snapshot", self.branch_root)
    }

    /// One snapshot file.
    pub fn snapshot(&self, snapshot_id: u64) -> String {
        format!("{}/snapshot/snapshot-{snapshot_id}", self.branch_root)
    }

    /// The hint at the newest snapshot; it may be old or absent.
    pub fn latest_hint(&self) -> String {
        format!("{}/snapshot/LATEST", self.branch_root)
    }

    /// The hint at the oldest snapshot; it may be old or absent.
    pub fn earliest_hint(&self) -> String {
        format!("{}/snapshot/EARLIEST", self.branch_root)
    }

    /// Where the tags are.
    pub fn tag_directory(&self) -> String {
        format!("{}/tag", self.branch_root)
    }

    /// One tag.
    pub fn tag(&self, name: &str) -> String {
        format!("{}/tag/tag-{name}", self.branch_root)
    }

    /// Where the changelogs are that outlive their snapshots, and their hints.
    pub fn changelog_directory(&self) -> String {
        format!("{}/changelog", self.branch_root)
    }

    /// The changelog of an expired snapshot.
    pub fn changelog(&self, snapshot_id: u64) -> String {
        format!("{}/changelog/changelog-{snapshot_id}", self.branch_root)
    }

    /// The hint at the newest changelog of an expired snapshot; it may be old or absent.
    pub fn changelog_latest_hint(&self) -> String {
        format!("{}/changelog/LATEST", self.branch_root)
    }

    /// The hint at the oldest changelog of an expired snapshot; it may be old or absent.
    pub fn changelog_earliest_hint(&self) -> String {
        format!("{}/changelog/EARLIEST", self.branch_root)
    }

    /// Where the consumers are.
    pub fn consumer_directory(&self) -> String {
        format!("{}/consumer", self.branch_root)
    }

    /// One consumer.
    pub fn consumer(&self, consumer_id: &str) -> String {
        format!("{}/consumer/consumer-{consumer_id}", self.branch_root)
    }

    /// A statistics file.
    pub fn statistics(&self, file_name: &str) -> String {
        format!("{}/statistics/{file_name}", self.root)
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

/// The names after a prefix, such as those of tags in a listing of their directory, in its order. Files further down
/// have none.
pub(super) fn names_after(paths: &[String], directory: &str, prefix: &str) -> Vec<String> {
    let name_of = |path: &String| {
        let name = path.strip_prefix(directory)?.strip_prefix('/')?.strip_prefix(prefix)?;
        (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
    };
    paths.iter().filter_map(name_of).collect()
}

/// The numbers in file names such as `schema-3`, from a listing of their directory, ascending. Files further down have
/// none.
pub(super) fn numbers_after(paths: &[String], directory: &str, prefix: &str) -> Vec<u64> {
    let number_of = |path: &String| {
        let name = path.strip_prefix(directory)?.strip_prefix('/')?;
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
    fn a_branch_has_its_own_metadata_and_shares_the_rest() {
        let branch = TableDirectory::of(&TablePath::new("db", "t")).on_branch("b");
        assert_eq!(branch.snapshot(3), "db.db/t/branch/branch-b/snapshot/snapshot-3");
        assert_eq!(branch.tag("x"), "db.db/t/branch/branch-b/tag/tag-x");
        assert_eq!(branch.manifest("m"), "db.db/t/manifest/m");
        assert_eq!(branch.index_file("i"), "db.db/t/index/i");
        assert_eq!(branch.on_main(), TableDirectory::of(&TablePath::new("db", "t")));
    }

    #[test]
    fn names_are_of_files_right_in_the_directory() {
        let paths = ["t/tag/tag-a", "t/tag/tag-", "t/tag/tag-b/c", "t/tag/x", "t/tags/tag-d"].map(str::to_owned);
        assert_eq!(names_after(&paths, "t/tag", "tag-"), ["a"]);
    }

    #[test]
    fn only_canonical_numbers_name_files() {
        let paths = ["a/schema-10", "a/schema-2", "a/schema-02", "a/schema-x", "a/LATEST"].map(str::to_owned);
        assert_eq!(numbers_after(&paths, "a", "schema-"), [2, 10]);
    }

    #[test]
    fn numbers_are_of_files_right_in_the_directory() {
        let paths = ["a/b/schema-1", "a/schema-2/schema-3", "a/schema-4", "b/schema-5"].map(str::to_owned);
        assert_eq!(numbers_after(&paths, "a", "schema-"), [4]);
    }
}
