//! Tags: snapshots under names, which stay until their tags go.
//!
//! A tag file is there whole or not at all. It goes before the files that only it kept, so that what a tag offers can
//! always be read (L10); what a crash leaves behind then is an orphan (L18).

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::contract::{Failure, FailureCode};
use crate::defects::Defect;

use super::super::PaimonTable;
use super::super::directory::names_after;
use super::super::exclusive_create::{Created, create_exclusively};
use super::super::lake_access::before_any_effect;
use super::heads::Head;
use super::names::check_name;
use super::survey::{Survey, delete_in_order};
use super::tag_file::{Tag, encode_snapshot, encode_tag, without_changelog};

impl PaimonTable {
    /// Tags a snapshot of this branch: the newest one, or the one of this number, which may also be one that has
    /// expired and is kept by another tag. With `time_retained_ms` the tag goes by itself so long after now.
    /// `already-exists` if the name is taken, unless `ignore_if_exists`; `not-found` if there is no such snapshot.
    pub async fn create_tag(
        &self,
        name: &str,
        snapshot_id: Option<u64>,
        time_retained_ms: Option<u64>,
        ignore_if_exists: bool,
    ) -> Result<(), Failure> {
        check_name("tag", name)?;
        let taken = || if ignore_if_exists { Ok(()) } else { Err(self.tag_exists(name)) };
        let path = self.directory.tag(name);
        if self.lake.objects.exists(&path).await.map_err(before_any_effect)? {
            return taken();
        }
        let bytes = self.tag_bytes(snapshot_id, time_retained_ms).await.map_err(before_any_effect)?;
        match create_exclusively(&self.lake, &path, &bytes).await {
            Created::Ours => Ok(()),
            Created::Taken => taken(),
            Created::Refused(failure) => Err(before_any_effect(failure)),
            Created::Unknown(failure) => Err(failure),
        }
    }

    /// Lets an existing tag name another snapshot, and another time after which it goes. What only the old one kept
    /// becomes orphans. `not-found` if there is no such tag or snapshot.
    pub async fn replace_tag(
        &self,
        name: &str,
        snapshot_id: Option<u64>,
        time_retained_ms: Option<u64>,
    ) -> Result<(), Failure> {
        self.tag(name).await.map_err(before_any_effect)?;
        let bytes = self.tag_bytes(snapshot_id, time_retained_ms).await.map_err(before_any_effect)?;
        self.lake.objects.put(&self.directory.tag(name), bytes).await
    }

    /// A tag of this branch; `not-found` if there is none.
    pub async fn tag(&self, name: &str) -> Result<Tag, Failure> {
        Ok(self.tag_with_bytes(name).await?.0)
    }

    /// All tags of this branch by name.
    pub async fn tags(&self) -> Result<BTreeMap<String, Tag>, Failure> {
        let directory = self.directory.tag_directory();
        let listed = self.lake.objects.list(&directory).await?;
        let mut tags = BTreeMap::new();
        for name in names_after(&listed, &directory, "tag-") {
            let tag = self.tag(&name).await?;
            tags.insert(name, tag);
        }
        Ok(tags)
    }

    /// Deletes a tag and all that only it kept; `false` if there is no such tag. Files of a snapshot that is still
    /// there, of other tags and of other branches stay. A definite failure means that nothing was deleted.
    pub async fn delete_tag(&self, name: &str) -> Result<bool, Failure> {
        let tag = match self.tag(name).await {
            Ok(tag) => tag,
            Err(failure) if failure.code == FailureCode::NotFound => return Ok(false),
            Err(failure) => return Err(before_any_effect(failure)),
        };
        let objects = &*self.lake.objects;
        let path = self.directory.tag(name);
        let present = self.snapshot(tag.snapshot.id).await;
        let is_present = present.is_ok_and(|found| found.delta_manifest_list == tag.snapshot.delta_manifest_list);
        // Planted bug tag-takes-all: nobody asks who else needs the files.
        let takes_all = self.lake.defects.has(Defect::TagTakesAll);
        if is_present && !takes_all {
            // The snapshot keeps everything that the tag keeps.
            objects.delete(&path).await?;
            return Ok(true);
        }
        let survey = Survey::take(&self.lake, &self.directory.on_main()).await?;
        let goes = |head: &Head| head.path == path;
        let doomed = if takes_all { survey.named_by(goes) } else { survey.doomed(goes, |_| false)? };
        objects.delete(&path).await?;
        delete_in_order(objects, &doomed).await.map_err(Failure::made_indefinite)?;
        Ok(true)
    }

