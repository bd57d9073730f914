//! The workload's and the timings' part of a scenario: how many sessions ask what of which tables, and how fast the
//! system under them is.

use models::paimon::object_stores::RenameSemantics;
use serde::Deserialize;

use super::{Permille, Range, StoryGroup};

/// What is asked of the system.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Statements in all phases together.
    pub statements: Range,
    /// How many of a hundred statements of the chaos phase are reads.
    pub reads_percent: Range,
    /// The limits of the chaos phase's length.
    pub chaos_ms: Range,
    /// How often a table falls due for tiering within the chaos phase, as far as `chaos_ms` allows.
    pub rounds: Range,
    /// The share of runs whose sessions work in bursts; in the others the statements are spread evenly.
    pub bursty_permille: Permille,
    /// The share of key tables that see only one or two keys in the first half of the chaos phase, so that some
    /// buckets receive nothing but deletes of absent keys.
    pub narrow_permille: Permille,
    /// Rows of one insert, keys of one delete.
    pub rows_per_write: Range,
    /// The lake-stream tables.
    pub tables: Vec<TableGroup>,
    /// How many sessions there are of each kind.
    pub sessions: Sessions,
    /// What writers do, by weight.
    pub writes: WriteMix,
    /// What readers do, by weight.
    pub reads: ReadMix,
    /// The share of runs in which append tables are overwritten in the lake.
    #[serde(default = "never")]
    pub overwrites_permille: Permille,
    /// How many overwrites there are in such a run. They race with tiering's commits for the next snapshot (L11, L15).
    #[serde(default = "a_few")]
    pub overwrites: Range,
    /// The share of runs in which columns are added to the lake-stream tables in the middle of the work, on either
    /// side, and written from then on (L13). What a table contains is told from there on, not judged.
    #[serde(default = "never")]
    pub columns_permille: Permille,
    /// What is tried in the catalog; nothing during chaos if left out.
    #[serde(default)]
    pub catalog: Option<CatalogMix>,
    /// What single sessions do with tables of their own.
    #[serde(default)]
    pub stories: Vec<StoryGroup>,
    /// The share of runs whose Paimon catalog is the one on an SQL database (C4).
    #[serde(default = "never")]
    pub jdbc_permille: Permille,
    /// The share of runs whose lake is on storage that creates files by renaming.
    #[serde(default = "never")]
    pub renames_permille: Permille,
    /// What a rename does there: one of these, by weight.
    #[serde(default)]
    pub renames: Vec<WeightedRename>,
}

/// One kind of storage that renames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedRename {
    /// What its rename does.
    pub rename: RenameSemantics,
    /// How often, in proportion to the others.
    pub weight: u64,
}

fn never() -> Permille {
    Permille(0)
}

fn a_few() -> Range {
    Range::new(1, 4)
}

/// Tables of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableGroup {
    /// The kind.
    pub kind: TableKind,
    /// How many.
    pub count: Range,
    /// The share that is partitioned by `dt`.
    #[serde(default = "never")]
    pub partitioned_permille: Permille,
    /// The share of partitioned tables whose oldest partition leaves the store for the lake, once the newest is there
    /// and nobody has to write to the oldest any more.
    #[serde(default = "never")]
    pub expiring_permille: Permille,
    /// The share of append tables without a number of buckets: whatever is written lies in bucket 0 (L10).
    #[serde(default = "never")]
    pub unaware_permille: Permille,
    /// The share of key tables with deletion vectors: their readers skip what no compaction has rewritten yet.
    #[serde(default = "never")]
    pub deletion_vectors_permille: Permille,
    /// Buckets of a partition, or of the table.
    pub buckets: Range,
    /// From how many sorted runs on a bucket of a key table is worth a compaction; Paimon's default if left out.
    #[serde(default)]
    pub sorted_runs: Option<Range>,
    /// How many keys there are; for an append table, how many values of its bucket key.
    pub keys: Range,
}

/// Whether rows have keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableKind {
    /// An append table: rows are only added.
    Append,
    /// A key table: the last write of a key stands.
    Key,
}

/// How many sessions there are.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// `w1` …: insert and delete.
    pub writers: Range,
    /// `r1` …: select and look up.
    pub readers: Range,
    /// `t1` …: follow the changelog of every table.
    pub tailers: Range,
}

/// Weights of what writers do.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteMix {
    /// Insert, or upsert.
    pub insert: u64,
    /// Delete keys that may be there; key tables only.
    #[serde(default)]
    pub delete: u64,
    /// Delete keys that never were: the log then takes an empty batch; key tables only.
    #[serde(default)]
    pub delete_absent: u64,
}

