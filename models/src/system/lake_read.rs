//! Reads of the base name: the lake's snapshots, and nothing else (rules 26, 27; C16, F4, F6).
//!
//! This module must never call the store, whatever the table's mode.

use std::collections::BTreeMap;

use crate::contract::{Failure, FailureCode, Filter, Output, Row, RowSet, Value};
use crate::defects::Defect;
use crate::paimon::{PaimonTable, Snapshot, TimeTravel};

use super::client::Client;
use super::filter::BoundFilter;

impl Client {
    /// SELECT of the newest snapshot, or of a place in the table's history.
    pub(super) async fn select_from_lake(
        &self,
        table: &PaimonTable,
        filter: &Filter,
        place: Option<TimeTravel>,
    ) -> Result<Output, Failure> {
        if let Some(place) = place {
            return self.select_from_history(table, filter, &place).await;
        }
        let filter = BoundFilter::bind(filter, table.schema())?;
        let snapshot = self.newest_snapshot(table).await?;
        self.rows_of_snapshot(table, snapshot, &filter).await
    }

    async fn newest_snapshot(&self, table: &PaimonTable) -> Result<Option<Snapshot>, Failure> {
        let newest = self.patience.read(async || table.latest_snapshot().await).await?;
        match newest {
            // Planted bug gone-for-good: what storage says of the newest snapshot's file is believed over the file.
            Some(newest) if self.lake.defects.has(Defect::GoneForGood) => {
                let of_session = self.planted.snapshot_of_session(&self.lake, table, newest);
                of_session.await.map(Some)
            }
            newest => Ok(newest),
        }
    }

    /// SELECT of the snapshot that was the newest there, with the columns and options that the table had then. A time
    /// before the first snapshot has no rows.
    async fn select_from_history(
        &self,
        table: &PaimonTable,
        filter: &Filter,
        place: &TimeTravel,
    ) -> Result<Output, Failure> {
        match self.patience.read(async || table.travel_to(place).await).await {
            Ok((table, snapshot)) => {
                let filter = BoundFilter::bind(filter, table.schema())?;
                self.rows_of_snapshot(&table, Some(snapshot), &filter).await
            }
            Err(failure) if failure.code == FailureCode::NotFound && matches!(place, TimeTravel::Timestamp(_)) => {
                let filter = BoundFilter::bind(filter, table.schema())?;
                self.rows_of_snapshot(table, None, &filter).await
            }
            Err(failure) => Err(failure),
        }
    }

    async fn rows_of_snapshot(
        &self,
        table: &PaimonTable,
        snapshot: Option<Snapshot>,
        filter: &BoundFilter,
    ) -> Result<Output, Failure> {
        let rows = match &snapshot {
            Some(snapshot) => self.scan_lake(table, snapshot, filter).await?,
            None => Vec::new(),
        };
        let rows = RowSet { columns: table.schema().column_names(), rows };
        Ok(Output::Rows { rows, snapshot_id: snapshot.map(|snapshot| snapshot.id) })
    }

    /// SELECT of what Paimon tells about a table, as it is now.
    pub(super) async fn select_from_system_table(
        &self,
        table: &PaimonTable,
        name: &str,
        filter: &Filter,
    ) -> Result<Output, Failure> {
        let (schema, rows) = self.patience.read(async || table.system_table(name).await).await?;
        let filter = BoundFilter::bind(filter, &schema)?;
        let rows = rows.into_iter().filter(|row| filter.matches(row)).collect();
        Ok(Output::Rows { rows: RowSet { columns: schema.column_names(), rows }, snapshot_id: None })
    }

    /// A point lookup: a scan that the key prunes to one bucket, so that both always agree (L17).
    pub(super) async fn look_up_in_lake(
        &self,
        table: &PaimonTable,
        key: &BTreeMap<String, Value>,
    ) -> Result<Output, Failure> {
        let key = BoundFilter::bind_key(key, table.schema())?;
        let rows = match self.newest_snapshot(table).await? {
            Some(snapshot) => self.scan_lake(table, &snapshot, &key).await?,
            None => Vec::new(),
        };
        Ok(Output::Found { row: RowSet { columns: table.schema().column_names(), rows } })
    }

    pub(super) async fn scan_lake(
        &self,
        table: &PaimonTable,
        snapshot: &Snapshot,
        filter: &BoundFilter,
    ) -> Result<Vec<Row>, Failure> {
        let buckets = self.patience.read(async || table.scan(snapshot, filter.by_name()).await).await?;
        Ok(buckets.into_values().flatten().collect())
    }
}
