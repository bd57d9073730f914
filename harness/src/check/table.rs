//! One table of a history: its writes, reads, lake snapshots, registrations and log, all told in write ids.

use std::collections::{BTreeMap, BTreeSet};

use models::contract::{ObservedOffset, Output, Row, RowKind, RowSet, Side, Statement, TablePath, TableSchema, Value};
use models::paimon::deletion_vectors::batch_reads_skip_level_0;

use crate::history::{Event, SnapshotSeen};

use super::content::{Content, Recogniser};
use super::disturbance::Disturbance;
use super::index::{Fate, Index, NEVER, Operation, Point, table_of};
use super::known_log::{Bucket, KnownLog, LogExtent};
use super::rollback::{Rollback, rollbacks};
use super::timeline::{self, Fact, Known, Timeline};
use super::writes::{Write, Writes, typed};

/// A table.
pub struct Table<'h> {
    /// Its name.
    pub path: &'h TablePath,
    /// The definition that the run began with; `None`: it came later, and its content is not judged.
    pub schema: Option<&'h TableSchema>,
    /// The positions of the operations that name it, in order of invocation.
    pub operations: Vec<usize>,
    /// Existence and mode over time.
    pub timeline: Timeline,
    /// From when on it cannot be judged.
    pub disturbance: Disturbance,
    /// What was written.
    pub writes: Writes,
    /// Successful selects and lookups, in order of invocation.
    pub reads: Vec<Read>,
    /// The lake's chain, by snapshot id.
    pub snapshots: Vec<LakeSnapshot<'h>>,
    /// What was registered, in order.
    pub registrations: Vec<Registration<'h>>,
    /// What was readable, in order, where it was another snapshot than the registered one.
    pub readable: Vec<Readable<'h>>,
    /// The extents of its log, in order.
    pub extents: Vec<LogExtent<'h>>,
    /// What `changes` showed of its log.
    pub log: KnownLog<'h>,
    /// Whether it has a primary key; `None` where its definitions disagree, or it is of another type (C24).
    pub keyed: Option<bool>,
    /// Whether the store has it, where nobody looked just before the statement.
    pub in_store: Known,
    /// The positions of the operations that may have changed its definition, in order.
    pub definers: Vec<usize>,
    /// Whether our reader read all its files after the run and found nothing wrong, so that `snapshots` is its chain.
    pub files_are_sound: bool,
    /// When the lake's chain was rolled back, in order.
    pub rollbacks: Vec<Rollback>,
}

/// Which keys a read is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    All,
    /// One.
    Key(u32),
    /// One that nobody ever wrote.
    UnknownKey,
}

/// A successful select or lookup.
pub struct Read {
    /// The position of its operation in the index.
    pub operation: usize,
    /// `true`: `t$rt`; `false`: the lake's snapshots only.
    pub real_time: bool,
    /// When it was sent.
    pub invoked: Point,
    /// When it was answered.
    pub answered: Point,
    /// Whether it asked for a snapshot of the past.
    pub historic: bool,
    /// `Some`: a select, and the lake snapshot that it read, if it names one.
    pub snapshot: Option<Option<u64>>,
    /// Which keys it is about.
    pub scope: Scope,
    /// By write, whether its row matches the filter; `None`: there is no filter.
    matches: Option<Vec<bool>>,
    /// What it showed; `None` where the rows of the table cannot be told apart.
    pub content: Option<Content>,
}

impl Read {
    /// Whether the row of this write would be shown, were it in the table.
    pub fn would_show(&self, write: u32) -> bool {
        self.matches.as_ref().is_none_or(|matches| matches[write as usize])
    }

    /// Whether it has a filter.
    pub fn is_filtered(&self) -> bool {
        self.matches.is_some()
    }

    /// Whether it is about this write at all.
    pub fn covers(&self, write: &Write) -> bool {
        match self.scope {
            Scope::All => true,
            Scope::Key(key) => write.key == Some(key),
            Scope::UnknownKey => false,
        }
    }
}

