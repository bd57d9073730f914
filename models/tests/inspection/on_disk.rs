//! A directory on disk: what only file systems have. Links are never followed, odd files never opened, large ones never
//! read.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt;
use models::contract::{Failure, ObjectStore};
use models::paimon::integrity::{Rule, TableOnDisk};
use models::paimon::{Verification, inspect};
use tempfile::TempDir;

use crate::damaged::{KEY, files_beneath, original};

/// A copy of a table on disk.
fn copy() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let original = original(KEY);
    for file in files_beneath(&original) {
        let target = directory.path().join(&file);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(original.join(&file), target).unwrap();
    }
    directory
}

fn check(directory: &Path) -> Verification {
    let table = TableOnDisk::open(directory, |_| ()).unwrap();
    inspect(&table, &table.path()).now_or_never().unwrap().0
}

fn findings(directory: &Path) -> Vec<(Rule, String)> {
    let findings = check(directory).findings;
    findings.into_iter().map(|finding| (finding.rule, TableOnDisk::shortened(&finding.file))).collect()
}

fn a_data_file(directory: &Path) -> String {
    files_beneath(directory).into_iter().find(|file| file.contains("/data-")).unwrap()
}

#[test]
fn a_sound_directory_is_sound() {
    let table = copy();
    let verification = check(table.path());
    assert_eq!((verification.findings, verification.orphans), (vec![], vec![]));
}

#[test]
fn a_link_is_not_followed() {
    let table = copy();
    let file = a_data_file(table.path());
    let elsewhere = tempfile::tempdir().unwrap();
    // What it leads to would be sound.
    fs::rename(table.path().join(&file), elsewhere.path().join("f")).unwrap();
    symlink(elsewhere.path().join("f"), table.path().join(&file)).unwrap();
    assert_eq!(findings(table.path()), [(Rule::FilePlace, file)]);
}

#[test]
fn a_directory_that_is_a_link_is_not_followed() {
    let table = copy();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::rename(table.path().join("manifest"), elsewhere.path().join("manifest")).unwrap();
    symlink(elsewhere.path().join("manifest"), table.path().join("manifest")).unwrap();
    let findings = findings(table.path());
    assert!(!findings.is_empty() && findings.iter().all(|(rule, _)| *rule == Rule::FilePlace), "{findings:?}");
}

#[test]
fn a_table_does_not_seem_to_be_without_what_cannot_be_listed() {
    for part in ["schema", "snapshot", "tag", "branch", "consumer", "changelog"] {
        let table = copy();
        let elsewhere = tempfile::tempdir().unwrap();
        let directory = table.path().join(part);
        fs::create_dir_all(&directory).unwrap();
        fs::rename(&directory, elsewhere.path().join(part)).unwrap();
        symlink(elsewhere.path().join(part), &directory).unwrap();
        let linked = findings(table.path());
        fs::remove_file(&directory).unwrap();
        fs::write(&directory, "a file").unwrap();
        for findings in [linked, findings(table.path())] {
            assert_eq!(findings, [(Rule::FilePlace, part.to_owned())]);
        }
    }
}

/// What permissions forbid; whoever may read everything, as root may, finds the table sound.
#[test]
fn what_may_not_be_read_is_a_finding_and_nothing_else() {
    for file in ["snapshot", "schema/schema-0", "snapshot/snapshot-2", &a_data_file(copy().path())] {
        let table = copy();
        let path = table.path().join(file);
        let readable = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        let forbidden = if path.is_dir() { fs::read_dir(&path).is_err() } else { fs::read(&path).is_err() };
        let found = findings(table.path());
        fs::set_permissions(&path, readable).unwrap();
        let expected = if forbidden { vec![(Rule::FileReadable, file.to_owned())] } else { vec![] };
        assert_eq!(found, expected);
    }
}

#[test]
fn a_table_is_not_said_to_be_without_orphans_where_they_cannot_be_seen() {
    /// A table whose directory of manifests says nothing of what is in it.
    struct Unlisted(TableOnDisk);

    #[async_trait(?Send)]
    impl ObjectStore for Unlisted {
        async fn get(&self, path: &str) -> Result<Bytes, Failure> {
            self.0.get(path).await
        }

        async fn exists(&self, path: &str) -> Result<bool, Failure> {
            self.0.exists(path).await
        }

        async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Failure> {
            self.0.put(path, bytes).await
        }

        async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool, Failure> {
            self.0.put_if_absent(path, bytes).await
        }

        async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
            let mut listed = self.0.list(directory).await?;
            listed.retain(|file| !file.contains("/manifest/"));
            listed.push(format!("{directory}/manifest"));
            listed.sort();
            Ok(listed)
        }

        async fn delete(&self, path: &str) -> Result<(), Failure> {
            self.0.delete(path).await
        }

        async fn rename_directory(&self, from: &str, to: &str) -> Result<(), Failure> {
            self.0.rename_directory(from, to).await
        }
    }

    let directory = copy();
    let table = Unlisted(TableOnDisk::open(directory.path(), |_| ()).unwrap());
    let verification = inspect(&table, &table.0.path()).now_or_never().unwrap().0;
    let notes: Vec<_> = verification.notes.iter().map(|note| (note.rule, TableOnDisk::shortened(&note.file))).collect();
    assert_eq!(notes, [(Rule::NotChecked, "manifest".to_owned())]);
    assert_eq!((verification.findings, verification.orphans), (vec![], vec![]));
}

