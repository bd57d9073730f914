//! The registered lake snapshot of one table: what of the log the lake contains.
//!
//! It only ever moves forward (L8); it is where the union read changes over from the lake to the log (L6), and what
//! retention may trust (L9). This module must never know the lake.

use crate::contract::{Failure, LakeSnapshot, RegisteredSnapshots};
use crate::defects::{Defect, Defects};

/// The newest registration of a table. Tiered and readable are the same here: a snapshot of the reference's tiering
/// can be read as soon as it is committed.
#[derive(Clone, Debug, Default)]
pub(super) struct Registry {
    newest: Option<LakeSnapshot>,
}

impl Registry {
    /// The newest snapshot that a union read may use.
    pub fn readable(&self) -> Option<&LakeSnapshot> {
        self.newest.as_ref()
    }

    /// Both registrations.
    pub fn snapshots(&self) -> RegisteredSnapshots {
        RegisteredSnapshots { tiered: self.newest.clone(), readable: self.newest.clone() }
    }

    /// Records a snapshot. Repeating the newest one is a success without effect, so that an answer that was lost can
    /// be asked for again; anything that would go back is `rejected` (L8).
    pub fn register(&mut self, snapshot: LakeSnapshot, defects: &Defects) -> Result<(), Failure> {
        // Planted bug offset-goes-back: whatever comes last is the newest.
        if let Some(newest) = self.newest.as_ref().filter(|_| !defects.has(Defect::OffsetGoesBack)) {
            if *newest == snapshot {
                return Ok(());
            }
            if snapshot.snapshot_id <= newest.snapshot_id {
                return Err(Failure::rejected(format!(
                    "expected a lake snapshot newer than {}, which is registered, found {}; read the registered one \
                     and go on from its offsets",
                    newest.snapshot_id, snapshot.snapshot_id
                )));
            }
            let back = newest
                .offsets
                .iter()
                .map(|(bucket, offset)| (bucket, *offset, snapshot.offsets.get(bucket).copied().unwrap_or(0)))
                .find(|(_, registered, offered)| offered < registered);
            if let Some((bucket, registered, offered)) = back {
                return Err(Failure::rejected(format!(
                    "expected lake snapshot {} to contain bucket {} up to offset {registered}, as snapshot {} does, \
                     found {offered}; read the registered one and go on from its offsets",
                    snapshot.snapshot_id, bucket.bucket, newest.snapshot_id
                )));
            }
        }
        self.newest = Some(snapshot);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{BucketId, FailureCode};

    fn snapshot(snapshot_id: u64, offsets: &[(u32, u64)]) -> LakeSnapshot {
        let offsets = offsets.iter().map(|(bucket, offset)| (BucketId::unpartitioned(*bucket), *offset));
        LakeSnapshot { snapshot_id, offsets: offsets.collect() }
    }

    fn registry_with(newest: &LakeSnapshot) -> Registry {
        let mut registry = Registry::default();
        registry.register(newest.clone(), &Defects::none()).unwrap();
        registry
    }

    #[test]
    fn a_newer_snapshot_moves_both_registrations() {
        let mut registry = registry_with(&snapshot(1, &[(0, 5)]));
        let newer = snapshot(4, &[(0, 5), (1, 2)]);
        registry.register(newer.clone(), &Defects::none()).unwrap();
        let expected = RegisteredSnapshots { tiered: Some(newer.clone()), readable: Some(newer) };
        assert_eq!(registry.snapshots(), expected);
    }

    #[test]
    fn repeating_the_newest_is_a_success() {
        let newest = snapshot(3, &[(0, 5)]);
        assert_eq!(registry_with(&newest).register(newest, &Defects::none()), Ok(()));
    }

    #[test]
    fn nothing_goes_back() {
        let newest = snapshot(3, &[(0, 5), (1, 7)]);
        for (older, why) in [
            (snapshot(2, &[(0, 9), (1, 9)]), "an older id"),
            (snapshot(3, &[(0, 6), (1, 7)]), "the same id with other offsets"),
            (snapshot(4, &[(0, 4), (1, 9)]), "an offset that goes back"),
            (snapshot(4, &[(0, 6)]), "a bucket that is left out counts as 0"),
        ] {
            let mut registry = registry_with(&newest);
            let failure = registry.register(older, &Defects::none()).unwrap_err();
            assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true), "{why}");
            assert_eq!(registry.readable(), Some(&newest), "{why}");
        }
    }
}