/// A change that a snapshot added.
pub struct Added<'h> {
    /// What it does.
    pub kind: RowKind,
    /// The write whose row it carries, if it is known.
    pub write: Option<u32>,
    /// Its key, in key tables.
    pub key: Option<u32>,
    /// Where.
    pub bucket: Bucket<'h>,
}

/// A lake snapshot.
pub struct LakeSnapshot<'h> {
    /// The ordinal of its event.
    pub n: u64,
    /// As it was seen.
    pub seen: &'h SnapshotSeen,
    /// Its rows; `None` if they were not kept or cannot be told apart.
    pub content: Option<Content>,
    /// What it added, in sequence order.
    pub added: Vec<Added<'h>>,
    /// Added rows that no write explains.
    pub added_strays: Vec<String>,
}

impl LakeSnapshot<'_> {
    /// Whether it carries rows of the log: it has offsets, and is not the rewriting of files.
    pub fn is_tiering(&self) -> bool {
        self.seen.offsets.is_some() && self.seen.kind != "COMPACT"
    }

    /// The end of what it contains of a bucket's log, exclusive; absent counts as 0.
    pub fn offset(&self, bucket: Bucket) -> u64 {
        offset_in(self.seen.offsets.as_deref().unwrap_or_default(), bucket)
    }
}

/// What the store said was registered.
pub struct Registration<'h> {
    /// When it was seen.
    pub at: Point,
    /// The store's identity of the table.
    pub table_id: &'h str,
    /// The newest registered snapshot.
    pub snapshot_id: u64,
    /// Its offsets, exclusive.
    pub offsets: &'h [ObservedOffset],
    /// Those of the readable snapshot, exclusive.
    pub readable: &'h [ObservedOffset],
}

/// Which snapshot the store said was readable, where that was another than the newest registered one.
pub struct Readable<'h> {
    /// When it was seen.
    pub at: Point,
    /// The snapshot.
    pub snapshot_id: u64,
    /// Its offsets, exclusive.
    pub offsets: &'h [ObservedOffset],
}

/// The offset of a bucket; absent counts as 0.
pub fn offset_in(offsets: &[ObservedOffset], bucket: Bucket) -> u64 {
    let found = offsets.iter().find(|offset| (offset.partition.as_deref(), offset.bucket) == bucket);
    found.map_or(0, |offset| offset.offset)
}

/// The observations of one table.
#[derive(Default)]
struct Observed<'h> {
    snapshots: Vec<(u64, &'h SnapshotSeen)>,
    registrations: Vec<Registration<'h>>,
    readable: Vec<Readable<'h>>,
    extents: Vec<LogExtent<'h>>,
    /// When the lake's declaration was looked at, and whether it was on.
    looks: Vec<(u64, bool)>,
    /// Whether the store had the table, at each look.
    in_store: Vec<bool>,
    /// Whether the files were read, and nothing is wrong with them.
    files_are_sound: bool,
}

