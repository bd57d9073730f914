//! Deletion vectors: made by compaction, obeyed by readers, and refused where they do not fit their files.

use std::collections::BTreeMap;

use bytes::Bytes;
use models::contract::{ObjectStore, Row, RowKind, TableSchema};
use models::paimon::index_manifest::{DELETION_VECTORS_INDEX, decode_index_manifest};
use models::paimon::{
    CommitKind, CompactionKind, IndexManifestEntry, PaimonTable, RollbackTarget, Verification, verify,
};
use proptest::prelude::*;

use crate::surroundings::*;

use CompactionKind::{Automatic, Full};

/// A key table of one bucket with deletion vectors.
fn vectors_schema() -> TableSchema {
    with_option(with_option(key_schema(), "bucket", "1"), "deletion-vectors.enabled", "true")
}

/// The index files of the newest snapshot.
async fn index_files(warehouse: &Warehouse, table: &PaimonTable) -> Vec<IndexManifestEntry> {
    let Some(name) = latest(table).await.index_manifest else {
        return Vec::new();
    };
    let bytes = warehouse.storage.memory.get(&format!("db.db/t/manifest/{name}")).await.unwrap();
    decode_index_manifest(&[], &bytes).unwrap().to_vec()
}

/// The number of rows that the newest snapshot's vectors delete.
async fn deleted_rows(warehouse: &Warehouse, table: &PaimonTable) -> u64 {
    let files = index_files(warehouse, table).await;
    let vectors = files.iter().flat_map(|file| file.deletion_vectors.as_deref().unwrap_or_default());
    vectors.map(|vector| vector.cardinality.unwrap()).sum()
}

async fn upsert(table: &PaimonTable, subject: &str, ids: &[i64]) {
    let rows: Vec<Row> = ids.iter().map(|id| row(*id, subject, "d")).collect();
    append(table, subject, &inserts(&rows)).await;
}

/// Forty rows at the top, then an upsert of key 3 and a delete of key 5 that are compacted above it.
async fn table_with_a_vector(warehouse: &Warehouse) -> PaimonTable {
    let table = warehouse.create_unchecked(&vectors_schema()).await;
    upsert(&table, "old", &(0..400).collect::<Vec<_>>()).await;
    assert!(compact(&table, "to the top", Full).await);
    let changes = [(RowKind::Insert, row(3, "new", "d")), (RowKind::Delete, row(5, "new", "d"))];
    append(&table, "new", &changes).await;
    assert!(compact(&table, "of level 0", Automatic).await);
    table
}

fn expected_rows() -> Vec<Row> {
    let row_of = |id: i64| row(id, if id == 3 { "new" } else { "old" }, "d");
    (0..400).filter(|id| *id != 5).map(row_of).collect()
}

#[tokio::test]
async fn batch_readers_do_not_look_at_level_0_unless_the_table_asks_them_to() {
    for (merge_on_read, before_compaction) in [("false", Vec::new()), ("true", vec![row(1, "a", "d")])] {
        let warehouse = warehouse();
        let schema = with_option(vectors_schema(), "deletion-vectors.merge-on-read", merge_on_read);
        let table = warehouse.create_unchecked(&schema).await;
        upsert(&table, "a", &[1]).await;
        assert_eq!(rows(&table).await, before_compaction);
        assert!(compact(&table, "compaction", Automatic).await, "level 0 never waits");
        assert_eq!(rows(&table).await, [row(1, "a", "d")]);
    }
}

#[tokio::test]
async fn compaction_marks_what_it_replaces_and_commits_files_and_vectors_at_once() {
    let warehouse = warehouse();
    let table = table_with_a_vector(&warehouse).await;
    let snapshot = latest(&table).await;
    assert_eq!((snapshot.commit_kind, snapshot.total_record_count), (CommitKind::Compact, 401));
    let files = index_files(&warehouse, &table).await;
    assert_eq!(files.len(), 1);
    assert_eq!((files[0].index_type.as_str(), files[0].row_count), (DELETION_VECTORS_INDEX, 1));
    assert_eq!(deleted_rows(&warehouse, &table).await, 2);
    assert_eq!(rows(&table).await, expected_rows());
}

