//! Two object stores: one in memory for simulation, one on a directory for export, import and inspection.
//!
//! Neither fails on its own and neither takes time: what goes wrong on the way to storage is decided around them. A
//! third one stands in front of either, and knows no better way to create a file than to rename one.

mod catalog_lock;
mod renaming;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::contract::{Failure, FailureCode, ObjectStore};

pub use self::catalog_lock::{CatalogLock, HeldLock};
pub use self::renaming::{RenameSemantics, RenamingObjectStore};

/// Objects in memory. Clones share their objects.
#[derive(Clone, Debug, Default)]
pub struct MemoryObjectStore {
    objects: Rc<RefCell<BTreeMap<String, Bytes>>>,
}

impl MemoryObjectStore {
    /// A store without objects.
    pub fn new() -> Self {
        Self::default()
    }

    /// All objects by path, as they are now.
    pub fn snapshot_all(&self) -> BTreeMap<String, Bytes> {
        self.objects.borrow().clone()
    }

    /// Flips every bit of one byte of an object; `false` if there is no such byte.
    pub fn corrupt(&self, path: &str, byte_position: usize) -> bool {
        let mut objects = self.objects.borrow_mut();
        let Some(object) = objects.get_mut(path).filter(|object| byte_position < object.len()) else {
            return false;
        };
        let mut bytes = object.to_vec();
        bytes[byte_position] ^= 0xff;
        *object = Bytes::from(bytes);
        true
    }

    /// The paths of all objects, as they are now.
    pub fn paths(&self) -> BTreeSet<String> {
        self.objects.borrow().keys().cloned().collect()
    }

    /// The paths beneath a directory, in ascending order.
    fn paths_beneath(&self, directory: &str) -> Vec<String> {
        let prefix = directory_prefix(directory);
        let objects = self.objects.borrow();
        let from_prefix = objects.range(prefix.clone()..);
        from_prefix.map(|(path, _)| path).take_while(|path| path.starts_with(&prefix)).cloned().collect()
    }
}

/// What every path beneath the directory begins with; the root is the empty text.
fn directory_prefix(directory: &str) -> String {
    if directory.is_empty() { String::new() } else { format!("{directory}/") }
}

fn no_such_object(path: &str) -> Failure {
    Failure::not_found(format!("expected an object at {path:?}, found none"))
}

fn target_is_taken(directory: &str) -> Failure {
    Failure::definite(
        FailureCode::AlreadyExists,
        format!("expected nothing beneath {directory:?} to rename to, found objects"),
    )
}

#[async_trait(?Send)]
impl ObjectStore for MemoryObjectStore {
    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        self.objects.borrow().get(path).cloned().ok_or_else(|| no_such_object(path))
    }

    async fn exists(&self, path: &str) -> Result<bool, Failure> {
        Ok(self.objects.borrow().contains_key(path))
    }

    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Failure> {
        self.objects.borrow_mut().insert(path.to_owned(), bytes);
        Ok(())
    }

    async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool, Failure> {
        let mut objects = self.objects.borrow_mut();
        let absent = !objects.contains_key(path);
        if absent {
            objects.insert(path.to_owned(), bytes);
        }
        Ok(absent)
    }

    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
        Ok(self.paths_beneath(directory))
    }

    async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.objects.borrow_mut().remove(path);
        Ok(())
    }

    async fn rename_directory(&self, from: &str, to: &str) -> Result<(), Failure> {
        if !self.paths_beneath(to).is_empty() {
            return Err(target_is_taken(to));
        }
        let moved = self.paths_beneath(from);
        if moved.is_empty() {
            return Err(no_such_object(from));
        }
        let mut objects = self.objects.borrow_mut();
        for path in moved {
            if let Some(bytes) = objects.remove(&path) {
                objects.insert(format!("{to}{}", &path[from.len()..]), bytes);
            }
        }
        Ok(())
    }
}

/// Objects as files beneath a directory. Not for simulation: the file system has its own clock and failures.
#[derive(Clone, Debug)]
pub struct DirectoryObjectStore {
    root: PathBuf,
}

/// What the name of a file in the making ends in, after a number; such files are no objects.
const UNFINISHED: &str = ".unfinished";

