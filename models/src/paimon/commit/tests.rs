//! Commits that take files and indexes away, as compaction and row-level deletes make them.

mod conflicts;
mod manifests;
mod strict;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;
use futures::FutureExt;

use crate::contract::{BucketId, Column, DataType, Environment, Filter, Row, RowKind, TablePath, TableSchema, Value};
use crate::defects::Defects;
use crate::paimon::index_manifest::DELETION_VECTORS_INDEX;
use crate::paimon::object_stores::MemoryObjectStore;
use crate::paimon::{
    Catalog, CatalogHooks, CommitKind, DeletionVectorMeta, FileKind, FilesystemCatalog, IndexManifestEntry, LakeAccess,
    ManifestEntry, verify,
};

use super::*;

/// Time that moves only by sleeping, and draws that depend on nothing but their key.
#[derive(Default)]
struct KeyedEnvironment {
    now_ms: Cell<u64>,
}

#[async_trait(?Send)]
impl Environment for KeyedEnvironment {
    fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    async fn sleep_ms(&self, duration_ms: u64) {
        self.now_ms.set(self.now_ms.get() + duration_ms);
    }

    fn draw(&self, site: &str, subject: &str, occurrence: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64(format!("{site}/{subject}/{occurrence}").as_bytes())
    }
}

/// Nothing here waits, so every future is ready at once.
fn done<Output>(future: impl Future<Output = Output>) -> Output {
    future.now_or_never().expect("the future does not wait")
}

/// One table in memory.
struct Fixture {
    objects: MemoryObjectStore,
    table: PaimonTable,
}

impl Fixture {
    /// A table of the columns `id` and `day`.
    fn new(primary_key: &[&str], partition_keys: &[&str], options: &[(&str, &str)]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let column =
            |name: &str, data_type| Column { name: name.to_owned(), data_type, nullable: !primary_key.contains(&name) };
        let schema = TableSchema {
            columns: vec![column("id", DataType::BigInt), column("day", DataType::STRING)],
            primary_key: owned(primary_key),
            partition_keys: owned(partition_keys),
            options: options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        };
        let objects = MemoryObjectStore::new();
        let lake = LakeAccess {
            objects: Rc::new(objects.clone()),
            environment: Rc::<KeyedEnvironment>::default(),
            defects: Defects::none(),
        };
        let (catalog, path) = (FilesystemCatalog::new(lake), TablePath::new("db", "t"));
        done(catalog.create_table(&path, &schema, false)).unwrap();
        Self { table: done(catalog.table(&path)).unwrap(), objects }
    }

    /// A key table of one bucket.
    fn keyed(options: &[(&str, &str)]) -> Self {
        let options: Vec<(&str, &str)> = options.iter().copied().chain([("bucket", "1")]).collect();
        Self::new(&["id"], &[], &options)
    }

    fn latest(&self) -> Snapshot {
        done(self.table.latest_snapshot()).unwrap().expect("the table has a snapshot")
    }

    /// New files of these rows, written on the newest snapshot.
    fn written(&self, subject: &str, rows: &[(i64, &str)]) -> Committable {
        let mut buckets: BTreeMap<BucketId, Vec<(RowKind, Row)>> = BTreeMap::new();
        for (id, day) in rows {
            let row = Row::new(vec![Value::Int(*id), Value::string(day)]);
            buckets.entry(self.table.bucket_of(&row)).or_default().push((RowKind::Insert, row));
        }
        let base = done(self.table.latest_snapshot()).unwrap();
        done(self.table.write(subject, base.as_ref(), &buckets)).unwrap()
    }

    /// A commit of these files by a user of the subject's name.
    fn request(subject: &str, mode: CommitMode, committable: Committable) -> CommitRequest {
        CommitRequest {
            subject: subject.to_owned(),
            user: subject.to_owned(),
            identifier: 1,
            mode,
            properties: BTreeMap::new(),
            committable,
            precondition: Precondition::None,
        }
    }

    fn commit(&self, subject: &str, mode: CommitMode, committable: Committable) -> Result<Snapshot, Failure> {
        done(self.table.commit(Self::request(subject, mode, committable))).map(|_| self.latest())
    }

    fn append(&self, subject: &str, rows: &[(i64, &str)]) -> Snapshot {
        self.commit(subject, CommitMode::Append, self.written(subject, rows)).unwrap()
    }

    fn live(&self) -> Vec<ManifestEntry> {
        done(self.table.manifest_reader().live_files(&self.latest())).unwrap()
    }

    fn index(&self) -> Vec<IndexManifestEntry> {
        done(self.table.manifest_reader().index_files(&self.latest())).unwrap().to_vec()
    }

