//! Reads of one kind.

use std::collections::HashMap;

use futures::TryStreamExt;
use paimon::arrow::build_target_arrow_schema;
use paimon::catalog::Identifier;
use paimon::spec::{Predicate, PredicateBuilder};
use paimon::{Catalog, Table};
use serde_json::{Value as Json, json};

use crate::cells::{datum, rows};
use crate::{Failure, Unsupported, refusal, text};

/// One answer for each read; a read that fails does not stop the others.
pub async fn read(catalog: &dyn Catalog, identifier: &Identifier, kind: &Json) -> Vec<Json> {
    let mut answers = Vec::new();
    for read in kind["reads"].as_array().into_iter().flatten() {
        answers.push(match read_rows(catalog, identifier, read).await {
            Ok(rows) => json!({ "rows": rows }),
            Err(failure) => refusal(&*failure),
        });
    }
    answers
}

async fn read_rows(catalog: &dyn Catalog, identifier: &Identifier, read: &Json) -> Result<Vec<Json>, Failure> {
    let table = at(catalog, identifier, text(read, "at")).await?;
    let mut builder = table.new_read_builder();
    if let Some(conditions) = read["where"].as_object() {
        let fields = table.schema().fields();
        let arrow = build_target_arrow_schema(fields)?;
        let predicates = PredicateBuilder::new(fields);
        let mut all = Vec::new();
        for (name, cell) in conditions {
            all.push(match datum(arrow.field_with_name(name)?.data_type(), cell)? {
                None => predicates.is_null(name)?,
                Some(literal) => predicates.equal(name, literal)?,
            });
        }
        builder.with_filter(Predicate::and(all));
    }
    let plan = builder.new_scan().plan().await?;
    let batches: Vec<_> = builder.new_read()?.to_arrow(plan.splits())?.try_collect().await?;
    let mut found = Vec::new();
    for batch in &batches {
        found.extend(rows(batch)?);
    }
    if let Some(conditions) = read["where"].as_object() {
        // Files and row groups are pruned by the reader; what it does not promise to filter is filtered here.
        found.retain(|row| conditions.iter().all(|(name, cell)| row[name] == *cell));
    }
    Ok(found)
}

async fn at(catalog: &dyn Catalog, identifier: &Identifier, place: &str) -> Result<Table, Failure> {
    let table = catalog.get_table(identifier).await?;
    let option = |key: &str, value: &str| HashMap::from([(key.to_owned(), value.to_owned())]);
    Ok(match place.split_once(':') {
        None => table,
        Some(("snapshot", id)) => table.copy_with_time_travel_strict(option("scan.snapshot-id", id)).await?,
        Some(("tag", tag)) => table.copy_with_time_travel_strict(option("scan.tag-name", tag)).await?,
        Some(("branch", branch)) => table.copy_with_branch(branch).await?,
        Some(("changelog", _)) => return Err(Unsupported("this driver reads no changelogs".to_owned()).into()),
        Some(_) => return Err(format!("expected latest, snapshot:, tag: or branch:, found {place}").into()),
    })
}