    /// Renames a tag; `not-found` if there is none, `already-exists` if the new name is taken by a tag that is not
    /// exactly like it. One that is may have been left by a rename that crashed, which is then completed.
    pub async fn rename_tag(&self, from: &str, to: &str) -> Result<(), Failure> {
        check_name("tag", to)?;
        let (_, bytes) = self.tag_with_bytes(from).await.map_err(before_any_effect)?;
        if from == to {
            return Err(self.tag_exists(to));
        }
        let target = self.directory.tag(to);
        match create_exclusively(&self.lake, &target, &bytes).await {
            Created::Ours => {}
            Created::Taken => match self.lake.objects.get(&target).await {
                Ok(found) if found == bytes => {}
                Ok(_) => return Err(self.tag_exists(to)),
                Err(failure) => return Err(before_any_effect(failure)),
            },
            Created::Refused(failure) => return Err(before_any_effect(failure)),
            Created::Unknown(failure) => return Err(failure),
        }
        self.lake.objects.delete(&self.directory.tag(from)).await.map_err(Failure::made_indefinite)
    }

    /// Deletes the tags of this branch whose time has come, and, where `created_before_ms` is given, all others that
    /// tell a time of creation before it; returns their names. A definite failure means that none was deleted.
    pub async fn expire_tags(&self, created_before_ms: Option<u64>) -> Result<Vec<String>, Failure> {
        let now_ms = self.lake.environment.now_ms();
        let tags = self.tags().await.map_err(before_any_effect)?;
        let expired = tags.into_iter().filter(|(_, tag)| {
            tag.create_time_ms.is_some_and(|created_ms| {
                let retained = tag.time_retained_ms.map(|retained_ms| created_ms.saturating_add(retained_ms));
                retained.is_some_and(|until_ms| until_ms < now_ms)
                    || created_before_ms.is_some_and(|before_ms| created_ms < before_ms)
            })
        });
        let mut deleted = Vec::new();
        for (name, _) in expired {
            let outcome = self.delete_tag(&name).await;
            outcome.map_err(|failure| if deleted.is_empty() { failure } else { failure.made_indefinite() })?;
            deleted.push(name);
        }
        Ok(deleted)
    }

    fn tag_exists(&self, name: &str) -> Failure {
        Failure::definite(FailureCode::AlreadyExists, format!("table {} has a tag {name:?} already", self.path))
    }

    pub(super) async fn tag_with_bytes(&self, name: &str) -> Result<(Tag, Bytes), Failure> {
        check_name("tag", name)?;
        let path = self.directory.tag(name);
        match self.lake.objects.get(&path).await {
            Ok(bytes) => Ok((Tag::decode(&bytes).map_err(|error| error.within(&path))?, bytes)),
            Err(failure) if failure.code == FailureCode::NotFound => {
                Err(Failure::not_found(format!("table {} has no tag {name:?}", self.path)))
            }
            Err(failure) => Err(failure),
        }
    }

    async fn tag_bytes(&self, snapshot_id: Option<u64>, time_retained_ms: Option<u64>) -> Result<Bytes, Failure> {
        let snapshot_id = match snapshot_id {
            Some(snapshot_id) => snapshot_id,
            None => match self.latest_snapshot().await? {
                Some(latest) => latest.id,
                None => return Err(Failure::not_found(format!("table {} has no snapshot to tag", self.path))),
            },
        };
        let bytes = self.snapshot_bytes(snapshot_id).await?;
        Ok(encode_tag(&bytes, self.lake.environment.now_ms(), time_retained_ms)?)
    }

    /// The file of a snapshot of this branch, also if only a tag keeps it; `not-found` if nothing does.
    pub(super) async fn snapshot_bytes(&self, snapshot_id: u64) -> Result<Bytes, Failure> {
        let missing = match self.snapshot(snapshot_id).await {
            Ok(_) => return self.lake.objects.get(&self.directory.snapshot(snapshot_id)).await,
            Err(failure) => failure,
        };
        if missing.code != FailureCode::NotFound {
            return Err(missing);
        }
        let tagged = self.tags().await?.into_iter().find(|(_, tag)| tag.snapshot.id == snapshot_id);
        match tagged {
            Some((name, _)) => Ok(self.tagged_snapshot(&name).await?.1),
            None => Err(missing),
        }
    }

    /// The number of a tagged snapshot, and its file as it comes back where it has expired. A tag keeps rows and no
    /// changelog, so the file names a changelog only while there is one. `not-found` if there is no such tag.
    pub(super) async fn tagged_snapshot(&self, name: &str) -> Result<(u64, Bytes), Failure> {
        let (tag, bytes) = self.tag_with_bytes(name).await?;
        let bytes = encode_snapshot(&bytes)?;
        let is_gone = match &tag.snapshot.changelog_manifest_list {
            Some(list) => !self.lake.objects.exists(&self.directory.manifest(list)).await?,
            None => false,
        };
        Ok((tag.snapshot.id, if is_gone { without_changelog(&bytes)? } else { bytes }))
    }
}
