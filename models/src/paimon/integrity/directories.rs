//! Rules `file-place` and `file-readable` of directories: each is one, and can be looked into.
//!
//! A listing names what it cannot look into as it names a file. Without this rule a table whose snapshots cannot be
//! seen would look like one that has none.

use super::check::{Check, Referrer};
use super::rule::Rule;

/// The directories of a table or a branch that say what there is. What lies in the others is known by reference.
const DIRECTORIES: [&str; 6] = ["schema", "snapshot", "tag", "branch", "consumer", "changelog"];
/// Those without which nothing can be said of the rest.
const LEADING: [&str; 2] = ["schema", "snapshot"];

impl Check<'_> {
    /// Tells of what stands in the place of a directory beneath this root, which is that of a table or of a branch.
    /// Returns whether schemas and snapshots can be seen; if not, nothing more is to be said.
    pub(super) async fn directories(&mut self, root: &str) -> bool {
        let mut can_be_seen = true;
        for name in DIRECTORIES {
            let is_directory = self.is_directory(&format!("{root}/{name}")).await;
            can_be_seen &= is_directory || !LEADING.contains(&name);
        }
        can_be_seen
    }

    /// Whether this is a directory that can be looked into, or not there; told if neither.
    pub(super) async fn is_directory(&mut self, path: &str) -> bool {
        if !self.is_listed(path) {
            return true;
        }
        self.incomplete = true;
        if self.read(path, Referrer::Directory).await.is_some() {
            self.findings.add(Rule::FilePlace, path, None, "expected a directory, found a file");
        }
        false
    }
}
