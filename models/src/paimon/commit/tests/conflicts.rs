//! Each kind of conflict refuses a commit, names itself and its files, and changes nothing.

use super::*;

fn assert_refused(refused: Result<Snapshot, Failure>, kind: ConflictKind, file: &str) {
    let failure = refused.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true), "{failure}");
    assert!(failure.message.starts_with("table db.t: conflict "), "{failure}");
    assert!(failure.message.contains(kind.name()) && failure.message.contains(file), "{kind}, {file}: {failure}");
}

#[test]
fn deleted_file_gone() {
    let fixture = Fixture::keyed(&[]);
    fixture.append("a", &[(1, "mon")]);
    let before = fixture.live();
    let first = fixture.rewritten("first", before.clone(), &[(1, "mon")], 5);
    let second = fixture.rewritten("second", before.clone(), &[(1, "mon")], 5);
    fixture.commit("first", CommitMode::Compact, first).unwrap();
    let name = &before[0].file.file_name;
    assert_refused(fixture.commit("second", CommitMode::Compact, second), ConflictKind::DeletedFileGone, name);
    assert_eq!((fixture.latest().id, fixture.ids()), (2, vec![1]));
    fixture.assert_sound();
}

#[test]
fn a_file_that_moved_to_another_level_is_gone_from_where_it_was() {
    let fixture = Fixture::keyed(&[]);
    fixture.append("a", &[(1, "mon")]);
    let before = fixture.live();
    let mut moved = before.clone();
    Rc::make_mut(&mut moved[0].file).level = 3;
    let movement = Committable { added: moved, deleted: before.clone(), ..Committable::default() };
    fixture.commit("move", CommitMode::Compact, movement).unwrap();
    let late = fixture.rewritten("late", before.clone(), &[(1, "mon")], 5);
    let name = &before[0].file.file_name;
    assert_refused(fixture.commit("late", CommitMode::Compact, late), ConflictKind::DeletedFileGone, name);
}

#[test]
fn nothing_is_live_in_a_table_without_snapshots() {
    let fixture = Fixture::keyed(&[]);
    let never = fixture.written("never", &[(1, "mon")]).added;
    let name = never[0].file.file_name.clone();
    let delete = Committable { deleted: never, ..Committable::default() };
    assert_refused(fixture.commit("delete", CommitMode::Append, delete), ConflictKind::DeletedFileGone, &name);
}

#[test]
fn added_file_live() {
    let fixture = Fixture::keyed(&[]);
    let files = fixture.written("a", &[(1, "mon")]);
    fixture.commit("a", CommitMode::Append, files.clone()).unwrap();
    let name = files.added[0].file.file_name.clone();
    assert_refused(fixture.commit("again", CommitMode::Compact, files), ConflictKind::AddedFileLive, &name);
}

#[test]
fn a_file_is_live_at_one_level_only() {
    let fixture = Fixture::keyed(&[]);
    fixture.append("a", &[(1, "mon")]);
    let mut elsewhere = fixture.live();
    Rc::make_mut(&mut elsewhere[0].file).level = 3;
    let name = elsewhere[0].file.file_name.clone();
    let twice = Committable { added: elsewhere, ..Committable::default() };
    assert_refused(fixture.commit("twice", CommitMode::Compact, twice), ConflictKind::AddedFileLive, &name);
}

#[test]
fn bucket_count() {
    let fixture = Fixture::keyed(&[]);
    fixture.append("a", &[(1, "mon")]);
    let mut compaction = fixture.rewritten("b", fixture.live(), &[(1, "mon")], 0);
    compaction.deleted.clear();
    compaction.added[0].total_buckets = 4;
    let name = compaction.added[0].file.file_name.clone();
    assert_refused(fixture.commit("b", CommitMode::Compact, compaction), ConflictKind::BucketCount, &name);
}

#[test]
fn key_range_overlap() {
    let fixture = Fixture::keyed(&[]);
    fixture.append("a", &[(1, "mon"), (5, "mon")]);
    fixture.append("b", &[(3, "mon"), (9, "mon")]);
    let [a, b] = <[ManifestEntry; 2]>::try_from(fixture.live()).unwrap();
    let first = fixture.rewritten("first", vec![a], &[(1, "mon"), (5, "mon")], 1);
    let second = fixture.rewritten("second", vec![b.clone()], &[(3, "mon"), (9, "mon")], 1);
    let elsewhere = fixture.rewritten("elsewhere", vec![b], &[(3, "mon"), (9, "mon")], 2);
    let name = second.added[0].file.file_name.clone();
    fixture.commit("first", CommitMode::Compact, first).unwrap();
    assert_refused(fixture.commit("second", CommitMode::Compact, second), ConflictKind::KeyRangeOverlap, &name);
    fixture.commit("elsewhere", CommitMode::Compact, elsewhere).unwrap();
    assert_eq!(fixture.ids(), [1, 3, 5, 9], "another level may hold the same keys");
    fixture.assert_sound();
}

#[test]
fn index_file_changed() {
    let fixture = Fixture::keyed(&[]);
    fixture.append("a", &[(1, "mon")]);
    let name = fixture.live()[0].file.file_name.clone();
    let index = |changes: &[(FileKind, &str)]| Committable {
        index: changes.iter().map(|(kind, index)| vectors(*kind, index, no_partition(), &[&name])).collect(),
        ..Committable::default()
    };
    let (come, go) = (FileKind::Add, FileKind::Delete);
    let refused = |subject: &str, changes: &[(FileKind, &str)], file: &str| {
        let committed = fixture.commit(subject, CommitMode::Append, index(changes));
        assert_refused(committed, ConflictKind::IndexFileChanged, file);
    };
    refused("early", &[(go, "index-0")], "index-0");
    fixture.commit("first", CommitMode::Append, index(&[(come, "index-1")])).unwrap();
    refused("again", &[(come, "index-1")], "index-1");
    refused("beside", &[(come, "index-2")], "index-2");
    fixture.commit("second", CommitMode::Append, index(&[(come, "index-2"), (go, "index-1")])).unwrap();
    refused("late", &[(go, "index-1"), (come, "index-3")], "index-1");
    assert_eq!(fixture.index().len(), 1);
}

#[test]
fn deletion_vector() {
    let fixture = Fixture::new(&[], &[], &[]);
    fixture.append("a", &[(1, "mon"), (2, "mon")]);
    let file = fixture.live();
    let name = file[0].file.file_name.clone();
    let mark = |index: &str, data_file: &str| Committable {
        index: vec![vectors(FileKind::Add, index, no_partition(), &[data_file])],
        ..Committable::default()
    };
    let refused = |subject: &str, mode: CommitMode, committable: Committable, file: &str| {
        assert_refused(fixture.commit(subject, mode, committable), ConflictKind::DeletionVector, file);
    };
    refused("of nothing", CommitMode::Append, mark("index-0", "data-never"), "data-never");
    let compaction = fixture.rewritten("compaction", file, &[(1, "mon"), (2, "mon")], 0);
    fixture.commit("mark", CommitMode::Append, mark("index-1", &name)).unwrap();
    refused("a second one", CommitMode::Append, mark("index-2", &name), &name);
    // It was planned before the row was deleted, and would bring it back.
    refused("compaction", CommitMode::Compact, compaction, &name);
    assert_eq!(fixture.latest().id, 2);
}
