//! A table's directory on disk as an object store that only reads, for inspection.
//!
//! It trusts nothing that lies there: it never follows a symbolic link, never leaves the directory, opens only regular
//! files, and reads none that is larger than it should be. It must never write.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bytes::Bytes;

use crate::contract::{Failure, FailureCode, ObjectStore, TablePath};

use super::super::directory::parse_canonical;

/// The database that a directory without a known one is said to be in.
const DATABASE: &str = "inspected";
/// The name under which the table is inspected.
const TABLE: &str = "table";
/// Where the table's files lie in this store.
const ROOT: &str = "inspected.db/table";
/// The directories of files of text: JSON, or a number.
const OF_TEXT: [&str; 7] = ["schema", "snapshot", "tag", "branch", "consumer", "changelog", "statistics"];
/// A file of text has at most so many bytes: a schema of ten thousand columns has about one million.
const MAX_TEXT_BYTES: u64 = 8 << 20;
/// The directory of manifests.
const OF_MANIFESTS: &str = "manifest";
/// A manifest has at most so many bytes; Paimon's are meant to have 8 MiB.
const MAX_MANIFEST_BYTES: u64 = 64 << 20;
/// A data or index file of more bytes is not read; Paimon's are meant to have 128 or 256 MiB.
const MAX_DATA_BYTES: u64 = 1 << 30;
/// A table has at most so many files.
const MAX_FILES: usize = 4_000_000;

/// A table's directory. Its paths begin with the directory of [`TableOnDisk::path`].
pub struct TableOnDisk {
    root: PathBuf,
    on_read: Box<dyn Fn(&str)>,
}

impl TableOnDisk {
    /// The table in this directory; the error says why there is none. `on_read` is told of each file, as it is named
    /// beneath the directory, before it is read.
    pub fn open(directory: &Path, on_read: impl Fn(&str) + 'static) -> Result<Self, String> {
        let shown = directory.display();
        let root = directory
            .canonicalize()
            .map_err(|error| format!("expected the directory of a table at {shown}: {error}"))?;
        if !root.is_dir() {
            return Err(format!("expected the directory of a table, found that {shown} is no directory"));
        }
        fs::read_dir(&root).map_err(|error| format!("the directory {shown} cannot be read: {error}"))?;
        if !["schema", "snapshot", "manifest"].iter().any(|part| root.join(part).symlink_metadata().is_ok()) {
            return Err(format!("expected the directory of a Paimon table, found no schema directory in {shown}"));
        }
        Ok(Self { root, on_read: Box::new(on_read) })
    }

    /// The name under which the table is to be read.
    pub fn path(&self) -> TablePath {
        TablePath::new(DATABASE, TABLE)
    }

    /// A text in which files are named as they are beneath the directory.
    pub fn shortened(text: &str) -> String {
        text.replace(&format!("{ROOT}/"), "")
    }

    /// Where an object lies, if no part of its path leads elsewhere.
    fn file(&self, path: &str) -> Result<PathBuf, Failure> {
        let within = path.strip_prefix(ROOT).and_then(|rest| rest.strip_prefix('/'));
        let within = within.ok_or_else(|| Failure::not_found(format!("expected a file of the table, found {path}")))?;
        let leaves = |part: &str| part.is_empty() || part == "." || part == ".." || part.contains(['\\', '\0']);
        if within.split('/').any(leaves) {
            return Err(Failure::invalid(format!("expected a path within the table, found {within:?}")));
        }
        let mut file = self.root.clone();
        for part in within.split('/') {
            file.push(part);
            match file.symlink_metadata() {
                Ok(metadata) if metadata.is_symlink() => {
                    let found = file.strip_prefix(&self.root).unwrap_or(&file).display();
                    let message =
                        format!("expected a file of the table, found the symbolic link {found}, not followed");
                    return Err(Failure::invalid(message));
                }
                Ok(_) => {}
                Err(error) => return Err(failed(within, &error)),
            }
        }
        Ok(file)
    }

