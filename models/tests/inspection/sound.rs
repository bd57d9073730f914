//! What is sound has no findings, whoever wrote it.

use models::paimon::integrity::Rule;

use crate::damaged::*;

#[test]
fn tables_of_other_writers_are_sound() {
    for table in ALL {
        let (verification, contents) = Damaged::copy_of(table).inspect();
        assert_eq!((&*verification.findings, &*verification.notes), (&[][..], &[][..]), "{table:?}");
        // One writer left files behind that it never committed.
        let left_behind = match table {
            ("paimon-rs-0.4.0", "app") => 1,
            ("paimon-rs-0.4.0", "pk") => 2,
            _ => 0,
        };
        assert_eq!(verification.orphans.len(), left_behind, "{table:?}: {:?}", verification.orphans);
        assert!(contents.snapshots.len() >= 3 && contents.live_files > 0, "{table:?}: {contents:?}");
    }
}

#[test]
fn what_an_expiry_leaves_is_sound() {
    // The files of the expired snapshots live on in the bases of the others.
    let table = Damaged::copy_of(KEY);
    for list in [table.snapshot(1).base_manifest_list, table.snapshot(1).delta_manifest_list] {
        table.delete(&format!("manifest/{list}"));
    }
    table.delete("snapshot/snapshot-1");
    table.put("snapshot/EARLIEST", "2");
    assert_eq!(table.findings(), []);
}

#[test]
fn an_orphan_is_listed_and_no_finding() {
    let table = Damaged::copy_of(KEY);
    table.put("dt=d1/bucket-0/data-left-over-0.parquet", "any");
    let (verification, _) = table.inspect();
    assert_eq!(verification.findings, []);
    assert_eq!(verification.orphans, ["db.db/t/dt=d1/bucket-0/data-left-over-0.parquet"]);
    assert!(!verification.orphans_uncertain);
}

#[test]
fn times_that_go_back_are_a_note() {
    let table = Damaged::copy_of(KEY);
    table.edit_snapshot(|snapshot| snapshot["timeMillis"] = 5.into());
    let (verification, _) = table.inspect();
    assert_eq!((verification.findings.len(), verification.notes.len()), (0, 1));
    assert_eq!(verification.notes[0].rule, Rule::SnapshotTime);
}

#[test]
fn a_file_in_a_format_that_is_not_read_is_a_note() {
    let table = Damaged::copy_of(KEY);
    let file = table.edit_file(|_| ());
    table.rename(&file, &file.replace(".parquet", ".orc"));
    table.edit_entries(|entries| {
        let file = std::rc::Rc::make_mut(&mut entries[0].file);
        file.file_name = file.file_name.replace(".parquet", ".orc");
    });
    let (verification, _) = table.inspect();
    assert_eq!((verification.findings.len(), verification.notes[0].rule), (0, Rule::NotChecked));
}
