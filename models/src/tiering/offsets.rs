//! The offsets property of a tiering snapshot: how far each bucket's log is in the lake.
//!
//! It is inline JSON in the snapshot itself, so that rows and progress become visible in one step, and it names the
//! store's table id, so that a table that was created again never continues from its predecessor's progress (L12). This
//! module must never know who reads it: tiering, the union read and a judge of the files all do.
//!
//! ```json
//! {"table_id":7,"buckets":[{"partition":{"day":"mon"},"bucket":0,"end_offset_exclusive":42}]}
//! ```
//! `partition` maps each partition column to its value as the adapter protocol writes values; it is `null` where the
//! table has no partitions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contract::{
    BucketId, DataType, Failure, LakeSnapshot, OFFSETS_PROPERTY, Row, TableId, TableSchema, TieredOffsets, Value,
    coerce, decimal_text,
};
use crate::defects::{Defect, Defects};
use crate::paimon::Snapshot;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Offsets {
    table_id: TableId,
    buckets: Vec<BucketEnd>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BucketEnd {
    partition: Option<BTreeMap<String, Value>>,
    bucket: u32,
    end_offset_exclusive: u64,
}

/// The table id and offsets that a snapshot carries; `None` if it has no offsets property. Fails as `internal` if the
/// property is not what [`encode_offsets`] writes.
pub fn offsets_of(snapshot: &Snapshot, schema: &TableSchema) -> Result<Option<(TableId, TieredOffsets)>, Failure> {
    let property = snapshot.properties.as_ref().and_then(|properties| properties.get(OFFSETS_PROPERTY));
    let Some(text) = property else { return Ok(None) };
    decode_offsets(text, schema).map(Some).map_err(|problem| {
        Failure::internal(format!("snapshot {} has an unreadable `{OFFSETS_PROPERTY}`: {problem}", snapshot.id))
    })
}

/// The snapshot as this table's own tiering made it; `None` if there is none, or it carries no offsets, or those of
/// another table that had the name (L12).
pub(super) fn own_lake_snapshot(
    snapshot: Option<&Snapshot>,
    table_id: TableId,
    schema: &TableSchema,
    defects: &Defects,
) -> Result<Option<LakeSnapshot>, Failure> {
    let Some(snapshot) = snapshot else { return Ok(None) };
    // Planted bug adopts-old-table: offsets are taken for the table's own, whatever id they carry.
    let any_id = defects.has(Defect::AdoptsOldTable);
    let own = offsets_of(snapshot, schema)?.filter(|(carried_id, _)| any_id || *carried_id == table_id);
    Ok(own.map(|(_, offsets)| LakeSnapshot { snapshot_id: snapshot.id, offsets }))
}

/// The property's text.
pub fn encode_offsets(table_id: TableId, offsets: &TieredOffsets, schema: &TableSchema) -> Result<String, Failure> {
    let buckets = offsets.iter().map(|(bucket, end_offset_exclusive)| BucketEnd {
        partition: encode_partition(&bucket.partition, schema),
        bucket: bucket.bucket,
        end_offset_exclusive: *end_offset_exclusive,
    });
    serde_json::to_string(&Offsets { table_id, buckets: buckets.collect() })
        .map_err(|error| Failure::internal(format!("the offsets cannot be written as JSON: {error}")))
}

fn encode_partition(partition: &Row, schema: &TableSchema) -> Option<BTreeMap<String, Value>> {
    if schema.partition_keys.is_empty() {
        return None;
    }
    let cells = schema.partition_keys.iter().zip(partition.cells()).map(|(key, cell)| {
        let value = match (cell, partition_type(schema, key)) {
            // A decimal cell does not know its scale; its text must.
            (Value::Decimal(unscaled), Some(DataType::Decimal(_, scale))) => {
                Value::string(&decimal_text(*unscaled, *scale))
            }
            _ => cell.clone(),
        };
        (key.clone(), value)
    });
    Some(cells.collect())
}

fn partition_type<'a>(schema: &'a TableSchema, key: &str) -> Option<&'a DataType> {
    schema.position(key).map(|position| &schema.columns[position].data_type)
}

/// The table id and offsets in the property's text. The error is a sentence.
pub fn decode_offsets(text: &str, schema: &TableSchema) -> Result<(TableId, TieredOffsets), String> {
    let read: Offsets = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut offsets = TieredOffsets::new();
    for end in read.buckets {
        let partition = decode_partition(end.partition, schema)?;
        let bucket = BucketId { partition, bucket: end.bucket };
        if offsets.contains_key(&bucket) {
            return Err(format!("expected each bucket once, found bucket {} of one partition twice", bucket.bucket));
        }
        offsets.insert(bucket, end.end_offset_exclusive);
    }
    Ok((read.table_id, offsets))
}

