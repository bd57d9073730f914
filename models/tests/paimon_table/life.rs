//! Life after commit: expiry, tags, branches, rollback and clean-up, also when they crash at any point.

mod crashing;
mod expiry;
