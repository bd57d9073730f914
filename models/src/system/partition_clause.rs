//! PARTITION (…): a partition that a statement names, and the rows that belong to it (C23).
//!
//! It must never know which side the rows go to: both follow the same rule.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::contract::{Failure, Row, RowSet, TableSchema, Value, coerce};

/// A static partition specification: the values of some or all partition columns.
pub(super) type PartitionSpec = BTreeMap<String, Value>;

/// The rows of an INSERT, with or without a PARTITION clause, as rows of the schema.
pub(super) fn rows_to_insert(
    schema: &TableSchema,
    partition: Option<&PartitionSpec>,
    rows: &RowSet,
) -> Result<Vec<Row>, Failure> {
    match partition {
        Some(partition) => rows_of_partition(schema, &bind_partition(schema, partition)?, rows),
        None => rows.conform(schema),
    }
}

/// The partition with values of its columns' types. `invalid` if a column is not a partition column.
pub(super) fn bind_partition(schema: &TableSchema, partition: &PartitionSpec) -> Result<PartitionSpec, Failure> {
    let bind = |(name, value): (&String, &Value)| {
        let position = schema.position(name).filter(|_| schema.partition_keys.contains(name)).ok_or_else(|| {
            Failure::invalid(format!(
                "expected partition columns among [{}], found `{name}`",
                schema.partition_keys.join(", ")
            ))
        })?;
        let value = coerce(value.clone(), &schema.columns[position].data_type)
            .map_err(|found| Failure::invalid(format!("partition column `{name}`: {found}")))?;
        Ok((name.clone(), value))
    };
    partition.iter().map(bind).collect()
}

/// The rows of a statically named partition. They may leave its columns out; they must not contradict them.
pub(super) fn rows_of_partition(
    schema: &TableSchema,
    partition: &PartitionSpec,
    rows: &RowSet,
) -> Result<Vec<Row>, Failure> {
    let left_out: Vec<(&String, &Value)> = partition.iter().filter(|(name, _)| rows.position(name).is_none()).collect();
    let columns = rows.columns.iter().cloned().chain(left_out.iter().map(|(name, _)| Arc::from(name.as_str())));
    let complete = |row: &Row| {
        Row::new(row.cells().iter().cloned().chain(left_out.iter().map(|(_, value)| (*value).clone())).collect())
    };
    let rows = RowSet { columns: columns.collect(), rows: rows.rows.iter().map(complete).collect() }.conform(schema)?;
    for (name, expected) in partition {
        let Some(position) = schema.position(name) else { continue };
        if let Some(other) = rows.iter().find(|row| row[position] != *expected) {
            return Err(Failure::invalid(format!(
                "expected only rows of the partition {name} = {expected:?}, found one with {:?}",
                other[position]
            )));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> TableSchema {
        serde_json::from_str(
            r#"{"columns":[{"name":"id","type":"BIGINT"},{"name":"day","type":"DATE"}],"partition_keys":["day"]}"#,
        )
        .unwrap()
    }

    fn rows(text: &str) -> RowSet {
        serde_json::from_str(text).unwrap()
    }

    fn day(text: &str) -> PartitionSpec {
        bind_partition(&schema(), &PartitionSpec::from([("day".to_owned(), Value::string(text))])).unwrap()
    }

    #[test]
    fn rows_of_a_static_partition_may_leave_its_columns_out() {
        let expected = vec![Row::new(vec![Value::Int(1), Value::Date(1)])];
        assert_eq!(rows_of_partition(&schema(), &day("1970-01-02"), &rows(r#"[{"id":1}]"#)).unwrap(), expected);
        let spelled_out = rows(r#"[{"id":1,"day":"1970-01-02"}]"#);
        assert_eq!(rows_of_partition(&schema(), &day("1970-01-02"), &spelled_out).unwrap(), expected);
    }

    #[test]
    fn rows_of_another_partition_and_other_columns_are_refused() {
        let other = rows(r#"[{"id":1,"day":"1970-01-09"}]"#);
        assert!(rows_of_partition(&schema(), &day("1970-01-02"), &other).unwrap_err().message.contains("day"));
        let no_partition = PartitionSpec::from([("id".to_owned(), Value::Int(1))]);
        assert!(bind_partition(&schema(), &no_partition).unwrap_err().message.contains("[day]"));
    }
}
