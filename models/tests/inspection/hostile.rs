//! Hostile files: names that lead out of the table, forged lengths, deep nesting. Each is a finding, at once and in
//! little memory.

use models::paimon::integrity::Rule;

use crate::damaged::*;

#[test]
fn a_list_name_that_leads_out_of_the_table_is_not_followed() {
    for name in ["../../elsewhere", "/etc/passwd", "..", "", "a\\b"] {
        let table = Damaged::copy_of(KEY);
        table.edit_snapshot(|snapshot| snapshot["deltaManifestList"] = name.into());
        table.expect(Rule::FilePlace, "snapshot/snapshot-3");
    }
}

#[test]
fn a_manifest_name_that_leads_out_of_the_table_is_not_followed() {
    let table = Damaged::copy_of(KEY);
    let list = table.edit_list(|manifests| manifests[0].file_name = "../../../etc/passwd".to_owned());
    table.expect(Rule::FilePlace, &list);
}

#[test]
fn a_data_file_name_that_leads_out_of_the_table_is_not_followed() {
    let table = Damaged::copy_of(APPEND);
    table.edit_entries(|entries| {
        std::rc::Rc::make_mut(&mut entries[0].file).file_name = "../../../elsewhere.parquet".to_owned();
    });
    let findings = table.findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].0, Rule::FilePlace);
    assert!(findings[0].1.ends_with("../../../elsewhere.parquet"), "{findings:?}");
}

#[test]
fn an_external_path_is_not_followed() {
    let table = Damaged::copy_of(APPEND);
    let file = table.edit_file(|file| file.external_path = Some("file:///etc/passwd".to_owned()));
    table.expect(Rule::FilePlace, &file);
}

#[test]
fn an_index_or_statistics_name_that_leads_out_is_not_followed() {
    for field in ["indexManifest", "statistics"] {
        let table = Damaged::copy_of(KEY);
        table.edit_snapshot(|snapshot| snapshot[field] = "../x".into());
        table.expect(Rule::FilePlace, "snapshot/snapshot-3");
    }
}

/// Puts a manifest of these bytes in the place of the newest one.
fn with_manifest(bytes: Vec<u8>) -> (Damaged, String) {
    let table = Damaged::copy_of(KEY);
    let manifest = format!("manifest/{}", table.newest_manifest().file_name);
    let size = bytes.len() as u64;
    table.put(&manifest, bytes);
    table.edit_list(|manifests| manifests[0].file_size = size);
    (table, manifest)
}

/// The newest manifest up to its first block, and the marker that closes blocks.
fn container_start() -> (Vec<u8>, Vec<u8>) {
    let table = Damaged::copy_of(KEY);
    // An own writer's container without blocks is a header and nothing else.
    let manifest = table.edit_entries(Vec::clear);
    let header = table.get(&manifest).to_vec();
    let marker = header[header.len() - 16..].to_vec();
    (header, marker)
}

/// An Avro `long`.
fn long(number: i64) -> Vec<u8> {
    let mut zigzag = ((number << 1) ^ (number >> 63)).cast_unsigned();
    let mut bytes = Vec::new();
    while zigzag > 0x7f {
        bytes.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    bytes.push(zigzag as u8);
    bytes
}

#[test]
fn forged_lengths_of_avro_blocks_are_refused() {
    let (header, marker) = container_start();
    let empty_frame = zstd::bulk::compress(&[], 1).unwrap();
    let blocks: [Vec<u8>; 4] = [
        [long(i64::MAX), long(i64::MAX)].concat(),
        [long(1), long(-1)].concat(),
        [long(i64::MAX), long(empty_frame.len() as i64), empty_frame.clone(), marker.clone()].concat(),
        [long(i64::MIN), long(0), marker.clone()].concat(),
    ];
    for block in blocks {
        let (table, manifest) = with_manifest([header.clone(), block].concat());
        table.expect(Rule::FileReadable, &manifest);
    }
}

#[test]
fn a_forged_size_of_a_zstandard_frame_is_refused() {
    let (header, marker) = container_start();
    // Magic, a descriptor of a single segment with a size of 8 bytes, and the size.
    let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0xe0][..], &(u64::MAX >> 1).to_le_bytes(), &[1, 0, 0]].concat();
    let block = [long(1), long(frame.len() as i64), frame, marker].concat();
    let (table, manifest) = with_manifest([header, block].concat());
    table.expect(Rule::FileReadable, &manifest);
}

