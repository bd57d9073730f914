//! The hosts and the calls between them, by the names that a plan uses.
//!
//! The names of the methods are those of the contract's traits in kebab case. This module never knows what a call
//! does.

/// The host of the Lakestream Store.
pub const STORE: &str = "store";
/// The host of the coordinator.
pub const COORDINATOR: &str = "coordinator";
/// The storage under the lake: a part that is called and never calls.
pub const LAKE: &str = "lake";
/// The host of the SQL database of a JDBC catalog. Other catalogs have none.
pub const METASTORE: &str = "metastore";
/// The host that looks after tables on the lake: compaction, expiry, tags, clean-up.
pub const MAINTENANCE: &str = "maintenance";
/// All tasks of all tiering workers together, as the caller of a call. Each task is a host of its own: the worker
/// `tiering-1` has `tiering-1-planner`, `tiering-1-reader-1` … and `tiering-1-committer`. Where a machine dies or stands
/// still, `tiering-1` means all of them.
pub const TIERING: &str = "tiering";

/// The host of the compactor, which only calls. There is none where no table needs it.
pub const COMPACTOR: &str = "compactor";

/// The store's calls.
pub const STORE_CALLS: &[&str] = &[
    "create-table",
    "drop-table",
    "table",
    "tables",
    "alter-options",
    "add-columns",
    "append",
    "fetch-log",
    "bucket-offsets",
    "lookup",
    "take-key-snapshot",
    "read-key-snapshot",
    "release-key-snapshot",
    "register-lake-snapshot",
    "registered-snapshots",
    "begin-load",
    "stage-load",
    "publish-load",
    "register-source-snapshot",
];

/// The coordinator's calls.
pub const COORDINATOR_CALLS: &[&str] = &[
    "create-table",
    "drop-table",
    "create-table-on-lake",
    "alter-columns",
    "alter-options",
    "request-table",
    "heartbeat",
    "end-round",
];

/// The calls between the tasks of one tiering worker.
pub const TIERING_CALLS: &[&str] = &[
    "begin-round",
    "assign-split",
    "split-finished",
    "split-failed",
    "round-finished",
    "abandon-round",
    "task-started",
];

/// The calls of a JDBC catalog's database.
pub const METASTORE_CALLS: &[&str] =
    &["entry", "insert-table", "rename-table", "drop-table", "settle", "view", "insert-view"];

/// The calls that are about no table; each other one is about exactly one.
pub const CALLS_ABOUT_NO_TABLE: &[&str] = &["store.tables", "coordinator.request-table", "tiering.task-started"];

/// What is done to an object of the lake. A lake call is one of these, `-`, and one of [`LAKE_OBJECTS`].
pub const LAKE_VERBS: &[&str] = &["get", "exists", "put", "list", "delete", "rename"];

/// The kinds of object on the lake.
pub const LAKE_OBJECTS: &[&str] =
    &["data", "manifest", "manifest-list", "snapshot", "hint", "schema", "tag", "directory", "temporary", "other"];

/// The name of the worker with this number, from 1.
pub fn tiering_worker(number: u32) -> String {
    format!("{TIERING}-{number}")
}

/// The host of its planner.
pub fn tiering_planner(worker: u32) -> String {
    format!("{TIERING}-{worker}-planner")
}

/// The host of its reader with this number, from 1.
pub fn tiering_reader(worker: u32, reader: u32) -> String {
    format!("{TIERING}-{worker}-reader-{reader}")
}

/// The host of its committer.
pub fn tiering_committer(worker: u32) -> String {
    format!("{TIERING}-{worker}-committer")
}

/// Whether a host of the system, or a caller, has such a name, so that no session may have it.
pub fn is_system_name(name: &str) -> bool {
    [STORE, COORDINATOR, LAKE, METASTORE, COMPACTOR, MAINTENANCE].contains(&name) || name.starts_with(TIERING)
}

/// Whether there is a call `part.method`. The error says what was expected.
pub fn check_call(call: &str) -> Result<(), String> {
    let known = match call.split_once('.') {
        Some((STORE, method)) => STORE_CALLS.contains(&method),
        Some((COORDINATOR, method)) => COORDINATOR_CALLS.contains(&method),
        Some((METASTORE, method)) => METASTORE_CALLS.contains(&method),
        Some((TIERING, method)) => TIERING_CALLS.contains(&method),
        Some((LAKE, method)) => method
            .split_once('-')
            .is_some_and(|(verb, object)| LAKE_VERBS.contains(&verb) && LAKE_OBJECTS.contains(&object)),
        _ => false,
    };
    if known {
        return Ok(());
    }
    Err(format!(
        "expected a call of store ({}), coordinator ({}), metastore ({}), tiering ({}) or lake (one of {}, then one of \
         {}, as in lake.put-snapshot), found `{call}`",
        STORE_CALLS.join(", "),
        COORDINATOR_CALLS.join(", "),
        METASTORE_CALLS.join(", "),
        TIERING_CALLS.join(", "),
        LAKE_VERBS.join(", "),
        LAKE_OBJECTS.join(", "),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_part_and_method() {
        for call in
            ["store.append", "coordinator.request-table", "lake.put-manifest-list", "lake.get-data", "metastore.settle"]
        {
            assert_eq!(check_call(call), Ok(()));
        }
        for call in ["store.put-data", "lake.append", "lake.put", "append", "lake.put-nothing", "client.append"] {
            assert!(check_call(call).unwrap_err().ends_with(&format!("found `{call}`")), "{call}");
        }
    }

    #[test]
    fn sessions_cannot_be_called_like_hosts() {
        for name in [
            "store",
            "coordinator",
            "lake",
            "metastore",
            "compactor",
            "maintenance",
            "tiering",
            "tiering-1",
            "tiering1",
        ] {
            assert!(is_system_name(name), "{name}");
        }
        assert!(!is_system_name("w1"));
    }
}