#[test]
fn a_branch_that_cannot_be_listed_is_one_finding() {
    let table = copy();
    fs::create_dir_all(table.path().join("branch")).unwrap();
    symlink("../", table.path().join("branch/branch-b")).unwrap();
    assert_eq!(findings(table.path()), [(Rule::FilePlace, "branch/branch-b".to_owned())]);
}

#[test]
fn a_directory_in_the_place_of_the_newest_snapshot_is_a_finding() {
    let table = copy();
    fs::create_dir(table.path().join("snapshot/snapshot-4")).unwrap();
    assert_eq!(findings(table.path()), [(Rule::FilePlace, "snapshot/snapshot-4".to_owned())]);
}

#[test]
fn numbered_files_further_down_are_orphans() {
    let table = copy();
    let mut copies = Vec::new();
    for file in ["snapshot/snapshot-3", "schema/schema-0"] {
        let (directory, name) = file.split_once('/').unwrap();
        let copy = format!("{directory}/backup/{name}");
        fs::create_dir(table.path().join(directory).join("backup")).unwrap();
        fs::copy(table.path().join(file), table.path().join(&copy)).unwrap();
        copies.push(copy);
    }
    let verification = check(table.path());
    let mut orphans: Vec<String> = verification.orphans.iter().map(|file| TableOnDisk::shortened(file)).collect();
    orphans.reverse();
    assert_eq!((verification.findings, orphans), (vec![], copies));
}

#[test]
fn a_loop_of_links_ends() {
    let table = copy();
    symlink(table.path(), table.path().join("dt=d1/loop")).unwrap();
    symlink("self", table.path().join("self")).unwrap();
    let verification = check(table.path());
    let orphans: Vec<String> = verification.orphans.iter().map(|file| TableOnDisk::shortened(file)).collect();
    assert_eq!((verification.findings, orphans), (vec![], vec!["dt=d1/loop".to_owned(), "self".to_owned()]));
}

#[test]
fn a_directory_in_the_place_of_a_file_is_a_finding() {
    let table = copy();
    let file = a_data_file(table.path());
    fs::remove_file(table.path().join(&file)).unwrap();
    fs::create_dir(table.path().join(&file)).unwrap();
    assert_eq!(findings(table.path()), [(Rule::FilePlace, file)]);
}

#[test]
fn a_socket_in_the_place_of_a_file_is_not_opened() {
    let table = copy();
    let file = a_data_file(table.path());
    fs::remove_file(table.path().join(&file)).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(table.path().join("s")).unwrap();
    fs::rename(table.path().join("s"), table.path().join(&file)).unwrap();
    assert_eq!(findings(table.path()), [(Rule::FilePlace, file)]);
}

#[test]
fn a_manifest_of_a_terabyte_is_not_read() {
    let table = copy();
    let file = files_beneath(table.path()).into_iter().find(|file| file.starts_with("manifest/manifest-")).unwrap();
    fs::File::create(table.path().join(&file)).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(findings(table.path()), [(Rule::FileReadable, file)]);
}

#[test]
fn a_text_that_only_pads_is_not_read() {
    for file in ["snapshot/snapshot-2", "schema/schema-0", "snapshot/LATEST"] {
        let table = copy();
        fs::File::options().write(true).open(table.path().join(file)).unwrap().set_len((8 << 20) + 1).unwrap();
        assert_eq!(findings(table.path())[0], (Rule::FileReadable, file.to_owned()));
    }
}

#[test]
fn a_data_file_of_a_terabyte_is_not_read_and_not_said_to_be_sound() {
    let table = copy();
    let file = a_data_file(table.path());
    fs::File::create(table.path().join(&file)).unwrap().set_len(1 << 40).unwrap();
    let verification = check(table.path());
    let notes: Vec<_> = verification.notes.iter().map(|note| (note.rule, TableOnDisk::shortened(&note.file))).collect();
    assert_eq!((verification.findings, notes), (vec![], vec![(Rule::NotChecked, file)]));
}

#[test]
fn what_is_no_table_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let refusal = |path: &Path| TableOnDisk::open(path, |_| ()).err().unwrap();
    assert!(refusal(directory.path()).contains("no schema directory"));
    assert!(refusal(&directory.path().join("absent")).contains("expected the directory of a table"));
    fs::write(directory.path().join("file"), "x").unwrap();
    assert!(refusal(&directory.path().join("file")).contains("no directory"));
}

#[test]
fn nothing_is_ever_written() {
    let table = copy();
    let objects = TableOnDisk::open(table.path(), |_| ()).unwrap();
    let path = "inspected.db/table/x";
    assert!(objects.put(path, "x".into()).now_or_never().unwrap().is_err());
    assert!(objects.put_if_absent(path, "x".into()).now_or_never().unwrap().is_err());
    assert!(objects.delete("inspected.db/table/schema/schema-0").now_or_never().unwrap().is_err());
    assert!(objects.rename_directory("inspected.db/table", "x.db/t").now_or_never().unwrap().is_err());
    assert_eq!(files_beneath(table.path()), files_beneath(&original(KEY)));
}
