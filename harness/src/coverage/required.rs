//! Which points a whole campaign must have been at. All others are rare: they are listed where they were not reached,
//! and nothing follows.
//!
//! A point is put here by measurement and by hand: it was reached in at least 6 of the first 300 seeds of a campaign
//! over all scenarios, so that 1,000 seeds miss it only if something has changed.

/// Their ids, in the order of the catalogue.
pub(super) const REQUIRED: &[&str] = &[];
