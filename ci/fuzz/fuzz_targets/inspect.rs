//! One file of a sound table is replaced by any bytes, or changed at some places: the check ends, and every finding
//! names a file of the table.
#![no_main]

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

use arbitrary::Arbitrary;
use bytes::Bytes;
use futures::FutureExt;
use fuzz::tolerate_panics_of_libraries;
use libfuzzer_sys::fuzz_target;
use models::contract::{ObjectStore, TablePath};
use models::paimon::object_stores::MemoryObjectStore;
use models::paimon::verify;

/// What happens to the table.
#[derive(Arbitrary, Debug)]
struct Damage {
    table: u8,
    file: u16,
    kind: Kind,
}

#[derive(Arbitrary, Debug)]
enum Kind {
    Replaced(Vec<u8>),
    Changed(Vec<(u16, u8)>),
    Cut(u16),
}

/// Tables of other writers: with keys, Avro, nested columns, deletion vectors of both kinds, a tag, partitions.
const TABLES_OF_OTHERS: [&str; 7] = [
    "warehouse-pypaimon-2.1.0/db.db/pk",
    "warehouse-pypaimon-2.1.0/db.db/pk_avro",
    "warehouse-java-1.4.2/db.db/nested_key",
    "interop/java-1.4.2/interop.db/deletion_vectors",
    "interop/java-1.4.2/interop.db/deletion_vectors_64",
    "interop/java-1.4.2/interop.db/rollback",
    "interop/java-1.4.2/interop.db/partition_names",
];

type Files = Vec<(String, Bytes)>;

thread_local! {
    static TABLES: OnceCell<Vec<Files>> = const { OnceCell::new() };
}

/// The tables that other writers left behind, as the tests have them.
fn tables() -> Vec<Files> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/tests/fixtures");
    let mut tables = Vec::new();
    for name in TABLES_OF_OTHERS {
        let root = fixtures.join(name);
        let mut files = Files::new();
        let mut directories: Vec<PathBuf> = vec![root.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).expect("the fixtures").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    let name = path.strip_prefix(&root).expect("beneath").to_string_lossy().into_owned();
                    files.push((format!("db.db/t/{name}"), Bytes::from(fs::read(&path).expect("a fixture"))));
                }
            }
        }
        files.push(("db.db/t/consumer/consumer-c".to_owned(), Bytes::from_static(br#"{"nextSnapshot": 1}"#)));
        files.sort();
        tables.push(files);
    }
    tables
}

fuzz_target!(init: tolerate_panics_of_libraries(), |damage: Damage| {
    TABLES.with(|known| {
        let tables = known.get_or_init(tables);
        let files = &tables[usize::from(damage.table) % tables.len()];
        let chosen = usize::from(damage.file) % files.len();
        let objects = MemoryObjectStore::new();
        for (position, (name, bytes)) in files.iter().enumerate() {
            let mut bytes = bytes.clone();
            if position == chosen {
                let mut changed = bytes.to_vec();
                match &damage.kind {
                    Kind::Replaced(other) => changed.clone_from(other),
                    Kind::Changed(places) => {
                        for (place, change) in places {
                            let place = usize::from(*place) % changed.len().max(1);
                            if let Some(byte) = changed.get_mut(place) {
                                *byte ^= change;
                            }
                        }
                    }
                    Kind::Cut(length) => changed.truncate(usize::from(*length)),
                }
                bytes = Bytes::from(changed);
            }
            objects.put(name, bytes).now_or_never().expect("at once").expect("in memory");
        }
        let checked = verify(&objects, &TablePath::new("db", "t")).now_or_never().expect("at once");
        assert!(checked.findings.iter().all(|finding| finding.file.starts_with("db.db/t")), "{checked:?}");
    });
});
