//! Partitions that leave the store for the lake, and what becomes of reads and writes of them.

use models::contract::{
    AppendRequest, BucketId, BucketOffsets, FailureCode, Host, LakeSnapshot, Mutation, Row, Store, TableId, Value,
};
use models::defects::Defect;
use models::store::InMemoryStore;

use crate::fixture::{RETENTION_INTERVAL_MS, SYNC_MS, ack, create, cut_after, path, store, store_with};

/// `db.t` as a key table of (id, v, d), partitioned by d, of which the two newest partitions stay.
async fn keeps_two(store: &InMemoryStore) -> TableId {
    let schema = r#"{"columns":[{"name":"id","type":"BIGINT","nullable":false},{"name":"v","type":"BIGINT"},
                                {"name":"d","type":"STRING","nullable":false}],
        "primary_key":["id","d"],"partition_keys":["d"],
        "options":{"bucket":"1","lakestream.enabled":"true","table.auto-partition.num-retention":"2"}}"#;
    create(store, schema).await
}

fn bucket(partition: &str) -> BucketId {
    BucketId { partition: Row::new(vec![Value::string(partition)]), bucket: 0 }
}

fn key(id: i64, partition: &str) -> Row {
    Row::new(vec![Value::Int(id), Value::string(partition)])
}

fn row(id: i64, v: i64, partition: &str) -> Row {
    Row::new(vec![Value::Int(id), Value::Int(v), Value::string(partition)])
}

/// Writer 1's batch with this number: one row.
fn batch(table_id: TableId, batch_sequence: u64, row: Row) -> AppendRequest {
    let bucket = BucketId { partition: row.project(&[2]), bucket: 0 };
    AppendRequest { table_id, bucket, mutations: vec![Mutation::Put(row)], writer_id: 1, batch_sequence }
}

/// A row in each of these partitions.
async fn with_rows_in(store: &InMemoryStore, partitions: &[&str]) -> TableId {
    let table = keeps_two(store).await;
    for partition in partitions {
        store.append(batch(table, 0, row(1, 10, partition))).await.unwrap();
    }
    table
}

async fn let_retention_look(store: &InMemoryStore) {
    cut_after(2 * RETENTION_INTERVAL_MS, store.run()).await;
}

async fn register(store: &InMemoryStore, table: TableId, offsets: &[(&str, u64)]) {
    let offsets = offsets.iter().map(|(partition, offset)| (bucket(partition), *offset)).collect();
    store.register_lake_snapshot(table, LakeSnapshot { snapshot_id: 1, offsets }.into()).await.unwrap();
}

/// The partitions that have left.
async fn gone(store: &InMemoryStore, table: TableId) -> Vec<BucketId> {
    let offsets = store.bucket_offsets(table).await.unwrap();
    offsets.into_iter().filter(|offsets| offsets.has_expired).map(|offsets| offsets.bucket).collect()
}

#[tokio::test(start_paused = true)]
async fn the_oldest_partition_goes_once_the_lake_has_all_of_it() {
    let store = store();
    let table = with_rows_in(&store, &["mon", "sat", "tue"]).await;
    let_retention_look(&store).await;
    assert_eq!(gone(&store, table).await, [], "none of it is in the lake");
    register(&store, table, &[("mon", 1), ("sat", 1)]).await;
    let_retention_look(&store).await;
    let empty = BucketOffsets {
        bucket: bucket("mon"),
        log_start_offset_inclusive: 1,
        log_end_offset_exclusive: 1,
        has_expired: true,
    };
    assert_eq!(store.bucket_offsets(table).await.unwrap()[0], empty);
    assert_eq!(gone(&store, table).await, [bucket("mon")], "the newest two stay, wherever their rows are");
    assert_eq!(store.lookup(table, &bucket("mon"), &key(1, "mon")).await, Ok(None));
    assert_eq!(store.lookup(table, &bucket("sat"), &key(1, "sat")).await, Ok(Some(row(1, 10, "sat"))));
    let failure = store.fetch_log(table, &bucket("mon"), 0, 1).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::Invalid);
}

#[tokio::test(start_paused = true)]
async fn an_untiered_tail_waits_and_so_does_a_write_under_way() {
    let store = store();
    let table = with_rows_in(&store, &["mon", "sat", "tue"]).await;
    store.append(batch(table, 1, row(2, 20, "mon"))).await.unwrap();
    register(&store, table, &[("mon", 1)]).await;
    let_retention_look(&store).await;
    assert_eq!(gone(&store, table).await, [], "the second row of mon is not in the lake");
    // A batch that arrived and is not durable yet.
    cut_after(SYNC_MS / 2, store.append(batch(table, 1, row(2, 20, "sat")))).await;
    store.append(batch(table, 0, row(1, 10, "wed"))).await.unwrap();
    let offsets = [(bucket("mon"), 2), (bucket("sat"), 1)].into();
    store.register_lake_snapshot(table, LakeSnapshot { snapshot_id: 2, offsets }.into()).await.unwrap();
    let_retention_look(&store).await;
    assert_eq!(gone(&store, table).await, [bucket("mon")], "sat has a write under way");
}

#[tokio::test(start_paused = true)]
async fn nobody_writes_to_what_only_the_lake_has() {
    let store = store();
    let table = with_rows_in(&store, &["mon", "sat", "tue"]).await;
    register(&store, table, &[("mon", 1)]).await;
    let_retention_look(&store).await;
    let failure = store.append(batch(table, 1, row(2, 20, "mon"))).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Unsupported, true), "{failure}");
    assert_eq!(store.append(batch(table, 0, row(1, 10, "mon"))).await, ack(1), "a late retry has its first answer");
    store.crash();
    assert_eq!(gone(&store, table).await, [bucket("mon")], "for good");
    let observed = store.observe(&path());
    assert_eq!(observed.log_start.unwrap()[0].offset, 1, "whoever looks sees that the log is gone");
}

#[tokio::test(start_paused = true)]
async fn a_number_of_partitions_that_makes_no_sense_is_refused() {
    let store = store();
    for (partition_keys, retained) in [(r#"["d"]"#, "0"), (r#"["d"]"#, "all"), ("[]", "2")] {
        let text = format!(
            r#"{{"columns":[{{"name":"id","type":"BIGINT"}},{{"name":"d","type":"STRING"}}],
                "partition_keys":{partition_keys},"options":{{"table.auto-partition.num-retention":"{retained}"}}}}"#
        );
        let refused = store.create_table(&path(), &serde_json::from_str(&text).unwrap()).await;
        assert_eq!(refused.unwrap_err().code, FailureCode::Invalid, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn partition_drop_before_tier_drops_what_the_lake_does_not_have() {
    let store = store_with(&[Defect::PartitionDropBeforeTier]);
    let table = with_rows_in(&store, &["mon", "sat", "tue"]).await;
    let_retention_look(&store).await;
    assert_eq!(gone(&store, table).await, [bucket("mon")]);
}
