//! What a run leaves behind, and all that a checker may look at: who asked for what, what came back, what went wrong,
//! and what our own reader found in the lake's files.
//!
//! Format: `history.md`, version 1, JSON lines: a header, then one event a line. This module never judges.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use models::config::CatalogConfig;
use models::contract::{
    Bounds, Change, FailureCode, ObservedOffset, ObservedRows, Output, RowSet, Statement, TablePath, TableSchema,
};
use serde::{Deserialize, Serialize};

use crate::bounded_text::BoundedLines;

/// The version of the history format.
pub const HISTORY_VERSION: u32 = 1;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Header {
    /// [`HISTORY_VERSION`].
    pub history: u32,
    /// The definitions of the tables that the run began with.
    pub tables: BTreeMap<TablePath, TableSchema>,
    /// What the system declares.
    pub bounds: Bounds,
    /// What the system can do, by the names of the adapter protocol.
    pub capabilities: Vec<String>,
    /// Whose time `at_ms` is.
    pub clock: Clock,
    /// The catalog that every statement went through, as it was configured; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog: Option<CatalogConfig>,
}

/// Whose time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Simulated milliseconds.
    Virtual,
    /// The wall clock.
    Wall,
}

/// The events of a run, in the order in which they were observed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct History {
    /// The first line.
    pub header: Header,
    /// The rest. `events[i].n == i`.
    pub events: Vec<Entry>,
}

/// One event with its place and time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// Its ordinal, from 0.
    pub n: u64,
    /// When; never goes back.
    pub at_ms: u64,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

/// What can be observed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "the large ones, states, are few in a run")]
pub enum Event {
    /// A session sends a statement.
    Invoke {
        /// Unique within the history.
        op: String,
        /// Who.
        session: String,
        /// What.
        statement: Statement,
    },
    /// It succeeded.
    Ok {
        /// Which.
        op: String,
        /// What it returned.
        output: Output,
    },
    /// It failed.
    Fail {
        /// Which.
        op: String,
        /// How.
        code: FailureCode,
        /// `true`: certainly without effect.
        definite: bool,
        /// In words.
        message: String,
    },
    /// Something goes wrong.
    Fault {
        /// What, as in `list faults`.
        kind: String,
        /// Where: a call's address, a host, or the table that a job of maintenance is about.
        target: String,
        /// Whether it begins, ends or is over at once.
        phase: FaultPhase,
    },
    /// The run enters a phase.
    Phase {
        /// Which.
        phase: RunPhase,
    },
    /// A lake snapshot, as our reader found it in the files after the run, or just before it could expire.
    Snapshot(Box<SnapshotSeen>),
    /// What the store says is registered, seen when it changed.
    Registered {
        /// The table.
        table: TablePath,
        /// The store's identity of it.
        table_id: String,
        /// The newest registered snapshot.
        snapshot_id: u64,
        /// Its offsets, exclusive ends.
        offsets: Vec<ObservedOffset>,
        /// The offsets of the readable snapshot, exclusive ends.
        readable: Vec<ObservedOffset>,
    },
    /// The extent of one bucket's log, seen when its start changed and at every change of phase.
    Log {
        /// The table.
        table: TablePath,
        /// `k=v/k=v`, or null.
        partition: Option<String>,
        /// The bucket.
        bucket: u32,
        /// The first offset that is still there.
        start_inclusive: u64,
        /// The end of what is durable.
        end_exclusive: u64,
    },
    /// What a table was on both sides just before and just after a statement that should not change it.
    State {
        /// The statement's operation.
        op: String,
        /// The table.
        table: TablePath,
        /// Before or after.
        moment: Moment,
        /// The Paimon side; `None` where there is no such table.
        lake: Option<SideState>,
        /// The store's side; `None` where there is no such table.
        store: Option<SideState>,
    },
    /// What a session's catalog has to do with the store, seen when it changed: before the answer of the statement that
    /// changed it, and at every close (C16, C17).
    Catalog {
        /// Whose catalog.
        session: String,
        /// How often it opened the store since it was made.
        store_opened: u64,
        /// How often it closed it.
        store_closed: u64,
        /// The names of the options that it handed to the store, without their values, as the store got them.
        store_option_keys: Vec<String>,
        /// Whether the catalog has been closed.
        closed: bool,
    },
    /// What our reader found wrong in a table's files after the run; empty when all is right.
    Files {
        /// The table.
        table: TablePath,
        /// Each fault in the files.
        findings: Vec<FileFinding>,
        /// Files that nothing refers to.
        orphans: Vec<String>,
        /// Whether the system's own clean-up had run just before, with no writer alive (L18).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cleaned: bool,
    },
    /// Which snapshot is readable, where that is another than the newest registered one; follows what the store says is
    /// registered.
    Readable {
        /// The table.
        table: TablePath,
        /// The store's identity of it.
        table_id: String,
        /// The readable snapshot.
        snapshot_id: u64,
        /// Its offsets, exclusive ends.
        offsets: Vec<ObservedOffset>,
    },
}

