//! All rows that the harness wrote into one table, by their write ids, and what may have superseded each.

use std::collections::{BTreeMap, BTreeSet};

use models::contract::{Output, Row, RowSet, Statement, TableSchema, Value, coerce};

use super::index::{Fate, NEVER, Operation};
use super::timeline::{Known, Timeline};

/// The column that holds the unique write id of each row.
pub const WRITE_ID: &str = "w";

/// Which way a write takes into the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Through the store: a regular write in the mode.
    Store,
    /// Straight into the lake: an overwrite, a native write, or any write outside the mode.
    Lake,
    /// The mode was not certain.
    Unknown,
}

/// One row, or one deleted key, of one statement.
#[derive(Clone, Debug)]
pub struct Write {
    /// The position of its operation in the index.
    pub operation: usize,
    /// Its write id; `None` for a delete.
    pub id: Option<i64>,
    /// Its cells in schema order; `None` for a delete.
    pub row: Option<Row>,
    /// Its key; `None` in append tables.
    pub key: Option<u32>,
    /// Its way into the table.
    pub route: Route,
    /// Whether it took effect.
    pub fate: Fate,
    /// The ordinal of its invocation.
    pub invoked_n: u64,
    /// The ordinal of its ack; [`NEVER`] without one: an indefinite write precedes nothing.
    pub acked_n: u64,
    /// When it was acked; [`NEVER`] without an ack.
    pub acked_at_ms: u64,
    /// The snapshot that its ack names.
    pub snapshot_id: Option<u64>,
    /// The earliest invocation of what supersedes it: a read that completes after it may lack this write.
    pub superseded_from_n: u64,
}

/// An overwrite, as far as it supersedes.
struct Overwrite {
    operation: usize,
    invoked_n: u64,
    acked_n: u64,
    covers: Covers,
}

enum Covers {
    All,
    Static(Vec<(usize, Value)>),
    Partitions(BTreeSet<Row>),
}

/// The writes of one table.
#[derive(Default)]
pub struct Writes {
    /// In order of invocation, and within a statement in its order.
    pub all: Vec<Write>,
    /// Per key, its writes that did not certainly fail, in order of invocation.
    pub of_key: Vec<Vec<u32>>,
    /// The position of the write-id column; `None`: the table's rows cannot be told apart, so they are not judged.
    pub id_position: Option<usize>,
    keys: BTreeMap<Row, u32>,
    key_positions: Vec<usize>,
    by_id: Vec<(i64, u32)>,
    /// The write ids that an UPDATE which did not certainly fail may have given to rows whose other cells are not known.
    updated_ids: BTreeSet<i64>,
}

