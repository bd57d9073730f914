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
            let path = format!("{root}/{name}");
            if self.listed.binary_search(&path).is_err() {
                continue;
            }
            self.incomplete = true;
            can_be_seen &= !LEADING.contains(&name);
            if self.read(&path, Referrer::Directory).await.is_some() {
                self.findings.add(Rule::FilePlace, &path, None, "expected a directory, found a file");
            }
        }
        can_be_seen
    }
}