#[tokio::test]
async fn a_full_compaction_makes_vectors_superfluous() {
    let warehouse = warehouse();
    let table = table_with_a_vector(&warehouse).await;
    assert!(compact(&table, "everything", Full).await);
    assert_eq!(latest(&table).await.total_record_count, 399);
    assert_eq!(index_files(&warehouse, &table).await, []);
    assert_eq!(rows(&table).await, expected_rows());
    assert!(!compact(&table, "again", Full).await);
}

#[tokio::test]
async fn a_rollback_as_latest_brings_the_vectors_of_its_target_back_and_no_others() {
    let warehouse = warehouse();
    let table = table_with_a_vector(&warehouse).await;
    let before_vectors = RollbackTarget::Snapshot(2);
    let with_vectors = RollbackTarget::Snapshot(latest(&table).await.id);
    assert!(compact(&table, "everything", Full).await);

    table.rollback_to_as_latest("to vectors", &with_vectors).await.unwrap();
    assert_eq!((latest(&table).await.total_record_count, deleted_rows(&warehouse, &table).await), (401, 2));
    assert_eq!(rows(&table).await, expected_rows());

    table.rollback_to_as_latest("to none", &before_vectors).await.unwrap();
    assert_eq!(index_files(&warehouse, &table).await, []);
    let old: Vec<Row> = (0..400).map(|id| row(id, "old", "d")).collect();
    assert_eq!(rows(&table).await, old);

    table.rollback_to_as_latest("to vectors again", &with_vectors).await.unwrap();
    upsert(&table, "newer", &[5]).await;
    assert!(compact(&table, "of newer", Automatic).await);
    assert_eq!(rows(&table).await.len(), 400);
    assert_eq!(verify(&*warehouse.lake.objects, &path()).await, Verification::default());
}

#[tokio::test]
async fn an_aborted_compaction_takes_its_index_file_along() {
    let warehouse = warehouse();
    let table = table_with_a_vector(&warehouse).await;
    upsert(&table, "newer", &[7]).await;
    let before = warehouse.storage.memory.list("db.db/t").await.unwrap();
    let request = compaction(&table, "aborted", Automatic).await.unwrap();
    assert!(warehouse.storage.memory.list("db.db/t").await.unwrap().len() > before.len());
    table.abort(&request.committable).await.unwrap();
    assert_eq!(warehouse.storage.memory.list("db.db/t").await.unwrap(), before);
}

/// Reads a table with a vector after its index file was replaced by these bytes, and its index manifest by these
/// entries; returns what the reader says.
async fn refusal(change: impl FnOnce(&mut IndexManifestEntry, &mut Vec<u8>)) -> String {
    use models::paimon::index_manifest::encode_index_manifest;

    let warehouse = warehouse();
    let table = table_with_a_vector(&warehouse).await;
    let mut entry = index_files(&warehouse, &table).await.remove(0);
    let path = format!("db.db/t/index/{}", entry.file_name);
    let mut bytes = warehouse.storage.memory.get(&path).await.unwrap().to_vec();
    change(&mut entry, &mut bytes);
    // Names without a seal: what a foreign writer writes.
    entry.file_name = "index-foreign-0".to_owned();
    warehouse.storage.memory.put("db.db/t/index/index-foreign-0", Bytes::from(bytes)).await.unwrap();
    let manifest = encode_index_manifest(&[], &[entry], [7; 16]).unwrap();
    warehouse.storage.memory.put("db.db/t/manifest/index-manifest-foreign-0", manifest).await.unwrap();
    let mut snapshot = latest(&table).await;
    snapshot.index_manifest = Some("index-manifest-foreign-0".to_owned());
    let failure = table.scan(&snapshot, &Default::default()).await.unwrap_err();
    assert!(failure.message.contains("index-foreign-0") || failure.message.contains("bucket-0"), "{failure}");
    failure.message
}

/// A change of the first vector's place.
fn place(
    change: impl FnOnce(&mut models::paimon::DeletionVectorMeta),
) -> impl FnOnce(&mut IndexManifestEntry, &mut Vec<u8>) {
    |entry, _| change(&mut entry.deletion_vectors.as_mut().unwrap()[0])
}

