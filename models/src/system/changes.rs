//! The changelog of `$rt`, resumable (F3, L14).
//!
//! Where every bucket's log still reaches back to offset 0, the log alone is the changelog from its start. Otherwise
//! the lake's rows come first, as inserts, and then the log from where the lake ends. A position says where both parts
//! go on; it is opaque to users, bound to the table's id, and must never be trusted: it may be old, or made up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contract::{
    BucketId, BucketOffsets, Change, Failure, FailureCode, Output, Row, RowKind, StoreTable, TablePath, TableSchema,
    TieredOffsets, Value, partition_name,
};
use crate::defects::Defect;
use crate::paimon::PaimonTable;
use crate::points::Point;
use crate::tiering::{decode_offsets, encode_offsets};

use super::client::Client;
use super::filter::BoundFilter;
use super::union_read::{PLANS, UnionSource};

/// Where the changelog begins.
const EARLIEST: &str = "earliest";

/// How far a reader has come.
struct Position {
    /// The lake's part, until it has been read to its end.
    lake: Option<LakePosition>,
    /// Where each bucket's log goes on (inclusive); buckets that are absent go on at 0.
    log: TieredOffsets,
}

/// How far a reader has come in the lake's part.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct LakePosition {
    /// The snapshot: its rows come in the same order whenever it is read.
    snapshot_id: u64,
    /// The number of its rows that were already returned.
    rows_read: u64,
}

/// A position as its reader keeps it.
#[derive(Serialize, Deserialize)]
struct PositionText {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lake: Option<LakePosition>,
    /// Table id and offsets, as in a snapshot's offsets property.
    log: String,
}

impl Position {
    fn encode(&self, store_table: &StoreTable) -> Result<String, Failure> {
        let log = encode_offsets(store_table.table_id, &self.log, &store_table.schema)?;
        serde_json::to_string(&PositionText { lake: self.lake, log })
            .map_err(|error| Failure::definite(FailureCode::Internal, format!("a position is not JSON: {error}")))
    }

    /// `invalid` if it is not a position, or one of another table.
    fn decode(text: &str, store_table: &StoreTable) -> Result<Self, Failure> {
        let unreadable = |problem: String| {
            Failure::invalid(format!(
                "expected `{EARLIEST}` or a position that an earlier answer returned, found {text:?}: {problem}"
            ))
        };
        let position: PositionText = serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        let (table_id, log) = decode_offsets(&position.log, &store_table.schema).map_err(unreadable)?;
        if table_id != store_table.table_id {
            return Err(Failure::invalid(format!(
                "the position belongs to an earlier table of the name `{}`: start again from `{EARLIEST}`",
                store_table.path
            )));
        }
        Ok(Self { lake: position.lake, log })
    }
}

impl Client {
    /// The next changes from a position on, at most `max`.
    pub(super) async fn read_changes(
        &self,
        path: &TablePath,
        table: &PaimonTable,
        from: &str,
        max: u64,
    ) -> Result<Output, Failure> {
        let store_table = self.store_table(path).await?;
        let source = UnionSource::new(self, table, &store_table);
        let mut reader = ChangeReader { source, changes: Vec::new(), max };
        if from != EARLIEST {
            let position = Position::decode(from, &store_table)?;
            let buckets = reader.source.bucket_offsets().await?;
            return reader.read(position, buckets).await;
        }
        for _ in 0..PLANS {
            let buckets = reader.source.bucket_offsets().await?;
            let Some(position) = reader.earliest(&buckets).await? else { continue };
            match reader.read(position, buckets).await {
                // Overtaken by retention between the plan and the fetch.
                Err(failure) if failure.code == FailureCode::Invalid => reader.changes.clear(),
                answer => return answer,
            }
        }
        Err(reader.source.trimmed_too_far())
    }
}

/// One statement's walk along the changelog.
struct ChangeReader<'a> {
    source: UnionSource<'a>,
    changes: Vec<Change>,
    max: u64,
}

