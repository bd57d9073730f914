//! Reads of one table, at the places that the kinds name.

use std::collections::BTreeMap;

use models::contract::{Failure, FailureCode, Filter, Row, RowKind, TablePath, TypedRow, Value, coerce};
use models::paimon::{FilesystemCatalog, LakeAccess, PaimonTable};
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// One read; what it must return is for others to compare.
#[derive(Deserialize)]
pub struct Read {
    /// `latest`, `snapshot:N`, `tag:T`, `branch:B` or `changelog:N`.
    pub at: String,
    /// Column = value, all of them; NULL is NULL.
    #[serde(default, rename = "where")]
    pub conditions: BTreeMap<String, Json>,
}

/// The rows that a read finds, as JSON objects.
pub async fn rows(lake: &LakeAccess, path: &TablePath, read: &Read) -> Result<Vec<Json>, Failure> {
    let table = FilesystemCatalog::new(lake.clone()).table(path).await?;
    let snapshot = match read.at.split_once(':') {
        None if read.at == "latest" => table.latest_snapshot().await?,
        Some(("snapshot", id)) => Some(table.snapshot(number(id)?).await?),
        Some(("changelog", id)) => return changes(&table, number(id)?).await,
        _ => return Err(Failure::definite(FailureCode::Unsupported, format!("reads at {:?}", read.at))),
    };
    let Some(snapshot) = snapshot else {
        return Ok(Vec::new());
    };
    let filter = filter(&table, read)?;
    let buckets = table.scan(&snapshot, &filter).await?;
    Ok(buckets.values().flatten().map(|row| json!(TypedRow { schema: table.schema(), row })).collect())
}

/// What a snapshot's changelog tells, with the kind of each change as another column.
async fn changes(table: &PaimonTable, snapshot_id: u64) -> Result<Vec<Json>, Failure> {
    let snapshot = table.snapshot(snapshot_id).await?;
    let buckets = table.changelog(&snapshot).await?;
    let change_json = |(kind, row): &(RowKind, Row)| {
        let mut cells = json!(TypedRow { schema: table.schema(), row });
        cells["rowkind"] = json!(kind);
        cells
    };
    Ok(buckets.values().flatten().map(change_json).collect())
}

fn number(text: &str) -> Result<u64, Failure> {
    text.parse().map_err(|_| Failure::invalid(format!("expected the number of a snapshot, found {text:?}")))
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
