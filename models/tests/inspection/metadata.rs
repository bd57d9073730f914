//! Damage of schemas, snapshots, hints, manifest lists and manifests.

use std::rc::Rc;

use models::paimon::integrity::Rule;
use models::paimon::{FileKind, ManifestEntry};

use crate::damaged::*;

#[test]
fn a_missing_snapshot_in_the_middle_is_named() {
    let table = Damaged::copy_of(KEY);
    table.delete("snapshot/snapshot-2");
    table.expect(Rule::SnapshotChain, "snapshot/snapshot-2");
}

#[test]
fn a_missing_first_snapshot_needs_a_hint() {
    let table = Damaged::copy_of(KEY);
    table.delete("snapshot/EARLIEST");
    table.delete("snapshot/snapshot-1");
    table.expect(Rule::SnapshotChain, "snapshot/snapshot-1");
}

#[test]
fn an_earliest_hint_that_hides_snapshots_is_named() {
    let table = Damaged::copy_of(KEY);
    table.put("snapshot/EARLIEST", "2");
    table.expect(Rule::Hint, "snapshot/EARLIEST");
}

#[test]
fn hints_that_name_nothing_are_named() {
    for garbage in ["", "x", "9", "-1", "18446744073709551616", "\u{0}\u{ff}"] {
        let table = Damaged::copy_of(KEY);
        table.put("snapshot/LATEST", garbage.to_owned());
        table.expect(Rule::Hint, "snapshot/LATEST");
    }
}

#[test]
fn a_snapshot_under_another_number_is_named() {
    let table = Damaged::copy_of(KEY);
    table.copy("snapshot/snapshot-2", "snapshot/snapshot-3");
    assert_eq!(table.findings()[0], (Rule::FileReadable, "snapshot/snapshot-3".to_owned()));
}

#[test]
fn a_watermark_that_goes_back_is_named() {
    let table = Damaged::copy_of(KEY);
    table.edit_json("snapshot/snapshot-2", |snapshot| snapshot["watermark"] = 7.into());
    table.expect(Rule::SnapshotOrder, "snapshot/snapshot-3");
}

#[test]
fn wrong_record_counts_are_named() {
    for field in ["totalRecordCount", "deltaRecordCount"] {
        let table = Damaged::copy_of(KEY);
        table.edit_snapshot(|snapshot| snapshot[field] = i64::MIN.into());
        table.expect(Rule::Totals, "snapshot/snapshot-3");
    }
}

#[test]
fn a_missing_schema_is_told_once() {
    let table = Damaged::copy_of(KEY);
    table.delete("schema/schema-0");
    table.expect(Rule::Schema, "schema/schema-0");
}

#[test]
fn a_schema_that_is_ahead_is_named() {
    let table = Damaged::copy_of(KEY);
    table.edit_snapshot(|snapshot| snapshot["schemaId"] = 7.into());
    table.expect(Rule::Schema, "schema/schema-7");
}

#[test]
fn a_schema_of_a_data_file_that_does_not_exist_is_named() {
    let table = Damaged::copy_of(KEY);
    table.edit_file(|file| file.schema_id = 7);
    table.expect(Rule::Schema, "schema/schema-7");
}

#[test]
fn a_gap_between_schemas_is_named() {
    let table = Damaged::copy_of(KEY);
    table.copy("schema/schema-0", "schema/schema-2");
    table.edit_json("schema/schema-2", |schema| schema["id"] = 2.into());
    table.expect(Rule::Schema, "schema/schema-1");
}

#[test]
fn a_schema_that_makes_no_sense_is_named() {
    let table = Damaged::copy_of(KEY);
    table.edit_json("schema/schema-0", |schema| schema["highestFieldId"] = 0.into());
    table.expect(Rule::Schema, "schema/schema-0");
}

#[test]
fn a_file_that_is_added_twice_is_named() {
    let table = Damaged::copy_of(KEY);
    let mut rows = 0;
    let manifest = table.edit_entries(|entries| {
        rows = entries[0].file.row_count as i64;
        entries.push(entries[0].clone());
    });
    table.edit_snapshot(|snapshot| {
        snapshot["deltaRecordCount"] = (snapshot["deltaRecordCount"].as_i64().unwrap() + rows).into();
    });
    table.expect(Rule::Replay, &manifest);
}

