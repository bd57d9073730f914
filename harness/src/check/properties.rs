//! Every property, as data: what it says, where it comes from, and what counts as having judged it.
//!
//! The ids are stable: reports, tests, comments and certificates cite them. `list properties`, the verdict table and the
//! certificate are views of [`ALL`].

/// A group of properties that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// How old a read may be, and that the system is alive.
    Freshness,
    /// Nothing is lost, doubled, invented or undone.
    NoLoss,
    /// What the mode forbids, and which side a statement goes to.
    RejectionAndRouting,
    /// Making a lake-stream table of an existing Paimon table.
    Promotion,
}

impl Family {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Freshness => "freshness",
            Self::NoLoss => "no loss",
            Self::RejectionAndRouting => "rejection and routing",
            Self::Promotion => "promotion",
        }
    }
}

/// Who has to hold a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Any store.
    Core,
    /// Fluss.
    Fluss,
    /// A draft text.
    Draft,
}

impl Level {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Fluss => "fluss",
            Self::Draft => "draft",
        }
    }
}

/// One property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its stable id.
    pub id: &'static str,
    /// Its group.
    pub family: Family,
    /// Who has to hold it.
    pub level: Level,
    /// What it demands, in one sentence.
    pub statement: &'static str,
    /// The rules of the lake-stream contract that it comes from, by number; empty where it follows from the sense of it.
    pub rules: &'static [u8],
    /// What counts as one judgement that could have failed.
    pub exercised: &'static str,
    /// The texts that the rules were read in; empty where it follows from the sense of a table.
    pub source: &'static str,
    /// What the texts leave open, or what was inferred and not read; empty where nothing is.
    pub uncertain: &'static str,
    /// The capability without which a system is not tested; `None` if every system is.
    pub capability: Option<&'static str>,
    /// Whether this version judges it.
    pub judged: bool,
}

/// The property with this id.
pub fn by_id(id: &str) -> Option<&'static Property> {
    ALL.iter().find(|property| property.id == id)
}

macro_rules! properties {
    ($($id:literal $family:ident $level:ident $judged:literal [$($rule:literal),*] $capability:expr,
        $statement:literal, $exercised:literal, $source:literal, $uncertain:literal;)*) => {
        /// All properties, by family and number.
        pub const ALL: &[Property] = &[$(Property {
            id: $id,
            family: Family::$family,
            level: Level::$level,
            statement: $statement,
            rules: &[$($rule),*],
            exercised: $exercised,
            source: $source,
            uncertain: $uncertain,
            capability: $capability,
            judged: $judged,
        },)*];
    };
}

