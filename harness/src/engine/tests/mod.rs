//! What the engine promises to everybody who reads its histories.

mod calls;
mod sessions;
mod watchdogs;
