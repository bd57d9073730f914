//! Planted bugs of the commit that need more than a line. Without one of them nothing here changes anything.

use std::rc::Rc;

use bytes::Bytes;

use crate::contract::Failure;
use crate::defects::Defect;
use crate::paimon::lake_access::before_any_effect;
use crate::paimon::{Committable, DataFileMeta, ManifestEntry, PaimonTable};

use super::{CommitMode, CommitOutcome, CommitRequest, Precondition};

/// How long the planted bug rename-race takes to bring a file to its name.
const COPY_MS: u64 = 200;

impl PaimonTable {
    /// Whether a planted bug needs a commit that does not read back what became of it.
    pub(super) fn takes_first_answer(&self) -> bool {
        let planted = [Defect::CleanupOnUnknown, Defect::RetryOtherKind, Defect::RenameRace, Defect::ReplayNotFiltered];
        planted.iter().any(|defect| self.lake.defects.has(*defect))
    }

    /// Creates a snapshot file, in one call. Planted bug rename-race: it is looked for, and after the while that a copy
    /// takes, what is there by then is replaced.
    pub(super) async fn created_in_one_call(&self, path: &str, bytes: &Bytes) -> Result<bool, Failure> {
        let objects = &self.lake.objects;
        if !self.lake.defects.has(Defect::RenameRace) {
            return objects.put_if_absent(path, bytes.clone()).await;
        }
        if objects.exists(path).await.map_err(before_any_effect)? {
            return Ok(false);
        }
        self.lake.environment.sleep_ms(COPY_MS).await;
        objects.put(path, bytes.clone()).await.map(|()| true)
    }

    /// Planted bug retry-other-kind: whether a commit without an answer is made again, as one of another kind.
    pub(super) fn retries_as_other_kind(&self, request: &CommitRequest) -> bool {
        self.lake.defects.has(Defect::RetryOtherKind) && request.mode == CommitMode::Append
    }

    /// Planted bug retry-other-kind: makes the commit again, with files of its own.
    pub(super) async fn commit_as_other_kind(&self, request: CommitRequest) -> Result<CommitOutcome, Failure> {
        let mut added = Vec::new();
        for entry in &request.committable.added {
            added.push(self.copied(entry).await.map_err(Failure::made_indefinite)?);
        }
        let again = CommitRequest {
            subject: format!("{}/other-kind", request.subject),
            mode: CommitMode::Restore,
            committable: Committable { added, ..request.committable },
            precondition: Precondition::None,
            ..request
        };
        Box::pin(self.commit(again)).await.map_err(Failure::made_indefinite)
    }

    /// A copy of a data file. Whatever its name begins with, the seal is in the name's end.
    async fn copied(&self, entry: &ManifestEntry) -> Result<ManifestEntry, Failure> {
        let bytes = self.lake.objects.get(&self.data_file_path(entry)).await?;
        let file_name = format!("again-{}", entry.file.file_name);
        let copy =
            ManifestEntry { file: Rc::new(DataFileMeta { file_name, ..(*entry.file).clone() }), ..entry.clone() };
        self.lake.objects.put(&self.data_file_path(&copy), bytes).await?;
        Ok(copy)
    }
}
