//! What things **are**: the vocabulary of lake-stream mode, the traits that its parts implement, and a reference
//! implementation of each part.
//!
//! This crate never knows about faults, plans, histories or judging. It takes time, luck and its peers from outside
//! (see [`contract::Environment`]), so whoever runs it decides what goes wrong and when.

pub mod compactor;
mod concurrently;
pub mod config;
pub mod contract;
pub mod defects;
pub mod maintenance;
pub mod paimon;
pub mod points;
pub mod store;
pub mod system;
pub mod tiering;
