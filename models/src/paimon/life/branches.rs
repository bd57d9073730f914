//! Branches: other lines of snapshots of the same table, with schemas, tags and consumers of their own.
//!
//! A branch shares manifests and data files with the table, so nothing of them is copied, and what a branch still
//! leads to stays whatever happens on the others (L10). A branch exists if its first schema does.

use bytes::Bytes;

use crate::contract::{Failure, FailureCode};

use super::super::PaimonTable;
use super::super::directory::{TableDirectory, numbers_after};
use super::super::exclusive_create::{Created, create_exclusively};
use super::super::lake_access::before_any_effect;
use super::hints::write_hint;
use super::names::check_name;

/// The name of the branch that every table has.
const MAIN_BRANCH: &str = "main";
/// The option that names the branch whose rows stand in for those of partitions that the table does not have.
const FALLBACK_BRANCH: &str = "scan.fallback-branch";

impl PaimonTable {
    /// Creates a branch: with this branch's schemas and no snapshots, or from one of its tags, with the tag, its
    /// snapshot and the schemas up to the snapshot's. `already-exists` if the name is taken, `not-found` if there is no
    /// such tag, `invalid` for names that Paimon refuses.
    ///
    /// The first schema is written last. What a creation that crashed has left is cleared away by the next one of the
    /// same name.
    pub async fn create_branch(&self, name: &str, from_tag: Option<&str>) -> Result<(), Failure> {
        check_branch_name(name)?;
        let objects = &*self.lake.objects;
        let branch = self.directory.on_branch(name);
        let (copies, newest_schema) = self.branch_files(&branch, from_tag).await.map_err(before_any_effect)?;
        let leftovers = objects.list(branch.branch_root()).await.map_err(before_any_effect)?;
        if leftovers.contains(&branch.schema(0)) {
            return Err(self.branch_exists(name));
        }
        let in_schema = self.directory.schema_directory();
        let schemas = objects.list(&in_schema).await.map_err(before_any_effect)?;
        let schemas = numbers_after(&schemas, &in_schema, "schema-");
        let write = async {
            for leftover in &leftovers {
                objects.delete(leftover).await?;
            }
            for (path, bytes) in copies {
                objects.put(&path, bytes).await?;
            }
            for schema_id in schemas.into_iter().rev().filter(|id| *id > 0 && *id <= newest_schema) {
                let bytes = objects.get(&self.directory.schema(schema_id)).await?;
                objects.put(&branch.schema(schema_id), bytes).await?;
            }
            objects.get(&self.directory.schema(0)).await
        };
        // Nothing of it is visible before the first schema.
        let first_schema = write.await.map_err(before_any_effect)?;
        match create_exclusively(&self.lake, &branch.schema(0), &first_schema).await {
            Created::Ours => Ok(()),
            Created::Taken => Err(self.branch_exists(name)),
            Created::Refused(failure) => Err(before_any_effect(failure)),
            Created::Unknown(failure) => Err(failure),
        }
    }

