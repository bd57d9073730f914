//! The tables of a run, and the rows, keys and filters that statements on them carry.
//!
//! Every row has a write id `w` of its own. Values repeat: `v` has few, keys come again. A key that no write ever uses
//! is kept for deletes of absent keys, which leave an empty batch in the log.

use std::collections::BTreeMap;
use std::sync::Arc;

use models::contract::{
    BUCKET, BUCKET_KEY, Column, DataType, Filter, LAKESTREAM_ENABLED, PARTITION_RETENTION, Row, RowSet, TablePath,
    TableSchema, TableView, Value,
};

use super::session::Turn;
use super::within;
use crate::contract::SENTINEL;
use crate::draw::{Draws, Place};
use crate::scenario::{CatalogMix, Permille, Range, TableGroup, TableKind, Workload};

/// An option whose name says that its value is a secret.
const SECRET_OPTION: &str = "kms.access-key-secret";
/// The option of a table with deletion vectors.
const DELETION_VECTORS: &str = "deletion-vectors.enabled";
/// From how many sorted runs on a bucket is compacted.
const COMPACTION_TRIGGER: &str = "num-sorted-run.compaction-trigger";
/// Ids from here on are never written.
const FIRST_ABSENT_ID: u64 = 1_000_000;
/// The day of January 2026 that names a partition which receives nothing but deletes of absent keys.
const ABSENT_DAY: u64 = 31;
/// The day of January 2026 that names a partition which receives nothing but overwrites in the lake.
const LAKE_ONLY_DAY: u64 = 29;
/// How many values `v` has, NULL aside.
const VALUES: u64 = 12;

/// One table, with what its statements are made of.
pub(super) struct Table {
    pub path: TablePath,
    pub schema: TableSchema,
    pub kind: TableKind,
    columns: Arc<[Arc<str>]>,
    key_columns: Arc<[Arc<str>]>,
    /// The type of `dt`: a day as STRING, or as the INT of its year, month and day.
    day_type: DataType,
    /// The values of `dt`; empty where the table has no partitions.
    partitions: Vec<Value>,
    /// Whether the first of them leaves the store: the early half of the chaos phase does not write to the last one, and
    /// all after it not to the first one.
    expires: bool,
    /// The values of `v`.
    values: Vec<Value>,
    /// Ids are below this.
    keys_exclusive: u64,
    /// In so many of a thousand draws the id is one of the first eighth.
    hot_permille: u64,
    /// In the first half of the chaos phase ids are below this, where it is set.
    early_keys_exclusive: Option<u64>,
}

/// The lake-stream tables of a workload.
pub(super) fn lake_stream(workload: &Workload, draws: Draws) -> Vec<Table> {
    let mut tables = Vec::new();
    for (index, group) in workload.tables.iter().enumerate() {
        let count = within(draws.at("plan", "tables"), "count", index as u64, group.count);
        for _ in 0..count {
            let of_kind = tables.iter().filter(|table: &&Table| table.kind == group.kind).count();
            let letter = if group.kind == TableKind::Key { "k" } else { "a" };
            tables.push(Table::new(
                &format!("{letter}{}", of_kind + 1),
                group,
                workload.narrow_permille.0,
                true,
                draws,
            ));
        }
    }
    tables
}

const SMALL_APPEND: TableGroup = TableGroup {
    kind: TableKind::Append,
    count: Range::new(1, 1),
    partitioned_permille: Permille(0),
    expiring_permille: Permille(0),
    unaware_permille: Permille(0),
    deletion_vectors_permille: Permille(0),
    buckets: Range::new(1, 2),
    sorted_runs: None,
    keys: Range::new(4, 20),
};

/// A table with a secret among its options, and with every optional column, so that one can be dropped.
pub(super) fn with_secret(name: &str, keyed: bool, partitioned: bool, enabled: bool, draws: Draws) -> Table {
    let group = TableGroup {
        kind: if keyed { TableKind::Key } else { TableKind::Append },
        partitioned_permille: Permille(if partitioned { 1000 } else { 0 }),
        ..SMALL_APPEND
    };
    let mut table = Table::with_extras(name, &group, 0, enabled, 1000, draws);
    table.schema.options.insert(SECRET_OPTION.to_owned(), format!("{SENTINEL}-of-{name}"));
    table
}

