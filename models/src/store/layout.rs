//! What a table's definition says about its rows and buckets, and the check of requests against it.
//!
//! Worked out once for each table. All failures here are definite: they are given before a request touches anything.

use crate::contract::{BucketId, Failure, Mutation, Row, TableSchema};

/// The positions and counts of one table.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// How many columns each version of the table had, oldest first: columns are only ever added, and only last.
    column_counts: Vec<usize>,
    /// The primary key within a row; `None` for an append table.
    key_positions: Option<Vec<usize>>,
    /// The partition columns within a row.
    partition_positions: Vec<usize>,
    /// The partition columns within a key; `None` where the key does not contain them all.
    partition_positions_in_key: Option<Vec<usize>>,
    /// The number of buckets; a bucket-unaware table has only bucket 0 (L10).
    bucket_count: u32,
}

impl Layout {
    /// The layout of a schema; `invalid` if a key or partition column is not a column.
    pub fn new(schema: &TableSchema) -> Result<Self, Failure> {
        let key_positions = positions(schema, &schema.primary_key, "primary-key")?;
        let partition_positions = positions(schema, &schema.partition_keys, "partition")?;
        let partition_positions_in_key = partition_positions
            .iter()
            .map(|partition| key_positions.iter().position(|key| key == partition))
            .collect::<Option<Vec<usize>>>();
        Ok(Self {
            column_counts: vec![schema.columns.len()],
            key_positions: schema.has_primary_key().then_some(key_positions),
            partition_positions,
            partition_positions_in_key,
            bucket_count: schema.bucket_count().unwrap_or(1),
        })
    }

    /// Makes a version with this many columns, all of which came last.
    pub fn add_version(&mut self, column_count: usize) {
        self.column_counts.push(column_count);
    }

    /// The number of columns that rows of earlier versions are to be brought to; `None` if there never was another
    /// version.
    pub fn widened_column_count(&self) -> Option<usize> {
        self.column_counts.last().copied().filter(|_| self.column_counts.len() > 1)
    }

    /// The primary key within a row; `None` for an append table.
    pub fn key_positions(&self) -> Option<&[usize]> {
        self.key_positions.as_deref()
    }

    /// `invalid` if the table cannot have such a bucket.
    pub fn check_bucket(&self, bucket: &BucketId) -> Result<(), Failure> {
        if bucket.bucket >= self.bucket_count {
            return Err(Failure::invalid(format!(
                "expected a bucket from 0 to {}, found {}",
                self.bucket_count - 1,
                bucket.bucket
            )));
        }
        check_count("partition values", self.partition_positions.len(), &bucket.partition)
    }

    /// `invalid` if the table has no primary key, or one of another length.
    pub fn check_key(&self, key: &Row) -> Result<(), Failure> {
        match &self.key_positions {
            Some(positions) => check_count("primary-key values", positions.len(), key),
            None => Err(Failure::invalid("expected a table with a primary key, found an append table")),
        }
    }

    /// `invalid` if one of the mutations does not fit the table or belongs to another partition.
    pub fn check_mutations(&self, bucket: &BucketId, mutations: &[Mutation]) -> Result<(), Failure> {
        mutations.iter().try_for_each(|mutation| match mutation {
            Mutation::Put(row) => self.check_row(bucket, row),
            Mutation::Delete(key) => {
                self.check_key(key)?;
                match &self.partition_positions_in_key {
                    Some(positions) => check_partition(bucket, key, positions),
                    None => Ok(()),
                }
            }
        })
    }

    /// `invalid` if the row belongs to another partition, or has the cells of no version: a writer may not have heard
    /// of the newest yet.
    pub fn check_row(&self, bucket: &BucketId, row: &Row) -> Result<(), Failure> {
        if !self.column_counts.contains(&row.cells().len()) {
            let newest = self.column_counts.last().copied().unwrap_or_default();
            check_count("cells in a row", newest, row)?;
        }
        check_partition(bucket, row, &self.partition_positions)
    }
}

fn check_partition(bucket: &BucketId, cells: &Row, positions: &[usize]) -> Result<(), Failure> {
    if positions.iter().zip(bucket.partition.cells()).all(|(position, value)| cells[*position] == *value) {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "expected rows of partition {:?}, found {:?}; send each partition's rows to its own bucket",
        bucket.partition.cells(),
        cells.cells()
    )))
}

fn positions(schema: &TableSchema, names: &[String], role: &str) -> Result<Vec<usize>, Failure> {
    let position = |name: &String| {
        schema
            .position(name)
            .ok_or_else(|| Failure::invalid(format!("expected {role} column `{name}` among the columns of the table")))
    };
    names.iter().map(position).collect()
}

fn check_count(what: &str, expected: usize, found: &Row) -> Result<(), Failure> {
    let found = found.cells().len();
    if found == expected { Ok(()) } else { Err(Failure::invalid(format!("expected {expected} {what}, found {found}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{FailureCode, Value};

    fn layout(json: &str) -> Layout {
        Layout::new(&serde_json::from_str(json).unwrap()).unwrap()
    }

    fn partitioned() -> Layout {
        layout(
            r#"{"columns":[{"name":"id","type":"BIGINT","nullable":false},{"name":"dt","type":"STRING","nullable":false},
                {"name":"v","type":"BIGINT"}],
                "primary_key":["id","dt"],"partition_keys":["dt"],"options":{"bucket":"2"}}"#,
        )
    }

    fn row(cells: &[Value]) -> Row {
        Row::new(cells.to_vec())
    }

    fn bucket(partition: &str, bucket: u32) -> BucketId {
        BucketId { partition: row(&[Value::string(partition)]), bucket }
    }

    fn assert_invalid(result: Result<(), Failure>, why: &str) {
        let failure = result.expect_err(why);
        assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true), "{why}");
    }

    #[test]
    fn what_fits_passes() {
        let put = Mutation::Put(row(&[Value::Int(1), Value::string("a"), Value::Int(2)]));
        let delete = Mutation::Delete(row(&[Value::Int(1), Value::string("a")]));
        assert_eq!(partitioned().check_bucket(&bucket("a", 1)), Ok(()));
        assert_eq!(partitioned().check_mutations(&bucket("a", 1), &[put, delete]), Ok(()));
    }

    #[test]
    fn what_does_not_fit_is_invalid() {
        let layout = partitioned();
        let b = Value::string("b");
        assert_invalid(layout.check_bucket(&bucket("a", 2)), "the bucket is out of range");
        assert_invalid(layout.check_bucket(&BucketId::unpartitioned(0)), "the partition is missing");
        for (mutation, why) in [
            (Mutation::Put(row(&[Value::Int(1), b.clone()])), "too few cells"),
            (Mutation::Put(row(&[Value::Int(1), b.clone(), Value::Null])), "the row of another partition"),
            (Mutation::Delete(row(&[Value::Int(1)])), "half a key"),
            (Mutation::Delete(row(&[Value::Int(1), b])), "the key of another partition"),
        ] {
            assert_invalid(layout.check_mutations(&bucket("a", 0), &[mutation]), why);
        }
    }

    #[test]
    fn append_tables_have_no_deletes_and_bucket_unaware_ones_only_bucket_0() {
        let layout = layout(r#"{"columns":[{"name":"v","type":"BIGINT"}]}"#);
        let only = BucketId::unpartitioned(0);
        assert_invalid(layout.check_mutations(&only, &[Mutation::Delete(row(&[Value::Int(1)]))]), "a delete");
        assert_eq!(layout.check_bucket(&only), Ok(()));
        assert_invalid(layout.check_bucket(&BucketId::unpartitioned(1)), "bucket 1");
    }
}
