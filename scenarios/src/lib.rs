//! What **happens** to a system: plans, their generators and the scenario library.
//!
//! This crate knows statements and faults. It never knows an engine, a history, a checker or a planted defect: a seed
//! gives the same plan whatever it is run against (rule 9).
//!
//! [`library()`] holds the named scenarios; [`scenario::Scenario::plan`] turns one of them and a seed into a
//! [`plan::Plan`]; [`draw::Draws`] is the luck of both plans and runs.

pub mod contract;
pub mod coverage;
pub mod draw;
pub mod fault_kinds;
pub mod library;
pub mod plan;
pub mod scenario;
mod swarm;

pub use library::{find, library};
pub use swarm::{CrashPoint, contract_combinations, contract_store_state, crash_places, crash_points};
