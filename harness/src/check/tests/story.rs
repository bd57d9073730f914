//! A small language for histories of one table, `db.t` with the columns `id`, `v` and the write id `w`.
//!
//! Rows are told as `(id, w)`; `v` is always "v". Every event comes 1 ms after the one before it unless time is let pass.

use serde_json::{Value, json};

use crate::check::{Findings, check};
use crate::history::{Entry, Event, Header, History};

/// A history in the making. Bounds: `rt_staleness` 0, `lake_freshness` 100, `recovery` 100.
pub struct Story {
    header: Header,
    events: Vec<Entry>,
    at_ms: u64,
    operations: u64,
}

pub type Rows<'r> = &'r [(i64, i64)];

impl Story {
    /// A lake-stream append table.
    pub fn append() -> Self {
        Self::of(&[], true)
    }

    /// A lake-stream table with the primary key `id`.
    pub fn keyed() -> Self {
        Self::of(&["id"], true)
    }

    /// An append table out of the mode.
    pub fn plain() -> Self {
        Self::of(&[], false)
    }

    fn of(primary_key: &[&str], enabled: bool) -> Self {
        let options = if enabled { json!({"lakestream.enabled": "true"}) } else { json!({}) };
        let header = json!({
            "history": 1,
            "tables": {"db.t": {
                "columns": [
                    {"name": "id", "type": "BIGINT", "nullable": false},
                    {"name": "v", "type": "STRING"},
                    {"name": "w", "type": "BIGINT"},
                ],
                "primary_key": primary_key, "partition_keys": [], "options": options,
            }},
            "bounds": {"rt_staleness_ms": 0, "lake_freshness_ms": 100, "recovery_ms": 100},
            "capabilities": [], "clock": "virtual",
        });
        Self { header: serde_json::from_value(header).unwrap(), events: Vec::new(), at_ms: 0, operations: 0 }
    }

    /// A system whose `t$rt` may be so many milliseconds old.
    pub fn with_rt_staleness(mut self, ms: u64) -> Self {
        self.header.bounds.rt_staleness_ms = ms;
        self
    }

    /// The catalog that every statement goes through.
    pub fn with_catalog(mut self, kind: &str, options: Value) -> Self {
        let config = json!({"kind": kind, "options": options});
        self.header.catalog = Some(serde_json::from_value(config).unwrap());
        self
    }

    /// A catalog that finds its store.
    pub fn configured(self) -> Self {
        self.with_catalog(
            "filesystem",
            json!({"lakestream.store": "reference", "reference.bootstrap.servers": "store:9123"}),
        )
    }

    /// The table `db.t` is defined in this way.
    pub fn with_table(mut self, schema: Value) -> Self {
        self.header.tables.insert("db.t".parse().unwrap(), serde_json::from_value(schema).unwrap());
        self
    }

    /// A statement of session `s` that succeeds.
    pub fn done(mut self, statement: Value, output: Value) -> Self {
        let op = self.begin("s", statement);
        self.ok(&op, output);
        self
    }

    /// A statement of session `s` that fails for certain.
    pub fn refused(mut self, statement: Value, code: &str, message: &str) -> Self {
        let op = self.begin("s", statement);
        self.fail(&op, code, true, message);
        self
    }

    /// What session `s`'s catalog did with the store so far.
    pub fn catalog_seen(&mut self, opened: u64, store_closed: u64, keys: &[&str], closed: bool) -> &mut Self {
        self.event(json!({"event": "catalog", "session": "s", "store_opened": opened, "store_closed": store_closed,
            "store_option_keys": keys, "closed": closed}))
    }

    /// Both sides of `db.t` around an operation.
    pub fn state(&mut self, op: &str, moment: &str, lake: Value, store: Value) -> &mut Self {
        self.event(json!({"event": "state", "op": op, "table": "db.t", "moment": moment, "lake": lake, "store": store}))
    }

    /// A statement of session `s` that succeeds, with both sides before and after it: lake, store, lake, store.
    pub fn seen(self, statement: Value, output: Value, sides: [Value; 4]) -> Self {
        self.around(statement, sides, |story, op| {
            story.ok(op, output);
        })
    }

    /// The same for one that fails for certain.
    pub fn seen_refused(self, statement: Value, code: &str, message: &str, sides: [Value; 4]) -> Self {
        self.around(statement, sides, |story, op| {
            story.fail(op, code, true, message);
        })
    }

    fn around(mut self, statement: Value, sides: [Value; 4], end: impl FnOnce(&mut Self, &str)) -> Self {
        let [lake_before, store_before, lake_after, store_after] = sides;
        let op = format!("o{}", self.operations + 1);
        self.state(&op, "before", lake_before, store_before);
        assert_eq!(self.begin("s", statement), op);
        end(&mut self, &op);
        self.state(&op, "after", lake_after, store_after);
        self
    }