impl DirectoryObjectStore {
    /// The objects beneath this directory, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where an object lies. Paths that would leave the root are refused.
    fn file(&self, path: &str) -> Result<PathBuf, Failure> {
        let leaves_root = |part: &str| part.is_empty() || part == "." || part == ".." || part.contains('\\');
        if path.split('/').any(leaves_root) {
            return Err(Failure::invalid(format!("expected a relative path without `.` and `..`, found {path:?}")));
        }
        Ok(self.root.join(path))
    }

    fn directory(&self, directory: &str) -> Result<PathBuf, Failure> {
        if directory.is_empty() { Ok(self.root.clone()) } else { self.file(directory) }
    }

    /// Writes the bytes beside the object's place, so that they can be moved there in one step.
    fn write_beside(&self, path: &str, bytes: &[u8]) -> Result<(PathBuf, PathBuf), Failure> {
        let target = self.file(path)?;
        let written =
            create_parent(&target).and_then(|()| create_beside(&target)).and_then(|(unfinished, mut file)| {
                // Half a file is nobody's; whether it can be removed changes nothing about the failure.
                file.write_all(bytes).inspect_err(|_| drop(fs::remove_file(&unfinished)))?;
                Ok(unfinished)
            });
        // The object's own place was not touched.
        let unfinished =
            written.map_err(|error| Failure::definite(FailureCode::Internal, file_error("write", path, &error)))?;
        Ok((unfinished, target))
    }
}

/// A new file beside this one, of nobody else: another process that writes the same object must not write into it, or
/// this one would put the other's bytes in the object's place and call them its own.
fn create_beside(target: &Path) -> io::Result<(PathBuf, fs::File)> {
    let mut number: u64 = 0;
    loop {
        let mut unfinished = target.to_owned().into_os_string();
        unfinished.push(format!(".{number}{UNFINISHED}"));
        match fs::File::create_new(&unfinished) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            created => return created.map(|file| (PathBuf::from(unfinished), file)),
        }
    }
}

fn create_parent(file: &Path) -> io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)
}

fn file_error(action: &str, path: &str, error: &io::Error) -> String {
    format!("could not {action} {path:?}: {error}")
}

/// The files beneath a directory, relative to the root, appended in no particular order.
fn collect_files(directory: &Path, relative: &str, found: &mut Vec<String>) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        // Names that are not UTF-8 cannot be objects' names.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{}{name}", directory_prefix(relative));
        if entry.file_type()?.is_dir() {
            collect_files(&entry.path(), &path, found)?;
        } else if !name.ends_with(UNFINISHED) {
            found.push(path);
        }
    }
    Ok(())
}

#[async_trait(?Send)]
impl ObjectStore for DirectoryObjectStore {
    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        match fs::read(self.file(path)?) {
            Ok(bytes) => Ok(Bytes::from(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(no_such_object(path)),
            Err(error) => Err(Failure::internal(file_error("read", path, &error))),
        }
    }

    async fn exists(&self, path: &str) -> Result<bool, Failure> {
        Ok(self.file(path)?.is_file())
    }

    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), Failure> {
        let (unfinished, target) = self.write_beside(path, &bytes)?;
        fs::rename(unfinished, target).map_err(|error| Failure::internal(file_error("write", path, &error)))
    }

