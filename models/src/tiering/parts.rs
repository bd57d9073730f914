//! What every task of a tiering worker reaches besides its peers, each by ways of its own.

use std::rc::Rc;

use crate::config::WorkerConfig;
use crate::contract::{Environment, Store};
use crate::defects::Defects;
use crate::paimon::LakeAccess;

/// The parts, as one task reaches them.
#[derive(Clone)]
pub struct TaskParts {
    /// The store.
    pub store: Rc<dyn Store>,
    /// The lake.
    pub lake: LakeAccess,
    /// The task's clock and luck.
    pub environment: Rc<dyn Environment>,
    /// The worker's timings.
    pub config: WorkerConfig,
    /// The worker's planted bugs.
    pub defects: Defects,
}