impl<'h> Table<'h> {
    /// All tables of a history, by path.
    pub fn all(index: &Index<'h>, paths: impl Iterator<Item = &'h TablePath>) -> Vec<Self> {
        let mut named: BTreeMap<&TablePath, Vec<usize>> = BTreeMap::new();
        for (position, operation) in index.operations.iter().enumerate() {
            named.entry(operation.statement.table()).or_default().push(position);
            if let Statement::RenameTable { table, to, .. } = operation.statement
                && table != to
            {
                named.entry(to).or_default().push(position);
            }
        }
        let mut observed = observations(index);
        let mut build = |path: &'h TablePath| {
            let operations = named.remove(path).unwrap_or_default();
            Self::of(index, path, operations, observed.remove(path).unwrap_or_default())
        };
        paths.map(&mut build).collect()
    }

    fn of(index: &Index<'h>, path: &'h TablePath, operations: Vec<usize>, observed: Observed<'h>) -> Self {
        let schema = index.history.header.tables.get(path);
        let timeline = timeline_of(index, path, &operations, schema, &observed);
        let has_key = schema.is_some_and(TableSchema::has_primary_key);
        let disturbance = Disturbance::of(&index.operations, &operations, &timeline, has_key);
        let writes = match schema {
            Some(schema) => Writes::of(&index.operations, &operations, schema, &timeline),
            None => Writes::default(),
        };
        let named = || operations.iter().map(|position| &index.operations[*position]);
        let keyed = keyed(path, schema, named());
        let in_store = in_store(schema, named(), &observed);
        let may_define = |position: &usize| {
            let operation = &index.operations[*position];
            timeline::defines(operation.statement) && operation.fate() != Fate::Failed && !timeline.refuses(operation)
        };
        let definers = operations.iter().copied().filter(may_define).collect();
        let Observed { mut snapshots, registrations, readable, extents, looks: _, in_store: _, files_are_sound } =
            observed;
        snapshots.sort_by_key(|(_, seen)| seen.snapshot_id);
        let identified = schema.filter(|_| writes.id_position.is_some());
        let (reads, snapshots, log) = match identified {
            Some(schema) => {
                let columns_changed = disturbance.columns_from_n != NEVER;
                let recogniser = Recogniser { schema, writes: &writes, columns_changed };
                let drained_n = index.phases.drained.map_or(NEVER, |at| at.n);
                (
                    reads(index, &operations, Some(&recogniser)),
                    snapshots.into_iter().map(|(n, seen)| snapshot(n, seen, Some(&recogniser))).collect(),
                    KnownLog::of(&index.operations, &operations, &recogniser, &extents, drained_n),
                )
            }
            None => (
                reads(index, &operations, None),
                snapshots.into_iter().map(|(n, seen)| snapshot(n, seen, None)).collect(),
                KnownLog::default(),
            ),
        };
        Self {
            path,
            schema,
            operations,
            timeline,
            disturbance,
            writes,
            reads,
            snapshots,
            registrations,
            readable,
            extents,
            log,
            keyed,
            in_store,
            definers,
            files_are_sound,
            rollbacks: rollbacks(index.history, path),
        }
    }

    /// Whether the lake was rolled back at some moment between these two ordinals, inclusive.
    pub fn is_rolled_back_within(&self, from_n: u64, to_n: u64) -> bool {
        self.rollbacks.iter().any(|rollback| rollback.from.n <= to_n && rollback.to.n >= from_n)
    }

    /// Whether it is a primary-key table.
    pub fn has_key(&self) -> bool {
        self.schema.is_some_and(TableSchema::has_primary_key)
    }

    /// Whether readers of the lake see nothing of a commit until it is compacted, as in Paimon's key tables with deletion
    /// vectors.
    pub fn hides_what_is_new(&self) -> bool {
        self.schema.is_some_and(batch_reads_skip_level_0)
    }

    /// Reads with content that are judged: answered before anything disturbed the table's content.
    pub fn judged_reads(&self, real_time: bool) -> impl DoubleEndedIterator<Item = (&Read, &Content)> {
        let until_n = self.disturbance.content_from_n;
        let chosen = move |read: &&Read| read.real_time == real_time && !read.historic && read.answered.n < until_n;
        self.reads.iter().filter(chosen).filter_map(|read| Some((read, read.content.as_ref()?)))
    }

    /// Whether the lake's chain is that of the one table of this name, from the beginning of the run to its end.
    pub fn has_one_chain(&self) -> bool {
        self.schema.is_some() && self.disturbance.structure_from_n == NEVER
    }

    /// The snapshots of the chain, as long as it is one and nothing disturbs the content.
    pub fn judged_snapshots(&self) -> &[LakeSnapshot<'h>] {
        let until_ms = self.disturbance.content_from_ms;
        let count = self.snapshots.iter().take_while(|snapshot| snapshot.seen.committed_at_ms < until_ms).count();
        if self.has_one_chain() { &self.snapshots[..count] } else { &[] }
    }

    /// The snapshot of the chain with this id.
    pub fn snapshot(&self, id: u64) -> Option<&LakeSnapshot<'h>> {
        let position = self.snapshots.binary_search_by_key(&id, |snapshot| snapshot.seen.snapshot_id).ok()?;
        Some(&self.snapshots[position])
    }

    /// When this snapshot, or a later one, was first seen registered and readable: what went straight into the lake with it
    /// is in `t$rt` from then on.
    pub fn readable_from(&self, snapshot_id: u64) -> Option<Point> {
        // Offsets say nothing of a native commit that readers skip until a compaction has rewritten it.
        if self.hides_what_is_new() {
            return None;
        }
        let is_readable = |registration: &&Registration| {
            registration.snapshot_id >= snapshot_id
                && registration.offsets.iter().all(|offset| {
                    offset_in(registration.readable, (offset.partition.as_deref(), offset.bucket)) == offset.offset
                })
        };
        self.registrations.iter().find(is_readable).map(|registration| registration.at)
    }

    /// Every bucket that an offset of this table was ever told of. What `changes` names otherwise cannot be compared.
    pub fn buckets_with_offsets(&self) -> BTreeSet<Bucket<'h>> {
        let in_snapshots = self.snapshots.iter().filter_map(|snapshot| snapshot.seen.offsets.as_deref());
        let registered = self.registrations.iter().map(|registration| registration.offsets);
        let told = in_snapshots.chain(registered).flatten().map(|told| (told.partition.as_deref(), told.bucket));
        told.chain(self.extents.iter().map(|extent| extent.bucket)).collect()
    }
}

