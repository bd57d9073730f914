//! The timings of the reference system, and the bounds that it declares because of them.
//!
//! Plain numbers: this module must never know who draws them or why.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contract::{Bounds, LAKESTREAM_STORE};

/// The identifier of the reference store: what `lakestream.store` says where it is used (C14, C17).
pub const STORE_IDENTIFIER: &str = "reference";
/// The option without which the reference store cannot be created; in the catalog's options with the store's prefix.
pub const STORE_BOOTSTRAP: &str = "bootstrap.servers";
/// Where the reference store listens. A store that is looked for elsewhere is unavailable.
pub const STORE_ADDRESS: &str = "store:9123";

/// Which of the two kinds of Paimon catalog (C4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CatalogKind {
    /// One that inherits the guards of the mode: tables are directories.
    #[default]
    Filesystem,
    /// One that overrides rename and replace by itself and wraps errors: tables are rows of an SQL database.
    Jdbc,
}

/// The Paimon catalog of the query side, as its user configured it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogConfig {
    /// Its kind.
    #[serde(default)]
    pub kind: CatalogKind,
    /// Its options, taken literally: `lakestream.store`, the store's own with its prefix, foreign ones.
    pub options: BTreeMap<String, String>,
}

impl Default for CatalogConfig {
    /// A filesystem catalog that finds its store.
    fn default() -> Self {
        let options = [
            (LAKESTREAM_STORE.to_owned(), STORE_IDENTIFIER.to_owned()),
            (format!("{STORE_IDENTIFIER}.{STORE_BOOTSTRAP}"), STORE_ADDRESS.to_owned()),
        ];
        Self { kind: CatalogKind::default(), options: options.into() }
    }
}

impl CatalogConfig {
    /// Whether this is what a plan has that says nothing of its catalog.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The store's timings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreConfig {
    /// From append to durable.
    pub sync_ms: u64,
    /// Log older than this may go, once it is tiered and readable (L9, L16). `None` keeps all.
    pub log_ttl_ms: Option<u64>,
    /// How often retention looks.
    pub retention_interval_ms: u64,
}

/// The coordinator's timings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoordinatorConfig {
    /// A table is due this long after its last round began.
    pub freshness_ms: u64,
    /// A holder that was silent for so long has lost its table.
    pub heartbeat_timeout_ms: u64,
    /// How often timers and heartbeats are looked at.
    pub check_interval_ms: u64,
}

/// A tiering worker's timings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerConfig {
    /// How often an idle worker asks for a table.
    pub poll_interval_ms: u64,
    /// How often a busy worker says that it is alive; less than a third of the coordinator's timeout.
    pub heartbeat_interval_ms: u64,
    /// A round stops reading the log after this long and commits what it has.
    pub max_round_ms: u64,
    /// At most so many log records a fetch.
    pub fetch_max_records: u64,
}

/// The timings of the compactor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactorConfig {
    /// From the end of one pass over its tables to the next.
    pub interval_ms: u64,
}

/// A client's timings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientConfig {
    /// How often one statement tries a call again that got no answer or found its part down.
    pub retries: u32,
    /// The pause before the first retry; it doubles each time.
    pub retry_wait_ms: u64,
}

/// All timings of one reference system.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemConfig {
    /// The store's.
    pub store: StoreConfig,
    /// The coordinator's.
    pub coordinator: CoordinatorConfig,
    /// Every tiering worker's.
    pub worker: WorkerConfig,
    /// Every client's.
    pub client: ClientConfig,
    /// The compactor's; `None` where no table needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compactor: Option<CompactorConfig>,
    /// The number of tiering workers.
    pub tiering_workers: u32,
    /// How many readers each of them has.
    #[serde(default = "readers_of_a_plan_that_says_nothing")]
    pub tiering_readers: u32,
    /// How long a call between two parts may take before the caller gives up on the answer.
    pub call_timeout_ms: u64,
    /// The longest that one call takes where nothing is wrong.
    pub max_call_ms: u64,
    /// By how much the clock of any host may be ahead of the true time; none is behind it. Whatever compares two times
    /// of a wall clock may be late by so much after a jump: when a table is due, when a holder counts as silent, when a
    /// round has read for long enough. Waits are not: sleeps are monotonic.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub max_skew_ms: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn readers_of_a_plan_that_says_nothing() -> u32 {
    2
}

/// Writing files, manifests and the snapshot is a bounded chain of calls; a commit that loses a race repeats part of it.
const CALLS_TO_FINISH: u64 = 60;

