//! Merging: how all changes of one key become one.
//!
//! A key table may hold many changes of a key, in many files. The table's merge engine says what they amount to: the
//! newest of them, the first, or a row put together from all. The same function merges a batch before it is written,
//! the files of a bucket when they are read, and the files that a compaction rewrites; so what it returns must be a
//! change that can be merged again.
//!
//! It must never know where changes come from: files, levels and snapshots are the caller's business.

mod aggregation;
mod batch;
mod changelog_producer;
mod decimals;
mod deduplicate;
mod field_function;
mod first_row;
mod numbers;
mod option_values;
mod options;
mod partial_update;
mod row_kinds;
mod sequence_order;

#[cfg(test)]
mod against_a_fold;
#[cfg(test)]
mod deletes;

use std::cmp::Ordering;

use crate::contract::{Row, RowKind, Value};

use self::aggregation::Aggregation;
use self::deduplicate::Deduplicate;
use self::first_row::FirstRow;
use self::partial_update::PartialUpdate;
use self::sequence_order::SequenceOrder;
use super::data_file::KeyValue;
use super::scan::compare_keys;
use super::{FormatError, FormatResult};

pub use self::changelog_producer::ChangelogProducer;
pub(super) use self::option_values::FIELDS_PREFIX;
pub use self::options::MergeOptions;
pub(super) use self::options::{FORCE_LOOKUP, MERGE_ENGINE, SEQUENCE_FIELD, SEQUENCE_GROUP_SUFFIX};

/// What becomes of the changes of one key, for one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeFunction {
    engine: MergeEngine,
    sequence_order: SequenceOrder,
    key_positions: Vec<usize>,
}

/// The merge engines (Paimon's option `merge-engine`).
#[derive(Clone, Debug, PartialEq, Eq)]
enum MergeEngine {
    Deduplicate(Deduplicate),
    FirstRow(FirstRow),
    PartialUpdate(PartialUpdate),
    Aggregation(Aggregation),
}

impl MergeFunction {
    /// Whether the change with the highest sequence number is always the result. Then nobody needs to call this
    /// function.
    pub fn keeps_newest(&self) -> bool {
        self.sequence_order.is_empty()
            && matches!(&self.engine, MergeEngine::Deduplicate(engine) if !engine.ignores_deletes)
    }

    /// Whether a scan leaves files of level 0 out: of a first-row table only what was compacted is seen, as Paimon has
    /// it, because only compaction finds out which row of a key was the first.
    pub fn hides_level_zero(&self) -> bool {
        matches!(self.engine, MergeEngine::FirstRow(_))
    }

    /// The order in which changes are merged: by key; within a key by the sequence columns, if the table has any, then
    /// by sequence number. Equal changes must stay in commit order, so sorting by it must be stable.
    pub fn compare(&self, a: &KeyValue, b: &KeyValue) -> Ordering {
        compare_keys(&self.key_positions, &a.row, &b.row)
            .then_with(|| self.sequence_order.compare(&a.row, &b.row))
            .then(a.sequence.cmp(&b.sequence))
    }

    /// What the changes of one key amount to; they are in the order of [`Self::compare`]. One alone is returned as it
    /// is. `None` if nothing is left, and a delete if the key is to be gone.
    pub fn merge(&self, changes: &[&KeyValue]) -> FormatResult<Option<KeyValue>> {
        match changes {
            [] => Ok(None),
            [only] => Ok(Some((*only).clone())),
            _ => match &self.engine {
                MergeEngine::Deduplicate(engine) => Ok(engine.merge(changes)),
                MergeEngine::FirstRow(engine) => engine.merge(changes),
                MergeEngine::PartialUpdate(engine) => engine.merge(changes).map(Some),
                MergeEngine::Aggregation(engine) => engine.merge(changes).map(Some),
            },
        }
    }

    /// What changes of any keys amount to, one for each key, in key order. They come in commit order.
    pub fn merge_all<'a>(&self, changes: impl IntoIterator<Item = &'a KeyValue>) -> FormatResult<Vec<KeyValue>> {
        let mut sorted: Vec<&KeyValue> = changes.into_iter().collect();
        sorted.sort_by(|a, b| self.compare(a, b));
        let same_key = |a: &&KeyValue, b: &&KeyValue| compare_keys(&self.key_positions, &a.row, &b.row).is_eq();
        sorted.chunk_by(same_key).filter_map(|changes| self.merge(changes).transpose()).collect()
    }

    /// Whether a change of this kind can be merged. Paimon finds out when it merges it with another one, and then the
    /// bucket cannot be read; here a writer asks beforehand.
    pub fn check_kind(&self, kind: RowKind) -> FormatResult<()> {
        if kind.adds() {
            return Ok(());
        }
        match &self.engine {
            MergeEngine::Deduplicate(_) => Ok(()),
            MergeEngine::FirstRow(engine) => engine.check_retraction(kind),
            MergeEngine::PartialUpdate(engine) => engine.check_retraction(kind),
            MergeEngine::Aggregation(engine) => engine.check_retraction(kind),
        }
    }
}

/// The cells that a row starts again with after this delete: as in Java Paimon 1.4.2, the delete's own values.
fn cells_after_delete(required_columns: &[usize], deleted: &Row) -> FormatResult<Vec<Value>> {
    match required_columns.iter().find(|position| deleted[**position].is_null()) {
        Some(position) => Err(null_in_required_column(*position)),
        None => Ok(deleted.cells().to_vec()),
    }
}

/// The cells of a row that nobody wrote: the columns that cannot be NULL, the key's among them, and NULL elsewhere.
fn cells_of_required_columns(required_columns: &[usize], row: &Row) -> FormatResult<Vec<Value>> {
    let mut cells = vec![Value::Null; row.cells().len()];
    for position in required_columns {
        if row[*position].is_null() {
            return Err(null_in_required_column(*position));
        }
        cells[*position] = row[*position].clone();
    }
    Ok(cells)
}

fn null_in_required_column(position: usize) -> FormatError {
    FormatError::new(format!("expected a value in the NOT NULL column at position {position}, found NULL"))
}
