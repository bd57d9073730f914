//! Planted bugs: one enum, each named where it is planted, all off unless asked for.
//!
//! Only the models know defects (rule 9): no scenario, generator, checker or explanation refers to one. A reader of
//! the models can ignore every `if … .has(Defect::…)`; without it the code is the reference.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Defines the defects once: variant, id, the properties that it breaks (`"L3" | "L17"` where it is one or the other),
/// its source, the bug in a sentence.
macro_rules! defects {
    ($($variant:ident, $id:literal, $($property:literal)|+, $source:literal, $bug:literal;)*) => {
        /// A known bug that the reference can be asked to have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Defect {
            $(#[doc = $bug] $variant,)*
        }

        impl Defect {
            /// All of them, in the order of the list.
            pub const ALL: &[Defect] = &[$(Defect::$variant,)*];

            /// Its name on the command line.
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// The properties that it breaks, the likeliest first. It is found if any of them is violated.
            pub fn properties(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($property),+],)* }
            }

            /// Where it was seen or inferred.
            pub fn source(self) -> &'static str {
                match self { $(Self::$variant => $source,)* }
            }

            /// The bug in a sentence.
            pub fn bug(self) -> &'static str {
                match self { $(Self::$variant => $bug,)* }
            }
        }
    };
}

defects! {
    AckLostRetier, "ack-lost-retier", "L3", "fluss #1064",
        "lake commit succeeded, registration failed; the next round starts from the store's old offset";
    TwoHolders, "two-holders", "L3", "fluss #2648",
        "a heartbeat expires, a second worker gets the table, and both commit one range";
    StalePlanCommit, "stale-plan-commit", "L3", "inferred H1",
        "a round that was planned before another finished and registered still commits its range";
    AbortAfterSuccess, "abort-after-success", "L10", "fluss PR 3370",
        "an error after a commit that took effect triggers the abort, which deletes live files";
    CommitIntoRecreated, "commit-into-recreated", "L12", "fluss #2309",
        "files of a dropped table are committed into its successor";
    LateRegistration, "late-registration", "L12", "fluss #3483",
        "a registration after DROP goes to the table that has the name now";
    DropLoops, "drop-loops", "F7", "fluss #2498",
        "a round whose table was dropped never ends, and the tables behind it wait";
    ReaderRestartLosesSplit, "reader-restart-loses-split", "F5", "fluss #1929",
        "the splits of a reader that restarts are never read, and the round never completes";
    RoundsMixed, "rounds-mixed", "L7", "fluss #3562",
        "results of overlapping rounds are merged into one commit";
    EmptyBatchStuck, "empty-batch-stuck", "F5", "fluss #3892",
        "a bucket with only empty batches never advances";
    ZeroRowOffsetDropped, "zero-row-offset-dropped", "L6", "fluss #3413",
        "a bucket without rows is left out of the committed offsets";
    EmptyBatchHang, "empty-batch-hang", "F5", "fluss PR 3242",
        "the reader waits for ever on an empty batch";
    TtlBeforeTier, "ttl-before-tier", "L9", "fluss #1919",
        "log retention ignores the tiered offset";
    PartitionDropBeforeTier, "partition-drop-before-tier", "L16", "fluss PR 3820",
        "partition expiry drops an untiered tail";
    RetentionByTiered, "retention-by-tiered", "L9", "inferred H10",
        "log retention follows the tiered offset where what is tiered cannot be read yet";
    UnreadableLevel0, "unreadable-level0", "L1", "fluss #2121",
        "a union read uses a snapshot whose newest files its reader skips";
    OffsetsOfAnotherSnapshot, "offsets-of-another-snapshot", "L6", "fluss #3519",
        "the readable snapshot is registered with the offsets of a later one";
    PartitionNameMismatch, "partition-name-mismatch", "L3", "fluss #3490",
        "lake and log spell a partition that is no string differently, so its rows double";
    FilterMovesStart, "filter-moves-start", "L3" | "L17", "fluss #4325",
        "a filter that prunes all lake splits of a bucket makes the log start at its beginning";
    EofNotRemembered, "eof-not-remembered", "L3", "fluss #3933",
        "after the lake phase of a changelog ends, the next read reads it again";
    LakeOnlyPartitionMissing, "lake-only-partition-missing", "L1", "fluss #2194",
        "a partition that lives only in the lake is not returned";
    LakeOnlyLookupEmpty, "lake-only-lookup-empty", "L17", "fluss #3443",
        "a scan finds the row, a point lookup does not";
    MergeDropsTail, "merge-drops-tail", "L1", "fluss #3626",
        "the merge of lake and log stops when the lake's side ends";
    NeverTieredFails, "never-tiered-fails", "F8", "fluss PR 3208",
        "a table that was never tiered cannot be read";
    BadTableStallsAll, "bad-table-stalls-all", "F7", "fluss #4038, #2360",
        "a table that cannot be tiered is tried again and again while all others wait";
    OldSchemaTruncates, "old-schema-truncates", "L13", "fluss #2070",
        "a round with the older schema drops the cells of new columns";
    AdoptsOldTable, "adopts-old-table", "L12", "inferred H16",
        "a table that is created anew outside the mode adopts the old snapshot and offsets when it is enabled";
    EnabledWithoutLakeTable, "enabled-without-lake-table", "C22", "fluss PR 1753",
        "enabling changes the store's options first, and they stay where the lake is in the way";
    StaleEpochAfterFailover, "stale-epoch-after-failover", "F5", "fluss #3921",
        "after the coordinator was away the worker keeps the epochs that it gave out before";
    EpochZero, "epoch-zero", "L3", "inferred H2",
        "a stale queue entry hands the table out twice after disabling and enabling";
    PinnedSnapshotCollected, "pinned-snapshot-collected", "F5", "fluss #2512",
        "state that a first round still needs is collected, whoever has it leased";
    LatestGoesBack, "latest-goes-back", "L8", "fluss PR 2326",
        "readable and tiered are registered one after the other, and the older readable one shows as the newest";
    RollbackIdReuse, "rollback-id-reuse", "L8", "inferred H7",
        "after a rollback of the lake a number that is used again hides a commit";
    OffsetGoesBack, "offset-goes-back", "L8", "inferred H12",
        "a late registration overrides a newer offset";
    SharedCommitUser, "shared-commit-user", "L11", "fluss #4396",
        "two committers have one user, and each takes the other's commits for its own";
    OffsetsPropertyMissing, "offsets-property-missing", "L7", "fluss #2201",
        "now and then a tiering snapshot is written without its offsets";
    BucketUnawareSpread, "bucket-unaware-spread", "L10", "fluss PR 1661",
        "rows of a bucket-unaware table land in bucket 1 and up";
    StopOffsetOverrun, "stop-offset-overrun", "L7", "inferred H8",
        "the tiering reader takes one record past its stop";
    UpdatePairSplit, "update-pair-split", "L1", "inferred",
        "a range of the log that ends between −U and +U deletes the key, and the next range does not bring it back";
    ForceFinishLosesRest, "force-finish-loses-rest", "L6", "inferred",
        "a round that is cut short by its time limit reports its full range";
    FreshnessBeyondBound, "freshness-beyond-bound", "F2", "inferred",
        "the freshness timer starts again at the end of a round, which the declared bound does not allow for";
    BackoffUnbounded, "backoff-unbounded", "F5", "common",
        "each failure doubles the worker's wait without a cap";
    DrainLeavesTail, "drain-leaves-tail", "L2", "common",
        "the last partial batch of a bucket is never tiered";
    AbortLeavesFiles, "abort-leaves-files", "L18", "common",
        "an aborted round leaves its files, and clean-up ignores them";
    RefusesAfterHeal, "refuses-after-heal", "F8", "common",
        "after a store outage writes stay refused";
    BaseReadWaitsForStore, "base-read-waits-for-store", "F6", "contract rule 27",
        "a base read asks the store and waits for its time-out";
    AckBeforeDurable, "ack-before-durable", "L1", "common",
        "the ack leaves before the record survives a crash";
    RtCached, "rt-cached", "F1", "common",
        "$rt answers from a copy that is refreshed only now and then";
    RtStaleReplica, "rt-stale-replica", "F3", "common",
        "after a restart $rt is served from an older state";
    RetryAppliedTwice, "retry-applied-twice", "L3", "common",
        "a client's retry after a lost ack is applied again";
    BatchHalfApplied, "batch-half-applied", "L4", "common",
        "a statement that failed in its second bucket is told as having no effect";
    RejectedButApplied, "rejected-but-applied", "L4", "common",
        "a write is refused and yet in the log";
    ChangelogNoBefore, "changelog-no-before", "L14", "common",
        "an update logs its +U without the -U";
    InsertOnExisting, "insert-on-existing", "L14", "common",
        "a key that is there is inserted once more";
    LookupBehindScan, "lookup-behind-scan", "L17", "common",
        "a point lookup lags behind the scan";
    DirtyReadLost, "dirty-read-lost", "L1", "common",
        "a read shows a write that a crash then forgets";
    RenameUnguarded, "rename-unguarded", "C1", "contract rule 7",
        "a lake-stream table can be renamed";
    ReplaceFallsBackToDropCreate, "replace-falls-back-to-drop-create", "C2", "contract rule 14",
        "CREATE OR REPLACE takes the refused replace for an unsupported one and drops and creates";
    TruncateLakeOnly, "truncate-lake-only", "C9", "contract rule 41",
        "TRUNCATE clears the lake and leaves the store's copy";
    ToggleNeedsStore, "toggle-needs-store", "C6", "contract rule 4",
        "switching the mode asks the store first, so nobody can leave it while the store is away";
    BaseReadOpensStore, "base-read-opens-store", "C16", "contract rule 27",
        "a read of the base name opens the store";
    EagerStore, "eager-store", "C17", "contract rule 20",
        "the store is opened with the catalog, needed or not";
    StoreCreatedTwice, "store-created-twice", "C17", "contract rule 20",
        "a catalog opens its store a second time";
    MisconfigurationNotFound, "misconfiguration-not-found", "C14", "contract rule 22",
        "a store that is misconfigured passes for a table that does not exist";
    MisconfigurationFallsBack, "misconfiguration-falls-back", "C14", "contract rule 22",
        "where the store cannot be found, its tables are treated as plain ones";
    ErrorWithoutStoreName, "error-without-store-name", "C14", "contract rule 22",
        "an error of the store does not say which store";
    RtWritable, "rt-writable", "C10", "contract rule 28",
        "a write through $rt is a write to the table";
    RtTimeTravel, "rt-time-travel", "C11", "contract rule 29",
        "time travel on $rt is accepted and ignored";
    RtAliasTooGreedy, "rt-alias-too-greedy", "C18", "contract rule 33",
        "t$rt$rt is taken for t$rt";
    ViewShadowed, "view-shadowed", "C18", "contract rule 31",
        "the alias hides a view that is named like it";
    OverwriteToStore, "overwrite-to-store", "C15", "contract rule 39",
        "an overwrite is a regular write to the store";
    OverwriteSticksToSession, "overwrite-sticks-to-session", "C15", "contract rule 38",
        "after an overwrite the session's regular writes go to the lake as well";
    WriteToLake, "write-to-lake", "C15", "contract rule 36",
        "a regular write is committed to the lake";
    UpdateOnLake, "update-on-lake", "C23", "contract rule 40",
        "an update is committed to the lake";
    SystemTableRouted, "system-table-routed", "C24", "contract rule 35",
        "a read of a system table is answered by the store";
    BranchWriteAccepted, "branch-write-accepted", "C12", "contract rule 42",
        "a branch of a lake-stream table is written";
    BranchWriteOpensStore, "branch-write-opens-store", "C12", "contract rule 42",
        "a write to a branch is refused only after the store was asked";
    StaleLayoutAccepted, "stale-layout-accepted", "C13", "contract rule 43",
        "a write that was planned against an older layout is taken";
    LayoutMessageLeaksOptions, "layout-message-leaks-options", "C13", "contract rule 44",
        "the refusal of an older layout prints the table's options";
    PrefixNotStripped, "prefix-not-stripped", "C17", "contract rule 19",
        "options reach the store with the store's prefix";
    ForeignOptionsForwarded, "foreign-options-forwarded", "C17", "contract rule 19",
        "options of others reach the store";
    CloseStopsAtFirstError, "close-stops-at-first-error", "C17", "contract rule 21",
        "where closing the Paimon side fails, the store stays open";
    UnmarkedAffected, "unmarked-affected", "C8", "contract rule 37",
        "regular writes to tables outside the mode go to the store";
    GoneForGood, "gone-for-good", "F4", "neighbour of stale-latest-hint",
        "a snapshot that storage denies once passes for rolled back, and the session stays on the one before";
    SequenceRestarts, "sequence-restarts", "L5", "common",
        "sequence numbers restart with the writer, so an older value wins";
    SequenceByClock, "sequence-by-clock", "L5", "neighbour of sequence-restarts",
        "sequence numbers come from the writer's clock, so a clock that is behind loses";
    CleanupOnUnknown, "cleanup-on-unknown", "L10", "paimon #6777",
        "an unknown commit outcome cleans up the manifests of a live snapshot";
    OverwriteDropsConcurrent, "overwrite-drops-concurrent", "L15", "paimon PR 7595",
        "an overwrite takes its delete list from the newest snapshot";
    RetryOtherKind, "retry-other-kind", "L11", "paimon PR 7010",
        "a successful commit that was reported failed is retried as another kind";
    RenameRace, "rename-race", "L11", "paimon #5762",
        "two commits both think that they won";
    RenameForced, "rename-forced", "L11", "neighbour of rename-race",
        "a rename that is refused as taken replaces what is there";
    LockIgnored, "lock-ignored", "L11", "neighbour of rename-race",
        "a commit does not wait for the catalog's lock";
    LoserSucceeds, "loser-succeeds", "L11", "inferred",
        "the loser of a commit's race takes the winner's snapshot for its own";
    ReplayNotFiltered, "replay-not-filtered", "L3", "paimon dedupe",
        "a replayed commit is committed again";
    ExpiryDeletesLive, "expiry-deletes-live", "L10", "paimon #5229",
        "expiry deletes files that a later snapshot still uses";
    ExpiryIgnoresTag, "expiry-ignores-tag", "L10", "paimon #9867",
        "a tagged snapshot's files are deleted";
    TagTakesAll, "tag-takes-all", "L10", "neighbour of expiry-ignores-tag",
        "a tag that is deleted takes all files with it that it kept, those of later snapshots as well";
    OrphanCleanRaces, "orphan-clean-races", "L10", "paimon #7710",
        "clean-up deletes files of a commit in flight";
    StaleLatestHint, "stale-latest-hint", "L11" | "F4", "common",
        "a stale LATEST hint is believed";
    DeleteDroppedEarly, "delete-dropped-early", "L5", "LSM classic",
        "compaction to a level that is not the lowest drops a delete, and the row returns";
    BucketHashDiffers, "bucket-hash-differs", "L17", "common",
        "a row's bucket differs between writer and reader";
    StatsPruneWrong, "stats-prune-wrong", "L17", "common",
        "a wrong greatest value prunes a file that matches";
    PartialManifest, "partial-manifest", "L10", "storage",
        "the commit goes on after the write of a manifest failed";
    DeleteIgnored, "delete-ignored", "L5", "common",
        "deletes do not reach the log of a key table";
    ReplaceUnguarded, "replace-unguarded", "C2", "contract rule 8",
        "a lake-stream table can be replaced";
    GuardOnlyInBaseCatalog, "guard-only-in-base-catalog", "C4", "contract rule 10",
        "a catalog that overrides rename and replace guards neither";
    RejectionWithoutAdvice, "rejection-without-advice", "C3", "contract rule 9",
        "the rejection does not say how to leave the mode";
    AdviceLostInWrapping, "advice-lost-in-wrapping", "C3", "contract rule 16",
        "a catalog that wraps errors drops the cause, and the advice with it";
    RejectionAfterEffect, "rejection-after-effect", "C22", "contract rule 9",
        "a refused replace has replaced the table before it is refused";
    OffKeepsRejecting, "off-keeps-rejecting", "C5", "contract rule 11",
        "the guard takes an option that says false for one that is on";
    TruncateAccepted, "truncate-accepted", "C9", "contract rule 41",
        "TRUNCATE of a lake-stream table succeeds and deletes nothing";
    ColumnChangeRejected, "column-change-rejected", "C7", "contract rule 12",
        "the columns of a lake-stream table cannot be changed on the lake side";
    ColumnChangePushedToStore, "column-change-pushed-to-store", "C7", "contract rule 12",
        "a column that is added on the lake side is added to the store's table as well";
    IfExistsGuarded, "if-exists-guarded", "C21", "contract rule 17",
        "RENAME IF EXISTS of a missing table is refused instead of ignored";
    FalseStored, "false-stored", "C19", "contract rule 51",
        "leaving the mode writes false into the lake instead of removing the key";
    ResetThenEnableForgotten, "reset-then-enable-forgotten", "C19", "contract rule 52",
        "after a reset the store's definition lacks the key, and enabling does not reach the lake";
    LegacyMarked, "legacy-marked", "C19", "contract rule 54",
        "a lake table of the legacy layout is put into the mode";
    SystemColumnAccepted, "system-column-accepted", "C20", "contract rule 58",
        "a user column may have the name of a system column";
    ColumnInTheMiddle, "column-in-the-middle", "C20", "contract rule 59",
        "a store-side ALTER may add a column between others";
    EnableWithoutIdCheck, "enable-without-id-check", "P2", "contract rule 64",
        "enabling does not compare the lake's newest snapshot with the registered one";
    EnableOneSided, "enable-one-sided", "P2", "contract rule 64",
        "a snapshot that only one side has passes for agreement";
    LoadNewestNotFixed, "load-newest-not-fixed", "P4", "contract rule 65",
        "each bucket is loaded from the snapshot that is newest by then";
    NativeCommitDuringLoadMissed, "native-commit-during-load-missed", "P4", "contract rule 65",
        "the snapshot that is newest after the load is registered as the one that was loaded";
    BucketPublishedEarly, "bucket-published-early", "P4", "contract rule 66",
        "each bucket of a load is visible once it is staged";
    HalfLoadedEnabledAfterCrash, "half-loaded-enabled-after-crash", "P8", "contract rule 65",
        "a load that was begun passes for one that is complete";
    SecondCallLoadsAgain, "second-call-loads-again", "P8", "contract rule 63",
        "promoting a promoted table loads the lake over what was written since";
    AppendTableWithOffsets, "append-table-with-offsets", "P3", "contract rule 65",
        "an append table's source snapshot is registered with the numbers of its rows as offsets";
    HistoryShadowedByStore, "history-shadowed-by-store", "P5", "fip-25",
        "a table whose own log was never tiered is read without the lake";
    UnmappableAccepted, "unmappable-accepted", "P7", "contract rule 70",
        "definitions that the store cannot hold are promoted all the same";
    ManagedOptionAccepted, "managed-option-accepted", "P1", "contract rule 63",
        "creating on the lake takes over options that are the store's to set";
    PartitionSelectionIgnored, "partition-selection-ignored", "P6", "contract rule 67",
        "a promotion does not look at its partitions";
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.id())
    }
}

impl FromStr for Defect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .iter()
            .copied()
            .find(|defect| defect.id() == text)
            .ok_or_else(|| format!("expected one of the defects that `list defects` shows, found {text:?}"))
    }
}

/// The bugs that one instance of the reference has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defects(BTreeSet<Defect>);

impl Defects {
    /// The correct reference.
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether this bug is planted.
    pub fn has(&self, defect: Defect) -> bool {
        self.0.contains(&defect)
    }

    /// The planted bugs.
    pub fn iter(&self) -> impl Iterator<Item = Defect> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<Defect> for Defects {
    fn from_iter<I: IntoIterator<Item = Defect>>(defects: I) -> Self {
        Self(defects.into_iter().collect())
    }
}
