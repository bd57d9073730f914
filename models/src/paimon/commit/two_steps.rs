//! One commit of two snapshots: new rows, and the compaction that their writer did beside.
//!
//! They share the user, the identifier and the properties. A writer that is lost between the two finds its identifier
//! committed, so the compaction is lost: its files become orphans, and no row is missing. That is allowed in this order
//! only.

use crate::contract::Failure;
use crate::paimon::{Committable, PaimonTable};

use super::{CommitMode, CommitOutcome, CommitRequest, Precondition};

/// What became of the two steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TwoStepOutcome {
    /// The snapshot of the new rows; `None` if there were none to commit.
    pub changes: Option<CommitOutcome>,
    /// The snapshot of the compaction, or why there is none; `None` if there was none to commit.
    pub compaction: Option<Result<CommitOutcome, Failure>>,
}

impl PaimonTable {
    /// Commits the request, then the compaction. A failure is of the first step, and then the second was not tried; or
    /// of the second, if there was nothing to commit in the first. After the first step a failed compaction is no
    /// failure of the whole. The files of a compaction that certainly failed are deleted.
    pub async fn commit_in_two_steps(
        &self,
        request: CommitRequest,
        compaction: Committable,
    ) -> Result<TwoStepOutcome, Failure> {
        let has_changes = request.mode != CommitMode::Append || !request.committable.is_empty();
        let second = CommitRequest {
            subject: format!("{}/compaction", request.subject),
            mode: CommitMode::Compact,
            committable: compaction,
            ..request.clone()
        };
        if second.committable.is_empty() {
            let changes = Some(self.commit(request).await?);
            return Ok(TwoStepOutcome { changes, compaction: None });
        }
        let changes = match has_changes {
            false => None,
            true => Some(self.commit(request).await?),
        };
        // The fence was passed by the first step, whose snapshot may be what it would find now.
        let precondition = if changes.is_some() { Precondition::None } else { second.precondition.clone() };
        let compaction = self.commit_or_delete(CommitRequest { precondition, ..second }).await;
        match (changes, compaction) {
            (None, Err(failure)) => Err(failure),
            (changes, compaction) => Ok(TwoStepOutcome { changes, compaction: Some(compaction) }),
        }
    }
}
