//! Time travel: which snapshot is meant by a time, a tag or a watermark, and the table as it was then.

use crate::contract::{Failure, FailureCode};

use super::super::directory::parse_canonical;
use super::super::{PaimonTable, Snapshot};

/// What a version of this beginning means is a watermark.
const WATERMARK_PREFIX: &str = "watermark-";

/// A place in a table's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeTravel {
    /// The snapshot of this number.
    SnapshotId(u64),
    /// What was the newest snapshot at this time (inclusive), in milliseconds since 1970-01-01T00:00Z.
    Timestamp(u64),
    /// What was tagged.
    Tag(String),
    /// The oldest snapshot whose watermark is this one or later, in milliseconds since 1970-01-01T00:00Z.
    Watermark(i64),
    /// As `VERSION AS OF` has it: a tag's name, else `watermark-` and a watermark, else a snapshot's number.
    Version(String),
}

impl PaimonTable {
    /// The snapshot that is meant; `not-found` if there is none. Snapshots that have expired are found by their tags
    /// only. Where clocks went backwards, the newest snapshot that is not younger than asked for is meant, newest by
    /// its number.
    pub async fn snapshot_at(&self, place: &TimeTravel) -> Result<Snapshot, Failure> {
        match place {
            TimeTravel::SnapshotId(snapshot_id) => self.snapshot(*snapshot_id).await,
            TimeTravel::Tag(name) => Ok(self.tag(name).await?.snapshot),
            TimeTravel::Timestamp(time_ms) => {
                let ids = self.snapshot_ids().await?;
                let found = self.first_of(ids.into_iter().rev(), |snapshot| snapshot.time_millis <= *time_ms).await?;
                found.ok_or_else(|| self.nothing_there(&format!("no snapshot at or before {time_ms} ms")))
            }
            TimeTravel::Watermark(watermark) => {
                let ids = self.snapshot_ids().await?;
                let reaches = |snapshot: &Snapshot| snapshot.watermark.is_some_and(|found| found >= *watermark);
                let found = self.first_of(ids.into_iter(), reaches).await?;
                found
                    .ok_or_else(|| self.nothing_there(&format!("no snapshot with a watermark of {watermark} or later")))
            }
            TimeTravel::Version(version) => self.snapshot_of_version(version).await,
        }
    }

    /// The snapshot that is meant, and the table to read it with: with the columns that it had then (L13).
    pub async fn travel_to(&self, place: &TimeTravel) -> Result<(PaimonTable, Snapshot), Failure> {
        let snapshot = self.snapshot_at(place).await?;
        Ok((self.in_schema(snapshot.schema_id).await?, snapshot))
    }

    async fn snapshot_of_version(&self, version: &str) -> Result<Snapshot, Failure> {
        match self.tag(version).await {
            Ok(tag) => return Ok(tag.snapshot),
            Err(failure) if failure.code == FailureCode::NotFound => {}
            Err(failure) => return Err(failure),
        }
        let place = match version.strip_prefix(WATERMARK_PREFIX) {
            Some(watermark) => watermark.parse().ok().map(TimeTravel::Watermark),
            None => parse_canonical(version).map(TimeTravel::SnapshotId),
        };
        match place {
            Some(place) => Box::pin(self.snapshot_at(&place)).await,
            None => Err(self.nothing_there(&format!("neither a tag nor a snapshot {version:?}"))),
        }
    }

    /// The first snapshot for which this holds. Those that expire meanwhile are passed over.
    async fn first_of(
        &self,
        ids: impl Iterator<Item = u64>,
        holds: impl Fn(&Snapshot) -> bool,
    ) -> Result<Option<Snapshot>, Failure> {
        for snapshot_id in ids {
            match self.snapshot(snapshot_id).await {
                Ok(snapshot) if holds(&snapshot) => return Ok(Some(snapshot)),
                Err(failure) if failure.code != FailureCode::NotFound => return Err(failure),
                _ => {}
            }
        }
        Ok(None)
    }

    fn nothing_there(&self, what: &str) -> Failure {
        Failure::not_found(format!("table {} has {what}", self.path))
    }
}
