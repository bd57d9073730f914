//! Promotion: a lake table with history becomes a lake-stream table (P3–P8, rules 61–71).
//!
//! The client of the session drives it, one remote call after the other, so it can die between any two of them:
//! 1. one lake snapshot is fixed, and its rows are read;
//! 2. the store gets disabled metadata of the lake table;
//! 3. a key table's rows are staged in the store, bucket by bucket, and published in one step;
//! 4. the lake's newest snapshot must still be the fixed one; the store registers it;
//! 5. the table is enabled, which the coordinator refuses unless the registered snapshot is the lake's newest.
//!
//! Each step can be repeated, and nothing but the last one shows to readers and writers. A call after a crash goes
//! through the same steps and skips what is done: a source that is published, with the same partitions, is not loaded
//! again, and registering it again changes nothing. A load that was cut short was never published, so its source cannot
//! be registered, and so the table cannot be enabled (P8). An append table has no state and is registered as it is; a
//! key table that never had a snapshot registers nothing.
//!
//! The log begins empty: the history is the lake's, and is read from there. The loaded state serves lookups, and tells
//! updates and deletes the row before.
//!
//! The texts leave open what becomes of partitions that were not selected. Here they stay readable from the lake, by
//! scan and by key, and the store takes no writes to them, because it could not know the rows before; partitions that
//! come later are written as ever. Partitions that the store makes by the clock are not known here.
//!
//! The answer always comes after the last step, so `table.dml-sync` changes nothing. After a failure that is certain
//! nothing has changed; once a step may have had an effect, a failure is indefinite, and the table is disabled still
//! unless the enabling itself got no answer.

use std::collections::BTreeMap;

use crate::contract::{
    DML_SYNC, Failure, FailureCode, Filter, LAKESTREAM_ENABLED, LakeSnapshot, LoadBegun, LoadSource, Output,
    PartitionValues, StoreTable, TablePath, TieredOffsets, Value,
};
use crate::defects::Defect;
use crate::paimon::{PaimonTable, Snapshot};
use crate::points::Point;
use crate::store::is_promoted;

use super::client::{Client, of_the_store};
use super::merge::LakeRows;
use super::partition_selection::left_out;

impl Client {
    /// `CALL` of the promotion procedure. `partitions` are those to load of a partitioned key table; `None` is all.
    pub(super) async fn promote(
        &self,
        path: &TablePath,
        mut properties: BTreeMap<String, String>,
        partitions: Option<&[BTreeMap<String, Value>]>,
    ) -> Result<Output, Failure> {
        properties.remove(DML_SYNC);
        let existing = self.existing_store_table(path).await?;
        let enabled = existing.as_ref().is_some_and(|existing| existing.schema.lakestream_enabled());
        if is_promoted(enabled, &self.lake.defects) {
            self.lake.environment.reached(Point::PromotedAlready);
            return Ok(said(format!("Table {path} is a lake-stream table already; nothing was done.")));
        }
        let lake_table = self.patience.read(async || self.catalog.table(path).await).await?;
        let snapshot = self.patience.read(async || lake_table.latest_snapshot().await).await?;
        let rows = match &snapshot {
            Some(snapshot) => self.rows_of(&lake_table, snapshot).await?,
            None => LakeRows::new(),
        };
        // Planted bug partition-selection-ignored: whatever is selected, all is loaded.
        let partitions = partitions.filter(|_| !self.lake.defects.has(Defect::PartitionSelectionIgnored));
        let left_out = left_out(lake_table.schema(), partitions, rows.keys().map(|bucket| &bucket.partition))?;
        let mut promotion = Promotion { client: self, lake_table, rows, left_out, touched: false };
        let promoted = promotion.run(path, existing, &properties, snapshot).await;
        promoted.map_err(|failure| if promotion.touched { failure.made_indefinite() } else { failure })
    }

    async fn existing_store_table(&self, path: &TablePath) -> Result<Option<StoreTable>, Failure> {
        match self.patience.read(async || self.store_tools.table(path).await).await {
            Ok(table) => Ok(Some(table)),
            Err(failure) if failure.code == FailureCode::NotFound => Ok(None),
            Err(failure) => Err(of_the_store(failure)),
        }
    }

    async fn rows_of(&self, lake_table: &PaimonTable, snapshot: &Snapshot) -> Result<LakeRows, Failure> {
        self.patience.read(async || lake_table.scan(snapshot, &Filter::new()).await).await
    }

    /// A step that may be repeated, until it is answered or patience ends.
    async fn step<T>(&self, call: impl AsyncFn() -> Result<T, Failure>) -> Result<T, Failure> {
        self.patience.repeated(call).await.map_err(of_the_store)
    }
}

/// One call of the procedure, once it is known to have something to do.
struct Promotion<'a> {
    client: &'a Client,
    lake_table: PaimonTable,
    /// Of the fixed snapshot.
    rows: LakeRows,
    /// The partitions of the fixed snapshot that are not to be loaded.
    left_out: Vec<PartitionValues>,
    /// Whether a step may have had an effect that others can see.
    touched: bool,
}

