//! Planted bugs: one enum, one documented site each, all off unless asked for.
//!
//! Only the models know defects (rule 9): no scenario, generator, checker or explanation refers to one. A reader of
//! the models can ignore every `if … .has(Defect::…)`; without it the code is the reference.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Defines the defects once: variant, id, the bug in a sentence, its source, the property that it breaks.
macro_rules! defects {
    ($($variant:ident, $id:literal, $property:literal, $source:literal, $bug:literal;)*) => {
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

            /// The property that it breaks.
            pub fn property(self) -> &'static str {
                match self { $(Self::$variant => $property,)* }
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
    AbortAfterSuccess, "abort-after-success", "L10", "fluss PR 3370",
        "an error after a commit that took effect triggers the abort, which deletes live files";
    EmptyBatchStuck, "empty-batch-stuck", "F5", "fluss #3892",
        "a bucket with only empty batches never advances";
    ZeroRowOffsetDropped, "zero-row-offset-dropped", "L6", "fluss #3413",
        "a bucket without rows is left out of the committed offsets";
    TtlBeforeTier, "ttl-before-tier", "L9", "fluss #1919",
        "log retention ignores the tiered offset";
    AckBeforeDurable, "ack-before-durable", "L1", "common",
        "the ack leaves before the record survives a crash";
    RtCached, "rt-cached", "F1", "common",
        "$rt answers from a copy that is refreshed only now and then";
    RenameUnguarded, "rename-unguarded", "C1", "contract rule 7",
        "a lake-stream table can be renamed";
    ReplaceFallsBackToDropCreate, "replace-falls-back-to-drop-create", "C2", "contract rule 14",
        "CREATE OR REPLACE takes the refused replace for an unsupported one and drops and creates";
    TruncateLakeOnly, "truncate-lake-only", "C9", "contract rule 41",
        "TRUNCATE clears the lake and leaves the store's copy";
    SequenceRestarts, "sequence-restarts", "L5", "common",
        "sequence numbers restart with the writer, so an older value wins";
    CleanupOnUnknown, "cleanup-on-unknown", "L10", "paimon #6777",
        "an unknown commit outcome cleans up the manifests of a live snapshot";
    DeleteIgnored, "delete-ignored", "L5", "common",
        "deletes do not reach the log of a key table";
    RejectionWithoutAdvice, "rejection-without-advice", "C3", "contract rule 9",
        "the rejection does not say how to leave the mode";
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
