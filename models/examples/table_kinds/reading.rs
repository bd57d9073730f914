//! Reads of one table, at the places that the kinds name.

use std::collections::BTreeMap;

use models::contract::{Failure, Filter, Row, RowKind, TablePath, TypedRow, Value, coerce};
use models::paimon::{CatalogHooks, FilesystemCatalog, LakeAccess, PaimonTable, Snapshot, TimeTravel};
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
    let (table, snapshot) = match read.at.split_once(':') {
        None if read.at == "latest" => with_latest(table).await?,
        Some(("branch", branch)) => with_latest(table.on_branch(branch).await?).await?,
        Some(("tag", tag)) => at(&table, TimeTravel::Tag(tag.to_owned())).await?,
        Some(("snapshot", id)) => at(&table, TimeTravel::SnapshotId(number(id)?)).await?,
        Some(("changelog", id)) => return changes(&table, number(id)?).await,
        _ => return Err(Failure::invalid(format!("expected a place to read at, found {:?}", read.at))),
    };
    let Some(snapshot) = snapshot else {
        return Ok(Vec::new());
    };
    let filter = filter(&table, read)?;
    let buckets = table.scan(&snapshot, &filter).await?;
    Ok(buckets.values().flatten().map(|row| json!(TypedRow { schema: table.schema(), row })).collect())
}

async fn with_latest(table: PaimonTable) -> Result<(PaimonTable, Option<Snapshot>), Failure> {
    let snapshot = table.latest_snapshot().await?;
    Ok((table, snapshot))
}

async fn at(table: &PaimonTable, place: TimeTravel) -> Result<(PaimonTable, Option<Snapshot>), Failure> {
    let (table, snapshot) = table.travel_to(&place).await?;
    Ok((table, Some(snapshot)))
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