    /// A rewrite of these live files into one of these rows, at this level.
    fn rewritten(&self, subject: &str, deleted: Vec<ManifestEntry>, rows: &[(i64, &str)], level: i32) -> Committable {
        let mut committable = self.written(subject, rows);
        for entry in &mut committable.added {
            Rc::make_mut(&mut entry.file).level = level;
        }
        committable.deleted = deleted;
        committable
    }

    fn ids(&self) -> Vec<i64> {
        let rows = done(self.table.scan(&self.latest(), &Filter::new())).unwrap();
        let mut ids: Vec<i64> = rows
            .into_values()
            .flatten()
            .filter_map(|row| if let Value::Int(id) = row[0] { Some(id) } else { None })
            .collect();
        ids.sort_unstable();
        ids
    }

    /// Snapshots, manifests and data files agree. Index files are not written here, so they are not asked for.
    fn assert_sound(&self) {
        let findings = done(verify(&self.objects, self.table.path())).findings;
        assert_eq!(findings, []);
    }
}

/// An index entry with vectors of these data files.
fn vectors(kind: FileKind, file_name: &str, partition: Row, data_files: &[&str]) -> IndexManifestEntry {
    let vector = |data_file: &&str| DeletionVectorMeta {
        data_file: (*data_file).to_owned(),
        offset: 1,
        length: 20,
        cardinality: Some(1),
    };
    IndexManifestEntry {
        kind,
        partition,
        bucket: 0,
        index_type: DELETION_VECTORS_INDEX.to_owned(),
        file_name: file_name.to_owned(),
        file_size: 29,
        row_count: data_files.len() as u64,
        deletion_vectors: Some(data_files.iter().map(vector).collect()),
        external_path: None,
    }
}

fn no_partition() -> Row {
    Row::new(Vec::new())
}

fn file_names(entries: &[ManifestEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.file.file_name.as_str()).collect()
}

#[test]
fn a_compaction_replaces_files_and_keeps_the_rows() {
    let fixture = Fixture::keyed(&[]);
    fixture.append("a", &[(1, "mon")]);
    fixture.append("b", &[(2, "mon")]);
    let compaction = fixture.rewritten("compaction", fixture.live(), &[(1, "mon"), (2, "mon")], 5);
    let snapshot = fixture.commit("compaction", CommitMode::Compact, compaction).unwrap();
    assert_eq!((snapshot.commit_kind, snapshot.total_record_count), (CommitKind::Compact, 2));
    assert_eq!(snapshot.delta_record_count, 0);
    assert_eq!((fixture.live().len(), fixture.ids()), (1, vec![1, 2]));
    fixture.assert_sound();
}

#[test]
fn a_file_that_moves_to_another_level_stays_and_an_aborted_move_does_not_delete_it() {
    let fixture = Fixture::keyed(&[]);
    fixture.append("a", &[(1, "mon")]);
    let mut moved = fixture.live();
    Rc::make_mut(&mut moved[0].file).level = 3;
    let movement = Committable { added: moved, deleted: fixture.live(), ..Committable::default() };
    done(fixture.table.abort(&movement)).unwrap();
    assert_eq!(fixture.ids(), [1]);
    fixture.commit("move", CommitMode::Compact, movement).unwrap();
    assert_eq!((fixture.live()[0].file.level, fixture.ids()), (3, vec![1]));
    fixture.assert_sound();
}

#[test]
fn an_append_that_takes_rows_away_is_an_overwrite_to_those_who_follow() {
    let fixture = Fixture::new(&[], &[], &[]);
    fixture.append("a", &[(1, "mon"), (2, "mon")]);
    let delete = fixture.rewritten("delete", fixture.live(), &[(2, "mon")], 0);
    let snapshot = fixture.commit("delete", CommitMode::Append, delete).unwrap();
    assert_eq!((snapshot.commit_kind, snapshot.total_record_count), (CommitKind::Overwrite, 1));
    assert_eq!(fixture.ids(), [2]);

    let name = fixture.live()[0].file.file_name.clone();
    let index = vec![vectors(FileKind::Add, "index-1", no_partition(), &[&name])];
    let marked = Committable { index, ..Committable::default() };
    let snapshot = fixture.commit("mark", CommitMode::Append, marked).unwrap();
    assert_eq!(snapshot.commit_kind, CommitKind::Overwrite);
    assert_eq!(fixture.index()[0].file_name, "index-1");
}

#[test]
fn the_index_manifest_is_handed_on_by_commits_that_do_not_change_it() {
    let fixture = Fixture::new(&[], &[], &[]);
    fixture.append("a", &[(1, "mon")]);
    let name = fixture.live()[0].file.file_name.clone();
    let index = vec![vectors(FileKind::Add, "index-1", no_partition(), &[&name])];
    let marked = fixture.commit("mark", CommitMode::Append, Committable { index, ..Committable::default() }).unwrap();
    assert_eq!(fixture.append("b", &[(2, "mon")]).index_manifest, marked.index_manifest);
}

