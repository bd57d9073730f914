//! Reads of one table, at the places that the kinds name.

use std::collections::BTreeMap;

use models::contract::{Failure, FailureCode, Filter, TablePath, Value, coerce};
use models::paimon::{FilesystemCatalog, LakeAccess, PaimonTable, Snapshot};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::cells::row_json;

/// One read; what it must return is for others to compare.
#[derive(Deserialize)]
pub struct Read {
    /// `latest`, `snapshot:N`, `tag:T` or `branch:B`.
    pub at: String,
    /// Column = value, all of them; NULL is NULL.
    #[serde(default, rename = "where")]
    pub conditions: BTreeMap<String, Json>,
}

/// The rows that a read finds, as JSON objects.
pub async fn rows(lake: &LakeAccess, path: &TablePath, read: &Read) -> Result<Vec<Json>, Failure> {
    let table = FilesystemCatalog::new(lake.clone()).table(path).await?;
    let Some(snapshot) = snapshot(&table, &read.at).await? else {
        return Ok(Vec::new());
    };
    let filter = filter(&table, read)?;
    let buckets = table.scan(&snapshot, &filter).await?;
    Ok(buckets.values().flatten().map(|row| row_json(table.schema(), row)).collect())
}

async fn snapshot(table: &PaimonTable, place: &str) -> Result<Option<Snapshot>, Failure> {
    match place.split_once(':') {
        None if place == "latest" => table.latest_snapshot().await,
        Some(("snapshot", id)) => {
            let id = id.parse().map_err(|_| Failure::invalid(format!("expected snapshot:N, found {place:?}")))?;
            table.snapshot(id).await.map(Some)
        }
        _ => Err(Failure::definite(FailureCode::Unsupported, format!("reads at {place:?}"))),
    }
}

fn filter(table: &PaimonTable, read: &Read) -> Result<Filter, Failure> {
    let condition = |(name, cell): (&String, &Json)| {
        let column = table.schema().columns.iter().find(|column| column.name == *name);
        let column = column.ok_or_else(|| Failure::invalid(format!("expected a column, found `{name}`")))?;
        let cell: Value = serde_json::from_value(cell.clone())
            .map_err(|error| Failure::invalid(format!("column `{name}`: {error}")))?;
        coerce(cell, &column.data_type).map(|cell| (name.clone(), cell)).map_err(Failure::invalid)
    };
    read.conditions.iter().map(condition).collect()
}
