//! How manifests are kept.

use super::*;

/// The kinds of all entries in the base manifests of the newest snapshot, by manifest.
fn base_kinds(fixture: &Fixture) -> Vec<Vec<FileKind>> {
    let reader = fixture.table.manifest_reader();
    let list = done(reader.list(&fixture.latest().base_manifest_list)).unwrap();
    let manifests = done(reader.manifests(&list)).unwrap();
    manifests.iter().map(|manifest| manifest.iter().map(|entry| entry.kind).collect()).collect()
}

fn compact(fixture: &Fixture, subject: &str, rows: &[(i64, &str)]) {
    let compaction = fixture.rewritten(subject, fixture.live(), rows, 0);
    fixture.commit(subject, CommitMode::Compact, compaction).unwrap();
}

#[test]
fn small_manifests_are_merged_from_the_given_number_on() {
    let fixture = Fixture::new(&[], &[], &[("manifest.merge-min-count", "3")]);
    for (subject, manifests) in [("a", 0), ("b", 1), ("c", 2), ("d", 1), ("e", 2), ("f", 1)] {
        fixture.append(subject, &[(1, "mon")]);
        assert_eq!(base_kinds(&fixture).len(), manifests, "{subject}");
    }
    assert_eq!(fixture.ids().len(), 6);
    fixture.assert_sound();
}

#[test]
fn files_that_came_and_went_within_a_merge_are_forgotten() {
    let fixture = Fixture::new(&[], &[], &[("manifest.merge-min-count", "3")]);
    fixture.append("a", &[(1, "mon")]);
    fixture.append("b", &[(2, "mon")]);
    compact(&fixture, "compaction", &[(1, "mon"), (2, "mon")]);
    fixture.append("c", &[(3, "mon")]);
    assert_eq!(base_kinds(&fixture), [vec![FileKind::Add]]);
    assert_eq!(fixture.ids(), [1, 2, 3]);
    fixture.assert_sound();
}

#[test]
fn a_full_merge_leaves_no_delete_and_no_large_manifest_untouched_that_holds_one() {
    let fixture = Fixture::new(&[], &[], &[("manifest.full-compaction-threshold-size", "3 kb")]);
    let mut fullest = 0;
    for round in 0..12 {
        fixture.append(&format!("append-{round}"), &[(round, "mon")]);
        let rows: Vec<(i64, &str)> = fixture.ids().into_iter().map(|id| (id, "mon")).collect();
        compact(&fixture, &format!("compaction-{round}"), &rows);
        let kinds = base_kinds(&fixture);
        fullest = fullest.max(kinds.len());
        assert_eq!(fixture.ids().len() as i64, round + 1);
    }
    assert!(fullest < 10, "{fullest} manifests, of 24 commits");
    fixture.assert_sound();
}

#[test]
fn manifests_are_split_at_their_target_size() {
    let fixture = Fixture::new(&[], &["day"], &[("manifest.target-file-size", "1 kb")]);
    let days: Vec<String> = (0..40).map(|day| format!("day-{day}")).collect();
    let rows: Vec<(i64, &str)> = days.iter().map(|day| (1, day.as_str())).collect();
    let snapshot = fixture.append("a", &rows);
    let list = done(fixture.table.manifest_reader().list(&snapshot.delta_manifest_list)).unwrap();
    assert!(list.len() > 1, "one manifest of {} bytes", list[0].file_size);
    assert_eq!(list.iter().map(|manifest| manifest.added_files).sum::<u64>(), 40);
    assert_eq!(fixture.live().len(), 40);
    fixture.append("b", &rows);
    assert_eq!(fixture.live().len(), 80);
    fixture.assert_sound();
}
