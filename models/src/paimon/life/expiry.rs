//! Expiry of snapshots: the oldest go, and with them all that nothing else needs.
//!
//! Of the files those with rows go first and the snapshots last, oldest first, so that a reader of a snapshot that
//! stays never misses a file, and an expiry that crashed is completed by the next one (L10). Rows that are still to be
//! tiered are not in snapshots, so none are lost here (L16).

use crate::contract::Failure;

use super::super::PaimonTable;
use super::super::directory::numbers_after;
use super::super::exclusive_create::{Created, create_exclusively};
use super::super::lake_access::before_any_effect;
use super::heads::{Head, HeadKind};
use super::hints::write_hint;
use super::retention::{Retained, Retention};
use super::survey::{Survey, delete_in_order};

impl PaimonTable {
    /// Expires snapshots of this branch that need not be kept; returns how many.
    ///
    /// A snapshot stays while one of these holds: it is among the newest `at_least`; a consumer has yet to read it or
    /// one before it; it is among the newest `at_most`, and the snapshot after it is younger than `time_ms`, for until
    /// that one came it was the newest. No more than `limit` expire at once. Tags, branches and changelogs keep their
    /// files whatever expires. Where changelogs live longer than snapshots, each snapshot leaves its own behind.
    ///
    /// A definite failure means that nothing was deleted.
    pub async fn expire_snapshots(&self, retention: &Retention) -> Result<u64, Failure> {
        retention.snapshots.check("snapshot")?;
        let ids = self.snapshot_ids().await.map_err(before_any_effect)?;
        let Some(earliest) = ids.first().copied() else {
            return Ok(0);
        };
        let end_exclusive = self.snapshots_expire_until(&ids, retention).await.map_err(before_any_effect)?;
        let going: Vec<u64> = ids.iter().copied().filter(|id| *id < end_exclusive).collect();
        if going.is_empty() {
            // An expiry that crashed may have left an old hint.
            write_hint(&*self.lake.objects, &self.directory.earliest_hint(), earliest).await?;
            return Ok(0);
        }
        self.delete_snapshots(&going, retention.changelogs_live_longer()).await?;
        let stays = ids.iter().copied().find(|id| *id >= end_exclusive).unwrap_or(end_exclusive);
        let hint = self.directory.earliest_hint();
        write_hint(&*self.lake.objects, &hint, stays).await.map_err(Failure::made_indefinite)?;
        Ok(going.len() as u64)
    }

    /// The numbers of this branch's snapshots, ascending.
    pub async fn snapshot_ids(&self) -> Result<Vec<u64>, Failure> {
        let directory = self.directory.snapshot_directory();
        Ok(numbers_after(&self.lake.objects.list(&directory).await?, &directory, "snapshot-"))
    }

    /// The lowest number of those that stay, and above all that go. The newest snapshot always stays.
    async fn snapshots_expire_until(&self, ids: &[u64], retention: &Retention) -> Result<u64, Failure> {
        let consumed_exclusive = self.min_next_snapshot().await?.unwrap_or(u64::MAX);
        let (young, end_exclusive) = bounds(ids, ids, &retention.snapshots, consumed_exclusive, retention.limit);
        let younger_than_ms = self.lake.environment.now_ms().saturating_sub(retention.snapshots.time_ms);
        for (id, next_id) in ids.iter().zip(ids.iter().skip(1)) {
            if *id < young || *id >= end_exclusive {
                continue;
            }
            if self.snapshot(*next_id).await?.time_millis >= younger_than_ms {
                return Ok(*id);
            }
        }
        Ok(end_exclusive)
    }

    async fn delete_snapshots(&self, ids: &[u64], leave_changelogs: bool) -> Result<(), Failure> {
        let objects = &*self.lake.objects;
        let paths: Vec<String> = ids.iter().map(|id| self.directory.snapshot(*id)).collect();
        let goes = |head: &Head| head.kind == HeadKind::Snapshot && paths.contains(&head.path);
        let survey = Survey::take(&self.lake, &self.directory.on_main()).await?;
        let doomed = survey.doomed(goes, |_| leave_changelogs)?;
        // From here on files may be gone, so no failure is definite any more.
        delete_in_order(objects, &doomed).await.map_err(Failure::made_indefinite)?;
        if leave_changelogs {
            self.leave_changelogs(ids).await.map_err(Failure::made_indefinite)?;
        }
        for path in &paths {
            objects.delete(path).await.map_err(Failure::made_indefinite)?;
        }
        Ok(())
    }

    /// Copies snapshot files to where changelogs are kept. Those of an earlier attempt are the same.
    async fn leave_changelogs(&self, ids: &[u64]) -> Result<(), Failure> {
        let objects = &*self.lake.objects;
        for id in ids {
            let bytes = objects.get(&self.directory.snapshot(*id)).await?;
            match create_exclusively(&self.lake, &self.directory.changelog(*id), &bytes).await {
                Created::Ours | Created::Taken => {}
                Created::Refused(failure) | Created::Unknown(failure) => return Err(failure),
            }
        }
        match ids.last() {
            Some(newest) => write_hint(objects, &self.directory.changelog_latest_hint(), *newest).await,
            None => Ok(()),
        }
    }
}

/// Of what is kept, the lowest number that only its age can let go, and the lowest number that must stay. `present`
/// are the numbers of what expires and `snapshots` those of all snapshots, both ascending and not empty.
pub(super) fn bounds(
    present: &[u64],
    snapshots: &[u64],
    retained: &Retained,
    consumed_exclusive: u64,
    limit: u64,
) -> (u64, u64) {
    let earliest = present.first().copied().unwrap_or(0);
    let newest = snapshots.last().copied().unwrap_or(0);
    let kept_from = |count: u64| newest.saturating_add(1).saturating_sub(count);
    let end_exclusive = kept_from(retained.at_least).min(consumed_exclusive).min(earliest.saturating_add(limit));
    (kept_from(retained.at_most), end_exclusive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_go_lies_between_the_bounds() {
        let ids: Vec<u64> = (3..=12).collect();
        let retained = |at_least, at_most| Retained { at_least, at_most, time_ms: 0 };
        assert_eq!(bounds(&ids, &ids, &retained(2, 5), u64::MAX, 50), (8, 11), "11 and 12 stay, 8 to 10 if young");
        assert_eq!(bounds(&ids, &ids, &retained(2, 5), 6, 50), (8, 6), "a consumer has 6 before it");
        assert_eq!(bounds(&ids, &ids, &retained(2, 5), u64::MAX, 4), (8, 7), "four at once, from 3 on");
        assert_eq!(bounds(&ids, &ids, &retained(20, 20), u64::MAX, 50), (0, 0), "more are wanted than there are");
        let far = [1, u64::MAX];
        assert_eq!(bounds(&far, &far, &retained(1, 1), u64::MAX, u64::MAX), (u64::MAX - 1, u64::MAX - 1));
    }
}
