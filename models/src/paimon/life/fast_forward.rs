//! Fast-forward: the main line goes on where a branch has come to.
//!
//! Paimon drops what the main branch has from the branch's first snapshot on and copies the branch over it. Here what
//! both have in common stays where it is, and a fast-forward that crashed is completed by running it again: the branch
//! itself is never changed.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::contract::Failure;

use super::super::PaimonTable;
use super::super::directory::numbers_after;
use super::super::lake_access::before_any_effect;
use super::branches::check_branch_name;
use super::tag_file::Tag;

/// The files of one line of snapshots, by number or name.
struct Line {
    schemas: BTreeMap<u64, Bytes>,
    snapshots: BTreeMap<u64, Bytes>,
    tags: BTreeMap<String, Bytes>,
}

impl PaimonTable {
    /// Lets this branch, which is the main one as a rule, have the snapshots, schemas and tags of another branch from
    /// that one's first snapshot on; what it had itself from there on goes for good. `not-found` if there is no such
    /// branch, `invalid` if it has no snapshot. Nobody may write meanwhile, and after a crash it must be run again
    /// before anybody does. A definite failure means that nothing has changed.
    pub async fn fast_forward(&self, branch: &str) -> Result<(), Failure> {
        check_branch_name(branch)?;
        let source = PaimonTable::open_branch(&self.lake, &self.path, branch).await.map_err(before_any_effect)?;
        let theirs = source.line().await.map_err(before_any_effect)?;
        let ours = self.line().await.map_err(before_any_effect)?;
        let changelogs = self.long_lived_changelog_ids().await.map_err(before_any_effect)?;
        let (Some(earliest), Some(latest)) = (theirs.snapshots.keys().next(), theirs.snapshots.keys().next_back())
        else {
            return Err(Failure::invalid(format!("expected a branch with snapshots, found none in {branch:?}")));
        };
        let first_schema = source.snapshot(*earliest).await.map_err(before_any_effect)?.schema_id;
        let tagged_from = |bytes: &Bytes| Tag::decode(bytes).map(|tag| tag.snapshot.id >= *earliest);
        let mut tags_to_go = Vec::new();
        for (name, bytes) in ours.tags.iter().filter(|(name, bytes)| theirs.tags.get(*name) != Some(*bytes)) {
            let path = self.directory.tag(name);
            if tagged_from(bytes).map_err(|error| before_any_effect(error.within(&path).into()))? {
                tags_to_go.push(path);
            }
        }

        let objects = &*self.lake.objects;
        let replace = async {
            objects.delete(&self.directory.latest_hint()).await?;
            // From the newest on, so that what is left has no gap.
            for (id, bytes) in ours.snapshots.range(earliest..).rev() {
                if theirs.snapshots.get(id) != Some(bytes) {
                    objects.delete(&self.directory.snapshot(*id)).await?;
                }
            }
            self.delete_changelogs_from(&changelogs, *earliest).await?;
            for path in &tags_to_go {
                objects.delete(path).await?;
            }
            for id in ours.schemas.range(first_schema..).rev().map(|(id, _)| id) {
                if !theirs.schemas.contains_key(id) {
                    objects.delete(&self.directory.schema(*id)).await?;
                }
            }
            // Schemas come before the snapshots that need them.
            for (id, bytes) in theirs.schemas.range(first_schema..) {
                if ours.schemas.get(id) != Some(bytes) {
                    objects.put(&self.directory.schema(*id), bytes.clone()).await?;
                }
            }
            for (id, bytes) in &theirs.snapshots {
                if ours.snapshots.get(id) != Some(bytes) {
                    objects.put(&self.directory.snapshot(*id), bytes.clone()).await?;
                }
            }
            for (name, bytes) in &theirs.tags {
                if ours.tags.get(name) != Some(bytes) {
                    objects.put(&self.directory.tag(name), bytes.clone()).await?;
                }
            }
            let oldest = ours.snapshots.keys().next().map_or(*earliest, |ours| *ours.min(earliest));
            self.write_hints(oldest, *latest).await
        };
        replace.await.map_err(Failure::made_indefinite)
    }

    /// All metadata of this branch but its changelogs and consumers.
    async fn line(&self) -> Result<Line, Failure> {
        let tag_directory = self.directory.tag_directory();
        let numbered = async |directory: String, prefix: &str| -> Result<BTreeMap<u64, Bytes>, Failure> {
            let listed = self.lake.objects.list(&directory).await?;
            let mut files = BTreeMap::new();
            for number in numbers_after(&listed, &directory, prefix) {
                files.insert(number, self.lake.objects.get(&format!("{directory}/{prefix}{number}")).await?);
            }
            Ok(files)
        };
        let schemas = numbered(self.directory.schema_directory(), "schema-").await?;
        let snapshots = numbered(self.directory.snapshot_directory(), "snapshot-").await?;
        let mut tags = BTreeMap::new();
        for name in self.tags().await?.into_keys() {
            let bytes = self.lake.objects.get(&format!("{tag_directory}/tag-{name}")).await?;
            tags.insert(name, bytes);
        }
        Ok(Line { schemas, snapshots, tags })
    }
}
