//! Storage that refuses to give a file out: the file is named, once, and nothing is said of what it would have led to.

use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt;
use models::contract::{Failure, FailureCode, ObjectStore, TablePath};
use models::paimon::integrity::Rule;
use models::paimon::object_stores::MemoryObjectStore;
use models::paimon::{Verification, inspect};

use crate::damaged::*;

/// Storage that does not give out one file, or cannot list.
struct Refusing<'a> {
    objects: &'a MemoryObjectStore,
    file: Option<String>,
}

fn refusal() -> Failure {
    Failure::definite(FailureCode::Unavailable, "expected permission to read, found none")
}

#[async_trait(?Send)]
impl ObjectStore for Refusing<'_> {
    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        if self.file.as_deref() == Some(path) { Err(refusal()) } else { self.objects.get(path).await }
    }

    async fn exists(&self, path: &str) -> Result<bool, Failure> {
        self.objects.exists(path).await
    }

    async fn put(&self, _path: &str, _bytes: Bytes) -> Result<(), Failure> {
        Err(refusal())
    }

    async fn put_if_absent(&self, _path: &str, _bytes: Bytes) -> Result<bool, Failure> {
        Err(refusal())
    }

    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
        if self.file.is_none() { Err(refusal()) } else { self.objects.list(directory).await }
    }

    async fn delete(&self, _path: &str) -> Result<(), Failure> {
        Err(refusal())
    }

    async fn rename_directory(&self, _from: &str, _to: &str) -> Result<(), Failure> {
        Err(refusal())
    }
}

fn inspected(objects: &MemoryObjectStore, file: Option<&str>) -> Verification {
    let refusing = Refusing { objects, file: file.map(|file| format!("db.db/t/{file}")) };
    inspect(&refusing, &TablePath::new("db", "t")).now_or_never().unwrap().0
}

#[test]
fn each_file_that_is_refused_is_the_one_finding() {
    for table in [KEY, KEY_AVRO, APPEND] {
        let table = Damaged::copy_of(table);
        for file in table.all_files() {
            let verification = inspected(table.objects(), Some(&file));
            let findings: Vec<_> =
                verification.findings.iter().map(|finding| (finding.rule, finding.file.as_str())).collect();
            assert_eq!(findings, [(Rule::FileReadable, format!("db.db/t/{file}").as_str())]);
            assert_eq!(verification.findings[0].found, refusal().message);
            let leads_to_others =
                ["schema/", "snapshot/snapshot-", "manifest/"].iter().any(|part| file.starts_with(part));
            assert_eq!(verification.orphans_uncertain, leads_to_others, "{file}");
        }
    }
}

#[test]
fn a_table_that_cannot_be_listed_is_the_one_finding() {
    let verification = inspected(Damaged::copy_of(KEY).objects(), None);
    assert_eq!(verification.findings.len(), 1, "{:?}", verification.findings);
    assert_eq!(
        (verification.findings[0].rule, verification.findings[0].file.as_str()),
        (Rule::FileReadable, "db.db/t")
    );
}
