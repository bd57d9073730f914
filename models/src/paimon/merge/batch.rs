//! Merging before writing: a batch of changes, as it comes in, and what is written of it.
//!
//! Which file the result goes to, and what becomes of it, is the writer's business.

use std::borrow::Cow;

use crate::contract::{Row, RowKind};

use super::super::scan::compare_keys;
use super::{ChangelogProducer, FormatResult, KeyValue, MergeOptions};

/// One bucket's part of a batch, ready to be written.
pub(in super::super) struct MergedBatch {
    /// One change for each key, in key order.
    pub(in super::super) merged: Vec<KeyValue>,
    /// The changes as they came in, in the order of the merge; empty if nobody asks for them.
    pub(in super::super) changelog: Vec<KeyValue>,
}

impl MergeOptions {
    /// The changes that are written, as what they are written.
    pub(in super::super) fn written<'a>(
        &self,
        changes: &'a [(RowKind, Row)],
    ) -> FormatResult<Cow<'a, [(RowKind, Row)]>> {
        let rules = &self.row_kinds;
        if rules.is_plain() {
            return Ok(Cow::Borrowed(changes));
        }
        let mut written = Vec::with_capacity(changes.len());
        for (kind, row) in changes {
            if let Some(kind) = rules.kind_of(*kind, row)? {
                written.push((kind, row.clone()));
            }
        }
        Ok(Cow::Owned(written))
    }

    /// Numbers the changes of a bucket from `first_sequence` and merges them. Changes that could never be merged with
    /// others are refused.
    pub(in super::super) fn merge_batch(
        &self,
        first_sequence: i64,
        changes: &[(RowKind, Row)],
    ) -> FormatResult<MergedBatch> {
        changes.iter().try_for_each(|(kind, _)| self.function.check_kind(*kind))?;
        let number = |(index, (kind, row)): (usize, &(RowKind, Row))| KeyValue {
            sequence: first_sequence + index as i64,
            kind: *kind,
            row: row.clone(),
        };
        let mut numbered: Vec<KeyValue> = changes.iter().enumerate().map(number).collect();
        let mut changelog = Vec::new();
        if self.changelog_producer == ChangelogProducer::Input {
            changelog.clone_from(&numbered);
            changelog.sort_by(|a, b| self.function.compare(a, b));
        }
        if !self.function.keeps_newest() {
            let merged = self.function.merge_all(&numbered)?;
            return Ok(MergedBatch { merged, changelog });
        }
        // Newest first within a key, so that deduplication keeps the newest.
        let by_key = |a: &KeyValue, b: &KeyValue| compare_keys(&self.function.key_positions, &a.row, &b.row);
        numbered.sort_by(|a, b| by_key(a, b).then(b.sequence.cmp(&a.sequence)));
        numbered.dedup_by(|next, kept| by_key(next, kept).is_eq());
        Ok(MergedBatch { merged: numbered, changelog })
    }
}
