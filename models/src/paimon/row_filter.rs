//! A filter of a read: which rows match, and which files cannot hold any that do.
//!
//! Only partitions and buckets rule files out. In a key table a file whose rows do not match may still hold the newest
//! change of a key, so statistics must not (L17).

use std::rc::Rc;

use crate::contract::{DataType, Failure, Filter, Row, Value, coerce};
use crate::defects::{Defect, Defects};

use super::table::SchemaVersion;
use super::{ManifestEntry, PaimonTable, binary_row};

/// A filter, bound to a table's columns.
pub(super) struct RowFilter {
    wanted_cells: Vec<(usize, Value)>,
    /// By position within the partition.
    wanted_partition: Vec<(usize, Value)>,
    /// Known if the filter names every column of the bucket key.
    bucket_key: Option<Row>,
    version: Rc<SchemaVersion>,
    defects: Defects,
}

impl RowFilter {
    /// Binds a filter; `invalid` if it names an unknown column or a value of another type.
    pub(super) fn bind(table: &PaimonTable, filter: &Filter) -> Result<Self, Failure> {
        let schema = table.schema();
        let bind_cell = |(column, value): (&String, &Value)| {
            let position = schema.position(column).ok_or_else(|| {
                Failure::invalid(format!("expected a column of table {} in the filter, found `{column}`", table.path()))
            })?;
            let cell = coerce(value.clone(), &schema.columns[position].data_type)
                .map_err(|found| Failure::invalid(format!("filter column `{column}`: {found}")))?;
            Ok((position, cell))
        };
        let wanted_cells = filter.iter().map(bind_cell).collect::<Result<Vec<_>, Failure>>()?;
        let wanted_at = |position: usize| wanted_cells.iter().find(|(at, _)| *at == position).map(|(_, cell)| cell);
        let partition_positions = schema.partition_positions();
        let wanted_partition = (0..partition_positions.len())
            .filter_map(|index| Some((index, wanted_at(partition_positions[index])?.clone())))
            .collect();
        let bucket_key: Option<Vec<Value>> =
            table.version.buckets.key_positions().iter().map(|position| wanted_at(*position).cloned()).collect();
        Ok(Self {
            wanted_partition,
            bucket_key: bucket_key.filter(|cells| !cells.is_empty()).map(Row::new),
            version: table.version.clone(),
            defects: table.lake.defects.clone(),
            wanted_cells,
        })
    }

    /// Whether rows of this file can match.
    pub(super) fn may_match_file(&self, entry: &ManifestEntry) -> bool {
        let partition = entry.partition.cells();
        if self.wanted_partition.iter().any(|(index, wanted)| partition.get(*index).is_some_and(|cell| cell != wanted))
        {
            return false;
        }
        if self.defects.has(Defect::StatsPruneWrong) && self.is_beyond_least_value(entry) {
            return false;
        }
        let (Some(bucket_key), Ok(count @ 1..)) = (&self.bucket_key, u32::try_from(entry.total_buckets)) else {
            return true;
        };
        // Planted bug bucket-hash-differs: readers take a number itself modulo the number of buckets, not its hash.
        if self.defects.has(Defect::BucketHashDiffers)
            && let [Value::Int(number)] = bucket_key.cells()
        {
            return number.rem_euclid(i64::from(count)) == i64::from(entry.bucket);
        }
        self.version.buckets.bucket_of_key(bucket_key, count).map_or(true, |bucket| bucket == entry.bucket)
    }

    /// Planted bug stats-prune-wrong: a file's least value passes for its greatest as well, so a file whose rows match
    /// is ruled out.
    fn is_beyond_least_value(&self, entry: &ManifestEntry) -> bool {
        let stats = &entry.file.value_stats;
        if entry.file.schema_id != self.version.file.id || stats.null_counts.len() != self.version.file.fields.len() {
            return false;
        }
        let types: Vec<DataType> =
            self.version.file.fields.iter().map(|field| field.field_type.data_type.clone()).collect();
        let Ok(least) = binary_row::deserialize(&types, &stats.min_values) else { return false };
        self.wanted_cells.iter().any(|(position, wanted)| {
            let least = &least[*position];
            !wanted.is_null() && !least.is_null() && wanted > least
        })
    }

    /// Whether the row matches: every named column has its value, NULL equals NULL.
    pub(super) fn matches(&self, row: &Row) -> bool {
        self.wanted_cells.iter().all(|(position, wanted)| row[*position] == *wanted)
    }
}
