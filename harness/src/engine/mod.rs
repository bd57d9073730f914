//! Stand-in.
pub mod sim;