/// A fault's extent in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultPhase {
    /// It begins.
    Start,
    /// It ends.
    End,
    /// It has no duration.
    Instant,
}

/// A phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunPhase {
    /// Faults strike.
    Chaos,
    /// They have ended.
    Healed,
    /// The lake has caught up and no session works beside another.
    Drained,
    /// Instead of [`RunPhase::Drained`]: the lake did not catch up within the declared bounds, and is not waited for any
    /// longer. No session works beside another.
    GaveUp,
    /// All is done; the files are read.
    End,
}

/// Before or after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// Just before the statement was sent.
    Before,
    /// Just after its answer.
    After,
}

/// One side's view of one table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SideState {
    /// The table's identity on this side.
    pub table_id: String,
    /// Columns, keys and options.
    pub schema: TableSchema,
    /// Lake: the newest snapshot's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<u64>,
    /// Lake: how many files the table's directory holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Store: log ends, exclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offsets: Option<Vec<ObservedOffset>>,
    /// Store: how many rows the key-value state of each bucket serves; buckets without any are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_rows: Option<Vec<ObservedRows>>,
}

/// One lake snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SnapshotSeen {
    /// The table.
    pub table: TablePath,
    /// The store's table id that the snapshot's offsets name, if it has offsets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table_id: Option<String>,
    /// Its id.
    pub snapshot_id: u64,
    /// Its commit user.
    pub user: String,
    /// Its commit identifier.
    pub identifier: i64,
    /// APPEND, OVERWRITE, COMPACT …
    pub kind: String,
    /// When it came into the lake; where nobody saw that, the commit time that the file states.
    pub committed_at_ms: u64,
    /// The tiered offsets that it carries, exclusive ends; `None` if it carries none: it is not a tiering snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offsets: Option<Vec<ObservedOffset>>,
    /// The snapshot that an overwrite began on, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrite_base: Option<u64>,
    /// A hash of its rows, in hexadecimal.
    pub digest: String,
    /// Its content, bucket by bucket; absent if it is too large to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Vec<BucketSeen>>,
}

/// One bucket of one snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BucketSeen {
    /// `k=v/k=v`, or null.
    #[serde(default)]
    pub partition: Option<String>,
    /// The bucket.
    pub bucket: u32,
    /// All rows at the snapshot, merged.
    pub rows: RowSet,
    /// What the snapshot itself added, in sequence order.
    pub added: Vec<Change>,
}

/// One thing wrong in a table's files.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileFinding {
    /// The file.
    pub file: String,
    /// The rule that it breaks.
    pub rule: String,
    /// What follows for a reader.
    pub consequence: String,
}