#[test]
fn changelog_files_are_told_of_and_are_never_live() {
    let fixture = Fixture::keyed(&[]);
    let mut committable = fixture.written("a", &[(1, "mon")]);
    committable.changelog = fixture.written("changelog", &[(1, "mon"), (2, "mon")]).added;
    let snapshot = fixture.commit("a", CommitMode::Append, committable.clone()).unwrap();
    assert_eq!((snapshot.changelog_record_count, snapshot.total_record_count), (Some(2), 1));
    let reader = fixture.table.manifest_reader();
    let list = done(reader.list(snapshot.changelog_manifest_list.as_ref().unwrap())).unwrap();
    let manifests = done(reader.manifests(&list)).unwrap();
    assert_eq!(file_names(&manifests[0]), file_names(&committable.changelog));
    assert_eq!(file_names(&fixture.live()), file_names(&committable.added));
}

#[test]
fn an_overwrite_has_no_changelog_and_its_files_are_deleted() {
    let fixture = Fixture::keyed(&[]);
    let mut committable = fixture.written("a", &[(1, "mon")]);
    committable.changelog = fixture.written("changelog", &[(1, "mon")]).added;
    let changelog_path = fixture.table.data_file_path(&committable.changelog[0]);
    assert!(fixture.objects.snapshot_all().contains_key(&changelog_path));
    let mode = CommitMode::Overwrite { partitions: OverwriteScope::WholeTable };
    let snapshot = fixture.commit("a", mode, committable).unwrap();
    assert_eq!((snapshot.changelog_manifest_list, snapshot.changelog_record_count), (None, None));
    assert!(!fixture.objects.snapshot_all().contains_key(&changelog_path));
}

#[test]
fn an_overwrite_forgets_the_deletion_vectors_of_what_it_replaces() {
    let fixture = Fixture::new(&[], &["day"], &[]);
    fixture.append("a", &[(1, "mon"), (2, "tue")]);
    let overwrite = Fixture::request(
        "overwrite",
        CommitMode::Overwrite { partitions: OverwriteScope::Dynamic },
        fixture.written("overwrite", &[(3, "mon")]),
    );
    // After the overwrite began, monday got another file, and every file a vector.
    fixture.append("b", &[(4, "mon")]);
    let live = fixture.live();
    let of_day = |day: &str| -> Vec<&ManifestEntry> {
        live.iter().filter(|entry| entry.partition[0] == Value::string(day)).collect()
    };
    let index: Vec<IndexManifestEntry> = ["mon", "tue"]
        .into_iter()
        .map(|day| {
            let files = of_day(day);
            let names: Vec<&str> = files.iter().map(|entry| entry.file.file_name.as_str()).collect();
            vectors(FileKind::Add, &format!("index-{day}"), files[0].partition.clone(), &names)
        })
        .collect();
    fixture.commit("mark", CommitMode::Append, Committable { index, ..Committable::default() }).unwrap();

    done(fixture.table.commit(overwrite)).unwrap();
    let left: Vec<(String, u64)> =
        fixture.index().into_iter().map(|entry| (entry.file_name, entry.row_count)).collect();
    assert_eq!(left, [("index-mon".to_owned(), 1), ("index-tue".to_owned(), 1)], "the newer file's vector stays (L15)");
    done(fixture.table.truncate("truncate")).unwrap();
    assert_eq!((fixture.index(), fixture.latest().index_manifest), (vec![], None));
}

#[test]
fn new_rows_and_a_compaction_are_two_snapshots_of_one_commit() {
    let fixture = Fixture::keyed(&[]);
    fixture.append("other", &[(1, "mon")]);
    let compaction = fixture.rewritten("writer/compaction", fixture.live(), &[(1, "mon")], 5);
    let mut request = Fixture::request("writer", CommitMode::Append, fixture.written("writer", &[(2, "mon")]));
    request.identifier = 7;
    request.properties = BTreeMap::from([("k".to_owned(), "v".to_owned())]);
    let outcome = done(fixture.table.commit_in_two_steps(request.clone(), compaction)).unwrap();
    assert_eq!(outcome.changes, Some(CommitOutcome { snapshot_id: 2 }));
    assert_eq!(outcome.compaction, Some(Ok(CommitOutcome { snapshot_id: 3 })));
    let snapshots = done(fixture.table.snapshots_of_commit("writer", 7, 0)).unwrap();
    let kinds: Vec<CommitKind> = snapshots.iter().map(|snapshot| snapshot.commit_kind).collect();
    assert_eq!(kinds, [CommitKind::Append, CommitKind::Compact]);
    assert!(snapshots.iter().all(|snapshot| snapshot.properties.as_ref() == Some(&request.properties)));
    assert_eq!(fixture.ids(), [1, 2]);
    fixture.assert_sound();
}

