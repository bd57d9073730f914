//! The bulk load of a key table's state, when a lake table with history is promoted (P4, P8).
//!
//! Rows are staged bucket by bucket where nobody sees them, and become the state of all buckets in one step. The log
//! stays empty: what was loaded is the lake's already, so nothing of it is ever tiered. A load belongs to one source;
//! a key table without a published load cannot be registered. The staging area is lost in a crash, and the load is then begun
//! anew. This module must never know how the rows were read.

use std::collections::BTreeMap;

use super::tables::Table;
use crate::contract::{BucketId, Failure, LakeSnapshot, LoadBegun, LoadSource, PartitionValues, Row, TieredOffsets};
use crate::defects::{Defect, Defects};

/// What became of the loads of one table.
#[derive(Clone, Debug, Default)]
pub(super) struct Loading {
    /// How many loads were ever begun; the newest one's id. Durable, so that no id is given twice.
    loads_begun: u64,
    /// The load under way; a crash loses it.
    staging: Option<Staging>,
    /// The newest load that was published: its id and source.
    published: Option<(u64, LoadSource)>,
}

#[derive(Clone, Debug)]
struct Staging {
    source: LoadSource,
    buckets: BTreeMap<BucketId, BTreeMap<Row, Row>>,
}

impl Loading {
    /// What a crash does.
    pub fn crash(&mut self) {
        self.staging = None;
    }

    /// The partitions that only the lake has: their rows before are not in the state.
    pub fn left_out(&self) -> &[PartitionValues] {
        self.published.as_ref().map_or(&[], |(_, source)| &source.left_out)
    }

    /// The source whose rows are the table's state.
    fn complete(&self, defects: &Defects) -> Option<&LoadSource> {
        // Planted bug half-loaded-enabled-after-crash: a load that was begun is taken for one that was completed.
        let begun = self.staging.as_ref().filter(|_| defects.has(Defect::HalfLoadedEnabledAfterCrash));
        begun.map(|staging| &staging.source).or_else(|| self.published.as_ref().map(|(_, source)| source))
    }

    /// The load under way; `rejected` if it is not this one.
    fn staging(&mut self, load_id: u64) -> Result<&mut Staging, Failure> {
        let newest = self.loads_begun;
        self.staging.as_mut().filter(|_| load_id == newest).ok_or_else(|| not_under_way(load_id))
    }

    /// Ends the load under way; `rejected` if it is not this one.
    fn take_staging(&mut self, load_id: u64) -> Result<Staging, Failure> {
        let newest = self.loads_begun;
        self.staging.take_if(|_| load_id == newest).ok_or_else(|| not_under_way(load_id))
    }
}

fn not_under_way(load_id: u64) -> Failure {
    Failure::rejected(format!(
        "expected the load that is under way, found load {load_id}, which is over, lost, or overtaken by another; promote \
         the table again"
    ))
}

/// Whether a promotion has nothing left to do.
///
/// Planted bug second-call-loads-again: it never knows, so a call after success begins from the beginning.
pub(crate) fn is_promoted(enabled: bool, defects: &Defects) -> bool {
    enabled && !defects.has(Defect::SecondCallLoadsAgain)
}

impl Table {
    /// Opens a staging area; see [`crate::contract::Store::begin_load`].
    pub fn begin_load(&mut self, source: LoadSource, defects: &Defects) -> Result<LoadBegun, Failure> {
        self.expect_key_table()?;
        if self.loading.complete(defects) == Some(&source) {
            return Ok(LoadBegun::Published(self.log_ends()));
        }
        self.expect_untouched(defects)?;
        self.loading.loads_begun += 1;
        self.loading.staging = Some(Staging { source, buckets: BTreeMap::new() });
        Ok(LoadBegun::Staging { load_id: self.loading.loads_begun })
    }