impl History {
    /// Writes the history as JSON lines.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut to, &self.header)?;
        to.write_all(b"\n")?;
        for entry in &self.events {
            serde_json::to_writer(&mut to, entry)?;
            to.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Reads JSON lines. The error names the line, what was expected and what was found.
    pub fn read(from: impl BufRead) -> Result<Self, String> {
        let mut lines = BoundedLines::new(from).enumerate();
        let header = match lines.next() {
            None => return Err("expected a history, found an empty file".to_owned()),
            Some((_, line)) => {
                let line = line.map_err(|error| format!("line 1 cannot be read: {error}"))?;
                let header: Header = serde_json::from_str(&line)
                    .map_err(|error| format!("line 1: expected the header of a history, found: {error}"))?;
                if header.history != HISTORY_VERSION {
                    return Err(format!(
                        "line 1: expected history version {HISTORY_VERSION}, found {}",
                        header.history
                    ));
                }
                header
            }
        };
        check_tables(&header)?;
        let mut events: Vec<Entry> = Vec::new();
        // Where each operation was invoked; `None` once it has ended.
        let mut invoked: BTreeMap<String, Option<usize>> = BTreeMap::new();
        for (index, line) in lines {
            let number = index + 1;
            let line = line.map_err(|error| format!("line {number} cannot be read: {error}"))?;
            if line.trim().is_empty() {
                continue;
            }
            let entry: Entry = serde_json::from_str(&line)
                .map_err(|error| format!("line {number}: expected an event, found: {error}"))?;
            if entry.n != events.len() as u64 {
                return Err(format!("line {number}: expected event n = {}, found {}", events.len(), entry.n));
            }
            if events.last().is_some_and(|last| last.at_ms > entry.at_ms) {
                return Err(format!("line {number}: at_ms goes back to {}", entry.at_ms));
            }
            match &entry.event {
                Event::Invoke { op, .. } => {
                    let earlier = invoked.insert(op.clone(), Some(events.len()));
                    if earlier.is_some() {
                        return Err(format!("line {number}: expected an op that was not invoked before, found {op:?}"));
                    }
                }
                Event::Ok { op, .. } | Event::Fail { op, .. } => {
                    let Some(place) = invoked.get_mut(op).and_then(Option::take) else {
                        return Err(format!("line {number}: expected the end of an operation in flight, found {op:?}"));
                    };
                    check_answer(&events[place].event, &entry.event)
                        .map_err(|message| format!("line {number}: {message}"))?;
                }
                _ => {}
            }
            events.push(entry);
        }
        Ok(Self { header, events })
    }
}

/// Keys of the header's tables must be columns of them, or nothing could be said of their rows.
fn check_tables(header: &Header) -> Result<(), String> {
    for (path, schema) in &header.tables {
        let keys = schema.primary_key.iter().chain(&schema.partition_keys);
        if let Some(missing) = keys.into_iter().find(|key| schema.position(key).is_none()) {
            return Err(format!("line 1: expected the keys of {path} among its columns, found `{missing}`"));
        }
    }
    Ok(())
}

/// A success must return what its statement asked for.
fn check_answer(invoked: &Event, ended: &Event) -> Result<(), String> {
    match (invoked, ended) {
        (Event::Invoke { statement, .. }, Event::Ok { op, output }) if !output.answers(statement) => {
            Err(format!("expected the answer of a {} for op {op:?}, found another kind of answer", statement.name()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = concat!(
        r#"{"history":1,"tables":{"db.t":{"columns":[{"name":"id","type":"BIGINT"}],"primary_key":["KEY"]}},"#,
        r#""bounds":{"rt_staleness_ms":0,"lake_freshness_ms":1,"recovery_ms":1},"capabilities":[],"clock":"virtual"}"#
    );
    const LOOKUP: &str = concat!(
        r#"{"n":0,"at_ms":1,"event":"invoke","op":"a","session":"s","#,
        r#""statement":{"lookup":{"table":"db.t","key":{"id":1}}}}"#
    );

    fn refusal(key: &str, lines: &[&str]) -> Option<String> {
        let header = HEADER.replace("KEY", key);
        let text = [&[header.as_str()], lines].concat().join("\n");
        History::read(text.as_bytes()).err()
    }

    #[test]
    fn an_answer_must_be_of_its_statements_kind() {
        let found = r#"{"n":1,"at_ms":2,"event":"ok","op":"a","output":{"found":{"row":[]}}}"#;
        let acked = r#"{"n":1,"at_ms":2,"event":"ok","op":"a","output":{"acked":{"acked":1}}}"#;
        assert_eq!(refusal("id", &[LOOKUP, found]), None);
        let message = refusal("id", &[LOOKUP, acked]).unwrap();
        assert!(message.contains("line 3: expected the answer of a lookup for op \"a\""), "{message}");
    }

    #[test]
    fn an_operation_ends_once() {
        let failed = |n: u64| {
            format!(r#"{{"n":{n},"at_ms":2,"event":"fail","op":"a","code":"internal","definite":true,"message":""}}"#)
        };
        let message = refusal("id", &[LOOKUP, &failed(1), &failed(2)]).unwrap();
        assert!(message.contains("line 4: expected the end of an operation in flight, found \"a\""), "{message}");
        let message = refusal("id", &[LOOKUP, &LOOKUP.replace("\"n\":0", "\"n\":1")]).unwrap();
        assert!(message.contains("line 3: expected an op that was not invoked before"), "{message}");
    }

    #[test]
    fn keys_must_be_columns() {
        assert!(refusal("nobody", &[]).unwrap().contains("keys of db.t among its columns, found `nobody`"));
    }
}
