//! The compare-and-swap under every commit: creating a file of a fixed name that nobody else has created.
//!
//! The difficulty is the lost answer: a create that failed may have taken effect, now or later. What decides is the
//! file itself: its bytes carry the identity of the attempt, so whoever reads it back knows whose it is (H4). Where
//! storage does not create in one step, no answer decides, and the file is read back after each.

use bytes::Bytes;

use crate::contract::{Failure, FailureCode};

use super::LakeAccess;
use crate::points::Point;

/// How often one file is tried to be created while the outcome is unknown or the storage is down.
const ATTEMPTS: u32 = 5;
/// The pause before the second attempt; it doubles each time.
const FIRST_WAIT_MS: u64 = 50;

/// What became of a create.
pub(super) enum Created {
    /// The file is there and it is ours.
    Ours,
    /// Somebody else's file has the name. Ours is not there and never will be.
    Taken,
    /// Ours is not there and never will be, but nobody else's is known to be.
    Refused(Failure),
    /// Ours may be there, now or later.
    Unknown(Failure),
}

/// Creates the file unless there is one already. The bytes must be those of no other attempt.
pub(super) async fn create_exclusively(lake: &LakeAccess, path: &str, bytes: &Bytes) -> Created {
    let mut unknown: Option<Failure> = None;
    let mut wait_ms = FIRST_WAIT_MS;
    let mut attempt = 1;
    loop {
        let answer = match lake.objects.put_if_absent(path, bytes.clone()).await {
            Ok(created) if !lake.objects.creates_atomically() => Err(Failure::indefinite(
                FailureCode::Internal,
                format!("expected to read back {path}, which was said to be created: {created}; found nothing"),
            )),
            answer => answer,
        };
        match answer {
            Ok(true) => return Created::Ours,
            Ok(false) if unknown.is_none() => return Created::Taken,
            // The file may be ours, of an attempt whose answer was lost.
            Ok(false) => {}
            Err(failure) if !failure.definite => unknown = Some(failure),
            Err(failure) if unknown.is_none() && (!failure.is_transient() || attempt == ATTEMPTS) => {
                return Created::Refused(failure);
            }
            Err(_) => {}
        }
        if let Some(failure) = &unknown {
            match lake.objects.get(path).await {
                Ok(found) if found == *bytes => {
                    lake.environment.reached(Point::CreateFoundOurs);
                    return Created::Ours;
                }
                Ok(_) => {
                    lake.environment.reached(Point::CreateFoundTaken);
                    return Created::Taken;
                }
                // Not there, or not to be seen: a request that is still on its way may yet create it.
                Err(_) if attempt == ATTEMPTS => return Created::Unknown(failure.clone().made_indefinite()),
                Err(_) => {}
            }
        }
        lake.environment.sleep_ms(wait_ms).await;
        wait_ms *= 2;
        attempt += 1;
    }
}