properties! {
    "F1" Freshness Core true [25] None,
        "A completed `t$rt` read invoked at least `rt_staleness` after an ack shows that write or one that supersedes it.",
        "a row or key with an acked write, in a `t$rt` read",
        "paimon #10693, rule 25", "how fresh the store's answer has to be: no text gives a bound, so the system declares one";
    "F2" Freshness Core true [26] None,
        "A base read invoked after the ack and after a healthy window of `lake_freshness + recovery` shows that write or one that supersedes it.",
        "a row or key with a write acked before a healthy window, in a base read after it",
        "paimon #10693, rule 26", "when tiered rows have to be in the lake: no text gives a bound, so the system declares one";
    "F3" Freshness Core true [25] None,
        "`t$rt` reads of one session never go backwards.",
        "a row or key that a session saw before, in a later `t$rt` read of the session",
        "paimon #10693, rule 25", "";
    "F4" Freshness Core true [26] None,
        "Base reads never go back in snapshot order, in real time.",
        "a base select after another one that read a snapshot",
        "paimon #10693, rule 26", "";
    "F5" Freshness Core true [] None,
        "After healing, the lake reaches the store's end as it was at the moment of healing within `recovery`.",
        "a table whose lake was behind its store when faults ended",
        "", "";
    "F6" Freshness Core true [3, 6, 27] Some("fault.store-down"),
        "A base read, its metadata and its capabilities work with the store down: the same lake calls and time, no store call.",
        "a base read, or a look at the lake's definition, that began with the store down or paused and nothing else wrong",
        "paimon #10696 and #10833, rules 3, 6 and 27", "";
    "F7" Freshness Core true [] None,
        "One table that cannot be tiered does not delay the others beyond F2 plus one longest round.",
        "a row or key with a write acked before a healthy window, in a base read beside a table that was dropped or lost a column on the lake's side",
        "", "how long the longest round is: `lake_freshness` contains it, so that much is added";
    "F8" Freshness Core true [] None,
        "In the healed phase every allowed statement succeeds within its deadline.",
        "a statement that the contract allows for certain, invoked after faults ended",
        "", "";
    "L1" NoLoss Core true [] None,
        "A write acked, or once returned by any completed read, is never lost: not superseded and yet absent from all later `t$rt` reads.",
        "a row that was acked or shown, with a later `t$rt` read that nothing excuses",
        "", "";
    "L2" NoLoss Core true [] None,
        "After drain the base table holds what was acked: every append row that nothing superseded, and per key a permitted last state.",
        "a row or key with a write acked before the drain, in the last base select after it",
        "", "";
    "L3" NoLoss Core true [] None,
        "No row appears twice: in the lake, in the union read, across the hand-off.",
        "a read, a changelog answer or a lake snapshot with rows",
        "", "";
    "L4" NoLoss Core true [] None,
        "No row appears that nobody wrote; no definitely failed or rejected write ever appears, nor part of one.",
        "a read, a changelog answer or a lake snapshot with rows",
        "", "";
    "L5" NoLoss Core true [] Some("primary-key"),
        "Per key the value is the merge of its writes in log order; a delete is never undone by compaction, merge, restart or expiry.",
        "a key in a lake snapshot after another one, a key whose log position is known in a `t$rt` read, or an acked delete",
        "", "";
    "L6" NoLoss Core true [] Some("observe"),
        "Lake content at the registered snapshot and the log from its offset are the table: no gap, no overlap.",
        "a registration, a pair of tiering snapshots, or a bucket of known log entries against a snapshot",
        "", "";
    "L7" NoLoss Core true [] Some("observe"),
        "The delta of each tiering snapshot is exactly the log range from the offsets of the tiering snapshot before it to its own, bucket by bucket.",
        "a tiering snapshot that adds rows, and each of its rows whose offset is known",
        "", "";
    "L8" NoLoss Core true [] Some("observe"),
        "Per table id and partition, tiered offsets and registered snapshot ids never go back, and readable never passes tiered.",
        "a registration, or a pair of tiering snapshots",
        "", "";
    "L9" NoLoss Core true [] Some("observe"),
        "The log starts at or before the readable offset while the mode is on and that snapshot is unexpired.",
        "a log that no longer starts at 0",
        "", "";
    "L10" NoLoss Core true [] Some("warehouse"),
        "Every file that a live snapshot, tag or branch references exists and parses; counts, levels, key ranges, totals and buckets agree.",
        "a table whose files our reader read after the run",
        "", "";
    "L11" NoLoss Core true [] Some("warehouse"),
        "A lake commit, by user, identifier and kind, is in the chain exactly once if acked, and not at all if it failed for certain.",
        "a snapshot, an acked lake-side write, or a registration",
        "", "";
    "L12" NoLoss Core true [] None,
        "A table dropped and created again holds nothing of its predecessor, and no late commit of the predecessor touches it.",
        "a read, a registration or a tiered snapshot of a table that was created again after an acked DROP",
        "", "where only the store's side was dropped, `t$rt` alone is judged: what becomes of the lake's table is not written";
    "L13" NoLoss Core true [] Some("alter-columns"),
        "Adding or renaming columns loses no column of any acked row, whichever schema its writer had.",
        "an acked row in a read after a column change, by the columns that its statement named",
        "", "columns that were renamed or dropped are not followed";
    "L14" NoLoss Core true [] Some("changes"),
        "A full changelog has -U before +U, +I only on absent keys, -D only on present ones, and its replay equals the state.",
        "an entry of a key table's log that is known from offset 0 on, or a key of its replay beside the drained `t$rt` read",
        "", "a table with a promoted history has no full changelog, and is not judged";
    "L15" NoLoss Core true [] Some("overwrite"),
        "Files added after an overwrite's base snapshot stay live, or the commit fails; compaction and append never remove each other's rows.",
        "a row that was appended after the base that an overwrite tells, or an append or compaction of an append table that had rows",
        "", "of systems whose overwrites do not tell their base only appends and compactions are judged, and L1 and L2 for what was acked later";
    "L16" NoLoss Core true [] None,
        "Automatic retention or expiry never loses rows acked but not yet tiered.",
        "a log that no longer starts at 0",
        "", "what lies between the tiered offset and the log's start counts as rows unless all of it is known; DROP PARTITION by a user is not judged";
    "L17" NoLoss Core true [] Some("lookup"),
        "Point lookup, filtered scan and full scan of one view agree when no write is in flight or in doubt.",
        "a lookup or filtered scan beside a full scan of the same view, with what a write in flight or in doubt may have changed left out",
        "", "base lookups name no snapshot, so they are judged only after a scan whose snapshot was still the newest one";
    "L18" NoLoss Core true [] Some("warehouse"),
        "After drain and clean-up the files on the lake are exactly the reachable ones.",
        "a table whose files were listed after the drain and the system's own clean-up",
        "", "of other systems orphans are listed and not judged: their clean-up is not ours to run";
    "C1" RejectionAndRouting Core true [7] None,
        "Rename of a lake-stream table is rejected.",
        "a rename of a table that is in the mode for certain, answered for certain",
        "paimon #10692, #10706 and #10833, rule 7", "the class of the error";
    "C2" RejectionAndRouting Core true [8, 14, 15] None,
        "Replace of a lake-stream table is rejected and never becomes drop and create.",
        "a replace of a table that is in the mode for certain, answered for certain",
        "paimon #10692, #10706 and #10833, rule 8; Paimon's code for rules 14 and 15", "that an engine's own replace must not become drop and create is inferred from code";
    "C3" RejectionAndRouting Core true [9, 16] None,
        "The rejection says how to leave the mode: it contains `lakestream.enabled` and one of off, disable, false, reset, unset, remove.",
        "a rejection that C1, C2 or C9 demands",
        "paimon #10706, rule 9; Paimon's code for rule 16", "the exact wording; that the advice survives wrapping is inferred from code";
    "C4" RejectionAndRouting Core true [10] Some("catalogs"),
        "The guards hold in a catalog that inherits them and in one that overrides the operation.",
        "a guarded statement, answered for certain, in a catalog that overrides the operation",
        "paimon #10706 and #10833, rule 10", "";
    "C5" RejectionAndRouting Core true [11] None,
        "With the option off on the lake side, set to false or reset, rename and replace succeed.",
        "a rename or replace of a table whose mode was turned off",
        "paimon #10692, rule 11", "that both spellings of off count is inferred";
    "C6" RejectionAndRouting Core true [3, 4] None,
        "Turning the mode on and off works by ALTER on the lake side with the store down, misconfigured or absent.",
        "a switch of the mode by ALTER on the lake side, of a table without rows that the store does not know",
        "paimon #10692 and #10833, rules 3 and 4", "turning the mode on over rows that the store does not know is not judged: no text speaks of it";
    "C7" RejectionAndRouting Core true [12] Some("alter-columns"),
        "Column changes on the lake side are allowed and touch only the lake table.",
        "a column change on the lake side of a table in the mode: that it is allowed, and what the store has afterwards",
        "paimon #10692 and #10706, rule 12", "";
    "C8" RejectionAndRouting Core true [13, 32, 37] None,
        "Tables without the option behave exactly as before, for every statement.",
        "a statement on a table that is out of the mode for certain, a row or key in a base read of one that never was in it, or a snapshot of such a one",
        "paimon #10693, #10696 and #11062, rules 13, 32 and 37", "what `$rt` of such a table comes to";
    "C9" RejectionAndRouting Core true [41] None,
        "TRUNCATE of a lake-stream table is rejected, and neither side lost a row.",
        "a truncate of a table that is in the mode for certain, answered for certain",
        "paimon #10694, rule 41", "";
    "C10" RejectionAndRouting Core true [28] None,
        "`t$rt` is read-only: every write and every DDL through it is rejected.",
        "a write or definition through the `t$rt` of a table in the mode",
        "paimon #10693, rule 28", "that definitions are meant beside writes is inferred";
    "C11" RejectionAndRouting Core true [29] None,
        "`t$rt` with a time-travel timestamp is rejected.",
        "a `t$rt` read with a timestamp, of a table in the mode",
        "paimon #10693, rule 29", "a snapshot id instead of a timestamp: no text";
    "C12" RejectionAndRouting Core true [42] Some("branches"),
        "A write to a branch is rejected before the store is opened.",
        "a write to a branch of a table in the mode",
        "paimon #11062, rule 42", "";
    "C13" RejectionAndRouting Core true [43, 44, 45] Some("layouts"),
        "A write planned against an older physical layout is rejected with a message that leaks no option value.",
        "a write whose planned layout is certainly old or certainly fresh, or a failure while there are secrets to tell",
        "paimon #11062, rules 43 to 45", "which fields of a layout count";
    "C14" RejectionAndRouting Core true [22, 34] None,
        "Misconfiguration is an error that names the store, never a lookup failure or a silent fall back.",
        "a statement that needs a store which is not configured, away, or lacks the table",
        "paimon #10693 and #10696, rule 22; the Spark prototype #9551 for rule 34", "the list of cases, which is cut off in the stored text: unset, unknown, not creatable and lacking the table are inferred";
    "C15" RejectionAndRouting Core true [36, 37, 38, 39] Some("observe"),
        "Regular writes reach the store and make no lake snapshot by themselves; INSERT OVERWRITE reaches the lake and not the store.",
        "a row written in the mode that arrived in a lake snapshot",
        "paimon #10693, #10694 and #10696, rules 36 to 39", "that no lake snapshot results is inferred; INSERT OVERWRITE may still be refused";
    "C16" RejectionAndRouting Core true [27] Some("observe"),
        "Base reads never open the store.",
        "a base read in a session that has not opened the store",
        "paimon #10696, rule 27", "";
    "C17" RejectionAndRouting Core true [19, 20, 21] Some("observe"),
        "Options are forwarded with the store's prefix stripped; the store is created on first use, once, and closed with the catalog.",
        "an opening of the store, its options, and the close of a catalog that had opened it",
        "paimon #10833 and its review, the Spark prototype #9551, rules 19 to 21", "";
    "C18" RejectionAndRouting Core true [31, 33] Some("views"),
        "A view named `x$rt` still resolves as that view; `$rt` and `t$rt$rt` are not aliases.",
        "a read through a name that only looks like `$rt`, or of a view of such a name",
        "paimon #11062, rule 31; the Spark prototype #9551 for rule 33", "Flink's rule of parsing; `$rt` of a branch";
    "C19" RejectionAndRouting Fluss true [49, 50, 51, 52, 53, 54, 55] Some("store-lifecycle"),
        "On the store side, create and enable write `true`; disable and reset remove the key and never store `false`.",
        "an acked switch of the mode on the store's side, with the lake's options seen after it",
        "fluss #4102 and PR #4118, rules 49 to 55", "that a user may set the option through Fluss all the same is inferred";
    "C20" RejectionAndRouting Fluss true [56, 57, 58, 59, 60] Some("legacy-layout"),
        "On the store side, user columns named like the legacy system columns are refused, and added columns go last and are nullable.",
        "a definition on the store's side that names a system column, or an added column seen on either side after it",
        "fluss #2411, #3902 and PR #3982, rules 56 to 60", "how partial legacy layouts are told: text and code differ";
    "C21" RejectionAndRouting Core true [17] None,
        "`if (not) exists` semantics stay as they were and never turn into a guard error.",
        "a statement with `if (not) exists`, or on a name that is taken or missing",
        "Paimon's code, rule 17", "inferred: no text speaks of it";
    "C22" RejectionAndRouting Core true [] None,
        "Every definitely failed statement leaves both sides as they were: table id, schema, options, snapshots, files, offsets.",
        "a definitely failed statement with both sides seen before and after",
        "the sense of a rejection, rules 7 to 9", "inferred: no text says that nothing changes";
    "C23" RejectionAndRouting Core true [40] Some("update"),
        "UPDATE, DELETE and partitioned writes work, or fail naming the store, and never run on the other side.",
        "an UPDATE, a DELETE or a write with a partition clause on a table in the mode",
        "paimon #10694, rule 40", "what a store can do is its own to say";
    "C24" RejectionAndRouting Core true [35] None,
        "Only a plain Paimon table is routed; a system table or other type that carries the option is not.",
        "a statement on a system table of a table in the mode, or on another type of table that carries the option",
        "a test of the Spark prototype #9551, rule 35", "";
    "P1" Promotion Draft true [62, 63] Some("promotion"),
        "Creating on the lake makes disabled metadata only, derives the schema, refuses managed options and reports an existing table.",
        "a `create_on_lake` with both sides seen around it, or one with a managed option",
        "FIP-25 (draft), rules 62 and 63", "";
    "P2" Promotion Draft true [64] Some("promotion"),
        "Enabling needs a compatible schema and equal snapshot ids, or none on both sides; otherwise it is refused.",
        "an enabling of a table that came from the lake, with both sides seen around it",
        "FIP-25 (draft), rule 64", "";
    "P3" Promotion Draft true [65] Some("promotion"),
        "An append table registers its snapshot with empty offsets and loads nothing.",
        "the registration that follows a promotion of an append table",
        "FIP-25 (draft), rule 65", "";
    "P4" Promotion Draft true [65, 66] Some("promotion"),
        "A primary-key table loads one fixed snapshot, re-checks its id, registers it with end offsets, then enables.",
        "the registration that follows a promotion of a key table, the key-value state beside it, a `t$rt` read while it ran, a lookup after it",
        "FIP-25 (draft) and fluss #4224, rules 65 and 66", "";
    "P5" Promotion Draft true [] Some("promotion"),
        "After promotion no row of the history is lost, repeated or shadowed.",
        "a row or key with an acked write, in a `t$rt` read after a promotion",
        "the sense of FIP-25 (draft)", "inferred: rule 68 only forbids native writers";
    "P6" Promotion Draft true [67] Some("promotion"),
        "Partition selection has the defaults and refusals that are specified.",
        "a promotion that names partitions",
        "FIP-25 (draft), rule 67", "what an unselected partition shows afterwards is not judged";
    "P7" Promotion Draft true [69, 70] Some("promotion"),
        "Definitions that cannot be mapped are refused, each with a reason that names the option or type.",
        "a promotion of a definition that cannot be mapped",
        "FIP-25's mapping matrix (draft), rules 69 and 70", "types that cannot be spelled here are not judged";
    "P8" Promotion Draft true [] Some("promotion"),
        "After a crash anywhere in the procedure, calling it again completes or fails cleanly; a half-loaded table is never enabled.",
        "a row or key with an acked write, in a `t$rt` read after a promotion that was cut short, the key-value state of an enabled table, or a call after a complete one",
        "the sense of FIP-25 (draft), rules 65 and 66", "inferred: no text speaks of a crash";
}