impl Writes {
    /// Collects the writes of a table.
    pub fn of(operations: &[Operation], of_table: &[usize], schema: &TableSchema, timeline: &Timeline) -> Self {
        let mut writes =
            Self { id_position: schema.position(WRITE_ID), key_positions: schema.key_positions(), ..Self::default() };
        let mut overwrites = Vec::new();
        for position in of_table {
            let operation = &operations[*position];
            match operation.statement {
                Statement::Insert { table, rows, branch: None, partition, .. } if !table.real_time => {
                    let route = regular_route(operation, timeline);
                    writes.add_rows(*position, operation, rows, partition.as_ref(), schema, route);
                }
                Statement::NativeInsert { rows, .. } => {
                    writes.add_rows(*position, operation, rows, None, schema, Route::Lake);
                }
                Statement::InsertOverwrite { partition, rows, .. } => {
                    writes.add_rows(*position, operation, rows, partition.as_ref(), schema, Route::Lake);
                    if operation.fate() != Fate::Failed {
                        overwrites.push(Overwrite {
                            operation: *position,
                            invoked_n: operation.invoked.n,
                            acked_n: operation.acked_n(),
                            covers: covers(partition.as_ref(), rows, schema),
                        });
                    }
                }
                Statement::Update { set, .. } if operation.fate() != Fate::Failed => {
                    writes.updated_ids.extend(set.get(WRITE_ID).and_then(|id| id.as_int()));
                }
                Statement::Delete { table, keys, filter: None } if !table.real_time && schema.has_primary_key() => {
                    let route = regular_route(operation, timeline);
                    for key in &keys.rows {
                        let cells = schema.primary_key.iter().zip(&writes.key_positions).map(|(name, position)| {
                            let cell = keys.position(name).map_or(Value::Null, |source| key[source].clone());
                            typed(cell, schema, *position)
                        });
                        let key = Row::new(cells.collect());
                        let key = writes.key(key);
                        writes.add(*position, operation, None, None, Some(key), route);
                    }
                }
                _ => {}
            }
        }
        writes.by_id.sort_unstable();
        if writes.by_id.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            // Write ids that are not unique identify nothing.
            writes.id_position = None;
        }
        writes.supersede(&overwrites, schema);
        writes
    }

    /// Whether an UPDATE may have given this write id to a row.
    pub fn is_of_update(&self, id: i64) -> bool {
        self.updated_ids.contains(&id)
    }

    /// The rows of a statement. Columns that they leave out have the value of the partition clause.
    fn add_rows(
        &mut self,
        position: usize,
        operation: &Operation,
        rows: &RowSet,
        partition: Option<&BTreeMap<String, Value>>,
        schema: &TableSchema,
        route: Route,
    ) {
        let clause = |target: usize| partition.and_then(|values| values.get(&schema.columns[target].name)).cloned();
        let sources: Vec<Option<usize>> = schema.columns.iter().map(|column| rows.position(&column.name)).collect();
        for row in &rows.rows {
            let cells = sources.iter().enumerate().map(|(target, source)| {
                let cell = source.map(|source| row[source].clone()).or_else(|| clause(target));
                typed(cell.unwrap_or(Value::Null), schema, target)
            });
            let row = Row::new(cells.collect());
            let key = schema.has_primary_key().then(|| row.project(&self.key_positions)).map(|key| self.key(key));
            let id = self.id_position.and_then(|id| row[id].as_int());
            self.add(position, operation, id, Some(row), key, route);
        }
    }

    fn add(
        &mut self,
        position: usize,
        operation: &Operation,
        id: Option<i64>,
        row: Option<Row>,
        key: Option<u32>,
        route: Route,
    ) {
        let fate = operation.fate();
        let index = self.all.len() as u32;
        if let Some(id) = id {
            self.by_id.push((id, index));
        }
        if let (Some(key), true) = (key, fate != Fate::Failed) {
            self.of_key[key as usize].push(index);
        }
        let snapshot_id = match operation.output() {
            Some(Output::Acked { snapshot_id, .. }) => *snapshot_id,
            _ => None,
        };
        self.all.push(Write {
            operation: position,
            id,
            row,
            key,
            route,
            fate,
            invoked_n: operation.invoked.n,
            acked_n: operation.acked_n(),
            acked_at_ms: if fate == Fate::Acked { operation.answered().map_or(NEVER, |at| at.at_ms) } else { NEVER },
            snapshot_id,
            superseded_from_n: NEVER,
        });
    }

    /// The number of a key, new or known.
    fn key(&mut self, key: Row) -> u32 {
        let next = self.keys.len() as u32;
        let number = *self.keys.entry(key).or_insert(next);
        if number == next {
            self.of_key.push(Vec::new());
        }
        number
    }

    /// The number of a key that was written or deleted.
    pub fn known_key(&self, key: &Row) -> Option<u32> {
        self.keys.get(key).copied()
    }

    /// The write with this id.
    pub fn by_id(&self, id: i64) -> Option<u32> {
        // The harness hands out ids in order, so the guess is mostly right.
        let first = self.by_id.first()?.0;
        if let Ok(offset) = usize::try_from(id.wrapping_sub(first))
            && let Some((found, write)) = self.by_id.get(offset)
            && *found == id
        {
            return Some(*write);
        }
        self.by_id.binary_search_by_key(&id, |(id, _)| *id).ok().map(|position| self.by_id[position].1)
    }

    /// The write at this position.
    pub fn get(&self, write: u32) -> &Write {
        &self.all[write as usize]
    }

    /// `the row w=17`, or `the delete`.
    pub fn name(&self, write: u32) -> String {
        match self.get(write).id {
            Some(id) => format!("the row {WRITE_ID}={id}"),
            None => "the delete".to_owned(),
        }
    }

    /// Write W is superseded at a read by any write or delete of its key, or overwrite, that was invoked before the
    /// read completed, unless that one completed before W was invoked.
    fn supersede(&mut self, overwrites: &[Overwrite], schema: &TableSchema) {
        for writes in &self.of_key {
            for write in writes {
                let own = &self.all[*write as usize];
                let (invoked_n, mut earliest) = (own.invoked_n, own.superseded_from_n);
                for other in writes.iter().filter(|other| *other != write) {
                    let other = &self.all[*other as usize];
                    if other.acked_n >= invoked_n {
                        earliest = earliest.min(other.invoked_n);
                    }
                }
                self.all[*write as usize].superseded_from_n = earliest;
            }
        }
        let partition_positions = schema.partition_positions();
        for write in &mut self.all {
            for overwrite in overwrites {
                if overwrite.operation != write.operation
                    && overwrite.acked_n >= write.invoked_n
                    && overwrite.covers.reaches(write.row.as_ref(), &partition_positions)
                {
                    write.superseded_from_n = write.superseded_from_n.min(overwrite.invoked_n);
                }
            }
        }
    }
}

