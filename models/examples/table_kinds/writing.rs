//! The steps of one kind.

use std::collections::BTreeMap;

use models::contract::{BucketId, ColumnChange, Failure, FailureCode, Row, RowKind, TablePath, TableSchema, Value};
use models::paimon::{
    CommitMode, CommitRequest, FilesystemCatalog, LakeAccess, OverwriteScope, PaimonTable, Precondition,
};
use serde_json::Value as Json;

use crate::kinds::{Kind, Step, conform};

/// One table in the making.
struct Writer<'a> {
    lake: &'a LakeAccess,
    path: &'a TablePath,
    /// The number of changes so far.
    written: u64,
    /// The number of the step, from 1: it keys the draws and numbers the commits.
    step: u64,
}

/// Creates the table and takes its steps. Returns the number of changes written.
pub async fn write(lake: &LakeAccess, path: &TablePath, kind: &Kind) -> Result<u64, Failure> {
    let schema: TableSchema =
        serde_json::from_value(kind.schema.clone()).map_err(|error| unsupported(&format!("the schema: {error}")))?;
    let mut writer = Writer { lake, path, written: 0, step: 0 };
    writer.catalog().create_table(path, &schema, false).await?;
    for step in &kind.steps {
        writer.step += 1;
        writer.take(step).await?;
    }
    Ok(writer.written)
}

fn unsupported(what: &str) -> Failure {
    Failure::definite(FailureCode::Unsupported, what)
}

impl Writer<'_> {
    fn catalog(&self) -> FilesystemCatalog {
        FilesystemCatalog::new(self.lake.clone())
    }

    fn subject(&self) -> String {
        format!("{}/{}", self.path, self.step)
    }

    async fn take(&mut self, step: &Step) -> Result<(), Failure> {
        let Self { path, .. } = *self;
        if let Some(changes) = &step.write {
            if step.on_branch.is_some() {
                return Err(unsupported("writes to a branch"));
            }
            let table = self.catalog().table(path).await?;
            let changes = conform(changes, table.schema())?;
            return self.commit(&table, CommitMode::Append, &changes).await;
        }
        if let Some(changes) = &step.overwrite {
            let table = self.catalog().table(path).await?;
            let changes = conform(changes, table.schema())?;
            let partitions = match &step.partition {
                Some(values) => OverwriteScope::Static(cells(values)?),
                None => OverwriteScope::Dynamic,
            };
            return self.commit(&table, CommitMode::Overwrite { partitions }, &changes).await;
        }
        if let Some(values) = &step.drop_partition {
            let table = self.catalog().table(path).await?;
            let partitions = OverwriteScope::Static(cells(values)?);
            return self.commit(&table, CommitMode::Overwrite { partitions }, &[]).await;
        }
        if step.truncate.is_some() {
            return self.catalog().truncate_table(path, &self.subject()).await;
        }
        if let Some(changes) = &step.alter {
            let changes = changes.iter().map(column_change).collect::<Result<Vec<_>, _>>()?;
            return self.catalog().alter_columns(path, &changes).await;
        }
        let missing = [
            ("compact", step.compact.is_some()),
            ("tag", step.tag.is_some()),
            ("branch", step.branch.is_some() || step.from_tag.is_some()),
            ("rollback", step.rollback.is_some()),
            ("expire", step.expire.is_some()),
        ];
        let name = missing.iter().find(|(_, present)| *present).map_or("", |(name, _)| *name);
        Err(unsupported(&format!("the step `{name}`")))
    }

    /// Writes the changes and commits them, each step as a user of its own.
    async fn commit(
        &mut self,
        table: &PaimonTable,
        mode: CommitMode,
        changes: &[(RowKind, Row)],
    ) -> Result<(), Failure> {
        let mut buckets: BTreeMap<BucketId, Vec<(RowKind, Row)>> = BTreeMap::new();
        for change in changes {
            buckets.entry(table.bucket_of(&change.1)).or_default().push(change.clone());
        }
        let base = table.latest_snapshot().await?;
        let committable = table.write(&self.subject(), base.as_ref(), &buckets).await?;
        let request = CommitRequest {
            subject: self.subject(),
            user: format!("interop-{}", self.step),
            identifier: self.step,
            mode,
            properties: BTreeMap::new(),
            committable,
            precondition: Precondition::None,
        };
        table.commit(request).await?;
        self.written += changes.len() as u64;
        Ok(())
    }
}

fn cells(values: &BTreeMap<String, Json>) -> Result<BTreeMap<String, Value>, Failure> {
    let cell = |(name, cell): (&String, &Json)| {
        let cell = serde_json::from_value(cell.clone());
        cell.map(|cell| (name.clone(), cell)).map_err(|error| Failure::invalid(format!("column `{name}`: {error}")))
    };
    values.iter().map(cell).collect()
}

fn column_change(change: &Json) -> Result<ColumnChange, Failure> {
    serde_json::from_value(change.clone()).map_err(|error| unsupported(&format!("the schema change {change}: {error}")))
}
