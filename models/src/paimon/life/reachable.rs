//! Which files of a table anything leads to (L18).
//!
//! It reads and tells; what becomes of the other files is not decided here.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{Failure, ObjectStore, TablePath};

use super::super::directory::{TableDirectory, parse_canonical};
use super::graph::{Graph, Unreadable};
use super::heads::Head;

/// The files of a table that something leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reachable {
    /// Their paths: schemas, snapshots, tags, changelogs, consumers and hints of all branches, and all that snapshots,
    /// tags and changelogs lead to. A file that is named but missing is among them. Data files that are named only by
    /// the deletes of a snapshot are not: they are gone once the snapshot before it has expired.
    pub files: BTreeSet<String>,
    /// What could not be read on the way, by file, and why. Unless it is empty, other files than those in `files` may
    /// be needed too, and none of them may be called an orphan.
    pub unreadable: BTreeMap<String, String>,
}

/// Follows every snapshot, tag and long-lived changelog of every branch of a table. The failure is that the table's
/// directory cannot be listed.
pub async fn reachable_files(objects: &dyn ObjectStore, table: &TablePath) -> Result<Reachable, Failure> {
    let main = TableDirectory::of(table);
    let listed = objects.list(main.root()).await?;
    Ok(reachable_among(objects, &main, &listed).await)
}

/// The same of a listing of the table's directory.
pub(super) async fn reachable_among(objects: &dyn ObjectStore, main: &TableDirectory, listed: &[String]) -> Reachable {
    let mut reachable = Reachable::default();
    reachable.files.extend(listed.iter().filter(|path| is_metadata(main, path)).cloned());
    let heads = Head::all(main, listed);
    if heads.is_empty() {
        return reachable;
    }
    let mut unreadable = Unreadable::new();
    match Graph::load(objects, main, listed, heads.iter().cloned()).await {
        Ok(graph) => {
            for head in &heads {
                reachable.files.extend(graph.held_by(head, &mut unreadable).paths().cloned());
            }
        }
        Err(failure) => {
            unreadable.insert(main.schema_directory(), failure.message);
        }
    }
    reachable.unreadable = unreadable;
    reachable
}

/// Whether a file of this path is needed because of what it is: it is a head itself, a schema, a consumer or a hint.
fn is_metadata(main: &TableDirectory, path: &str) -> bool {
    if Head::of(main, path).is_some() {
        return true;
    }
    let beneath = || {
        let beneath = path.strip_prefix(main.root())?.strip_prefix('/')?;
        match beneath.strip_prefix("branch/branch-") {
            None => Some(beneath),
            Some(branch) => Some(branch.split_once('/')?.1),
        }
    };
    match beneath().and_then(|beneath| beneath.split_once('/')) {
        Some(("snapshot" | "changelog", name)) => name == "LATEST" || name == "EARLIEST",
        Some(("schema", name)) => name.strip_prefix("schema-").and_then(parse_canonical).is_some(),
        Some(("consumer", name)) => name.starts_with("consumer-") && !name.contains('/'),
        _ => false,
    }
}