/// Weights of what readers do.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadMix {
    /// Select the whole base view.
    pub select: u64,
    /// Select the whole `$rt` view.
    pub select_rt: u64,
    /// Select some of the base view.
    pub filter: u64,
    /// Select some of the `$rt` view.
    pub filter_rt: u64,
    /// Look up a key in the base view; a filter by `id` where the table has no keys.
    pub lookup: u64,
    /// Look up a key in the `$rt` view; a filter by `id` where the table has no keys.
    pub lookup_rt: u64,
}

/// What is tried in the catalog during chaos, and on which further tables.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogMix {
    /// How many statements of a hundred in the chaos phase are attempts on lake-stream tables.
    pub percent: Range,
    /// Weight of a rename (C1).
    pub rename: u64,
    /// Weight of a replace, by each of its three ways (C2).
    pub replace: u64,
    /// Weight of a truncate (C9).
    pub truncate: u64,
    /// Weight of a write through `$rt` (C10).
    pub write_rt: u64,
    /// Weight of an unrelated option on the lake side.
    pub alter_options: u64,
    /// Weight of a create of a table that exists, with `if_not_exists` (C21).
    pub create_existing: u64,
    /// Weight of a describe on either side.
    pub describe: u64,
    /// Weight of a column that is added, on either side (C7, C20).
    #[serde(default)]
    pub add_column: u64,
    /// Weight of a branch that is made, and of a write to one (C12).
    #[serde(default)]
    pub branch: u64,
    /// Weight of a view `x$rt` that is made, and of a select of it (C18).
    #[serde(default)]
    pub view: u64,
    /// Weight of a read that travels in time, on either view (C11).
    #[serde(default)]
    pub time_travel: u64,
    /// Weight of an update, or of a delete by a filter (C23).
    #[serde(default)]
    pub update: u64,
    /// Weight of the mode being switched off and, some time later, on again, on either side.
    #[serde(default)]
    pub switch: u64,
    /// The share of runs in which the mode is switched at all: what was not yet in the lake is told afterwards, not
    /// judged.
    #[serde(default = "never")]
    pub switches_permille: Permille,
    /// Tables that declare the mode on the lake side only; they leave it and are then renamed and replaced (C5–C7).
    pub guards: Range,
    /// Tables without the option (C8).
    pub plain: Range,
}

impl Workload {
    pub(super) fn check(&self) -> Result<(), String> {
        self.statements.check_within("workload.statements", 150, 500)?;
        self.reads_percent.check_within("workload.reads_percent", 20, 80)?;
        self.chaos_ms.check_within("workload.chaos_ms", 1000, 60_000)?;
        self.rounds.check_within("workload.rounds", 1, 50)?;
        self.rows_per_write.check_within("workload.rows_per_write", 1, 500)?;
        self.sessions.writers.check_within("workload.sessions.writers", 1, 9)?;
        self.sessions.readers.check_within("workload.sessions.readers", 1, 9)?;
        self.sessions.tailers.check_within("workload.sessions.tailers", 1, 3)?;
        let (mut least, mut most) = (0, 0);
        for group in &self.tables {
            least += group.count.least;
            most += group.count.most;
            group.buckets.check_within("workload.tables.buckets", 1, 16)?;
            group.keys.check_within("workload.tables.keys", 2, 100_000)?;
            if group.kind == TableKind::Key && group.unaware_permille != never() {
                return Err(format!(
                    "expected no `unaware_permille` in `workload.tables` of kind \"key\", whose rows have buckets, \
                     found {}",
                    group.unaware_permille.0
                ));
            }
            group.sorted_runs.map_or(Ok(()), |runs| runs.check_within("workload.tables.sorted_runs", 1, 16))?;
        }
        if least < 1 || most > 3 {
            return Err(format!(
                "expected the `count` of all `workload.tables` to be from 1 to 3 together, found [{least}, {most}]"
            ));
        }
        if self.writes.insert == 0 {
            return Err("expected key `workload.writes.insert` to be at least 1, found 0".to_owned());
        }
        if self.reads.select == 0 || self.reads.select_rt == 0 {
            return Err("expected keys `workload.reads.select` and `select_rt` to be at least 1, found 0".to_owned());
        }
        if (self.renames_permille.0 > 0) == self.renames.is_empty() {
            return Err(format!(
                "expected `workload.renames` where `workload.renames_permille` is not 0, and nowhere else, found {} and \
                 {}",
                self.renames.len(),
                self.renames_permille.0
            ));
        }
        self.stories.iter().try_for_each(StoryGroup::check)?;
        let stories: u64 = self.stories.iter().map(|group| group.count.most).sum();
        if stories > 4 {
            return Err(format!("expected at most 4 `workload.stories` together, found up to {stories}"));
        }
        let Some(catalog) = &self.catalog else { return Ok(()) };
        catalog.percent.check_within("workload.catalog.percent", 0, 40)?;
        catalog.guards.check_within("workload.catalog.guards", 0, 3)?;
        catalog.plain.check_within("workload.catalog.plain", 0, 3)?;
        if catalog.rename == 0 {
            return Err("expected key `workload.catalog.rename` to be at least 1, found 0".to_owned());
        }
        Ok(())
    }
}

