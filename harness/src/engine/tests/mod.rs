//! What the engine promises to everybody who reads its histories.

mod bench;
mod broken;
mod calls;
mod maintenance;
mod sessions;
mod surroundings;
mod watchdogs;
