//! How events are told in arguments: who did what, in which event.

use super::index::{End, Index, Operation};
use super::known_log::Bucket;
use super::table::{Read, Table};

/// `the row w=17 (insert of db.t by session w1, event 12, acked in event 14)`.
pub fn write(index: &Index, table: &Table, write: u32) -> String {
    let operation = &index.operations[table.writes.get(write).operation];
    let end = match operation.end {
        End::Ok(at, _) => format!("acked in event {}", at.n),
        End::Failed { at, definite: true, .. } => format!("certainly failed in event {}", at.n),
        End::Failed { at, .. } => format!("failed with its effect unknown in event {}", at.n),
        End::Open => "never answered".to_owned(),
    };
    format!(
        "{} ({} of {} by session {}, event {}, {end})",
        table.writes.name(write),
        operation.statement.name(),
        table.path,
        operation.session,
        operation.invoked.n
    )
}

/// The ordinals of the events of a write and of a read.
pub fn events(index: &Index, table: &Table, writes: &[u32], reads: &[&Read]) -> Vec<u64> {
    let of_writes = writes.iter().flat_map(|write| index.operations[table.writes.get(*write).operation].events());
    let of_reads = reads.iter().flat_map(|read| [read.invoked.n, read.answered.n]);
    of_writes.chain(of_reads).collect()
}

/// `insert of db.t by session w1 (event 12, succeeded in event 14)`.
pub fn statement(operation: &Operation) -> String {
    let end = match operation.end {
        End::Ok(at, _) => format!("succeeded in event {}", at.n),
        End::Failed { at, code, definite, .. } => {
            let effect = if definite { "certainly without effect" } else { "effect unknown" };
            format!("failed as {code:?} in event {}, {effect}", at.n)
        }
        End::Open => "never answered".to_owned(),
    };
    format!(
        "{} of {} by session {} (event {}, {end})",
        operation.statement.name(),
        operation.statement.table(),
        operation.session,
        operation.invoked.n
    )
}

/// `select of db.t$rt by session r1 (event 30, answered in event 33)`.
pub fn read(index: &Index, read: &Read) -> String {
    let operation = &index.operations[read.operation];
    format!(
        "{} of {}{} by session {} (event {}, answered in event {})",
        operation.statement.name(),
        operation.statement.table(),
        if read.real_time { "$rt" } else { "" },
        operation.session,
        read.invoked.n,
        read.answered.n
    )
}

/// `2`, or `2 of dt=d1`.
pub fn bucket((partition, bucket): Bucket) -> String {
    match partition {
        Some(partition) => format!("{bucket} of {partition}"),
        None => bucket.to_string(),
    }
}
