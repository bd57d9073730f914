//! Reads of the base name: the lake's snapshots, and nothing else (rules 26, 27; C16, F4, F6).
//!
//! This module must never call the store, whatever the table's mode.

use std::collections::BTreeMap;

use crate::contract::{Failure, Filter, Output, Row, RowSet, Value};
use crate::paimon::{PaimonTable, Snapshot};

use super::client::Client;
use super::filter::BoundFilter;

impl Client {
    /// SELECT of the newest snapshot, or of the one that the statement names.
    pub(super) async fn select_from_lake(
        &self,
        table: &PaimonTable,
        filter: &Filter,
        at_snapshot: Option<u64>,
    ) -> Result<Output, Failure> {
        let filter = BoundFilter::bind(filter, table.schema())?;
        let snapshot = match at_snapshot {
            Some(snapshot_id) => Some(self.patience.read(async || table.snapshot(snapshot_id).await).await?),
            None => self.patience.read(async || table.latest_snapshot().await).await?,
        };
        let rows = match &snapshot {
            Some(snapshot) => self.scan_lake(table, snapshot, &filter).await?,
            None => Vec::new(),
        };
        let rows = RowSet { columns: table.schema().column_names(), rows };
        Ok(Output::Rows { rows, snapshot_id: snapshot.map(|snapshot| snapshot.id) })
    }

    /// A point lookup: a scan that the key prunes to one bucket, so that both always agree (L17).
    pub(super) async fn look_up_in_lake(
        &self,
        table: &PaimonTable,
        key: &BTreeMap<String, Value>,
    ) -> Result<Output, Failure> {
        let key = BoundFilter::bind_key(key, table.schema())?;
        let rows = match self.patience.read(async || table.latest_snapshot().await).await? {
            Some(snapshot) => self.scan_lake(table, &snapshot, &key).await?,
            None => Vec::new(),
        };
        Ok(Output::Found { row: RowSet { columns: table.schema().column_names(), rows } })
    }

    async fn scan_lake(
        &self,
        table: &PaimonTable,
        snapshot: &Snapshot,
        filter: &BoundFilter,
    ) -> Result<Vec<Row>, Failure> {
        let buckets = self.patience.read(async || table.scan(snapshot, filter.by_name()).await).await?;
        Ok(buckets.into_values().flatten().collect())
    }
}
