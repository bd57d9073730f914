//! The hints at the oldest and the newest snapshot or changelog.
//!
//! Readers believe a hint only as far as they can check it, so an old or missing one costs time and nothing else.

use bytes::Bytes;

use crate::contract::{Failure, ObjectStore};

/// Writes a hint, unless it says so already.
pub(super) async fn write_hint(objects: &dyn ObjectStore, path: &str, snapshot_id: u64) -> Result<(), Failure> {
    let hint = Bytes::from(snapshot_id.to_string());
    match objects.get(path).await {
        Ok(found) if found == hint => Ok(()),
        _ => objects.put(path, hint).await,
    }
}
