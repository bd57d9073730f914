//! Life after commit: expiry, tags, branches, rollback and clean-up, also when they crash at any point.

mod branches;
mod changelogs;
mod clean_up;
mod crashing;
mod expiry;
pub mod history;
mod rollback;
mod tags;
mod time_travel;
