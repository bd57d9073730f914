//! What a table tells about itself as rows: `t$snapshots`, `t$schemas`, `t$options`, with the columns that Paimon gives
//! them.
//!
//! They are read from the metadata files alone, never from data files, and belong to the branch that they are asked of.
//! Paimon has more of them; names that are not offered here are not found.

use serde::Serialize;

use crate::contract::{Column, DataType, Failure, FailureCode, Row, TableSchema, Value};

use super::directory::numbers_after;
use super::lake_access::read_referenced;
use super::table::decode_schema;
use super::{CommitKind, PaimonTable, SchemaFile, Snapshot};

impl PaimonTable {
    /// The definition and the rows of one of this table's system tables; `not-found` if none is named so.
    pub async fn system_table(&self, name: &str) -> Result<(TableSchema, Vec<Row>), Failure> {
        match name {
            "snapshots" => Ok((snapshots_schema(), self.snapshot_rows().await?)),
            "schemas" => Ok((schemas_schema(), self.schema_rows().await?)),
            "options" => Ok((options_schema(), option_rows(self.schema()))),
            _ => Err(Failure::not_found(format!(
                "expected a system table among [options, schemas, snapshots] of table {}, found {name:?}",
                self.path
            ))),
        }
    }

    async fn snapshot_rows(&self) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        for snapshot_id in self.snapshot_ids().await? {
            match self.snapshot(snapshot_id).await {
                Ok(snapshot) => rows.push(snapshot_row(&snapshot)),
                // It expired meanwhile.
                Err(failure) if failure.code == FailureCode::NotFound => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(rows)
    }

    async fn schema_rows(&self) -> Result<Vec<Row>, Failure> {
        let directory = self.directory.schema_directory();
        let listed = self.lake.objects.list(&directory).await?;
        let mut rows = Vec::new();
        for schema_id in numbers_after(&listed, &directory, "schema-") {
            let path = self.directory.schema(schema_id);
            let bytes = read_referenced(&*self.lake.objects, &path).await?;
            rows.push(schema_row(&decode_schema(&path, schema_id, &bytes)?)?);
        }
        Ok(rows)
    }
}

fn column(name: &str, data_type: DataType, nullable: bool) -> Column {
    Column { name: name.to_owned(), data_type, nullable }
}

fn schema(columns: Vec<Column>, primary_key: &str) -> TableSchema {
    TableSchema {
        columns,
        primary_key: vec![primary_key.to_owned()],
        partition_keys: Vec::new(),
        options: Default::default(),
    }
}

fn snapshots_schema() -> TableSchema {
    let columns = vec![
        column("snapshot_id", DataType::BigInt, false),
        column("schema_id", DataType::BigInt, false),
        column("commit_user", DataType::STRING, false),
        column("commit_identifier", DataType::BigInt, false),
        column("commit_kind", DataType::STRING, false),
        column("commit_time", DataType::Timestamp(3), false),
        column("base_manifest_list", DataType::STRING, false),
        column("delta_manifest_list", DataType::STRING, false),
        column("changelog_manifest_list", DataType::STRING, true),
        column("total_record_count", DataType::BigInt, true),
        column("delta_record_count", DataType::BigInt, true),
        column("changelog_record_count", DataType::BigInt, true),
        column("watermark", DataType::BigInt, true),
    ];
    schema(columns, "snapshot_id")
}

fn schemas_schema() -> TableSchema {
    let columns = vec![
        column("schema_id", DataType::BigInt, false),
        column("fields", DataType::STRING, false),
        column("partition_keys", DataType::STRING, false),
        column("primary_keys", DataType::STRING, false),
        column("options", DataType::STRING, false),
        column("comment", DataType::STRING, true),
        column("update_time", DataType::Timestamp(3), false),
    ];
    schema(columns, "schema_id")
}

fn options_schema() -> TableSchema {
    schema(vec![column("key", DataType::STRING, false), column("value", DataType::STRING, false)], "key")
}

fn snapshot_row(snapshot: &Snapshot) -> Row {
    let kind = match snapshot.commit_kind {
        CommitKind::Append => "APPEND",
        CommitKind::Compact => "COMPACT",
        CommitKind::Overwrite => "OVERWRITE",
        CommitKind::Analyze => "ANALYZE",
    };
    Row::new(vec![
        number(snapshot.id),
        number(snapshot.schema_id),
        Value::string(&snapshot.commit_user),
        Value::Int(snapshot.commit_identifier),
        Value::string(kind),
        time(snapshot.time_millis),
        Value::string(&snapshot.base_manifest_list),
        Value::string(&snapshot.delta_manifest_list),
        snapshot.changelog_manifest_list.as_deref().map_or(Value::Null, Value::string),
        Value::Int(snapshot.total_record_count),
        Value::Int(snapshot.delta_record_count),
        snapshot.changelog_record_count.map_or(Value::Null, Value::Int),
        snapshot.watermark.map_or(Value::Null, Value::Int),
    ])
}

fn schema_row(file: &SchemaFile) -> Result<Row, Failure> {
    Ok(Row::new(vec![
        number(file.id),
        json(&file.fields)?,
        json(&file.partition_keys)?,
        json(&file.primary_keys)?,
        json(&file.options)?,
        file.comment.as_deref().map_or(Value::Null, Value::string),
        time(file.time_millis),
    ]))
}

fn option_rows(schema: &TableSchema) -> Vec<Row> {
    schema.options.iter().map(|(key, value)| Row::new(vec![Value::string(key), Value::string(value)])).collect()
}

fn json(part: &impl Serialize) -> Result<Value, Failure> {
    let text = serde_json::to_string(part).map_err(|error| Failure::internal(error.to_string()))?;
    Ok(Value::string(&text))
}

/// Ids are far below the largest BIGINT; a forged one that is not is shown as the largest.
fn number(id: u64) -> Value {
    Value::Int(i64::try_from(id).unwrap_or(i64::MAX))
}

fn time(millis: u64) -> Value {
    Value::Timestamp { millis: i64::try_from(millis).unwrap_or(i64::MAX), nanos_of_milli: 0 }
}