    /// Adds an event.
    pub fn event(&mut self, event: Value) -> &mut Self {
        let event: Event = serde_json::from_value(event.clone()).unwrap_or_else(|error| panic!("{error}: {event}"));
        self.at_ms += 1;
        self.events.push(Entry { n: self.events.len() as u64, at_ms: self.at_ms, event });
        self
    }

    /// The next event comes at the moment of the last one.
    pub fn same_moment(&mut self) -> &mut Self {
        self.at_ms -= 1;
        self
    }

    pub fn wait(&mut self, ms: u64) -> &mut Self {
        self.at_ms += ms;
        self
    }

    /// The moment of the last event.
    pub fn now_ms(&self) -> u64 {
        self.at_ms
    }

    /// Invokes a statement and returns its operation.
    pub fn begin(&mut self, session: &str, statement: Value) -> String {
        self.operations += 1;
        let op = format!("o{}", self.operations);
        self.event(json!({"event": "invoke", "op": op, "session": session, "statement": statement}));
        op
    }

    pub fn ok(&mut self, op: &str, output: Value) -> &mut Self {
        self.event(json!({"event": "ok", "op": op, "output": output}))
    }

    pub fn fail(&mut self, op: &str, code: &str, definite: bool, message: &str) -> &mut Self {
        self.event(json!({"event": "fail", "op": op, "code": code, "definite": definite, "message": message}))
    }

    /// An acked insert by session `w`.
    pub fn write(&mut self, rows: Rows) -> &mut Self {
        let op = self.begin("w", insert(rows));
        self.ok(&op, acked())
    }

    /// An acked delete by session `w`.
    pub fn delete(&mut self, id: i64) -> &mut Self {
        let op = self.begin("w", json!({"delete": {"table": "db.t", "keys": [{"id": id}]}}));
        self.ok(&op, acked())
    }

    /// A whole `t$rt` select by session `r`.
    pub fn read(&mut self, rows: Rows) -> &mut Self {
        let op = self.begin("r", json!({"select": {"table": "db.t$rt"}}));
        self.ok(&op, json!({"rows": {"rows": table_rows(rows)}}))
    }

    /// A whole base select by session `r`.
    pub fn base(&mut self, snapshot_id: Option<u64>, rows: Rows) -> &mut Self {
        let op = self.begin("r", json!({"select": {"table": "db.t"}}));
        self.ok(&op, json!({"rows": {"rows": table_rows(rows), "snapshot_id": snapshot_id}}))
    }

    /// An acked overwrite of the whole table by session `o`.
    pub fn overwrite(&mut self, snapshot_id: u64, rows: Rows) -> &mut Self {
        let op = self.begin("o", overwrite(rows));
        self.ok(&op, json!({"acked": {"acked": rows.len(), "snapshot_id": snapshot_id}}))
    }

    /// One `changes` answer for session `c`; each entry: kind, `(id, w)`, offset in bucket 0 (none: a row of the lake).
    pub fn changes(&mut self, from: &str, to: &str, entries: &[(&str, (i64, i64), Option<u64>)]) -> &mut Self {
        let op = self.begin("c", json!({"changes": {"table": "db.t$rt", "from": from, "max": 100}}));
        let changes: Vec<Value> = entries
            .iter()
            .map(|(kind, row, offset)| match offset {
                Some(offset) => json!({"kind": kind, "row": table_row(*row), "bucket": 0, "offset": offset}),
                None => json!({"kind": kind, "row": table_row(*row)}),
            })
            .collect();
        self.ok(&op, json!({"changes": {"changes": changes, "position": to}}))
    }

    pub fn phase(&mut self, phase: &str) -> &mut Self {
        self.event(json!({"event": "phase", "phase": phase}))
    }

    pub fn fault(&mut self, phase: &str) -> &mut Self {
        self.event(json!({"event": "fault", "kind": "outage", "target": "store", "phase": phase}))
    }

    /// `db.t` is rolled back in the lake: `start` or `end` of it.
    pub fn rollback(&mut self, phase: &str) -> &mut Self {
        self.event(json!({"event": "fault", "kind": "rollback", "target": "db.t", "phase": phase}))
    }

    /// A tiering snapshot up to `offset` of bucket 0. `added`: kind and row.
    pub fn tiered(&mut self, id: u64, offset: u64, at_ms: u64, rows: Rows, added: &[(&str, (i64, i64))]) -> &mut Self {
        let offsets = json!([{"bucket": 0, "offset": offset}]);
        self.snapshot(
            json!({"snapshot_id": id, "user": "tiering", "identifier": id, "kind": "APPEND",
            "committed_at_ms": at_ms, "table_id": "7", "offsets": offsets}),
            rows,
            added,
        )
    }