impl SystemConfig {
    /// The longest that one tiering round of one table takes where nothing is wrong, whoever else commits to the lake:
    /// its reading time, then the calls that finish it.
    pub fn longest_round_ms(&self) -> u64 {
        self.longest_reading_ms() + CALLS_TO_FINISH * self.max_call_ms
    }

    /// The same where nobody else commits, so that no race is lost and its calls can be counted. Those that it makes side
    /// by side count as one.
    ///
    /// Before the plan is made there are 11: the table is handed out, its schema (3), what is registered, the newest
    /// snapshot (2), the tiering snapshot at or before it, the log's extent, what the rows are numbered behind (2). Two
    /// more until readers have their splits: the committer is told, then they are. They read for what the plan has left
    /// of `max_round_ms`, and one fetch longer at most. Then 13 follow: the data file, its way to the committer, whether
    /// the table is still there, the newest snapshot once more (2), its manifests (2), the new ones, the snapshot, the
    /// hint, the registration, the planner is told, the report. Two more are for a hint that does not lead to the newest
    /// snapshot.
    fn longest_round_alone_ms(&self) -> u64 {
        const CALLS_TO_PLAN: u64 = 11;
        const CALLS_TO_HAND_OUT: u64 = 2;
        const CALLS_FROM_THE_LAST_FETCH_ON: u64 = 1 + 13 + 2;
        self.longest_reading_ms().max(CALLS_TO_PLAN * self.max_call_ms)
            + (CALLS_TO_HAND_OUT + CALLS_FROM_THE_LAST_FETCH_ON) * self.max_call_ms
    }

    /// From the beginning of a round until it stops reading. A worker whose clock jumps back reads for longer.
    fn longest_reading_ms(&self) -> u64 {
        self.worker.max_round_ms + self.max_skew_ms
    }

    /// The longest from a commit to the compaction that shows it, where nothing is wrong and the compactor has so many
    /// tables: a pass that just missed it ends, and the next one takes it.
    fn longest_hidden_ms(&self, tables: u64) -> u64 {
        let pass_ms = |compactor: &CompactorConfig| compactor.interval_ms + tables * CALLS_TO_FINISH * self.max_call_ms;
        self.compactor.as_ref().map_or(0, |compactor| 2 * pass_ms(compactor))
    }

    /// What the system promises. `tables` is how many tables the workers share; `alone` says that nothing but tiering
    /// commits to them or changes them, and that nothing goes wrong.
    ///
    /// Lake freshness, from an ack until a base read shows the write. A write that just misses a round waits until the
    /// table is due: `freshness_ms` after that round **began**, or when it ends if it lasts longer, and until the
    /// coordinator looks. Then the table is in the queue, and all others may be before it. With W workers and T tables our
    /// round begins when some worker has ended at most (T − 1) / W rounds, and has rested after each that failed, which
    /// takes two polls at most. An idle one asks within one poll. What is written between two rounds has to fit into one
    /// of them, or it takes the next as well: that is a matter of `max_round_ms`. Where a compactor has to show it, its
    /// passes come on top. A coordinator whose clock jumps back takes a table for due so much later.
    ///
    /// Recovery is from whatever went wrong before, when much more may wait to be read, so it is not counted so closely.
    pub fn bounds(&self, tables: u64, alone: bool) -> Bounds {
        let (coordinator, poll_ms) = (&self.coordinator, self.worker.poll_interval_ms);
        let workers = u64::from(self.tiering_workers.max(1));
        let round_ms =
            if alone && self.compactor.is_none() { self.longest_round_alone_ms() } else { self.longest_round_ms() };
        let due_ms = (coordinator.freshness_ms + self.max_skew_ms).max(round_ms) + coordinator.check_interval_ms;
        let rounds_before_ours = tables.saturating_sub(1) / workers;
        let hidden_ms = self.longest_hidden_ms(tables);
        let lake_freshness_ms = due_ms + rounds_before_ours * (round_ms + 2 * poll_ms) + poll_ms + round_ms + hidden_ms;
        // A full round of everybody, and the one that is at work.
        let everybody_ms = coordinator.freshness_ms
            + self.max_skew_ms
            + coordinator.check_interval_ms
            + (tables.div_ceil(workers) + 1) * (poll_ms + self.longest_round_ms())
            + hidden_ms;
        // A holder that died unseen is noticed after its timeout, or later by the clock of a coordinator that jumps back.
        let recovery_ms = coordinator.heartbeat_timeout_ms
            + self.max_skew_ms
            + 4 * self.call_timeout_ms
            + 2 * coordinator.check_interval_ms
            + everybody_ms;
        Bounds { rt_staleness_ms: 0, lake_freshness_ms, recovery_ms }
    }
}