/// A table of one bucket, without partitions.
pub(super) fn in_one_bucket(name: &str, keyed: bool, enabled: bool, draws: Draws) -> Table {
    let kind = if keyed { TableKind::Key } else { TableKind::Append };
    Table::new(name, &TableGroup { kind, buckets: Range::new(1, 1), ..SMALL_APPEND }, 0, enabled, draws)
}

/// Tables that declare the mode on the lake side only.
pub(super) fn guards(catalog: Option<&CatalogMix>, draws: Draws) -> Vec<Table> {
    let count = catalog.map_or(0, |mix| within(draws.at("plan", "tables"), "guards", 0, mix.guards));
    (1..=count).map(|n| Table::new(&format!("guard{n}"), &SMALL_APPEND, 0, true, draws)).collect()
}

/// Tables without the mode.
pub(super) fn plain(catalog: Option<&CatalogMix>, draws: Draws) -> Vec<Table> {
    let count = catalog.map_or(0, |mix| within(draws.at("plan", "tables"), "plain", 0, mix.plain));
    (1..=count).map(|n| Table::new(&format!("plain{n}"), &SMALL_APPEND, 0, false, draws)).collect()
}

impl Table {
    fn new(name: &str, group: &TableGroup, narrow_permille: u64, enabled: bool, draws: Draws) -> Self {
        Self::with_extras(name, group, narrow_permille, enabled, 250, draws)
    }

    /// A table that has each optional column with this probability.
    fn with_extras(
        name: &str,
        group: &TableGroup,
        narrow_permille: u64,
        enabled: bool,
        extras_permille: u64,
        draws: Draws,
    ) -> Self {
        let place = draws.at("plan", name);
        let is_key = group.kind == TableKind::Key;
        let partitioned = place.chance("partitioned", 0, group.partitioned_permille.0);
        let day_types = [(2, DataType::STRING), (1, DataType::Int)];
        let day_type = place.pick_weighted("day-type", 0, &day_types).cloned().unwrap_or(DataType::STRING);
        let column = |name: &str, data_type, nullable| Column { name: name.to_owned(), data_type, nullable };
        let mut columns = vec![
            column("id", DataType::BigInt, !is_key),
            column("w", DataType::BigInt, true),
            column("v", DataType::STRING, true),
        ];
        let extras = [("n", DataType::Int), ("d", DataType::Double), ("b", DataType::Boolean)];
        for (index, (name, data_type)) in extras.into_iter().enumerate() {
            if place.chance("extra-column", index as u64, extras_permille) {
                columns.push(column(name, data_type, true));
            }
        }
        if partitioned {
            columns.push(column("dt", day_type.clone(), !is_key));
        }
        let keyed = |on: bool, names: &[&str]| {
            if on { names.iter().map(|name| (*name).to_owned()).collect() } else { Vec::new() }
        };
        let mut options = BTreeMap::new();
        if !is_key && place.chance("unaware", 0, group.unaware_permille.0) {
            options.insert(BUCKET.to_owned(), "-1".to_owned());
        } else {
            options.insert(BUCKET.to_owned(), within(place, "buckets", 0, group.buckets).to_string());
            if !is_key {
                options.insert(BUCKET_KEY.to_owned(), "id".to_owned());
            }
        }
        if is_key && place.chance("deletion-vectors", 0, group.deletion_vectors_permille.0) {
            options.insert(DELETION_VECTORS.to_owned(), "true".to_owned());
        }
        if let Some(runs) = group.sorted_runs.filter(|_| is_key) {
            options.insert(COMPACTION_TRIGGER.to_owned(), within(place, "sorted-runs", 0, runs).to_string());
        }
        if enabled {
            options.insert(LAKESTREAM_ENABLED.to_owned(), "true".to_owned());
        }
        let partitions = if partitioned { place.between_inclusive("partitions", 0, 2, 4) } else { 0 };
        let expires = partitioned && place.chance("expires", 0, group.expiring_permille.0);
        if expires {
            options.insert(PARTITION_RETENTION.to_owned(), (partitions - 1).to_string());
        }
        let schema = TableSchema {
            columns,
            primary_key: keyed(is_key, if partitioned { &["id", "dt"] } else { &["id"] }),
            partition_keys: keyed(partitioned, &["dt"]),
            options,
        };
        Self {
            path: TablePath::new("db", name),
            columns: schema.column_names(),
            key_columns: schema.primary_key.iter().map(|name| Arc::from(name.as_str())).collect(),
            kind: group.kind,
            partitions: (1..=partitions).map(|number| day(&day_type, number)).collect(),
            expires,
            day_type,
            values: (0..VALUES).map(|value| Value::string(&format!("v{value}"))).collect(),
            keys_exclusive: within(place, "keys", 0, group.keys),
            hot_permille: if place.chance("skewed", 0, 500) { 700 } else { 0 },
            early_keys_exclusive: (is_key && place.chance("narrow", 0, narrow_permille))
                .then(|| place.between_inclusive("narrow-keys", 0, 1, 2)),
            schema,
        }
    }

