//! Deletion vectors: which rows of a data file are gone although the file still holds them.
//!
//! A vector names rows by their position in one file. Vectors lie in index files ([`index_file`]), a snapshot's index
//! manifest says where. In a key table they are made by compaction, which marks the older version of each key that
//! it moves up; so above level 0 every key has one row that is not marked, and reading need not merge.
//!
//! It must never know why a row is gone.

pub mod index_file;
mod of_snapshot;

use roaring::RoaringTreemap;

pub(super) use of_snapshot::{BucketVectors, INDEX_FILE_PREFIX, SnapshotVectors};

use crate::contract::TableSchema;

use super::{FormatError, FormatResult};

/// Whether batch reads of the table do not look at level 0, as in Paimon: what is there is not yet reflected in the
/// deletion vectors, so readers who do not merge would see old and new rows side by side. A table can ask its readers
/// to merge instead (`deletion-vectors.merge-on-read`), and then they see level 0.
pub fn batch_reads_skip_level_0(schema: &TableSchema) -> bool {
    let is_on = |option: &str| schema.options.get(option).is_some_and(|text| text.trim().eq_ignore_ascii_case("true"));
    is_on("deletion-vectors.enabled") && schema.has_primary_key() && !is_on("deletion-vectors.merge-on-read")
}

/// The positions of the deleted rows of one data file; the first row is at 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeletionVector {
    positions: RoaringTreemap,
}

impl DeletionVector {
    /// Marks a row as deleted; whether it was not marked before.
    pub fn delete(&mut self, position: u64) -> bool {
        self.positions.insert(position)
    }

    /// Whether the row at this position is deleted.
    pub fn is_deleted(&self, position: u64) -> bool {
        self.positions.contains(position)
    }

    /// The number of deleted rows.
    pub fn cardinality(&self) -> u64 {
        self.positions.len()
    }

    /// Whether no row is deleted.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The deleted positions, ascending.
    pub fn positions(&self) -> impl Iterator<Item = u64> + '_ {
        self.positions.iter()
    }

    /// The greatest deleted position. Unlike a walk to it, takes no time that the vector's bytes do not take.
    pub fn greatest(&self) -> Option<u64> {
        self.positions.max()
    }

    /// The items of a file that are left, with their positions. The error is for a vector of a longer file.
    pub fn retained<'a, Item>(&'a self, items: &'a [Item]) -> FormatResult<impl Iterator<Item = (u64, &'a Item)>> {
        if let Some(greatest) = self.positions.max().filter(|greatest| *greatest >= items.len() as u64) {
            return Err(FormatError::new(format!(
                "expected a deletion vector of positions below {}, found {greatest}",
                items.len()
            )));
        }
        Ok((0..).zip(items).filter(|(position, _)| !self.is_deleted(*position)))
    }
}

impl FromIterator<u64> for DeletionVector {
    fn from_iter<Positions: IntoIterator<Item = u64>>(positions: Positions) -> Self {
        Self { positions: positions.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_deleted_stays_with_its_position() {
        let vector: DeletionVector = [0, 2].into_iter().collect();
        let retained: Vec<(u64, &char)> = vector.retained(&['a', 'b', 'c', 'd']).unwrap().collect();
        assert_eq!(retained, [(1, &'b'), (3, &'d')]);
        assert_eq!(vector.cardinality(), 2);
    }

    #[test]
    fn a_vector_of_a_longer_file_is_refused() {
        let vector: DeletionVector = [2].into_iter().collect();
        let error = vector.retained(&['a', 'b']).err().unwrap().to_string();
        assert!(error.contains("below 2") && error.contains("found 2"), "{error}");
    }
}