    /// Stages the rows of one bucket; see [`crate::contract::Store::stage_load`].
    pub fn stage_load(
        &mut self,
        load_id: u64,
        bucket: &BucketId,
        rows: Vec<Row>,
        defects: &Defects,
    ) -> Result<(), Failure> {
        self.layout.check_bucket(bucket)?;
        rows.iter().try_for_each(|row| self.layout.check_row(bucket, row))?;
        let key_positions = self.expect_key_table()?;
        let by_key: BTreeMap<Row, Row> = rows.into_iter().map(|row| (row.project(key_positions), row)).collect();
        let staging = self.loading.staging(load_id)?;
        // Planted bug bucket-published-early: what is staged is shown.
        if defects.has(Defect::BucketPublishedEarly) {
            self.buckets.entry(bucket.clone()).or_default().load(by_key.clone());
        }
        staging.buckets.insert(bucket.clone(), by_key);
        Ok(())
    }

    /// Makes the staged rows the table's state; see [`crate::contract::Store::publish_load`].
    pub fn publish_load(&mut self, load_id: u64, defects: &Defects) -> Result<TieredOffsets, Failure> {
        if self.loading.published.as_ref().is_some_and(|(published, _)| *published == load_id) {
            return Ok(self.log_ends());
        }
        self.expect_untouched(defects)?;
        let Staging { source, buckets: staged } = self.loading.take_staging(load_id)?;
        // What an earlier load left in other buckets is not part of this one.
        self.buckets.values_mut().for_each(|bucket| bucket.load(BTreeMap::new()));
        for (bucket_id, rows) in staged {
            self.buckets.entry(bucket_id).or_default().load(rows);
        }
        self.buckets.retain(|_, bucket| !bucket.is_empty());
        // Columns may have been added since the rows were staged.
        self.widen_rows();
        self.loading.published = Some((load_id, source));
        Ok(self.log_ends())
    }

    /// Registers what the table's history is; see [`crate::contract::Store::register_source_snapshot`].
    pub fn register_source(&mut self, snapshot: LakeSnapshot, defects: &Defects) -> Result<(), Failure> {
        self.expect_untouched(defects)?;
        snapshot.offsets.keys().try_for_each(|bucket| self.layout.check_bucket(bucket))?;
        if self.layout.key_positions().is_some() && self.loading.complete(defects).is_none() {
            return Err(Failure::rejected(format!(
                "expected a complete load into {} before lake snapshot {} is registered, found none; promote the table \
                 again",
                self.definition.path, snapshot.snapshot_id
            )));
        }
        let snapshot_id = snapshot.snapshot_id;
        if self.definition.schema.lakestream_enabled() {
            self.registry.register(snapshot.into(), defects)?;
        } else {
            self.registry.register_history(snapshot, defects)?;
        }
        self.definition.source_snapshot_id = Some(snapshot_id);
        Ok(())
    }

    /// `rejected` if the table is in the mode or was ever written to: then its state is not the lake's to say.
    fn expect_untouched(&self, defects: &Defects) -> Result<(), Failure> {
        let path = &self.definition.path;
        let enabled = self.definition.schema.lakestream_enabled();
        if is_promoted(enabled, defects) {
            return Err(Failure::rejected(format!(
                "expected {path} to be disabled, found it in lake-stream mode; it is promoted already"
            )));
        }
        if !enabled && self.buckets.values().any(|bucket| bucket.has_log()) {
            return Err(Failure::rejected(format!(
                "expected no data of users in the store's table {path}, found some; a promotion begins with an empty one"
            )));
        }
        Ok(())
    }

    /// The primary key within a row; `rejected` for an append table, which has no state to load.
    fn expect_key_table(&self) -> Result<&[usize], Failure> {
        self.layout.key_positions().ok_or_else(|| {
            Failure::rejected(format!(
                "expected a table with a primary key to load, found the append table {}",
                self.definition.path
            ))
        })
    }

    fn log_ends(&self) -> TieredOffsets {
        let ends =
            self.buckets.iter().map(|(bucket_id, bucket)| (bucket_id.clone(), bucket.log_end_offset_exclusive()));
        ends.collect()
    }
}
