//! Points of the reference that a campaign wants to have been at: recoveries, retries, conflicts, guards, races.
//!
//! A part that comes to one says so to its [`crate::contract::Environment`], and goes on as ever. A point says "this
//! happened" and nothing else: it must never know runs, plans or judges, nor change what a part does.

/// Defines the points once: variant, id, what happened.
macro_rules! points {
    ($($variant:ident, $id:literal, $happened:literal;)*) => {
        /// Something that must sometimes happen.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Point {
            $(#[doc = $happened] $variant,)*
        }

        impl Point {
            /// All of them, in the order of the list.
            pub const ALL: &[Point] = &[$(Point::$variant,)*];

            /// Its name, unique.
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// What happened, in a sentence.
            pub fn happened(self) -> &'static str {
                match self { $(Self::$variant => $happened,)* }
            }
        }
    };
}

points! {
    // Commits to the lake.
    CommitLostRace, "commit-lost-race", "a commit lost the race for its snapshot and started over on the winner's";
    CommitGaveUp, "commit-gave-up", "a commit lost so many races that it gave up";
    CommitRefused, "commit-refused", "storage refused a snapshot for certain";
    CommitUnknown, "commit-unknown", "nobody could say whether a snapshot was created, so its files stayed";
    CreateFoundOurs, "create-found-ours", "a create without an answer was read back and had taken effect";
    CreateFoundTaken, "create-found-taken", "a create without an answer was read back and somebody else had the name";
    CommitFenced, "commit-fenced", "a commit was refused because another one of the same user came between";
    CommitIntoSuccessor, "commit-into-successor", "a commit found its table dropped or created again";
    CommitUnderOlderSchema, "commit-under-older-schema", "a commit found that the schema had moved on";
    AttemptDiscarded, "attempt-discarded", "manifests could not be written, and those of the attempt were deleted";
    OverwriteOnOlderBase, "overwrite-on-older-base", "an overwrite was committed on a newer snapshot than it began on";
    OverwriteReplanned, "overwrite-replanned", "an overwrite was planned again because files of its base were gone";
    ConflictOfFiles, "conflict-of-files", "a commit was in conflict with the files of the newest snapshot";
    ManifestsMerged, "manifests-merged", "small manifests were merged into one";
    ManifestsFullyMerged, "manifests-fully-merged", "all manifests were rewritten without deletes";
    HintStale, "hint-stale", "the hint of the newest snapshot was old, and the newer one was found by probing";
    HintMissing, "hint-missing", "there was no hint of the newest snapshot, and the directory was listed";
    HintUnreadable, "hint-unreadable", "the hint of the newest snapshot could not be read, and the directory was listed";

    // Tiering rounds: planner, readers, committer.
    RoundRecoveredCommit, "round-recovered-commit", "a round found a commit that was never registered, and registered it";
    RoundAtSource, "round-at-source", "a round of a promoted table began behind its source snapshot";
    RoundBehindRegistered, "round-behind-registered", "a round found the lake behind what the store has registered";
    RegistrationTakenBack, "registration-taken-back", "a round took back what was registered and then rolled back in the lake";
    RoundFromKeySnapshot, "round-from-key-snapshot", "a first round read the state of a bucket instead of its log";
    KeySnapshotLost, "key-snapshot-lost", "a round found that its snapshot of keys was collected";
    RoundEmpty, "round-empty", "a round found nothing new";
    RoundCutShort, "round-cut-short", "a round ended by its time with log left to read";
    RoundGap, "round-gap", "a round found that the log does not go on where the lake ends";
    EmptyBatchesRead, "empty-batches-read", "a fetch brought batches without records, which counted as progress";
    RowsOutgrewRound, "rows-outgrew-round", "a round read rows with columns that it did not know, and failed";
    RoundAborted, "round-aborted", "a round that certainly committed nothing deleted its data files";
    AssignmentLost, "assignment-lost", "a round gave up because its table was taken away";
    RoundOfDroppedTable, "round-of-dropped-table", "a round found before its commit that its table was dropped or created again";
    RegistrationRetried, "registration-retried", "a registration without a clear answer was tried again";
    RegistrationFailed, "registration-failed", "a commit took effect and could not be registered";
    SplitOfferedToAnother, "split-offered-to-another", "a reader did not say that it takes a split, so it was offered to the next one";
    SplitHandedOutAgain, "split-handed-out-again", "a reader died, and its splits were handed out again";
    SplitFailed, "split-failed", "a reader could not read a split or write its rows, and told the planner";
    ResultRetried, "result-retried", "a reader had no answer from the committer and handed its result in again";
    ResultRepeated, "result-repeated", "a result came again";
    SecondResultRefused, "second-result-refused", "a split was read twice, and the second result was refused";
    LateResultRefused, "late-result-refused", "a result came when its round was no longer collected";
    OlderRoundRefused, "older-round-refused", "a reader or committer was asked for a round that another had followed";
    RoundAbandoned, "round-abandoned", "a planner gave up a round that the committer was still collecting";
    RoundLostWithCommitter, "round-lost-with-committer", "a committer died, and the round that it had failed";
    OutcomeRetried, "outcome-retried", "a planner did not answer how it took the end of a round, and was told again";
    OldNewsIgnored, "old-news-ignored", "a planner heard of a round or a life that was over";
    RoundEndRetried, "round-end-retried", "the end of a round had no answer and was told again";

    // Tables whose readers skip what is new.
    ReadableFound, "readable-found", "a round worked out what a compaction had made readable";
    ReadableAlone, "readable-alone", "a round with nothing new registered what a compaction had made readable";
    ReadableBehindItself, "readable-behind-itself", "a compaction left newer files of a bucket behind that were committed meanwhile";
    ReadableUnknown, "readable-unknown", "nobody could say any more how far a compaction is, so nothing became readable";
    UnionBehindTiered, "union-behind-tiered", "a `$rt` read had to use a readable snapshot behind the tiered one";
    CompactionOvertaken, "compaction-overtaken", "a compaction lost its race to another commit and was committed on top of it";
    CompactionRefused, "compaction-refused", "a compaction was refused for certain and its files were deleted";
    CompactionUnknown, "compaction-unknown", "nobody could say whether a compaction was committed, so its files stayed";
    CompactorCrashed, "compactor-crashed", "the compactor died in mid-compaction";

    // The coordinator.
    HeartbeatRejected, "heartbeat-rejected", "a heartbeat came under an epoch that is not the current one";
    RoundEndRejected, "round-end-rejected", "the end of a round came under an epoch that is not the current one";
    TableTakenFromSilent, "table-taken-from-silent", "a silent holder lost its table";
    EpochAfterFailover, "epoch-after-failover", "a coordinator that had been down gave out a table under the epoch after its last";
    RelistedInDoubt, "relisted-in-doubt", "a definition without an answer made the coordinator list the store's tables";
    ListOvertaken, "list-overtaken", "a list of tables was out of date when it came";
    EnableRegisteredCommit, "enable-registered-commit", "enabling registered a commit that the store did not know";
    EnableRefused, "enable-refused", "enabling was refused because lake and store had different snapshots";

    // The store.
    AppendRepeated, "append-repeated", "an append came again, was durable already, and got its first answer";
    AppendOvertaken, "append-overtaken", "an append came after a later one of its writer";
    WriteLostWithTable, "write-lost-with-table", "a write was under way when its table was dropped";
    TailLost, "tail-lost", "a crash lost writes that were not durable yet";
    LogTrimmed, "log-trimmed", "retention removed log";
    LogHeldBack, "log-held-back", "retention kept old log that cannot be read in the lake yet";
    WatermarkInUpdate, "watermark-in-update", "for a moment what is shown of a log ended between −U and +U";
    PartitionExpired, "partition-expired", "an old partition left the store for the lake";
    PartitionHeldBack, "partition-held-back", "an old partition stayed because the lake did not have all of it yet";
    PartitionClosed, "partition-closed", "a write to a partition that only the lake has was refused";
    ExpiredPartitionRead, "expired-partition-read", "a row, or log, of a partition that had left the store was asked for";
    KeySnapshotCollected, "key-snapshot-collected", "a snapshot of keys whose lease had run out was collected";
    RegistrationRepeated, "registration-repeated", "a snapshot was registered again";
    RegistrationRefused, "registration-refused", "a registration that would go back was refused";

    // Maintenance.
    CompactionCommitted, "compaction-committed", "a compaction was committed";
    CompactionLost, "compaction-lost", "a compaction certainly committed nothing and deleted its files";
    LakeRolledBack, "lake-rolled-back", "an operator went back to an older tiering snapshot";
    SnapshotsExpired, "snapshots-expired", "snapshots expired";
    TagDeleted, "tag-deleted", "a tag was deleted, and what only it kept";
    OrphansRemoved, "orphans-removed", "clean-up removed files that nothing had led to for long enough";
    MaintenanceAgain, "maintenance-again", "a job was cut short, and was done again";

    // Sessions.
    UnionOfBoth, "union-of-both", "a `$rt` read had rows of the lake and records of the log";
    UnionReplanned, "union-replanned", "a `$rt` read was planned again because retention was faster";
    LookupMissed, "lookup-missed", "a lookup missed the store's state and was answered by the union";
    ChangesFromLake, "changes-from-lake", "a changelog began with the rows of the lake";
    ChangesTooOld, "changes-too-old", "a position of a changelog was too old to go on from";
    CallRetried, "call-retried", "a client asked again after a failure";
    StoreLacksTable, "store-lacks-table", "a table in the mode was not in its store";

    // What is refused.
    GuardRename, "guard-rename", "the rename of a table in the mode was refused";
    GuardReplace, "guard-replace", "the replacement of a table in the mode was refused";
    GuardTruncate, "guard-truncate", "the truncation of a table in the mode was refused";
    GuardReadOnly, "guard-read-only", "a write or definition through `$rt` was refused";
    GuardTimeTravel, "guard-time-travel", "time travel on `$rt` was refused";
    GuardNotInTheMode, "guard-not-in-the-mode", "`$rt` of a table out of the mode was refused";
    GuardBranch, "guard-branch", "a write to a branch of a table in the mode was refused";
    GuardSystemTable, "guard-system-table", "a write to a system table was refused";

    // Promotion.
    PromotedAlready, "promoted-already", "a promotion found the table promoted";
    PromotionTookOver, "promotion-took-over", "a promotion found the metadata that an earlier call had created";
    PromotionWasRegistered, "promotion-was-registered", "a promotion found its source registered already";
    PromotionWasLoaded, "promotion-was-loaded", "a promotion found its source loaded and did not load it again";
    PromotionOvertaken, "promotion-overtaken", "a promotion was refused because the lake was committed to meanwhile";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_point_has_a_name_of_its_own() {
        let ids: BTreeSet<&str> = Point::ALL.iter().map(|point| point.id()).collect();
        assert_eq!(ids.len(), Point::ALL.len());
    }
}