impl Promotion<'_> {
    async fn run(
        &mut self,
        path: &TablePath,
        existing: Option<StoreTable>,
        properties: &BTreeMap<String, String>,
        snapshot: Option<Snapshot>,
    ) -> Result<Output, Failure> {
        let table = match existing {
            Some(table) => {
                self.client.lake.environment.reached(Point::PromotionTookOver);
                table
            }
            None => self.create(path, properties).await?,
        };
        let history = match snapshot {
            Some(snapshot) => {
                self.hand_over(&table, &snapshot).await?;
                format!("its history is lake snapshot {}", snapshot.id)
            }
            None => "it has no history".to_owned(),
        };
        let (client, enable) = (self.client, BTreeMap::from([(LAKESTREAM_ENABLED.to_owned(), true.to_string())]));
        let enabled = client.step(async || client.coordinator.alter_options(path, &enable, &[]).await).await;
        enabled?;
        Ok(said(format!("Table {path} is a lake-stream table now; {history}.")))
    }

    /// Step 2.
    async fn create(&mut self, path: &TablePath, properties: &BTreeMap<String, String>) -> Result<StoreTable, Failure> {
        let client = self.client;
        let create = async || match client.coordinator.create_table_on_lake(path, properties).await {
            // By an earlier try of this step, or by somebody else meanwhile.
            Err(failure) if failure.code == FailureCode::AlreadyExists => Ok(None),
            answer => answer.map(Some),
        };
        let created = client.step(create).await?;
        self.touched = true;
        match created {
            Some(table) => Ok(table),
            None => client.patience.read(async || client.store_tools.table(path).await).await.map_err(of_the_store),
        }
    }

    /// Steps 3 and 4: what the snapshot contains becomes the table's state, if it has one, and its history.
    async fn hand_over(&mut self, table: &StoreTable, snapshot: &Snapshot) -> Result<(), Failure> {
        let (client, table_id) = (self.client, table.table_id);
        // An earlier call may have come this far, perhaps with other partitions: what is loaded already is not loaded
        // again, and what it registered gives way to what is asked for now.
        let source = if table.schema.has_primary_key() {
            self.load(table, snapshot).await?
        } else {
            LakeSnapshot { snapshot_id: snapshot.id, offsets: self.offsets_of_append_table() }
        };
        self.touched = true;
        client.step(async || client.store_tools.register_source_snapshot(table_id, source.clone()).await).await
    }

    /// Nothing of the log is in the lake yet (P3).
    fn offsets_of_append_table(&self) -> TieredOffsets {
        // Planted bug append-table-with-offsets: the rows of the lake pass for rows of the log.
        if self.client.lake.defects.has(Defect::AppendTableWithOffsets) {
            return self.rows.iter().map(|(bucket, rows)| (bucket.clone(), rows.len() as u64)).collect();
        }
        TieredOffsets::new()
    }

    /// Loads one snapshot and says what to register (P4). Fails if the lake has another newest one by then.
    async fn load(&mut self, table: &StoreTable, fixed: &Snapshot) -> Result<LakeSnapshot, Failure> {
        let (client, table_id) = (self.client, table.table_id);
        let defects = &client.lake.defects;
        let source = LoadSource { snapshot_id: fixed.id, left_out: self.left_out.clone() };
        let mut loaded_id = fixed.id;
        let offsets = match client.step(async || client.store_tools.begin_load(table_id, source.clone()).await).await? {
            LoadBegun::Published(offsets) => {
                client.lake.environment.reached(Point::PromotionWasLoaded);
                offsets
            }
            LoadBegun::Staging { load_id } => {
                for (bucket, rows) in &self.rows {
                    if self.left_out.contains(&bucket.partition) {
                        continue;
                    }
                    let mut rows = rows.clone();
                    // Planted bug load-newest-not-fixed: each bucket is read from the snapshot that is newest by now.
                    if defects.has(Defect::LoadNewestNotFixed)
                        && let Some(newest) = self.newest().await?
                    {
                        loaded_id = newest.id;
                        rows = client.rows_of(&self.lake_table, &newest).await?.remove(bucket).unwrap_or_default();
                    }
                    let stage = async || client.store_tools.stage_load(table_id, load_id, bucket, rows.clone()).await;
                    client.step(stage).await?;
                }
                self.touched = true;
                client.step(async || client.store_tools.publish_load(table_id, load_id).await).await?
            }
        };
        let newest = self.newest().await?.map(|newest| newest.id);
        // Planted bug native-commit-during-load-missed: what is newest now passes for what was loaded.
        if defects.has(Defect::NativeCommitDuringLoadMissed) {
            loaded_id = newest.unwrap_or(loaded_id);
        } else if newest != Some(loaded_id) {
            client.lake.environment.reached(Point::PromotionOvertaken);
            return Err(Failure::rejected(format!(
                "expected lake snapshot {loaded_id} of {} to be the newest still, found {}: it was committed to while it \
                 was loaded, so it is not promoted; stop its writers and promote it again",
                table.path,
                newest.map_or_else(|| "none".to_owned(), |newest| newest.to_string())
            )));
        }
        Ok(LakeSnapshot { snapshot_id: loaded_id, offsets })
    }

    async fn newest(&self) -> Result<Option<Snapshot>, Failure> {
        self.client.patience.read(async || self.lake_table.latest_snapshot().await).await
    }
}

fn said(message: String) -> Output {
    Output::Promoted { message }
}