impl ChangeReader<'_> {
    /// Where the changelog begins today; `None` if the lake's end was trimmed off the log meanwhile.
    async fn earliest(&self, buckets: &[BucketOffsets]) -> Result<Option<Position>, Failure> {
        // The history of a promoted table never was in its log (P5).
        let begins_with_log = self.source.store_table.source_snapshot_id.is_none();
        if begins_with_log && buckets.iter().all(|offsets| offsets.log_start_offset_inclusive == 0) {
            return Ok(Some(Position { lake: None, log: TieredOffsets::new() }));
        }
        let lake = self.source.lake_part().await?;
        let is_trimmed =
            |offsets: &BucketOffsets| lake.start_offset_inclusive(&offsets.bucket) < offsets.log_start_offset_inclusive;
        if buckets.iter().any(is_trimmed) {
            return Ok(None);
        }
        let start = lake.snapshot.map(|snapshot| LakePosition { snapshot_id: snapshot.id, rows_read: 0 });
        Ok(Some(Position { lake: start, log: lake.offsets }))
    }

    fn room(&self) -> usize {
        let max = usize::try_from(self.max).unwrap_or(usize::MAX);
        max.saturating_sub(self.changes.len())
    }

    async fn read(&mut self, mut position: Position, buckets: Vec<BucketOffsets>) -> Result<Output, Failure> {
        let lake = position.lake;
        if let Some(lake) = lake {
            self.source.client.lake.environment.reached(Point::ChangesFromLake);
            position.lake = self.read_lake(lake).await?;
        }
        if position.lake.is_none() {
            for offsets in buckets {
                if self.room() == 0 {
                    break;
                }
                self.read_bucket(&mut position, offsets).await?;
            }
        }
        // Planted bug eof-not-remembered: where the lake's part has ended, it begins again.
        if position.lake.is_none() && self.source.client.lake.defects.has(Defect::EofNotRemembered) {
            position.lake = lake.map(|lake| LakePosition { rows_read: 0, ..lake });
        }
        let position = position.encode(self.source.store_table)?;
        Ok(Output::Changes { changes: std::mem::take(&mut self.changes), position })
    }

    /// The lake's rows from this position on, as inserts; where the part goes on, or `None` at its end.
    async fn read_lake(&mut self, lake: LakePosition) -> Result<Option<LakePosition>, Failure> {
        let UnionSource { client, table, .. } = self.source;
        let snapshot = client.patience.read(async || table.snapshot(lake.snapshot_id).await).await;
        let snapshot = snapshot.map_err(|failure| match failure.code {
            FailureCode::NotFound => start_again(&format!("lake snapshot {} is gone", lake.snapshot_id)),
            _ => failure,
        })?;
        let buckets = self.source.scan(Some(&snapshot), &BoundFilter::everything()).await?;
        let already_read = usize::try_from(lake.rows_read).unwrap_or(usize::MAX);
        let rows =
            buckets.into_iter().flat_map(|(bucket, rows)| rows.into_iter().map(move |row| (bucket.clone(), row)));
        let mut rows = rows.skip(already_read);
        let mut rows_read = lake.rows_read;
        while self.room() > 0 {
            let Some((bucket, row)) = rows.next() else { return Ok(None) };
            self.push(&bucket, RowKind::Insert, row, None);
            rows_read += 1;
        }
        Ok(rows.next().map(|_| LakePosition { rows_read, ..lake }))
    }

    /// One bucket's log from this position on, as far as it is durable and there is room.
    async fn read_bucket(&mut self, position: &mut Position, offsets: BucketOffsets) -> Result<(), Failure> {
        let bucket = offsets.bucket;
        let mut next = position.log.get(&bucket).copied().unwrap_or(0);
        if next < offsets.log_start_offset_inclusive {
            self.source.client.lake.environment.reached(Point::ChangesTooOld);
            return Err(log_is_gone(next));
        }
        while next < offsets.log_end_offset_exclusive && self.room() > 0 {
            // Each record takes at least one offset, so this range has no more records than there is room for. It may
            // end between −U and +U.
            let stop = offsets.log_end_offset_exclusive.min(next.saturating_add(self.room() as u64));
            let records = self.source.fetch(&bucket, next, stop).await.map_err(|failure| match failure.code {
                FailureCode::Invalid => log_is_gone(next),
                _ => failure,
            })?;
            for record in records {
                self.push(&bucket, record.kind, record.row, Some(record.offset));
            }
            next = stop;
        }
        position.log.insert(bucket, next);
        Ok(())
    }

    fn push(&mut self, bucket: &BucketId, kind: RowKind, row: Row, offset: Option<u64>) {
        let schema = self.source.table.schema();
        self.changes.push(Change {
            kind,
            row: by_name(schema, &row),
            partition: partition_name(&schema.partition_keys, &bucket.partition),
            bucket: Some(bucket.bucket),
            offset,
        });
    }
}

fn by_name(schema: &TableSchema, row: &Row) -> BTreeMap<String, Value> {
    schema.columns.iter().map(|column| column.name.clone()).zip(row.cells().iter().cloned()).collect()
}

fn log_is_gone(offset: u64) -> Failure {
    start_again(&format!("the log at offset {offset} was trimmed"))
}

fn start_again(why: &str) -> Failure {
    Failure::invalid(format!("the position is too old, {why}: start again from `{EARLIEST}`"))
}