#[tokio::test]
async fn each_defect_of_an_index_is_named() {
    let cases = [
        (refusal(place(|place| place.data_file = "data-gone".to_owned())).await, "found one of data-gone"),
        (refusal(place(|place| place.cardinality = Some(3))).await, "expected 3 deleted rows"),
        (refusal(place(|place| place.offset = 1 << 30)).await, "of its size, found 0"),
        (refusal(place(|place| place.length = u32::MAX)).await, "expected 4294967295 bytes"),
        (refusal(|_, bytes| bytes[20] ^= 1).await, "the checksum"),
        (refusal(|entry, _| entry.file_size += 1).await, "bytes as its index manifest says"),
        (refusal(|entry, _| entry.deletion_vectors = None).await, "where its vectors lie"),
        (refusal(|entry, _| entry.bucket = 9).await, "live files of bucket 9"),
        (
            refusal(|entry, _| {
                let vectors = entry.deletion_vectors.as_mut().unwrap();
                vectors.push(vectors[0].clone());
            })
            .await,
            "expected one deletion vector",
        ),
        (
            refusal(|entry, bytes| {
                use models::paimon::deletion_vectors::index_file::encode_index_file;

                let places = entry.deletion_vectors.as_mut().unwrap();
                let longer = [4_000].into_iter().collect();
                let (forged, forged_places) =
                    encode_index_file(&BTreeMap::from([(places[0].data_file.clone(), longer)])).unwrap();
                *bytes = forged.to_vec();
                *places = forged_places;
                entry.file_size = bytes.len() as u64;
            })
            .await,
            "positions below 400, found 4000",
        ),
    ];
    for (message, sentence) in cases {
        assert!(message.contains(sentence), "expected {sentence:?} in {message:?}");
    }
}

#[tokio::test]
async fn every_flipped_byte_of_an_index_file_is_found() {
    let warehouse = warehouse();
    let table = table_with_a_vector(&warehouse).await;
    let path = format!("db.db/t/index/{}", index_files(&warehouse, &table).await[0].file_name);
    let whole = warehouse.storage.memory.get(&path).await.unwrap();
    for position in 0..whole.len() {
        let mut broken = whole.to_vec();
        broken[position] ^= 1;
        warehouse.storage.memory.put(&path, Bytes::from(broken)).await.unwrap();
        let failure = table.scan(&latest(&table).await, &Default::default()).await.unwrap_err();
        assert!(failure.message.contains(&path), "byte {position}: {}", failure.message);
    }
}

/// Upserts (`true`) and deletes by key, then a compaction.
type Round = (Vec<(i64, bool)>, CompactionKind);

async fn compacted_table_equals_map(target_file_size: &str, rounds: Vec<Round>) {
    let warehouse = warehouse();
    let table = warehouse.create_unchecked(&with_option(vectors_schema(), "target-file-size", target_file_size)).await;
    let mut model: BTreeMap<i64, Row> = BTreeMap::new();
    for (number, (changes, kind)) in rounds.into_iter().enumerate() {
        let mut written = Vec::new();
        for (index, (key, present)) in changes.into_iter().enumerate() {
            let row = row(key, &format!("{number}.{index}"), "d");
            written.push((if present { RowKind::Insert } else { RowKind::Delete }, row.clone()));
            if present {
                model.insert(key, row);
            } else {
                model.remove(&key);
            }
        }
        append(&table, &format!("write {number}"), &written).await;
        compact(&table, &format!("compaction {number}"), kind).await;
        let expected: Vec<Row> = model.values().cloned().collect();
        assert_eq!(rows(&table).await, expected, "after round {number}");
        // Readers that do not merge would see every row that is not marked.
        let unmarked = latest(&table).await.total_record_count - deleted_rows(&warehouse, &table).await as i64;
        assert_eq!(unmarked, expected.len() as i64, "after round {number}");
    }
}

fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_compacted_table_equals_a_map_and_has_one_unmarked_row_a_key(
        rounds in prop::collection::vec(
            (
                prop::collection::vec((0..12_i64, prop::bool::weighted(0.7)), 0..6),
                prop_oneof![1 => Just(Full), 4 => Just(Automatic)],
            ),
            1..10,
        ),
        small in any::<bool>(),
    ) {
        block_on(compacted_table_equals_map(if small { "128 mb" } else { "1 b" }, rounds));
    }
}