    /// The names of the table's branches besides the main one, ascending.
    pub async fn branches(&self) -> Result<Vec<String>, Failure> {
        let directory = self.directory.branches_directory();
        let listed = self.lake.objects.list(&directory).await?;
        let name_of = |path: &String| {
            let beneath = path.strip_prefix(&directory)?.strip_prefix("/branch-")?;
            let name = beneath.strip_suffix("/schema/schema-0")?;
            (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
        };
        Ok(listed.iter().filter_map(name_of).collect())
    }

    /// Deletes a branch: its schemas, snapshots, tags, changelogs and consumers. Files that only it led to become
    /// orphans. `not-found` if there is nothing of it; `rejected` if the table reads from it.
    pub async fn delete_branch(&self, name: &str) -> Result<(), Failure> {
        check_branch_name(name)?;
        if self.schema.options.get(FALLBACK_BRANCH).is_some_and(|fallback| fallback == name) {
            return Err(Failure::rejected(format!(
                "table {}: branch {name:?} is its {FALLBACK_BRANCH}; reset the option first",
                self.path
            )));
        }
        let objects = &*self.lake.objects;
        let branch = self.directory.on_branch(name);
        let files = objects.list(branch.branch_root()).await.map_err(before_any_effect)?;
        if files.is_empty() {
            return Err(self.branch_missing(name));
        }
        // From here on it does not exist any more, whatever becomes of the rest.
        objects.delete(&branch.schema(0)).await?;
        for file in files.iter().filter(|file| **file != branch.schema(0)) {
            objects.delete(file).await.map_err(Failure::made_indefinite)?;
        }
        Ok(())
    }

    /// Renames a branch, in one step; `not-found` if there is none, `already-exists` if the new name is taken.
    pub async fn rename_branch(&self, from: &str, to: &str) -> Result<(), Failure> {
        check_branch_name(from)?;
        check_branch_name(to)?;
        let objects = &*self.lake.objects;
        let (source, target) = (self.directory.on_branch(from), self.directory.on_branch(to));
        let first_schema = match objects.get(&source.schema(0)).await {
            Ok(bytes) => bytes,
            Err(failure) if failure.code == FailureCode::NotFound => return Err(self.branch_missing(from)),
            Err(failure) => return Err(before_any_effect(failure)),
        };
        match objects.rename_directory(source.branch_root(), target.branch_root()).await {
            Ok(()) => Ok(()),
            Err(failure) if failure.code == FailureCode::AlreadyExists => Err(self.branch_exists(to)),
            Err(failure) if failure.definite => Err(failure),
            Err(failure) => match (objects.get(&target.schema(0)).await, objects.exists(&source.schema(0)).await) {
                // The move is all or nothing: only the answer was lost.
                (Ok(found), Ok(false)) if found == first_schema => Ok(()),
                _ => Err(failure),
            },
        }
    }

    /// What a new branch begins with besides its schemas, and the newest schema that it gets.
    async fn branch_files(
        &self,
        branch: &TableDirectory,
        from_tag: Option<&str>,
    ) -> Result<(Vec<(String, Bytes)>, u64), Failure> {
        let Some(tag_name) = from_tag else {
            return Ok((Vec::new(), self.schema_id()));
        };
        let (tag, bytes) = self.tag_with_bytes(tag_name).await?;
        let id = tag.snapshot.id;
        let hint = Bytes::from(id.to_string());
        let files = vec![
            (branch.tag(tag_name), bytes.clone()),
            (branch.snapshot(id), self.tagged_snapshot(tag_name).await?.1),
            (branch.earliest_hint(), hint.clone()),
            (branch.latest_hint(), hint),
        ];
        Ok((files, tag.snapshot.schema_id))
    }

    fn branch_exists(&self, name: &str) -> Failure {
        Failure::definite(FailureCode::AlreadyExists, format!("table {} has a branch {name:?} already", self.path))
    }

    fn branch_missing(&self, name: &str) -> Failure {
        Failure::not_found(format!("table {} has no branch {name:?}", self.path))
    }

    /// Writes the hints at this branch's oldest and newest snapshot.
    pub(super) async fn write_hints(&self, earliest: u64, latest: u64) -> Result<(), Failure> {
        write_hint(&*self.lake.objects, &self.directory.earliest_hint(), earliest).await?;
        write_hint(&*self.lake.objects, &self.directory.latest_hint(), latest).await
    }
}

/// `invalid` for the main branch's name, and for numbers, which would be read as snapshots.
pub(super) fn check_branch_name(name: &str) -> Result<(), Failure> {
    check_name("branch", name)?;
    if name == MAIN_BRANCH || name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Failure::invalid(format!(
            "expected a branch name other than `{MAIN_BRANCH}` and than a number, found {name:?}"
        )));
    }
    Ok(())
}