    async fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool, Failure> {
        let (unfinished, target) = self.write_beside(path, &bytes)?;
        // Unlike a rename, a hard link never replaces its target, also not that of another process.
        let linked = fs::hard_link(&unfinished, target);
        let removed = fs::remove_file(&unfinished);
        match linked {
            Ok(()) => removed.map(|()| true).map_err(|error| Failure::internal(file_error("write", path, &error))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(Failure::internal(file_error("write", path, &error))),
        }
    }

    async fn list(&self, directory: &str) -> Result<Vec<String>, Failure> {
        let mut found = Vec::new();
        collect_files(&self.directory(directory)?, directory, &mut found)
            .map_err(|error| Failure::internal(file_error("list", directory, &error)))?;
        found.sort_unstable();
        Ok(found)
    }

    async fn delete(&self, path: &str) -> Result<(), Failure> {
        match fs::remove_file(self.file(path)?) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failure::internal(file_error("delete", path, &error)))
            }
            _ => Ok(()),
        }
    }

    async fn rename_directory(&self, from: &str, to: &str) -> Result<(), Failure> {
        if !self.list(to).await?.is_empty() {
            return Err(target_is_taken(to));
        }
        if self.list(from).await?.is_empty() {
            return Err(no_such_object(from));
        }
        let (source, target) = (self.file(from)?, self.file(to)?);
        create_parent(&target)
            .and_then(|()| fs::rename(source, target))
            .map_err(|error| Failure::internal(file_error("rename", from, &error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What both stores must do alike.
    async fn behaves_as_an_object_store(objects: &dyn ObjectStore) {
        assert_eq!(objects.get("a/b").await.unwrap_err().code, FailureCode::NotFound);
        assert_eq!(objects.list("a").await.unwrap(), Vec::<String>::new());

        assert!(objects.put_if_absent("a/b", Bytes::from_static(b"one")).await.unwrap());
        assert!(!objects.put_if_absent("a/b", Bytes::from_static(b"two")).await.unwrap(), "the first writer wins");
        assert_eq!(objects.get("a/b").await.unwrap(), "one");
        objects.put("a/b", Bytes::from_static(b"three")).await.unwrap();
        assert_eq!(objects.get("a/b").await.unwrap(), "three");

        objects.put("a/c/d", Bytes::new()).await.unwrap();
        objects.put("ab", Bytes::new()).await.unwrap();
        objects.put("a-b", Bytes::new()).await.unwrap();
        assert_eq!(objects.list("a").await.unwrap(), ["a/b", "a/c/d"], "a name's beginning is not a directory");
        assert_eq!(objects.list("").await.unwrap(), ["a-b", "a/b", "a/c/d", "ab"]);

        objects.put("taken/x", Bytes::new()).await.unwrap();
        assert_eq!(objects.rename_directory("a", "taken").await.unwrap_err().code, FailureCode::AlreadyExists);
        objects.rename_directory("a", "z/y").await.unwrap();
        assert_eq!(objects.list("z").await.unwrap(), ["z/y/b", "z/y/c/d"]);
        assert!(!objects.exists("a/b").await.unwrap());
        assert_eq!(objects.rename_directory("a", "e").await.unwrap_err().code, FailureCode::NotFound);

        objects.delete("z/y/b").await.unwrap();
        objects.delete("z/y/b").await.unwrap();
        assert!(!objects.exists("z/y/b").await.unwrap());
    }

    #[tokio::test]
    async fn memory_behaves_as_an_object_store() {
        behaves_as_an_object_store(&MemoryObjectStore::new()).await;
    }

    #[tokio::test]
    async fn a_directory_behaves_as_an_object_store() {
        let root = tempfile::tempdir().unwrap();
        behaves_as_an_object_store(&DirectoryObjectStore::new(root.path())).await;
    }

    #[tokio::test]
    async fn what_another_process_is_writing_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let objects = DirectoryObjectStore::new(root.path());
        // The other one began to write the same object and is not done, or never will be.
        let (theirs, _) = objects.write_beside("a/b", b"theirs").unwrap();
        assert!(objects.put_if_absent("a/b", Bytes::from_static(b"ours")).await.unwrap());
        assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
        assert_eq!(objects.get("a/b").await.unwrap(), "ours");
        objects.put("a/b", Bytes::from_static(b"again")).await.unwrap();
        assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
        assert_eq!(objects.list("").await.unwrap(), ["a/b"], "what is not finished is no object");
    }

    #[tokio::test]
    async fn paths_do_not_leave_the_directory() {
        let root = tempfile::tempdir().unwrap();
        let objects = DirectoryObjectStore::new(root.path());
        for path in ["../x", "a/../../x", "/etc/x", "", "a//b"] {
            assert_eq!(objects.put(path, Bytes::new()).await.unwrap_err().code, FailureCode::Invalid, "{path:?}");
        }
    }

    #[tokio::test]
    async fn corruption_flips_one_byte() {
        let objects = MemoryObjectStore::new();
        objects.put("a", Bytes::from_static(&[1, 2])).await.unwrap();
        assert!(objects.corrupt("a", 1));
        assert_eq!(objects.get("a").await.unwrap(), Bytes::from_static(&[1, 0xfd]));
        assert!(!objects.corrupt("a", 2));
        assert!(!objects.corrupt("b", 0));
    }
}
