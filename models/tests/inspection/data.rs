//! Damage of data files, and of what manifests say of them.

use std::rc::Rc;

use models::contract::{DataType, Row, Value};
use models::paimon::integrity::Rule;
use models::paimon::{DataFileMeta, binary_row};

use crate::damaged::*;

#[test]
fn a_missing_data_file_is_named() {
    for table in ALL {
        let table = Damaged::copy_of(table);
        let file = table.data_files().remove(0);
        table.delete(&file);
        table.expect(Rule::FileExists, &file);
    }
}

#[test]
fn a_truncated_data_file_is_named() {
    let table = Damaged::copy_of(KEY);
    let file = table.data_files().remove(0);
    let bytes = table.get(&file);
    table.put(&file, bytes.slice(..bytes.len() / 2));
    table.expect(Rule::FileSize, &file);
}

#[test]
fn an_empty_data_file_is_named() {
    let table = Damaged::copy_of(APPEND);
    let file = table.data_files().remove(0);
    table.put(&file, "");
    table.expect(Rule::FileSize, &file);
}

#[test]
fn a_flipped_byte_in_a_footer_is_named() {
    for table in [KEY, KEY_AVRO, APPEND] {
        let table = Damaged::copy_of(table);
        let file = table.data_files().remove(0);
        table.flip(&file, -3);
        table.expect(Rule::FileReadable, &file);
    }
}

#[test]
fn swapped_data_files_are_both_named() {
    let table = Damaged::copy_of(APPEND);
    let files = table.data_files();
    let (one, other) = (&files[0], &files[3]);
    let (one_bytes, other_bytes) = (table.get(one), table.get(other));
    table.put(one, other_bytes);
    table.put(other, one_bytes);
    let mut findings = table.findings();
    findings.sort();
    assert_eq!(findings, [(Rule::FileSize, one.clone()), (Rule::FileSize, other.clone())]);
}

#[test]
fn swapped_data_files_of_one_length_are_found_by_their_rows() {
    // Two buckets of one partition, and files of equal length.
    let table = Damaged::copy_of(KEY);
    let files = table.data_files();
    let of_bucket = |bucket: &str| files.iter().find(|file| file.contains(bucket)).unwrap();
    let (one, other) = (of_bucket("dt=d1/bucket-0"), of_bucket("dt=d1/bucket-1"));
    let (one_bytes, other_bytes) = (table.get(one), table.get(other));
    assert_eq!(one_bytes.len(), other_bytes.len());
    table.put(one, other_bytes);
    table.put(other, one_bytes);
    let findings = table.findings();
    for file in [one, other] {
        assert!(findings.contains(&(Rule::Bucket, file.clone())), "{findings:?}");
    }
    assert!(findings.iter().all(|(_, file)| file == one || file == other), "{findings:?}");
}

#[test]
fn a_wrong_row_count_is_told_once() {
    let table = Damaged::copy_of(KEY);
    let file = table.edit_file(|file| file.row_count += 1);
    table.expect(Rule::RowCount, &file);
}

#[test]
fn a_wrong_delete_count_is_named() {
    let table = Damaged::copy_of(KEY);
    let file = table.edit_file(|file| file.delete_row_count = Some(100));
    table.expect(Rule::DeleteCount, &file);
}

#[test]
fn a_wrong_file_size_is_named() {
    let table = Damaged::copy_of(KEY);
    let file = table.edit_file(|file| file.file_size = u64::MAX >> 1);
    table.expect(Rule::FileSize, &file);
}

fn key(id: i64) -> Vec<u8> {
    binary_row::serialize(&[DataType::BigInt], &Row::new(vec![Value::Int(id)])).unwrap()
}

#[test]
fn a_wrong_least_key_is_named() {
    let table = Damaged::copy_of(KEY);
    let file = table.edit_file(|file| file.min_key = key(-1));
    table.expect(Rule::KeyRange, &file);
}

#[test]
fn a_key_that_is_no_row_is_named() {
    let table = Damaged::copy_of(KEY);
    let file = table.edit_file(|file| file.max_key = vec![0xff; 7]);
    table.expect(Rule::KeyRange, &file);
}

#[test]
fn sequence_numbers_outside_of_their_range_are_named() {
    let table = Damaged::copy_of(KEY);
    let file = table.edit_file(|file| file.max_sequence_number = file.min_sequence_number - 1);
    table.expect(Rule::SequenceRange, &file);
}

/// The columns of the tables of pypaimon.
fn statistics(id: i64) -> Vec<u8> {
    let types = [DataType::BigInt, DataType::STRING, DataType::Int, DataType::STRING];
    binary_row::serialize(&types, &Row::new(vec![Value::Int(id), Value::Null, Value::Null, Value::Null])).unwrap()
}

fn describe_all_columns(file: &mut DataFileMeta, least_id: i64, greatest_id: i64) {
    file.value_stats_columns = None;
    file.value_stats.min_values = statistics(least_id);
    file.value_stats.max_values = statistics(greatest_id);
    file.value_stats.null_counts = vec![None; 4];
}

