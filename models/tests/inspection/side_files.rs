//! Damage of tags, branches, changelogs, consumers, index manifests and statistics.

use std::collections::BTreeMap;

use models::contract::{Row, Value};
use models::paimon::FileKind;
use models::paimon::deletion_vectors::DeletionVector;
use models::paimon::deletion_vectors::index_file::encode_index_file;
use models::paimon::index_manifest::{
    DELETION_VECTORS_INDEX, DeletionVectorMeta, HASH_INDEX, IndexManifestEntry, encode_index_manifest,
};
use models::paimon::integrity::Rule;

use crate::damaged::*;

#[test]
fn a_sound_tag_is_told_of_and_keeps_its_files() {
    let table = Damaged::copy_of(KEY);
    table.copy("snapshot/snapshot-2", "tag/tag-release");
    let (verification, contents) = table.inspect();
    assert_eq!((verification.findings, verification.orphans, contents.tags), (vec![], vec![], vec!["release".into()]));
}

#[test]
fn a_tag_to_nowhere_is_named() {
    let table = Damaged::copy_of(KEY);
    table.copy("snapshot/snapshot-2", "tag/tag-lost");
    table.edit_json("tag/tag-lost", |tag| tag["baseManifestList"] = "manifest-list-lost-0".into());
    table.expect(Rule::FileExists, "manifest/manifest-list-lost-0");
}

#[test]
fn a_tag_that_is_none_is_named() {
    let table = Damaged::copy_of(KEY);
    table.put("tag/tag-empty", "{}");
    table.expect(Rule::FileReadable, "tag/tag-empty");
}

#[test]
fn a_file_that_only_a_tag_needs_is_missed() {
    let table = Damaged::copy_of(KEY);
    let file = table.edit_file(|_| ());
    table.rename("snapshot/snapshot-3", "tag/tag-kept");
    table.put("snapshot/LATEST", "2");
    assert_eq!(table.findings(), []);
    table.delete(&file);
    table.expect(Rule::FileExists, &file);
}

fn branched() -> Damaged {
    let table = Damaged::copy_of(KEY);
    table.copy("schema/schema-0", "branch/branch-b/schema/schema-0");
    table.copy("snapshot/snapshot-2", "branch/branch-b/snapshot/snapshot-2");
    table
}

#[test]
fn a_branch_begins_at_its_snapshot_and_shares_the_files() {
    let (verification, contents) = branched().inspect();
    assert_eq!((verification.findings, verification.orphans), (vec![], vec![]));
    assert_eq!(contents.branches, ["b"]);
}

#[test]
fn a_branch_without_a_schema_is_named() {
    let table = branched();
    table.delete("branch/branch-b/schema/schema-0");
    let findings = table.findings();
    assert_eq!(findings[0], (Rule::Branch, "branch/branch-b/schema".to_owned()), "{findings:?}");
}

#[test]
fn a_dangling_branch_is_named() {
    let table = branched();
    let snapshot = "branch/branch-b/snapshot/snapshot-2";
    table.edit_json(snapshot, |snapshot| snapshot["deltaManifestList"] = "manifest-list-lost-1".into());
    table.expect(Rule::FileExists, "manifest/manifest-list-lost-1");
}

#[test]
fn a_consumer_that_cannot_go_on_is_named() {
    for next_snapshot in [0, 9] {
        let table = Damaged::copy_of(KEY);
        table.put("consumer/consumer-c", format!("{{\"nextSnapshot\":{next_snapshot}}}"));
        table.expect(Rule::Consumer, "consumer/consumer-c");
    }
    let table = Damaged::copy_of(KEY);
    table.put("consumer/consumer-c", "{\"nextSnapshot\":4}");
    assert_eq!(table.findings(), []);
    table.put("consumer/consumer-c", "4");
    table.expect(Rule::FileReadable, "consumer/consumer-c");
}

#[test]
fn a_changelog_that_lost_its_files_is_named() {
    let table = Damaged::copy_of(KEY);
    table.copy("snapshot/snapshot-1", "changelog/changelog-1");
    table.put("changelog/EARLIEST", "1");
    table.put("changelog/LATEST", "1");
    assert_eq!(table.findings(), []);
    table.edit_json("changelog/changelog-1", |log| log["changelogManifestList"] = "manifest-list-lost-2".into());
    table.expect(Rule::FileExists, "manifest/manifest-list-lost-2");
}

#[test]
fn a_changelog_hint_that_names_nothing_is_named() {
    let table = Damaged::copy_of(KEY);
    table.copy("snapshot/snapshot-1", "changelog/changelog-1");
    table.put("changelog/LATEST", "5");
    table.expect(Rule::Hint, "changelog/LATEST");
}

