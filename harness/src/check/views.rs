//! L17: point lookup, filtered scan and full scan of one view agree, where nothing can have changed between them.
//!
//! Each lookup and each filtered scan is held against the full scan just before it and the one just after it. For `t$rt`
//! what a write in flight or in doubt may have changed between the two is left out of the comparison: a key, or a row.
//! For the base view both must have read the same snapshot. No write of the past is looked at, so a promoted table is
//! judged like any other.

use std::collections::{BTreeMap, BTreeSet};

use models::contract::{Output, Row, RowSet, Statement, TableSchema, Value};

use super::index::{Fate, Index, NEVER, Operation};
use super::table::{Read, Table};
use super::timeline;
use super::writes::{Route, WRITE_ID, Write, typed};
use super::{Docket, prose};

/// Judges L17.
pub fn judge(index: &Index, docket: &mut Docket) {
    for table in &index.tables {
        let Some(schema) = table.schema else { continue };
        for real_time in [false, true] {
            View { index, table, schema, real_time }.judge(docket);
        }
    }
}

/// One view of one table.
struct View<'a, 'h> {
    index: &'a Index<'h>,
    table: &'a Table<'h>,
    schema: &'h TableSchema,
    real_time: bool,
}

/// A read with the rows that it returned, in schema order.
struct Answer<'a> {
    read: &'a Read,
    /// What its rows have to match; empty: it is a full scan.
    conditions: Vec<(usize, Value)>,
    rows: Vec<Row>,
}

/// From the first start to the last end of two reads, in ordinals.
#[derive(Clone, Copy)]
struct Window {
    from_n: u64,
    from_ms: u64,
    to_n: u64,
}

impl Window {
    fn over(one: &Read, other: &Read) -> Self {
        let first = if one.invoked.n < other.invoked.n { one } else { other };
        Self { from_n: first.invoked.n, from_ms: first.invoked.at_ms, to_n: one.answered.n.max(other.answered.n) }
    }
}

/// What may have changed within a window.
enum Unsettled {
    Nothing,
    Keys(BTreeSet<u32>),
    Ids(BTreeSet<i64>),
}