impl Covers {
    fn reaches(&self, row: Option<&Row>, partition_positions: &[usize]) -> bool {
        let Some(row) = row else { return true };
        match self {
            Self::All => true,
            Self::Static(values) => values.iter().all(|(position, value)| row[*position] == *value),
            Self::Partitions(partitions) => partitions.contains(&row.project(partition_positions)),
        }
    }
}

/// The way of a regular write: the store's in the mode, the lake's outside (C15).
fn regular_route(operation: &Operation, timeline: &Timeline) -> Route {
    let answered_n = operation.answered().map_or(NEVER, |at| at.n);
    match timeline.mode.during(operation.invoked.n, answered_n) {
        Known::Yes => Route::Store,
        Known::No => Route::Lake,
        Known::Unknown => Route::Unknown,
    }
}

fn covers(partition: Option<&BTreeMap<String, Value>>, rows: &RowSet, schema: &TableSchema) -> Covers {
    match partition {
        Some(values) => {
            let named = values.iter().map(|(name, value)| {
                schema.position(name).map(|position| (position, typed(value.clone(), schema, position)))
            });
            match named.collect::<Option<Vec<_>>>() {
                Some(values) => Covers::Static(values),
                // It names no column of ours, so it may cover everything.
                None => Covers::All,
            }
        }
        None if schema.partition_keys.is_empty() => Covers::All,
        None => {
            let positions = schema.partition_positions();
            let partitions = rows.rows.iter().map(|row| {
                let cells = positions.iter().map(|position| {
                    let source = rows.position(&schema.columns[*position].name);
                    typed(source.map_or(Value::Null, |source| row[source].clone()), schema, *position)
                });
                Row::new(cells.collect())
            });
            Covers::Partitions(partitions.collect())
        }
    }
}

/// A write id as a cell holds it.
pub fn id_in(cell: &Value) -> Option<i64> {
    match cell {
        Value::String(text) => text.parse().ok(),
        other => other.as_int(),
    }
}

/// The rows that have a write id, with it.
pub fn identified(rows: &RowSet) -> impl Iterator<Item = (i64, &Row)> {
    let position = rows.position(WRITE_ID);
    rows.rows.iter().filter_map(move |row| Some((id_in(&row[position?])?, row)))
}

/// A row as its statement has it.
pub struct Written<'i, 'h> {
    /// The statement, whatever became of it.
    pub operation: &'i Operation<'h>,
    /// All its rows.
    pub rows: &'h RowSet,
    /// This one.
    pub row: &'h Row,
}

/// By write id, every row that these statements would write into the table itself, under whatever definition; `None` if
/// the ids are not unique.
pub fn written_rows<'i, 'h: 'i>(
    operations: impl Iterator<Item = &'i Operation<'h>>,
) -> Option<BTreeMap<i64, Written<'i, 'h>>> {
    let mut written = BTreeMap::new();
    for operation in operations {
        let rows = match operation.statement {
            Statement::Insert { rows, branch: None, .. }
            | Statement::NativeInsert { rows, .. }
            | Statement::InsertOverwrite { rows, .. } => rows,
            _ => continue,
        };
        for (id, row) in identified(rows) {
            if written.insert(id, Written { operation, rows, row }).is_some() {
                return None;
            }
        }
    }
    Some(written)
}

/// The cell as its column's type; as it is, if it does not fit: then the statement should fail.
pub fn typed(cell: Value, schema: &TableSchema, position: usize) -> Value {
    coerce(cell.clone(), &schema.columns[position].data_type).unwrap_or(cell)
}