fn observations<'h>(index: &Index<'h>) -> BTreeMap<&'h TablePath, Observed<'h>> {
    let mut observed: BTreeMap<&TablePath, Observed> = BTreeMap::new();
    for entry in &index.history.events {
        let Some(path) = table_of(&entry.event) else { continue };
        let of_table = observed.entry(path).or_default();
        let at = Point { n: entry.n, at_ms: entry.at_ms };
        match &entry.event {
            Event::Snapshot(seen) => of_table.snapshots.push((entry.n, seen)),
            Event::Registered { table_id, snapshot_id, offsets, readable, .. } => {
                of_table.registrations.push(Registration {
                    at,
                    table_id,
                    snapshot_id: *snapshot_id,
                    offsets,
                    readable,
                });
            }
            Event::Readable { snapshot_id, offsets, .. } => {
                of_table.readable.push(Readable { at, snapshot_id: *snapshot_id, offsets });
            }
            Event::Log { partition, bucket, start_inclusive, end_exclusive, .. } => {
                of_table.extents.push(LogExtent {
                    at,
                    bucket: (partition.as_deref(), *bucket),
                    start_inclusive: *start_inclusive,
                    end_exclusive: *end_exclusive,
                });
            }
            Event::State { lake, store, .. } => {
                of_table.in_store.push(store.is_some());
                if let Some(lake) = lake.as_ref().filter(|lake| is_plain(&lake.schema)) {
                    of_table.looks.push((entry.n, lake.schema.lakestream_enabled()));
                }
            }
            Event::Files { findings, .. } => of_table.files_are_sound = findings.is_empty(),
            _ => {}
        }
    }
    observed
}

