//! The integrity check: whether the files of a table agree with each other (L10), and which files nobody refers to
//! (L18).
//!
//! It trusts nobody: it reads every file from the object store, whoever wrote it, and turns whatever is wrong into a
//! finding of one [`Rule`]. It never fails, never follows a name out of the table's directory, and never knows what the
//! rows should be. One fault gives few findings: what cannot be read is told once, and nothing is said of what it would
//! have led to.

mod chain;
mod check;
mod column_statistics;
mod data_files;
mod directories;
mod file_content;
mod finding;
mod indexes;
mod levels;
mod manifests;
mod orphans;
mod rule;
mod schemas;
mod side_files;
mod snapshots;
mod table_on_disk;

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{ObjectStore, TablePath};

use super::directory::TableDirectory;
use super::{SchemaFile, Snapshot};

use check::{Check, Line};

pub use finding::Finding;
pub use rule::{Rule, Severity};
pub use table_on_disk::TableOnDisk;

/// The result of the integrity check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// What is wrong, in the order of the files that lead to it; empty for a sound table.
    pub findings: Vec<Finding>,
    /// What is worth knowing of a sound table, in the same order.
    pub notes: Vec<Finding>,
    /// How many more findings and notes of a rule there were than are told.
    pub left_out: BTreeMap<Rule, u64>,
    /// Files that no snapshot, schema or hint leads to, ascending. They cost space and break nothing (L18).
    pub orphans: Vec<String>,
    /// Whether files could not be read that would have led to others, so that not every orphan need be one.
    pub orphans_uncertain: bool,
}

/// What a table has, as far as it could be read.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The newest schema.
    pub schema: Option<SchemaFile>,
    /// The ids of all snapshots, ascending.
    pub snapshots: Vec<u64>,
    /// The newest snapshot that could be read.
    pub newest: Option<Snapshot>,
    /// The live data files of that snapshot.
    pub live_files: u64,
    /// The tags of the table's own line, by name.
    pub tags: Vec<String>,
    /// The branches, by name.
    pub branches: Vec<String>,
    /// The consumers, by name.
    pub consumers: Vec<String>,
    /// The ids of the changelogs that outlive their snapshots, ascending.
    pub changelogs: Vec<u64>,
    /// All files beneath the table's directory.
    pub files: u64,
    /// The data and changelog files that were read.
    pub data_files_read: u64,
    /// The bytes of all files that were read.
    pub bytes_read: u64,
}

/// Checks all files of a table, read through the object store itself. A table without any files is sound.
pub async fn verify(objects: &dyn ObjectStore, table: &TablePath) -> Verification {
    inspect(objects, table).await.0
}

/// Checks all files of a table, as [`verify`] does, and tells what there is.
pub async fn inspect(objects: &dyn ObjectStore, table: &TablePath) -> (Verification, Contents) {
    let directory = TableDirectory::of(table);
    let (listed, failure) = match objects.list(directory.root()).await {
        Ok(listed) => (listed, None),
        Err(failure) => (Vec::new(), Some(failure)),
    };
    let mut check = Check::new(objects, directory.clone(), &listed);
    let mut contents = Contents { files: listed.len() as u64, ..Contents::default() };
    if let Some(failure) = failure {
        check.findings.add(Rule::FileReadable, directory.root(), None, failure.message);
    } else if !listed.is_empty() {
        check.table(&mut contents).await;
        check.unlisted_directories();
    }
    contents.data_files_read = check.data_files_read;
    contents.bytes_read = check.bytes_read;
    let (orphans, orphans_uncertain) = (check.orphans(), check.incomplete);
    let (findings, notes, left_out) = check.findings.into_parts();
    (Verification { findings, notes, left_out, orphans, orphans_uncertain }, contents)
}

impl Check<'_> {
    /// Checks the table's own line, then what hangs on it, then its branches.
    async fn table(&mut self, contents: &mut Contents) {
        let mut line = Line { branch: None, directory: self.directory.clone(), schemas: BTreeMap::new() };
        if !self.directories(line.directory.root()).await {
            return;
        }
        self.schemas(&mut line).await;
        if line.schemas.is_empty() {
            let path = line.directory.schema(0);
            if !self.findings.has(Rule::FileReadable, &path) {
                let found = "expected a schema file that can be read, found none; no file of the table can be";
                self.findings.add(Rule::Schema, &path, None, found);
            }
        }
        let (newest, snapshots) = self.chain(&line).await;
        contents.tags = self.tags(&line).await;
        contents.changelogs = self.changelogs(&line).await;
        let first = contents.changelogs.first().or(snapshots.first()).copied();
        contents.consumers = self.consumers(&line, first, snapshots.last().copied()).await;
        contents.branches = self.branches().await;
        contents.schema = line.newest_schema().cloned();
        contents.snapshots = snapshots;
        if let Some((newest, files)) = newest {
            contents.newest = Some(newest);
            contents.live_files = files.live.len() as u64;
        }
    }

    /// Checks all branches; returns their names. Manifests and data files of a branch lie with those of the table.
    async fn branches(&mut self) -> Vec<String> {
        let directory = self.directory.branches_directory();
        let names: BTreeSet<&str> = self
            .beneath(&directory)
            .iter()
            .filter_map(|file| file[directory.len() + 1..].strip_prefix("branch-")?.split('/').next())
            .collect();
        for name in &names {
            let root = self.directory.on_branch(name);
            let mut line = Line { branch: Some((*name).to_owned()), directory: root, schemas: BTreeMap::new() };
            let place = line.directory.branch_root();
            if !self.is_directory(place).await || !self.directories(place).await {
                continue;
            }
            self.schemas(&mut line).await;
            if line.schemas.is_empty() {
                let found = format!("expected the branch {name} to have a schema that can be read, found none");
                self.findings.add(Rule::Branch, &line.directory.schema_directory(), None, found);
                self.incomplete = true;
            }
            let (_, snapshots) = self.chain(&line).await;
            self.tags(&line).await;
            let changelogs = self.changelogs(&line).await;
            let first = changelogs.first().or(snapshots.first()).copied();
            self.consumers(&line, first, snapshots.last().copied()).await;
        }
        names.into_iter().map(str::to_owned).collect()
    }
}
