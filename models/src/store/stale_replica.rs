//! The planted bug `rt-stale-replica`: after a restart, reads are answered from an older copy for a while.
//!
//! The copy is taken now and then; writes go to the real tables all the time. Nothing here runs in the reference.

use super::early_ack::DiskImage;
use super::tables::{Table, Tables};

/// How old a copy may get, in milliseconds.
pub(super) const COPY_INTERVAL_MS: u64 = 1_500;
/// How long a restarted store answers from it, in milliseconds.
const SERVED_MS: u64 = 2_000;

/// The copy, and until when it answers.
#[derive(Debug, Default)]
pub(super) struct StaleReplica {
    copied: DiskImage,
    served: Tables,
    until_ms_exclusive: u64,
}

impl StaleReplica {
    /// Takes a copy.
    pub fn copy(&mut self, tables: &Tables) {
        self.copied = DiskImage::of(tables);
    }

    /// Serves the newest copy from now on.
    pub fn serve(&mut self, tables: &Tables, now_ms: u64) {
        self.served = tables.clone();
        self.copied.restore(&mut self.served);
        self.until_ms_exclusive = now_ms + SERVED_MS;
    }

    /// The older state of a table, while it is served. A copy without columns that the table got since is of no use.
    pub fn of(&self, table: &Table, now_ms: u64) -> Option<&Table> {
        if now_ms >= self.until_ms_exclusive {
            return None;
        }
        let older = self.served.get(table.definition.table_id).ok()?;
        (older.definition.schema.columns == table.definition.schema.columns).then_some(older)
    }
}