    fn read(&self, path: &str) -> Result<Bytes, Failure> {
        let file = self.file(path)?;
        let within = path.strip_prefix(ROOT).unwrap_or(path).trim_start_matches('/');
        let metadata = file.symlink_metadata().map_err(|error| failed(within, &error))?;
        if !metadata.is_file() {
            if metadata.is_dir()
                && let Err(error) = fs::read_dir(&file)
            {
                return Err(Failure::internal(format!("expected a directory that can be listed, found {error}")));
            }
            let found = if metadata.is_dir() { "a directory" } else { "something that is none" };
            return Err(Failure::invalid(format!("expected a regular file, found {found}")));
        }
        let max_bytes = match within.split_once('/') {
            Some((OF_MANIFESTS, _)) => Some(MAX_MANIFEST_BYTES),
            Some((first, _)) if OF_TEXT.contains(&first) => Some(MAX_TEXT_BYTES),
            _ => None,
        };
        let size = metadata.len();
        if let Some(max_bytes) = max_bytes.filter(|max_bytes| size > *max_bytes) {
            let message = format!("expected a file of at most {max_bytes} bytes, found {size}");
            return Err(Failure::internal(message));
        }
        if size > MAX_DATA_BYTES {
            let message = format!("it has {size} bytes, and files of more than {MAX_DATA_BYTES} are not read");
            return Err(Failure::definite(FailureCode::Unsupported, message));
        }
        (self.on_read)(within);
        let mut bytes = Vec::new();
        // A file that grows meanwhile is not followed.
        let read = File::open(&file).and_then(|file| file.take(size).read_to_end(&mut bytes));
        read.map_err(|error| failed(within, &error))?;
        Ok(Bytes::from(bytes))
    }

    /// Every file beneath the directory, and what stands in the place of one: symbolic links, directories that cannot
    /// be listed to their end, and those that have the name of a numbered file.
    fn list_all(&self) -> Result<Vec<String>, Failure> {
        let mut found = Vec::new();
        let mut directories = vec![(self.root.clone(), ROOT.to_owned())];
        while let Some((directory, named)) = directories.pop() {
            let Ok(entries) = fs::read_dir(&directory) else {
                found.push(named);
                continue;
            };
            for entry in entries {
                let Ok(entry) = entry else {
                    found.push(named.clone());
                    break;
                };
                let named = format!("{named}/{}", entry.file_name().to_string_lossy());
                if entry.file_type().is_ok_and(|file_type| file_type.is_dir()) {
                    if has_name_of_numbered_file(&named) {
                        found.push(named.clone());
                    }
                    directories.push((entry.path(), named));
                } else {
                    found.push(named);
                }
                if found.len() + directories.len() > MAX_FILES {
                    return Err(Failure::internal(format!(
                        "expected a table of at most {MAX_FILES} files, found more"
                    )));
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// Whether this is where a snapshot, a schema or a changelog would be.
fn has_name_of_numbered_file(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let (Some(name), Some(directory)) = (parts.next(), parts.next()) else { return false };
    let number = name.strip_prefix(directory).and_then(|rest| rest.strip_prefix('-'));
    ["snapshot", "schema", "changelog"].contains(&directory)
        && number.is_some_and(|number| parse_canonical(number).is_some())
}

fn failed(path: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Failure::not_found(format!("expected a file at {path}, found none"))
        }
        _ => Failure::internal(format!("expected a file that can be read, found {error}")),
    }
}

fn only_read() -> Failure {
    Failure::definite(FailureCode::Unsupported, "expected nothing but reads of an inspected table, found a write")
}

#[async_trait(?Send)]
impl ObjectStore for TableOnDisk {
    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        self.read(path)
    }

    async fn exists(&self, path: &str) -> Result<bool, Failure> {
        match self.file(path) {
            Ok(file) => Ok(file.is_file()),
            Err(failure) if failure.code == FailureCode::NotFound => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    async fn put(&self, _path: &str, _bytes: Bytes) -> Result<(), Failure> {
        Err(only_read())
    }

    async fn put_if_absent(&self, _path: &str, _bytes: Bytes) -> Result<bool, Failure> {
        Err(only_read())
    }

    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
        let mut listed = self.list_all()?;
        if directory != ROOT {
            let prefix = format!("{directory}/");
            listed.retain(|file| file.starts_with(&prefix));
        }
        Ok(listed)
    }

    async fn delete(&self, _path: &str) -> Result<(), Failure> {
        Err(only_read())
    }

    async fn rename_directory(&self, _from: &str, _to: &str) -> Result<(), Failure> {
        Err(only_read())
    }
}
