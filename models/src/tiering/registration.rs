//! Tells the store what the lake contains.
//!
//! Registration repeats what the snapshot says of itself, so it may be done late, twice, or by somebody else. It must
//! never be what a plan is made from.

use crate::contract::{Environment, Failure, LakeRegistration, Store, TableId};
use crate::points::Point;

/// How often one round tries; the next round recovers what is left.
const ATTEMPTS: u32 = 3;

/// Who registers, and how.
pub(super) struct Registrar<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) environment: &'a dyn Environment,
    /// The pause between two attempts.
    pub(super) poll_interval_ms: u64,
}

impl Registrar<'_> {
    /// Registers a snapshot and what can be read, with a few more attempts where there was no clear answer.
    pub(super) async fn register(&self, table_id: TableId, registration: LakeRegistration) -> Result<(), Failure> {
        let mut attempt = 1;
        loop {
            match self.store.register_lake_snapshot(table_id, registration.clone()).await {
                Err(failure) if attempt < ATTEMPTS && (failure.is_transient() || !failure.definite) => {
                    self.environment.reached(Point::RegistrationRetried);
                    self.environment.sleep_ms(self.poll_interval_ms).await;
                    attempt += 1;
                }
                answer => {
                    if answer.is_err() {
                        self.environment.reached(Point::RegistrationFailed);
                    }
                    return answer;
                }
            }
        }
    }
}
