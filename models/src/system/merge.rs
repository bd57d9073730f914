//! How lake rows and log records become one table (L3, L5, L6).
//!
//! Pure: rows in, rows out. It must never know where they were read, or how far.

use std::collections::BTreeMap;

use crate::contract::{BucketId, LogRecord, Row, RowKind, TableSchema};

use super::filter::BoundFilter;

/// The rows of each bucket on the lake.
pub(super) type LakeRows = BTreeMap<BucketId, Vec<Row>>;
/// The records of each bucket's log, by offset, that the lake does not contain yet.
pub(super) type LogTail = Vec<(BucketId, Vec<LogRecord>)>;

/// The union. `lake` is already filtered; `tail` must not be: a record that does not match can replace a lake row that
/// does.
pub(super) fn union(schema: &TableSchema, filter: &BoundFilter, lake: LakeRows, tail: LogTail) -> Vec<Row> {
    if schema.has_primary_key() { union_by_key(schema, filter, lake, tail) } else { concatenate(filter, lake, tail) }
}

/// An append table: each row is in the lake or in the tail, never in both.
fn concatenate(filter: &BoundFilter, lake: LakeRows, tail: LogTail) -> Vec<Row> {
    let mut rows: Vec<Row> = lake.into_values().flatten().collect();
    let log_rows = tail.into_iter().flat_map(|(_, records)| records).map(|record| record.row);
    rows.extend(log_rows.filter(|row| filter.matches(row)));
    rows
}

/// A key table: the last change of a key wins, and any change in the log is later than what the lake holds. A key
/// lives in one bucket for ever, so the merge is bucket by bucket.
fn union_by_key(schema: &TableSchema, filter: &BoundFilter, mut lake: LakeRows, tail: LogTail) -> Vec<Row> {
    let key_positions = schema.key_positions();
    let mut rows = Vec::new();
    for (bucket, records) in tail {
        let lake_rows = lake.remove(&bucket).unwrap_or_default();
        let newest = newest_by_key(&key_positions, records);
        // Every lake row is looked at, also those beyond the last key that the log changed.
        rows.extend(lake_rows.into_iter().filter(|row| !newest.contains_key(&row.project(&key_positions))));
        rows.extend(newest.into_values().flatten().filter(|row| filter.matches(row)));
    }
    rows.extend(lake.into_values().flatten());
    rows
}

/// Planted bug merge-drops-tail: changes of keys beyond the last key that the lake holds of their bucket are lost. A
/// bucket that the lake holds nothing of is not merged, and loses nothing.
pub(super) fn drop_beyond_lake(schema: &TableSchema, lake: &LakeRows, tail: &mut LogTail) {
    let key_positions = schema.key_positions();
    for (bucket, records) in tail {
        let last = lake.get(bucket).and_then(|rows| rows.iter().map(|row| row.project(&key_positions)).max());
        if let Some(last) = last {
            records.retain(|record| record.row.project(&key_positions) <= last);
        }
    }
}