/// The timings of the reference system and of its clients. What a scenario leaves out is as in most.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timings {
    /// The limits of a table's freshness.
    pub freshness_ms: Range,
    /// After so long a silent holder has lost its table.
    pub heartbeat_timeout_ms: Range,
    /// How often the coordinator looks at its timers.
    pub check_interval_ms: Range,
    /// How often an idle worker asks for a table.
    pub poll_interval_ms: Range,
    /// A round stops reading after so long.
    pub max_round_ms: Range,
    /// Records of one fetch.
    pub fetch_max_records: Range,
    /// The number of workers.
    pub tiering_workers: Range,
    /// From the end of one pass of the compactor to the next.
    pub compaction_interval_ms: Range,
    /// The number of readers of each.
    pub tiering_readers: Range,
    /// The least that one call takes.
    pub min_call_ms: Range,
    /// The most that one call takes.
    pub max_call_ms: Range,
    /// A caller gives up after so long.
    pub call_timeout_ms: Range,
    /// From append to durable.
    pub sync_ms: Range,
    /// The share of runs in which the log is kept for a limited time.
    pub log_ttl_permille: Permille,
    /// That time.
    pub log_ttl_ms: Range,
    /// How often retention looks.
    pub retention_interval_ms: Range,
    /// The share of runs in which clocks are wrong.
    pub skew_permille: Permille,
    /// By how much they are ahead at most, then.
    pub max_skew_ms: Range,
    /// How often a client tries a call again.
    pub retries: Range,
    /// The pause before the first retry.
    pub retry_wait_ms: Range,
    /// The deadline of a statement of the chaos phase.
    pub deadline_ms: Range,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            freshness_ms: Range::new(300, 1200),
            heartbeat_timeout_ms: Range::new(600, 2500),
            check_interval_ms: Range::new(20, 100),
            poll_interval_ms: Range::new(50, 200),
            max_round_ms: Range::new(200, 800),
            fetch_max_records: Range::new(5, 200),
            tiering_workers: Range::new(1, 3),
            compaction_interval_ms: Range::new(100, 900),
            tiering_readers: Range::new(1, 3),
            min_call_ms: Range::new(0, 1),
            max_call_ms: Range::new(1, 5),
            call_timeout_ms: Range::new(200, 800),
            sync_ms: Range::new(1, 6),
            log_ttl_permille: Permille(500),
            log_ttl_ms: Range::new(300, 2500),
            retention_interval_ms: Range::new(50, 400),
            skew_permille: Permille(0),
            max_skew_ms: Range::new(50, 300),
            retries: Range::new(3, 6),
            retry_wait_ms: Range::new(10, 60),
            deadline_ms: Range::new(5_000, 10_000),
        }
    }
}

impl Timings {
    pub(super) fn check(&self) -> Result<(), String> {
        let at_least_one = [
            ("freshness_ms", self.freshness_ms),
            ("check_interval_ms", self.check_interval_ms),
            ("poll_interval_ms", self.poll_interval_ms),
            ("max_round_ms", self.max_round_ms),
            ("fetch_max_records", self.fetch_max_records),
            ("tiering_workers", self.tiering_workers),
            ("tiering_readers", self.tiering_readers),
            ("max_call_ms", self.max_call_ms),
            ("log_ttl_ms", self.log_ttl_ms),
            ("retention_interval_ms", self.retention_interval_ms),
            ("deadline_ms", self.deadline_ms),
            ("max_skew_ms", self.max_skew_ms),
        ];
        for (key, range) in at_least_one {
            range.check_within(&format!("timings.{key}"), 1, 60_000)?;
        }
        self.heartbeat_timeout_ms.check_within("timings.heartbeat_timeout_ms", 50, 60_000)?;
        self.min_call_ms.check_within("timings.min_call_ms", 0, self.max_call_ms.least)?;
        self.call_timeout_ms.check_within("timings.call_timeout_ms", 2 * self.max_call_ms.most + 1, 60_000)?;
        self.retries.check_within("timings.retries", 0, 20)
    }
}