    /// A snapshot that an overwrite or native write of session `o` made.
    pub fn native(&mut self, id: u64, at_ms: u64, rows: Rows, added: &[(&str, (i64, i64))]) -> &mut Self {
        self.snapshot(
            json!({"snapshot_id": id, "user": "o", "identifier": id, "kind": "OVERWRITE",
            "committed_at_ms": at_ms}),
            rows,
            added,
        )
    }

    /// A snapshot with these fields; everything lies in bucket 0.
    pub fn snapshot(&mut self, fields: Value, rows: Rows, added: &[(&str, (i64, i64))]) -> &mut Self {
        let added: Vec<Value> =
            added.iter().map(|(kind, row)| json!({"kind": kind, "row": table_row(*row), "bucket": 0})).collect();
        let mut event = json!({"event": "snapshot", "table": "db.t", "digest": "0",
            "buckets": [{"bucket": 0, "rows": table_rows(rows), "added": added}]});
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.event(event)
    }

    /// A registration with equal tiered and readable offsets of bucket 0.
    pub fn registered(&mut self, snapshot_id: u64, offset: u64, readable: u64) -> &mut Self {
        self.event(json!({"event": "registered", "table": "db.t", "table_id": "7", "snapshot_id": snapshot_id,
            "offsets": [{"bucket": 0, "offset": offset}], "readable": [{"bucket": 0, "offset": readable}]}))
    }

    pub fn log(&mut self, start: u64, end: u64) -> &mut Self {
        self.event(json!({"event": "log", "table": "db.t", "partition": null, "bucket": 0,
            "start_inclusive": start, "end_exclusive": end}))
    }

    pub fn findings(&self) -> Findings {
        check(&History { header: self.header.clone(), events: self.events.clone() })
    }

    /// The property is violated, and each violation argues from events of the history.
    #[track_caller]
    pub fn violates(&self, property: &str) -> String {
        let findings = self.findings();
        let judgement = &findings.judgements[property];
        assert!(!judgement.violations.is_empty(), "{property} is not violated: {findings:#?}");
        assert!(judgement.judged > 0, "{property} is violated without a judgement");
        for violation in &judgement.violations {
            assert!(violation.events.iter().all(|n| *n < self.events.len() as u64), "{violation:?}");
            assert!(violation.events.is_sorted() && !violation.events.is_empty(), "{violation:?}");
        }
        judgement.violations[0].argument.clone()
    }

    /// The property was judged, and neither it nor any other is violated.
    #[track_caller]
    pub fn holds(&self, property: &str) {
        let findings = self.findings();
        assert!(findings.judgements[property].judged > 0, "{property} was not judged: {findings:#?}");
        assert_blameless(&findings);
    }

    /// The property is not violated, whatever is said of others.
    #[track_caller]
    pub fn says_no_violation(&self, property: &str) {
        let findings = self.findings();
        assert!(findings.judgements[property].violations.is_empty(), "{findings:#?}");
    }

    /// The property was not judged, whatever is said of others.
    #[track_caller]
    pub fn says_nothing_of(&self, property: &str) {
        assert_eq!(self.findings().judgements[property].judged, 0, "{property} was judged");
    }

    /// The property was not judged, and no other is violated.
    #[track_caller]
    pub fn says_nothing(&self, property: &str) {
        let findings = self.findings();
        assert_eq!(findings.judgements[property].judged, 0, "{property} was judged");
        assert_blameless(&findings);
    }
}

#[track_caller]
fn assert_blameless(findings: &Findings) {
    for (property, judgement) in &findings.judgements {
        assert!(judgement.violations.is_empty(), "{property}: {:#?}", judgement.violations);
    }
}

/// One side of a table with the columns `id`, `v` and `w`: its identity, options and newest snapshot.
pub fn side(table_id: &str, options: Value, snapshot_id: Option<u64>) -> Value {
    side_of(
        table_id,
        json!([{"name": "id", "type": "BIGINT", "nullable": false}, {"name": "v", "type": "STRING"},
        {"name": "w", "type": "BIGINT"}]),
        options,
        snapshot_id,
    )
}

/// The same with columns of its own.
pub fn side_of(table_id: &str, columns: Value, options: Value, snapshot_id: Option<u64>) -> Value {
    json!({"table_id": table_id, "snapshot_id": snapshot_id, "schema": {"columns": columns, "options": options}})
}

pub fn acked() -> Value {
    json!({"acked": {"acked": 1}})
}

pub fn insert(rows: Rows) -> Value {
    json!({"insert": {"table": "db.t", "rows": table_rows(rows)}})
}

pub fn overwrite(rows: Rows) -> Value {
    json!({"insert_overwrite": {"table": "db.t", "partition": null, "rows": table_rows(rows)}})
}

pub fn table_rows(rows: Rows) -> Vec<Value> {
    rows.iter().map(|row| table_row(*row)).collect()
}

pub fn table_row((id, w): (i64, i64)) -> Value {
    json!({"id": id, "v": "v", "w": w})
}
