//! What goes when certain heads go.
//!
//! Which heads go is decided elsewhere. Here is computed what only they led to, from all heads that stay (L10), and it
//! is deleted in an order in which a crash leaves nothing behind that could not be found again.

use std::collections::BTreeSet;

use crate::concurrently;
use crate::contract::{Failure, ObjectStore};
use crate::defects::{Defect, Defects};

use super::super::directory::TableDirectory;
use super::super::lake_access::{LakeAccess, before_any_effect};
use super::files::Files;
use super::graph::{Graph, Unreadable};
use super::heads::{Head, HeadKind};

/// All heads of a table, on all branches, and all that they lead to.
pub(super) struct Survey {
    listed: BTreeSet<String>,
    heads: Vec<Head>,
    graph: Graph,
    defects: Defects,
}

impl Survey {
    /// Reads all heads. Nothing has changed yet, so every failure is definite.
    pub(super) async fn take(lake: &LakeAccess, main: &TableDirectory) -> Result<Self, Failure> {
        let objects = &*lake.objects;
        let listed = objects.list(main.root()).await.map_err(before_any_effect)?;
        let heads = Head::all(main, &listed);
        let graph = Graph::load(objects, main, &listed, heads.iter().cloned()).await.map_err(before_any_effect)?;
        Ok(Self { listed: listed.into_iter().collect(), heads, graph, defects: lake.defects.clone() })
    }

    /// The files that these heads lead to, needed or not by others.
    pub(super) fn named_by(&self, heads: impl Fn(&Head) -> bool) -> Files {
        let mut named = Files::default();
        self.heads.iter().filter(|head| heads(head)).for_each(|head| named.extend(self.graph.named_by(head)));
        named
    }

    /// The files that only heads lead to that go, as far as they exist. A head that goes on as a changelog still needs
    /// its changes. If anything that stays cannot be read, what it needs is not known, and nothing may be deleted.
    pub(super) fn doomed(
        &self,
        goes: impl Fn(&Head) -> bool,
        goes_on_as_changelog: impl Fn(&Head) -> bool,
    ) -> Result<Files, Failure> {
        let mut unreadable = Unreadable::new();
        let (mut named, mut held) = (Files::default(), BTreeSet::new());
        for head in &self.heads {
            if goes(head) {
                named.extend(self.graph.named_by(head));
                if goes_on_as_changelog(head) {
                    held.extend(self.graph.held_as_changelog(head, &mut unreadable).paths().cloned());
                }
            // Planted bug expiry-ignores-tag: a tag keeps nothing.
            } else if head.kind != HeadKind::Tag || !self.defects.has(Defect::ExpiryIgnoresTag) {
                held.extend(self.graph.held_by(head, &mut unreadable).paths().cloned());
            }
        }
        // Planted bug expiry-deletes-live: what a later snapshot says that it deleted goes, though the same snapshot
        // added it again at another level.
        if self.defects.has(Defect::ExpiryDeletesLive) {
            for head in self.heads.iter().filter(|head| !goes(head)) {
                self.graph.deleted_by(head).paths().for_each(|path| {
                    held.remove(path);
                });
            }
        }
        if let Some((file, reason)) = unreadable.into_iter().next() {
            let sentence =
                format!("expected to read all that stays before anything is deleted, found {file}: {reason}");
            return Err(before_any_effect(Failure::internal(sentence)));
        }
        named.retain(|path| self.listed.contains(path) && !held.contains(path));
        Ok(named)
    }
}

/// Deletes files, those that lead to others after them.
pub(super) async fn delete_in_order(objects: &dyn ObjectStore, files: &Files) -> Result<(), Failure> {
    for stage in files.stages() {
        let deletes = stage.iter().map(|path| objects.delete(path));
        concurrently::all(deletes).await.into_iter().collect::<Result<(), Failure>>()?;
    }
    Ok(())
}
