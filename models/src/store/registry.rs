//! The registered lake snapshots of one table: what of the log the lake contains, and what of it can be read.
//!
//! They only ever move forward (L8), unless the lake was rolled back. The readable one is what retention may trust (L9)
//! and, where readers skip what is new, where the union read changes over from the lake to the log (L6). This module must
//! never know the lake.

use crate::contract::{Failure, LakeRegistration, LakeSnapshot, ReadableSnapshot, RegisteredSnapshots};
use crate::defects::{Defect, Defects};

/// The newest registrations of a table. In most tables both are one: a snapshot can be read as soon as it is
/// committed. Where readers skip what is new, the readable one is behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Registry {
    tiered: Option<LakeSnapshot>,
    readable: Option<LakeSnapshot>,
}

impl Registry {
    /// The newest snapshot that tiering registered.
    pub fn tiered(&self) -> Option<&LakeSnapshot> {
        self.tiered.as_ref()
    }

    /// The newest snapshot that a union read may use.
    pub fn readable(&self) -> Option<&LakeSnapshot> {
        self.readable.as_ref()
    }

    /// Both registrations.
    pub fn snapshots(&self) -> RegisteredSnapshots {
        RegisteredSnapshots { tiered: self.tiered.clone(), readable: self.readable.clone() }
    }

    /// Makes this snapshot the history of a table whose log is empty, in place of what an earlier promotion registered of
    /// the same snapshot. Fails as [`Self::register`] does.
    pub fn register_history(&mut self, snapshot: LakeSnapshot, defects: &Defects) -> Result<(), Failure> {
        for registered in [&mut self.tiered, &mut self.readable] {
            registered.take_if(|registered| registered.snapshot_id == snapshot.snapshot_id);
        }
        self.register(snapshot.into(), defects)
    }

    /// Records a snapshot, and what can be read from now on. Repeating the newest one is a success without effect, so
    /// that an answer that was lost can be asked for again; anything that would go back is `rejected` (L8). A readable
    /// snapshot that is older than the one that is known says nothing new, and stays out: two rounds may tell theirs
    /// in any order. What is registered gives way to less only if it is named as the one that the lake no longer has, so
    /// that no answer that comes late can take anything back.
    pub fn register(&mut self, registration: LakeRegistration, defects: &Defects) -> Result<(), Failure> {
        let LakeRegistration { tiered, readable, instead_of } = registration;
        if instead_of.is_some() && self.tiered == instead_of {
            *self = Self::default();
        }
        let (is_apart, readable) = match readable {
            ReadableSnapshot::Tiered => (false, Some(tiered.clone())),
            ReadableSnapshot::Unchanged => (false, None),
            ReadableSnapshot::Other(snapshot) => (true, Some(snapshot)),
        };
        // Planted bug offset-goes-back: whatever comes last is the newest.
        let goes_back = defects.has(Defect::OffsetGoesBack);
        let readable = readable.filter(|new| goes_back || is_newer(self.readable.as_ref(), new));
        if !goes_back {
            self.check_tiered(&tiered)?;
            readable.iter().try_for_each(|readable| self.check_readable(readable, &tiered))?;
        }
        self.tiered = Some(tiered);
        if let Some(readable) = readable {
            // Planted bug latest-goes-back: a readable snapshot is registered like any other, and last.
            if is_apart && defects.has(Defect::LatestGoesBack) {
                self.tiered = Some(readable.clone());
            }
            self.readable = Some(readable);
        }
        Ok(())
    }

    fn check_tiered(&self, tiered: &LakeSnapshot) -> Result<(), Failure> {
        let Some(newest) = self.tiered.as_ref().filter(|newest| *newest != tiered) else { return Ok(()) };
        if tiered.snapshot_id <= newest.snapshot_id {
            return Err(Failure::rejected(format!(
                "expected a lake snapshot newer than {}, which is registered, found {}; read the registered one and go \
                 on from its offsets",
                newest.snapshot_id, tiered.snapshot_id
            )));
        }
        expect_all_of(newest, tiered)
    }

    /// What becomes readable is all of what was, and tiered.
    fn check_readable(&self, readable: &LakeSnapshot, tiered: &LakeSnapshot) -> Result<(), Failure> {
        self.readable.iter().try_for_each(|known| expect_all_of(known, readable))?;
        expect_all_of(readable, tiered)
    }
}

fn is_newer(known: Option<&LakeSnapshot>, new: &LakeSnapshot) -> bool {
    known.is_none_or(|known| known.snapshot_id < new.snapshot_id)
}

