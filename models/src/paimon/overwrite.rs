//! What an overwrite deletes.
//!
//! The delete list is made from the snapshot that the statement started from, not from the newest one: files that
//! others added in between survive (L15). Nothing here reads or writes.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::contract::{Failure, PartitionValues, TableSchema, Value, coerce};

use super::live_files::{FileIdentity, identity};
use super::{FileKind, ManifestEntry};

/// The snapshot property in which an overwrite tells the snapshot that it began on, so that a judge can tell what others
/// added after it (L15). Readers of Paimon pass over properties that they do not know.
pub const OVERWRITE_BASE_PROPERTY: &str = "lakestream.overwrite-base";

/// Which files an overwrite replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverwriteScope {
    /// Every partition with these values of these partition columns; columns that are not named may be anything.
    Static(BTreeMap<String, Value>),
    /// Every partition that one of these speaks of, each as in [`OverwriteScope::Static`].
    AnyOf(Vec<BTreeMap<String, Value>>),
    /// The partitions of the new rows; the whole table where it has no partitions.
    Dynamic,
    /// Everything.
    WholeTable,
}

/// A scope bound to one overwrite: decides for each live file.
pub(super) enum BoundScope {
    /// The files of partitions that have the values of one of these at its positions.
    Matching(Vec<Vec<(usize, Value)>>),
    /// The files of exactly these partitions.
    Partitions(BTreeSet<PartitionValues>),
}

impl BoundScope {
    /// Binds a scope to a schema and to the new files. `invalid` if the scope names what is no partition column, or if
    /// new rows lie outside of it.
    pub(super) fn bind(scope: &OverwriteScope, schema: &TableSchema, added: &[ManifestEntry]) -> Result<Self, Failure> {
        match scope {
            OverwriteScope::WholeTable => Ok(Self::Matching(vec![Vec::new()])),
            OverwriteScope::Dynamic if schema.partition_keys.is_empty() => Ok(Self::Matching(vec![Vec::new()])),
            OverwriteScope::Dynamic => {
                Ok(Self::Partitions(added.iter().map(|entry| entry.partition.clone()).collect()))
            }
            OverwriteScope::Static(values) => Self::matching(std::slice::from_ref(values), schema, added),
            OverwriteScope::AnyOf(partitions) => Self::matching(partitions, schema, added),
        }
    }

    fn matching(
        partitions: &[BTreeMap<String, Value>],
        schema: &TableSchema,
        added: &[ManifestEntry],
    ) -> Result<Self, Failure> {
        let bind_cell = |(column, value): (&String, &Value)| {
            let position = schema.partition_keys.iter().position(|key| key == column).ok_or_else(|| {
                Failure::invalid(format!(
                    "expected partition columns among [{}] in the overwrite, found `{column}`",
                    schema.partition_keys.join(", ")
                ))
            })?;
            let column_position = schema.position(column).unwrap_or_default();
            coerce(value.clone(), &schema.columns[column_position].data_type)
                .map(|value| (position, value))
                .map_err(|found| Failure::invalid(format!("partition column `{column}`: {found}")))
        };
        let bind = |partition: &BTreeMap<String, Value>| partition.iter().map(bind_cell).collect();
        let bound = Self::Matching(partitions.iter().map(bind).collect::<Result<_, Failure>>()?);
        match added.iter().find(|entry| !bound.covers(&entry.partition)) {
            None => Ok(bound),
            Some(outside) => Err(Failure::invalid(format!(
                "expected all new rows in the partition that is overwritten, found rows in {:?}",
                outside.partition.cells()
            ))),
        }
    }

    /// Whether the scope covers a partition.
    pub(super) fn covers(&self, partition: &PartitionValues) -> bool {
        match self {
            Self::Matching(alternatives) => {
                alternatives.iter().any(|values| values.iter().all(|(position, value)| partition[*position] == *value))
            }
            Self::Partitions(partitions) => partitions.contains(partition),
        }
    }

    /// The entries that delete what the scope covers of these live files.
    pub(super) fn deletes(&self, live: &[ManifestEntry]) -> Vec<ManifestEntry> {
        let covered = live.iter().filter(|entry| self.covers(&entry.partition));
        covered
            .map(|entry| ManifestEntry { kind: FileKind::Delete, file: Rc::clone(&entry.file), ..entry.clone() })
            .collect()
    }
}

/// Whether every file that is to be deleted is live: the check of Paimon's that a retried overwrite must pass.
pub(super) fn all_live(deletes: &[ManifestEntry], live: &[ManifestEntry]) -> bool {
    let live: BTreeSet<FileIdentity<'_>> = live.iter().map(identity).collect();
    deletes.iter().all(|entry| live.contains(&identity(entry)))
}