#[test]
fn statistics_that_exclude_a_row_are_named() {
    for name in [KEY, APPEND, KEY_AVRO] {
        let table = Damaged::copy_of(name);
        table.edit_file(|file| describe_all_columns(file, i64::MIN, i64::MAX));
        assert_eq!(table.findings(), [], "wide bounds exclude nothing");
        let file = table.edit_file(|file| describe_all_columns(file, i64::MAX - 1, i64::MAX));
        table.expect(Rule::ColumnStatistics, &file);
    }
}

#[test]
fn wrong_null_counts_are_named() {
    let table = Damaged::copy_of(APPEND);
    let file = table.edit_file(|file| {
        describe_all_columns(file, i64::MIN, i64::MAX);
        file.value_stats.null_counts = vec![Some(77), None, None, None];
    });
    table.expect(Rule::ColumnStatistics, &file);
}

#[test]
fn statistics_of_columns_that_do_not_exist_are_named() {
    let table = Damaged::copy_of(APPEND);
    let file = table.edit_file(|file| file.value_stats_columns = Some(vec!["nobody".to_owned()]));
    table.expect(Rule::ColumnStatistics, &file);
}

/// Moves the newest file elsewhere, as its entry then says; returns where it lies.
fn moved(table: &Damaged, from: &str, to: &str, edit: impl FnOnce(&mut models::paimon::ManifestEntry)) -> String {
    let mut name = String::new();
    table.edit_entries(|entries| {
        let entry = entries.iter_mut().find(|entry| {
            let file = format!("{from}/{}", entry.file.file_name);
            table.all_files().contains(&file)
        });
        let entry = entry.expect("a file to move");
        name.clone_from(&entry.file.file_name);
        edit(entry);
    });
    table.rename(&format!("{from}/{name}"), &format!("{to}/{name}"));
    format!("{to}/{name}")
}

#[test]
fn rows_in_a_wrong_bucket_are_named() {
    let table = Damaged::copy_of(KEY);
    let file = moved(&table, "dt=d1/bucket-0", "dt=d1/bucket-1", |entry| entry.bucket = 1);
    table.expect(Rule::Bucket, &file);
}

#[test]
fn a_bucket_out_of_range_is_named() {
    let table = Damaged::copy_of(KEY);
    let file = moved(&table, "dt=d1/bucket-0", "dt=d1/bucket-7", |entry| entry.bucket = 7);
    table.expect(Rule::Bucket, &file);
}

#[test]
fn a_table_without_buckets_has_bucket_0_only() {
    let table = Damaged::copy_of(APPEND);
    let file = moved(&table, "dt=d1/bucket-0", "dt=d1/bucket-1", |entry| entry.bucket = 1);
    table.expect(Rule::Bucket, &file);
}

#[test]
fn rows_in_a_wrong_partition_are_named() {
    let table = Damaged::copy_of(APPEND);
    let file = moved(&table, "dt=d1/bucket-0", "dt=d9/bucket-0", |entry| {
        entry.partition = Row::new(vec![Value::string("d9")]);
    });
    table.expect(Rule::Partition, &file);
}

#[test]
fn two_numbers_of_buckets_in_one_partition_are_named() {
    // The file's rows are in bucket 0 of 2, and of 1 too.
    let table = Damaged::copy_of(KEY);
    table.edit_entries(|entries| {
        for entry in entries.iter_mut().filter(|entry| entry.bucket == 0) {
            entry.total_buckets = 1;
        }
    });
    table.expect(Rule::Bucket, "snapshot/snapshot-3");
}

#[test]
fn overlapping_files_of_one_level_are_named() {
    let table = Damaged::copy_of(KEY);
    let mut rows = 0;
    let mut copies = Vec::new();
    table.edit_entries(|entries| {
        Rc::make_mut(&mut entries[0].file).level = 1;
        let mut again = entries[0].clone();
        let name = again.file.file_name.clone();
        Rc::make_mut(&mut again.file).file_name = format!("data-copy-{}", &name[name.len() - 10..]);
        copies = vec![name, again.file.file_name.clone()];
        rows = again.file.row_count as i64;
        entries.push(again);
    });
    let file = table.all_files().into_iter().find(|file| file.ends_with(&copies[0])).unwrap();
    table.copy(&file, &file.replace(&copies[0], &copies[1]));
    table.count_more(rows);
    table.expect(Rule::Level, "snapshot/snapshot-3");
}

#[test]
fn of_many_equal_findings_the_first_are_told_and_the_rest_is_counted() {
    let table = Damaged::copy_of(KEY);
    let mut rows = 0;
    table.edit_entries(|entries| {
        for number in 0..100 {
            let mut lost = entries[0].clone();
            Rc::make_mut(&mut lost.file).file_name = format!("data-lost-{number}.parquet");
            rows += lost.file.row_count as i64;
            entries.push(lost);
        }
    });
    table.count_more(rows);
    let (verification, _) = table.inspect();
    assert_eq!(verification.findings.len(), 20);
    assert_eq!(verification.left_out.get(&Rule::FileExists), Some(&80));
}
