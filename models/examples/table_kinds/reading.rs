//! Reads of one kind.

use models::contract::{Failure, FailureCode, Filter, TablePath, Value, coerce};
use models::paimon::{FilesystemCatalog, LakeAccess, PaimonTable, Snapshot};
use serde_json::{Value as Json, json};

use crate::cells::row_json;
use crate::kinds::{Kind, Read};
use crate::refusal;

/// One answer for each read; a read that fails does not stop the others.
pub async fn read(lake: &LakeAccess, path: &TablePath, kind: &Kind) -> Vec<Json> {
    let mut answers = Vec::new();
    for read in &kind.reads {
        answers.push(match rows(lake, path, read).await {
            Ok(rows) => json!({ "rows": rows }),
            Err(failure) => refusal(&failure),
        });
    }
    answers
}

async fn rows(lake: &LakeAccess, path: &TablePath, read: &Read) -> Result<Vec<Json>, Failure> {
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