#[test]
fn a_block_that_unpacks_without_end_is_refused() {
    let (header, marker) = container_start();
    let bomb = zstd::bulk::compress(&vec![0; 65 << 20], 1).unwrap();
    let block = [long(1), long(bomb.len() as i64), bomb, marker].concat();
    let (table, manifest) = with_manifest([header, block].concat());
    table.expect(Rule::FileReadable, &manifest);
}

#[test]
fn forged_lengths_of_parquet_footers_are_refused() {
    for length in [u32::MAX, i32::MAX as u32, 0, 1] {
        let table = Damaged::copy_of(KEY);
        let file = table.data_files().remove(0);
        let mut bytes = table.get(&file).to_vec();
        let end = bytes.len();
        bytes[end - 8..end - 4].copy_from_slice(&length.to_le_bytes());
        table.put(&file, bytes);
        table.expect(Rule::FileReadable, &file);
    }
}

#[test]
fn deep_json_is_refused() {
    for file in ["snapshot/snapshot-3", "schema/schema-0"] {
        let table = Damaged::copy_of(KEY);
        table.put(file, "[".repeat(1_000_000));
        assert_eq!(table.findings()[0], (Rule::FileReadable, file.to_owned()));
        table.put(file, "{\"id\":".repeat(1_000_000));
        assert_eq!(table.findings()[0], (Rule::FileReadable, file.to_owned()));
    }
}

#[test]
fn empty_files_are_refused() {
    let names = Damaged::copy_of(KEY).all_files();
    for file in names {
        let table = Damaged::copy_of(KEY);
        table.put(&file, "");
        assert_eq!(table.findings().first().map(|(_, named)| named), Some(&file), "{:?}", table.findings());
    }
}

#[test]
fn snapshot_numbers_at_the_end_of_all_numbers_are_findings() {
    let table = Damaged::copy_of(KEY);
    table.copy("snapshot/snapshot-3", &format!("snapshot/snapshot-{}", u64::MAX));
    table.edit_json(&format!("snapshot/snapshot-{}", u64::MAX), |snapshot| snapshot["id"] = u64::MAX.into());
    table.copy("schema/schema-0", &format!("schema/schema-{}", u64::MAX));
    let findings = table.findings();
    assert!(findings.contains(&(Rule::SnapshotChain, "snapshot/snapshot-4".to_owned())), "{findings:?}");
    assert!(findings.contains(&(Rule::Schema, "schema/schema-1".to_owned())), "{findings:?}");
}

#[test]
fn a_manifest_that_a_list_names_again_and_again_is_refused() {
    let table = Damaged::copy_of(KEY);
    let list = table.edit_list(|manifests| *manifests = vec![manifests[0].clone(); 1000]);
    table.expect(Rule::FileReadable, &list);
}

#[test]
fn avro_values_of_no_bytes_are_refused() {
    // An array of arrays of nothing: each inner one could claim as many items as bytes follow it.
    let nothing = r#"{"type": "array", "items": "null"}"#;
    let field = format!(r#"{{"name": "x", "type": {{"type": "array", "items": {nothing}}}}}"#);
    let schema = format!(r#"{{"type": "record", "name": "r", "fields": [{field}]}}"#);
    let arrays = 300_000;
    let mut block = long(arrays);
    for array in 0..arrays {
        block.extend([long((arrays - array) * 3), long(0)].concat());
    }
    block.extend(long(0));
    let header = [long(1), long(11), b"avro.schema".to_vec(), long(schema.len() as i64), schema.into(), long(0)];
    let start = [&b"Obj\x01"[..], &header.concat(), &[7; 16]].concat();
    let (table, manifest) = with_manifest([start, long(1), long(block.len() as i64), block, [7; 16].to_vec()].concat());
    table.expect(Rule::FileReadable, &manifest);
}

#[test]
fn counts_at_the_end_of_all_numbers_are_findings() {
    let table = Damaged::copy_of(KEY);
    let file = table.edit_file(|file| file.row_count = u64::MAX >> 1);
    table.expect(Rule::RowCount, &file);
}