fn timeline_of(
    index: &Index,
    path: &TablePath,
    of_table: &[usize],
    schema: Option<&TableSchema>,
    observed: &Observed,
) -> Timeline {
    let operations = &index.operations;
    let promoted_from_n = of_table
        .iter()
        .map(|position| &operations[*position])
        .find(|operation| is_promotion(operation.statement))
        .map_or(NEVER, |operation| operation.invoked.n);
    let seen_in_store = observed.registrations.iter().map(|registration| registration.at.n);
    let seen_in_store = seen_in_store.chain(observed.extents.iter().map(|extent| extent.at.n));
    // What a promotion brings into the store was not in the mode before.
    let lives_in_store = seen_in_store.min().is_some_and(|n| n < promoted_from_n);
    let mode = match schema {
        // Whether an option means anything to a table of another type is not ours to say (C24).
        Some(schema) if !is_plain(schema) => Known::Unknown,
        Some(schema) if schema.lakestream_enabled() => Known::Yes,
        // A table that the store knows may be in the mode although the definition that we were given does not say so.
        _ if lives_in_store => Known::Unknown,
        _ => Known::No,
    };
    let mut timeline =
        Timeline { exists: Fact::from_the_start(schema.is_some().into()), mode: Fact::from_the_start(mode) };
    // A statement that the mode forbids has no effect without an ack, as long as nothing else can end the mode.
    let ends_mode = |operation: &Operation| {
        let as_target = operation.statement.table() != path;
        let change = timeline::change_of_table(operation).or_else(|| timeline::change_of_target(operation));
        change.is_some() && (as_target || !timeline::is_guarded_without_ack(operation))
    };
    let stays_in_mode = mode == Known::Yes && !of_table.iter().any(|position| ends_mode(&operations[*position]));
    if stays_in_mode {
        return timeline;
    }
    let mut steps = Vec::new();
    for position in of_table {
        let operation = &operations[*position];
        let as_target = operation.statement.table() != path;
        let change =
            if as_target { timeline::change_of_target(operation) } else { timeline::change_of_table(operation) };
        if change.is_some() {
            steps.push((operation.invoked.n, false, *position, as_target));
            if operation.acked_n() != NEVER {
                steps.push((operation.acked_n(), true, *position, as_target));
            }
        }
    }
    steps.sort_unstable();
    let mut looks = observed.looks.iter().peekable();
    for (n, is_end, position, as_target) in steps {
        while let Some((look_n, on)) = looks.next_if(|(look_n, _)| *look_n < n) {
            timeline.mode.observe(*look_n, *on);
        }
        let operation = &operations[position];
        let change =
            if as_target { timeline::change_of_target(operation) } else { timeline::change_of_table(operation) };
        match change {
            Some(change) if is_end => timeline.finish(&change, n),
            Some(change) => timeline.begin(&change, n),
            None => {}
        }
    }
    for (look_n, on) in looks {
        timeline.mode.observe(*look_n, *on);
    }
    timeline
}

/// Whether the statement is a step of a promotion.
pub fn is_promotion(statement: &Statement) -> bool {
    matches!(statement, Statement::CreateOnLake { .. } | Statement::Enable { .. } | Statement::Promote { .. })
}

/// Whether this is a plain Paimon table, by its option `type` (C24).
pub fn is_plain(schema: &TableSchema) -> bool {
    schema.options.get("type").is_none_or(|kind| kind.trim().eq_ignore_ascii_case("table"))
}

/// Whether a table has a primary key, where every definition of it agrees.
fn keyed<'o, 'h: 'o>(
    path: &TablePath,
    schema: Option<&'h TableSchema>,
    of_table: impl Iterator<Item = &'o Operation<'h>>,
) -> Option<bool> {
    let defined = of_table.filter_map(|operation| match operation.statement {
        Statement::CreateTable { table, schema, .. } | Statement::ReplaceTable { table, schema, .. }
            if table == path =>
        {
            Some(schema)
        }
        _ => None,
    });
    let mut all = schema.into_iter().chain(defined);
    let first = all.next()?;
    (is_plain(first) && all.all(|other| other.has_primary_key() == first.has_primary_key()))
        .then(|| first.has_primary_key())
}