/// `rejected` if `larger` contains less of some bucket's log.
fn expect_all_of(smaller: &LakeSnapshot, larger: &LakeSnapshot) -> Result<(), Failure> {
    let mut ends = smaller
        .offsets
        .iter()
        .map(|(bucket, offset)| (bucket, *offset, larger.offsets.get(bucket).copied().unwrap_or(0)));
    match ends.find(|(_, registered, offered)| offered < registered) {
        None => Ok(()),
        Some((bucket, registered, offered)) => Err(Failure::rejected(format!(
            "expected lake snapshot {} to contain bucket {} up to offset {registered}, as snapshot {} does, found \
             {offered}; read the registered one and go on from its offsets",
            larger.snapshot_id, bucket.bucket, smaller.snapshot_id
        ))),
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
        registry.register(newest.clone().into(), &Defects::none()).unwrap();
        registry
    }

    #[test]
    fn a_newer_snapshot_moves_both_registrations() {
        let mut registry = registry_with(&snapshot(1, &[(0, 5)]));
        let newer = snapshot(4, &[(0, 5), (1, 2)]);
        registry.register(newer.clone().into(), &Defects::none()).unwrap();
        let expected = RegisteredSnapshots { tiered: Some(newer.clone()), readable: Some(newer) };
        assert_eq!(registry.snapshots(), expected);
    }

    #[test]
    fn repeating_the_newest_is_a_success() {
        let newest = snapshot(3, &[(0, 5)]);
        assert_eq!(registry_with(&newest).register(newest.into(), &Defects::none()), Ok(()));
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
            let failure = registry.register(older.into(), &Defects::none()).unwrap_err();
            assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true), "{why}");
            assert_eq!(registry.readable(), Some(&newest), "{why}");
        }
    }

    #[test]
    fn only_what_is_registered_now_gives_way_to_less() {
        let (older, newest) = (snapshot(2, &[(0, 3)]), snapshot(4, &[(0, 9)]));
        let instead_of = |undone: &LakeSnapshot| LakeRegistration {
            instead_of: Some(undone.clone()),
            ..LakeRegistration::from(older.clone())
        };
        let mut registry = registry_with(&newest);
        let failure = registry.register(instead_of(&snapshot(4, &[(0, 8)])), &Defects::none()).unwrap_err();
        assert_eq!((failure.code, registry.tiered()), (FailureCode::Rejected, Some(&newest)), "another of that number");
        let left = RegisteredSnapshots { tiered: Some(older.clone()), readable: Some(older.clone()) };
        registry.register(instead_of(&newest), &Defects::none()).unwrap();
        assert_eq!(registry.snapshots(), left);
        registry.register(instead_of(&newest), &Defects::none()).unwrap();
        assert_eq!(registry.snapshots(), left, "repeating it is a success");
        registry.register(snapshot(3, &[(0, 4)]).into(), &Defects::none()).unwrap();
        assert!(registry.register(instead_of(&newest), &Defects::none()).is_err(), "too late");
    }

    fn apart(tiered: &LakeSnapshot, readable: &LakeSnapshot) -> LakeRegistration {
        let readable = ReadableSnapshot::Other(readable.clone());
        LakeRegistration { tiered: tiered.clone(), readable, instead_of: None }
    }

    #[test]
    fn readable_is_behind_tiered_and_catches_up() {
        let mut registry = Registry::default();
        let (first, compacted, second) = (snapshot(1, &[(0, 5)]), snapshot(2, &[(0, 5)]), snapshot(3, &[(0, 9)]));
        let readable = ReadableSnapshot::Unchanged;
        let unread = LakeRegistration { tiered: first.clone(), readable, instead_of: None };
        registry.register(unread, &Defects::none()).unwrap();
        assert_eq!(registry.snapshots(), RegisteredSnapshots { tiered: Some(first), readable: None });
        registry.register(apart(&second, &compacted), &Defects::none()).unwrap();
        let expected = RegisteredSnapshots { tiered: Some(second.clone()), readable: Some(compacted.clone()) };
        assert_eq!(registry.snapshots(), expected);
        let all = snapshot(4, &[(0, 9)]);
        registry.register(apart(&second, &all), &Defects::none()).unwrap();
        registry.register(apart(&second, &compacted), &Defects::none()).unwrap();
        let expected = RegisteredSnapshots { tiered: Some(second), readable: Some(all) };
        assert_eq!(registry.snapshots(), expected, "an older readable snapshot says nothing new");
    }

    #[test]
    fn what_is_readable_is_tiered_and_never_less_than_before() {
        let mut registry = Registry::default();
        let tiered = snapshot(3, &[(0, 9)]);
        registry.register(apart(&tiered, &snapshot(2, &[(0, 5)])), &Defects::none()).unwrap();
        let before = registry.snapshots();
        for (readable, why) in [
            (snapshot(4, &[(0, 10)]), "beyond the tiered offset"),
            (snapshot(4, &[(0, 4)]), "before what could be read"),
        ] {
            let failure = registry.register(apart(&tiered, &readable), &Defects::none()).unwrap_err();
            assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true), "{why}");
            assert_eq!(registry.snapshots(), before, "{why}");
        }
    }

    #[test]
    fn latest_goes_back_shows_the_readable_snapshot_as_the_newest() {
        let mut registry = Registry::default();
        let (tiered, readable) = (snapshot(3, &[(0, 9)]), snapshot(2, &[(0, 5)]));
        registry.register(apart(&tiered, &readable), &Defects::from_iter([Defect::LatestGoesBack])).unwrap();
        assert_eq!(registry.tiered(), Some(&readable));
    }
}
