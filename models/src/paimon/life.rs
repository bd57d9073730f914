//! Life after commit: how snapshots, tags, branches and changelogs come and go, and which files nothing leads to any
//! more.
//!
//! Two ideas carry all of it. A *head* is a file that leads to others: a snapshot, a tag, the changelog of an expired
//! snapshot, on the main branch or on another one. And a file may be deleted only if no head that stays leads to it,
//! which is computed from all heads of all branches and never guessed from neighbours (L10).
//!
//! Whoever expires, rolls back, tags, branches or cleans up must be kept apart from others who do so on the same table,
//! as in Paimon: readers and writers of the newest snapshot need not be. Everything here can be run again after a crash
//! at any point, and then ends as if it had not crashed.

mod branches;
mod changelogs;
mod consumers;
mod expiry;
mod fast_forward;
mod files;
mod graph;
mod heads;
mod hints;
mod names;
mod orphans;
mod reachable;
mod retention;
mod rollback;
mod rollback_as_latest;
mod survey;
mod tag_file;
mod tags;
mod time_travel;

pub use consumers::ConsumersSeen;
pub use orphans::OrphansSeen;
pub use reachable::{Reachable, reachable_files};
pub use retention::{Retained, Retention};
pub use rollback::RollbackTarget;
pub use tag_file::Tag;
pub use time_travel::TimeTravel;
