//! Tells the store what the lake contains.
//!
//! Registration repeats what the snapshot says of itself, so it may be done late, twice, or by somebody else. It must
//! never be what a plan is made from.

use super::round::Round;
use crate::contract::{Failure, LakeRegistration};
use crate::points::Point;

/// How often one round tries; the next round recovers what is left.
const ATTEMPTS: u32 = 3;

/// Registers a snapshot and what can be read, with a few more attempts where there was no clear answer.
pub(super) async fn register(round: &Round<'_>, registration: LakeRegistration) -> Result<(), Failure> {
    let mut attempt = 1;
    loop {
        match round.store.register_lake_snapshot(round.table_id(), registration.clone()).await {
            Err(failure) if attempt < ATTEMPTS && (failure.is_transient() || !failure.definite) => {
                round.environment.reached(Point::RegistrationRetried);
                round.environment.sleep_ms(round.config.poll_interval_ms).await;
                attempt += 1;
            }
            answer => {
                if answer.is_err() {
                    round.environment.reached(Point::RegistrationFailed);
                }
                return answer;
            }
        }
    }
}