#[test]
fn a_file_that_comes_back_beside_a_delete_of_it_is_named() {
    // Counts and live files are right, and still there are readers who miss its rows.
    let table = Damaged::copy_of(KEY);
    let manifest = table.edit_entries(|entries| {
        let back = entries[0].clone();
        let gone = ManifestEntry { kind: FileKind::Delete, ..back.clone() };
        entries.extend([gone, back]);
    });
    table.expect(Rule::Replay, &manifest);
}

#[test]
fn a_delete_of_a_file_that_is_not_live_is_named() {
    let table = Damaged::copy_of(KEY);
    let mut rows = 0;
    let manifest = table.edit_entries(|entries| {
        let mut absent = entries[0].clone();
        absent.kind = FileKind::Delete;
        rows = absent.file.row_count as i64;
        Rc::make_mut(&mut absent.file).file_name = "data-absent-0.parquet".to_owned();
        entries.push(absent);
    });
    table.edit_snapshot(|snapshot| {
        snapshot["deltaRecordCount"] = (snapshot["deltaRecordCount"].as_i64().unwrap() - rows).into();
    });
    table.expect(Rule::Replay, &manifest);
}

#[test]
fn files_that_go_between_two_snapshots_are_named() {
    let table = Damaged::copy_of(KEY);
    let list = table.edit_base_list(|manifests| {
        manifests.pop().unwrap();
    });
    let findings = table.findings();
    assert_eq!(findings[0], (Rule::Replay, list), "{findings:?}");
    assert_eq!(findings[1..], [(Rule::Totals, "snapshot/snapshot-3".to_owned())], "the rows are gone from the total");
}

#[test]
fn a_missing_manifest_is_told_once_and_nothing_is_said_of_its_files() {
    let table = Damaged::copy_of(KEY);
    let manifest = format!("manifest/{}", table.newest_manifest().file_name);
    table.delete(&manifest);
    table.expect(Rule::FileExists, &manifest);
    assert!(table.inspect().0.orphans_uncertain);
}

#[test]
fn a_missing_manifest_list_is_named() {
    let table = Damaged::copy_of(APPEND);
    let list = format!("manifest/{}", table.snapshot(2).base_manifest_list);
    table.delete(&list);
    table.expect(Rule::FileExists, &list);
}

#[test]
fn a_manifest_of_another_length_than_its_list_says_is_named() {
    let table = Damaged::copy_of(KEY);
    table.edit_list(|manifests| manifests[0].file_size += 1);
    let manifest = format!("manifest/{}", table.newest_manifest().file_name);
    table.expect(Rule::FileSize, &manifest);
}

#[test]
fn a_manifest_list_of_another_length_than_its_snapshot_says_is_named() {
    let table = Damaged::copy_of(KEY);
    table.edit_snapshot(|snapshot| snapshot["deltaManifestListSize"] = 1.into());
    let list = format!("manifest/{}", table.snapshot(NEWEST).delta_manifest_list);
    table.expect(Rule::FileSize, &list);
}

#[test]
fn a_list_that_describes_its_manifest_wrongly_is_named() {
    let edits: [fn(&mut models::paimon::ManifestFileMeta); 5] = [
        |manifest| manifest.added_files += 1,
        |manifest| manifest.deleted_files += 1,
        |manifest| manifest.min_bucket = Some(1),
        |manifest| manifest.max_level = Some(5),
        |manifest| manifest.partition_stats.max_values = manifest.partition_stats.min_values.clone(),
    ];
    for edit in edits {
        let table = Damaged::copy_of(KEY);
        // Describes it anew, so that every field says something.
        let manifest = table.edit_entries(|_| ());
        table.edit_list(|manifests| edit(&mut manifests[0]));
        table.expect(Rule::ManifestDescription, &manifest);
    }
}
