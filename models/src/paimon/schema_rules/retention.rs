//! How much history a table keeps.

use crate::contract::{Failure, TableSchema};

use super::options::integer;

pub(super) fn validate(schema: &TableSchema) -> Result<(), Failure> {
    for kind in ["snapshot", "changelog"] {
        let (least_key, most_key) = (format!("{kind}.num-retained.min"), format!("{kind}.num-retained.max"));
        let (least, most) = (integer(schema, &least_key, 10)?, integer(schema, &most_key, i32::MAX)?);
        if least < 1 {
            return Err(Failure::invalid(format!("expected option `{least_key}` to be at least 1, found {least}")));
        }
        if least > most {
            return Err(Failure::invalid(format!(
                "expected option `{least_key}` to be at most `{most_key}` of {most}, found {least}"
            )));
        }
    }
    if schema.options.contains_key("partition.expiration-time") && schema.partition_keys.is_empty() {
        return Err(Failure::invalid(
            "expected partition keys in a table with `partition.expiration-time`, found none",
        ));
    }
    Ok(())
}