fn decode_partition(partition: Option<BTreeMap<String, Value>>, schema: &TableSchema) -> Result<Row, String> {
    let mut cells = partition.unwrap_or_default();
    let mut values = Vec::with_capacity(schema.partition_keys.len());
    for key in &schema.partition_keys {
        let data_type = partition_type(schema, key).ok_or_else(|| format!("the table has no column `{key}`"))?;
        let cell = cells.remove(key).ok_or_else(|| format!("expected a value of partition column `{key}`"))?;
        values.push(coerce(cell, data_type)?);
    }
    match cells.into_keys().next() {
        Some(key) => Err(format!("expected partition columns {:?}, found `{key}`", schema.partition_keys)),
        None => Ok(Row::new(values)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(columns: &[(&str, DataType)], partition_keys: &[&str]) -> TableSchema {
        let columns = columns.iter().map(|(name, data_type)| crate::contract::Column {
            name: (*name).to_owned(),
            data_type: data_type.clone(),
            nullable: true,
        });
        TableSchema {
            columns: columns.collect(),
            primary_key: Vec::new(),
            partition_keys: partition_keys.iter().map(|key| (*key).to_owned()).collect(),
            options: BTreeMap::new(),
        }
    }

    fn round_trip(offsets: &TieredOffsets, schema: &TableSchema) {
        let text = encode_offsets(TableId(7), offsets, schema).unwrap();
        assert_eq!(decode_offsets(&text, schema).unwrap(), (TableId(7), offsets.clone()), "{text}");
    }

    #[test]
    fn the_property_reads_as_documented() {
        let schema = schema(&[("day", DataType::STRING)], &["day"]);
        let bucket = BucketId { partition: Row::new(vec![Value::string("mon")]), bucket: 0 };
        let text = encode_offsets(TableId(7), &TieredOffsets::from([(bucket, 42)]), &schema).unwrap();
        assert_eq!(
            text,
            r#"{"table_id":7,"buckets":[{"partition":{"day":"mon"},"bucket":0,"end_offset_exclusive":42}]}"#
        );
    }

    #[test]
    fn offsets_without_partitions_survive() {
        let schema = schema(&[("id", DataType::BigInt)], &[]);
        round_trip(&TieredOffsets::new(), &schema);
        round_trip(
            &TieredOffsets::from([(BucketId::unpartitioned(0), 0), (BucketId::unpartitioned(3), u64::MAX)]),
            &schema,
        );
    }

    #[test]
    fn every_kind_of_partition_value_survives() {
        let columns = [
            ("text", DataType::STRING),
            ("day", DataType::Date),
            ("price", DataType::Decimal(10, 2)),
            ("on", DataType::Boolean),
            ("at", DataType::Timestamp(6)),
        ];
        let schema = schema(&columns, &["text", "day", "price", "on", "at"]);
        let partition = Row::new(vec![
            // A name that would be ambiguous as `k=v/k=v`.
            Value::string("a/b=c"),
            Value::Date(-3),
            Value::Decimal(-1_250),
            Value::Boolean(false),
            Value::Timestamp { millis: 1_234, nanos_of_milli: 5_000 },
        ]);
        let nothing = Row::new(vec![Value::Null; columns.len()]);
        round_trip(
            &TieredOffsets::from([
                (BucketId { partition, bucket: 1 }, 5),
                (BucketId { partition: nothing, bucket: 0 }, 6),
            ]),
            &schema,
        );
    }

    #[test]
    fn a_property_that_fits_another_table_is_refused() {
        let partitioned = schema(&[("day", DataType::STRING)], &["day"]);
        let plain = schema(&[("day", DataType::STRING)], &[]);
        let with = r#"{"table_id":1,"buckets":[{"partition":{"day":"mon"},"bucket":0,"end_offset_exclusive":1}]}"#;
        let without = r#"{"table_id":1,"buckets":[{"partition":null,"bucket":0,"end_offset_exclusive":1}]}"#;
        assert!(decode_offsets(with, &plain).unwrap_err().contains("`day`"));
        assert!(decode_offsets(without, &partitioned).unwrap_err().contains("`day`"));
        assert!(decode_offsets("/some/path.offsets", &plain).is_err());
    }
}
