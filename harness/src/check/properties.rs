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
        $statement:literal, $exercised:literal;)*) => {
        /// All properties, by family and number.
        pub const ALL: &[Property] = &[$(Property {
            id: $id,
            family: Family::$family,
            level: Level::$level,
            statement: $statement,
            rules: &[$($rule),*],
            exercised: $exercised,
            capability: $capability,
            judged: $judged,
        },)*];
    };
}

properties! {
    "F1" Freshness Core true [25] None,
        "A completed `t$rt` read invoked at least `rt_staleness` after an ack shows that write or one that supersedes it.",
        "a row or key with an acked write, in a `t$rt` read";
    "F2" Freshness Core true [26] None,
        "A base read invoked after the ack and after a healthy window of `lake_freshness + recovery` shows that write or one that supersedes it.",
        "a row or key with a write acked before a healthy window, in a base read after it";
    "F3" Freshness Core true [25] None,
        "`t$rt` reads of one session never go backwards.",
        "a row or key that a session saw before, in a later `t$rt` read of the session";
    "F4" Freshness Core true [26] None,
        "Base reads never go back in snapshot order, in real time.",
        "a base select after another one that read a snapshot";
    "F5" Freshness Core true [] None,
        "After healing, the lake reaches the store's end as it was at the moment of healing within `recovery`.",
        "a table whose lake was behind its store when faults ended";
    "F6" Freshness Core false [3, 6, 27] Some("fault.store-down"),
        "A base read, its metadata and its capabilities work with the store down: the same lake calls and time, no store call.",
        "a base read with the store down";
    "F7" Freshness Core false [] None,
        "One table that cannot be tiered does not delay the others beyond F2 plus one longest round.",
        "a base read of a table beside one that cannot be tiered";
    "F8" Freshness Core true [] None,
        "In the healed phase every allowed statement succeeds within its deadline.",
        "a statement that the contract allows for certain, invoked after faults ended";
    "L1" NoLoss Core true [] None,
        "A write acked, or once returned by any completed read, is never lost: not superseded and yet absent from all later `t$rt` reads.",
        "a row that was acked or shown, with a later `t$rt` read that nothing excuses";
    "L2" NoLoss Core true [] None,
        "After drain the base table holds what was acked: every append row that nothing superseded, and per key a permitted last state.",
        "a row or key with a write acked before the drain, in the last base select after it";
    "L3" NoLoss Core true [] None,
        "No row appears twice: in the lake, in the union read, across the hand-off.",
        "a read, a changelog answer or a lake snapshot with rows";
    "L4" NoLoss Core true [] None,
        "No row appears that nobody wrote; no definitely failed or rejected write ever appears, nor part of one.",
        "a read, a changelog answer or a lake snapshot with rows";
    "L5" NoLoss Core true [] Some("primary-key"),
        "Per key the value is the merge of its writes in log order; a delete is never undone by compaction, merge, restart or expiry.",
        "a key in a lake snapshot after another one, a key whose log position is known in a `t$rt` read, or an acked delete";
    "L6" NoLoss Core true [] Some("observe"),
        "Lake content at the registered snapshot and the log from its offset are the table: no gap, no overlap.",
        "a registration, a pair of tiering snapshots, or a bucket of known log entries against a snapshot";
    "L7" NoLoss Core true [] Some("observe"),
        "The delta of each tiering snapshot is exactly the log range from the offsets of the tiering snapshot before it to its own, bucket by bucket.",
        "a tiering snapshot that adds rows, and each of its rows whose offset is known";
    "L8" NoLoss Core true [] Some("observe"),
        "Per table id and partition, tiered offsets and registered snapshot ids never go back, and readable never passes tiered.",
        "a registration, or a pair of tiering snapshots";
    "L9" NoLoss Core true [] Some("observe"),
        "The log starts at or before the readable offset while the mode is on and that snapshot is unexpired.",
        "a log that no longer starts at 0";
    "L10" NoLoss Core true [] Some("warehouse"),
        "Every file that a live snapshot, tag or branch references exists and parses; counts, levels, key ranges, totals and buckets agree.",
        "a table whose files our reader read after the run";
    "L11" NoLoss Core true [] Some("warehouse"),
        "A lake commit, by user, identifier and kind, is in the chain exactly once if acked, and not at all if it failed for certain.",
        "a snapshot, an acked lake-side write, or a registration";
    "L12" NoLoss Core false [] None,
        "A table dropped and created again holds nothing of its predecessor, and no late commit of the predecessor touches it.",
        "a read of a table that was created again";
    "L13" NoLoss Core false [] Some("alter-columns"),
        "Adding or renaming columns loses no column of any acked row, whichever schema its writer had.",
        "a row read after a column change";
    "L14" NoLoss Core false [] Some("changes"),
        "A full changelog has -U before +U, +I only on absent keys, -D only on present ones, and its replay equals the state.",
        "a changelog read from its start";
    "L15" NoLoss Core false [] Some("overwrite"),
        "Files added after an overwrite's base snapshot stay live, or the commit fails; compaction and append never remove each other's rows.",
        "an overwrite beside another commit";
    "L16" NoLoss Core false [] None,
        "Automatic retention or expiry never loses rows acked but not yet tiered.",
        "a retention or expiry with an untiered tail";
    "L17" NoLoss Core false [] Some("lookup"),
        "Point lookup, filtered scan and full scan of one view agree when no write is in flight or in doubt.",
        "a group of reads of one view without a write between them";
    "L18" NoLoss Core false [] Some("warehouse"),
        "After drain and clean-up the files on the lake are exactly the reachable ones.",
        "a table whose files were listed after clean-up";
    "C1" RejectionAndRouting Core true [7] None,
        "Rename of a lake-stream table is rejected.",
        "a rename of a table that is in the mode for certain, answered for certain";
    "C2" RejectionAndRouting Core true [8, 14, 15] None,
        "Replace of a lake-stream table is rejected and never becomes drop and create.",
        "a replace of a table that is in the mode for certain, answered for certain";
    "C3" RejectionAndRouting Core true [9, 16] None,
        "The rejection says how to leave the mode: it contains `lakestream.enabled` and one of off, disable, false, reset, unset, remove.",
        "a rejection that C1, C2 or C9 demands";
    "C4" RejectionAndRouting Core false [10] Some("catalogs"),
        "The guards hold in a catalog that inherits them and in one that overrides the operation.",
        "a guarded statement in each kind of catalog";
    "C5" RejectionAndRouting Core true [11] None,
        "With the option off on the lake side, set to false or reset, rename and replace succeed.",
        "a rename or replace of a table whose mode was turned off";
    "C6" RejectionAndRouting Core false [3, 4] None,
        "Turning the mode on and off works by ALTER on the lake side with the store down, misconfigured or absent.",
        "a switch of the mode without a working store";
    "C7" RejectionAndRouting Core false [12] Some("alter-columns"),
        "Column changes on the lake side are allowed and touch only the lake table.",
        "a column change of a lake-stream table";
    "C8" RejectionAndRouting Core false [13, 32, 37] None,
        "Tables without the option behave exactly as before, for every statement.",
        "a statement on a table without the option";
    "C9" RejectionAndRouting Core true [41] None,
        "TRUNCATE of a lake-stream table is rejected, and neither side lost a row.",
        "a truncate of a table that is in the mode for certain, answered for certain";
    "C10" RejectionAndRouting Core false [28] None,
        "`t$rt` is read-only: every write and every DDL through it is rejected.",
        "a write or DDL through `t$rt`";
    "C11" RejectionAndRouting Core false [29] None,
        "`t$rt` with a time-travel timestamp is rejected.",
        "a `t$rt` read with a timestamp";
    "C12" RejectionAndRouting Core false [42] Some("branches"),
        "A write to a branch is rejected before the store is opened.",
        "a write to a branch of a lake-stream table";
    "C13" RejectionAndRouting Core false [43, 44, 45] Some("layouts"),
        "A write planned against an older physical layout is rejected with a message that leaks no option value.",
        "a write with a layout from before a change";
    "C14" RejectionAndRouting Core false [22, 34] None,
        "Misconfiguration is an error that names the store, never a lookup failure or a silent fall back.",
        "a statement that needs a store which is not configured";
    "C15" RejectionAndRouting Core true [36, 37, 38, 39] Some("observe"),
        "Regular writes reach the store and make no lake snapshot by themselves; INSERT OVERWRITE reaches the lake and not the store.",
        "a row written in the mode that arrived in a lake snapshot";
    "C16" RejectionAndRouting Core false [27] Some("observe"),
        "Base reads never open the store.",
        "a base read before anything that needs the store";
    "C17" RejectionAndRouting Core false [19, 20, 21] Some("observe"),
        "Options are forwarded with the store's prefix stripped; the store is created on first use, once, and closed with the catalog.",
        "a catalog with options, its first use and its close";
    "C18" RejectionAndRouting Core false [31, 33] Some("views"),
        "A view named `x$rt` still resolves as that view; `$rt` and `t$rt$rt` are not aliases.",
        "a read through such a name";
    "C19" RejectionAndRouting Fluss false [49, 50, 51, 52, 53, 54, 55] Some("store-lifecycle"),
        "On the store side, create and enable write `true`; disable and reset remove the key and never store `false`.",
        "a switch of the mode on the store's side";
    "C20" RejectionAndRouting Fluss false [56, 57, 58, 59, 60] Some("legacy-layout"),
        "On the store side, user columns named like the legacy system columns are refused, and added columns go last and are nullable.",
        "a column change on the store's side";
    "C21" RejectionAndRouting Core false [17] None,
        "`if (not) exists` semantics stay as they were and never turn into a guard error.",
        "a guarded statement with `if exists` on a missing table";
    "C22" RejectionAndRouting Core true [] None,
        "Every definitely failed statement leaves both sides as they were: table id, schema, options, snapshots, files, offsets.",
        "a definitely failed statement with both sides seen before and after";
    "C23" RejectionAndRouting Core false [40] Some("update"),
        "UPDATE, DELETE and partitioned writes work, or fail naming the store, and never run on the other side.",
        "such a statement on a lake-stream table";
    "C24" RejectionAndRouting Core false [35] None,
        "Only a plain Paimon table is routed; a system table or other type that carries the option is not.",
        "a statement on another type of table with the option";
    "P1" Promotion Draft false [62, 63] Some("promotion"),
        "Creating on the lake makes disabled metadata only, derives the schema, refuses managed options and reports an existing table.",
        "a `create_on_lake`";
    "P2" Promotion Draft false [64] Some("promotion"),
        "Enabling needs a compatible schema and equal snapshot ids, or none on both sides; otherwise it is refused.",
        "an `enable`";
    "P3" Promotion Draft false [65] Some("promotion"),
        "An append table registers its snapshot with empty offsets and loads nothing.",
        "a promotion of an append table";
    "P4" Promotion Draft false [65, 66] Some("promotion"),
        "A primary-key table loads one fixed snapshot, re-checks its id, registers it with end offsets, then enables.",
        "a promotion of a primary-key table";
    "P5" Promotion Draft false [] Some("promotion"),
        "After promotion no row of the history is lost, repeated or shadowed.",
        "a read after a promotion";
    "P6" Promotion Draft false [67] Some("promotion"),
        "Partition selection has the defaults and refusals that are specified.",
        "a promotion with partitions";
    "P7" Promotion Draft false [69, 70] Some("promotion"),
        "Definitions that cannot be mapped are refused, each with a reason that names the option or type.",
        "a promotion of such a table";
    "P8" Promotion Draft false [] Some("promotion"),
        "After a crash anywhere in the procedure, calling it again completes or fails cleanly; a half-loaded table is never enabled.",
        "a promotion that was cut short and called again";
}
