//! The steps of one kind.

use std::collections::BTreeMap;

use models::contract::{BucketId, Failure, FailureCode, Row, RowKind, TablePath, TableSchema, Value};
use models::paimon::{
    Catalog, CatalogHooks, CommitMode, CommitRequest, Committable, CompactionKind, FilesystemCatalog, LakeAccess,
    OverwriteScope, PaimonTable, Precondition, Retained, Retention, RollbackTarget,
};
use serde_json::Value as Json;

use crate::alterations::schema_change;
use crate::kinds::{Kind, Step, conform};

/// One table in the making.
struct Writer<'a> {
    lake: &'a LakeAccess,
    path: &'a TablePath,
    /// The number of changes so far.
    written: u64,
    /// The number of commits so far: it keys the draws and numbers the commits.
    commits: u64,
}

/// Creates the table and takes its steps. Returns the number of changes written.
pub async fn write(lake: &LakeAccess, path: &TablePath, kind: &Kind) -> Result<u64, Failure> {
    let schema: TableSchema = serde_json::from_value(kind.schema.clone())
        .map_err(|error| Failure::definite(FailureCode::Unsupported, format!("the schema: {error}")))?;
    let mut writer = Writer { lake, path, written: 0, commits: 0 };
    writer.catalog().create_table(path, &schema, false).await?;
    for step in &kind.steps {
        writer.take(step).await?;
    }
    Ok(writer.written)
}

impl Writer<'_> {
    fn catalog(&self) -> FilesystemCatalog {
        FilesystemCatalog::new(self.lake.clone())
    }

    /// A name that no other commit has.
    fn next_subject(&mut self) -> String {
        self.commits += 1;
        format!("{}/{}", self.path, self.commits)
    }

    async fn take(&mut self, step: &Step) -> Result<(), Failure> {
        let table = self.catalog().table(self.path).await?;
        let table = match &step.on_branch {
            Some(branch) => table.on_branch(branch).await?,
            None => table,
        };
        if let Some(changes) = &step.write {
            let changes = conform(changes, table.schema())?;
            self.commit_changes(&table, CommitMode::Append, &changes).await?;
            return self.compact_where_reads_need_it(&table).await;
        }
        if let Some(changes) = &step.overwrite {
            let changes = conform(changes, table.schema())?;
            let partitions = match &step.partition {
                Some(values) => OverwriteScope::Static(cells(values)?),
                None => OverwriteScope::Dynamic,
            };
            return self.commit_changes(&table, CommitMode::Overwrite { partitions }, &changes).await;
        }
        if let Some(values) = &step.drop_partition {
            let partitions = OverwriteScope::Static(cells(values)?);
            return self.commit_changes(&table, CommitMode::Overwrite { partitions }, &[]).await;
        }
        if step.compact.is_some() {
            return self.compact(&table, CompactionKind::Full).await;
        }
        if step.truncate.is_some() {
            let subject = self.next_subject();
            return self.catalog().truncate_table(self.path, &subject).await;
        }
        if let Some(changes) = &step.alter {
            let changes = changes.iter().map(schema_change).collect::<Result<Vec<_>, _>>()?;
            return self.catalog().alter_table(self.path, &changes).await;
        }
        self.move_heads(&table, step).await
    }

    /// The steps that make or move heads: tags, branches, rollback, expiry.
    async fn move_heads(&mut self, table: &PaimonTable, step: &Step) -> Result<(), Failure> {
        if let Some(tag) = &step.tag {
            return table.create_tag(tag, None, None, false).await;
        }
        if let Some(branch) = &step.branch {
            return table.create_branch(branch, step.from_tag.as_deref()).await;
        }
        if let Some(tag) = &step.rollback {
            return table.rollback_to(&RollbackTarget::Tag(tag.clone())).await;
        }
        if let Some(tag) = &step.rollback_as_latest {
            let subject = self.next_subject();
            return table.rollback_to_as_latest(&subject, &RollbackTarget::Tag(tag.clone())).await.map(|_| ());
        }
        if let Some(expire) = &step.expire {
            let kept = Retained { at_least: 1, at_most: expire.retain_max, time_ms: 0 };
            let retention = Retention { snapshots: kept, changelogs: kept, limit: u64::MAX };
            return table.expire_snapshots(&retention).await.map(|_| ());
        }
        Err(Failure::invalid("expected a step that says what to do, found none"))
    }

    async fn commit_changes(
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
        let subject = self.next_subject();
        let committable = table.write(&subject, base.as_ref(), &buckets).await?;
        self.written += changes.len() as u64;
        self.commit(table, subject, mode, committable).await
    }

    async fn compact(&mut self, table: &PaimonTable, kind: CompactionKind) -> Result<(), Failure> {
        let Some(base) = table.latest_snapshot().await? else {
            return Ok(());
        };
        let subject = self.next_subject();
        match table.compact(&subject, &base, kind).await? {
            Some(committable) => self.commit(table, subject, CommitMode::Compact, committable).await,
            None => Ok(()),
        }
    }

    /// Readers of some tables look past files that no compaction has seen; there Paimon's writers compact what they
    /// write.
    async fn compact_where_reads_need_it(&mut self, table: &PaimonTable) -> Result<(), Failure> {
        let needs =
            [("deletion-vectors.enabled", "true"), ("merge-engine", "first-row"), ("changelog-producer", "lookup")];
        let options = &table.schema().options;
        if needs.iter().any(|(option, value)| options.get(*option).is_some_and(|found| found == value)) {
            self.compact(table, CompactionKind::Automatic).await?;
        }
        Ok(())
    }

    /// Commits, each time as a user of its own.
    async fn commit(
        &self,
        table: &PaimonTable,
        subject: String,
        mode: CommitMode,
        committable: Committable,
    ) -> Result<(), Failure> {
        let request = CommitRequest {
            user: format!("interop-{}", self.commits),
            identifier: self.commits,
            subject,
            mode,
            properties: BTreeMap::new(),
            committable,
            precondition: Precondition::None,
        };
        table.commit(request).await.map(|_| ())
    }
}

fn cells(values: &BTreeMap<String, Json>) -> Result<BTreeMap<String, Value>, Failure> {
    let cell = |(name, cell): (&String, &Json)| {
        let cell = serde_json::from_value(cell.clone());
        cell.map(|cell| (name.clone(), cell)).map_err(|error| Failure::invalid(format!("column `{name}`: {error}")))
    };
    values.iter().map(cell).collect()
}
