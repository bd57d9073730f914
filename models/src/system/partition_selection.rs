//! Which partitions a promotion loads (P6, rule 67).
//!
//! Pure: it knows the lake table's definition and the partitions of one snapshot, and nothing of how they are loaded.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{Failure, PartitionValues, Row, TableSchema, Value, coerce, partition_name};

/// The partitions among `present` that are not selected, in order; none where nothing is said. `rejected` for a
/// selection that names no partition of the snapshot, names one twice, or has no place on such a table.
pub(super) fn left_out<'a>(
    schema: &TableSchema,
    selection: Option<&[BTreeMap<String, Value>]>,
    present: impl Iterator<Item = &'a PartitionValues>,
) -> Result<Vec<PartitionValues>, Failure> {
    let Some(selection) = selection else { return Ok(Vec::new()) };
    if schema.partition_keys.is_empty() {
        return Err(Failure::rejected("expected no `partitions` of a table without partitions, found some"));
    }
    if !schema.has_primary_key() {
        return Err(Failure::rejected("expected no `partitions` of an append table, which loads nothing, found some"));
    }
    let present: BTreeSet<&PartitionValues> = present.collect();
    let mut selected = BTreeSet::new();
    for partition in selection {
        let values = values_of(schema, partition)?;
        let name = || partition_name(&schema.partition_keys, &values).unwrap_or_default();
        if !present.contains(&values) {
            return Err(Failure::rejected(format!(
                "expected `partitions` that the lake's newest snapshot has, found {}, which it lacks",
                name()
            )));
        }
        if selected.contains(&values) {
            return Err(Failure::rejected(format!("expected each of the `partitions` once, found {} twice", name())));
        }
        selected.insert(values);
    }
    Ok(present.into_iter().filter(|partition| !selected.contains(*partition)).cloned().collect())
}

/// The values of the partition columns, each given exactly once.
fn values_of(schema: &TableSchema, partition: &BTreeMap<String, Value>) -> Result<PartitionValues, Failure> {
    if !partition.keys().eq(schema.partition_keys.iter().collect::<BTreeSet<_>>()) {
        let found: Vec<&str> = partition.keys().map(String::as_str).collect();
        return Err(Failure::rejected(format!(
            "expected a value of each of the partition columns [{}], found values of [{}]",
            schema.partition_keys.join(", "),
            found.join(", ")
        )));
    }
    let values = schema.partition_positions().into_iter().map(|position| {
        let column = &schema.columns[position];
        let value = partition.get(&column.name).cloned().unwrap_or(Value::Null);
        coerce(value, &column.data_type)
            .map_err(|found| Failure::rejected(format!("partition column `{}`: {found}", column.name)))
    });
    Ok(Row::new(values.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::FailureCode;

    fn schema(primary_key: &str, partition_keys: &str) -> TableSchema {
        serde_json::from_str(&format!(
            r#"{{"columns":[{{"name":"id","type":"BIGINT","nullable":false}},
                           {{"name":"dt","type":"STRING","nullable":false}}],
                 "primary_key":{primary_key},"partition_keys":{partition_keys}}}"#
        ))
        .unwrap()
    }

    fn row(day: &str) -> PartitionValues {
        Row::new(vec![Value::string(day)])
    }

    fn selected(schema: &TableSchema, selection: &str) -> Result<Vec<PartitionValues>, FailureCode> {
        let selection: Vec<BTreeMap<String, Value>> = serde_json::from_str(selection).unwrap();
        let present = [row("a"), row("b"), row("b"), row("c")];
        left_out(schema, Some(&selection), present.iter()).map_err(|failure| failure.code)
    }

    #[test]
    fn what_is_not_selected_is_left_out_and_the_default_is_all() {
        let schema = schema(r#"["id","dt"]"#, r#"["dt"]"#);
        assert_eq!(selected(&schema, r#"[{"dt":"b"}]"#), Ok(vec![row("a"), row("c")]));
        assert_eq!(selected(&schema, "[]"), Ok(vec![row("a"), row("b"), row("c")]));
        assert_eq!(left_out(&schema, None, [row("a")].iter()), Ok(Vec::new()));
    }

    #[test]
    fn a_selection_that_makes_no_sense_is_refused() {
        let rejected = Err(FailureCode::Rejected);
        let partitioned = schema(r#"["id","dt"]"#, r#"["dt"]"#);
        for (selection, why) in [
            (r#"[{"dt":"d"}]"#, "it does not exist"),
            (r#"[{"day":"a"}]"#, "no such column"),
            (r#"[{}]"#, "no value"),
            (r#"[{"dt":"a","id":1}]"#, "a column too many"),
            (r#"[{"dt":"a"},{"dt":"a"}]"#, "twice"),
            (r#"[{"dt":[1]}]"#, "a value of another type"),
        ] {
            assert_eq!(selected(&partitioned, selection), rejected, "{why}");
        }
        assert_eq!(selected(&schema(r#"["id"]"#, "[]"), "[]"), rejected, "no partitions");
        assert_eq!(selected(&schema("[]", r#"["dt"]"#), r#"[{"dt":"a"}]"#), rejected, "an append table");
    }
}
