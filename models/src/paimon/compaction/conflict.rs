//! When a compaction comes too late: others committed files that belong between those that it put together.
//!
//! Normally a new file's sequence numbers are above those of all older files. But a writer may have started before the
//! compacted files were there, and have drawn the same numbers. Its rows count before the newest of the compacted
//! ones, and the compaction did not see them: a delete that it dropped may hide them, and in an append table they
//! would change their place. Then the compaction must be planned again, or it would change what readers see.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{BucketId, Failure};

use super::super::live_files::{FileIdentity, identity};
use super::super::{Committable, ManifestEntry, PaimonTable, Snapshot};

/// The highest sequence numbers of what a compaction takes away, by bucket, where it matters.
fn highest_sequences(committable: &Committable, is_key_table: bool) -> BTreeMap<BucketId, i64> {
    let mut highest: BTreeMap<BucketId, i64> = BTreeMap::new();
    let mut deletes: BTreeMap<BucketId, i64> = BTreeMap::new();
    // Files that do not say how many deletes they hold may hold any number.
    let delete_count = |file: &ManifestEntry| file.file.delete_row_count.unwrap_or(1);
    for file in &committable.deleted {
        let known = highest.entry(file.bucket_id()).or_insert(i64::MIN);
        *known = file.file.max_sequence_number.max(*known);
        *deletes.entry(file.bucket_id()).or_default() += delete_count(file);
    }
    for file in &committable.added {
        *deletes.entry(file.bucket_id()).or_default() -= delete_count(file);
    }
    // Where every delete is still there, the newest change of each key wins, whichever file it is in.
    highest.retain(|bucket, _| !is_key_table || deletes.get(bucket).is_some_and(|dropped| *dropped != 0));
    highest
}

/// A live file that is not in the base of the compaction and belongs before the newest of what was compacted.
fn overtaken<'a>(
    committable: &Committable,
    is_key_table: bool,
    base: &[ManifestEntry],
    live: &'a [ManifestEntry],
) -> Option<&'a ManifestEntry> {
    let highest = highest_sequences(committable, is_key_table);
    let base: BTreeSet<FileIdentity<'_>> = base.iter().map(identity).collect();
    let is_older = |file: &ManifestEntry| {
        highest.get(&file.bucket_id()).is_some_and(|highest| file.file.min_sequence_number < *highest)
    };
    live.iter().find(|file| !base.contains(&identity(file)) && is_older(file))
}

impl PaimonTable {
    /// `rejected`, if the compaction would change what readers of `latest`, whose files are `live`, see.
    pub(in crate::paimon) async fn check_compaction_is_current(
        &self,
        committable: &Committable,
        latest: &Snapshot,
        live: &[ManifestEntry],
    ) -> Result<(), Failure> {
        let Some(base_id) = committable.base_snapshot_id.filter(|base_id| *base_id != latest.id) else {
            return Ok(());
        };
        // A bucket-unaware table has neither keys nor an order.
        if self.schema.bucket_count().is_none() {
            return Ok(());
        }
        let base = self.manifest_reader().live_files(&self.snapshot(base_id).await?).await?;
        match overtaken(committable, self.schema.has_primary_key(), &base, live) {
            None => Ok(()),
            Some(file) => Err(Failure::rejected(format!(
                "table {}: expected new files since snapshot {base_id} to be newer than what was compacted, found {} \
                 with sequence numbers from {} on; plan the compaction again",
                self.path, file.file.file_name, file.file.min_sequence_number
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::super::DataFileMeta;
    use super::super::levels::tests::{file, sequenced};
    use super::*;

    fn deleting(entry: ManifestEntry, count: i64) -> ManifestEntry {
        let file = DataFileMeta { delete_row_count: Some(count), ..(*entry.file).clone() };
        ManifestEntry { file: Rc::new(file), ..entry }
    }

    /// A compaction of a file with the sequence numbers 5 to 9, some of them deletes, into one with fewer deletes.
    fn compaction(deletes_before: i64, deletes_after: i64) -> Committable {
        let old = deleting(sequenced(file("old", 0, (0, 9), 1), 5, 9), deletes_before);
        let new = deleting(sequenced(file("new", 5, (0, 9), 1), 5, 9), deletes_after);
        Committable { added: vec![new], deleted: vec![old], ..Committable::default() }
    }

    #[test]
    fn a_file_from_before_a_dropped_delete_comes_too_late() {
        let old = sequenced(file("old", 0, (0, 9), 1), 5, 9);
        // Whether it is a key table, deletes before and after, the new file's first number, and the verdict.
        let cases = [
            ("a delete was dropped", true, 1, 0, 8, true),
            ("all deletes are there", true, 1, 1, 8, false),
            ("the new file is newer", true, 1, 0, 9, false),
            ("an append table has an order", false, 0, 0, 8, true),
            ("and keeps it", false, 0, 0, 9, false),
        ];
        for (name, is_key_table, before, after, first, expected) in cases {
            let raced = sequenced(file("raced", 0, (0, 9), 1), first, first + 4);
            let committable = compaction(before, after);
            let base = [old.clone()];
            let found = overtaken(&committable, is_key_table, &base, std::slice::from_ref(&raced));
            assert_eq!(found.is_some(), expected, "{name}");
            assert!(overtaken(&committable, is_key_table, &[old.clone(), raced.clone()], &[raced]).is_none(), "{name}");
        }
    }

    #[test]
    fn other_buckets_do_not_matter() {
        let raced = ManifestEntry { bucket: 1, ..sequenced(file("raced", 0, (0, 9), 1), 5, 9) };
        assert!(overtaken(&compaction(1, 0), true, &[], &[raced]).is_none());
    }
}