impl<'h> View<'_, 'h> {
    fn judge(&self, docket: &mut Docket) {
        let until_n = self.table.disturbance.beside_promotion_from_n;
        let chosen = |read: &&Read| read.real_time == self.real_time && !read.historic && read.answered.n < until_n;
        let reads = || self.table.reads.iter().filter(chosen);
        let is_full = |read: &Read| match self.operation(read).statement {
            Statement::Select { filter, .. } => filter.is_empty(),
            _ => false,
        };
        if reads().all(is_full) {
            return;
        }
        let answers: Vec<Answer> = reads().filter_map(|read| self.answer(read)).collect();
        let (scans, parts): (Vec<&Answer>, Vec<&Answer>) =
            answers.iter().partition(|answer| answer.conditions.is_empty());
        for part in parts {
            // Both in order of invocation.
            let before = scans.iter().rfind(|scan| scan.read.answered.n < part.read.invoked.n);
            let after = scans.iter().find(|scan| scan.read.invoked.n > part.read.answered.n);
            for scan in before.into_iter().chain(after) {
                self.compare(scan, part, docket);
            }
        }
    }

    /// The answer, if it has all columns of the table and asks for what we can tell.
    fn answer<'r>(&self, read: &'r Read) -> Option<Answer<'r>> {
        let (conditions, rows): (&BTreeMap<String, Value>, &RowSet) =
            match (self.operation(read).statement, self.operation(read).output()?) {
                (Statement::Select { filter, .. }, Output::Rows { rows, .. }) => (filter, rows),
                (Statement::Lookup { key, .. }, Output::Found { row }) => (key, row),
                _ => return None,
            };
        let condition = |(column, value): (&String, &Value)| {
            let position = self.schema.position(column)?;
            // Whether NULL equals NULL is the engine's business.
            (!value.is_null()).then(|| (position, typed(value.clone(), self.schema, position)))
        };
        let conditions: Vec<(usize, Value)> = conditions.iter().map(condition).collect::<Option<_>>()?;
        let columns = self.schema.columns.iter();
        let sources: Option<Vec<usize>> = columns.map(|column| rows.position(&column.name)).collect();
        let sources = match sources {
            Some(sources) => sources,
            None if rows.rows.is_empty() => Vec::new(),
            None => return None,
        };
        let in_order = |row: &Row| {
            let cells = sources.iter().enumerate().map(|(to, from)| typed(row[*from].clone(), self.schema, to));
            Row::new(cells.collect())
        };
        Some(Answer { read, conditions, rows: rows.rows.iter().map(in_order).collect() })
    }

    fn operation(&self, read: &Read) -> &Operation<'h> {
        &self.index.operations[read.operation]
    }

    fn compare(&self, scan: &Answer, part: &Answer, docket: &mut Docket) {
        let window = Window::over(scan.read, part.read);
        if self.is_defined_within(window) {
            return;
        }
        let unsettled = if self.real_time {
            match self.unsettled(window) {
                Some(unsettled) => unsettled,
                None => return,
            }
        } else if self.is_of_one_snapshot(scan.read, part.read) {
            Unsettled::Nothing
        } else {
            return;
        };
        let settled = |row: &&Row| self.is_settled(row, &unsettled);
        let matches = |row: &&Row| part.conditions.iter().all(|(position, value)| row[*position] == *value);
        let mut expected: Vec<&Row> = scan.rows.iter().filter(matches).filter(settled).collect();
        let mut found: Vec<&Row> = part.rows.iter().filter(settled).collect();
        expected.sort_unstable();
        found.sort_unstable();
        docket.judged("L17", 1);
        if expected == found {
            return;
        }
        docket.violated("L17", prose::events(self.index, self.table, &[], &[scan.read, part.read]), || {
            let asked: Vec<String> = part
                .conditions
                .iter()
                .map(|(position, value)| format!("{} = {value:?}", self.schema.columns[*position].name))
                .collect();
            format!(
                "The {} returns for {}: {}. Of the {} these rows match: {}. {} L17 demands that lookup, filtered scan and \
                 full scan of one view agree.",
                prose::read(self.index, part.read),
                asked.join(" and "),
                self.told(&found),
                prose::read(self.index, scan.read),
                self.told(&expected),
                if self.real_time {
                    "From the first start to the last end no write of them was in flight or in doubt, and"
                } else {
                    "Both read the same snapshot, and"
                }
            )
        });
    }

    /// `2 rows (w=3, w=4)`.
    fn told(&self, rows: &[&Row]) -> String {
        if rows.is_empty() {
            return "none".to_owned();
        }
        let id = self.schema.position(WRITE_ID);
        let name = |row: &&Row| id.map_or_else(|| format!("{row:?}"), |id| format!("{WRITE_ID}={:?}", row[id]));
        format!("{} ({})", rows.len(), rows.iter().take(5).map(name).collect::<Vec<_>>().join(", "))
    }

    /// Whether a statement may have changed the table's definition within the window.
    fn is_defined_within(&self, window: Window) -> bool {
        let definers = self.table.definers.iter().map(|position| &self.index.operations[*position]);
        definers.take_while(|operation| operation.invoked.n < window.to_n).any(|operation| {
            let ended_n = if timeline::goes_on(operation) { NEVER } else { operation.acked_n() };
            ended_n > window.from_n
        })
    }

    /// What writes may have changed in `t$rt` within the window; `None`: anything.
    fn unsettled(&self, window: Window) -> Option<Unsettled> {
        let staleness_ms = self.index.history.header.bounds.rt_staleness_ms;
        let settled = |route: Route, fate: Fate, acked_n: u64, acked_at_ms: u64, snapshot_id: Option<u64>| {
            if fate != Fate::Acked {
                return false;
            }
            let since = match route {
                Route::Store => Some((acked_n, acked_at_ms)),
                Route::Unknown => None,
                Route::Lake => {
                    let readable = snapshot_id.and_then(|snapshot_id| self.table.readable_from(snapshot_id));
                    readable.map(|at| (at.n, at.at_ms))
                }
            };
            since.is_some_and(|(n, at_ms)| {
                n.max(acked_n) < window.from_n && at_ms.saturating_add(staleness_ms) <= window.from_ms
            })
        };
        let sweeps = self.table.operations.iter().map(|position| &self.index.operations[*position]).any(|operation| {
            let sweeping = matches!(operation.statement, Statement::InsertOverwrite { .. });
            let (snapshot_id, at_ms) = match operation.output() {
                Some(Output::Acked { snapshot_id, .. }) => {
                    (*snapshot_id, operation.answered().map_or(NEVER, |a| a.at_ms))
                }
                _ => (None, NEVER),
            };
            sweeping
                && operation.fate() != Fate::Failed
                && operation.invoked.n < window.to_n
                && !settled(Route::Lake, operation.fate(), operation.acked_n(), at_ms, snapshot_id)
        });
        if sweeps {
            return None;
        }
        let unsettled = self.table.writes.all.iter().filter(|write: &&Write| {
            write.fate != Fate::Failed
                && write.invoked_n < window.to_n
                && !settled(write.route, write.fate, write.acked_n, write.acked_at_ms, write.snapshot_id)
        });
        if self.table.has_key() {
            return Some(Unsettled::Keys(unsettled.filter_map(|write| write.key).collect()));
        }
        let ids: Option<BTreeSet<i64>> = unsettled.map(|write| write.id).collect();
        ids.map(Unsettled::Ids)
    }

    fn is_settled(&self, row: &Row, unsettled: &Unsettled) -> bool {
        match unsettled {
            Unsettled::Nothing => true,
            Unsettled::Keys(keys) => {
                let key = row.project(&self.schema.key_positions());
                self.table.writes.known_key(&key).is_none_or(|key| !keys.contains(&key))
            }
            Unsettled::Ids(ids) => {
                let id = self.schema.position(WRITE_ID).and_then(|position| row[position].as_int());
                id.is_none_or(|id| !ids.contains(&id))
            }
        }
    }

    /// Whether both certainly read the same snapshot of the base view. A lookup does not say what it read: it follows
    /// the scan, and the next snapshot was committed only after its answer.
    fn is_of_one_snapshot(&self, scan: &Read, part: &Read) -> bool {
        let Some(Some(snapshot_id)) = scan.snapshot else { return false };
        if let Some(other) = part.snapshot {
            // After a rollback the same id may be another snapshot.
            let (from_n, to_n) = (scan.invoked.n.min(part.invoked.n), scan.answered.n.max(part.answered.n));
            return other == Some(snapshot_id) && !self.table.is_rolled_back_within(from_n, to_n);
        }
        let stale = |(from_ms, to_ms): &(u64, u64)| scan.invoked.at_ms <= *to_ms && part.answered.at_ms >= *from_ms;
        if scan.answered.n > part.invoked.n
            || self.table.disturbance.replaced_from_n != NEVER
            || self.table.is_rolled_back_within(scan.invoked.n, NEVER)
            || self.index.stale_windows.iter().any(stale)
            || !self.table.files_are_sound
        {
            return false;
        }
        let snapshots = &self.table.snapshots;
        let Ok(position) = snapshots.binary_search_by_key(&snapshot_id, |snapshot| snapshot.seen.snapshot_id) else {
            return false;
        };
        snapshots[position].seen.committed_at_ms <= scan.answered.at_ms
            && snapshots[position + 1..].iter().all(|later| later.seen.committed_at_ms > part.answered.at_ms)
    }
}
