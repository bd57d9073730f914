//! A filter of a read: which rows match, and which files cannot hold any that do.
//!
//! Only partitions and buckets rule files out. In a key table a file whose rows do not match may still hold the newest
//! change of a key, so statistics must not (L17).

use std::rc::Rc;

use crate::contract::{Failure, Filter, Row, Value, coerce};

use super::table::SchemaVersion;
use super::{ManifestEntry, PaimonTable};

/// A filter, bound to a table's columns.
pub(super) struct RowFilter {
    wanted_cells: Vec<(usize, Value)>,
    /// By position within the partition.
    wanted_partition: Vec<(usize, Value)>,
    /// Known if the filter names every column of the bucket key.
    bucket_key: Option<Row>,
    version: Rc<SchemaVersion>,
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
        let (Some(bucket_key), Ok(count @ 1..)) = (&self.bucket_key, u32::try_from(entry.total_buckets)) else {
            return true;
        };
        self.version.buckets.bucket_of_key(bucket_key, count).map_or(true, |bucket| bucket == entry.bucket)
    }

    /// Whether the row matches: every named column has its value, NULL equals NULL.
    pub(super) fn matches(&self, row: &Row) -> bool {
        self.wanted_cells.iter().all(|(position, wanted)| row[*position] == *wanted)
    }
}