/// Whether the store has a table all the time.
fn in_store<'o, 'h: 'o>(
    schema: Option<&TableSchema>,
    mut of_table: impl Iterator<Item = &'o Operation<'h>>,
    observed: &Observed,
) -> Known {
    let may_make_or_end = |operation: &Operation| {
        let stores_ddl = matches!(
            operation.statement,
            Statement::RenameTable { .. }
                | Statement::CreateTable { side: Side::Store, .. }
                | Statement::DropTable { side: Side::Store, .. }
        );
        operation.fate() != Fate::Failed && (stores_ddl || is_promotion(operation.statement))
    };
    if of_table.any(may_make_or_end) {
        return Known::Unknown;
    }
    if !observed.extents.is_empty() || !observed.registrations.is_empty() {
        return Known::Yes;
    }
    match (schema, observed.in_store.split_first()) {
        (_, Some((first, rest))) if rest.iter().all(|other| other == first) => (*first).into(),
        // The run began with it, on a side that we were not told.
        (Some(_), _) => Known::Unknown,
        // It came by the lake's DDL alone.
        (None, _) => Known::No,
    }
}

fn reads(index: &Index, of_table: &[usize], recogniser: Option<&Recogniser>) -> Vec<Read> {
    let mut reads = Vec::new();
    for position in of_table {
        let operation = &index.operations[*position];
        let super::index::End::Ok(answered, output) = operation.end else { continue };
        // A view of the catalog that bears the name answers instead (C18).
        let view = operation.statement.view();
        if view.is_some_and(|view| index.names.may_shadow(view, operation.invoked.n, answered.n)) {
            continue;
        }
        let read = |table: &models::contract::TableView, rows: &RowSet| Read {
            operation: *position,
            real_time: table.real_time,
            invoked: operation.invoked,
            answered,
            historic: false,
            snapshot: None,
            scope: Scope::All,
            matches: None,
            content: recogniser.map(|recogniser| recogniser.content(std::iter::once(rows))),
        };
        match (operation.statement, output) {
            (Statement::Select { table, filter, at_timestamp_ms, at_snapshot }, Output::Rows { rows, snapshot_id }) => {
                reads.push(Read {
                    historic: at_snapshot.is_some() || at_timestamp_ms.is_some(),
                    snapshot: Some(*snapshot_id),
                    matches: recogniser.filter(|_| !filter.is_empty()).map(|recogniser| matching(filter, recogniser)),
                    ..read(table, rows)
                });
            }
            (Statement::Lookup { table, key }, Output::Found { row }) => {
                let known = recogniser.and_then(|recogniser| recogniser.named_key(key));
                reads.push(Read { scope: known.map_or(Scope::UnknownKey, Scope::Key), ..read(table, row) });
            }
            _ => {}
        }
    }
    reads
}

/// By write, whether its row matches the filter. A filter on a column that we do not know matches nothing for certain,
/// so no row is expected.
fn matching(filter: &BTreeMap<String, Value>, recogniser: &Recogniser) -> Vec<bool> {
    let schema = recogniser.schema;
    let conditions: Option<Vec<(usize, Value)>> = filter
        .iter()
        .map(|(column, value)| {
            schema.position(column).map(|position| (position, typed(value.clone(), schema, position)))
        })
        .collect();
    let matches =
        |row: &Row| conditions.as_ref().is_some_and(|all| all.iter().all(|(position, value)| row[*position] == *value));
    recogniser.writes.all.iter().map(|write| write.row.as_ref().is_some_and(matches)).collect()
}

fn snapshot<'h>(n: u64, seen: &'h SnapshotSeen, recogniser: Option<&Recogniser>) -> LakeSnapshot<'h> {
    let mut found = LakeSnapshot { n, seen, content: None, added: Vec::new(), added_strays: Vec::new() };
    let (Some(recogniser), Some(buckets)) = (recogniser, &seen.buckets) else { return found };
    found.content = Some(recogniser.content(buckets.iter().map(|bucket| &bucket.rows)));
    for bucket in buckets {
        for change in &bucket.added {
            let write = match recogniser.named_row(&change.row) {
                Ok(write) => write,
                Err(why) => {
                    if change.kind.adds() {
                        found.added_strays.push(why);
                    }
                    None
                }
            };
            found.added.push(Added {
                kind: change.kind,
                write,
                key: recogniser.named_key(&change.row),
                bucket: (bucket.partition.as_deref(), bucket.bucket),
            });
        }
    }
    found
}