    /// Whether a compactor has to rewrite what is new before readers see it.
    pub(super) fn needs_compactor(&self) -> bool {
        self.schema.options.contains_key(DELETION_VECTORS)
    }

    /// The lake's snapshots of the table.
    pub(super) fn base(&self) -> TableView {
        TableView::base(&self.path)
    }

    /// The freshest union of the table.
    pub(super) fn real_time(&self) -> TableView {
        TableView::real_time(&self.path)
    }

    /// The name that the table is given, or would be, with this suffix.
    pub(super) fn derived(&self, suffix: &str) -> TablePath {
        TablePath::new(self.path.database(), &format!("{}_{suffix}", self.path.table()))
    }

    fn id(&self, place: Place, occurrence: u64, early: bool) -> u64 {
        let keys_exclusive = match self.early_keys_exclusive {
            Some(keys_exclusive) if early => keys_exclusive,
            _ if place.chance("hot", occurrence, self.hot_permille) => self.keys_exclusive.div_ceil(8),
            _ => self.keys_exclusive,
        };
        place.below_exclusive("id", occurrence, keys_exclusive)
    }

    /// One of the table's partitions.
    pub(super) fn partition(&self, place: Place, occurrence: u64) -> Option<&Value> {
        place.pick("dt", occurrence, &self.partitions)
    }

    /// The partition that has left the store by now, or will soon; `None` if the table keeps all.
    pub(super) fn leaving_partition(&self) -> Option<&Value> {
        self.partitions.first().filter(|_| self.expires)
    }

    /// One of the partitions that are written to at this time.
    fn written_partition(&self, place: Place, occurrence: u64, early: bool) -> Option<&Value> {
        let written = match self.partitions.as_slice() {
            [first @ .., _] if self.expires && early => first,
            [_, last @ ..] if self.expires => last,
            all => all,
        };
        place.pick("dt", occurrence, written)
    }

    /// A value of `dt` that no row ever has.
    pub(super) fn no_partition(&self) -> Value {
        day(&self.day_type, ABSENT_DAY - 1)
    }

    /// A partition that no write through the store ever names; `None` where the table has no partitions.
    pub(super) fn lake_only_partition(&self) -> Option<Value> {
        (!self.partitions.is_empty()).then(|| day(&self.day_type, LAKE_ONLY_DAY))
    }