#[test]
fn a_compaction_that_is_refused_after_the_new_rows_costs_no_row_and_leaves_no_file() {
    let fixture = Fixture::keyed(&[]);
    fixture.append("other", &[(1, "mon")]);
    let late = fixture.rewritten("late", fixture.live(), &[(1, "mon")], 5);
    let winner = fixture.rewritten("winner", fixture.live(), &[(1, "mon")], 5);
    fixture.commit("winner", CommitMode::Compact, winner).unwrap();
    let request = Fixture::request("writer", CommitMode::Append, fixture.written("writer", &[(2, "mon")]));
    let late_path = fixture.table.data_file_path(&late.added[0]);
    let outcome = done(fixture.table.commit_in_two_steps(request, late.clone())).unwrap();
    assert_eq!(outcome.changes, Some(CommitOutcome { snapshot_id: 3 }));
    assert!(outcome.compaction.unwrap().unwrap_err().message.contains("deleted-file-gone"));
    assert_eq!(fixture.ids(), [1, 2]);
    assert!(!fixture.objects.snapshot_all().contains_key(&late_path));

    let alone = Fixture::request("alone", CommitMode::Append, Committable::default());
    assert!(done(fixture.table.commit_in_two_steps(alone, late)).unwrap_err().message.contains("deleted-file-gone"));
}

#[test]
fn statistics_are_handed_on_while_the_schema_stays() {
    let fixture = Fixture::new(&[], &[], &[]);
    let analyzed = Snapshot {
        id: 2,
        uuid: None,
        commit_kind: CommitKind::Analyze,
        statistics: Some("stat-1".to_owned()),
        delta_record_count: 0,
        base_manifest_list: fixture.append("a", &[(1, "mon")]).delta_manifest_list,
        base_manifest_list_size: None,
        delta_manifest_list: fixture.latest().base_manifest_list,
        delta_manifest_list_size: None,
        ..fixture.latest()
    };
    let path = fixture.table.directory.snapshot(2);
    done(fixture.table.lake.objects.put(&path, analyzed.encode().unwrap())).unwrap();
    assert_eq!((fixture.latest().commit_kind, fixture.ids()), (CommitKind::Analyze, vec![1]));
    let appended = fixture.append("b", &[(2, "mon")]);
    assert_eq!((appended.statistics.as_deref(), fixture.ids()), (Some("stat-1"), vec![1, 2]));

    let catalog = FilesystemCatalog::new(fixture.table.lake.clone());
    let set = BTreeMap::from([("comment-like".to_owned(), "x".to_owned())]);
    done(catalog.alter_options(fixture.table.path(), &set, &[])).unwrap();
    let reopened = Fixture { table: done(catalog.table(fixture.table.path())).unwrap(), ..fixture };
    assert_eq!(reopened.append("c", &[(3, "mon")]).statistics, None);
}

#[test]
fn committed_identifiers_are_those_up_to_the_users_newest() {
    let fixture = Fixture::new(&[], &[], &[]);
    let filter = |user: &str, identifiers: &[u64]| done(fixture.table.filter_committed(user, identifiers));
    assert_eq!(filter("writer", &[1, 2]).unwrap(), [1, 2], "no snapshot at all");
    let commit = |identifier| {
        let request = Fixture::request(&format!("writer-{identifier}"), CommitMode::Append, Committable::default());
        done(fixture.table.commit(CommitRequest { user: "writer".to_owned(), identifier, ..request })).unwrap();
    };
    commit(3);
    commit(5);
    fixture.append("other", &[(1, "mon")]);
    assert_eq!(filter("writer", &[1, 4, 5, 6, 9]).unwrap(), [6, 9], "skipped numbers count as done");
    assert_eq!(filter("nobody", &[1]).unwrap(), [1]);
    assert_eq!(filter("writer", &[]).unwrap(), Vec::<u64>::new());
    for wrong in [[2, 2], [3, 1]] {
        assert_eq!(filter("writer", &wrong).unwrap_err().code, FailureCode::Invalid);
    }
    // Expiry forgets: with the user's snapshots gone, nothing is known to be committed.
    for id in [1, 2] {
        done(fixture.table.lake.objects.delete(&fixture.table.directory.snapshot(id))).unwrap();
    }
    assert_eq!(filter("writer", &[1, 6]).unwrap(), [1, 6]);
}
