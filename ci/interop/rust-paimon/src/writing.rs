//! The steps of one kind.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int8Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use paimon::arrow::build_target_arrow_schema;
use paimon::catalog::Identifier;
use paimon::spec::{ColumnMove, Datum, SchemaChange};
use paimon::table::BranchManager;
use paimon::{Catalog, Table};
use serde_json::Value as Json;

use crate::cells::{batch, datum};
use crate::types::{parse, schema};
use crate::{Failure, Unsupported, first_field, text};

/// The values of partition columns; `None` is NULL.
type Partition = HashMap<String, Option<Datum>>;

/// Creates the table and takes its steps. Returns the number of changes written.
pub async fn write(catalog: &dyn Catalog, identifier: &Identifier, kind: &Json) -> Result<usize, Failure> {
    catalog.create_database(identifier.database(), true, HashMap::new()).await?;
    catalog.create_table(identifier, schema(&kind["schema"])?, false).await?;
    let mut written = 0;
    for step in kind["steps"].as_array().into_iter().flatten() {
        written += take(catalog, identifier, step).await?;
    }
    Ok(written)
}

/// Takes a step; returns the number of changes that it wrote.
async fn take(catalog: &dyn Catalog, identifier: &Identifier, step: &Json) -> Result<usize, Failure> {
    let mut table = catalog.get_table(identifier).await?;
    if let Some(branch) = step["on_branch"].as_str() {
        table = table.copy_with_branch(branch).await?;
    }
    let (what, argument) = first_field(step)?;
    match what {
        "write" => return commit(&table, argument).await,
        "overwrite" => return overwrite(&table, argument, &step["partition"]).await,
        "alter" => {
            let changes = argument.as_array().into_iter().flatten().map(schema_change);
            catalog.alter_table(identifier, changes.collect::<Result<_, _>>()?, false).await?;
        }
        "tag" => catalog.create_tag(identifier, argument.as_str().unwrap_or_default(), None, false).await?,
        "branch" => {
            let branches = BranchManager::new(table.file_io().clone(), table.location().to_owned());
            let name = argument.as_str().unwrap_or_default();
            match step["from_tag"].as_str() {
                Some(tag) => branches.create_branch_from_tag(name, tag).await?,
                None => branches.create_branch(name).await?,
            }
        }
        "truncate" => table.new_write_builder().new_commit().truncate_table().await?,
        "drop_partition" => {
            let partition = partition(&table, argument)?;
            table.new_write_builder().new_commit().truncate_partitions(vec![partition]).await?;
        }
        other => return Err(Unsupported(format!("paimon-rs has no `{other}`")).into()),
    }
    Ok(0)
}

async fn commit(table: &Table, changes: &Json) -> Result<usize, Failure> {
    let builder = table.new_write_builder();
    let (batch, written) = changes_batch(table, changes)?;
    let mut write = builder.new_write()?;
    write.write_arrow_batch(&batch).await?;
    let messages = write.prepare_commit().await?;
    builder.new_commit().commit(messages).await?;
    Ok(written)
}

/// Static where the partition is named, dynamic where it is null.
async fn overwrite(table: &Table, changes: &Json, values: &Json) -> Result<usize, Failure> {
    let builder = table.new_write_builder().with_overwrite();
    let (batch, written) = changes_batch(table, changes)?;
    let mut write = builder.new_write()?;
    if written > 0 {
        write.write_arrow_batch(&batch).await?;
    }
    let messages = write.prepare_commit().await?;
    let scope = if values.is_null() { None } else { Some(partition(table, values)?) };
    builder.new_commit().overwrite(messages, scope).await?;
    Ok(written)
}

fn partition(table: &Table, values: &Json) -> Result<Partition, Failure> {
    let arrow = build_target_arrow_schema(table.schema().fields())?;
    let mut partition = HashMap::new();
    for (name, cell) in values.as_object().into_iter().flatten() {
        partition.insert(name.clone(), datum(arrow.field_with_name(name)?.data_type(), cell)?);
    }
    Ok(partition)
}

/// The changes as one batch, with a column of kinds where one is no insert; and how many they are.
fn changes_batch(table: &Table, changes: &Json) -> Result<(RecordBatch, usize), Failure> {
    let changes = changes.as_array().map_or(&[][..], Vec::as_slice);
    let rows: Vec<&Json> = changes.iter().map(|change| &change["row"]).collect();
    let plain = batch(&build_target_arrow_schema(table.schema().fields())?, &rows)?;
    let kinds: Vec<i8> = changes.iter().map(|change| kind_number(text(change, "kind"))).collect::<Result<_, _>>()?;
    if kinds.iter().all(|kind| *kind == 0) {
        return Ok((plain, rows.len()));
    }
    let mut fields: Vec<Arc<Field>> = plain.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new("_VALUE_KIND", DataType::Int8, false)));
    let mut columns = plain.columns().to_vec();
    columns.push(Arc::new(Int8Array::from(kinds)) as ArrayRef);
    Ok((RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?, rows.len()))
}

fn kind_number(kind: &str) -> Result<i8, Failure> {
    let known = ["+I", "-U", "+U", "-D"].iter().position(|known| *known == kind);
    known.map(|number| number as i8).ok_or_else(|| format!("expected the kind of a change, found {kind:?}").into())
}

/// A change as the adapter protocol spells it, with types and positions in addition.
fn schema_change(change: &Json) -> Result<SchemaChange, Failure> {
    let (what, argument) = first_field(change)?;
    let named = |field: &str| text(argument, field).to_owned();
    Ok(match what {
        "add" => SchemaChange::add_column(named("name"), parse(text(argument, "type"))?),
        "drop" => SchemaChange::drop_column(argument.as_str().unwrap_or_default().to_owned()),
        "rename" => SchemaChange::rename_column(named("from"), named("to")),
        "set_type" => SchemaChange::update_column_type(named("column"), parse(text(argument, "type"))?),
        "move" if argument["after"].is_string() => {
            SchemaChange::update_column_position(ColumnMove::move_after(named("column"), named("after")))
        }
        "move" => SchemaChange::update_column_position(ColumnMove::move_first(named("column"))),
        other => return Err(Unsupported(format!("the schema change `{other}`")).into()),
    })
}