    /// Distinct ids and partitions for the rows of one statement: within a batch no key comes twice, so that the order
    /// of its rows decides nothing. `only` is the one partition, where it is given.
    fn places<'t>(
        &'t self,
        place: Place,
        count: u64,
        early: bool,
        only: Option<&'t Value>,
    ) -> Vec<(u64, Option<&'t Value>)> {
        let mut places: Vec<(u64, Option<&Value>)> = Vec::with_capacity(count as usize);
        for occurrence in 0..count {
            let partition = only.or_else(|| self.written_partition(place, occurrence, early));
            let drawn = (self.id(place, occurrence, early), partition);
            if self.kind == TableKind::Append || !places.contains(&drawn) {
                places.push(drawn);
            }
        }
        places
    }

    /// At most `count` new rows. `early`: in the first half of the chaos phase. `only` is the one partition that they
    /// are all in, where it is given.
    pub(super) fn rows(&self, turn: &Turn, count: u64, early: bool, only: Option<&Value>) -> RowSet {
        let place = turn.place;
        let rows = self.places(place, count, early, only).into_iter().enumerate().map(|(number, (id, partition))| {
            let occurrence = number as u64;
            let cell = |column: &Column| match column.name.as_str() {
                "id" => Value::Int(id as i64),
                "w" => Value::Int(turn.first_write_id + number as i64),
                "v" if place.chance("v-null", occurrence, 50) => Value::Null,
                "v" => self.value(place, occurrence),
                "n" => Value::Int(place.below_exclusive("n", occurrence, 1000) as i64 - 500),
                "d" => Value::Double(place.below_exclusive("d", occurrence, 1000) as f64 / 4.0),
                "b" => Value::Boolean(place.chance("b", occurrence, 500)),
                _ => partition.cloned().unwrap_or(Value::Null),
            };
            Row::new(self.schema.columns.iter().map(cell).collect())
        });
        RowSet { rows: rows.collect(), columns: Arc::clone(&self.columns) }
    }

    fn value(&self, place: Place, occurrence: u64) -> Value {
        self.values[place.below_exclusive("v", occurrence, VALUES) as usize].clone()
    }

    /// At most `count` keys that may be there.
    pub(super) fn keys(&self, place: Place, count: u64, early: bool) -> RowSet {
        let rows = self.places(place, count, early, None).into_iter().map(|(id, partition)| key_row(id, partition));
        RowSet { rows: rows.collect(), columns: Arc::clone(&self.key_columns) }
    }

    /// `count` keys that never are, now and then in a partition of their own.
    pub(super) fn absent_keys(&self, place: Place, count: u64) -> RowSet {
        // A partition more would make one leave that is still written to.
        let may_have_own = !self.partitions.is_empty() && !self.expires;
        let own_partition =
            (may_have_own && place.chance("absent-partition", 0, 300)).then(|| day(&self.day_type, ABSENT_DAY));
        let partition = own_partition.as_ref().or_else(|| self.written_partition(place, 0, false));
        let first = FIRST_ABSENT_ID + place.below_exclusive("absent", 0, 50);
        let rows = (0..count).map(|number| key_row(first + number, partition));
        RowSet { rows: rows.collect(), columns: Arc::clone(&self.key_columns) }
    }

    /// One key that may be there.
    pub(super) fn key(&self, place: Place) -> BTreeMap<String, Value> {
        let mut key = BTreeMap::new();
        key.insert("id".to_owned(), Value::Int(self.id(place, 0, false) as i64));
        if let Some(partition) = self.partition(place, 0) {
            key.insert("dt".to_owned(), partition.clone());
        }
        key
    }

    /// A filter by value, by id, or by partition.
    pub(super) fn filter(&self, place: Place) -> Filter {
        let by_partition = if self.partitions.is_empty() { 0 } else { 2 };
        let (name, value) = match place.pick_weighted("filter", 0, &[(2, "v"), (2, "id"), (by_partition, "dt")]) {
            Some(&"id") => ("id", Value::Int(self.id(place, 0, false) as i64)),
            Some(&"dt") => ("dt", self.partition(place, 0).cloned().unwrap_or(Value::Null)),
            _ if place.chance("filter-null", 0, 50) => ("v", Value::Null),
            _ => ("v", self.value(place, 0)),
        };
        Filter::from([(name.to_owned(), value)])
    }
}

/// A day of January 2026 as a value of this type.
fn day(day_type: &DataType, number: u64) -> Value {
    match day_type {
        DataType::Int => Value::Int(20_260_100 + number as i64),
        _ => Value::string(&format!("2026-01-{number:02}")),
    }
}

fn key_row(id: u64, partition: Option<&Value>) -> Row {
    let mut cells = vec![Value::Int(id as i64)];
    cells.extend(partition.cloned());
    Row::new(cells)
}
