//! Ctrl-C: no further run is begun, and what was found so far is told. A second one ends the process at once.
//!
//! Commands ask between runs whether it came. A run never knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

use super::status::CommandError;

/// Whether somebody wants the command to end.
#[derive(Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on Ctrl-C is only noted. Without a call of this it ends the process, as ever.
    pub fn watch() -> Result<Self, CommandError> {
        let came = Arc::new(AtomicBool::new(false));
        // In this order: the first Ctrl-C finds the flag down and puts it up, the second one finds it up.
        flag::register_conditional_default(SIGINT, Arc::clone(&came))
            .and_then(|_| flag::register(SIGINT, Arc::clone(&came)))
            .map_err(|error| CommandError::trouble(format!("Ctrl-C cannot be watched for: {error}")))?;
        Ok(Self(came))
    }

    /// Whether it came.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