/// What the records leave of each key that they touch: a row, or `None` for a deleted key.
fn newest_by_key(key_positions: &[usize], records: Vec<LogRecord>) -> BTreeMap<Row, Option<Row>> {
    let mut newest = BTreeMap::new();
    for record in records {
        let after = match record.kind {
            RowKind::Insert | RowKind::UpdateAfter => Some(record.row.clone()),
            RowKind::Delete => None,
            // Only the first half of an update; were it a removal, a range that ends here would lose the key.
            RowKind::UpdateBefore => continue,
        };
        newest.insert(record.row.project(key_positions), after);
    }
    newest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contract::{Filter, Value};

    fn schema(primary_key: &str) -> TableSchema {
        serde_json::from_str(&format!(
            r#"{{"columns":[{{"name":"id","type":"BIGINT","nullable":false}},{{"name":"v","type":"BIGINT"}}],
                 "primary_key":{primary_key}}}"#
        ))
        .unwrap()
    }

    fn row(id: i64, v: i64) -> Row {
        Row::new(vec![Value::Int(id), Value::Int(v)])
    }

    fn record(offset: u64, kind: RowKind, row: Row) -> LogRecord {
        LogRecord { offset, kind, row }
    }

    fn one_bucket() -> BucketId {
        BucketId::unpartitioned(0)
    }

    #[test]
    fn an_append_table_is_lake_and_tail_one_after_the_other() {
        let lake = LakeRows::from([(one_bucket(), vec![row(1, 1), row(1, 1)])]);
        let tail = vec![
            (one_bucket(), vec![record(2, RowKind::Insert, row(1, 1))]),
            (BucketId::unpartitioned(1), vec![record(0, RowKind::Insert, row(2, 2))]),
        ];
        let rows = union(&schema("[]"), &BoundFilter::everything(), lake, tail);
        assert_eq!(rows, [row(1, 1), row(1, 1), row(1, 1), row(2, 2)]);
    }

    #[test]
    fn in_a_key_table_the_log_wins_deletes_remove_and_untouched_lake_rows_stay() {
        let lake = LakeRows::from([
            (one_bucket(), vec![row(1, 1), row(2, 2), row(9, 9)]),
            (BucketId::unpartitioned(5), vec![row(7, 7)]),
        ]);
        let tail = vec![(
            one_bucket(),
            vec![
                record(4, RowKind::UpdateBefore, row(1, 1)),
                record(5, RowKind::UpdateAfter, row(1, 10)),
                record(6, RowKind::Delete, row(2, 2)),
                record(7, RowKind::Insert, row(3, 3)),
            ],
        )];
        let mut rows = union(&schema(r#"["id"]"#), &BoundFilter::everything(), lake, tail);
        rows.sort();
        assert_eq!(rows, [row(1, 10), row(3, 3), row(7, 7), row(9, 9)]);
    }

    #[test]
    fn a_range_that_ends_between_the_halves_of_an_update_keeps_the_key() {
        let lake = LakeRows::from([(one_bucket(), vec![row(1, 1)])]);
        let tail = vec![(one_bucket(), vec![record(4, RowKind::UpdateBefore, row(1, 1))])];
        assert_eq!(union(&schema(r#"["id"]"#), &BoundFilter::everything(), lake, tail), [row(1, 1)]);
    }

    #[test]
    fn a_log_record_that_does_not_match_still_replaces_a_lake_row_that_does() {
        let schema = schema(r#"["id"]"#);
        let filter = BoundFilter::bind(&Filter::from([("v".to_owned(), Value::Int(1))]), &schema).unwrap();
        let lake = LakeRows::from([(one_bucket(), vec![row(1, 1)])]);
        let tail = vec![(one_bucket(), vec![record(4, RowKind::UpdateAfter, row(1, 2))])];
        assert_eq!(union(&schema, &filter, lake, tail), []);
    }

    proptest! {
        /// L6: wherever the log is cut into a lake part and a tail, the union is the whole log's state.
        #[test]
        fn the_union_does_not_depend_on_where_the_lake_ends(
            changes in prop::collection::vec((0_i64..6, prop::option::of(0_i64..100)), 0..40),
            cut in 0_usize..40,
        ) {
            let schema = schema(r#"["id"]"#);
            let log: Vec<LogRecord> = changes
                .iter()
                .enumerate()
                .map(|(offset, (id, value))| match value {
                    Some(value) => record(offset as u64, RowKind::Insert, row(*id, *value)),
                    None => record(offset as u64, RowKind::Delete, row(*id, 0)),
                })
                .collect();
            let state = |records: &[LogRecord]| {
                let tail = vec![(one_bucket(), records.to_vec())];
                let mut rows = union(&schema, &BoundFilter::everything(), LakeRows::new(), tail);
                rows.sort();
                rows
            };
            let (tiered, tail) = log.split_at(cut.min(log.len()));
            let lake = LakeRows::from([(one_bucket(), state(tiered))]);
            let mut rows = union(&schema, &BoundFilter::everything(), lake, vec![(one_bucket(), tail.to_vec())]);
            rows.sort();
            prop_assert_eq!(rows, state(&log));
        }
    }
}