#[test]
fn statistics_that_are_missing_or_from_the_future_are_named() {
    let table = Damaged::copy_of(KEY);
    table.edit_snapshot(|snapshot| snapshot["statistics"] = "stat-1".into());
    table.expect(Rule::FileExists, "statistics/stat-1");
    table.put("statistics/stat-1", r#"{"snapshotId":2,"schemaId":0}"#);
    assert_eq!(table.findings(), []);
    table.put("statistics/stat-1", r#"{"snapshotId":9,"schemaId":0}"#);
    table.expect(Rule::TableStatistics, "statistics/stat-1");
}

#[test]
fn a_dangling_index_manifest_is_named() {
    let table = Damaged::copy_of(KEY);
    table.edit_snapshot(|snapshot| snapshot["indexManifest"] = "index-manifest-lost-0".into());
    table.expect(Rule::FileExists, "manifest/index-manifest-lost-0");
}

/// Gives the newest snapshot an index file of this content and these deletion vectors.
fn indexed(index_type: &str, row_count: u64, vectors: Option<Vec<DeletionVectorMeta>>, content: &[u8]) -> Damaged {
    let table = Damaged::copy_of(KEY);
    let entry = IndexManifestEntry {
        kind: FileKind::Add,
        partition: Row::new(vec![Value::string("d1")]),
        bucket: 0,
        index_type: index_type.to_owned(),
        file_name: "index-a-0".to_owned(),
        file_size: content.len() as u64,
        row_count,
        deletion_vectors: vectors,
        external_path: None,
    };
    let bytes = encode_index_manifest(&table.partition_types(), &[entry], [7; 16]).unwrap();
    table.put("manifest/index-manifest-a-0", bytes);
    table.put("index/index-a-0", content.to_vec());
    table.edit_snapshot(|snapshot| snapshot["indexManifest"] = "index-manifest-a-0".into());
    table
}

#[test]
fn a_missing_index_file_is_named() {
    let table = indexed(HASH_INDEX, 2, None, &[0; 8]);
    assert_eq!(table.findings(), []);
    table.delete("index/index-a-0");
    table.expect(Rule::FileExists, "index/index-a-0");
}

#[test]
fn an_index_of_another_length_than_it_says_is_named() {
    indexed(HASH_INDEX, 3, None, &[0; 8]).expect(Rule::Index, "index/index-a-0");
}

/// Gives the newest snapshot an index file with the vector of one file, which deletes these positions.
fn marked(data_file: &str, positions: &[u64], damage: impl FnOnce(&mut DeletionVectorMeta, &mut Vec<u8>)) -> Damaged {
    let vector: DeletionVector = positions.iter().copied().collect();
    let (bytes, mut places) = encode_index_file(&BTreeMap::from([(data_file.to_owned(), vector)])).unwrap();
    let mut bytes = bytes.to_vec();
    damage(&mut places[0], &mut bytes);
    indexed(DELETION_VECTORS_INDEX, 1, Some(places), &bytes)
}

/// A live file of the bucket that the index belongs to.
fn a_live_file() -> String {
    let files = Damaged::copy_of(KEY).data_files();
    let file = files.iter().find(|file| file.contains("dt=d1/bucket-0")).unwrap();
    file.rsplit('/').next().unwrap().to_owned()
}

#[test]
fn a_sound_deletion_vector_is_sound() {
    assert_eq!(marked(&a_live_file(), &[0], |_, _| ()).findings(), []);
}

#[test]
fn a_deletion_vector_of_a_file_that_is_not_live_is_named() {
    marked("data-lost-0.parquet", &[0], |_, _| ()).expect(Rule::DeletionVector, "manifest/index-manifest-a-0");
}

#[test]
fn a_deletion_vector_of_rows_that_the_file_does_not_have_is_named() {
    marked(&a_live_file(), &[1_000_000], |_, _| ()).expect(Rule::DeletionVector, "index/index-a-0");
}

#[test]
fn a_deletion_vector_beyond_its_file_is_named() {
    for (offset, length) in [(1, u32::MAX), (u32::MAX, 1), (10, 4)] {
        let table = marked(&a_live_file(), &[0], |place, _| (place.offset, place.length) = (offset, length));
        table.expect(Rule::DeletionVector, "index/index-a-0");
    }
}

#[test]
fn a_flipped_byte_of_a_deletion_vector_is_named() {
    for position in [0, 4, 8, 12, 20] {
        let table = marked(&a_live_file(), &[0], |_, bytes| bytes[position] ^= 1);
        table.expect(Rule::DeletionVector, "index/index-a-0");
    }
}
